"""What a run has come to, noted in memory that a killed process leaves behind."""

import mmap
import struct
import time
from collections import Counter
from threading import Lock

LOADED, BEGIN, END, OVER = range(4)
"""What can be noted: an agent knows where to resume; a phase begins, ends; the agent has come
to the end of the run."""

_NOTE = struct.Struct("=qqq")
_COUNT = struct.Struct("=q")
_MOST = 1 << 16


class Board:
    """Notes of one run at a time, shared by a supervisor and the agents that it forks.

    Attributes
    ----------
    read : int
        How many notes the supervisor has read.

    A note counts once the number of notes has been raised, so that a kill leaves no half of one.
    """

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _COUNT.size + _MOST * _NOTE.size)
        self.lock = Lock()
        self.size = 0
        self.read = 0

    def clear(self) -> None:
        """Begin another run."""
        self.size = self.read = 0
        _COUNT.pack_into(self.memory, 0, 0)

    def note(self, what: int, which: int = 0) -> int:
        """Note something with the present instant, which is given back: ns of the monotonic clock."""
        if self.size >= _MOST:
            raise RuntimeError(f"a run has more than {_MOST:,} notes.")
        with self.lock:  # a framework saves in threads of its own
            now = time.monotonic_ns()
            _NOTE.pack_into(self.memory, _COUNT.size + self.size * _NOTE.size, what, which, now)
            self.size += 1
            _COUNT.pack_into(self.memory, 0, self.size)
        return now

    def notes(self, since: int = 0) -> list[tuple[int, int, int]]:
        """Give what was noted, from some note on: (what, which, instant)."""
        (self.size,) = _COUNT.unpack_from(self.memory, 0)
        begin, end = (_COUNT.size + at * _NOTE.size for at in (since, self.size))
        return list(_NOTE.iter_unpack(self.memory[begin:end]))

    def begun(self) -> Counter[int]:
        """How often each phase of the run has begun."""
        return Counter(which for what, which, _ in self.notes() if what == BEGIN)

    def close(self) -> None:
        """Give the memory back."""
        self.memory.close()
