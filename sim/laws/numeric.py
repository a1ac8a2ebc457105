"""What a law does not give in closed form, worked out from its cumulative hazard.

All of it works with hazards and logarithms, never with probabilities, so that it holds in the far tail,
where probabilities are too small for a float.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.optimize import elementwise

if TYPE_CHECKING:
    from sim.laws.base import Law

Floats = NDArray[np.float64]

LEAST_LOG_TIME, GREATEST_LOG_TIME = -690.0, 690.0
"""Times below e^-690 s are 0, and times above e^690 s never come."""

BEYOND_ALL = 1e4
"""Stands for the logarithm of infinity, and its negative for that of 0; above that of any float."""

TABLE_ERROR = 1e-10
"""Relative error of a time that a table may have halfway between its knots, where errors are largest."""

LEAST_SCORE = -8.3
"""Normal score below 1 / 2^53, the least that a uniform number can be."""

MOST_KNOTS = 1 << 14


def _log(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.clip(np.log(x), -BEYOND_ALL, BEYOND_ALL)


def inverse_of(hazard: Callable[[Floats], Floats], h: ArrayLike) -> Floats:
    """Give the times at which a cumulative hazard reaches `h`, of the same shape.

    The logarithms of hazard and time are bracketed and bisected or interpolated (Chandrupatla), down to
    neighbouring floats: a relative error of about 1e-14 in the time.
    """
    target = np.asarray(h, dtype=np.float64)
    log_target = _log(np.atleast_1d(target))

    def excess(log_time: Floats, log_h: Floats) -> Floats:
        with np.errstate(over="ignore", divide="ignore"):
            return _log(np.asarray(hazard(np.exp(log_time)))) - log_h

    low = np.full(log_target.shape, LEAST_LOG_TIME)
    high = np.full(log_target.shape, GREATEST_LOG_TIME)
    # An infinite hazard is reached where it begins: strictly above this stand-in for its logarithm.
    log_h = np.where(log_target == BEYOND_ALL, BEYOND_ALL - 1, log_target)
    at_once = excess(low, log_h) >= 0
    never = excess(high, log_h) < 0
    solved = elementwise.find_root(
        excess,
        (np.where(never, high, low), np.where(at_once, low, high)),
        args=(log_h,),
        tolerances={"xatol": 1e-16, "xrtol": 2.0**-51, "fatol": 0.0, "frtol": 0.0},
        maxiter=200,
    )
    # Of a bracket the lesser end is not there yet, and the greater is; that is the first time of an atom.
    time = np.exp(np.where(solved.f_x == 0, solved.x, np.maximum(*solved.bracket)))
    time = np.where(at_once | (log_target == -BEYOND_ALL), 0.0, np.where(never, np.inf, time))
    return np.reshape(time, target.shape)


class Quantile(Protocol):
    """Quantile function: uniform numbers to times, s."""

    def __call__(self, u: ArrayLike) -> Floats: ...  # noqa: D102 - said by the class


class HermiteTable:
    """Times against the normal score of their probability, by cubic pieces between exact knots.

    The logarithm of a quantile is smooth in the score, in both tails too. Beyond the knots, and for scalars as
    for arrays, the exact function answers.

    Parameters
    ----------
    score, log_time, slope : ndarray of float, shape (knots,)
        Knots, ascending; logarithm of the quantile there; its derivative.
    exact : callable
        Quantile function.
    """

    def __init__(self, score: Floats, log_time: Floats, slope: Floats, exact: Quantile) -> None:
        self._exact = exact
        self._score = score
        width = np.diff(score)
        rise = np.diff(log_time)
        first, last = slope[:-1] * width, slope[1:] * width
        self._width = width
        self._parts = (log_time[:-1], first, 3 * rise - 2 * first - last, first + last - 2 * rise)
        self.rises = bool(np.all((first >= 0) & (last >= 0) & (first <= 3 * rise) & (last <= 3 * rise)))
        # Which knot lies at or before each of many even places: a score is then a few knots away at most.
        places = np.linspace(score[0], score[-1], 8 * len(score))
        self._per_place = (len(places) - 1) / (score[-1] - score[0])
        self._before = np.searchsorted(score, places, side="right") - 1

    def __call__(self, u: ArrayLike) -> Floats:
        """Give the quantiles of `u`, of the same shape."""
        score = np.asarray(special.ndtri(u))
        inside = (score >= self._score[0]) & (score < self._score[-1])
        if not np.all(inside):
            within = self.at_score(np.where(inside, score, 0.0))
            return np.where(inside, within, self._exact(np.where(inside, 0.5, u)))
        return self.at_score(score)

    def at_score(self, score: Floats) -> Floats:
        """Give the quantiles at normal scores within the knots, of the same shape."""
        knot = self._before[((score - self._score[0]) * self._per_place).astype(np.intp)]
        while np.any(late := (self._score[knot + 1] <= score)):
            knot = knot + late
        x = (score - self._score[knot]) / self._width[knot]
        constant, linear, square, cube = (part[knot] for part in self._parts)
        return np.asarray(np.exp(constant + x * (linear + x * (square + x * cube))))


@lru_cache(maxsize=64)
def quantile_of(law: "Law") -> Quantile:
    """Quantile function of a law by a table of its inverse, or by the inverse itself.

    Knots are added where the table misses the inverse halfway between two of them, until it does so
    nowhere. A law that stays out of reach, as one with a gap or atoms, is inverted number by number.
    """

    def exact(u: ArrayLike) -> Floats:
        return law.inverse_hazard(-np.log1p(-np.asarray(u)))

    def log_time(score: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(law.inverse_hazard(-special.log_ndtr(-score)))

    if law.has_atoms:
        return exact
    score = np.linspace(LEAST_SCORE, -LEAST_SCORE, 1025)
    known = log_time(score)
    while np.all(np.isfinite(known)) and np.all(np.diff(known) >= 0):
        table = HermiteTable(score, known, _slopes(score, known), exact)
        middle = (score[1:] + score[:-1]) / 2
        wanted = log_time(middle)
        with np.errstate(over="ignore"):
            missed = ~(np.abs(np.log(table.at_score(middle)) - wanted) <= TABLE_ERROR)
        if not np.any(missed):
            return table if table.rises else exact
        where = np.flatnonzero(missed)
        if len(score) + len(where) > MOST_KNOTS:
            break
        score = np.insert(score, where + 1, middle[where])
        known = np.insert(known, where + 1, wanted[where])
    return exact


def _slopes(score: Floats, known: Floats) -> Floats:
    from scipy.interpolate import CubicSpline  # slow to import, and rarely needed

    return np.asarray(CubicSpline(score, known)(score, 1))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2

KNOTS = np.concatenate([np.geomspace(1e-15, 0.1, 57), np.arange(0.15, 4, 0.05), np.arange(4, 700, 0.5)])
"""Cumulative hazards between which the survival is integrated: close enough for ten points to be exact."""


class Tail:
    """Integrals of the survival function of a law, each relative to the survival at its begin.

    Parameters
    ----------
    law : Law
    """

    def __init__(self, law: "Law") -> None:
        self._hazard = law.cumulative_hazard
        self._inverse = law.inverse_hazard
        end = float(law.inverse_hazard(np.inf))
        times = np.concatenate([[0.0], law.inverse_hazard(KNOTS), law.atoms_s])
        times = np.unique(times[np.isfinite(times) & (times < end) & (times < 1e300)])
        hazard = np.asarray(self._hazard(times))
        times, hazard = times[np.isfinite(hazard)], hazard[np.isfinite(hazard)]
        self.bounded = np.isfinite(end)
        beyond = 0.0
        if self.bounded:
            times, hazard = np.append(times, end), np.append(hazard, np.inf)
        self._times, self._hazards = times, hazard
        piece = self._piece(times[:-1], times[1:], hazard[:-1])
        with np.errstate(under="ignore"):
            self._restricted = np.concatenate([[0.0], np.cumsum(np.exp(-hazard[:-1]) * piece)])
        endless = False
        if not self.bounded:
            endless, beyond = _beyond(hazard, piece)
        residual = np.empty_like(times)
        residual[-1] = left = beyond
        kept = np.exp(-np.diff(hazard))
        for k in range(len(piece) - 1, -1, -1):
            residual[k] = left = piece[k] + (kept[k] * left if kept[k] else 0.0)
        self._residual = np.full_like(times, np.inf) if endless else residual
        self.mean_s = float(self._residual[0])

    def _piece(self, low: Floats, high: Floats, hazard: Floats) -> Floats:
        """∫ S / S(low) from `low` to `high`."""
        width = high - low
        at = low[..., None] + width[..., None] * NODES
        with np.errstate(under="ignore", over="ignore", divide="ignore"):
            relative = np.exp(hazard[..., None] - self._hazard(at))
        return np.asarray(width * np.sum(relative * WEIGHTS, axis=-1))

    def restricted_mean(self, t: ArrayLike) -> Floats:
        """E min(T, t) = ∫ S up to `t`, in seconds."""
        at = np.minimum(np.asarray(t, dtype=np.float64), self._times[-1])
        before = np.searchsorted(self._times, at, side="right") - 1
        before = np.minimum(before, len(self._times) - 2)
        begin, hazard = self._times[before], self._hazards[before]
        return np.asarray(self._restricted[before] + np.exp(-hazard) * self._piece(begin, at, hazard))

    def mean_residual(self, t: ArrayLike) -> Floats:
        """E(T - t | T > t), in seconds; 0 where T is never greater."""
        age = np.asarray(t, dtype=np.float64)
        hazard = np.asarray(self._hazard(age))
        after = np.searchsorted(self._times, age, side="right")
        if np.isinf(self.mean_s):
            return np.full(age.shape, np.inf)
        inside = after < len(self._times)
        after = np.minimum(after, len(self._times) - 1)
        here = np.where(inside, age, self._times[0])
        hazard_here = np.where(inside, hazard, self._hazards[0])
        kept = np.exp(hazard_here - self._hazards[after])
        left = self._piece(here, self._times[after], hazard_here)
        left = left + np.where(kept > 0, kept * self._residual[after], 0.0)
        if np.all(inside):
            return np.asarray(left)
        if self.bounded:
            return np.where(inside, left, 0.0)
        return np.where(inside, left, self._far(age, hazard))

    def _far(self, age: Floats, hazard: Floats) -> Floats:
        """∫ (H⁻¹(H(age) + y) - age) e⁻ʸ dy by the trapezoid rule in log y."""
        s = np.linspace(-36, 6, 337)
        y = np.exp(s)
        with np.errstate(under="ignore", invalid="ignore"):
            left = self._inverse(hazard[..., None] + y) - age[..., None]
            return np.asarray(np.sum(left * np.exp(s - y), axis=-1) * (s[1] - s[0]))


def _beyond(hazard: Floats, piece: Floats) -> tuple[bool, float]:
    """Whether the mean is endless, and the mean residual life at the last knot, by the trend to there."""
    per_hazard = piece / np.maximum(np.diff(hazard), 1e-300)
    with np.errstate(divide="ignore"):
        log_part = np.log(per_hazard) - hazard[:-1]
    middle = int(np.searchsorted(hazard[:-1], hazard[-1] / 2))
    if hazard[-1] > 100 and log_part[-1] >= log_part[middle]:
        return True, np.inf
    growth = np.log(per_hazard[-1] / per_hazard[-2]) / np.diff(hazard)[-1]
    return False, float(per_hazard[-1] / (1 - min(max(growth, -1.0), 0.999)))


@lru_cache(maxsize=64)
def tail_of(law: "Law") -> Tail:
    """Integrals of a law's survival, worked out once."""
    return Tail(law)
