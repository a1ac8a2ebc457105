"""The checkpoint store: what survives the worker."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simpy.events import Timeout

from sim.events.clock import Clock
from sim.program import Phase
from sim.strategy import Lane
from sim.ticks import to_tick

if TYPE_CHECKING:
    from sim.events.worker import Worker


Keep = Callable[[Phase, int], bool]
"""Told that a save is durable: the phase that begins it, and the number of the save that it needs."""


@dataclass
class Batch:
    """Saves that are written as one: phase and base of each, oldest first; times of the last one."""

    saves: list[tuple[Phase, int]] = field(default_factory=list)
    write: int = 0
    ack: int = 0


class Queue:
    """A lane: saves behind the work, first in, first out; it dies with its worker."""

    def __init__(self, env: Clock, lane: Lane, keep: Keep) -> None:
        self.env = env
        self.lane = lane
        self.keep = keep
        self.free = 0
        self.ends: list[int] = []
        self.writing: list[tuple[int, int]] = []
        self.batch = Batch()
        self.lost = False

    def put(self, phase: Phase, base: int, write: int, ack: int) -> None:
        """Put a save in; it is written with its batch."""
        batch = self.batch
        batch.saves.append((phase, base))
        batch.write, batch.ack = write, ack
        if len(batch.saves) >= self.lane.batch:
            self.flush()
        elif len(batch.saves) == 1 and self.lane.linger is not None:
            timer = Timeout(self.env, to_tick(self.lane.linger))
            timer.callbacks.append(lambda _: self.flush() if self.batch is batch else None)

    def flush(self) -> None:
        """Write what has been collected, after what is under way."""
        batch, self.batch = self.batch, Batch()
        if not batch.saves or self.lost:
            return
        begin = max(self.env.now, self.free)
        durable = begin + batch.write
        self.free = durable + batch.ack
        self.ends += [self.free] * len(batch.saves)
        self.writing.append((begin, durable))

        def write_ends(_: object) -> None:
            for phase, base in batch.saves:
                if self.lost or not self.keep(phase, base):
                    break

        Timeout(self.env, durable - self.env.now).callbacks.append(write_ends)

    def wait(self) -> int:
        """How long until there is room for one more save; none if there is no bound. Ticks."""
        if self.lane.bound is None:
            return 0
        room = self.lane.bound - len(self.batch.saves)  # a batch is no longer than the bound
        return max(self.ends[-room] - self.env.now, 0) if len(self.ends) >= room else 0

    def is_writing(self) -> bool:
        """Whether a write has begun that is not durable yet."""
        now = self.env.now
        return any(begin <= now < durable for begin, durable in self.writing)


class Store:
    """Where a recovery resumes, as far as it is durable.

    Attributes
    ----------
    record : int
        Number of the phase at which a recovery resumes; 0: nothing usable is saved.
    run_id : int
        Whose run the record says it is.
    words : dict of int to int
        Version of the arguments of each step's action that a save before its call holds.
    rows : set of int
        Steps whose action, or the entry from which it is performed, a save holds.
    """

    def __init__(self) -> None:
        self.record = 0
        self.run_id = 0
        self.words: dict[int, int] = {}
        self.rows: set[int] = set()
        self.begun = 0
        self._usable = {0}
        self._waiting: dict[int, int] = defaultdict(int)

    def next_base(self) -> int:
        """Number a save that is no delta."""
        self.begun += 1
        return self.begun

    def keep(self, worker: "Worker", phase: Phase, base: int) -> None:
        """◆durable: from here on progress survives, as far as what it rests upon does."""
        resume = phase.resume
        if phase.delta:
            if base not in self._usable:
                self._waiting[base] = max(self._waiting[base], resume)
                return
        else:
            self._usable.add(base)
            if self._waiting:
                resume = max(resume, self._waiting.pop(base, 0))
        if resume > self.record:
            self.record = resume
            self.run_id = worker.run_id
            if worker.words:
                self.words.update(worker.words)

    def forget(self) -> None:
        """Nothing of it can be read any more."""
        self.record = 0
        self.rows.clear()
        self._usable = {0}
        self._waiting.clear()
