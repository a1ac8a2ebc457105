"""The timeline engine: the runs of a block side by side, as arrays.

An attempt is a walk along the phases of a program that one instant cuts short: the worker dies, or the run is
given up. How many phases it had passed by then, one integer a run, decides what was begun, what is durable
and what was done in vain. Runs that are over leave; the others walk again from where they resume, and what
they begin again takes a new time.

The engine reads the program and the random numbers that `sim.events` reads, and gives the same outcomes run
by run, to the tick: each of the two checks the other.
"""

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.crashes import Plan, Within
from sim.ledger import Ledger
from sim.lifetimes import Crashes
from sim.outcomes import CAUSES, OUTCOMES, by_cause, duplicates_by
from sim.program import CALL, SAVE, Phase, Program
from sim.schedule import Walk, first_times, marks, unbroken, walk
from sim.streams import Key, Streams
from sim.ticks import NEVER, Ticks, later, to_seconds, to_tick, to_ticks

Bools = NDArray[np.bool_]
Numbers = NDArray[np.signedinteger]
Columns = dict[str, NDArray[np.generic]]


def cannot(program: Program) -> str:
    """Say in a sentence why this engine cannot simulate a program; nothing if it can."""
    scenario, strategy = program.scenario, program.scenario.strategy
    beyond = program.unforeseen | {
        "a relay": strategy.relay is not None,
        "a lane into a store of one slot": scenario.store.slots == 1 and any(p.lane for p in program.saves),
    }
    found = [what for what, there in beyond.items() if there]
    return f"the timeline engine does not know {', '.join(found)}." if found else ""


class Query(NamedTuple):
    """A query; only an attempt that begins with it asks.

    Attributes
    ----------
    number : int
        Its phase.
    first : int
        The least number of a phase from which a recovery comes to it at once.
    call : list of int
        The phases that the answer can spare.
    request : int
        That of them at whose end the action is performed.
    """

    number: int
    first: int
    call: list[int]
    request: int

    @classmethod
    def of(cls, program: Program, query: Phase) -> "Query":
        """Find what belongs to a query."""
        begin, end = program.first[query.step : query.step + 2]
        form = [phase for phase in program.phases[begin:end] if phase.acts == query.acts]
        first = int(begin) if form[0] is query else query.id
        call = {phase.name: phase.id for phase in form if phase.activity == CALL}
        return cls(query.id, first, list(call.values()), call["request"])


class Tables:
    """What is known of phases by their number; the last entry is for the end of a run."""

    def __init__(self, program: Program) -> None:
        phases, steps = program.phases, program.scenario.workload.steps
        self.phase_of_drawn = np.array([[drawn.phase] for drawn in program.drawn], np.int32)
        self.saves = [phase.id for phase in program.saves]
        self.resume = np.array([phase.resume for phase in program.saves], np.int32)[:, np.newaxis]
        self.requests = [phase.id for phase in phases if phase.name == "request"]
        # Whether a save performs the action of its step, and the phases at whose end actions are performed.
        self.effects = [row for row, phase in enumerate(program.saves) if phase.holds == "effect"]
        self.acting = [*self.requests, *(program.saves[row].id for row in self.effects)]
        # For each request the work of its step, before it: what gives the action its arguments.
        self.works = [self.work_before(program, request) for request in self.requests]
        self.parks = [Query.of(program, phase) for phase in phases if phase.name == "park"]
        self.writes = np.array([phase.saves for phase in phases] + [False])
        self.queries = [Query.of(program, phase) for phase in phases if phase.name == "query"]
        # How many steps are done in a phase, if none was skipped, and where the next one begins.
        self.steps_done = np.append(program.step + program.after_done, len(steps))
        self.undone = program.first[self.steps_done]
        # Whether the worker waits for a save, and how many such phases come before.
        self.saving = np.array([phase.activity == SAVE for phase in phases] + [False])
        self.saving_before = np.append(0, np.cumsum(self.saving[:-1]))
        self.tokens = np.array([steps[p.step].tokens if p.name == "work" else 0.0 for p in phases] + [0.0])
        self.struck = {
            "action_crashes": np.append(program.acts, False),
            "gap_crashes": np.append(program.gap, False),
            "gap_crashes_after_done": np.append(program.gap_after_done, False),
        }

    @staticmethod
    def work_before(program: Program, request: int) -> int:
        """The last work before a request in its step, or -1."""
        phase = program.phases[request]
        form = program.phases[program.first[phase.step] : request]
        works = [other.id for other in form if other.name == "work" and other.acts == phase.acts]
        return works[-1] if works else -1


