"""Which strategy costs least depends on what a loss costs beside a duplicate: lines over that ratio.

What a mean run costs, in duplicates, is linear in the ratio: duplicates + ratio × losses. On a map it costs
time, which is linear in what a duplicate costs.
"""

from collections.abc import Mapping, Sequence
from math import isclose

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Line = tuple[float, float]
"""Cost where losses cost nothing, and by how much it grows with the ratio."""


def alike(one: float, other: float) -> bool:
    """Whether two costs are the same but for rounding."""
    return isclose(one, other, rel_tol=1e-9)


def meet(one: Line, other: Line) -> float | None:
    """Ratio above 0 at which two lines are level; None if there is none."""
    steeper, above = one[1] - other[1], other[0] - one[0]
    if alike(one[1], other[1]) or alike(one[0], other[0]):
        return None
    at = above / steeper
    return at if at > 0 else None


def cheapest(lines: Mapping[str, Line]) -> list[tuple[float, list[str]]]:
    """Follow the lowest of lines as the ratio grows.

    Returns
    -------
    list of (float, list of str)
        From which ratio on which lines are the lowest, beginning at 0; several if they are the same.
    """
    now, since = min(lines.values()), 0.0
    found = []
    while True:
        found.append((since, [name for name, line in lines.items() if all(map(alike, line, now))]))
        steps = [
            (at, line[1], line)
            for line in lines.values()
            if line[1] < now[1] and (at := meet(now, line)) is not None
        ]
        if not steps:
            return found
        since, _, now = min(steps)


def between(x: Floats, points: Floats, values: Floats) -> Floats:
    """Follow a power law between points if all values are above 0, else a line over the logarithm of x."""
    if (values > 0).all():
        return np.asarray(np.exp(np.interp(np.log(x), np.log(points), np.log(values))))
    return np.asarray(np.interp(np.log(x), np.log(points), values))


def lines_between(x: Floats, points: Floats, lines: Sequence[Line]) -> tuple[Floats, Floats]:
    """Follow lines between the points of a sweep: what they begin at, and how much they grow.

    The first is a time, linear in the logarithm of x; the second a rate, which follows a power law.
    """
    begin, grow = np.array(lines, float).T
    return np.interp(np.log(x), np.log(points), begin), between(x, points, grow)
