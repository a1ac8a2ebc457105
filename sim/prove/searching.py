"""The search itself, and what it has found."""

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.crashes import At, NoCrash
from sim.events import Run
from sim.outcomes import Log, count
from sim.program import Program, unfold
from sim.prove.faults import RANK, Schedule, block_of, crashes
from sim.prove.places import Places, Watched
from sim.scenario import Scenario
from sim.ticks import PER_SECOND
from sim.trace import Event, Trace, event

DAMAGE = {"duplicate": "duplicate_actions", "loss": "lost_actions", "stuck": "stuck"}
"""What is searched for, and the outcome that shows it."""

TOGETHER = 1024
"""So many runs are made as one block."""

ATTEMPTS, TRIES = 50, 100
"""So many more attempts than faults, and so many tries of a call, are enough for every run that ever ends."""

Advance = Callable[[int, int, int], None]
"""Told how many faults are placed, how many of these runs are over, and how many there are."""


@dataclass
class Verdict:
    """What a search has found.

    Attributes
    ----------
    scenario : Scenario
        The small one.
    kinds : list of str
        Which faults were placed.
    placements : list of int
        How many runs there were with 0, 1, 2, ... faults.
    harmful : dict of str to list of int
        By kind of damage: in how many of these.
    found : dict of str to Schedule
        By kind of damage the schedule that does it with the fewest faults; of several the one with the
        plainest kinds, and of these the earliest.
    """

    scenario: Scenario
    kinds: list[str]
    placements: list[int] = field(default_factory=list)
    harmful: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in DAMAGE})
    found: dict[str, Schedule] = field(default_factory=dict)


def search(
    scenario: Scenario,
    faults: int = 2,
    advance: Advance = lambda *_: None,
    only: Iterable[str] | None = None,
) -> Verdict:
    """Try every placement of up to so many faults.

    It ends before that if every kind of damage has been found, or if a run does damage without any fault.

    Parameters
    ----------
    scenario : Scenario
        As `small` gives it.
    faults : int
        How many at most, of all kinds together.
    advance : callable
        Told how far the search is.
    only : iterable of str, optional
        Kinds of fault that are placed; all that the scenario admits if absent.
    """
    limits = scenario.limits
    enough = {"attempts": min(limits.attempts, faults + ATTEMPTS), "tries": min(limits.tries, TRIES)}
    limits = limits.model_copy(update=enough)
    scenario = scenario.model_copy(update={"limits": limits})
    program = unfold(scenario)
    (unharmed,), _ = _simulate(program, [()], watch=True)
    places = Places(scenario, unharmed)
    if only is not None:
        places.kinds = {kind: places.kinds[kind] for kind in only}
    verdict = Verdict(scenario, list(places.kinds))
    level: list[Schedule] = [()]
    for number in range(faults + 1):
        following: dict[frozenset[Any], Schedule] = {}
        harmful: dict[str, list[Schedule]] = {name: [] for name in DAMAGE}
        for first in range(0, len(level), TOGETHER):
            advance(number, first, len(level))
            schedules = level[first : first + TOGETHER]
            runs, damage = _simulate(program, schedules, watch=number < faults)
            for name, done in damage.items():
                harmful[name] += [schedules[row] for row in np.flatnonzero(done)]
            for schedule, run in zip(schedules, runs, strict=False):
                for fault in places.after(schedule, run):
                    following.setdefault(_identity((*schedule, fault)), (*schedule, fault))
        verdict.placements.append(len(level))
        for name, those in harmful.items():
            verdict.harmful[name].append(len(those))
            if those and name not in verdict.found:
                verdict.found[name] = min(those, key=_plainness)
        if len(verdict.found) == len(DAMAGE) or () in verdict.found.values():
            break
        level = list(following.values())
    return verdict


def _simulate(
    program: Program, schedules: list[Schedule], watch: bool
) -> tuple[list[Watched], dict[str, NDArray[np.bool_]]]:
    """Simulate a run a schedule; give them, if they are watched, and which did which damage."""
    block, log = block_of(program, schedules), Log()
    watched = []
    collecting = gc.isenabled()
    gc.disable()  # as in a simulation
    try:
        for row in range(len(schedules)):
            if watch:
                watched.append(Watched(block, row, log))
            (watched[row] if watch else Run(block, row, log)).simulate()
    finally:
        if collecting:
            gc.enable()
    columns = count(program, log, block.acts, None).columns
    return watched, {name: np.asarray(columns[column]) > 0 for name, column in DAMAGE.items()}


def _plainness(schedule: Schedule) -> tuple[Any, ...]:
    """What schedules of as many faults are ordered by."""
    ranks = [RANK[fault.kind] for fault in schedule]
    return sum(ranks), [fault.at for fault in schedule], ranks, [fault.says for fault in schedule]


def _identity(schedule: Schedule) -> frozenset[Any]:
    """What a schedule does, in whatever order its faults were placed."""
    given = [(key, ticks) for fault in schedule for key, ticks in fault.times]
    happens = [key for fault in schedule for key in fault.happens]
    return frozenset([("crashes", *crashes(schedule)), *given, *happens])


def trace(scenario: Scenario, schedule: Schedule) -> Trace:
    """Tell what happens in a run with a schedule of faults.

    Parameters
    ----------
    scenario : Scenario
        The small one.
    schedule : Schedule
    """
    told: list[Event] = []
    block = block_of(unfold(scenario), [schedule])
    Run(block, 0, Log(), lambda *what: told.append(event(*what))).simulate()
    for fault in schedule:
        if fault.tells:
            place = bisect_right(told, fault.at, key=lambda event: event.tick)
            told.insert(place, Event(fault.at, fault.actor, fault.tells, fault.step, fault=True))
    return Trace(tuple(told))


def replay(scenario: Scenario, schedule: Schedule) -> Scenario | None:
    """Give the scenario whose crash process is a schedule; None if that has other faults than crashes.

    Parameters
    ----------
    scenario : Scenario
        The small one.
    schedule : Schedule
    """
    if any(fault.kind != "crash" for fault in schedule):
        return None
    receiver, watch, strategy = scenario.receiver, scenario.supervision, scenario.strategy
    keys = receiver.keys.model_copy(update={"forgets": 0.0})
    never = {"request_lost": 0.0, "answer_lost": 0.0, "fails": 0.0, "keys": keys}
    if watch is not None:
        watch = watch.model_copy(update={"stalls": None})
    if strategy.relay is not None:
        relay = strategy.relay.model_copy(update={"life": None})
        strategy = strategy.model_copy(update={"relay": relay})
    times = [instant / PER_SECOND for instant in crashes(schedule)]
    return scenario.model_copy(
        update={
            "strategy": strategy,
            "supervision": watch,
            "receiver": receiver.model_copy(update=never),
            "crash": At(times=tuple(times)) if times else NoCrash(),
        }
    )
