"""Laws fitted to observed times, some of which were still running when the watch ended.

Maximum likelihood under right censoring: a time that ended adds its log-density, one that was still going on
(``censored``) the logarithm of its survival (Lawless 2003, *Statistical Models and Methods for Lifetime
Data*, 2nd ed., §2.2). Laws are ranked by Akaike's criterion, and beside them stands the estimate that assumes
no law, by Kaplan and Meier.

A candidate is an entry in `CANDIDATES`: the law at scale 1, and how a file writes its parameters.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from scipy import special

from sim.intervals import score
from sim.laws import Floats, Law, parse_law

Flags = NDArray[np.bool_]
Parameters = dict[str, float]

STEP, WIDE_STEP = 1e-4, 1e-3
"""Distances of numeric first and second derivatives, in log parameters."""
LARGEST = 100_000.0
"""A shape beyond this or below its inverse is a likelihood that goes on growing: there is no maximum."""
ENOUGH, ENOUGH_AGAIN = 1e-11, 1e-7
"""A climb ends when the log-likelihood has no more than this to gain: 5e-6 standard errors from the top, and
5e-4 for a resample, which is a standard error away itself."""
MOST_STEPS = 100
ALIKE = 2.0
"""Laws within so much of the least AIC are supported by the times about as well (Burnham & Anderson 2002)."""


@dataclass(frozen=True)
class Candidate:
    """A law that can be fitted: its form at scale 1.

    Attributes
    ----------
    law : str
        Name that files use.
    log_density, log_survival : callable
        Of a time as a multiple of the scale, and the shapes.
    shapes : tuple of float
        Where the search for the shapes begins; empty for a law that has none.
    parameters : callable
        Of scale and shapes: the parameters as a file gives them.
    """

    law: str
    log_density: Callable[..., Floats]
    log_survival: Callable[..., Floats]
    shapes: tuple[float, ...]
    parameters: Callable[..., Parameters]


def _log_gamma_survival(x: Floats, shape: float) -> Floats:
    """Give the logarithm of the upper incomplete gamma ratio, at any distance.

    Where the ratio itself is 0 as a float it is Legendre's continued fraction, https://dlmf.nist.gov/8.9.E2.
    """
    result = np.empty_like(x)
    near = (x < 1) & (shape < 1)  # where scipy's upper ratio takes many times as long as the lower one
    result[near] = np.log1p(-special.gammainc(shape, x[near]))
    ratio = special.gammaincc(shape, x[~near])
    result[~near] = np.log(ratio)
    far = ~near
    far[far] = ratio < 1e-290
    if far.any():
        beyond = x[far]
        fraction = beyond + 101 - shape
        for i in range(50, 0, -1):
            fraction = beyond + (2 * i - 1) - shape - i * (i - shape) / fraction
        result[far] = shape * np.log(beyond) - beyond - special.gammaln(shape) - np.log(fraction)
    return result


CANDIDATES = (
    Candidate("exponential", lambda z: -z, lambda z: -z, (), lambda scale: {"mean": scale}),
    Candidate(
        "weibull",
        lambda z, k: np.log(k) + (k - 1) * np.log(z) - z**k,
        lambda z, k: -(z**k),
        (1.0,),
        lambda scale, k: {"mean": scale * float(special.gamma(1 + 1 / k)), "shape": k},
    ),
    Candidate(
        "lognormal",
        lambda z, s: -np.log(z) - np.log(s) - np.log(2 * np.pi) / 2 - (np.log(z) / s) ** 2 / 2,
        lambda z, s: special.log_ndtr(-np.log(z) / s),
        (1.0,),
        lambda scale, s: {"median": scale, "sigma": s},
    ),
    Candidate(
        "gamma",
        # Of scale the mean, which is known nearly apart from the shape, so that the search is short.
        lambda z, k: k * np.log(k * z) - np.log(z) - k * z - special.gammaln(k),
        lambda z, k: _log_gamma_survival(k * z, k),
        (1.0,),
        lambda mean, k: {"mean": mean, "shape": k},
    ),
    Candidate(
        "lomax",
        lambda z, a: np.log(a) - (a + 1) * np.log1p(z),
        lambda z, a: -a * np.log1p(z),
        (2.0,),
        lambda scale, a: {"c": a, "scale": scale},
    ),
)
"""Laws of times between crashes. The search begins at a shape where the law is near the exponential."""


@dataclass(frozen=True)
class Fit:
    """A law with its most likely parameters.

    Attributes
    ----------
    law : str
    parameters, errors : dict of str to float
        As a file gives them, and their standard errors.
    log_likelihood : float
        Of the times in seconds.
    peak : tuple of float
        Logarithms of scale and shapes, from which a search on similar times can begin.
    """

    law: str
    parameters: Parameters
    errors: Parameters
    log_likelihood: float
    peak: tuple[float, ...]

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 k − 2 log L for k parameters."""
        return 2 * len(self.parameters) - 2 * self.log_likelihood

    @property
    def toml(self) -> str:
        """The law as a file writes it, with six significant digits."""
        return as_toml(self.law, self.parameters)

    def build(self) -> Law:
        """Make the law."""
        made = parse_law({"law": self.law} | self.parameters)
        assert isinstance(made, Law)
        return made


