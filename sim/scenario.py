"""The frozen, validated input of one simulation."""

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator

from sim.crashes import AnyCrash, NoCrash
from sim.services import ZERO, Client, Outages, Receiver, Store
from sim.strategy import Query, Save, Strategy
from sim.supervision import Downtime, Supervision
from sim.ticks import PER_SECOND
from sim.validation import Mistake, Model, Positive, allowed_instead, problems
from sim.workload import Workload

MOST_VERBS = 20_000
"""How many verbs a run may go through without a crash, in steps that act and in steps that do not."""

Bounded = Annotated[int, Field(ge=1, le=100_000, strict=True)]


class Limits(Model):
    """When a run is given up, and counted as stuck."""

    attempts: Bounded = Field(default=1000, description="attempts a run may take")
    tries: Bounded = Field(default=1000, description="tries that one call may take, or one piece of work")
    makespan: Positive | None = Field(default=None, description="time a run may take, s")


class Scenario(Model):
    """Everything that one simulation needs besides its seed."""

    workload: Workload
    strategy: Strategy
    crash: AnyCrash = NoCrash()
    store: Store = Store()
    receiver: Receiver = Receiver()
    client: Client = Client()
    provider: Outages | None = Field(
        default=None,
        description="outages of what does the work, such as a model; cut work begins anew",
    )
    downtime: Downtime = Downtime()
    supervision: Supervision | None = Field(
        default=None, description="leases and time-outs by which a worker is taken for dead"
    )
    limits: Limits = Limits()
    frozen: bool = Field(
        default=False,
        strict=True,
        description="whether a step that is executed again takes the same time again",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _match(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Scale the laws of crashes to what they shall match, which takes the workload."""
        scenario = handler(data)
        run_s = scenario.workload.mean_s(scenario.receiver)
        return scenario.model_copy(update={"crash": scenario.crash.matched(run_s)})

    @property
    def converses(self) -> bool:
        """Whether when and what a call is answered depends on more than drawn times."""
        receiver, keys = self.receiver, self.receiver.keys
        says_more = (
            receiver.handling != ZERO,
            receiver.request_lost,
            receiver.answer_lost,
            receiver.fails,
            receiver.outages,
            keys.remembers != "success",
            keys.mismatch != "ignore",
            keys.claim != "atomic",
            keys.concurrent != "wait",
            keys.forgets,
        )
        # Without a time-out an answer always comes, and there is nothing to try again.
        return self.client.timeout is not None or self.supervision is not None or any(says_more)

    def model_post_init(self, _: Any) -> None:
        """Refuse what does not go together."""
        found = list(self._mistakes())
        if found:
            raise problems("Scenario", found)

    def _mistakes(self) -> Iterator[Mistake]:
        names = [step.name for step in self.workload.steps]
        for index, step in enumerate(self.strategy.steps or ()):
            if step not in names and step not in range(1, len(names) + 1):
                hint = f"{allowed_instead(step, names)} Or a number from 1 to {len(names)}."
                yield ("strategy", "steps", index), f"{step!r} is no step of the workload; {hint}", step
        for at, exposure in self.crash.exposures():
            for name in set(exposure.steps) - set(names):
                sentence = f"{name!r} is no step of the workload; {allowed_instead(name, names)}"
                yield ("crash", *at, "exposure", "steps", name), sentence, name
        verbs = len(names) * max(len(self.strategy.plain), len(self.strategy.action))
        if verbs > MOST_VERBS:
            sentence = f"{len(names):,} steps are {verbs:,} verbs of the strategy; at most {MOST_VERBS:,}."
            yield ("workload", "steps"), sentence, None
        yield from self._meaningless()
        limit = self.limits.makespan
        if limit is not None and limit * PER_SECOND < 1:
            yield ("limits", "makespan"), "must be at least a nanosecond.", limit

    def _meaningless(self) -> Iterator[Mistake]:
        """Find parts that are right alone and mean nothing together."""
        strategy, receiver, watch = self.strategy, self.receiver, self.supervision
        if strategy.key != "none" and not any(step.acts for step in self.workload.steps):
            yield ("strategy", "key"), "no step of the workload acts, so nothing carries a key.", strategy.key
        if not receiver.can_be_asked and any(isinstance(verb, Query) for verb in strategy.action):
            yield ("strategy", "action"), "a query needs a receiver that can be asked.", None
        if self.client.timeout is None:
            for name in receiver.may_not_answer():
                sentence = f"an answer that does not come ({name}) is waited for for ever; set a time-out."
                yield ("client", "timeout"), sentence, None
        if watch is not None and watch.lease is not None and self.downtime.detection != ZERO:
            sentence = "with a lease a death is noticed when the lease runs out; leave this out."
            yield ("downtime", "detection"), sentence, None
        if self.store.slots == 1 and any(isinstance(verb, Save) and verb.acts for verb in strategy.action):
            sentence = "a transaction cannot be torn; an effect or an entry needs a store of 2 slots."
            yield ("store", "slots"), sentence, 1
        if strategy.run_id == "made" and strategy.key == "none":
            yield ("strategy", "run_id"), "without keys it makes no difference; leave it out.", "made"
