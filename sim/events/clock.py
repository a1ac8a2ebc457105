"""Simulated time in whole ticks, and what comes last on a tick."""

from collections.abc import Callable

from simpy import Environment
from simpy.events import Event, EventPriority

AFTER_SAVES = EventPriority(2)
"""SimPy priority below that of time-outs: a worker that starts finds what is durable on the tick."""

AFTER_MARKS = EventPriority(3)
"""What falls on the same tick, and be it that a worker starts, has happened before the crash."""


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
    """An event that comes after everything else on its tick, or after all that is no stroke."""

    def __init__(
        self,
        env: Clock,
        delay: int,
        callback: Callable[[Event], None],
        priority: EventPriority = AFTER_MARKS,
    ) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        self.callbacks.append(callback)
        env.schedule(self, priority=priority, delay=delay)


class Signal(Event):
    """An event that the first of several causes brings about; the others come too late and do nothing."""

    def give(self, value: str) -> None:
        """Bring it about, unless it has been."""
        if not self.triggered:
            self.succeed(value)
