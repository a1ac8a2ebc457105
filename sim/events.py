"""The events engine: a run as a SimPy simulation, told as it happens.

An *agent* walks through the phases of its program. A *crash* strikes it. A *supervisor* notices the silence
and starts it again where the *store* knows it to be. A *receiver* performs what it was asked to, in its
own time, whether the caller lives or not, and keeps the ledger that is the truth about duplicates.

The engine only writes down what happened, in a `Log`; `sim.outcomes` counts.
"""

import gc
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Generator
from operator import attrgetter
from typing import Any

import numpy as np
from simpy import Environment, Interrupt, Process
from simpy.events import Event, EventPriority, Timeout

from sim.outcomes import Attempt, Log, Tally, count
from sim.program import CALL, LANE, Phase, Program
from sim.schedule import crash_free
from sim.streams import Streams
from sim.ticks import NEVER, to_tick

Waiting = Generator[Event, Any, None]

SPECIAL = frozenset({"request", LANE, "drain", "query"})
"""Phases whose begin does more than let time pass."""

AFTER_MARKS = EventPriority(2)
"""SimPy priority below that of time-outs: what falls on the same tick has happened before the crash."""


class Clock(Environment):
    """An environment whose time is whole ticks."""

    _now: int

    def __init__(self) -> None:
        super().__init__(initial_time=0)

    @property
    def now(self) -> int:
        """The present tick."""
        return self._now


class Stroke(Event):
    """An event that comes after everything else on its tick."""

    def __init__(self, env: Clock, delay: int, callback: Callable[[Event], None]) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        self.callbacks.append(callback)
        env.schedule(self, priority=AFTER_MARKS, delay=delay)


class Store:
    """Where a recovery resumes, as far as it is durable.

    Attributes
    ----------
    record : int
        Number of the phase at which a recovery resumes.
    """

    def __init__(self, env: Clock) -> None:
        self.env = env
        self.record = 0
        self.lanes: dict[str, int] = {}
        self.worker = 0

    def keep(self, resume: int) -> None:
        """◆durable: from here on progress survives."""
        self.record = max(self.record, resume)

    def queue(self, lane: str, resume: int, write: int, ack: int) -> None:
        """Save behind the work, after what is in the lane already; dies with the worker."""
        durable = max(self.env.now, self.lanes.get(lane, 0)) + write
        self.lanes[lane] = durable + ack
        worker = self.worker

        def write_ends(_: Event) -> None:
            if self.worker == worker:
                self.keep(resume)

        Timeout(self.env, durable - self.env.now).callbacks.append(write_ends)

    def drained(self) -> int:
        """When the lanes are empty."""
        return max(self.lanes.values(), default=0)

    def lose_lanes(self) -> None:
        """Forget what the dead worker had not written."""
        self.worker += 1
        self.lanes.clear()


class Receiver:
    """Performs actions, and remembers them.

    Attributes
    ----------
    performed : dict of int to list of int
        When each step's action was performed.
    blocked : list of int
        Steps whose repeat was answered from the key table.
    """

    def __init__(self, env: Clock, keyed: bool) -> None:
        self.env = env
        self.keyed = keyed
        self.performed: dict[int, list[int]] = defaultdict(list)
        self.blocked: list[int] = []

    def take(self, step: int, delay: int) -> None:
        """◆sent: the request is on its way and will arrive, whatever becomes of the sender."""
        if delay:
            Timeout(self.env, delay).callbacks.append(lambda _: self.perform(step))
        else:
            self.perform(step)

    def perform(self, step: int) -> None:
        """◆commit: do it, unless the key says that it was done."""
        if self.keyed and step in self.performed:
            self.blocked.append(step)
        else:
            self.performed[step].append(self.env.now)

    def has_performed(self, step: int, until: int) -> bool:
        """Whether the action was performed, as seen at an instant."""
        return any(instant <= until for instant in self.performed.get(step, ()))


