"""When workers die, as arrays: the sources of crashes of a block of runs, each with its own clock."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sim.crashes import Plan, Source
from sim.program import Program
from sim.schedule import Walk, exposed, source_weights
from sim.ticks import NEVER, Ticks, later

Numbers = NDArray[np.signedinteger]


class SourceState:
    """What is left of a source's times for the workers of a block.

    Parameters
    ----------
    program : Program
        The phases.
    source : Source
        The times.
    replications : int
        How many.
    """

    def __init__(self, program: Program, source: Source, replications: int) -> None:
        self.rows = source.rows
        self.clock = source.clock
        self.grace = source.grace
        self.table = next(self.rows)[np.newaxis]
        self.taken = np.zeros(replications, np.intp)
        self.time = np.zeros(replications, np.int64)
        self.used_up = np.full(replications, True)
        self.weights = source_weights(program, source)
        self.weighs = any(weight != 1 for weight in self.weights)

    def begin(self, run: Numbers, now: Ticks) -> Ticks:
        """How much exposure is left to the attempts that begin now, in ticks, shape (runs,)."""
        if self.clock == "attempt":
            self.used_up[run] = True
        elif self.clock == "wall":
            self.used_up[run] |= self.time[run] < now
        need = run[self.used_up[run]]
        when = now[self.used_up[run]]
        while need.size:
            taken = self.taken[need]
            if (missing := int(taken.max()) + 1 - len(self.table)) > 0:
                self.table = np.vstack([self.table, *islice(self.rows, missing)])
            self.time[need] = self.table[taken, need]
            self.taken[need] += 1
            late = (self.time[need] < when) if self.clock == "wall" else np.zeros(need.size, np.bool_)
            need, when = need[late], when[late]
        self.used_up[run] = False
        return self.time[run] - now if self.clock == "wall" else self.time[run]

    def strikes(self, left: Ticks, now: Ticks, load: Ticks, path: Walk) -> Ticks:
        """When workers die of this source that begin now, load and go this way, in ticks, shape (runs,)."""
        if not self.weighs:
            return later(now, left)
        dies = np.full(now.size, NEVER)
        weighed = left <= NEVER // 2  # never is never, whatever has been spent of it
        for weight, begin, time in self.exposures(now, load, path):
            if weight:
                strikes_in = np.minimum(left / weight, float(NEVER)).astype(np.int64) if weight != 1 else left
                np.minimum(dies, later(begin, strikes_in), out=dies, where=(strikes_in < time) & weighed)
            left = np.maximum(left - exposed(time, weight), 0)
        return dies

    def exposures(self, now: Ticks, load: Ticks, path: Walk) -> Iterator[tuple[float, Ticks, Ticks]]:
        """Weight, begin and length of the load and of each phase."""
        return zip(self.weights, [now, *path.passed[:-1]], [load, *path.spent], strict=True)

    def spend(self, run: Numbers, until: Ticks, now: Ticks, load: Ticks, path: Walk) -> None:
        """Let the workers' clock go on where they die of another source."""
        spent = np.zeros_like(now)
        for weight, begin, time in self.exposures(now, load, path):
            spent += exposed(np.clip(until - begin, 0, time), weight)
        ages = self.time[run] <= NEVER // 2  # never is never, whatever has been spent of it
        self.time[run[ages]] -= np.minimum(spent[ages], self.time[run[ages]])


class Crashes:
    """When the workers of a block die, and of what.

    Parameters
    ----------
    program : Program
        The phases.
    plan : Plan
        The crash times.
    replications : int
        How many.
    """

    def __init__(self, program: Program, plan: Plan, replications: int) -> None:
        self.sources = [SourceState(program, source, replications) for source in plan.sources]
        self.first = program.first[1:]

    def strike(
        self, run: Numbers, record: Numbers, now: Ticks, load: Ticks, path: Walk
    ) -> tuple[Ticks, Numbers, Numbers]:
        """Say when the workers die that begin now, load and go this way, in ticks, and of which source.

        Parameters
        ----------
        run, record : ndarray of int, shape (runs,)
            Which replications they are; the phase at which they resume.
        now, load : ndarray of int64, shape (runs,)
            When they begin, and how long they load. Ticks.
        path : Walk
            The way.

        Returns
        -------
        ndarray, shape (runs,)
            Instants; numbers of the sources; before which phase a worker stopped that was told to in time, -1
            for others.
        """
        dies = np.full(now.size, NEVER)
        cause = np.zeros(now.size, np.int8)
        stopped = np.full(now.size, -1, np.int32)
        for number, source in enumerate(self.sources):
            instant = source.strikes(source.begin(run, now), now, load, path)
            before = np.full(now.size, -1)
            if source.grace:
                instant, before = self.stop(instant, source.grace, record, path)
            # A worker that has stopped cannot be killed on the same tick.
            sooner = (instant < dies) | ((instant == dies) & (before >= 0) & (stopped < 0))
            cause[sooner] = number
            stopped = np.where(sooner, before, stopped)
            np.minimum(dies, instant, out=dies)
        for number, source in enumerate(self.sources):
            others = np.flatnonzero(cause != number)
            source.used_up[run[cause == number]] = True
            if others.size and source.clock == "worker":
                part = Walk(path.spent[:, others], path.passed[:, others], path.durable[:, others])
                source.spend(run[others], dies[others], now[others], load[others], part)
        return dies, cause, stopped

    def stop(self, told: Ticks, grace: int, record: Numbers, path: Walk) -> tuple[Ticks, Numbers]:
        """Say when workers end that are told to stop, and before which phase; -1 for one that is killed."""
        ends = path.passed[self.first]
        ends = np.where((ends >= told) & (self.first[:, np.newaxis] > record), ends, NEVER)
        step = ends.argmin(axis=0)
        end, killed = ends[step, np.arange(told.size)], later(told, np.full_like(told, grace))
        in_time = (end <= killed) & (end < NEVER)
        goes_on = step < len(self.first) - 1  # else the run has finished
        return np.where(in_time, end, killed), np.where(in_time & goes_on, self.first[step], -1)
