"""What a law does not give in closed form, worked out from its cumulative hazard.

All of it works with hazards and logarithms, never with probabilities, so that it holds in the far tail,
where probabilities are too small for a float.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

if TYPE_CHECKING:
    from sim.laws.base import Law

Floats = NDArray[np.float64]

LEAST_LOG_TIME, GREATEST_LOG_TIME = -690.0, 690.0
"""Times below e^-690 s are 0, and times above e^690 s never come."""

BEYOND_ALL = 1e4
"""Stands for the logarithm of infinity, and its negative for that of 0; above that of any float."""

OVERFLOW = 1e200
"""A cumulative hazard above this was about to exceed all floats where it became infinite."""

TABLE_ERROR = 1e-10
"""Relative error of a time that a table may have halfway between its knots, where errors are largest."""

LEAST_SCORE = -8.3
"""Normal score below 1 / 2^53, the least that a uniform number can be."""

MOST_KNOTS = 1 << 14


def _log(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.clip(np.log(x), -BEYOND_ALL, BEYOND_ALL)


def inverse_of(
    hazard: Callable[[Floats], Floats], h: ArrayLike, knots: tuple[Floats, Floats] | None = None
) -> Floats:
    """Give the times at which a cumulative hazard reaches `h`, of the same shape.

    The logarithms of hazard and time are bracketed and bisected or interpolated, down to neighbouring floats:
    a relative error of about 1e-14 in the time. Knots, times with their hazards, both ascending, make the
    brackets narrow, and so the search short.
    """
    target = np.asarray(h, dtype=np.float64)
    log_target = _log(target.ravel())

    def excess(log_time: Floats, log_h: Floats) -> Floats:
        with np.errstate(over="ignore", divide="ignore"):
            return _log(np.asarray(hazard(np.exp(log_time)))) - log_h

    low = np.full(log_target.shape, LEAST_LOG_TIME)
    high = np.full(log_target.shape, GREATEST_LOG_TIME)
    # An infinite hazard is reached where it begins: strictly above this stand-in for its logarithm.
    log_h = np.where(log_target == BEYOND_ALL, BEYOND_ALL - 1, log_target)
    if knots is not None:
        times, hazards = knots
        place = np.searchsorted(hazards, target.ravel(), side="left")
        bounds = np.concatenate([[LEAST_LOG_TIME], np.log(times), [GREATEST_LOG_TIME]])
        low, high = bounds[place], bounds[place + 1]
    at_once = excess(low, log_h) >= 0
    never = excess(high, log_h) < 0
    root = _root(excess, np.where(never, high, low), np.where(at_once, low, high), log_h)
    time = np.exp(root)
    for k in np.flatnonzero(log_target == BEYOND_ALL):
        with np.errstate(over="ignore"):
            before = float(hazard(np.asarray(time[k] * (1 - 1e-12))))
        if before > OVERFLOW:  # not the end of all lives, but that of floats
            time[k] = np.inf
    time = np.where(at_once | (log_target == -BEYOND_ALL), 0.0, np.where(never, np.inf, time))
    return np.reshape(time, target.shape)


def _root(f: Callable[[Floats, Floats], Floats], low: Floats, high: Floats, wanted: Floats) -> Floats:
    """Find where functions of a number that grow, f(x, wanted), reach 0; Chandrupatla's rule (1997).

    As `scipy.optimize.elementwise.find_root`, but at a tenth of its cost for a few thousand numbers. What is
    found depends on nothing but its own bracket, so a number gives the same digits alone and in an array.
    """
    root = high.copy()
    open_ = np.flatnonzero(low < high)
    a, b = high[open_], low[open_]  # a is the newest; the root lies between a and b; c is the one before
    fa, fb = f(a, wanted[open_]), f(b, wanted[open_])
    t = np.full(a.shape, 0.5)
    for _ in range(200):
        if not open_.size:
            break
        x = a + t * (b - a)
        fx = f(x, wanted[open_])
        same = (fx >= 0) == (fa >= 0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        # Of a bracket the greater end has reached what is wanted; for an atom that is its time.
        root[open_] = np.where(fa == 0, a, np.maximum(a, b))
        width = np.abs(b - a)
        least = 2.0**-51 * np.abs(a) + 1e-16
        going = (width > least) & (fa != 0)
        open_, a, b, c, fa, fb, fc, width, least = (
            part[going] for part in (open_, a, b, c, fa, fb, fc, width, least)
        )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
            inverse_quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
                fc - fb
            )
        t = np.where(smooth, inverse_quadratic, 0.5)
        margin = np.minimum(0.5 * least / width, 0.5)
        t = np.clip(t, margin, 1 - margin)
    return root


def at_atoms(atoms: Floats, time: Floats) -> Floats:
    """Move times that are an atom but for rounding to it."""
    if not atoms.size:
        return time
    after = np.minimum(np.searchsorted(atoms, time * (1 - 1e-13)), atoms.size - 1)
    return np.where(np.abs(atoms[after] - time) <= 1e-13 * atoms[after], atoms[after], time)


class Quantile(Protocol):
    """Quantile function: uniform numbers to times, s."""

    def __call__(self, u: ArrayLike) -> Floats: ...  # noqa: D102 - said by the class


class HermiteTable:
    """Times against the normal score of their probability, by cubic pieces between exact knots.

    The logarithm of a quantile is smooth in the score, in both tails too. Beyond the knots the exact
    function answers.

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
        # Which knot lies at or before each of many even places: a score is then a few knots away at most.
        places = np.linspace(score[0], score[-1], 8 * len(score))
        self._per_place = (len(places) - 1) / (score[-1] - score[0])
        self._before = np.searchsorted(score, places, side="right") - 1

    def __call__(self, u: ArrayLike) -> Floats:
        """Give the quantiles of `u`, of the same shape."""
        score = np.asarray(special.ndtri(u))
        inside = (score >= self._score[0]) & (score < self._score[-1])
        if not np.all(inside):
            within = np.exp(self.log_time(np.where(inside, score, 0.0)))
            return np.asarray(np.where(inside, within, self._exact(np.where(inside, 0.5, u))))
        return np.asarray(np.exp(self.log_time(score)))

    def log_time(self, score: Floats) -> Floats:
        """Give the logarithm of the quantile at scores within the knots, of the same shape."""
        knot = self._before[((score - self._score[0]) * self._per_place).astype(np.intp)]
        late = self._score[knot + 1] <= score
        if np.any(late):
            knot = knot + late
            if np.any(self._score[knot + 1] <= score):  # the knots are dense here
                knot = np.searchsorted(self._score, score, side="right") - 1
        x = (score - self._score[knot]) / self._width[knot]
        constant, linear, square, cube = (part[knot] for part in self._parts)
        return np.asarray(constant + x * (linear + x * (square + x * cube)))


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
    known = np.maximum.accumulate(log_time(score))
    if np.all(np.isfinite(known)):
        score, known = _with_even_times(law, score, known)
    unsure = np.ones(len(score) - 1, dtype=bool)
    while len(score) <= MOST_KNOTS and np.all(np.isfinite(known)):
        table = HermiteTable(score, known, _slopes(score, known), exact)
        where = np.flatnonzero(unsure)
        middle = (score[where] + score[where + 1]) / 2
        wanted = log_time(middle)
        missed = ~(np.abs(table.log_time(middle) - wanted) <= TABLE_ERROR)
        if not np.any(missed):
            return table
        for _ in range(2):  # and the neighbours, for that the knots grow dense step by step
            missed |= np.append(missed[1:], False) | np.insert(missed[:-1], 0, False)
        split, middle, wanted = where[missed], middle[missed], wanted[missed]
        if np.any(score[split] >= middle):
            break
        score = np.insert(score, split + 1, middle)
        known = np.maximum.accumulate(np.insert(known, split + 1, wanted))  # rounding may fall
        # Where a piece was split, its two halves and their neighbours are not what they were.
        unsure = np.zeros(len(score) - 1, dtype=bool)
        at = split + np.arange(len(split))
        for near in (-2, -1, 0, 1, 2, 3):
            unsure[np.clip(at + near, 0, len(unsure) - 1)] = True
    return exact


