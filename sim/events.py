"""The events engine: a run as a SimPy simulation, told as it happens.

An *agent* walks through the phases of its program. A *crash* strikes it. A *supervisor* notices the silence
and starts it again where the *store* knows it to be. A *receiver* performs what it was asked to, in its
own time, whether the caller lives or not, and keeps the ledger that is the truth about duplicates.

The engine only writes down what happened, in a `Log`; `sim.outcomes` counts.
"""

import gc
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from operator import attrgetter
from typing import Any

import numpy as np
from simpy import Environment, Interrupt
from simpy.events import Event, EventPriority, Timeout

from sim.outcomes import NOTHING, STOPPED, Attempt, Log, Tally, by_cause, count
from sim.program import CALL, Phase, Program
from sim.schedule import crash_free, source_weights
from sim.streams import Streams
from sim.ticks import NEVER, to_tick

Waiting = Generator[Event, Any, None]

_ID = attrgetter("id")

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
        if resume > self.record:
            self.record = resume

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


class SourceState:
    """One source of crashes in one run: what is left of its time.

    Attributes
    ----------
    time : int
        Exposure left, on the clock of the attempt or the worker; an instant, on that of the wall. Ticks.
    left : int
        Exposure left to the attempt from the begin of the present phase on.
    """

    def __init__(self, block: "Block", number: int, replication: int) -> None:
        self.block = block
        self.number = number
        self.replication = replication
        self.clock = block.plan.sources[number].clock
        self.grace = block.plan.sources[number].grace
        self.weights = block.weights[number]
        self.taken = 0
        self.time = 0
        self.used_up = True
        self.left = 0

    def begin(self, now: int) -> None:
        """A worker begins."""
        wall = self.clock == "wall"
        while self.used_up or (wall and self.time < now and self.time < NEVER):
            self.time = self.block.crashes(self.number, self.taken)[self.replication]
            self.taken += 1
            self.used_up = False
        self.left = self.time - now if wall and self.time < NEVER else self.time

    def strikes_in(self, duration: int, part: int) -> int:
        """How long into a phase of so many ticks it strikes, if it does."""
        weight = self.weights[part]
        if weight == 1 or self.left > NEVER // 2:  # never is never, whatever has been spent of it
            return self.left + self.grace
        return int(self.left / weight) if weight else NEVER

    def spend(self, duration: int, part: int) -> None:
        """Let time pass in a phase."""
        if self.left <= NEVER // 2:
            self.left = max(self.left - self.exposed(duration, part), -self.grace)

    def exposed(self, duration: int, part: int) -> int:
        """Exposure of so much time in a phase."""
        weight = self.weights[part]
        return duration if weight == 1 else int(duration * weight)

    def end(self, fired: bool) -> None:
        """A worker has died."""
        self.used_up = fired or self.clock == "attempt"
        if self.clock == "worker":
            self.time = self.left