def as_toml(law: str, parameters: Parameters) -> str:
    """Write a law as an inline table, with six significant digits."""
    parts = [f'law = "{law}"', *(f"{key} = {float(f'{value:.6g}')!r}" for key, value in parameters.items())]
    return f"{{ {', '.join(parts)} }}"


@dataclass(frozen=True)
class _Sample:
    """Times in a unit of their own size; a power of 2, so that no digit is lost."""

    ended: Floats
    going_on: Floats
    unit: float

    @property
    def mean(self) -> float:
        """Total time by times that ended: the most likely mean of an exponential law."""
        return float(self.ended.sum() + self.going_on.sum()) / len(self.ended)


def _sample(times: ArrayLike, censored: ArrayLike) -> _Sample:
    t, c = np.asarray(times, float), np.asarray(censored, bool)
    if t.ndim != 1 or t.shape != c.shape:
        raise ValueError(f"times and censored must be two lists of one length, not {t.shape} and {c.shape}.")
    if not np.all(np.isfinite(t) & (t > 0)):
        raise ValueError("every time must be a finite number above 0.")
    if c.all():
        raise ValueError("at least one time must have ended: all are censored.")
    unit = 2.0 ** round(float(np.log2(t).mean()))
    return _Sample(t[~c] / unit, t[c] / unit, unit)


def fit(times: ArrayLike, censored: ArrayLike, candidates: Iterable[Candidate] = CANDIDATES) -> list[Fit]:
    """Fit the candidates by maximum likelihood, the least AIC first.

    Parameters
    ----------
    times : array_like of float, shape (n,)
        Seconds, above 0.
    censored : array_like of bool, shape (n,)
        Whether the time was still going on when it was last seen.
    candidates : iterable of Candidate

    Returns
    -------
    list of Fit
        Without the laws whose likelihood has no maximum for these times, such as a lomax law for times less
        spread than exponential ones.

    Raises
    ------
    ValueError
        If a time is not a finite number above 0, or all are censored.
    """
    sample = _sample(times, censored)
    fits = [_fit(candidate, sample) for candidate in candidates]
    return sorted((found for found in fits if found), key=lambda found: found.aic)


def _log_likelihood(candidate: Candidate, sample: _Sample, at: Floats) -> float:
    scale, *shapes = np.exp(at)
    ended = candidate.log_density(sample.ended / scale, *shapes) - at[0]
    going_on = candidate.log_survival(sample.going_on / scale, *shapes)
    total = float(ended.sum() + going_on.sum())
    return total if isfinite(total) else -inf  # NaN where a float is exceeded: as unlikely as can be


