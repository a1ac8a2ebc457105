"""Faults, and random numbers under which nothing goes wrong but what schedules of faults say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from sim.crashes import Plan, Source
from sim.events import Block
from sim.laws import Law
from sim.program import Program
from sim.scenario import Scenario
from sim.services import ZERO
from sim.streams import Key, Part, Streams
from sim.ticks import NEVER, Ticks

CERTAIN, HARDLY = 0.0, float(np.nextafter(1.0, 0.0))
"""Uniform numbers under which whatever is possible happens, and under which nothing does."""

ON_DEMAND: tuple[Key, ...] = (("stall", "every"), ("relay", "life"))
"""Begins of the keys of times that are never over unless a fault says so."""

KINDS = {
    "crash": "a worker dies",
    "request lost": "a request is lost",
    "answer lost": "an answer is lost",
    "request late": "a request comes late",
    "answer late": "an answer comes late",
    "slow receiver": "the receiver takes long",
    "error": "a request is answered with an error",
    "receiver dies": "the receiver dies between action and key",
    "stall": "a worker stalls",
    "slow work": "the work of a step takes too long",
    "relay dies": "the relay dies",
    "late return": "a new worker comes late",
}
"""Kinds of fault, the plainest first."""

RANK = {kind: rank for rank, kind in enumerate(KINDS)}


def kinds(scenario: Scenario) -> list[str]:
    """Name the kinds of fault that a small scenario admits."""
    receiver, keys = scenario.receiver, scenario.receiver.keys
    watch, relay = scenario.supervision, scenario.strategy.relay
    loses = scenario.client.timeout is not None
    times_out = watch is not None and watch.step_timeout is not None
    admitted = {
        "crash": True,
        "request lost": loses,
        "answer lost": loses,
        "request late": loses or times_out,
        "answer late": loses or times_out,
        "slow receiver": (loses or times_out or keys.claim_expires is not None) and receiver.handling != ZERO,
        "error": receiver.fails > 0,
        "receiver dies": keys.forgets > 0,
        "stall": watch is not None and watch.stalls is not None,
        "slow work": times_out,
        "relay dies": relay is not None and relay.life is not None,
        "late return": keys.ttl is not None or keys.claim_expires is not None,
    }
    return [kind for kind, holds in admitted.items() if holds]


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes
    ----------
    at : int
        No sooner is the run other than it would be without, in ticks.
    kind, says : str
        Of which kind it is, of `KINDS`; a sentence.
    actor, tells : str
        To whom it happens; what a trace says of it, if no actor of the run knows of it.
    step : int
        Index of the step in which it happens; -1: in none.
    times : tuple of (key, int)
        Times by the keys with which they are drawn, in ticks.
    happens : tuple of key
        What else would happen by chance only, and so not at all.
    """

    at: int
    kind: str
    says: str
    actor: str
    tells: str = ""
    step: int = -1
    times: tuple[tuple[Key, int], ...] = ()
    happens: tuple[Key, ...] = ()

    @property
    def keys(self) -> set[Key]:
        """What it decides."""
        return {*self.happens, *(key for key, _ in self.times)}


Schedule = tuple[Fault, ...]
"""Faults in the order in which they begin."""


def crashes(schedule: Schedule) -> list[int]:
    """Instants of the crashes of a schedule, ascending, in ticks."""
    return sorted(fault.at for fault in schedule if fault.kind == "crash")


class Faulty(Streams):
    """Streams of a block with a run a schedule, in which nothing is left to chance.

    Parameters
    ----------
    schedules : sequence of Schedule
        What goes wrong in each run.
    """

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        super().__init__(seed=0, block=0, size=len(schedules))
        self._given: dict[Key, dict[int, int]] = {}
        self._happens: dict[Key, list[int]] = {}
        for row, schedule in enumerate(schedules):
            for fault in schedule:
                for key, ticks in fault.times:
                    self._given.setdefault(key, {})[row] = ticks
                for key in fault.happens:
                    self._happens.setdefault(key, []).append(row)
        self._nothing = np.full(self.size, HARDLY)

    def uniforms(self, *key: Part) -> NDArray[np.float64]:
        """Give numbers under which only that happens which the schedules say."""
        rows = self._happens.get(key)
        if rows is None:
            return self._nothing
        drawn = self._nothing.copy()
        drawn[rows] = CERTAIN
        return drawn

    def times(self, law: Law, *key: Part) -> Ticks:
        """Give the times of a constant, but what the schedules say."""
        drawn = super().times(law, *key)
        given = self._given.get(key)
        if given is not None:
            drawn = drawn.copy()
            drawn[list(given)] = list(given.values())
        return drawn

    def time(self, law: Law, replication: int, *key: Part) -> int:
        """Give one run's time; likewise."""
        given = self._given.get(key)
        if given is not None and replication in given:
            return given[replication]
        return NEVER if key[:2] in ON_DEMAND else super().time(law, replication, *key)


def block_of(program: Program, schedules: Sequence[Schedule]) -> Block:
    """Make a block with a run a schedule."""
    instants = [crashes(schedule) for schedule in schedules]

    def rows() -> Iterator[Ticks]:
        for k in count():
            yield np.array([times[k] if k < len(times) else NEVER for times in instants], np.int64)

    return Block(program, Faulty(schedules), Plan((Source(rows(), "wall"),)))