def _with_even_times(law: "Law", score: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Add knots at even steps of the logarithm of time, where steps of the score are long in time."""
    step = (known[-1] - known[0]) / len(known)
    long = np.flatnonzero(np.diff(known) > 4 * step)
    pieces = [np.linspace(known[k], known[k + 1], 66)[1:-1] for k in long[:64]]
    if not pieces:
        return score, known
    more = np.concatenate(pieces)
    scores = -special.ndtri_exp(-law.cumulative_hazard(np.exp(more)))
    score, known = np.append(score, scores), np.append(known, more)
    order = np.lexsort((known, score))
    score, known = score[order], np.maximum.accumulate(known[order])
    apart = np.insert(np.diff(score) > 1e-9, 0, True)
    return score[apart], known[apart]


def _slopes(score: Floats, known: Floats) -> Floats:
    """Slopes of a smooth curve through the knots, no steeper than keeps every piece rising."""
    from scipy.interpolate import CubicSpline  # slow to import, and rarely needed

    steps = np.diff(known) / np.diff(score)
    steepest = 3 * np.minimum(np.append(steps, np.inf), np.insert(steps, 0, np.inf))
    return np.asarray(np.clip(CubicSpline(score, known)(score, 1), 0.0, steepest))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2

KNOTS = np.concatenate([np.geomspace(1e-15, 0.1, 57), np.arange(0.15, 4, 0.05), np.arange(4, 720, 0.5)])
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
        self._last = beyond = 0.0
        if self.bounded:
            times, hazard = np.append(times, end), np.append(hazard, np.inf)
        self._times, self._hazards = times, hazard
        piece = self._piece(times[:-1], times[1:], hazard[:-1])
        with np.errstate(under="ignore"):
            self._restricted = np.concatenate([[0.0], np.cumsum(np.exp(-hazard[:-1]) * piece)])
        endless = False
        if not self.bounded:
            endless, beyond = _beyond(hazard, piece)
            self._last = beyond
            self._last = beyond = float(self._far(times[-1], hazard[-1]))
        residual = np.empty_like(times)
        residual[-1] = left = beyond
        kept = np.exp(-np.diff(hazard))
        for k in range(len(piece) - 1, -1, -1):
            residual[k] = left = piece[k] + (kept[k] * left if kept[k] else 0.0)
        self._residual = np.full_like(times, np.inf) if endless else residual
        self.mean_s = float(self._residual[0])

    def _piece(self, low: Floats, high: Floats, hazard: Floats, power: int = 0) -> Floats:
        """∫ tᵖ S / S(low) from `low` to `high`, with p the power."""
        width = high - low
        at = low[..., None] + width[..., None] * NODES
        with np.errstate(under="ignore", over="ignore", divide="ignore"):
            relative = np.exp(hazard[..., None] - self._hazard(at))
            return np.asarray(width * np.sum(at**power * relative * WEIGHTS, axis=-1))

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
        left = np.array(left)
        left[~inside] = self._far(age[~inside], hazard[~inside])
        return left

    def equilibrium_hazard(self, t: ArrayLike) -> Floats:
        """Cumulative hazard of the life left at a random time, H(t) - log(m(t) / m(0))."""
        t = np.asarray(t, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            passed = np.minimum(self.restricted_mean(t) / self.mean_s, 1.0)
            early = -np.log1p(-passed)
            if np.all(passed < 0.5):
                return np.asarray(early)
            left = self.mean_residual(t) / self.mean_s
            late = np.where(left > 0, self._hazard(t) - np.log(left), np.inf)
        return np.where(passed < 0.5, early, late)

    @cached_property
    def equilibrium_knots(self) -> tuple[Floats, Floats]:
        """Times, and the hazard of the life left at a random time there."""
        times = self._times[1:-1] if self.bounded else self._times[1:]
        return times, np.maximum.accumulate(self.equilibrium_hazard(times))

    @property
    def equilibrium_mean_s(self) -> float:
        """Mean life left at a random time, ∫ t S / ∫ S; infinite where there is none."""
        hazard = self._hazards[:-1]
        with np.errstate(over="ignore"):
            moment = self._piece(self._times[:-1], self._times[1:], hazard, power=1)
        if not np.all(np.isfinite(moment)) or (not self.bounded and _beyond(self._hazards, moment)[0]):
            return np.inf
        return float(np.sum(np.exp(-hazard) * moment)) / self.mean_s

    def _far(self, age: Floats, hazard: Floats) -> Floats:
        """∫ (H⁻¹(H(age) + y) - age) e⁻ʸ dy by the trapezoid rule in log y."""
        s = np.linspace(-36, 6, 337)
        y = np.exp(s)
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            left = self._inverse(hazard[..., None] + y) - age[..., None]
            mean = np.sum(left * np.exp(s - y), axis=-1) * (s[1] - s[0])
        # Where the times to come are no floats any more, the last that was known stands in.
        return np.where(np.isfinite(mean), mean, self._last)


def _beyond(hazard: Floats, piece: Floats) -> tuple[bool, float]:
    """Whether the mean is endless, and the mean residual life at the last knot, by the trend to there."""
    if piece.size < 2:  # times that floats cannot tell apart show no trend
        return False, 0.0
    per_hazard = piece / np.maximum(np.diff(hazard), 1e-300)
    with np.errstate(divide="ignore"):
        log_part = np.log(per_hazard) - hazard[:-1]
    middle = int(np.searchsorted(hazard[:-1], hazard[-1] / 2))
    if hazard[-1] > 100 and log_part[-1] >= log_part[middle]:
        return True, np.inf
    with np.errstate(over="ignore"):
        growth = np.log(per_hazard[-1] / per_hazard[-2]) / np.diff(hazard)[-1]
    return False, float(per_hazard[-1] / (1 - min(max(growth, -1.0), 0.999)))


@lru_cache(maxsize=64)
def tail_of(law: "Law") -> Tail:
    """Integrals of a law's survival, worked out once."""
    return Tail(law)
