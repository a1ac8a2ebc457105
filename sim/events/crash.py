"""When the worker dies: the sources of crashes, each with its own clock."""

from typing import TYPE_CHECKING

from sim.events.clock import Clock, Stroke
from sim.ticks import NEVER

if TYPE_CHECKING:
    from sim.events.block import Block
    from sim.events.worker import Worker


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

    def strikes_in(self, part: int) -> int:
        """How long into a phase it strikes, if that lasts so long. Ticks."""
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
        """A worker has died, or has been replaced."""
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
        self.victim: Worker | None = None

    def begin(self, victim: "Worker") -> int:
        """A worker begins; give how long no phase of it can be struck, in ticks, if nothing is weighed."""
        self.victim = victim
        self.since = self.env.now
        for source in self.sources:
            source.begin(self.since)
        if not self.plain:
            return 0
        left = [source.left for source in self.sources]
        self.fires = left.index(min(left))
        return left[self.fires]

    def expose(self, worker: "Worker", left: int, duration: int, part: int) -> int:
        """Let a worker into a phase, and strike before its end if a time comes before it.

        Parameters
        ----------
        worker : Worker
            Who goes; one that has been replaced is not struck any more.
        left : int
            Exposure left to the worker, in ticks, as `begin` gives it.
        duration, part : int
            Length of the phase; its place in the weights: 0 to load, else 1 + its number.

        Returns
        -------
        int
            Exposure left at the end of the phase; 0 where each phase must be looked at.
        """
        if worker is not self.victim:
            return NEVER
        strikes_in = left if self.plain else self._look(duration, part)
        if strikes_in < duration:
            self.strike(strikes_in)
        return max(left - duration, 0) if self.plain else 0

    def wait(self, worker: "Worker", left: int, part: int) -> "Watch":
        """Let a worker into a phase of unknown length; it tells the watch when that is over."""
        strikes_in = NEVER
        if worker is self.victim:
            strikes_in = left if self.plain else self._look(0, part)
        return Watch(self, worker, left, strikes_in)

    def _look(self, duration: int, part: int) -> int:
        """See how long into a phase the first source strikes."""
        for source in self.sources:
            source.spend(self.planned, self.part)
        self.since, self.part, self.planned = self.env.now, part, duration
        times = [source.strikes_in(part) for source in self.sources]
        strikes_in = min(times)
        self.fires = times.index(strikes_in)
        return strikes_in

    def strike(self, delay: int) -> Stroke:
        """Kill the worker so many ticks from now, if it is still at work then."""
        victim = self.victim
        assert victim is not None, "only a worker goes into a phase"
        return Stroke(self.env, delay, lambda _: victim.die() if victim is self.victim else None)

    def tells_to_stop(self) -> bool:
        """Whether a source has told the worker to stop; asked at the end of a step."""
        for number, source in enumerate(self.sources):
            if source.grace and source.time <= self.env.now:
                self.fires = number
                return True
        return False

    def end(self, fired: bool = True) -> None:
        """The worker is gone: a source that struck is renewed, the others go on."""
        self.victim = None
        for number, source in enumerate(self.sources):
            source.spend(self.env.now - self.since, self.part)
            source.end(fired=fired and number == self.fires)
        self.part = self.planned = 0


class Watch:
    """A crash that may come in a phase of unknown length."""

    def __init__(self, crash: Crash, worker: "Worker", left: int, strikes_in: int) -> None:
        self.crash = crash
        self.worker = worker
        self.left = left
        self.begin = crash.env.now
        self.over = False
        if strikes_in < NEVER // 2:
            Stroke(crash.env, strikes_in, lambda _: self._strike())

    def _strike(self) -> None:
        if not self.over and self.worker is self.crash.victim:
            self.worker.die()

    def end(self) -> int:
        """The phase is over; give the exposure left."""
        self.over = True
        if self.worker is not self.crash.victim:
            return NEVER
        passed = self.crash.env.now - self.begin
        self.crash.planned = passed
        return max(self.left - passed, 0) if self.crash.plain else 0
