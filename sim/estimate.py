"""Estimates with intervals, and paired contrasts, from tables of runs.

A table is what `sim.simulate` gives: a row a replication, columns as in `sim.outcomes.OUTCOMES`. Its rows are
independent; rows in the same place of two tables share their random numbers and are a pair. What can be
estimated is data, `METRICS`. Every interval names its method:

- *t*: means (Student 1908), cut at 0, below which no outcome lies.
- *none seen*: a mean of zeros alone. The share of runs above 0 has an upper bound; their mean has none unless
  the largest possible value is known, so `high` is empty. Likewise for pairs that do not differ at all.
- *Wilson* (1927): shares of runs; *Clopper-Pearson* (1934), two-sided, where none or all were counted.
- *delta*: ratios of sums over runs (Cochran 1977, Sampling Techniques, 6.3), cut to [0, 1].
- *Wilson / t*: a share over a mean; both intervals at half the error, so that both hold (Bonferroni).
- *order statistics*: quantiles, whatever the law (David & Nagaraja 2003, Order Statistics, 7.1).
- *Tango* (1998): differences of shares between pairs.
- *square-and-add*: differences of ratios between pairs (Newcombe 1998; Zou & Donner 2008).

A number that does not exist is NaN; the method is "" where there is no interval at all. Where few runs are
above 0 the t interval of a mean ends too low: of counts 0 and 1, 3 ones expected in 1,000, it covers .85, and
that of the share of runs above 0 covers .97.
"""

from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sim.outcomes import OUTCOMES
from sim.validation import allowed_instead

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """What can be estimated from a table of runs.

    Attributes
    ----------
    kind : str
        ``mean`` of the column; ``share`` of runs in which it is above 0; ``ratio`` of its sum to that of
        `action_crashes`; ``quantile``, at the probability `at`; ``share over mean``, the share of runs in
        which it is above 0 over the mean of `rule_duplicates`. The makespan is that of finished runs.
    column, description : str
        Column of the table; meaning, with its unit.
    """

    kind: Literal["mean", "share", "ratio", "quantile", "share over mean"]
    column: str
    description: str
    at: float = nan


_FINISHED_ONLY = "makespan_s"
_NO_MEAN = ("finished", "stuck", "action_crashes", "gap_crashes", "gap_crashes_after_done", "rule_duplicates")
_SKEWED = ("makespan_s", "wasted_tokens", "lost_work_s")


def _described(column: str, statistic: str) -> str:
    return f"{OUTCOMES[column]}; {statistic} of {'finished' if column == _FINISHED_ONLY else 'all'} runs"


METRICS: dict[str, Metric] = {
    **{name: Metric("mean", name, _described(name, "mean")) for name in OUTCOMES if name not in _NO_MEAN},
    "p_duplicate": Metric("share", "duplicate_actions", "share of runs with a duplicate action"),
    "p_lost": Metric("share", "lost_actions", "share of runs with a lost action"),
    "p_stuck": Metric("share", "stuck", "share of runs that were given up"),
    "gap_share": Metric("ratio", "gap_crashes", "share of crashes on action steps in [sent, durable)"),
    "gap_share_after_done": Metric(
        "ratio", "gap_crashes_after_done", "share of crashes on action steps in [done, durable)"
    ),
    "rule_ratio": Metric(
        "share over mean",
        "duplicate_actions",
        "P(duplicate) over the rule of thumb, crash rate × expected gap",
    ),
    **{f"{name}_p50": Metric("quantile", name, _described(name, "median"), 0.5) for name in _SKEWED},
    **{
        f"{name}_p95": Metric("quantile", name, _described(name, "95th percentile"), 0.95) for name in _SKEWED
    },
}
"""What can be estimated, by name."""

CONTRASTED = ("mean", "share", "ratio")
"""Kinds of metrics in which two strategies can be contrasted."""


@dataclass(frozen=True)
class Estimate:
    """One number from a table of runs, with its interval.

    Attributes
    ----------
    metric : str
        A name in `METRICS`, which tells the unit.
    n : int
        What the number rests on: runs, finished runs (makespan) or crashes on action steps (ratios).
    estimate, low, high : float
        The number and its bounds.
    method : str
        How the bounds were found.
    """

    metric: str
    n: int
    estimate: float
    low: float
    high: float
    method: str


@dataclass(frozen=True)
class Contrast:
    """A difference between two tables of paired runs, second minus first, with its interval.

    Attributes
    ----------
    metric : str
        A name in `METRICS`, which tells the unit.
    n : int
        Pairs of runs it rests on: all, those that both finished (makespan), or those of which at least one
        has a crash on an action step (ratios).
    difference, low, high : float
        The difference and its bounds.
    method : str
        How the bounds were found.
    variance_reduction : float
        What common random numbers are worth: 1 − Var(A − B) / (Var A + Var B), of the values of runs or, for
        a ratio, of their influence on it. It is 0 for independent runs and NaN if no value varies.
    """

    metric: str
    n: int
    difference: float
    low: float
    high: float
    method: str
    variance_reduction: float


