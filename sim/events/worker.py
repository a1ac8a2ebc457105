"""One worker: it loads what was saved, then walks through the phases that follow."""

from bisect import bisect_left
from collections.abc import Generator
from operator import attrgetter
from typing import TYPE_CHECKING

from simpy import Interrupt
from simpy.events import Event, Timeout

from sim.events.client import call
from sim.events.receiver import Key, Request
from sim.events.store import Queue
from sim.events.words import SENDS, TORN
from sim.outcomes import STOPPED
from sim.program import CALL, Phase
from sim.strategy import Lane
from sim.ticks import NEVER, must_end, to_tick

if TYPE_CHECKING:
    from sim.events.run import Run, Waiting

_ID = attrgetter("id")


class Worker:
    """An attempt of a run: the run's own worker, until it is over or another has taken its place.

    Attributes
    ----------
    number, name : int, str
        Of the attempt, from 1; what it is fenced by. What it is called.
    run_id : int
        The run's part of its keys.
    words : dict of int to int
        Version of the arguments of each step's action.
    phases, ends : list of int
        Number of each phase walked through, and the tick at which it ended or was cut off.
    begin : int or None
        When it began to walk, after loading; not yet.
    planned : int
        Length of the phase that it is in, in ticks; 0 if it is in none.
    over : str
        How it ended: ``finished, stuck, crashed, killed`` or ``fenced``; "" if it has not.
    replaced : int or None
        When it was taken for dead.
    logged : int or None
        How many of its phases were over by then.
    cut : (int, int) or None
        The phase that it was in then, and how long that was to last.
    """

    def __init__(self, run: "Run", number: int) -> None:
        self.run = run
        self.env = run.env
        self.number = number
        self.name = f"worker {number}"
        store = run.store
        self.resume = store.record
        self.run_id = store.run_id if store.record or run.scenario.strategy.run_id == "given" else number
        self.words = dict(store.words)
        self.base = 0
        self.queues: dict[str, Queue] = {}
        self.phases: list[int] = []
        self.ends: list[int] = []
        self.woke = run.env.now
        self.begin: int | None = None
        self.planned = 0
        self.at: Phase | None = None
        self.over = ""
        self.replaced: int | None = None
        self.logged: int | None = None
        self.cut: tuple[int, int] | None = None
        self.asks = False
        self._stalls: list[tuple[int, int]] = []
        self.process = run.env.process(self.work())

    # ---------------------------------------------------------------- its end

    @property
    def dead(self) -> bool:
        """Whether it has been cut off."""
        return self.over in ("crashed", "killed")

    def die(self, how: str = "crashed") -> None:
        """Be cut off."""
        if not self.over and self.process.is_alive:
            self.over = how
            self.process.interrupt()

    def replace(self) -> None:
        """Another takes its place; it does not know."""
        self.replaced = self.env.now
        self.run.receiver.presumed_dead.add(self.number)
        self.logged = len(self.ends)
        if self.begin is None:
            self.run.down += self.env.now - self.woke
            self.begin = self.env.now
        elif self.at is not None:
            self.cut = (self.at.id, self.planned)

    def lose(self) -> None:
        """What it was saving does not become durable, and may be torn; what was in its memory is gone."""
        torn = self.dead and self.at is not None and self.at.saves and self.planned != STOPPED
        for queue in self.queues.values():
            torn |= queue.is_writing()
            queue.lost = True
        if self.run.scenario.strategy.memory_only:
            self.run.store.forget()
        store = self.run.scenario.store
        if torn and store.slots == 1 and self.run.happens(store.torn, "torn", self.number):
            self.run.tell("store", TORN, -1)
            self.run.store.forget()

    # ---------------------------------------------------------------- its work

    def work(self) -> "Waiting":
        """Load what was saved, then walk through the phases that follow it."""
        run, env, crash, begun = self.run, self.env, self.run.crash, self.run.begun
        block, tell, listens = run.block, run.tell, run.listens
        watches, stretches, rewords = run.watches_steps, run.stretches, run.rewords
        store, saves_plainly = run.store, run.saves_plainly
        walked, ended = self.phases.append, self.ends.append
        first_times = block.first_times[run.replication]
        walk = iter(run.path[bisect_left(run.path, self.resume, key=_ID) :])
        left = crash.begin(self)
        step = -1
        number = -1
        ends = True
        try:
            if self.number > 1:
                left = yield from self.load(left)
                if self.over:
                    return
            else:
                self.begin = env.now
            now = env.now
            for phase in walk:
                number = phase.id
                self.at = phase
                if watches and phase.step != step and self.replaced is None:
                    if step >= 0 and block.drains and crash.tells_to_stop():
                        self.planned = STOPPED
                        crash.strike(0)
                        yield Event(env)
                    step = phase.step
                    run.watch_step(self, step)
                times_begun = begun[number]
                begun[number] = times_begun + 1
                if times_begun:
                    duration = block.again(phase, times_begun, run.replication)
                else:
                    duration = first_times[number]
                if phase.special:
                    if phase.name == "exchange":
                        self.planned = NEVER
                        watch = crash.wait(self, left, number + 1)
                        self.over = yield from call(self, phase)
                        left = watch.end()
                        now, duration = env.now, 0
                    else:
                        duration = self.enter(phase, duration)
                    if self.over:
                        break
                elif stretches:
                    duration, ends = run.work_time(phase, duration)
                if duration:
                    if stretches:
                        duration = self.stretch(duration)
                    self.planned = duration
                    if left >= duration:
                        left -= duration
                    else:
                        left = crash.expose(self, left, duration, number + 1)
                    yield Timeout(env, duration)
                    now += duration
                if not ends:
                    tell(self.name, "gives the work up", phase.step)
                    self.over = "stuck"
                    break
                walked(number)
                ended(now)
                if phase.done:
                    if listens:
                        tell(self.name, "is done with the step", phase.step)
                    if self.replaced is not None:
                        run.log.done_late.append((run.replication, phase.step))
                if phase.saves:
                    if saves_plainly:
                        store.record = max(store.record, phase.resume)
                    elif not run.keep(self, phase, self.base_of(phase)):
                        self.over = "fenced"
                        self.lose()
                        return
                elif rewords and times_begun and phase.name == "work":
                    self.reword(phase, times_begun)
                elif phase.special and self.asks and self.was_performed(phase):
                    # The call is over without having been made again.
                    for skipped in run.path:
                        if skipped.step == phase.step and skipped.activity == CALL:
                            next(walk)
                            walked(skipped.id)
                            ended(now)
            if self.over:
                walked(number)
                ended(now)
                self.planned = NEVER
                self.lose()
            else:
                self.over = "finished"
                self.planned = 0
        except Interrupt:
            self.lose()
            if self.begin is None:
                run.down += env.now - self.woke
                self.begin = env.now
            elif number >= 0:
                walked(number)
                ended(env.now)

    def load(self, left: int) -> Generator[Event, None, int]:
        """Read what was saved; give the exposure left, in ticks."""
        load = self.stretch(self.run.load_time(self))
        if load:
            left = self.run.crash.expose(self, left, load, 0)
            yield Timeout(self.env, load)
        if self.begin is None:  # else it was replaced meanwhile, and the time is not the run's own
            self.run.down += load
            self.begin = self.env.now
        if self.resume == 0 and self.run.scenario.strategy.if_nothing == "stuck":
            self.run.tell(self.name, "finds nothing usable", -1)
            self.over = "stuck"
        return left

    def enter(self, phase: Phase, duration: int) -> int:
        """Begin a phase that is more than waiting; give how long the worker waits in it."""
        run, env = self.run, self.env
        match phase.name:
            case "request":
                run.tell(self.name, SENDS, phase.step)
                request = Request(
                    phase.step, self.key(phase.step, run.begun[phase.id]), self.words_of(phase), self
                )
                run.receiver.take(request, duration)
                return duration
            case "drain":
                for queue in self.queues.values():
                    queue.flush()
                return max(max((queue.free for queue in self.queues.values()), default=0) - env.now, 0)
            case "query" | "park":
                resumed = self.number > 1 and not self.ends
                if not resumed:
                    run.begun[phase.id] -= 1  # passed by, not begun
                    return 0
                if phase.name == "park":
                    run.tell(self.name, "waits for a person", phase.step)
                    self.over = "stuck"
                    return 0
                self.asks = True
                return duration
            case _:
                queue = self.queue(phase.lane)
                n = 0 if run.scenario.frozen else run.begun[phase.id] - 1
                ack = run.draw(phase.ack, *phase.key[:-1], "ack", n)
                waits = queue.wait()
                queue.put(phase, self.base_of(phase), duration, ack)
                return waits

    def queue(self, lane: str) -> Queue:
        """Give a lane of this worker."""
        if lane not in self.queues:
            settings = self.run.scenario.strategy.lanes.get(lane, Lane())
            self.queues[lane] = Queue(self.env, settings, self.keep)
        return self.queues[lane]

    def keep(self, phase: Phase, base: int) -> bool:
        """A save behind the work is durable, or is refused: then there is nothing more to do."""
        kept = self.run.keep(self, phase, base)
        if not kept:
            self.die("fenced")
        return kept

    def base_of(self, phase: Phase) -> int:
        """Number of the save that a delta needs; of another save its own."""
        if not phase.delta:
            self.base = self.run.store.next_base()
        return self.base

    def key(self, step: int, send: int) -> Key | None:
        """By what the receiver knows a repeat of a step's action; nothing if by nothing."""
        match self.run.scenario.strategy.key:
            case "run_step":
                return (self.run_id, step)
            case "arguments":
                return (self.run_id, step, self.words.get(step, 0))
            case "per_attempt":
                return (self.run_id, step, "attempt", self.number)
            case "per_send":
                return (self.run_id, step, "send", send)
        return None

    def words_of(self, phase: Phase) -> int:
        """Version of the arguments of a step's action."""
        return self.words.get(phase.step, 0)

    def reword(self, phase: Phase, n: int) -> None:
        """Work done again may give the action other arguments."""
        if self.run.happens(self.run.rewords, *phase.key[:-1], "rewords", n):
            self.words[phase.step] = n

    def was_performed(self, phase: Phase) -> bool:
        """Ask the receiver at the end of a query; its view lags behind."""
        self.asks = False
        run = self.run
        n = 0 if run.scenario.frozen else run.begun[phase.id] - 1
        lag = run.draw(run.scenario.receiver.lag, *phase.key, "lag", n)
        found = run.receiver.has_performed(phase.step, self.env.now - lag)
        heard = "hears that it was performed" if found else "hears that it was not performed"
        run.tell(self.name, heard, phase.step)
        return found

    # ---------------------------------------------------------------- stalls

    def stall(self, k: int) -> tuple[int, int]:
        """Begin and end of a stall, by its number, in ticks."""
        stalls = self._stalls
        watch = self.run.watch
        assert watch is not None, "only a watched worker is asked"
        assert watch.stalls is not None, "only a stalling worker is asked"
        while len(stalls) <= k:
            must_end(len(stalls), "stalls")
            key = (self.number, len(stalls))
            begin = stalls[-1][1] if stalls else self.woke
            begin += self.run.draw(watch.stalls.every, "stall", "every", *key)
            stalls.append((begin, begin + self.run.draw(watch.stalls.lasts, "stall", "lasts", *key)))
        return stalls[k]

    def stretch(self, duration: int) -> int:
        """How long so much time takes with the stalls that come in it. Ticks."""
        watch = self.run.watch
        if watch is None or watch.stalls is None or not watch.stalls.freezes:
            return duration
        end = now = self.env.now
        end += duration
        k = 0
        while (stall := self.stall(k))[0] < end:
            end += max(stall[1] - max(stall[0], now), 0)
            k += 1
        return end - now

    def last_beat(self, instant: int) -> int:
        """When it last sent a heartbeat, in ticks."""
        watch = self.run.watch
        assert watch is not None
        renew, origin = to_tick(watch.renew_s), self.woke
        if watch.stalls is not None:
            k = 0
            while (stall := self.stall(k))[0] <= instant:
                if instant < stall[1]:
                    instant = stall[0]
                    break
                origin = stall[1]
                k += 1
        return origin + (instant - origin) // renew * renew