class Attempts(NamedTuple):
    """One attempt of each run; all arrays have the shape (runs,), but for `begun`.

    Attributes
    ----------
    path : Walk
        The way it would have gone.
    begun : ndarray of bool, shape (drawn, runs)
        What had begun when it ended.
    start, at : ndarray of int
        The phase that it began with, after a query; the one that was cut short, past the last if none was.
    record : ndarray of int
        Where a recovery would resume when it had ended.
    loaded, ended : ndarray of int64
        How long it loaded, and when it ended. Ticks.
    cause : ndarray of int
        Number of the source of the crash.
    stopped : ndarray of bool
        Whether the worker stopped at the end of a step, as it was told to.
    finished, died : ndarray of bool
        Whether the run finished, or the worker died; neither if the run was given up.
    """

    path: Walk
    begun: Bools
    start: Numbers
    at: Numbers
    record: Numbers
    loaded: Ticks
    ended: Ticks
    cause: Numbers
    stopped: Bools
    finished: Bools
    died: Bools


class Timetable:
    """What the runs of a block do if nothing crashes.

    Attributes
    ----------
    acts : ndarray of bool, shape (replications, steps)
        Which steps act in each run.
    times : ndarray of int64, shape (drawn, replications)
        How long each of `Program.drawn` takes at first, in ticks.
    taken : ndarray of bool, shape (drawn, replications or 1)
        Whether it lies on the way of a run.
    path : Walk
        The way.
    marks : Marks
        What is passed on it.
    """

    def __init__(self, program: Program, draws: Streams) -> None:
        self.program = program
        self.draws = draws
        self.tables = Tables(program)
        self.acts = program.draw_acts(draws)
        self.times = first_times(program, draws)
        self.taken = program.taken(self.acts)[self.tables.phase_of_drawn[:, 0]]
        self.path = unbroken(program, self.times, self.acts)
        self.marks = marks(program, self.acts, self.path)

    def plan(self, within: Within = 1.0) -> Plan:
        """Draw the crashes of the runs, as `CrashProcess.plan` does."""
        return self.program.scenario.crash.plan(self.draws, self.marks, within)