class Interval(NamedTuple):
    """Bounds, and the method by which they were found."""

    low: float
    high: float
    method: str


_NO_INTERVAL = Interval(nan, nan, "")


def estimate(frame: "pd.DataFrame", metric: str, level: float = 0.95) -> Estimate:
    """Estimate a metric from a table of runs.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a replication, columns as in `sim.outcomes.OUTCOMES`.
    metric : str
        A name in `METRICS`.
    level : float
        Confidence level, inside (0, 1); for m intervals that are read together, 1 − .05/m (Bonferroni).

    Raises
    ------
    ValueError
        If the metric is unknown or the level out of range.
    """
    what = _checked(metric, level)
    if what.kind == "ratio":
        return Estimate(metric, *_ratio(*_sums(frame, what), level))
    values = _values(frame, what)
    if what.kind == "share over mean":
        rule = np.asarray(frame["rule_duplicates"], np.float64)
        return Estimate(metric, len(values), *_share_over_mean(values, rule, level))
    values = values[~np.isnan(values)]
    n = len(values)
    if n == 0:
        return Estimate(metric, 0, nan, *_NO_INTERVAL)
    if what.kind == "share":
        hits = int(np.count_nonzero(values))
        return Estimate(metric, n, hits / n, *share_interval(hits, n, level))
    if what.kind == "quantile":
        return Estimate(metric, n, *_quantile(values, what.at, level))
    mean, low, high, method = _mean(values, level)
    return Estimate(metric, n, mean, float(np.fmax(low, 0.0)) if method else low, high, method)


def contrast(a: "pd.DataFrame", b: "pd.DataFrame", metric: str, level: float = 0.95) -> Contrast:
    """Compare two tables of paired runs: the metric of `b` minus that of `a`.

    Parameters
    ----------
    a, b : pandas.DataFrame
        As for `estimate`, with as many rows; rows in the same place are a pair.
    metric : str
        A name in `METRICS`, but not of a quantile.
    level : float
        As for `estimate`.

    Raises
    ------
    ValueError
        If the metric is unknown or a quantile, the level out of range, or the tables differ in length.
    """
    what = _checked(metric, level)
    if what.kind not in CONTRASTED:
        allowed = [name for name, other in METRICS.items() if other.kind in CONTRASTED]
        raise ValueError(f'"{metric}" has no contrast; {allowed_instead(metric, allowed)}')
    if len(a) != len(b):
        raise ValueError(f"tables of paired runs must have as many rows, not {len(a)} and {len(b)}.")
    if what.kind == "ratio":
        return Contrast(metric, *_difference_of_ratios(_sums(a, what), _sums(b, what), level))
    first, second = _values(a, what), _values(b, what)
    both = ~np.isnan(first + second)
    first, second = first[both], second[both]
    n = len(first)
    if n == 0:
        return Contrast(metric, 0, nan, *_NO_INTERVAL, nan)
    if what.kind == "mean":
        return Contrast(metric, n, *_mean(second - first, level), _variance_reduction(first, second))
    first, second = np.sign(first), np.sign(second)
    only_first, only_second = int((first > second).sum()), int((second > first).sum())
    interval = tango(only_first, only_second, n, level)
    return Contrast(metric, n, (only_second - only_first) / n, *interval, _variance_reduction(first, second))


def share_interval(hits: int, n: int, level: float = 0.95) -> Interval:
    """Give the interval of a share, `hits` of `n` independent trials, `n` at least 1.

    Wilson's covers the level on average over shares, though .89 at worst. That of Clopper and Pearson never
    covers less than the level, and stands where a reader sees an "at most" or "at least".
    """
    return (clopper_pearson if hits in (0, n) else wilson)(hits, n, level)


def wilson(hits: int, n: int, level: float) -> Interval:
    """Invert the score test of a share (Wilson 1927, J. Am. Stat. Assoc. 22, 209–212)."""
    z, share = _z(level), hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0), "Wilson")


