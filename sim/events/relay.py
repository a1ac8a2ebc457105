"""The relay of an outbox: it performs entries, each at least once."""

from typing import TYPE_CHECKING, NamedTuple

from simpy.events import Timeout

from sim.events.clock import Clock, Signal
from sim.events.receiver import Key
from sim.events.words import DIES, SENDS
from sim.strategy import Relay as Settings
from sim.ticks import NEVER, must_end

if TYPE_CHECKING:
    from sim.events.run import Run, Waiting


class Entry(NamedTuple):
    """An action to be performed: its step, its key, and the version of its arguments."""

    step: int
    key: Key | None
    words: int


class Relay:
    """Takes the oldest entry that is not marked, sends it, waits for the answer and marks it.

    It has a life of its own: when it dies, what it sent goes on, and the entry is sent again.
    """

    def __init__(self, env: Clock, run: "Run", settings: Settings) -> None:
        self.env = env
        self.run = run
        self.settings = settings
        self.entries: list[Entry] = []
        self.rounds = 0
        self.tries = 0
        self.lives = 0
        self.dies = self.next_death(0)
        self.busy = False

    def add(self, entry: Entry) -> None:
        """An entry is durable."""
        self.entries.append(entry)
        if not self.busy:
            self.busy = True
            self.env.process(self.work())

    def next_death(self, begin: int) -> int:
        """When a relay dies that begins now."""
        law = self.settings.life
        if law is None:
            return NEVER
        self.lives += 1
        must_end(self.lives, "deaths of its relay")
        return begin + self.run.draw(law, "relay", "life", self.lives)

    def work(self) -> "Waiting":
        """Serve entries until none is left."""
        while self.entries:
            self.rounds += 1
            self.tries += 1
            yield from self.wait(self.run.draw(self.settings.poll, "relay", "poll", self.rounds))
            told = ""
            if self.is_alive():
                told = yield self.send(self.entries[0])
                if told == "ok":
                    yield from self.wait(self.run.draw(self.settings.mark, "relay", "mark", self.rounds))
            if not self.is_alive():
                when = "before the entry is marked" if told else "before it looks"
                self.run.tell("relay", f"{DIES} {when}", self.entries[0].step)
                told = ""
                yield from self.begin_again()
            if told == "ok" or self.tries >= self.run.scenario.limits.tries:
                self.entries.pop(0)
                self.tries = 0
        self.busy = False

    def send(self, entry: Entry) -> Signal:
        """Send an entry; the signal comes with its answer, a time-out, or the relay's death."""
        self.run.tell("relay", SENDS, entry.step)
        request, answer = self.run.send(entry.step, None, entry.key, entry.words, self.rounds - 1)
        self.run.time_out(request, answer)
        if self.dies < NEVER:
            death = Timeout(self.env, self.dies + 1 - self.env.now)
            death.callbacks.append(lambda _: answer.give("dead"))
        return answer

    def is_alive(self) -> bool:
        """Whether it has not died yet: what ends on the tick has ended before."""
        return self.env.now <= self.dies

    def wait(self, time: int) -> "Waiting":
        """Let time pass, but not beyond death."""
        yield Timeout(self.env, max(min(time, self.dies + 1 - self.env.now), 0))

    def begin_again(self) -> "Waiting":
        """Be started anew."""
        while self.dies < self.env.now:
            begin = self.dies + self.run.draw(self.settings.restart, "relay", "restart", self.lives)
            self.dies = self.next_death(begin)
        if begin > self.env.now:
            yield Timeout(self.env, begin - self.env.now)
