"""Intervals of shares, rates, differences of paired shares and quantiles, from counts and values."""

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special


class Interval(NamedTuple):
    """Bounds, and the method by which they were found."""

    low: float
    high: float
    method: str

    def cut(self, least: float, most: float) -> "Interval":
        """Leave out what lies beyond the possible; a bound that does not exist stays so."""
        low, high = (min(max(bound, least), most) if bound == bound else bound for bound in self[:2])
        return Interval(low, high, self.method)


NO_INTERVAL = Interval(nan, nan, "")


def share_interval(hits: int, n: int, level: float = 0.95) -> Interval:
    """Give the interval of a share, `hits` of `n` independent trials, `n` at least 1.

    Wilson's covers the level on average over shares, though .89 at worst. That of Clopper and Pearson never
    covers less than the level, and stands where a reader sees an "at most" or "at least".
    """
    return (clopper_pearson if hits in (0, n) else wilson)(hits, n, level)


def wilson(hits: int, n: int, level: float) -> Interval:
    """Invert the score test of a share (Wilson 1927, J. Am. Stat. Assoc. 22, 209–212)."""
    z, share = score(level), hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0), "Wilson")


def clopper_pearson(hits: int, n: int, level: float) -> Interval:
    """Invert the two one-sided binomial tests of a share (Clopper & Pearson 1934, Biometrika 26, 404–413)."""
    tail = (1 - level) / 2
    low = float(special.betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(special.betainccinv(hits + 1, n - hits, tail)) if hits < n else 1.0
    return Interval(low, high, "Clopper-Pearson")


def gamma(rate: float, variance: float, further: float, level: float) -> Interval:
    """Give the interval of a rate of events that come in clusters (Fay & Feuer 1997, Stat. Med. 16, 791–801).

    Clusters are independent and may be few. The bounds are quantiles of gamma distributions: below, of that
    with its mean and variance; above, as if one further cluster had come. Of clusters of one event these are
    the exact Poisson bounds (Garwood 1936, Biometrika 28, 437–442), and of many clusters the normal ones.

    Parameters
    ----------
    rate, variance : float
        The estimate, and the variance of it.
    further : float
        What one further cluster would add to the rate, the largest that is thought possible; above 0.
    level : float
        Confidence level, inside (0, 1).
    """
    tail = (1 - level) / 2
    low = rate
    if variance > 0 and rate > 0:
        low = variance / rate * float(special.gammaincinv(rate**2 / variance, tail))
    mean, spread = rate + further, variance + further**2
    return Interval(low, spread / mean * float(special.gammainccinv(mean**2 / spread, tail)), "gamma")


def tango(only_first: int, only_second: int, n: int, level: float) -> Interval:
    """Invert the score test of a difference of paired shares (Tango 1998, Stat. Med. 17, 891–908).

    Parameters
    ----------
    only_first, only_second : int
        Pairs of which only the first, or only the second, has the property. Either may be 0.
    n : int
        Pairs, at least 1.
    level : float
        Confidence level, inside (0, 1).

    Returns
    -------
    Interval
        Of the share of the second minus that of the first.
    """
    z = score(level)
    low, high = -_tango_high(only_second, only_first, n, z), _tango_high(only_first, only_second, n, z)
    return Interval(low, high, "Tango")


def _tango_high(only_first: int, only_second: int, n: int, z: float) -> float:
    inside, outside = (only_second - only_first) / n, 1.0
    observed, discordant = inside, (only_first + only_second) / n
    for _ in range(60):
        delta = (inside + outside) / 2
        # The likeliest share q of pairs with only the first, were the difference delta, solves a quadratic.
        linear = (2 - observed) * delta - discordant
        q = (sqrt(max(linear**2 + 8 * only_first / n * delta * (1 - delta), 0.0)) - linear) / 4
        variance = (2 * q + delta * (1 - delta)) / n
        if delta - observed <= z * sqrt(variance):
            inside = delta
        else:
            outside = delta
    return inside


def quantile(values: NDArray[np.float64], at: float, level: float) -> tuple[float, float, float, str]:
    """Give a quantile of values of shape (n,), n at least 1, with its interval.

    How many of n values lie below the true quantile is binomial, and quantiles of that are the ranks of the
    bounds. There is no value of rank 0 or n + 1, and then no such bound. Ties only make it cover more.
    """
    from scipy import stats  # slow to import

    n, tail = len(values), (1 - level) / 2
    ranks = np.array([stats.binom.ppf(tail, n, at), np.ceil(n * at), stats.binom.isf(tail, n, at) + 1], int)
    places = np.clip(ranks, 1, n) - 1
    low, middle, high = np.where(ranks == places + 1, np.partition(values, places)[places], nan).tolist()
    return middle, low, high, "" if np.isnan([low, high]).all() else "order statistics"


def score(level: float) -> float:
    """Give the two-sided normal score of a confidence level."""
    return float(special.ndtri((1 + level) / 2))