class Crash:
    """Ages with the worker's exposure and strikes when its time has come."""

    def __init__(self, env: Clock, block: "Block", replication: int) -> None:
        self.env = env
        self.block = block
        self.replication = replication
        self.taken = 0
        self.left = NEVER
        self.worker: Process | None = None

    def watch(self, worker: Process) -> None:
        """Look at a new attempt: how much exposure is left to it?"""
        self.worker = worker
        self.left = self.next()
        if self.block.wall:
            while self.left < self.env.now:
                self.left = self.next()
            self.left -= self.env.now

    def next(self) -> int:
        """Take the next time from the plan."""
        time = self.block.crashes(self.taken)[self.replication]
        self.taken += 1
        return time

    def expose(self, duration: int, weight: float) -> None:
        """Let the worker go into a phase; strike before its end if the time comes before it."""
        if weight == 1:
            spent, strikes_in = duration, self.left
        else:
            spent = int(duration * weight)
            strikes_in = int(self.left / weight) if weight else NEVER
        if strikes_in < duration:
            Stroke(self.env, strikes_in, self.strike)
        else:
            self.left = max(self.left - spent, 0)

    def strike(self, _: Event) -> None:
        """Kill the worker."""
        if self.worker is not None and self.worker.is_alive:
            self.worker.interrupt()


class Block:
    """What the runs of a block share: their random numbers, turned into times.

    Parameters
    ----------
    program : Program
        The phases.
    draws : Streams
        The block's random numbers.
    """

    def __init__(self, program: Program, draws: Streams) -> None:
        self.program = program
        self.draws = draws
        self.acts = program.draw_acts(draws)
        scenario = program.scenario
        plan = scenario.crash.plan(draws, lambda: crash_free(program, draws, self.acts))
        self.wall = plan.wall
        self.load_weight = scenario.crash.exposure.get("load", 1.0)
        self._plan = plan.rows
        self._crashes: list[list[int]] = []
        table = [draws.times(phase.law, *phase.key, 0) for phase in program.phases]
        self.first_times: list[list[int]] = np.stack(table, axis=1).tolist()

    def crashes(self, k: int) -> list[int]:
        """Row k of the crash plan, drawn when it is first needed."""
        while len(self._crashes) <= k:
            self._crashes.append(next(self._plan).tolist())
        return self._crashes[k]

    def again(self, phase: Phase, n: int, replication: int) -> int:
        """Time of a phase that was begun n times before, in ticks."""
        if self.program.scenario.frozen:
            return self.first_times[replication][phase.id]
        if n == 1:
            # Many runs begin a phase twice, few more often: a whole row pays only for the former.
            return int(self.draws.times(phase.law, *phase.key, n)[replication])
        return self.draws.time(phase.law, replication, *phase.key, n)


