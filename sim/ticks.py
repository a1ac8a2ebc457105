"""Time inside the simulator: whole nanoseconds, rounded once, when a duration is drawn.

Both ways of adding up a timeline then give the same number, ties are ties, and no digit depends on the
order of additions. Seconds appear only in files and in outcomes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ticks = NDArray[np.int64]

PER_SECOND = 1_000_000_000
NEVER = 1 << 62
"""From here on a time means *never*; its sum with any shorter time still fits an int64."""


MOST = 200_000
"""How many crashes, outages, stalls or lives of a relay one run may have."""


class EndlessError(Exception):
    """A run does not come to its end, or not in any time worth waiting for."""


def must_end(number: int, what: str, most: int | None = None) -> None:
    """Refuse to go on after so many of something in one run.

    Raises
    ------
    EndlessError
    """
    most = most or MOST
    if number > most:
        raise EndlessError(
            f"a run has more than {most:,} {what}; make them rarer, or the run shorter (limits.makespan)."
        )


def to_ticks(seconds: Any) -> Ticks:
    """Round times to whole nanoseconds.

    Parameters
    ----------
    seconds : array_like of float
        Times in seconds, at least 0; infinite means never.

    Returns
    -------
    ndarray of int64
        Ticks, at most `NEVER`, of the shape of `seconds`.

    Raises
    ------
    ValueError
        If a time is negative or not a number.
    """
    scaled = np.asarray(seconds, dtype=np.float64) * PER_SECOND
    if not np.all(scaled >= 0):
        raise ValueError("a law gave a time that is negative or not a number.")
    return np.rint(np.minimum(scaled, float(NEVER))).astype(np.int64)


def to_tick(seconds: float) -> int:
    """Round one time; the same as `to_ticks`, without the cost of an array."""
    scaled = seconds * PER_SECOND
    if not scaled >= 0:
        raise ValueError("a law gave a time that is negative or not a number.")
    return NEVER if scaled >= NEVER else round(scaled)


def to_seconds(ticks: Any) -> NDArray[np.float64]:
    """Turn ticks (array_like of int64) into seconds, of the same shape."""
    return np.asarray(ticks, dtype=np.int64) / PER_SECOND


def later(now: Ticks, by: Ticks, out: Ticks | None = None) -> Ticks:
    """Add times, at most to `NEVER`; `out` is where the result goes, if not into a new array."""
    room = np.subtract(NEVER, now)
    return np.add(now, np.minimum(by, room, out=room), out=out)
