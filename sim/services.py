"""The services around the worker: the store of its progress, and the receiver of its actions."""

from pydantic import Field

from sim.laws import AnyLaw, Constant
from sim.validation import Model

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


class Downtime(Model):
    """From a crash to work again."""

    detection: AnyLaw = Field(default=ZERO, description="until the supervisor notices, s")
    restart: AnyLaw = Field(default=ZERO, description="until a new worker runs, s")
    load: AnyLaw = Field(
        default=ZERO, description="until the worker has read what was saved, s; can crash too"
    )
