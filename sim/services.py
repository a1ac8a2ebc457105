"""The services around the worker: the store of its progress, and the receiver of its actions."""

from math import log
from typing import Annotated

from pydantic import Field

from sim.laws import AnyLaw, Constant
from sim.validation import Model, Positive

ZERO = Constant(value=0.0)


class Store(Model):
    """Where progress is saved. Both latencies are needed: the save gap ends at the first."""

    write: AnyLaw = Field(
        default=Constant(value=0.04),
        description="from the begin of a save to the point of no return, s",
    )
    ack: AnyLaw = Field(default=ZERO, description="from there until the worker knows, s")


class Receiver(Model):
    """The service that performs the actions; it goes on when the caller has died."""

    prepare: AnyLaw = Field(default=ZERO, description="from the begin of a call to sending, s")
    request: AnyLaw = Field(default=ZERO, description="from sending to performing, s")
    response: AnyLaw = Field(default=ZERO, description="from performing to the answer, s")
    query: AnyLaw = Field(default=ZERO, description="time to ask whether it was performed, s")
    lag: AnyLaw = Field(default=ZERO, description="how much older than its end a query's view is, s")


class Backoff(Model):
    """Waits that grow with each crash: none after the first, then longer and longer, until all goes well."""

    first: Positive = Field(default=10.0, description="wait after the second crash, s")
    factor: Annotated[float, Field(ge=1)] = Field(default=2.0, description="each wait over the one before")
    most: Positive = Field(default=300.0, description="longest wait, s")
    reset_after: Positive = Field(default=600.0, description="a worker that lived so long starts it anew, s")

    def wait_s(self, crashes: int) -> float:
        """Wait after so many crashes in a row, at least 1, in s."""
        if crashes == 1:
            return 0.0
        steps = log(max(self.most / self.first, 1.0), self.factor) if self.factor > 1 else 0.0
        return float(min(self.first * self.factor ** min(crashes - 2, steps + 1), self.most))


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