def _fit(candidate: Candidate, sample: _Sample, begin: Sequence[float] = ()) -> Fit | None:
    """Climb to the maximum in log parameters, for a resample from `begin`; None if there is none."""
    unit = np.array([log(sample.unit), *(0.0 for _ in candidate.shapes)])
    start, enough = np.log([sample.mean, *candidate.shapes]), ENOUGH
    if begin:
        start, enough = np.array(begin) - unit, ENOUGH_AGAIN
    with np.errstate(all="ignore"):
        top = _climb(lambda at: _log_likelihood(candidate, sample, at), start, enough)
        if top is None:
            return None
        at, value, hessian = top
        at = at + unit
        parameters = candidate.parameters(*map(float, np.exp(at)))
        try:
            parse_law({"law": candidate.law} | parameters)
        except ValidationError:
            return None  # such as a mean that no float can hold
        # Delta method: log parameters of the file are functions of those that were climbed in.
        jacobian = _gradient(lambda x: np.log([*candidate.parameters(*map(float, np.exp(x))).values()]), at)
        covariance = jacobian.T @ np.linalg.inv(-hessian) @ jacobian
        relative = np.sqrt(np.diag(covariance))
    errors = {key: parameters[key] * float(e) for key, e in zip(parameters, relative, strict=True)}
    likelihood = value - len(sample.ended) * log(sample.unit)
    return Fit(candidate.law, parameters, errors, likelihood, tuple(map(float, at)))


def _gradient(function: Callable[[Floats], Any], at: Floats) -> Floats:
    """First derivatives by central differences of fourth order, exact enough for the steepest peaks."""

    def across(step: Floats) -> Any:
        return function(at + step) - function(at - step)

    steps = STEP * np.eye(len(at))
    return np.array([(8 * across(step) - across(2 * step)) / (12 * STEP) for step in steps])


def _hessian(function: Callable[[Floats], float], at: Floats, value: float) -> Floats:
    """Second derivatives by central differences."""
    size = len(at)
    result = np.empty((size, size))
    steps = WIDE_STEP * np.eye(size)
    for i in range(size):
        result[i, i] = function(at + steps[i]) + function(at - steps[i]) - 2 * value
        for j in range(i):
            a, b = (steps[i] + steps[j]) / 2, (steps[i] - steps[j]) / 2
            corners = function(at + a) + function(at - a) - function(at + b) - function(at - b)
            result[i, j] = result[j, i] = corners
    return result / WIDE_STEP**2


def _climb(
    function: Callable[[Floats], float], start: Floats, enough: float
) -> tuple[Floats, float, Floats] | None:
    """Find a maximum by Newton's method: place, value and second derivatives; None if there is none.

    Where the function is not concave the curvature is taken by its size, so that every step leads upward
    (Nocedal & Wright 2006, *Numerical Optimization*, 2nd ed., §3.4), and no step is longer than 1.
    """
    at, value = start, function(start)
    for _ in range(MOST_STEPS):
        gradient, hessian = _gradient(function, at), _hessian(function, at, value)
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            return None
        curvatures, axes = np.linalg.eigh(hessian)
        size = np.abs(curvatures)
        step = axes @ ((axes.T @ gradient) / np.maximum(size, 1e-10 * size.max() + 1e-300))
        if gradient @ step / 2 < enough:
            return (at, value, hessian) if curvatures.max() < 0 else None
        step /= max(1.0, float(np.abs(step).max()))
        while (after := function(at + step)) < value - 1e-14 * abs(value):
            step /= 2
            if np.abs(step).max() < 1e-12:
                return None
        at, value = at + step, after
        if len(at) > 1 and np.abs(at[1:]).max() > log(LARGEST):
            return None
    return None