class Crash:
    """Ages with the worker's exposure and strikes when the time of one of its sources has come."""

    def __init__(self, env: Clock, block: "Block", replication: int) -> None:
        self.env = env
        self.sources = [SourceState(block, number, replication) for number in range(len(block.plan.sources))]
        self.plain = block.plain
        self.fires = 0
        self.since = 0
        self.part = 0
        self.planned = 0

    def begin(self) -> int:
        """A worker begins; give how long no phase of it can be struck, in ticks, if nothing is weighed."""
        self.since = self.env.now
        for source in self.sources:
            source.begin(self.since)
        if not self.plain:
            return 0
        left = [source.left for source in self.sources]
        self.fires = left.index(min(left))
        return left[self.fires]

    def expose(self, left: int, duration: int, part: int) -> int:
        """Let the worker into a phase, and strike before its end if a time comes before it.

        Parameters
        ----------
        left : int
            Exposure left to the worker, in ticks, as `begin` gives it.
        duration, part : int
            Length of the phase; its place in the weights: 0 to load, else 1 + its number.

        Returns
        -------
        int
            Exposure left at the end of the phase; 0 where each phase must be looked at.
        """
        strikes_in = left
        if not self.plain:
            for source in self.sources:
                source.spend(self.planned, self.part)
            self.since, self.part, self.planned = self.env.now, part, duration
            times = [source.strikes_in(duration, part) for source in self.sources]
            strikes_in = min(times)
            self.fires = times.index(strikes_in)
        if strikes_in < duration:
            self.strike(strikes_in)
        return max(left - duration, 0) if self.plain else 0

    def strike(self, delay: int) -> None:
        """Kill the worker that asks for it, so many ticks from now."""
        victim = self.env.active_process
        assert victim is not None, "only a worker goes into a phase"
        Stroke(self.env, delay, lambda _: victim.interrupt() if victim.is_alive else None)

    def tells_to_stop(self) -> bool:
        """Whether a source has told the worker to stop; asked at the end of a step."""
        for number, source in enumerate(self.sources):
            if source.grace and source.time <= self.env.now:
                self.fires = number
                return True
        return False

    def end(self) -> None:
        """The worker has died: the source that struck is renewed, the others go on."""
        for number, source in enumerate(self.sources):
            source.spend(self.env.now - self.since, self.part)
            source.end(fired=number == self.fires)
        self.part = self.planned = 0


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
        self.marks = crash_free(program, draws, self.acts)
        self.plan = scenario.crash.plan(draws, self.marks)
        self.weights = [source_weights(program, source) for source in self.plan.sources]
        self.drains = any(source.grace for source in self.plan.sources)
        weighs = any(weight != 1 for weights in self.weights for weight in weights)
        self.plain = not weighs and not self.drains
        self._crashes: list[list[list[int]]] = [[] for _ in self.plan.sources]
        self._asked: Counter[tuple[int, int]] = Counter()
        table = [draws.times(phase.law, *phase.key, 0) for phase in program.phases]
        self.first_times: list[list[int]] = np.stack(table, axis=1).tolist()

    def crashes(self, source: int, k: int) -> list[int]:
        """Row k of a source of crashes, drawn when it is first needed."""
        rows = self._crashes[source]
        while len(rows) <= k:
            rows.append(next(self.plan.sources[source].rows).tolist())
        return rows[k]

    def again(self, phase: Phase, n: int, replication: int) -> int:
        """Time of a phase that was begun n times before, in ticks."""
        if self.program.scenario.frozen:
            return self.first_times[replication][phase.id]
        self._asked[phase.id, n] += 1
        if self._asked[phase.id, n] == 1 + self.draws.size // 256:
            self.draws.times(phase.law, *phase.key, n)  # asked often: cheaper as a whole row from here on
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
        self.silent_since = 0
        self.awake_since = 0
        self.crashes_in_a_row = 0
        self.down = 0
        self.finished = False
        self.given_up = False
        self.asks = False
        self.makespan = -1

    def simulate(self) -> None:
        """Play the run to its end, and on until the receiver has settled."""
        self.start_worker()
        limit = self.scenario.limits.makespan
        if limit is not None:
            Stroke(self.env, to_tick(limit), self.give_up)
        self.env.run()
        log = self.log
        log.finished.append(self.finished)
        log.makespan.append(self.makespan)
        log.down.append(self.down)
        for step, instants in self.receiver.performed.items():
            log.performed.extend([(self.replication, step)] * len(instants))
        log.blocked.extend((self.replication, step) for step in self.receiver.blocked)

    def start_worker(self) -> None:
        """The supervisor starts a worker, and listens to its heartbeats."""
        self.attempts += 1
        self.awake_since = self.env.now
        self.worker = self.env.process(self.work())
        self.worker.callbacks.append(self.hear_silence)

    def hear_silence(self, _: Event) -> None:
        """The worker has fallen silent: unless all is over, notice, wait for a new one, and start it."""
        self.silent_since = self.env.now
        if self.finished or self.given_up or self.attempts == self.scenario.limits.attempts:
            self.makespan = self.env.now
            return
        pause = self.downtime("detection") + self.downtime("restart") + self.backoff()
        Timeout(self.env, pause).callbacks.append(self.start_again)

    def start_again(self, _: Event) -> None:
        """A new worker is there."""
        if not self.given_up:
            self.down += self.env.now - self.silent_since
            self.start_worker()

    def give_up(self, _: Event) -> None:
        """The run has taken too long."""
        if self.makespan >= 0:
            return
        self.given_up = True
        if self.worker.is_alive:
            self.worker.interrupt()
        else:
            self.down += self.env.now - self.silent_since
            self.makespan = self.env.now

    def backoff(self) -> int:
        """How long to wait besides, after so many crashes in a row. Ticks."""
        backoff = self.scenario.downtime.backoff
        if backoff is None:
            return 0
        if self.env.now - self.awake_since >= to_tick(backoff.reset_after):
            self.crashes_in_a_row = 0
        self.crashes_in_a_row += 1
        return to_tick(backoff.wait_s(self.crashes_in_a_row))

    def downtime(self, part: str) -> int:
        """Length of a part of this attempt's downtime: detection, restart or load."""
        law = getattr(self.scenario.downtime, part)
        return self.block.draws.time(law, self.replication, "downtime", part, self.attempts)

    def work(self) -> Waiting:
        """One attempt: load what was saved, then walk through the phases that follow it."""
        env, crash, store, begun = self.env, self.crash, self.store, self.begun
        walked, ended = self.log.phases.append, self.log.ends.append
        first_times = self.block.first_times[self.replication]
        entries = len(self.log.ends)
        drains = self.block.drains
        walk = iter(self.path[bisect_left(self.path, store.record, key=_ID) :])
        left = crash.begin()
        begin = None
        planned = 0
        woke = env.now
        try:
            if self.attempts > 1:
                load = self.downtime("load")
                if load:
                    left = crash.expose(left, load, 0)
                    yield Timeout(env, load)
                self.down += load
            begin = now = env.now
            step = -1
            for phase in walk:
                number = phase.id
                if drains and phase.step != step:
                    if step >= 0 and crash.tells_to_stop():
                        planned = STOPPED
                        crash.strike(0)
                        yield Event(env)
                    step = phase.step
                times_begun = begun[number]
                begun[number] = times_begun + 1
                if times_begun:
                    duration = self.block.again(phase, times_begun, self.replication)
                else:
                    duration = first_times[number]
                if phase.special:
                    resumed = self.attempts > 1 and len(self.log.ends) == entries
                    duration = self.enter(phase, duration, resumed)
                if duration:
                    planned = duration
                    if left >= duration:
                        left -= duration
                    else:
                        left = crash.expose(left, duration, number + 1)
                    yield Timeout(env, duration)
                    now += duration
                walked(number)
                ended(now)
                if phase.saves:
                    store.keep(phase.resume)
                elif phase.special and self.asks and self.was_performed(phase):
                    # The call is over without having been made again.
                    for skipped in self.path:
                        if skipped.step == phase.step and skipped.activity == CALL:
                            next(walk)
                            walked(skipped.id)
                            ended(now)
            self.finished = True
            planned = 0
        except Interrupt:
            store.lose_lanes()
            if begin is None:
                self.down += env.now - woke
                begin = env.now
            else:
                walked(number)
                ended(env.now)
        crashed = not self.finished and not self.given_up
        if crashed:
            crash.end()
        cause = crash.fires if crashed else NOTHING
        self.log.attempts.append(Attempt(self.replication, entries, begin, planned, store.record, cause))

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
                    self.begun[phase.id] -= 1  # passed by, not begun
                return duration if resumed else 0
            case _:
                n = self.begun[phase.id] - 1
                key = (*phase.key[:-1], "ack", 0 if self.scenario.frozen else n)
                ack = self.block.draws.time(self.scenario.store.ack, self.replication, *key)
                self.store.queue(phase.lane, phase.resume, duration, ack)
                return 0

    def was_performed(self, phase: Phase) -> bool:
        """Ask the receiver at the end of a query; its view lags behind."""
        self.asks = False
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
    return count(program, log, block.acts, block.marks.gap(), by_cause(block.plan))
