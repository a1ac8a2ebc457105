"""The crash-free marks of a block of runs, as arrays.

Crash processes that are uniform over a run without crashes need them. Every verb unfolds here without
a simulation: a lane is a running maximum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.program import LANE, Program
from sim.streams import Streams
from sim.ticks import NEVER, Ticks


@dataclass(frozen=True)
class Marks:
    """When a crash-free run passes its marks, in ticks.

    Attributes
    ----------
    acts : ndarray of bool, shape (steps, replications)
        Whether the step acts in the run.
    start, sent, done, durable : ndarray of int64, shape (steps, replications)
        Instants; `NEVER` for a mark that the step does not pass. ◆durable is that of its last save.
    makespan, exposure : ndarray of int64, shape (replications,)
        Length of the run, and the same weighted by phase.
    """

    acts: NDArray[np.bool_]
    start: Ticks
    sent: Ticks
    done: Ticks
    durable: Ticks
    makespan: Ticks
    exposure: Ticks


def exposed(duration: Ticks, weight: float) -> Ticks:
    """Exposure of phases, in ticks, rounded down."""
    return duration if weight == 1 else np.floor(duration * weight).astype(np.int64)


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
    replications, steps = acts.shape
    now = np.zeros(replications, np.int64)
    exposure = np.zeros(replications, np.int64)
    free = {phase.lane: now for phase in program.phases}
    start, sent, done, durable = (np.full((steps, replications), NEVER) for _ in range(4))
    ack = program.scenario.store.ack
    for number, phase in enumerate(program.phases):
        taken = acts[:, phase.step] == phase.acts
        if number == program.first[phase.step]:
            start[phase.step] = now
        if phase.name == "request":
            sent[phase.step, taken] = now[taken]
        if phase.name == LANE:
            written = np.maximum(now, free[phase.lane]) + draws.times(phase.law, *phase.key, 0)
            answered = written + draws.times(ack, *phase.key[:-1], "ack", 0)
            durable[phase.step, taken] = written[taken]
            free[phase.lane] = np.where(taken, answered, free[phase.lane])
            continue
        match phase.name:
            case "query":
                continue
            case "drain":
                duration = np.maximum(np.max(list(free.values()), axis=0) - now, 0)
            case _:
                duration = draws.times(phase.law, *phase.key, 0)
        duration = np.where(taken, duration, 0)
        now = now + duration
        exposure += exposed(duration, phase.weight)
        if phase.done:
            done[phase.step, taken] = now[taken]
        if phase.resume >= 0:
            durable[phase.step, taken] = now[taken]
    return Marks(acts.T, start, sent, done, durable, now, exposure)
