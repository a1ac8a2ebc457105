"""What one replication yields, counted from the log of what happened, and the accounts that must balance.

Every tick of a run has one activity (work, call, save, query, down) and, unless down, one fate. At a crash
with resume point p, what precedes p is *kept*; what follows is *redone* if its step was done, else *lost*.
All cells of the accounts sum to the makespan of the run, for every strategy.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.crashes import Plan
from sim.program import CALL, LANE, SAVE, WORK, Program
from sim.ticks import Ticks, to_seconds

KEPT, REDONE, LOST = range(3)
"""Fates, in the order of the accounts."""

CAUSES = {
    "crash": "sent again after a crash",
    "timeout": "sent again by the same worker, which had no answer in time",
    "zombie": "sent by a worker that was taken for dead, or by one in the place of such a worker",
    "relay": "performed again by the relay of an outbox",
    "expired_key": "whose key the receiver no longer remembered",
    "race": "whose key was inserted while it was under way",
    "receiver_crash": "whose key was lost because the receiver died before it was remembered",
}
"""Why an action is performed again."""


def duplicates_by(cause: str) -> str:
    """Name the column that counts the duplicates of a cause."""
    return f"duplicates_{cause}"


OUTCOMES = {
    "crashes": "times the worker died",
    "redone_steps": "completions of steps beyond the first",
    "lost_work_s": "work and calls thrown away unfinished, s",
    "wasted_work_s": "work and calls redone or thrown away, s",
    "wasted_tokens": "tokens bought for work that was redone or lost",
    "actions": "distinct actions in the run's workload",
    "duplicate_actions": "performances of actions beyond the first",
    **{duplicates_by(cause): f"of these, performances {why}" for cause, why in CAUSES.items()},
    "spacing_s": "time from the first performance of the action that was first repeated to its repeat, s; "
    "empty where none was",
    "lost_actions": "actions never performed although the run finished",
    "blocked_duplicates": "repeats that the receiver answered from its key table",
    "saves": "saves begun",
    "save_time_s": "time the worker waited for saves, s",
    "downtime_s": "detection, restart and load, s",
    "makespan_s": "from the begin to the end of the run, s",
    "finished": "whether the run finished",
    "stuck": "whether the run was given up",
    "skipped_steps": "steps of a finished run that were never completed",
    "zombie_s": "time of workers beside the one that took their place, s",
    "action_crashes": "crashes that struck a step that acts",
    "gap_crashes": "of these, crashes in [sent, durable); empty where no such gap is defined",
    "gap_crashes_after_done": "of these, crashes in [done, durable); empty likewise",
    "gap_s": "time from sending an action to the save that records it without a crash, over all actions, s; "
    "empty where it is not known before",
    "rule_duplicates": "what the rule of thumb says: crash rate × gap_s; empty where there is no rate",
}
"""Columns of a run, in order, with their meaning."""


def by_cause(plan: Plan) -> list[str]:
    """Name the columns that count crashes by cause, in the order of the sources; none for one source."""
    return [f"crashes: {source.cause}" for source in plan.sources] if len(plan.sources) > 1 else []


STOPPED = -1
"""Length of a phase that was not begun, because the worker had been told to stop."""

NOTHING = -1
"""Cause of the end of an attempt that did not crash."""


class Attempt(NamedTuple):
    """One life of the worker, as written down by an engine.

    Attributes
    ----------
    run : int
        Index of the run in its block.
    entries : int
        How many phases were logged before it.
    begin : int
        When it began to walk, after loading. Ticks.
    planned : int
        Length of the phase that was cut off, in ticks; 0 if none was; `STOPPED` if the worker stopped before
        the last phase that is written down.
    record : int
        Where a recovery would resume at its end.
    cause : int
        Number of the source of the crash that ended it; `NOTHING` if it ended otherwise.
    """

    run: int
    entries: int
    begin: int
    planned: int
    record: int
    cause: int


@dataclass
class Log:
    """What happened in a block of runs, in the order of runs and attempts.

    Attributes
    ----------
    phases, ends : array of int64
        Number of each phase walked through, and the tick at which it ended or was cut off.
    attempts : list of Attempt
    performed, blocked, done_late : list of (int, int)
        (run, step) of each action performed, of each repeat answered from the key table, and of each step
        that a worker did which had been replaced.
    instants, causes : list of int, list of str
        Of each action performed: when, in ticks; why again, of `CAUSES`, or "" for the first time.
    finished, makespan, down, zombie : list
        Of each run: whether it finished, when it ended, how long no worker worked, and how long workers
        worked that had been replaced, in ticks.
    """

    phases: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    attempts: list[Attempt] = field(default_factory=list)
    performed: list[tuple[int, int]] = field(default_factory=list)
    blocked: list[tuple[int, int]] = field(default_factory=list)
    done_late: list[tuple[int, int]] = field(default_factory=list)
    instants: list[int] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    finished: list[bool] = field(default_factory=list)
    makespan: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    zombie: list[int] = field(default_factory=list)


class AccountsError(Exception):
    """The log of a run contradicts itself: a defect of the engine that wrote it."""


@dataclass(frozen=True)
class Accounts:
    """Ticks by activity and fate.

    Attributes
    ----------
    spent : ndarray of int64, shape (runs, activities, fates)
        Activities are work, call, save and query; fates are kept, redone and lost.
    down : ndarray of int64, shape (runs,)
    """

    spent: Ticks
    down: Ticks


@dataclass(frozen=True)
class Tally:
    """The outcomes of a block of runs.

    Attributes
    ----------
    columns : dict of str to ndarray, shape (runs,)
        As named in `OUTCOMES`.
    accounts : Accounts
    """

    columns: dict[str, NDArray[np.generic]]
    accounts: Accounts


def count(
    program: Program, log: Log, acts: NDArray[np.bool_], gap: Ticks | None, causes: Sequence[str] = ()
) -> Tally:
    """Count the outcomes of a block.

    Parameters
    ----------
    program : Program
        What the runs walked through.
    log : Log
        What happened in them.
    acts : ndarray of bool, shape (runs, steps)
        Which steps act in each run.
    gap : ndarray of int64, shape (runs,), or None
        Save gap of each run without a crash, in ticks, if it is known.
    causes : list of str
        Columns that count crashes by cause, in the order of the sources.

    Raises
    ------
    AccountsError
        If the activities of a run do not sum to its makespan.
    """
    runs, steps = acts.shape
    table = _Entries(program, log)
    finished = np.array(log.finished, np.bool_)
    makespan = np.array(log.makespan, np.int64)

    accounts = Accounts(table.spent(runs), np.array(log.down, np.int64))
    unbalanced = accounts.spent.sum(axis=(1, 2)) + accounts.down != makespan
    if unbalanced.any():
        run = int(unbalanced.argmax())
        raise AccountsError(f"the accounts of run {run} of a block do not sum to its makespan.")

    def per_step(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
        flat = np.array(pairs, np.int64).reshape(-1, 2)
        return _per_run(flat[:, 0] * steps + flat[:, 1], runs * steps).reshape(runs, steps)

    performed = per_step(log.performed)
    completions = table.completions(runs, steps) + per_step(log.done_late)
    struck = table.struck()
    by_run = table.run_of_attempt
    on_action = program.acts[struck.phase]
    columns: dict[str, NDArray[np.generic]] = {
        "crashes": _per_run(by_run[table.crashed], runs),
        "redone_steps": np.maximum(completions - 1, 0).sum(axis=1),
        "lost_work_s": to_seconds(accounts.spent[:, [WORK, CALL], LOST].sum(axis=1)),
        "wasted_work_s": to_seconds(accounts.spent[:, [WORK, CALL], REDONE:].sum(axis=(1, 2))),
        "wasted_tokens": table.wasted_tokens(runs),
        "actions": acts.sum(axis=1),
        "duplicate_actions": np.maximum(performed - 1, 0).sum(axis=1),
        **repeats(log, runs),
        "lost_actions": ((performed == 0) & acts & finished[:, None]).sum(axis=1),
        "blocked_duplicates": per_step(log.blocked).sum(axis=1),
        "saves": _per_run(table.run[table.saves], runs),
        "save_time_s": to_seconds(accounts.spent[:, SAVE].sum(axis=1)),
        "downtime_s": to_seconds(accounts.down),
        "makespan_s": to_seconds(makespan),
        "finished": finished,
        "stuck": ~finished,
        "skipped_steps": ((completions == 0) & finished[:, None]).sum(axis=1),
        "zombie_s": to_seconds(np.array(log.zombie, np.int64)),
        "action_crashes": _per_run(struck.run[on_action], runs),
    }
    for name, inside in (
        ("gap_crashes", program.gap),
        ("gap_crashes_after_done", program.gap_after_done),
    ):
        columns[name] = (
            _per_run(struck.run[inside[struck.phase]], runs) if program.has_gap else np.full(runs, np.nan)
        )
    gap_s = np.full(runs, np.nan) if gap is None else to_seconds(gap)
    columns["gap_s"] = gap_s
    columns["rule_duplicates"] = gap_s * program.scenario.crash.rate_per_s
    for number, name in enumerate(causes):
        columns[name] = _per_run(table.run_of_attempt[table.cause == number], runs)
    return Tally(columns, accounts)


def repeats(log: Log, runs: int) -> dict[str, NDArray[np.generic]]:
    """Count the duplicates of each run by cause, and measure how long the first came after its original."""
    run = np.array(log.performed, np.int64).reshape(-1, 2)[:, 0]
    causes = np.array(log.causes)
    columns: dict[str, NDArray[np.generic]] = {
        duplicates_by(cause): _per_run(run[causes == cause], runs) for cause in CAUSES
    }
    first: dict[tuple[int, int], int] = {}
    again: dict[int, tuple[int, int]] = {}
    for performed, instant in zip(log.performed, log.instants, strict=True):
        if performed not in first:
            first[performed] = instant
        else:
            repeat = (instant, instant - first[performed])
            again[performed[0]] = min(again.get(performed[0], repeat), repeat)
    spacing = np.full(runs, np.nan)
    for number, (_, apart) in again.items():
        spacing[number] = to_seconds(apart)
    return columns | {"spacing_s": spacing}


def _per_run(run: NDArray[np.int64], runs: int) -> NDArray[np.int64]:
    return np.bincount(run, minlength=runs).astype(np.int64)


class _Struck(NamedTuple):
    run: NDArray[np.int64]
    phase: NDArray[np.intp]


class _Entries:
    """The log as arrays: a row a phase walked through."""

    def __init__(self, program: Program, log: Log) -> None:
        self.program = program
        attempts = np.array(log.attempts, np.int64).reshape(-1, len(Attempt._fields))
        self.run_of_attempt, first, begin, planned, record, self.cause = attempts.T
        self.crashed = self.cause != NOTHING
        phase = np.array(log.phases, np.intp)
        ends = np.array(log.ends, np.int64)
        size = np.diff(first, append=len(phase))
        self.walked = size > 0
        attempt = np.repeat(np.arange(len(first)), size)

        begins = np.empty_like(ends)
        begins[1:] = ends[:-1]
        begins[first[self.walked]] = begin[self.walked]
        self.phase = phase
        self.run = self.run_of_attempt[attempt]
        self.duration = ends - begins

        # The last phase of an attempt that did not finish was cut off, and decides what was done.
        cut = self.walked & (planned != 0)
        self.last = np.where(self.walked, first + size - 1, 0)
        self.whole = np.ones(len(phase), np.bool_)
        self.whole[self.last[cut]] = False
        self.length = self.duration.copy()
        self.length[self.last[cut]] = planned[cut]
        self.stopped = planned == STOPPED
        self.cut = cut

        at = phase[self.last][attempt]
        step, step_at = program.step[phase], program.step[at]
        was_done = (step < step_at) | ((step == step_at) & program.after_done[at])
        kept = ~cut[attempt] | (phase < record[attempt])
        self.fate = np.where(kept, KEPT, np.where(was_done, REDONE, LOST))

    def spent(self, runs: int) -> Ticks:
        """Sum the ticks of each run by activity and fate, shape (runs, activities, fates)."""
        spent = np.zeros((runs, 4, 3), np.int64)
        np.add.at(spent, (self.run, self._table("activity")[self.phase], self.fate), self.duration)
        return spent

    def completions(self, runs: int, steps: int) -> NDArray[np.int64]:
        """How often each run passed ◆done of each step, shape (runs, steps)."""
        done = self.whole & self._table("done")[self.phase]
        flat = self.run[done] * steps + self.program.step[self.phase[done]]
        return _per_run(flat, runs * steps).reshape(runs, steps)

    def struck(self) -> _Struck:
        """Give the phases that crashes interrupted; a crash while loading strikes no step."""
        hit = self.crashed & self.cut & ~self.stopped
        return _Struck(self.run_of_attempt[hit], self.phase[self.last[hit]])

    @property
    def saves(self) -> NDArray[np.bool_]:
        """Whether a save begins with the entry."""
        begins = [phase.name in ("write", LANE) for phase in self.program.phases]
        begun = np.array(begins, np.bool_)[self.phase]
        begun[self.last[self.stopped]] = False
        return begun

    def wasted_tokens(self, runs: int) -> NDArray[np.float64]:
        """Tokens of work that was redone or lost, evenly over the work."""
        tokens = [
            self.program.scenario.workload.steps[phase.step].tokens if phase.name == "work" else 0.0
            for phase in self.program.phases
        ]
        wasted = np.array(tokens)[self.phase] * (self.fate != KEPT)
        share = np.where(self.whole, 1.0, self.duration / np.maximum(self.length, 1))
        return np.asarray(np.bincount(self.run, weights=wasted * share, minlength=runs), np.float64)

    def _table(self, name: str) -> NDArray[np.intp]:
        return np.array([getattr(phase, name) for phase in self.program.phases])