def clopper_pearson(hits: int, n: int, level: float) -> Interval:
    """Invert the two one-sided binomial tests of a share (Clopper & Pearson 1934, Biometrika 26, 404–413)."""
    tail = (1 - level) / 2
    low = float(special.betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(special.betainccinv(hits + 1, n - hits, tail)) if hits < n else 1.0
    return Interval(low, high, "Clopper-Pearson")


def tango(only_first: int, only_second: int, n: int, level: float) -> Interval:
    """Invert the score test of a difference of paired shares (Tango 1998, Stat. Med. 17, 891–908).

    Parameters
    ----------
    only_first, only_second : int
        Pairs of which only the first, or only the second, has the property. Either may be 0.
    n : int
        Pairs, at least 1.
    level : float
        As for `estimate`.

    Returns
    -------
    Interval
        Of the share of the second minus that of the first.
    """
    z = _z(level)
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


def _checked(metric: str, level: float) -> Metric:
    if metric not in METRICS:
        raise ValueError(f'unknown metric "{metric}"; {allowed_instead(metric, METRICS)}')
    if not 0 < level < 1:
        raise ValueError(f"the level must be inside (0, 1), such as 0.95, not {level}.")
    return METRICS[metric]


def _values(frame: "pd.DataFrame", what: Metric) -> Floats:
    """Give the column, shape (runs,), NaN for runs that do not count."""
    values = np.asarray(frame[what.column], np.float64)
    return np.where(frame["finished"], values, nan) if what.column == _FINISHED_ONLY else values


def _sums(frame: "pd.DataFrame", what: Metric) -> tuple[Floats, Floats]:
    """Give the summands of numerator and denominator of a ratio, of shape (runs,) each."""
    return _values(frame, what), np.asarray(frame["action_crashes"], np.float64)


def _z(level: float) -> float:
    return float(special.ndtri((1 + level) / 2))


def _mean(values: Floats, level: float) -> tuple[float, float, float, str]:
    """Give the mean of values of shape (n,), n at least 1, with its interval."""
    n, mean = len(values), float(values.mean())
    if not values.any():
        return 0.0, nan, nan, "none seen"
    if n == 1:
        return mean, *_NO_INTERVAL
    if np.ptp(values) == 0:  # else rounding gives a width
        return (constant := float(values[0])), constant, constant, "t"
    half = float(special.stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1)) / sqrt(n)
    return mean, mean - half, mean + half, "t"


def _quantile(values: Floats, at: float, level: float) -> tuple[float, float, float, str]:
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


def _share_over_mean(values: Floats, means: Floats, level: float) -> tuple[float, float, float, str]:
    """Give the share of values above 0 over the mean of others, both of shape (n,), with its interval.

    Each of the two intervals misses with half the probability, so that both hold together (Bonferroni).
    """
    n, inner = len(values), (1 + level) / 2
    mean, mean_low, mean_high, _ = _mean(means, inner)
    if not mean > 0 or not mean_low > 0:
        return nan, *_NO_INTERVAL
    hits = int(np.count_nonzero(values))
    share = share_interval(hits, n, inner)
    return hits / n / mean, share.low / mean_high, share.high / mean_low, f"{share.method} / t"


def _ratio(part: Floats, whole: Floats, level: float) -> tuple[int, float, float, float, str]:
    """Give the sum of `whole` and the ratio of the sums with its interval; `part` and `whole` as of `_sums`.

    Runs with a whole of 0 tell nothing and give no degrees of freedom. Where the part is nothing or all, runs
    show no dependence of their crashes, and these are taken for independent.
    """
    if np.isnan(part).any() or not whole.any():
        return 0, nan, *_NO_INTERVAL
    hits, n, runs = int(part.sum()), int(whole.sum()), np.count_nonzero(whole)
    ratio = hits / n
    if hits in (0, n) or whole.max() == 1:
        return n, ratio, *share_interval(hits, n, level)
    if runs == 1:
        return n, ratio, *_NO_INTERVAL
    error = sqrt(np.sum(_influence(part, whole) ** 2) * runs / (runs - 1))
    half = float(special.stdtrit(runs - 1, (1 + level) / 2)) * error
    return n, ratio, max(ratio - half, 0.0), min(ratio + half, 1.0), "delta"


def _influence(part: Floats, whole: Floats) -> Floats:
    """Tell by how much each run moves the ratio of the sums, to first order; shape (runs,), of sum 0."""
    total = float(whole.sum())
    return (part - float(part.sum()) / total * whole) / total


def _difference_of_ratios(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], level: float
) -> tuple[int, float, float, float, str, float]:
    """Give n and the rest of a `Contrast` of two ratios, each as of `_sums`.

    The distances of the ratios from their bounds are joined as standard errors are, with the correlation of
    the influences. Two delta intervals so become that of the delta method on paired influences; and where a
    ratio is rare or 0 the difference keeps what Wilson's or Clopper and Pearson's interval knows of it.
    """
    _, one, one_low, one_high, _ = _ratio(*first, level)
    _, two, two_low, two_high, _ = _ratio(*second, level)
    difference = two - one
    if np.isnan(difference):
        return 0, nan, *_NO_INTERVAL, nan
    u, v = _influence(*first), _influence(*second)
    scale = sqrt(np.sum(u**2) * np.sum(v**2))
    correlation = float(np.sum(u * v)) / scale if scale > 0 else 0.0

    def joined(x: float, y: float) -> float:
        return sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))

    low = difference - joined(two - two_low, one_high - one)
    high = difference + joined(two_high - two, one - one_low)
    method = "" if np.isnan(low) else "square-and-add"
    n = int(np.count_nonzero(first[1] + second[1]))
    return n, difference, low, high, method, _variance_reduction(u, v)


def _variance_reduction(first: Floats, second: Floats) -> float:
    if np.ptp(first) == 0 == np.ptp(second):
        return nan
    return float(1 - np.var(second - first) / (np.var(first) + np.var(second)))