class Run:
    """One replication: the actors, and the log they write."""

    def __init__(self, block: Block, replication: int, log: Log) -> None:
        self.env = env = Clock()
        self.block = block
        self.scenario = block.program.scenario
        self.replication = replication
        self.log = log
        self.path = block.program.path(block.acts[replication])
        self.store = Store(env)
        self.receiver = Receiver(env, keyed=self.scenario.strategy.key == "run_step")
        self.crash = Crash(env, block, replication)
        self.begun = [0] * len(block.program.phases)
        self.attempts = 0
        self.finished = False
        self.given_up = False
        self.asks = False
        self.down = 0
        self.ended = 0

    def simulate(self) -> None:
        """Play the run to its end, and on until the receiver has settled."""
        supervisor = self.env.process(self.supervise())
        limit = self.scenario.limits.makespan
        if limit is not None:

            def give_up(_: Event) -> None:
                if supervisor.is_alive:
                    self.given_up = True
                    supervisor.interrupt()

            Stroke(self.env, to_tick(limit), give_up)
        self.env.run()
        log = self.log
        log.finished.append(self.finished)
        log.makespan.append(self.ended)
        log.down.append(self.down)
        for step, instants in self.receiver.performed.items():
            log.performed.extend([(self.replication, step)] * len(instants))
        log.blocked.extend((self.replication, step) for step in self.receiver.blocked)

    def supervise(self) -> Waiting:
        """Start a worker; when it falls silent, notice, wait for a new one, and start again."""
        env, limits = self.env, self.scenario.limits
        worker = silent_since = None
        try:
            while True:
                self.attempts += 1
                worker = env.process(self.work())
                self.crash.watch(worker)
                yield worker
                if self.finished or self.attempts == limits.attempts:
                    break
                silent_since = env.now
                yield Timeout(env, self.downtime("detection") + self.downtime("restart"))
                self.down += env.now - silent_since
        except Interrupt:
            if worker is not None and worker.is_alive:
                worker.interrupt()
            elif silent_since is not None:
                self.down += env.now - silent_since
        self.ended = env.now

    def downtime(self, part: str) -> int:
        """Length of a part of this attempt's downtime: detection, restart or load."""
        law = getattr(self.scenario.downtime, part)
        return self.block.draws.time(law, self.replication, "downtime", part, self.attempts)

    def work(self) -> Waiting:
        """One attempt: load what was saved, then walk through the phases that follow it."""
        env, log, crash, store, begun = self.env, self.log, self.crash, self.store, self.begun
        first_times = self.block.first_times[self.replication]
        phases, ends = log.phases, log.ends
        entries, record = len(ends), store.record
        planned = 0
        begin = None
        walk = iter(self.path[bisect_left(self.path, record, key=attrgetter("id")) :])
        woke = env.now
        try:
            if self.attempts > 1:
                load = self.downtime("load")
                if load:
                    crash.expose(load, self.block.load_weight)
                    yield Timeout(env, load)
                self.down += load
            begin = env.now
            for phase in walk:
                number = phase.id
                times_begun = begun[number]
                begun[number] = times_begun + 1
                if times_begun:
                    duration = self.block.again(phase, times_begun, self.replication)
                else:
                    duration = first_times[number]
                if phase.name in SPECIAL:
                    resumed = self.attempts > 1 and len(ends) == entries
                    duration = self.enter(phase, duration, resumed)
                if duration:
                    planned = duration
                    crash.expose(duration, phase.weight)
                    yield Timeout(env, duration)
                phases.append(number)
                ends.append(env.now)
                if phase.resume >= 0 and not phase.lane:
                    store.keep(phase.resume)
                elif phase.name == "query" and self.asks and self.was_performed(phase):
                    # The call is over without having been made again.
                    for skipped in self.path:
                        if skipped.step == phase.step and skipped.activity == CALL:
                            next(walk)
                            phases.append(skipped.id)
                            ends.append(env.now)
            self.finished = True
            planned = 0
        except Interrupt:
            store.lose_lanes()
            if begin is None:
                self.down += env.now - woke
            else:
                phases.append(number)
                ends.append(env.now)
        log.attempts.append(
            Attempt(
                run=self.replication,
                entries=entries,
                begin=env.now if begin is None else begin,
                planned=planned,
                record=store.record,
                crashed=not self.finished and not self.given_up,
            )
        )

    def enter(self, phase: Phase, duration: int, resumed: bool) -> int:
        """Begin a phase that is more than waiting; give how long the worker waits in it."""
        match phase.name:
            case "request":
                self.receiver.take(phase.step, duration)
                return duration
            case "drain":
                return max(self.store.drained() - self.env.now, 0)
            case "query":
                self.asks = resumed
                if not resumed:
                    self.begun[phase.id] -= 1
                return duration if resumed else 0
            case _:
                n = self.begun[phase.id] - 1
                key = (*phase.key[:-1], "ack", 0 if self.scenario.frozen else n)
                ack = self.block.draws.time(self.scenario.store.ack, self.replication, *key)
                self.store.queue(phase.lane, phase.resume, duration, ack)
                return 0

    def was_performed(self, phase: Phase) -> bool:
        """Ask the receiver at the end of a query; its view lags behind."""
        n = 0 if self.scenario.frozen else self.begun[phase.id] - 1
        law = self.scenario.receiver.lag
        lag = self.block.draws.time(law, self.replication, *phase.key, "lag", n)
        return self.receiver.has_performed(phase.step, self.env.now - lag)


def simulate_block(program: Program, draws: Streams) -> Tally:
    """Simulate the replications of a block.

    Parameters
    ----------
    program : Program
        What the runs walk through.
    draws : Streams
        The block's random numbers; their size is the number of replications.

    Returns
    -------
    Tally
        The outcomes, a row a replication.
    """
    block = Block(program, draws)
    log = Log()
    collecting = gc.isenabled()
    gc.disable()  # a run makes thousands of events and almost no cycles
    try:
        for replication in range(draws.size):
            Run(block, replication, log).simulate()
    finally:
        if collecting:
            gc.enable()
    return count(program, log, block.acts)
