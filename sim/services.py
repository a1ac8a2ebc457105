"""The services around the worker: the store of its progress, and the receiver of its actions."""

from collections.abc import Iterator
from math import log
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator

from sim.laws import AnyLaw, Constant
from sim.validation import Model, NonNegative, Positive, Probability, problem, problems

ZERO = Constant(value=0.0)


class Store(Model):
    """Where progress is saved. Both latencies are needed: the save gap ends at the first."""

    title: str = ""
    source: str = Field(default="", description="where the figures come from")
    write: AnyLaw = Field(
        default=Constant(value=0.04),
        description="from the begin of a save to the point of no return, s",
    )
    ack: AnyLaw = Field(default=ZERO, description="from there until the worker knows, s")
    growth: NonNegative = Field(
        default=0.0, description="share by which each earlier step of the run lengthens a write"
    )
    slots: Literal[1, 2] = Field(
        default=2, description="1: each save is written over the last one, so that a cut one leaves nothing"
    )
    torn: Probability = Field(
        default=1.0, description="chance that a write into the only slot that a crash cuts is unreadable"
    )


class Waits(Model):
    """Waits that grow by a factor, up to a longest one."""

    first: NonNegative = Field(default=0.5, description="first wait, s")
    factor: Annotated[float, Field(ge=1)] = Field(default=2.0, description="each wait over the one before")
    most: Positive = Field(default=30.0, description="longest wait, s")

    def wait_s(self, number: int) -> float:
        """Length of a wait by its number, from 1, in s."""
        if self.first == 0:
            return 0.0
        steps = log(max(self.most / self.first, 1.0), self.factor) if self.factor > 1 else 0.0
        return float(min(self.first * self.factor ** min(number - 1, steps + 1), self.most))


def parse_tries(value: Any) -> Any:
    """Accept a number of tries, or for ever."""
    if value != "forever" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise problem(f'must be a whole number from 1 on, or "forever", not {value!r}.')
    return value


class Retries(Waits):
    """One layer that tries a failed call again: an HTTP library, an SDK, a tool, an engine."""

    tries: Annotated[int | Literal["forever"], PlainValidator(parse_tries)] = Field(
        default=3, description="how often it tries in all"
    )


class Client(Model):
    """How the worker calls the receiver, and when it tries again."""

    timeout: Positive | None = Field(
        default=None, description="how long a try waits for its answer, s; for ever if absent"
    )
    retries: tuple[Retries, ...] = Field(
        default=(), description="layers that try again, the innermost first: their numbers of tries multiply"
    )


class Outages(Model):
    """Times in which a service is not there: an alternating renewal process, met at a random instant."""

    title: str = ""
    source: str = Field(default="", description="where the figures come from")
    up: AnyLaw = Field(description="from the end of an outage to the begin of the next, s")
    down: AnyLaw = Field(description="length of an outage, s")

    def model_post_init(self, _: Any) -> None:
        """Refuse what has no place in time."""
        found = [
            ((name,), "needs a finite mean above 0.", None)
            for name in ("up", "down")
            if not 0 < getattr(self, name).mean_s < float("inf")
        ]
        if found:
            raise problems("Outages", found)


class Keys(Model):
    """The table in which a receiver remembers the keys of what it has performed."""

    title: str = ""
    source: str = Field(default="", description="where the figures come from")
    ttl: Positive | None = Field(
        default=None, description="how long a key is remembered once it is complete, s; for ever if absent"
    )
    remembers: Literal["success", "all"] = Field(
        default="success", description="whether a failed request is remembered too, and failed again"
    )
    mismatch: Literal["error", "ignore"] = Field(
        default="ignore",
        description="what a known key with other arguments gets: an error, or the old answer",
    )
    claim: Literal["atomic", "check_then_insert"] = Field(
        default="atomic",
        description="whether the key is claimed as the request comes, or looked up then and inserted with "
        "the action",
    )
    concurrent: Literal["wait", "in_progress"] = Field(
        default="wait",
        description="what a repeat gets while the first is under way: its answer, or an error to try again",
    )
    claim_expires: Positive | None = Field(
        default=None, description="how long a claim counts that never became complete, s; for ever if absent"
    )
    forgets: Probability = Field(
        default=0.0,
        description="chance that the receiver dies between action and key: no key, and no answer either",
    )


class Receiver(Model):
    """The service that performs the actions; it goes on when the caller has died."""

    title: str = ""
    source: str = Field(default="", description="where the figures come from")
    prepare: AnyLaw = Field(default=ZERO, description="from the begin of a call to sending, s")
    request: AnyLaw = Field(default=ZERO, description="from sending to arriving, s")
    handling: AnyLaw = Field(default=ZERO, description="from arriving to performing, s")
    response: AnyLaw = Field(default=ZERO, description="from performing to the answer, s")
    query: AnyLaw = Field(default=ZERO, description="time to ask whether it was performed, s")
    lag: AnyLaw = Field(default=ZERO, description="how much older than its end a query's view is, s")
    can_be_asked: bool = Field(
        default=True, strict=True, description="whether it tells if an action was performed"
    )
    on_disconnect: Literal["continues", "cancels"] = Field(
        default="continues", description="what becomes of a request whose sender dies before it is performed"
    )
    request_lost: Probability = Field(default=0.0, description="chance that a request never arrives")
    answer_lost: Probability = Field(default=0.0, description="chance that an answer never arrives")
    fails: Probability = Field(
        default=0.0, description="chance that a request is answered with an error, and not performed"
    )
    keys: Keys = Keys()
    outages: Outages | None = Field(default=None, description="times in which it is not there")
    during_outage: Literal["error", "silence"] = Field(
        default="error", description="what a request in an outage gets: an error at once, or no answer"
    )

    def may_not_answer(self) -> Iterator[str]:
        """Names of what makes answers fail to come."""
        for name in ("request_lost", "answer_lost"):
            if getattr(self, name):
                yield name
        if self.keys.forgets:
            yield "keys.forgets"
        if self.outages and self.during_outage == "silence":
            yield "outages"