def bootstrap(
    times: ArrayLike, censored: ArrayLike, fits: Iterable[Fit], n: int, seed: int
) -> dict[str, list[Parameters]]:
    """Fit again to `n` resamples, to see how far the parameters are known.

    Times are drawn with replacement, each with its censoring (Efron 1981, Censored data and the bootstrap,
    JASA 76): nothing needs to be assumed about why a time was censored, nor that the law is right.

    Parameters
    ----------
    times, censored : array_like, shape (n,)
        As for `fit`.
    fits : iterable of Fit
        The laws to fit, at the parameters where the searches begin.
    n : int
        Resamples, the same for all laws.
    seed : int

    Returns
    -------
    dict of str to list of dict
        By law, parameter sets in the order drawn; without the resamples for which a law has no maximum.
    """
    rng = np.random.default_rng(seed)
    t, c = np.asarray(times, float), np.asarray(censored, bool)
    by_name = {candidate.law: candidate for candidate in CANDIDATES}
    laws = [(by_name[found.law], found.peak) for found in fits]
    result: dict[str, list[Parameters]] = {candidate.law: [] for candidate, _ in laws}
    for _ in range(n):
        chosen = rng.integers(len(t), size=len(t))
        if c[chosen].all():
            continue
        sample = _sample(t[chosen], c[chosen])
        for candidate, peak in laws:
            if again := _fit(candidate, sample, peak):
                result[candidate.law].append(again.parameters)
    return result


def interval(sets: Sequence[Parameters], level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Give percentile intervals of bootstrapped parameters; none of fewer than two sets."""
    if len(sets) < 2:
        return {}
    tail = (1 - level) / 2
    quantiles = {key: np.quantile([one[key] for one in sets], [tail, 1 - tail]) for key in sets[0]}
    return {key: (float(low), float(high)) for key, (low, high) in quantiles.items()}


@dataclass(frozen=True)
class KaplanMeier:
    """Survival without assuming a law.

    Attributes
    ----------
    times : ndarray of float, shape (m,)
        Distinct times, increasing, censored ones too.
    survival, low, high : ndarray of float, shape (m,)
        Share that lasts longer than each, and the ends of its pointwise 95 % interval; the interval is NaN
        where the survival is 0.
    """

    times: Floats
    survival: Floats
    low: Floats
    high: Floats

    @property
    def median(self) -> float:
        """The least time that at most half outlast; infinite if more than half outlast all."""
        return self._first(self.survival)

    @property
    def median_interval(self) -> tuple[float, float]:
        """Times at which the median may lie, by inversion of the band (Brookmeyer & Crowley 1982)."""
        return self._first(self.low), self._first(self.high)

    def _first(self, curve: Floats) -> float:
        below = self.times[(curve <= 0.5) | (self.survival == 0)]
        return float(below[0]) if len(below) else inf


def kaplan_meier(times: ArrayLike, censored: ArrayLike) -> KaplanMeier:
    """Estimate the survival function of times, some of which were still going on.

    A time censored at the instant at which another ends counts as longer. The band is Greenwood's, of
    log(−log S), so that it stays between 0 and 1 (Kalbfleisch & Prentice 2002, *The Statistical Analysis of
    Failure Time Data*, 2nd ed., §1.4).

    Parameters
    ----------
    times, censored : array_like, shape (n,)
        As for `fit`.
    """
    t, censored = np.asarray(times, float), np.asarray(censored, bool)
    distinct, place = np.unique(t, return_inverse=True)
    ended = np.bincount(place, ~censored)
    at_risk = len(t) - np.searchsorted(np.sort(t), distinct)
    survival = np.asarray(np.cumprod(1 - ended / at_risk), np.float64)
    with np.errstate(all="ignore"):
        greenwood = np.cumsum(ended / (at_risk * (at_risk - ended)))
        half = score(0.95) * np.sqrt(greenwood) / -np.log(survival)
        # While nothing has ended, the survival is 1 and so is its interval.
        low, high = (np.where(survival == 1, 1.0, survival ** np.exp(side * half)) for side in (1, -1))
    return KaplanMeier(distinct, survival, low, high)
