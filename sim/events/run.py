"""One replication: the actors, their supervisor, and the log they write."""

from collections.abc import Callable, Generator
from typing import Any

from simpy.core import EmptySchedule
from simpy.events import Event, Timeout

from sim.events.block import Block
from sim.events.clock import AFTER_SAVES, Clock, Signal, Stroke
from sim.events.crash import Crash
from sim.events.outage import Weather
from sim.events.receiver import Key, Receiver, Request, sender
from sim.events.relay import Entry, Relay
from sim.events.store import Store
from sim.events.words import DURABLE, ENDS, STALLS, STARTS
from sim.events.worker import Worker
from sim.laws import Law
from sim.outcomes import NOTHING, Attempt, Log
from sim.program import Phase
from sim.services import Outages
from sim.streams import Part
from sim.ticks import must_end, to_tick

MOST_EVENTS = 10_000_000
"""How many events a run may take, a minute or so."""

Waiting = Generator[Event, Any, None]
Tell = Callable[[str, str, int], None]
Listener = Callable[[int, str, str, int], None]
"""Told (tick, actor, what, step)."""


def nobody_listens(_actor: str, _what: str, _step: int) -> None:
    """Tell nobody."""


class Run:
    """One replication.

    Parameters
    ----------
    block : Block
        What the run shares with others.
    replication : int
        Its row in the block.
    log : Log
        Where it writes down what happened.
    listener : callable, optional
        Told (tick, actor, what, step) as it happens; the step is an index, or -1.

    Attributes
    ----------
    worker : Worker or None
        The run's own worker, the newest; nobody in a downtime.
    """

    def __init__(
        self,
        block: Block,
        replication: int,
        log: Log,
        listener: Listener | None = None,
    ) -> None:
        self.env = env = Clock()
        self.block = block
        self.scenario = scenario = block.program.scenario
        self.replication = replication
        self.log = log
        self.listens = listener is not None
        self.tell: Tell = nobody_listens
        if listener is not None:
            self.tell = lambda actor, what, step: listener(env.now, actor, what, step)
        self.path = block.program.path(block.acts[replication])
        self.watch = watch = scenario.supervision
        self.fences = watch is not None and watch.fencing != "none"
        self.store = Store()
        effects = watch is not None and watch.fencing == "effect"
        self.receiver = Receiver(env, scenario.receiver, effects, self.tell)
        if scenario.receiver.outages is not None:
            self.receiver.weather = self.weather(scenario.receiver.outages, "receiver")
        self.provider = self.weather(scenario.provider, "provider") if scenario.provider else None
        relay = scenario.strategy.relay
        self.relay = Relay(env, self, relay) if relay is not None else None
        self.crash = Crash(env, block, replication)
        self.begun = [0] * len(block.program.phases)
        self.sends: dict[int, int] = {}
        self.rewords = scenario.workload.rewords
        self.watches_steps = block.drains or (watch is not None and watch.step_timeout is not None)
        self.stretches = self.provider is not None or (watch is not None and watch.stalls is not None)
        self.saves_plainly = block.saves_plainly and not self.fences and not self.listens
        self.worker: Worker | None = None
        self.last: Worker | None = None
        self.zombie = 0
        self.attempts = 0
        self.silent_since = 0
        self.crashes_in_a_row = 0
        self.down = 0
        self.finished = False
        self.given_up = False
        self.makespan = -1

    # ---------------------------------------------------------------- from begin to end

    def simulate(self) -> None:
        """Play the run to its end, and on until all has settled."""
        self.start_worker()
        limit = self.scenario.limits.makespan
        if limit is not None:
            Stroke(self.env, to_tick(limit), self.give_up)
        self.play()
        self.write_down(self.store.record)
        self.crash.victim = None  # leaves no cycle behind: thousands of runs follow before any is collected
        log = self.log
        log.finished.append(self.finished)
        log.makespan.append(self.makespan)
        log.down.append(self.down)
        log.zombie.append(self.zombie)
        for step, deeds in self.receiver.performed.items():
            for deed in deeds:
                log.performed.append((self.replication, step))
                log.instants.append(deed.instant)
                log.causes.append(deed.cause)
        log.blocked.extend((self.replication, step) for step in self.receiver.blocked)

    def play(self) -> None:
        """Let events happen until none is left."""
        step = self.env.step
        try:
            for _ in range(MOST_EVENTS):
                step()
        except EmptySchedule:
            return
        must_end(MOST_EVENTS + 1, "events", MOST_EVENTS)

    def start_worker(self) -> None:
        """The supervisor starts a worker, and listens to its heartbeats."""
        if self.scenario.strategy.memory_only:
            self.store.forget()
        self.write_down(self.store.record)
        self.attempts += 1
        self.worker = self.last = worker = Worker(self, self.attempts)
        self.tell(worker.name, STARTS, -1)
        worker.process.callbacks.append(lambda _: self.hear_silence(worker))
        if self.watch is not None and self.watch.stalls is not None:
            self.watch_heartbeats(worker, 0)

    def write_down(self, record: int) -> None:
        """Write down what the last worker did as the run's own, now that what is kept of it is known."""
        worker, self.last = self.last, None
        if worker is None:
            return
        log, entries = self.log, len(self.log.ends)
        until = worker.logged
        log.phases.extend(worker.phases[:until])
        log.ends.extend(worker.ends[:until])
        planned = worker.planned if worker.over != "finished" else 0
        if worker.replaced is not None:
            planned = 0
            if worker.cut is not None:
                phase, planned = worker.cut
                log.phases.append(phase)
                log.ends.append(worker.replaced)
        cause = self.crash.fires if worker.over == "crashed" and worker.replaced is None else NOTHING
        begin = worker.begin if worker.begin is not None else worker.woke
        log.attempts.append(Attempt(self.replication, entries, begin, planned, record, cause))

    def hear_silence(self, worker: Worker) -> None:
        """A worker has fallen silent: unless all is over, notice, wait for a new one, and start it."""
        now = self.env.now
        self.tell(worker.name, ENDS[worker.over], -1)
        if worker.replaced is not None:
            self.zombie += now - worker.replaced
            return
        self.worker = None
        self.finished = worker.over == "finished"
        self.given_up = worker.over in ("stuck", "fenced")
        if worker.over == "crashed":
            self.crash.end()
        self.silent_since = now
        if self.finished or self.given_up or self.attempts == self.scenario.limits.attempts:
            self.makespan = now
            return
        if self.watch is not None and self.watch.lease is not None:
            detection = max(worker.last_beat(now) + to_tick(self.watch.lease) - now, 0)
        else:
            detection = self.downtime("detection")
        self.begin_again(detection, now - worker.woke)

    def begin_again(self, detection: int, lived: int) -> None:
        """Have a new worker started, so long after the supervisor has noticed."""
        pause = detection + self.downtime("restart") + self.backoff(lived)
        Stroke(self.env, pause, self.start_again, AFTER_SAVES)

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
        if self.worker is not None:
            self.worker.die("stuck")
        else:
            self.down += self.env.now - self.silent_since
            self.makespan = self.env.now

    def backoff(self, lived: int) -> int:
        """How long to wait besides, after so many crashes in a row. Ticks."""
        backoff = self.scenario.downtime.backoff
        if backoff is None:
            return 0
        if lived >= to_tick(backoff.reset_after):
            self.crashes_in_a_row = 0
        self.crashes_in_a_row += 1
        return to_tick(backoff.wait_s(self.crashes_in_a_row))

    # ---------------------------------------------------------------- taken for dead

    def watch_heartbeats(self, worker: Worker, k: int) -> None:
        """Wait for a stall of a worker, and take it for dead if that lasts longer than its lease."""
        begin, end = worker.stall(k)

        def stalls(_: Event) -> None:
            if worker is not self.worker:
                return
            self.tell(worker.name, STALLS, -1)
            assert self.watch is not None
            expires = worker.last_beat(begin) + to_tick(self.watch.lease or 0)
            if expires < end:
                Stroke(self.env, expires - begin, lambda _: self.replace(worker))
            self.watch_heartbeats(worker, k + 1)

        Timeout(self.env, begin - self.env.now).callbacks.append(stalls)

    def watch_step(self, worker: Worker, step: int) -> None:
        """Take a worker for dead that takes too long for a step."""
        if self.watch is None or self.watch.step_timeout is None:
            return

        def times_out(_: Event) -> None:
            if worker.at is not None and worker.at.step == step:
                self.replace(worker)

        Stroke(self.env, to_tick(self.watch.step_timeout), times_out)

    def replace(self, worker: Worker) -> None:
        """Take a worker for dead, and have another started."""
        if worker is not self.worker or worker.over:
            return
        self.tell("supervisor", f"takes {worker.name} for dead", -1)
        worker.replace()
        self.worker = None
        self.crash.end(fired=False)
        self.silent_since = self.env.now
        assert self.watch is not None
        if self.watch.cancels:
            worker.die("killed")
        if self.attempts == self.scenario.limits.attempts:
            self.given_up = True
            self.makespan = self.env.now
            return
        self.begin_again(0, self.env.now - worker.woke)

    # ---------------------------------------------------------------- services

    def keep(self, worker: Worker, phase: Phase, base: int) -> bool:
        """◆durable, unless the worker has been replaced and is fenced."""
        if self.fences and worker.replaced is not None:
            self.tell("store", f"refuses {worker.name}, which was replaced", phase.step)
            return False
        # A step's row is there only once: who comes second changes nothing.
        if phase.holds != "progress" and phase.step not in self.store.rows:
            self.store.rows.add(phase.step)
            self.act(worker, phase)
        self.store.keep(worker, phase, base)
        if self.listens:
            self.tell("store", DURABLE, phase.step)
        return True

    def act(self, worker: Worker, phase: Phase) -> None:
        """Let what a save holds become true with it."""
        if phase.holds == "effect":
            self.receiver.put_down(phase.step, worker.number)
        else:
            assert self.relay is not None, "a strategy with entries has a relay"
            key = worker.key(phase.step, 0)
            self.relay.add(Entry(phase.step, key, worker.words_of(phase)))

    def send(
        self, step: int, worker: Worker | None, key: Key | None, words: int, n: int
    ) -> tuple[Request, Signal]:
        """Send a request; the signal comes with its answer, if one comes."""
        settings, env, path = self.scenario.receiver, self.env, ("step", step, "call", 0)
        again = 0 if self.scenario.frozen else n
        law = self.scenario.workload.steps[step].tool or settings.response
        response = self.draw(law, *path, "response", again)
        answer_lost = self.happens(settings.answer_lost, *path, "answer lost", n)
        answer = Signal(env)

        def answers(what: str) -> None:
            if answer_lost:
                self.tell("network", f"loses the answer to {sender(worker)}", step)
            elif response:
                Timeout(env, response).callbacks.append(lambda _: answer.give(what))
            else:
                answer.give(what)

        request = Request(
            step=step,
            key=key,
            words=words,
            worker=worker,
            fails=self.happens(settings.fails, *path, "fails", n),
            forgotten=self.happens(settings.keys.forgets, *path, "forgets", n),
            handling=self.draw(settings.handling, *path, "handling", again),
            answer=answers,
        )
        if self.happens(settings.request_lost, *path, "request lost", n):
            self.tell("network", f"loses the request of {sender(worker)}", step)
        else:
            self.receiver.take(request, self.draw(settings.request, *path, "request", again))
        return request, answer

    def time_out(self, request: Request, answer: Signal) -> None:
        """Stop waiting for an answer after the client's time."""
        if self.scenario.client.timeout is None:
            return

        def out(_: Event) -> None:
            if not answer.triggered:
                request.abandoned = True
                answer.give("time-out")

        Stroke(self.env, to_tick(self.scenario.client.timeout), out)

    # ---------------------------------------------------------------- random numbers

    def draw(self, law: Law, *key: Part) -> int:
        """Draw a time of this run, in ticks."""
        return self.block.draws.time(law, self.replication, *key)

    def happens(self, chance: float, *key: Part) -> bool:
        """Draw whether something happens in this run."""
        return chance > 0 and bool(self.block.draws.uniforms(*key)[self.replication] < chance)

    def weather(self, outages: Outages, name: str) -> Weather:
        """Outages of a service in this run."""
        return Weather(outages, self.block.draws, self.replication, name)

    def downtime(self, part: str) -> int:
        """Length of a part of this attempt's downtime: detection, restart or load."""
        return self.draw(getattr(self.scenario.downtime, part), "downtime", part, self.attempts)

    def load_time(self, worker: Worker) -> int:
        """How long a worker loads: what is saved, and each step of it again."""
        load = self.downtime("load")
        if self.block.replays:
            load += self.block.program.steps_before(worker.resume) * self.downtime("replay")
        return load

    def work_time(self, phase: Phase, duration: int) -> tuple[int, bool]:
        """How long a phase takes with the outages of what does the work, in ticks; whether it ends."""
        if self.provider is None or phase.name != "work":
            return duration, True
        return self.provider.finishes_after(self.env.now, duration, self.scenario.limits.tries)
