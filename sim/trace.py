"""What happens in one run, event by event, as lines that a person can read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sim.events.words import AGAIN, DIES, FORGETS, STALLS, TORN
from sim.ticks import PER_SECOND

BESIDE = ("store", "receiver", "relay", "network", "supervisor")
"""Actors that are no workers, in the order in which they are shown."""

STRUCK = (DIES, STALLS, FORGETS, TORN, "fails the request")
"""How that begins which somebody tells whom a fault has struck."""

LEGEND = (
    "! a fault   # an action that had been performed before   durable: a recovery goes on behind it",
    "What falls on the same tick as a death has happened before it.",
)


class Event(NamedTuple):
    """Something that happened: when (ticks), to whom, what, and in which step (an index; -1: in none)."""

    tick: int
    actor: str
    what: str
    step: int
    fault: bool = False

    @property
    def again(self) -> bool:
        """Whether an action was performed that had been performed before."""
        return self.what.startswith(AGAIN)


def event(tick: int, actor: str, what: str, step: int) -> Event:
    """Make an event of what a listener of a run is told."""
    return Event(tick, actor, what, step, actor == "network" or what.startswith(STRUCK))


@dataclass(frozen=True)
class Trace:
    """The events of a run, in their order."""

    events: tuple[Event, ...]

    @property
    def workers(self) -> list[str]:
        """The workers, the oldest first."""
        return sorted({e.actor for e in self.events if number_of(e.actor)}, key=number_of)

    @property
    def actors(self) -> list[str]:
        """All who tell something: the workers, then those beside them."""
        told = {event.actor for event in self.events}
        return [*self.workers, *(actor for actor in BESIDE if actor in told)]

    def lines(self) -> Iterator[str]:
        """Write a line an event."""
        actors = max(map(len, self.actors), default=0)
        times = max((len(seconds(event.tick)) for event in self.events), default=0)
        for event in self.events:
            mark = "#" if event.again else "!" if event.fault else " "
            step = f" (step {event.step + 1})" if event.step >= 0 else ""
            yield f"{mark} {seconds(event.tick):>{times}}  {event.actor:{actors}}  {event.what}{step}"


def number_of(actor: str) -> int:
    """Give the number of a worker by its name; 0 if it is none."""
    found = re.fullmatch(r"worker (\d+)", actor)
    return int(found[1]) if found else 0


def named_in(what: str) -> str:
    """Give the worker, or the relay, that an event of another actor names; "" if it names none."""
    found = re.search(r"worker \d+|relay", what)
    return found[0] if found else ""


def seconds(ticks: int, digits: int = 3) -> str:
    """Write a time in seconds, such as ``12.300 s``."""
    return f"{ticks / PER_SECOND:,.{digits}f} s"


def exactly(ticks: int) -> str:
    """Write an instant in seconds with every digit that it has, three at least."""
    whole, rest = divmod(ticks, PER_SECOND)
    digits = f"{rest:09d}".rstrip("0").ljust(3, "0")
    return f"{whole:,}.{digits} s"
