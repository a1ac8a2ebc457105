"""What holds for every process of the laboratory: it ends with the one that started it."""

import ctypes
import os
import signal
import sys
from contextlib import suppress

_SET_PARENT_DEATH_SIGNAL = 1  # prctl(2)


def die_with_parent(parent: int | None = None, by: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel end this process when its parent dies.

    Parameters
    ----------
    parent : int, optional
        Who that is; if it has died already, so does this process now.
    by : Signals
        The signal that ends it.
    """
    # What waits for a terminal's Ctrl-C is the study; it ends the laboratory.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, by)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def punctual() -> None:
    """Run before all others where that is allowed, so that a kill comes at its time; children do not."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def missing() -> str | None:
    """Say why processes cannot be killed here as the laboratory does it; None if they can."""
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
        return "the laboratory needs Linux 5.4 or newer, whose pidfds name a process for good."
    return None
