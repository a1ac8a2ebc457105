"""The crash-free marks of a block of runs, as arrays.

Crash processes that are uniform over a run without crashes need them. Every verb unfolds here without
a simulation: a lane is a running maximum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.program import LANE, Phase, Program
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


def exposed(duration: Ticks, weight: float) -> Ticks:
    """Exposure of phases, in ticks, rounded down."""
    return duration if weight == 1 else np.minimum(duration * weight, NEVER).astype(np.int64)


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
    start, sent, done, durable, recorded = (np.full((steps, replications), NEVER) for _ in range(5))

    def save(phase: Phase, instant: Ticks, taken: NDArray[np.bool_]) -> None:
        durable[phase.step, taken] = instant[taken]
        covered = recorded[: np.searchsorted(program.first[1:], phase.resume, side="right")]
        np.minimum(covered, instant, out=covered, where=taken)

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
            save(phase, written, taken)
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
        now = np.minimum(now, NEVER - duration) + duration
        spent = exposed(duration, phase.weight)
        exposure = np.minimum(exposure, NEVER - spent) + spent
        if phase.done:
            done[phase.step, taken] = now[taken]
        if phase.saves:
            save(phase, now, taken)
    return Marks(acts.T, start, sent, done, durable, recorded, now, exposure)
