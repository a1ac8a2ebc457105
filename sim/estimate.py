"""Estimates with intervals, and paired contrasts, from sums over runs.

Rows of a table are independent; rows in the same place of two tables share their random numbers and are a
pair. What can be estimated is data, `METRICS`. All but quantiles are ratios of sums over runs; where the
denominator counts runs, they are means or shares. Intervals name their method:

- *t*: means (Student 1908), cut at 0, below which no outcome lies.
- *none seen*: a mean of zeros alone. The share of runs above 0 has an upper bound; their mean has none unless
  the largest possible value is known, so there are no bounds. Likewise for pairs that do not differ at all.
- *Wilson* (1927): shares of runs; *Clopper-Pearson* (1934), two-sided, where none or all were counted.
- *delta*: ratios of sums over runs (Cochran 1977, Sampling Techniques, 6.3), cut to [0, 1].
- *gamma*: rates, ratios of sums over runs that may exceed 1 (Fay & Feuer 1997), with the variance of the
  delta method, and the upper bound as if one more run had events, as many as the fullest run; if none was
  seen, one. So what was never seen has a bound too, that of events which come one a run.
- *Wilson / t*: a share over a mean; both intervals at half the error, so that both hold (Bonferroni).
- *conditional*: by the conditional values of runs (`sim.conditional`) less their regression on the control
  (Lavenberg & Welch 1981, Management Science 27, 322-335), with the interval of the delta method. Two runs
  are added to its variance, one in which a further crash added a count and one in which it took one away, for
  what may not have been seen (as in Bonett & Price 2012, J. Educ. Behav. Stat. 37, 479-488).
- *order statistics*: quantiles, whatever the law (David & Nagaraja 2003, Order Statistics, 7.1).
- *Tango* (1998): differences of shares between pairs.
- *square-and-add*: differences of ratios and of rates between pairs (Newcombe 1998; Zou & Donner 2008).

A number that does not exist is NaN; the method is "" where there is no interval at all. Where few runs are
above 0 the t interval of a mean ends too low: of counts 0 and 1, 3 ones expected in 1,000, it covers .85, and
that of the share of runs above 0 covers .97.
"""

from dataclasses import dataclass
from math import inf, isnan, nan, sqrt
from typing import Literal

import numpy as np
from scipy import special

from sim.conditional import CORRECTION, control, some, value
from sim.intervals import NO_INTERVAL, Interval, gamma, quantile, share_interval, tango
from sim.outcomes import CAUSES, OUTCOMES, duplicates_by
from sim.sums import RUNS, SKEWED, Column, Sums
from sim.validation import allowed_instead


@dataclass(frozen=True)
class Metric:
    """What can be estimated from a table of runs.

    Attributes
    ----------
    kind : str
        ``mean`` of a column; ``share`` of runs; ``ratio`` of the sums of two columns, of which one counts a
        part of the other; ``rate``, a ratio that may exceed 1; ``quantile``, at the probability `at`;
        ``share over mean``, a share of runs over the mean of another column.
    part, description : str
        Column of `Sums` whose sum is the numerator, or which has the values; meaning, with its unit.
    whole, telling : str
        Columns: the denominator, and whether a run tells of the metric.
    at : float
        Probability of a quantile.
    times : float
        In how many of the whole a rate counts.
    """

    kind: Literal["mean", "share", "ratio", "rate", "quantile", "share over mean"]
    part: str
    description: str
    whole: str = RUNS
    telling: str = RUNS
    at: float = nan
    times: float = 1.0


_NO_MEAN = (
    "finished",
    "stuck",
    "action_crashes",
    "gap_crashes",
    "gap_crashes_after_done",
    "rule_duplicates",
    "spacing_s",
    *map(duplicates_by, CAUSES),
)

_SUCH = {"makespan_s": "finished runs", "spacing_s": "runs with a duplicate"}


def _of(column: str) -> str:
    """Name the runs that tell of a column."""
    return "finished" if column == "makespan_s" else RUNS


def _described(column: str, statistic: str) -> str:
    return f"{OUTCOMES[column]}; {statistic} of {_SUCH.get(column, 'all runs')}"


PER_MILLION = "_per_million"
"""How the names of rates end."""

BY_CAUSE = {cause: f"{cause}_duplicates{PER_MILLION}" for cause in CAUSES}
"""Metrics that part `duplicates_per_million` by what made an action happen again."""


