"""What watches over the worker: how long it is down, and when one that lives is taken for dead."""

from typing import Any, Literal

from pydantic import Field

from sim.laws import AnyLaw
from sim.services import ZERO, Waits
from sim.validation import Mistake, Model, Positive, problems


class Backoff(Waits):
    """Waits that grow with each crash: none after the first, then longer and longer, until all goes well."""

    first: Positive = Field(default=10.0, description="wait after the second crash, s")
    most: Positive = Field(default=300.0, description="longest wait, s")
    reset_after: Positive = Field(default=600.0, description="a worker that lived so long starts it anew, s")

    def wait_s(self, number: int) -> float:
        """Wait after so many crashes in a row, at least 1, in s."""
        return 0.0 if number == 1 else super().wait_s(number - 1)


class Downtime(Model):
    """From a crash to work again."""

    title: str = ""
    source: str = Field(default="", description="where the figures come from")
    backoff: Backoff | None = Field(default=None, description="waits besides, that grow with each crash")

    detection: AnyLaw = Field(default=ZERO, description="until the supervisor notices, s")
    restart: AnyLaw = Field(default=ZERO, description="until a new worker runs, s")
    load: AnyLaw = Field(
        default=ZERO, description="until the worker has read what was saved, s; can crash too"
    )
    replay: AnyLaw = Field(
        default=ZERO, description="what each saved step adds to the load, s: drawn once a load"
    )


class Stalls(Model):
    """Times in which a living worker sends no heartbeat: a pause of its machine, a blocked event loop."""

    every: AnyLaw = Field(description="from the begin of a worker, or the end of a stall, to the next, s")
    lasts: AnyLaw = Field(description="length of a stall, s")
    freezes: bool = Field(
        default=True, strict=True, description="whether its work stands still too, or heartbeats alone"
    )


class Supervision(Model):
    """When a worker is taken for dead, and what its late deeds are worth."""

    lease: Positive | None = Field(
        default=None, description="after how long without a heartbeat a worker is taken for dead, s"
    )
    renew: Positive | None = Field(
        default=None, description="time between heartbeats, s; a third of the lease"
    )
    stalls: Stalls | None = None
    step_timeout: Positive | None = Field(
        default=None, description="time that an attempt may take for a step, s, before another is begun"
    )
    cancels: bool = Field(
        default=False, strict=True, description="whether a worker that is taken for dead is killed as well"
    )
    fencing: Literal["none", "record", "effect"] = Field(
        default="none",
        description="what is refused to a worker that has been replaced: nothing; saves; also actions, once "
        "the receiver has heard from a newer one",
    )

    @property
    def renew_s(self) -> float:
        """Time between heartbeats, s."""
        return self.renew if self.renew is not None else (self.lease or 0.0) / 3

    def model_post_init(self, _: Any) -> None:
        """Refuse a lease that living workers lose, and stalls that nobody notices."""
        found: list[Mistake] = []
        if self.lease is None and self.step_timeout is None:
            found.append(((), "say lease or step_timeout: nothing else takes a worker for dead.", None))
        if self.lease is not None and self.renew_s >= self.lease:
            found.append((("renew",), "must be shorter than the lease.", self.renew))
        if self.lease is None:
            found += [
                ((name,), "means nothing without a lease.", None)
                for name in ("renew", "stalls")
                if getattr(self, name) is not None
            ]
        if found:
            raise problems("Supervision", found)
