"""The crash-free marks of a block of runs, as arrays.

Crash processes that are uniform over a run without crashes need them. Every verb unfolds here without
a simulation: a lane is a running maximum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.crashes import Source
from sim.program import LANE, Program
from sim.streams import Streams
from sim.ticks import NEVER, Ticks, later


@dataclass(frozen=True)
class Marks:
    """When a crash-free run passes its marks, in ticks.

    Attributes
    ----------
    acts : ndarray of bool, shape (steps, replications)
        Whether the step acts in the run.
    start, sent, done, durable : ndarray of int64, shape (steps, replications)
        Instants; `NEVER` for a mark that the step does not pass. ◆durable is that of its last save.
    recorded : ndarray of int64, shape (steps, replications)
        Since when a recovery resumes after the step; `NEVER` if it never does.
    makespan, exposure : ndarray of int64, shape (replications,)
        Length of the run, and the same weighted by phase.
    """

    acts: NDArray[np.bool_]
    start: Ticks
    sent: Ticks
    done: Ticks
    durable: Ticks
    recorded: Ticks
    makespan: Ticks
    exposure: Ticks

    def gap(self) -> Ticks:
        """Time from sending an action to the save that records it, over all actions, shape (replications,).

        Where nothing is saved after it, the gap ends with the run.
        """
        gaps = np.minimum(self.recorded, self.makespan) - np.where(self.acts, self.sent, 0)
        return np.asarray(np.maximum(gaps, 0).sum(axis=0, where=self.acts), np.int64)


class Walk(NamedTuple):
    """One attempt of each of many runs, as if nothing cut it short.

    Attributes
    ----------
    spent : ndarray of int64, shape (phases, runs)
        Time of the worker in each phase, in ticks.
    passed : ndarray of int64, shape (phases + 1, runs)
        When each phase begins, and in the last row when the attempt ends; at most `NEVER`.
    durable : ndarray of int64, shape (saves, runs)
        When each save is durable; for a save that the attempt does not make, any instant.
    """

    spent: Ticks
    passed: Ticks
    durable: Ticks


def first_times(program: Program, draws: Streams) -> Ticks:
    """Give the times of what begins for the first time, shape (drawn, replications), in ticks."""
    return np.stack([draws.times(law, *key, 0) for _, law, key in program.drawn])


def walk(program: Program, begin: Ticks, times: Ticks, on: NDArray[np.bool_]) -> Walk:
    """Let workers walk through the phases of a program.

    Parameters
    ----------
    program : Program
        The phases.
    begin : ndarray of int64, shape (runs,)
        When they begin, in ticks.
    times : ndarray of int64, shape (drawn, runs)
        What `Program.drawn` takes, in ticks.
    on : ndarray of bool, shape (drawn, runs or 1)
        Which of these their way leads through; all others take no time.
    """
    spent = times * on
    never = int(begin.max()) + len(spent) * int(spent.max()) >= NEVER
    add = later if never else np.add
    passed = np.empty((len(program.phases) + 1, begin.size), np.int64)
    passed[0] = begin
    durable = np.empty((len(program.saves), begin.size), np.int64)
    save = iter(durable)
    # Off a run's way phases take no time, so that lanes are busy no longer than they were.
    free = {phase.lane: begin for phase in program.saves if phase.lane}
    # When the saves that fill a lane with a bound are over, oldest first.
    lanes = program.scenario.strategy.lanes.items()
    ends = {name: [begin] * lane.bound for name, lane in lanes if lane.bound is not None}
    base = begin if any(phase.delta for phase in program.saves) else None
    for phase in program.phases:
        time, now, end = spent[phase.id], passed[phase.id], passed[phase.id + 1]
        if phase.name == LANE:
            written = add(np.maximum(now, free[phase.lane]), time, out=next(save))
            free[phase.lane] = add(written, spent[program.beside[phase.id]])
            under_way = ends.get(phase.lane)
            if under_way is None:
                time[:] = 0
            else:
                np.multiply(np.maximum(under_way[0] - now, 0), on[phase.id], out=time)
                newer = [*under_way[1:], free[phase.lane]]
                ends[phase.lane] = [
                    np.where(on[phase.id], *pair) for pair in zip(newer, under_way, strict=True)
                ]
        elif phase.name == "drain" and free:
            waits = np.max(list(free.values()), axis=0) - now
            np.multiply(np.maximum(waits, 0), on[phase.id], out=time)
        add(now, time, out=end)
        if phase.saves:
            written = next(save)
            written[:] = end
        if base is not None and phase.resume >= 0:
            # A delta is usable from when what it rests upon is.
            if phase.delta:
                np.maximum(written, base, out=written)
            else:
                base = np.where(on[phase.id], written, base)
    return Walk(spent[: len(program.phases)], passed, durable)


def source_weights(program: Program, source: Source) -> list[float]:
    """Give the weight of loading, and of each phase, for a source of crashes."""
    steps = program.scenario.workload.steps
    phases = (source.exposure.weight(phase.name, steps[phase.step].name) for phase in program.phases)
    return [source.exposure.load, *phases]


def exposed(duration: Ticks, weight: float) -> Ticks:
    """Exposure of phases, in ticks, rounded down."""
    return duration if weight == 1 else np.minimum(duration * weight, NEVER).astype(np.int64)


def unbroken(program: Program, times: Ticks, acts: NDArray[np.bool_]) -> Walk:
    """Let runs walk through their phases as if nothing crashed, so that no query is asked.

    Parameters
    ----------
    program : Program
        The phases.
    times : ndarray of int64, shape (drawn, runs)
        What `Program.drawn` takes, in ticks.
    acts : ndarray of bool, shape (runs, steps)
        Which steps act in each run.
    """
    on = program.taken(acts)[[drawn.phase for drawn in program.drawn]]
    on[[phase.id for phase in program.phases if phase.name == "query"]] = False
    return walk(program, np.zeros(len(acts), np.int64), times, on)


def marks(program: Program, acts: NDArray[np.bool_], path: Walk) -> Marks:
    """Read the marks off a crash-free walk.

    Parameters
    ----------
    program : Program
        The phases.
    acts : ndarray of bool, shape (runs, steps)
        Which steps act in each run.
    path : Walk
        The walk.
    """
    taken = program.taken(acts)
    sent, done, durable, recorded = (np.full(acts.T.shape, NEVER) for _ in range(4))
    for phase in program.phases:
        if phase.name == "request":
            np.copyto(sent[phase.step], path.passed[phase.id], where=taken[phase.id])
        if phase.done:
            np.copyto(done[phase.step], path.passed[phase.id + 1], where=taken[phase.id])
    behind = np.searchsorted(program.first[1:], [phase.resume for phase in program.saves], side="right")
    for phase, instant, steps in zip(program.saves, path.durable, behind.tolist(), strict=True):
        np.copyto(durable[phase.step], instant, where=taken[phase.id])
        if steps and not program.scenario.strategy.memory_only:
            last = recorded[steps - 1]
            np.minimum(last, instant, out=last, where=taken[phase.id])
    for step in reversed(range(len(recorded) - 1)):
        np.minimum(recorded[step], recorded[step + 1], out=recorded[step])
    makespan = exposure = path.passed[-1]
    if any(phase.weight != 1 for phase in program.phases):
        exposure = np.zeros_like(makespan)
        for phase in program.phases:
            exposure = later(exposure, exposed(path.spent[phase.id], phase.weight))
    start = path.passed[program.first[:-1]]
    return Marks(acts.T, start, sent, done, durable, recorded, makespan, exposure)


def crash_free(program: Program, draws: Streams, acts: NDArray[np.bool_]) -> Marks:
    """Unfold the runs of a block as if nothing crashed.

    Parameters
    ----------
    program : Program
        The phases.
    draws : Streams
        The block's random numbers.
    acts : ndarray of bool, shape (replications, steps)
        Which steps act in each run.
    """
    return marks(program, acts, unbroken(program, first_times(program, draws), acts))