def _per_million(column: str, what: str) -> Metric:
    return Metric("rate", column, f"{what} per million actions", "actions", times=1e6)


def _gap_share(column: str, interval: str) -> Metric:
    described = f"share of crashes on action steps in {interval}"
    return Metric("ratio", column, described, "action_crashes", some("action_crashes"))


METRICS: dict[str, Metric] = {
    **{
        name: Metric("mean", name, _described(name, "mean"), _of(name), _of(name))
        for name in OUTCOMES
        if name not in _NO_MEAN
    },
    "p_duplicate": Metric("share", some("duplicate_actions"), "share of runs with a duplicate action"),
    "p_lost": Metric("share", some("lost_actions"), "share of runs with a lost action"),
    "p_stuck": Metric("share", "stuck", "share of runs that were given up"),
    "gap_share": _gap_share("gap_crashes", "[sent, durable)"),
    "gap_share_after_done": _gap_share("gap_crashes_after_done", "[done, durable)"),
    "rule_ratio": Metric(
        "share over mean",
        some("duplicate_actions"),
        "P(duplicate) over the rule of thumb, crash rate × expected gap",
        "rule_duplicates",
    ),
    **{f"{name}_p50": Metric("quantile", name, _described(name, "median"), at=0.5) for name in SKEWED},
    **{
        f"{name}_p95": Metric("quantile", name, _described(name, "95th percentile"), at=0.95)
        for name in SKEWED
    },
    f"duplicates{PER_MILLION}": _per_million("duplicate_actions", "performances of actions beyond the first"),
    f"lost{PER_MILLION}": _per_million("lost_actions", "actions never performed although the run finished"),
    **{
        name: _per_million(duplicates_by(cause), f"duplicates by cause, {cause.replace('_', ' ')};")
        for cause, name in BY_CAUSE.items()
    },
    "zombie_s": Metric("mean", "zombie_s", _described("zombie_s", "mean")),
}
"""What can be estimated, by name."""

CONTRASTED = ("mean", "share", "ratio", "rate")
"""Kinds of metrics in which two strategies can be contrasted."""