class Block:
    """The runs of a block; those that are not over are the columns of its arrays.

    Parameters
    ----------
    timetable : Timetable
        What they do if nothing crashes.
    plan : Plan
        The crashes.

    Attributes
    ----------
    run : ndarray of int, shape (runs,)
        Which replications they are.
    now : ndarray of int64, shape (runs,)
        When their next attempt begins, in ticks.
    record, reached : ndarray of int, shape (runs,)
        The phase at which it resumes, and the furthest one at which one of them was cut short.
    in_a_row : ndarray of int, shape (runs,)
        Crashes since a worker lived long enough to end a back-off.
    times, begun : ndarray of int, shape (drawn, runs)
        How long each of `Program.drawn` takes when it next begins, in ticks; how often it begins again.
    used : ndarray of bool, shape (drawn, runs), or None
        Whether it has begun with the time that `times` still holds; None where the last attempt tells.
    taken : ndarray of bool, shape (drawn, runs or 1)
        Whether it lies on the way of a run.
    performed : ndarray of int64, shape (queries, runs)
        When what a query asks for was first performed, in ticks.
    used : ndarray of bool, shape (drawn, runs)
        Whether its time has been taken by an attempt; kept up for a store of one slot.
    """

    def __init__(self, timetable: Timetable, plan: Plan) -> None:
        self.program = program = timetable.program
        self.draws = draws = timetable.draws
        self.tables = tables = timetable.tables
        self.limits = program.scenario.limits
        limit = self.limits.makespan
        self.limit = NEVER if limit is None else min(to_tick(limit), NEVER - 1)
        self.acts = timetable.acts
        self.path = timetable.path
        self.marks = timetable.marks
        self.crashes = Crashes(program, plan, draws.size)
        self.causes = by_cause(plan)
        self.attempts = 0

        runs = draws.size
        self.run = np.arange(runs)
        self.now = np.zeros(runs, np.int64)
        self.record = np.zeros(runs, np.int32)
        self.reached = np.zeros(runs, np.int32)
        self.in_a_row = np.zeros(runs, np.int32)
        self.times = timetable.times.copy()
        self.taken = timetable.taken
        self.begun = np.zeros(self.times.shape, np.int32)
        self.performed = np.full((len(tables.queries), runs), NEVER)
        self.used = np.zeros(self.times.shape, np.bool_)

        # Sums over the attempts of each replication.
        self.total: dict[str, Ticks] = defaultdict(lambda: np.zeros(runs, np.int64))
        self.ledger = Ledger(program, len(tables.acting), runs)
        # What of a key changes: whose run it is, and which arguments the action has; by replication.
        self.run_id = np.ones(runs, np.int64)
        self.words = np.zeros((len(tables.requests), runs), np.int64)
        self.wasted_tokens = np.zeros(runs)
        prices = tables.tokens[:-1, np.newaxis] * self.taken[: len(program.phases)]
        self.tokens_before = np.vstack([np.zeros((1, prices.shape[1])), np.cumsum(prices, axis=0)])

    def simulate(self) -> None:
        """Let one worker follow the other in every run, until all runs are over."""
        while self.run.size:
            self.attempts += 1
            attempts = self.attempt()
            self.count(attempts)
            self.account(attempts)
            self.go_on(attempts)

    def attempt(self) -> Attempts:
        """Let a worker walk through each run until it dies, finishes or is given up."""
        tables, first = self.tables, self.attempts == 1
        self.run_id[self.run[self.record == 0]] = self.attempts
        load = np.zeros_like(self.now) if first else self.load()
        begin = later(self.now, load)
        begun = (tables.phase_of_drawn >= self.record) & self.taken
        start = self.ask(begun, begin)
        ends = self.parked(begun)
        path = self.path if first else walk(self.program, begin, self.times, begun)
        dies, cause, stopped = self.crashes.strike(self.run, self.record, self.now, load, path)
        stop = np.minimum(dies, self.limit)
        ends &= begin <= stop
        stop = np.where(ends, begin, stop)

        # What ends on the tick has ended before. A phase cut short has begun, unless the worker was loading.
        passed = (path.passed[1:] <= stop).sum(axis=0, dtype=np.int32)
        stopped[dies > stop] = -1
        at = np.maximum(np.where(stopped >= 0, stopped, passed), self.record)
        at = np.where(ends, self.record, at)
        begun &= (tables.phase_of_drawn < at + ((begin <= stop) & (stopped < 0))) & ~ends
        durable = begun[tables.saves] & (path.durable <= stop)
        record = np.maximum(self.record, (durable * tables.resume).max(axis=0, initial=0))
        loaded, ended = np.minimum(load, stop - self.now), np.minimum(path.passed[-1], stop)
        finished = (path.passed[-1] <= stop) & (stopped < 0) & ~ends
        died = ~finished & (dies < self.limit) & ~ends
        if self.program.scenario.strategy.memory_only:
            record = np.where(finished, record, 0)
        if self.program.scenario.store.slots == 1:
            cut = died & (stopped < 0) & (begin <= stop) & tables.writes[at]
            record = np.where(cut & self.tears(), 0, record)
        return Attempts(path, begun, start, at, record, loaded, ended, cause, stopped >= 0, finished, died)

    def tears(self) -> Bools:
        """Whether a write that a crash cuts in this attempt of each run is unreadable."""
        drawn = self.draws.uniforms("torn", self.attempts)[self.run]
        return np.asarray(drawn < self.program.scenario.store.torn)

    def load(self) -> Ticks:
        """How long the workers load: what is saved, and each step of it again. Ticks."""
        every = np.arange(self.run.size)
        load = self.downtime("load", every)
        replay = self.downtime("replay", every)
        if replay.any():
            load = later(load, np.searchsorted(self.program.first[1:], self.record, side="right") * replay)
        return load

    def parked(self, on: Bools) -> Bools:
        """Which attempts end as they begin: to wait for a person, or with nothing; take parks off the way."""
        ends = np.zeros(self.run.size, np.bool_)
        if self.attempts > 1 and self.program.scenario.strategy.if_nothing == "stuck":
            ends |= self.record == 0
        for park in self.tables.parks:
            if self.attempts > 1:
                ends |= on[park.number] & (self.record >= park.first)
            on[park.number] = False
        return ends

    def ask(self, on: Bools, begin: Ticks) -> Numbers:
        """Take off the way of attempts the queries that are not asked, and the calls that an answer spares.

        Parameters
        ----------
        on : ndarray of bool, shape (drawn, runs)
            What lies on the way; changed in place.
        begin : ndarray of int64, shape (runs,)
            When the way begins, in ticks.

        Returns
        -------
        ndarray of int, shape (runs,)
            The phase with which the way begins, after a query.
        """
        start = self.record
        for query, performed in zip(self.tables.queries, self.performed, strict=True):
            lag = self.program.beside[query.number]
            asked = on[query.number] & (self.record >= query.first) & (self.attempts > 1)
            seen = later(begin, self.times[query.number]) - self.times[lag]
            on[[query.number, lag]] = asked
            on[query.call] &= ~(asked & (performed <= seen))
            start = np.where(asked, query.number + 1, start)
        return start

    def count(self, attempts: Attempts) -> None:
        """Count what happened in an attempt of each run."""
        tables, total, run = self.tables, self.total, self.run
        path, begun, at = attempts.path, attempts.begun, attempts.at
        before = tables.steps_done[self.record]
        # Done again is what earlier attempts had done: from where this one resumed to the furthest they came.
        again = tables.steps_done[np.minimum(at, self.reached)] - before
        total["completions"][run] += tables.steps_done[at] - before
        total["redone_steps"][run] += np.maximum(again, 0)
        total["saves"][run] += begun[tables.saves].sum(axis=0)
        total["crashes"][run] += attempts.died
        for number, name in enumerate(self.causes):
            total[name][run] += attempts.died & (attempts.cause == number)
        struck = np.flatnonzero(attempts.died & ~attempts.stopped & (path.passed[0] <= attempts.ended))
        for name, counts in tables.struck.items():
            total[name][run[struck]] += counts[at[struck]]
        for row, request in enumerate(tables.requests):
            arrives = path.passed[request + 1]
            comes = begun[request]
            if self.program.scenario.receiver.on_disconnect == "cancels":
                comes = comes & ((arrives <= attempts.ended) | ~attempts.died)
            self.ledger.enter(row, run, arrives, comes, self.key(row, begun))
            for performed, query in zip(self.performed, tables.queries, strict=True):
                if query.request == request:
                    np.minimum(performed, arrives, out=performed, where=comes)
        for row, save in enumerate(tables.effects, len(tables.requests)):
            instant = path.durable[save]
            self.ledger.enter(row, run, instant, begun[tables.saves[save]] & (instant <= attempts.ended))

    def key(self, row: int, begun: Bools) -> Numbers:
        """What makes the key of an action besides its run and step."""
        strategy, run = self.program.scenario.strategy, self.run
        key = np.zeros(run.size, np.int64)
        if strategy.run_id == "made":
            key += self.run_id[run]
        work, chance = self.tables.works[row], self.program.scenario.workload.rewords
        if strategy.key == "arguments" and chance and work >= 0:
            again = begun[work]
            n = self.begun[work]
            words = np.zeros(run.size, np.int64)
            for k in np.unique(n[again & (n > 0)]):
                which = again & (n == k)
                phase = self.program.phases[work]
                drawn = self.draws.uniforms(*phase.key[:-1], "rewords", int(k))[run[which]]
                words[which] = np.where(drawn < chance, k, 0)
            self.words[row, run] = np.where(again, words, self.words[row, run])
            key = key * (self.limits.attempts + 1) + self.words[row, run]
        return key

    def account(self, attempts: Attempts) -> None:
        """Add up the time of an attempt of each run by what became of it."""
        tables, total, run, column = self.tables, self.total, self.run, np.arange(self.run.size)
        path, at, ended = attempts.path, attempts.at, attempts.ended
        saving = np.flatnonzero(tables.saving)
        waited = np.zeros((saving.size + 1, run.size), np.int64)
        for row, number in enumerate(saving):
            np.add(waited[row], path.spent[number], out=waited[row + 1])
        partly = np.maximum(ended - path.passed[at, column], 0)
        waited_until_end = waited[tables.saving_before[at], column] + partly * tables.saving[at]

        def worked_since(phase: Numbers) -> Ticks:
            """Time from the begin of a phase to the end of the attempt, without waiting for saves."""
            waited_since = waited_until_end - waited[tables.saving_before[phase], column]
            return np.asarray(np.maximum(ended - path.passed[phase, column] - waited_since, 0))

        kept_before = np.where(attempts.finished, at, np.maximum(attempts.record, attempts.start))
        total["save_time_s"][run] += waited_until_end
        total["wasted_work_s"][run] += worked_since(kept_before)
        total["lost_work_s"][run] += worked_since(np.maximum(kept_before, tables.undone[at]))
        total["downtime_s"][run] += attempts.loaded

        length = path.spent[np.minimum(at, len(path.spent) - 1), column]
        way = run if self.tokens_before.shape[1] > 1 else 0
        tokens = self.tokens_before[at, way] - self.tokens_before[kept_before, way]
        tokens += tables.tokens[at] * (partly / np.maximum(length, 1))
        self.wasted_tokens[run] += np.maximum(tokens, 0)

    def go_on(self, attempts: Attempts) -> None:
        """Replace the workers that have died; let the runs leave that are over."""
        stays = attempts.died & (self.attempts < self.limits.attempts)
        dead = np.flatnonzero(stays)
        wakes = attempts.ended.copy()
        for part in ("detection", "restart"):
            wakes[dead] = later(wakes[dead], self.downtime(part, dead))
        wakes[dead] = later(wakes[dead], self.backoff(dead, attempts.ended))
        over = np.minimum(wakes, self.limit)
        self.total["downtime_s"][self.run] += over - attempts.ended
        self.total["makespan_s"][self.run] = over
        self.total["finished"][self.run] = attempts.finished

        stays &= wakes <= self.limit
        begun = attempts.begun
        if self.program.scenario.store.slots == 1:
            # A torn record leads back to what an earlier attempt had begun, too.
            self.used |= begun
            begun = self.used & (self.tables.phase_of_drawn >= attempts.record)
            self.used &= ~begun
        self.draw_again(begun & stays & (self.tables.phase_of_drawn >= attempts.record))
        self.now, self.record = wakes, attempts.record
        self.reached = np.maximum(self.reached, attempts.at)
        stay = np.flatnonzero(stays)
        if stay.size < self.run.size:
            for name in (
                "run",
                "now",
                "record",
                "reached",
                "in_a_row",
                "times",
                "begun",
                "performed",
                "used",
            ):
                setattr(self, name, np.take(getattr(self, name), stay, axis=-1))
            if self.taken.shape[1] > 1:
                self.taken = self.taken[:, stay]

    def backoff(self, which: Numbers, ended: Ticks) -> Ticks:
        """How long some runs wait besides, after so many crashes in a row, in ticks."""
        backoff = self.program.scenario.downtime.backoff
        if backoff is None or not which.size:
            return np.zeros(which.size, np.int64)
        lived = ended[which] - self.now[which]
        self.in_a_row[which] = np.where(lived >= to_tick(backoff.reset_after), 1, self.in_a_row[which] + 1)
        crashes, place = np.unique(self.in_a_row[which], return_inverse=True)
        return to_ticks([backoff.wait_s(int(k)) for k in crashes])[place]

    def downtime(self, part: str, which: Numbers) -> Ticks:
        """Length of a part of the downtime of some runs, in ticks: detection, restart or load."""
        law = getattr(self.program.scenario.downtime, part)
        return self.draws.times_of(law, [(("downtime", part, self.attempts), self.run[which])])

    def draw_again(self, again: Bools) -> None:
        """Draw new times for what had begun and will begin again; again has the shape (drawn, runs)."""
        if self.program.scenario.frozen or not again.any():
            return
        drawn, (laws, law) = self.program.drawn, self.program.laws
        times, begun = self.times.ravel(), self.begun.ravel()
        which = np.flatnonzero(again)
        begun[which] += 1
        row, column = np.divmod(which, self.run.size)
        order = np.lexsort((begun[which], row, law[row]))
        which, row, run = which[order], row[order], self.run[column[order]]
        n = begun[which]
        # A law inverts the numbers of all phases that have it at once.
        asked: dict[int, list[tuple[Key, Numbers]]] = defaultdict(list)
        ends = np.flatnonzero(np.diff(row * (self.attempts + 1) + n, append=-1)) + 1
        for begin, end in pairwise([0, *ends.tolist()]):
            key = (*drawn[row[begin]].key, int(n[begin]))
            asked[int(law[row[begin]])].append((key, run[begin:end]))
        times[which] = np.concatenate([self.draws.times_of(laws[k], some) for k, some in asked.items()])

    def columns(self) -> Columns:
        """Outcomes as in `sim.outcomes.OUTCOMES`, each of shape (replications,)."""
        program, total, gap = self.program, self.total, self.marks.gap()
        finished = total["finished"].astype(np.bool_)
        settled = self.ledger.settle()
        repeats = np.maximum(settled.performed - 1, 0).sum(axis=0)
        taken = program.taken(self.acts)[self.tables.acting]
        skipped = self.acts.shape[1] - total["completions"] + total["redone_steps"]
        found: Columns = {
            name: to_seconds(values) if name.endswith("_s") else values for name, values in total.items()
        }
        found |= {
            "wasted_tokens": self.wasted_tokens,
            "actions": self.acts.sum(axis=1),
            "duplicate_actions": repeats,
            **{duplicates_by(cause): np.zeros(finished.size, np.int64) for cause in CAUSES},
            duplicates_by("crash"): repeats - settled.forgotten,
            duplicates_by("expired_key"): settled.forgotten,
            "spacing_s": settled.spacing_s,
            "lost_actions": ((settled.performed == 0) & taken & finished).sum(axis=0),
            "blocked_duplicates": settled.blocked,
            "zombie_s": np.zeros(finished.size),
            "finished": finished,
            "stuck": ~finished,
            "skipped_steps": skipped * finished,
            "gap_s": to_seconds(gap),
            "rule_duplicates": to_seconds(gap) * program.scenario.crash.rate_per_s,
        }
        if not program.has_gap:
            found |= dict.fromkeys(("gap_crashes", "gap_crashes_after_done"), np.full(finished.size, np.nan))
        return {name: found[name] for name in (*OUTCOMES, *self.causes)}


def simulate(timetable: Timetable, plan: Plan) -> Columns:
    """Simulate the runs of a timetable with the crashes of a plan; outcomes as of `simulate_block`."""
    block = Block(timetable, plan)
    block.simulate()
    return block.columns()


def simulate_block(program: Program, draws: Streams) -> Columns:
    """Simulate the replications of a block.

    Parameters
    ----------
    program : Program
        What the runs walk through; `cannot` says whether this engine knows all of it.
    draws : Streams
        The block's random numbers; their size is the number of replications.

    Returns
    -------
    dict of str to ndarray, shape (replications,)
        As named in `sim.outcomes.OUTCOMES`.
    """
    timetable = Timetable(program, draws)
    return simulate(timetable, timetable.plan())