@dataclass(frozen=True)
class Estimate:
    """One number of a table of runs, with its interval.

    Attributes
    ----------
    metric : str
        A name in `METRICS`, which tells the unit.
    n : int
        What the number rests on: runs, finished runs (makespan), runs with a duplicate (spacing) or counted
        crashes on action steps (ratios).
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


def estimate(sums: Sums, metric: str, table: str = "", level: float = 0.95) -> Estimate:
    """Estimate a metric of a table of runs.

    Parameters
    ----------
    sums : Sums
        Of the table, and perhaps of others. Conditional values are used where it has them.
    metric : str
        A name in `METRICS`.
    table : str
        Name of the table.
    level : float
        Confidence level, inside (0, 1); for m intervals that are read together, 1 − .05/m (Bonferroni).

    Raises
    ------
    ValueError
        If the metric is unknown or the level out of range.
    """
    what = _checked(metric, level)
    if what.kind == "quantile":
        values = sums.values.get((table, what.part), np.empty(0))
        values = values[~np.isnan(values)]
        found = quantile(values, what.at, level) if len(values) else (nan, *NO_INTERVAL)
        return Estimate(metric, len(values), *found)
    linear = _Linear.of(sums, what, table)
    if isnan(linear.value):
        return Estimate(metric, 0, nan, *NO_INTERVAL)
    number, n = linear.value, linear.runs
    most = 1.0 if what.kind in ("share", "ratio") else inf
    if linear.conditional:
        return Estimate(metric, sums.n, number, *linear.interval(level, "conditional").cut(0.0, most))
    match what.kind:
        case "share" | "ratio":
            hits = round(sums.total((table, what.part)))
            n = round(sums.total((table, what.whole)))
            # None or all show no dependence of the crashes of a run: they are taken for independent.
            if hits in (0, n) or sums.largest[sums.place[table, what.whole]] == 1:
                return Estimate(metric, n, hits / n, *share_interval(hits, n, level))
            interval = linear.interval(level, "delta")
        case "share over mean":
            interval = _share_over_mean(sums, what, table, level)
        case "rate":
            interval = _rate(sums, what, table, linear, level)
        case _:
            interval = linear.interval(level, "t")
            if number == 0:
                interval = Interval(0.0, nan, "none seen")
    return Estimate(metric, n, number, *interval.cut(0.0, most))


def contrast(sums: Sums, metric: str, first: str, second: str, level: float = 0.95) -> Contrast:
    """Compare two tables of paired runs: the metric of the second minus that of the first.

    Parameters
    ----------
    sums : Sums
        Of both tables.
    metric : str
        A name in `METRICS`, but not of a quantile.
    first, second : str
        Names of the tables.
    level : float
        As for `estimate`.

    Raises
    ------
    ValueError
        If the metric is unknown or has no contrast, or the level is out of range.
    """
    what = _checked(metric, level)
    if what.kind not in CONTRASTED:
        allowed = [name for name, other in METRICS.items() if other.kind in CONTRASTED]
        raise ValueError(f'"{metric}" has no contrast; {allowed_instead(metric, allowed)}')
    one, two = _Linear.of(sums, what, first), _Linear.of(sums, what, second)
    between = two - one
    if isnan(between.value):
        return Contrast(metric, 0, nan, *NO_INTERVAL, nan)
    both = sums.both((first, what.telling), (second, what.telling))
    n = one.runs + two.runs - both if what.kind == "ratio" else both
    if between.conditional:
        interval = between.interval(level, "conditional")
    elif what.kind == "share":
        only_first, only_second = sums.apart((first, what.part), (second, what.part))
        interval = tango(only_first, only_second, n, level)
    elif what.kind in ("ratio", "rate"):
        bounds = estimate(sums, metric, first, level), estimate(sums, metric, second, level)
        interval = _square_and_add(*bounds, one.correlation(two))
    else:
        interval = between.interval(level, "t")
        if between.value == 0 and interval.low == interval.high:
            interval = Interval(nan, nan, "none seen")
    return Contrast(metric, n, between.value, *interval, one.variance_reduction(two))


@dataclass(frozen=True)
class _Linear:
    """A number from sums over runs, to first order a mean of what each run adds to it.

    Attributes
    ----------
    sums : Sums
    value : float
        The number; NaN if there is none.
    influence : dict of Column to float
        What a run adds, up to a constant, as a weighted sum of columns.
    runs : int
        Runs that tell of it.
    unseen : float
        Sum of squares of what two runs would have added that may not have been seen; of conditional values.
    """

    sums: Sums
    value: float
    influence: dict[Column, float]
    runs: int
    unseen: float = nan

    @classmethod
    def of(cls, sums: Sums, what: Metric, table: str) -> "_Linear":
        """Make a metric linear: with m the mean of the whole, a run adds (part − ratio × whole) / m."""
        if (table, what.part) not in sums.place or (table, what.whole) not in sums.place:
            return cls(sums, nan, {}, 0)
        part, whole = _summand(sums, table, what.part), _summand(sums, table, what.whole)
        mean = sums.mean_of(whole)
        if not mean > 0:
            return cls(sums, nan, {}, 0)
        ratio = sums.mean_of(part) / mean
        influence = _weighted(part, what.times / mean, whole, -what.times * ratio / mean)
        if (table, value(what.part)) in sums.place:
            one = what.times * _correction(sums, table) / mean
            unseen = 2 * one * one  # a square as a power would not overflow to infinity
            return cls(sums, what.times * ratio, influence, sums.n, unseen)
        return cls(sums, what.times * ratio, influence, round(sums.total((table, what.telling))))

    @property
    def conditional(self) -> bool:
        """Whether it comes from conditional values."""
        return not isnan(self.unseen)

    def __sub__(self, other: "_Linear") -> "_Linear":
        unseen = np.nansum([self.unseen, other.unseen]) if self.conditional or other.conditional else nan
        influence = _weighted(self.influence, 1, other.influence, -1)
        return _Linear(
            self.sums, self.value - other.value, influence, min(self.runs, other.runs), float(unseen)
        )

    def squares(self) -> float:
        """Sum over runs of the squares of what each adds; 0 where it is rounding alone."""
        rounding = 0.0
        for column, weight in self.influence.items():
            one = {column: weight}
            rounding += (
                1e-13 * self.sums.product(one, one) + self.sums.n * (1e-14 * self.sums.mean_of(one)) ** 2
            )
        squares = self.sums.product(self.influence, self.influence)
        return squares if squares > rounding else 0.0

    def error(self) -> float:
        """Give the standard error; of two runs at least."""
        squares = self.squares() * self.runs / (self.runs - 1) + (self.unseen if self.conditional else 0.0)
        return sqrt(squares) / self.sums.n

    def interval(self, level: float, method: str) -> Interval:
        """Give the t interval of the mean of what runs add."""
        if self.runs < 2:
            return NO_INTERVAL
        half = float(special.stdtrit(self.runs - 1, (1 + level) / 2)) * self.error()
        return Interval(self.value - half, self.value + half, method)

    def correlation(self, other: "_Linear") -> float:
        """Correlation of what runs add to two numbers; 0 where one does not vary."""
        scale = sqrt(self.squares() * other.squares())
        return self.sums.product(self.influence, other.influence) / scale if scale > 0 else 0.0

    def variance_reduction(self, other: "_Linear") -> float:
        """Tell what pairing is worth: 1 − Var(A − B) / (Var A + Var B); NaN if nothing varies."""
        apart = self.squares() + other.squares()
        return 1 - (self - other).squares() / apart if apart > 0 else nan


def _weighted(a: dict[Column, float], by: float, b: dict[Column, float], also: float) -> dict[Column, float]:
    """Give the weighted sum of two weighted sums of columns."""
    columns = dict.fromkeys([*a, *b])
    return {column: by * a.get(column, 0.0) + also * b.get(column, 0.0) for column in columns}


def _summand(sums: Sums, table: str, column: str) -> dict[Column, float]:
    """Give what each run adds to a sum: a column or, if there are any, its conditional values."""
    values, controls = (table, value(column)), (table, control(column))
    if values not in sums.place:
        return {(table, column): 1.0}
    # With one more run, in which nothing came after the first crash: then nothing unseen makes it worthless.
    prior = _correction(sums, table) ** 2
    slope = sums.product({values: 1}, {controls: 1}) / (sums.product({controls: 1}, {controls: 1}) + prior)
    return {values: 1.0, controls: -slope}


def _correction(sums: Sums, table: str) -> float:
    """Give the largest correction by one count; above 0, so that it can be divided by."""
    return max(float(sums.largest[sums.place[table, CORRECTION]]), 1e-100)


def _share_over_mean(sums: Sums, what: Metric, table: str, level: float) -> Interval:
    """Give the interval of a share over a mean, from the intervals of both, each at half the error."""
    inner = (1 + level) / 2
    share = share_interval(round(sums.total((table, what.part))), sums.n, inner)
    mean = _Linear.of(sums, Metric("mean", what.whole, ""), table).interval(inner, "t")
    if not mean.low > 0:
        return NO_INTERVAL
    return Interval(share.low / mean.high, share.high / mean.low, f"{share.method} / {mean.method}")


def _rate(sums: Sums, what: Metric, table: str, linear: _Linear, level: float) -> Interval:
    """Give the interval of a rate, of which runs are the clusters."""
    if linear.runs < 2:
        return NO_INTERVAL
    fullest = max(float(sums.largest[sums.place[table, what.part]]), 1.0)
    further = what.times * fullest / sums.total((table, what.whole))
    return gamma(linear.value, linear.error() ** 2, further, level)


def _square_and_add(first: Estimate, second: Estimate, correlation: float) -> Interval:
    """Give the interval of a difference of two ratios or rates.

    The distances of these from their bounds are joined as standard errors are, with the correlation of
    the influences. Two delta intervals so become that of the delta method on paired influences; and where a
    ratio is rare or 0 the difference keeps what Wilson's or Clopper and Pearson's interval knows of it.
    """

    def joined(x: float, y: float) -> float:
        return sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))

    difference = second.estimate - first.estimate
    low = difference - joined(second.estimate - second.low, first.high - first.estimate)
    high = difference + joined(second.high - second.estimate, first.estimate - first.low)
    return Interval(low, high, "" if isnan(low) else "square-and-add")


def _checked(metric: str, level: float) -> Metric:
    if metric not in METRICS:
        raise ValueError(f'unknown metric "{metric}"; {allowed_instead(metric, METRICS)}')
    if not 0 < level < 1:
        raise ValueError(f"the level must be inside (0, 1), such as 0.95, not {level}.")
    return METRICS[metric]
