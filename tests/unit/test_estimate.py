"""Intervals are what they claim to be: by exact enumeration, by published values, by hand, by the equations
that define them, and by simulation with a fixed seed where nothing exact exists.

Coverage of counts is enumerated: the probabilities of the counts whose interval holds the truth are summed.
Such figures are exact: a deviation in the third digit is a defect and not chance.
"""

from collections.abc import Callable
from math import isnan, nan, sqrt

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

import sim.estimate
from sim.estimate import BY_CAUSE, CONTRASTED, METRICS, Contrast, Estimate
from sim.intervals import clopper_pearson, gamma, share_interval, tango, wilson
from sim.outcomes import CAUSES, duplicates_by
from sim.sums import SUMMED, Sums

LEVEL = 0.95
Z2 = stats.norm.ppf(0.975) ** 2
OfShare = Callable[[int, int, float], tuple[float, float, str]]


def first(hits: int, n: int) -> NDArray[np.int64]:
    """n runs, a one in each of the first `hits`."""
    return (np.arange(n) < hits).astype(np.int64)


def crashes(gap: ArrayLike, action: ArrayLike) -> pd.DataFrame:
    return pd.DataFrame({"gap_crashes": gap, "action_crashes": action})


def estimate(frame: pd.DataFrame, metric: str, level: float = LEVEL) -> Estimate:
    return sim.estimate.estimate(Sums.of({"": frame}), metric, level=level)


def contrast(a: pd.DataFrame, b: pd.DataFrame, metric: str, level: float = LEVEL) -> Contrast:
    return sim.estimate.contrast(Sums.of({"a": a, "b": b}), metric, "a", "b", level)


# ------------------------------------------------------------------------------------------- shares of runs


def coverage(interval: OfShare, n: int, p: ArrayLike) -> NDArray[np.float64]:
    """Probability that the interval of a share holds the true share; of the shape of p."""
    low, high = np.array([interval(hits, n, LEVEL)[:2] for hits in range(n + 1)]).T[:, :, None]
    covers = (low <= np.atleast_1d(p)) & (np.atleast_1d(p) <= high)
    return (covers * stats.binom.pmf(np.arange(n + 1)[:, None], n, p)).sum(axis=0)


@pytest.mark.parametrize(
    ("n", "p", "of_wilson", "of_clopper_pearson"),
    [
        (200, 0.002, 0.939, 0.992),
        (200, 0.01, 0.948, 0.984),
        (1000, 0.0005, 0.910, 0.986),
        (1000, 0.01, 0.964, 0.976),
    ],
)
def test_coverage_of_a_rare_share(n: int, p: float, of_wilson: float, of_clopper_pearson: float) -> None:
    assert coverage(wilson, n, p) == pytest.approx(of_wilson, abs=6e-4)
    assert coverage(clopper_pearson, n, p) == pytest.approx(of_clopper_pearson, abs=6e-4)
    assert coverage(share_interval, n, p) == pytest.approx(of_wilson, abs=6e-4)


@pytest.mark.parametrize("n", [7, 20, 200, 1000])
def test_worst_and_mean_coverage_of_a_share(n: int) -> None:
    p = np.geomspace(1 / (5 * n), 0.5, 400)
    assert coverage(clopper_pearson, n, p).min() >= LEVEL
    published = coverage(share_interval, n, p)
    assert 0.89 < published.min() < 0.90
    assert LEVEL < published.mean() < 0.96


def test_only_none_or_all_is_left_to_clopper_and_pearson() -> None:
    for hits in range(21):
        assert share_interval(hits, 20, 0.9) == (clopper_pearson if hits in (0, 20) else wilson)(
            hits, 20, 0.9
        )


@pytest.mark.parametrize(
    ("hits", "n", "of_wilson", "of_clopper_pearson"),
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0, 0.1611), (0.0, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_shares_published_by_newcombe(
    hits: int, n: int, of_wilson: tuple[float, float], of_clopper_pearson: tuple[float, float]
) -> None:
    # Newcombe 1998, Statistics in Medicine 17, 857-872, table I.
    assert wilson(hits, n, LEVEL)[:2] == pytest.approx(of_wilson, abs=5.1e-5)
    assert clopper_pearson(hits, n, LEVEL)[:2] == pytest.approx(of_clopper_pearson, abs=5.1e-5)


@pytest.mark.parametrize("level", [0.5, 0.95, 1 - 0.05 / 40])
@pytest.mark.parametrize(("hits", "n"), [(1, 1), (3, 10), (999, 1000), (2, 100_000)])
def test_shares_agree_with_scipy(hits: int, n: int, level: float) -> None:
    test = stats.binomtest(hits, n)
    assert wilson(hits, n, level)[:2] == pytest.approx(test.proportion_ci(level, "wilson"), rel=1e-9)
    assert clopper_pearson(hits, n, level)[:2] == pytest.approx(test.proportion_ci(level, "exact"), rel=1e-9)


def test_no_share_is_said_to_be_below_zero_or_above_one() -> None:
    for n in range(1, 500):
        assert 0.0 <= wilson(0, n, LEVEL).low < 1e-12
        assert 1.0 >= wilson(n, n, LEVEL).high > 1 - 1e-12


def test_share_of_runs_with_a_duplicate_counts_runs_not_duplicates() -> None:
    found = estimate(pd.DataFrame({"duplicate_actions": 3 * first(10, 100)}), "p_duplicate")
    assert (found.n, found.estimate, found.method) == (100, 0.1, "Wilson")
    assert (found.low, found.high) == pytest.approx((0.05523, 0.17437), abs=5e-6)


def test_nothing_in_a_thousand_runs_still_has_an_upper_bound() -> None:
    found = estimate(pd.DataFrame({"lost_actions": np.zeros(1000)}), "p_lost")
    assert (found.estimate, found.low, found.method) == (0.0, 0.0, "Clopper-Pearson")
    assert found.high == pytest.approx(1 - 0.025**0.001)  # that is .00368
    every = estimate(pd.DataFrame({"stuck": np.ones(1000, bool)}), "p_stuck")
    assert (every.estimate, every.low, every.high) == pytest.approx((1.0, 0.025**0.001, 1.0))


# ---------------------------------------------------------------------------------------------------- means


@pytest.mark.parametrize("level", [0.5, 0.95, 1 - 0.05 / 40])
def test_mean_agrees_with_scipy(level: float) -> None:
    values = np.random.default_rng(24).gamma(3.0, size=57)
    found = estimate(pd.DataFrame({"lost_work_s": values}), "lost_work_s", level)
    expected = stats.ttest_1samp(values, 0).confidence_interval(level)
    assert (found.n, found.estimate, found.method) == (57, pytest.approx(values.mean()), "t")
    assert (found.low, found.high) == pytest.approx(expected)


def test_only_finished_runs_have_a_makespan() -> None:
    frame = pd.DataFrame({"makespan_s": [1.0, 2.0, 900.0, 6.0], "finished": [True, True, False, True]})
    assert estimate(frame, "makespan_s").estimate == 3.0
    assert estimate(frame, "makespan_s_p95").estimate == 6.0
    assert estimate(frame, "makespan_s").n == estimate(frame, "makespan_s_p50").n == 3
    for metric in ("makespan_s", "makespan_s_p50"):
        none = estimate(frame.assign(finished=False), metric)
        assert (none.n, none.method) == (0, "")
        assert isnan(none.estimate)
        assert isnan(none.low)
        assert isnan(none.high)


def test_an_outcome_that_no_run_has_is_empty() -> None:
    frame = pd.DataFrame({"saves": [nan, nan]})
    assert str(estimate(frame, "saves")) == str(Estimate("saves", 0, nan, nan, nan, ""))
    assert contrast(frame, frame, "saves").n == 0


def test_a_constant_has_no_width_though_rounding_says_otherwise() -> None:
    values = np.full(1000, 0.1)
    assert values.std() > 0
    found = estimate(pd.DataFrame({"save_time_s": values}), "save_time_s")
    assert (found.estimate, found.low, found.high, found.method) == (0.1, 0.1, 0.1, "t")


def test_zeros_alone_bound_no_mean_from_above() -> None:
    found = estimate(pd.DataFrame({"duplicate_actions": np.zeros(1000)}), "duplicate_actions")
    assert (found.estimate, found.low, found.method) == (0.0, 0.0, "none seen")
    assert isnan(found.high)


def test_one_run_has_no_interval() -> None:
    found = estimate(pd.DataFrame({"saves": [4]}), "saves")
    assert (found.n, found.estimate, found.method) == (1, 4.0, "")
    assert isnan(found.low)
    assert isnan(found.high)


def test_a_mean_is_not_said_to_be_below_zero() -> None:
    found = estimate(pd.DataFrame({"duplicate_actions": first(1, 1000)}), "duplicate_actions")
    assert found.low == 0.0
    assert found.high == pytest.approx(0.001 + stats.t.ppf(0.975, 999) * 0.001)


def test_how_far_the_mean_of_a_rare_count_can_be_trusted() -> None:
    def of_mean(hits: int, n: int, level: float) -> tuple[float, float, str]:
        found = estimate(pd.DataFrame({"duplicate_actions": first(hits, n)}), "duplicate_actions", level)
        return found.low, np.inf if found.method == "none seen" else found.high, found.method

    assert coverage(of_mean, 1000, 0.003) == pytest.approx(0.847, abs=6e-4)
    assert coverage(share_interval, 1000, 0.003) == pytest.approx(0.967, abs=6e-4)
    assert coverage(of_mean, 1000, np.geomspace(1e-4, 0.2, 400)).min() > 0.84
    assert coverage(of_mean, 1000, 0.05) > 0.94


# ------------------------------------------------------------------------------------------------ quantiles


@pytest.mark.parametrize("level", [0.95, 0.999])
@pytest.mark.parametrize(("percent", "n"), [(50, 20), (50, 1001), (95, 200), (95, 20_000), (95, 100_000)])
def test_ranks_of_a_quantile_cover_the_level_and_no_narrower_ones_do(
    percent: int, n: int, level: float
) -> None:
    ranks = np.random.default_rng(1).permutation(np.arange(1.0, n + 1))  # so that values are their own ranks
    found = estimate(pd.DataFrame({"wasted_tokens": ranks}), f"wasted_tokens_p{percent}", level)
    below = stats.binom(n, percent / 100).cdf
    tail = (1 - level) / 2
    assert found.estimate == -(-n * percent // 100)
    assert below(found.low - 1) <= tail < below(found.low)
    assert 1 - below(found.high - 1) <= tail < 1 - below(found.high - 2)
    assert (found.n, found.method) == (n, "order statistics")


def test_a_quantile_without_enough_values_beyond_it_has_no_bound_there() -> None:
    # 0.95 ** 72 < .025 < 0.95 ** 71: from 72 values on the largest is such a bound of the 95th percentile.
    for n in (71, 72):
        frame = pd.DataFrame({"lost_work_s": np.arange(1.0, n + 1)})
        found = estimate(frame, "lost_work_s_p95")
        assert found.low > 0
        assert found.high == 72 if n == 72 else isnan(found.high)
    single = estimate(frame[:1], "lost_work_s_p95")
    assert (single.n, single.estimate, single.method) == (1, 1.0, "")
    assert isnan(single.low)


def test_ties_and_zeros_in_a_quantile() -> None:
    frame = pd.DataFrame({"wasted_tokens": np.repeat([0.0, 7.0], [600, 400])})
    found = estimate(frame, "wasted_tokens_p50")
    assert (found.estimate, found.low, found.high) == (0.0, 0.0, 0.0)
    found = estimate(frame, "wasted_tokens_p95")
    assert (found.estimate, found.low, found.high) == (7.0, 7.0, 7.0)


# --------------------------------------------------------------------------------------------------- ratios


def test_ratio_by_hand() -> None:
    # R = 3 / 5; part − R whole = −.2, −.6, .8, of squares 1.04; t(2) at .75 is .8164966.
    half = 0.8164966 * sqrt(1.04 * 3 / 2) / 5
    with_idle_runs = estimate(crashes([1, 0, 2, 0, 0], [2, 1, 2, 0, 0]), "gap_share", level=0.5)
    assert (with_idle_runs.n, with_idle_runs.estimate, with_idle_runs.method) == (5, 0.6, "delta")
    assert (with_idle_runs.low, with_idle_runs.high) == pytest.approx((0.6 - half, 0.6 + half))
    wide = estimate(crashes([1, 0, 2], [2, 1, 2]), "gap_share", level=0.99)
    assert (wide.low, wide.high) == (0.0, 1.0)


def test_ratio_of_single_crashes_is_a_share() -> None:
    found = estimate(crashes(first(30, 400), first(200, 400)), "gap_share")
    assert (found.n, found.estimate) == (200, 0.15)
    assert (found.low, found.high, found.method) == wilson(30, 200, LEVEL)


def test_ratio_of_none_or_all_has_a_bound() -> None:
    found = estimate(crashes(np.zeros(100), np.full(100, 3)), "gap_share")
    assert (found.low, found.high, found.method) == clopper_pearson(0, 300, LEVEL)
    found = estimate(crashes(np.full(100, 3), np.full(100, 3)), "gap_share")
    assert (found.low, found.high, found.method) == clopper_pearson(300, 300, LEVEL)


def test_ratio_of_one_run_with_several_crashes_has_no_interval() -> None:
    found = estimate(crashes([0, 1], [0, 3]), "gap_share")
    assert (found.n, found.estimate, found.method) == (3, pytest.approx(1 / 3), "")
    assert isnan(found.low)
    assert isnan(found.high)


@pytest.mark.parametrize("frame", [crashes([np.nan] * 3, [1, 0, 2]), crashes([0, 0, 0], [0, 0, 0])])
def test_ratio_that_does_not_exist_is_empty(frame: pd.DataFrame) -> None:
    found = estimate(frame, "gap_share")
    assert (found.n, found.method) == (0, "")
    assert isnan(found.estimate)
    found = contrast(frame, crashes([1, 0, 1], [1, 2, 2]), "gap_share")
    assert (found.n, found.method) == (0, "")
    assert isnan(found.difference)
    assert isnan(found.high)


def test_ratio_knows_that_crashes_of_one_run_resemble_each_other() -> None:
    # Each run has its own share, of mean .2, which a binomial interval of the crashes does not know of.
    rng = np.random.default_rng(24)
    covered = np.zeros(2)
    for _ in range(2000):
        action = rng.poisson(2.0, 200)
        gap = rng.binomial(action, rng.beta(0.2, 0.8, 200))
        found = estimate(crashes(gap, action), "gap_share")
        binomial = wilson(int(gap.sum()), int(action.sum()), LEVEL)
        covered += [found.low <= 0.2 <= found.high, binomial.low <= 0.2 <= binomial.high]
    delta, binomial_share = covered / 2000
    assert 0.93 < delta < 0.97
    assert binomial_share < 0.85


def test_share_over_mean_by_hand() -> None:
    # A mean without width leaves the interval of the share, at half the miss; no mean above 0, no ratio.
    frame = pd.DataFrame({"duplicate_actions": 2 * first(10, 100), "rule_duplicates": np.full(100, 0.5)})
    found = estimate(frame, "rule_ratio")
    share = wilson(10, 100, 0.975)
    assert (found.n, found.estimate) == (100, pytest.approx(0.2))
    assert (found.low, found.high) == pytest.approx((share.low / 0.5, share.high / 0.5))
    varied = frame.assign(rule_duplicates=np.linspace(0.4, 0.6, 100))
    rule = stats.ttest_1samp(varied["rule_duplicates"], 0).confidence_interval(0.975)
    found = estimate(varied, "rule_ratio")
    assert (found.low, found.high) == pytest.approx((share.low / rule.high, share.high / rule.low))
    assert isnan(estimate(frame.assign(rule_duplicates=0.0), "rule_ratio").estimate)


# ---------------------------------------------------------------------------------------------------- rates


def performed(duplicates: ArrayLike, actions: ArrayLike) -> pd.DataFrame:
    return pd.DataFrame({"duplicate_actions": duplicates, "actions": actions})


def test_a_rate_of_single_events_has_the_bounds_of_poisson() -> None:
    # Garwood 1936: 0 to 3.689 events for none seen, 1.6235 to 11.6683 for 5.
    found = estimate(performed(np.zeros(1000), np.full(1000, 4)), "duplicates_per_million")
    assert (found.n, found.estimate, found.low, found.method) == (1000, 0.0, 0.0, "gamma")
    assert found.high == pytest.approx(3.6889e6 / 4000, rel=1e-4)
    assert gamma(5.0, 5.0, 1.0, LEVEL)[:2] == pytest.approx((1.6235, 11.6683), abs=1e-4)
    few = estimate(performed(first(5, 100_000), np.full(100_000, 4)), "duplicates_per_million")
    assert few.estimate == pytest.approx(12.5)
    assert (few.low, few.high) == pytest.approx((2.5 * 1.6235, 2.5 * 11.6683), rel=1e-3)


def test_a_rate_of_many_events_has_the_interval_of_the_delta_method_and_may_exceed_a_million() -> None:
    rng = np.random.default_rng(24)
    actions = 2 + rng.poisson(2.0, 100_000)
    duplicates = rng.poisson(1.5 * actions)
    found = estimate(performed(duplicates, actions), "duplicates_per_million")
    rate = duplicates.sum() / actions.sum()
    half = (
        1e6 * stats.norm.ppf(0.975) * np.std((duplicates - rate * actions) / actions.mean()) / sqrt(100_000)
    )
    assert found.estimate == pytest.approx(1e6 * rate)
    assert found.estimate > 1e6
    assert found.high - found.low == pytest.approx(2 * half, rel=2e-2)
    assert (found.low + found.high) / 2 == pytest.approx(found.estimate, rel=1e-3)


def test_a_rate_of_equal_runs_is_no_surer_than_one_more_run_allows() -> None:
    found = estimate(performed(np.full(500, 3), np.full(500, 4)), "duplicates_per_million")
    assert found.estimate == pytest.approx(0.75e6)
    assert found.low == pytest.approx(0.75e6)
    assert 0.75e6 * (1 + 1 / 500) < found.high < 0.75e6 * (1 + 5 / 500)


@pytest.mark.parametrize("expected", [0.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("cluster", [1, 4])
def test_coverage_of_a_rare_rate(expected: float, cluster: int) -> None:
    # Where 5 are expected the t interval of the mean covers .88. That nothing was seen tells of events which
    # come one a run, and so it is not asked to tell of clusters.
    n = 1000
    counts = np.arange(60)
    found = [
        estimate(performed(cluster * first(k, n), np.full(n, 5)), "duplicates_per_million") for k in counts
    ]
    truth = 1e6 * expected * cluster / (5 * n)
    covers = np.array([e.low <= truth <= e.high or (k == 0 and cluster > 1) for k, e in enumerate(found)])
    assert (covers * stats.binom.pmf(counts, n, expected / n)).sum() > 0.95


def test_one_run_or_no_action_has_no_rate_to_speak_of() -> None:
    single = estimate(performed([1], [4]), "duplicates_per_million")
    assert (single.estimate, single.method) == (0.25e6, "")
    idle = estimate(performed([0, 0], [0, 0]), "duplicates_per_million")
    assert isnan(idle.estimate)


def test_rates_by_cause_sum_to_that_of_all() -> None:
    rng = np.random.default_rng(24)
    causes = {duplicates_by(cause): rng.poisson(0.01 * k, 5000) for k, cause in enumerate(CAUSES)}
    table = causes | {"duplicate_actions": sum(causes.values()), "actions": rng.poisson(3.0, 5000)}
    found = [estimate(pd.DataFrame(table), metric).estimate for metric in BY_CAUSE.values()]
    assert sum(found) == pytest.approx(estimate(pd.DataFrame(table), "duplicates_per_million").estimate)


def test_paired_rates_are_compared_by_what_runs_add() -> None:
    rng = np.random.default_rng(24)
    actions = 2 + rng.poisson(2.0, 20_000)
    many = rng.poisson(0.5 * actions)
    fewer = rng.binomial(many, 0.8)
    found = contrast(performed(many, actions), performed(fewer, actions), "duplicates_per_million")
    one, two = many.sum() / actions.sum(), fewer.sum() / actions.sum()
    paired = 1e6 * ((fewer - two * actions) - (many - one * actions)) / actions.mean()
    half = 1.96 * paired.std() / sqrt(20_000)
    assert (found.n, found.method) == (20_000, "square-and-add")
    assert found.difference == pytest.approx(1e6 * (two - one))
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=3e-2)


def test_conditional_rates_are_those_of_the_means_over_the_actions() -> None:
    lost = conditional([0.2, 0.3, 0.4], np.zeros(3), 0.1, "lost_actions")
    mean = estimate(lost, "lost_actions")
    rate = estimate(lost.assign(actions=4), "lost_per_million")
    assert (rate.n, rate.method) == (3, "conditional")
    assert (rate.estimate, rate.high) == (
        pytest.approx(mean.estimate * 0.25e6),
        pytest.approx(mean.high * 0.25e6),
    )


def test_a_table_without_the_columns_of_a_metric_has_no_such_number() -> None:
    for metric in ("zombie_s", "race_duplicates_per_million", "spacing_s_p50"):
        found = estimate(performed([1, 0], [2, 2]), metric)
        assert (found.n, found.method) == (0, "")
        assert isnan(found.estimate)


def test_the_time_to_a_duplicate_is_that_of_runs_with_one() -> None:
    frame = performed([0, 1, 0, 1, 2], np.ones(5)).assign(spacing_s=[nan, 3.0, nan, 1.0, 2.0])
    found = estimate(frame, "spacing_s_p50")
    assert (found.n, found.estimate) == (3, 2.0)


# ---------------------------------------------------------------------------------------- conditional values


def conditional(
    value: ArrayLike, control: ArrayLike, correction: float, name: str = "p_lost"
) -> pd.DataFrame:
    """Give a table of conditional values of a metric; what was counted is of no account."""
    part = METRICS[name].part
    return pd.DataFrame(
        {
            "lost_actions": np.zeros(np.size(value)),
            f"{part}, conditional": value,
            f"{part}, control": control,
            "largest correction": np.full(np.size(value), correction),
        }
    )


def test_conditional_values_by_hand() -> None:
    # Values .2, .3, .4 without a control: mean .3, sum of squares .02, and 2 × .1² for what was not seen.
    found = estimate(conditional([0.2, 0.3, 0.4], np.zeros(3), 0.1), "p_lost", 0.9)
    half = stats.t.ppf(0.95, 2) * sqrt(0.02 * 3 / 2 + 2 * 0.1**2) / 3
    assert (found.n, found.estimate, found.method) == (3, pytest.approx(0.3), "conditional")
    assert (found.low, found.high) == (pytest.approx(max(0.3 - half, 0)), pytest.approx(0.3 + half))


def test_what_goes_with_the_control_is_taken_off() -> None:
    rng = np.random.default_rng(24)
    control = rng.normal(size=4000)
    value = 0.4 + 0.1 * control + rng.normal(scale=1e-3, size=4000)
    found = estimate(conditional(value, control, 0.0), "p_lost")
    assert found.estimate == pytest.approx(0.4, abs=5e-3 / sqrt(4000))
    assert (found.high - found.low) / 2 == pytest.approx(1.96e-3 / sqrt(4000), rel=0.05)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("weight", [1.0, 1e-3])
def test_coverage_of_corrections_that_are_rarely_seen(n: int, weight: float) -> None:
    # Every value is .5 but for corrections, each of which adds the weight: the truth is .5 + weight × p.
    found = [
        estimate(conditional(0.5 + weight * first(hits, n), np.zeros(n), weight), "p_lost")
        for hits in range(60)
    ]
    p = np.geomspace(0.05 / n, 15 / n, 200)
    truth = 0.5 + weight * p
    low, high = (np.array([[e.low] for e in found]), np.array([[e.high] for e in found]))
    covered = ((low <= truth) & (truth <= high)) * stats.binom.pmf(np.arange(60)[:, None], n, p)
    coverage = covered.sum(axis=0)
    assert coverage.min() > 0.92
    assert coverage.mean() > 0.95


def test_paired_conditional_values() -> None:
    rng = np.random.default_rng(24)
    common = rng.normal(scale=0.01, size=500)
    a, b = (conditional(share + common, np.zeros(500), 1e-4) for share in (0.3, 0.2))
    found = contrast(a, b, "p_lost")
    assert (found.n, found.difference, found.method) == (500, pytest.approx(-0.1), "conditional")
    assert (found.high - found.low) / 2 == pytest.approx(1.965 * sqrt(4e-8) / 500, rel=1e-2)
    assert found.variance_reduction == pytest.approx(1.0)


# ------------------------------------------------------------------------------- contrasts: shares of pairs


def coverage_of_tango(n: int, p10: float, p01: float) -> float:
    """Probability that Tango's interval holds p01 − p10; outcomes of less than 1e-9 are left out."""
    covered = seen = 0.0
    for only_first, outer in enumerate(stats.binom.pmf(np.arange(n + 1), n, p10)):
        rest = n - only_first
        weights = outer * stats.binom.pmf(np.arange(rest + 1), rest, p01 / (1 - p10)) if outer > 1e-9 else []
        for only_second, weight in enumerate(weights):
            if weight > 1e-9:
                low, high, _ = tango(only_first, only_second, n, LEVEL)
                covered += weight * (low <= p01 - p10 <= high)
                seen += weight
    assert seen > 1 - 1e-6
    return covered


@pytest.mark.parametrize(
    ("n", "p10", "p01", "expected"),
    [
        (200, 0.01, 0.0, 0.984),
        (200, 0.04, 0.0, 0.956),
        (1000, 0.01, 0.0, 0.9635),
        (1000, 0.04, 0.0, 0.957),
        (200, 0.04, 0.02, 0.953),
        (200, 0.005, 0.005, 0.986),
        (50, 0.3, 0.2, 0.949),
    ],
)
def test_coverage_of_a_difference_of_shares(n: int, p10: float, p01: float, expected: float) -> None:
    assert coverage_of_tango(n, p10, p01) == pytest.approx(expected, abs=6e-4)


def test_difference_of_shares_published_by_fagerland() -> None:
    # Fagerland, Lydersen & Laake 2014, Statistics in Medicine 33, 2850-2875: 21 children, discordant 7 and 1.
    assert tango(7, 1, 21, LEVEL)[:2] == pytest.approx((-0.517, -0.026), abs=5e-4)


def score(only_first: int, only_second: int, n: int, delta: float) -> float:
    """Square of Tango's statistic, its nuisance share maximised numerically rather than by formula."""
    counts = np.array([only_second, only_first, n - only_first - only_second])

    def unlikelihood(q: float) -> float:
        p = np.array([q + delta, q, 1 - 2 * q - delta])
        return -float(np.sum(counts[counts > 0] * np.log(p[counts > 0])))

    bounds = max(0.0, -delta), (1 - delta) / 2
    q = optimize.minimize_scalar(unlikelihood, bounds=bounds, options={"xatol": 1e-12}).x
    return (only_second - only_first - n * delta) ** 2 / (n * (2 * q + delta - delta**2))


@pytest.mark.parametrize(
    ("only_first", "only_second", "n"), [(7, 1, 21), (3, 12, 200), (0, 9, 50), (0, 0, 40), (20, 20, 1000)]
)
def test_bounds_of_tango_solve_the_score_equation(only_first: int, only_second: int, n: int) -> None:
    low, high, _ = tango(only_first, only_second, n, LEVEL)
    for bound in (low, high):
        assert score(only_first, only_second, n, bound) == pytest.approx(Z2, rel=1e-4)
    for inside in np.linspace(low, high, 12)[1:-1]:
        assert score(only_first, only_second, n, inside) < Z2
    for outside in (*np.linspace(-0.99, low, 12)[:-1], *np.linspace(high, 0.99, 12)[1:]):
        assert score(only_first, only_second, n, outside) > Z2


def test_difference_of_shares_that_differ_one_way_is_a_share() -> None:
    # Keys only remove duplicates: no pair goes the other way, and the difference is minus a share of pairs.
    a = pd.DataFrame({"duplicate_actions": 2 * first(60, 1000)})
    b = pd.DataFrame({"duplicate_actions": first(20, 1000)})
    found = contrast(a, b, "p_duplicate")
    share = wilson(40, 1000, LEVEL)
    assert (found.n, found.difference, found.method) == (1000, pytest.approx(-0.04), "Tango")
    assert (found.low, found.high) == pytest.approx((-share.high, -share.low))


def test_shares_that_do_not_differ_in_any_pair_may_still_differ() -> None:
    frame = pd.DataFrame({"duplicate_actions": first(5, 100)})
    found = contrast(frame, frame, "p_duplicate")
    bound = Z2 / (100 + Z2)
    assert (found.difference, found.variance_reduction) == (0.0, 1.0)
    assert (found.low, found.high) == pytest.approx((-bound, bound))


@pytest.mark.parametrize("n", [9, 1_000_000, 1_000_000_000])
@pytest.mark.parametrize("level", [1e-6, 0.01, 0.95])
def test_shares_that_differ_in_every_pair(n: int, level: float) -> None:
    # The difference is then that of p and 1 − p, with p as Wilson has it.
    low, high, _ = tango(0, n, n, level)
    z2 = stats.norm.ppf((1 + level) / 2) ** 2
    assert (low, high) == (pytest.approx((n - z2) / (n + z2)), 1.0)


# --------------------------------------------------------------------------------- contrasts: means, ratios


def test_difference_of_means_agrees_with_scipy() -> None:
    rng = np.random.default_rng(24)
    x = rng.gamma(2.0, size=80)
    y = x + rng.normal(0.3, 0.2, size=80)
    found = contrast(pd.DataFrame({"downtime_s": x}), pd.DataFrame({"downtime_s": y}), "downtime_s", 0.99)
    expected = stats.ttest_rel(y, x).confidence_interval(0.99)
    assert (found.n, found.difference, found.method) == (80, pytest.approx((y - x).mean()), "t")
    assert (found.low, found.high) == pytest.approx(expected)


def test_variance_reduction_by_hand() -> None:
    # Var A = 1/4, Var B = 1, Var(A − B) = 1/4, each over two runs: 1 − .25 / 1.25.
    a, b = pd.DataFrame({"crashes": [0, 1]}), pd.DataFrame({"crashes": [0, 2]})
    assert contrast(a, b, "crashes").variance_reduction == pytest.approx(0.8)
    against = pd.DataFrame({"crashes": [2, 0]})
    assert contrast(a, against, "crashes").variance_reduction == pytest.approx(-0.8)
    constant = pd.DataFrame({"crashes": np.full(1000, 0.1)})  # of which rounding makes a variance above 0
    assert isnan(contrast(constant, 3 * constant, "crashes").variance_reduction)


def test_makespans_are_those_of_runs_that_finished_under_each_strategy() -> None:
    a = pd.DataFrame({"makespan_s": [1.0, 2.0, 3.0, 99.0], "finished": [True, True, True, False]})
    b = pd.DataFrame({"makespan_s": [2.0, 99.0, 6.0, 4.0], "finished": [True, False, True, True]})
    found = contrast(a, b, "makespan_s")
    assert (found.n, found.difference) == (2, pytest.approx(2.0))  # 4 - 2, of which two runs are pairs
    nobody = contrast(a, b.assign(finished=False), "makespan_s")
    assert (nobody.n, nobody.method) == (0, "")
    assert isnan(nobody.difference)


def test_means_that_do_not_differ_in_any_pair() -> None:
    frame = pd.DataFrame({"saves": [3, 5, 4]})
    found = contrast(frame, frame, "saves")
    assert (found.difference, found.variance_reduction, found.method) == (0.0, 1.0, "none seen")
    assert isnan(found.low)
    assert isnan(found.high)
    assert isnan(contrast(frame[:1], frame[:1], "saves").variance_reduction)


def test_difference_of_ratios_of_many_crashes_is_the_delta_method_on_paired_influences() -> None:
    rng = np.random.default_rng(24)
    action = 1 + rng.poisson(2.0, 300)
    gap = rng.binomial(action, 0.3)
    fewer = rng.binomial(gap, 0.6)
    more = action + rng.integers(0, 2, 300)
    found = contrast(crashes(gap, action), crashes(fewer, more), "gap_share")
    one, two = gap.sum() / action.sum(), fewer.sum() / more.sum()
    paired = (fewer - two * more) / more.mean() - (gap - one * action) / action.mean()
    half = stats.t.ppf(0.975, 299) * paired.std(ddof=1) / sqrt(300)
    assert (found.n, found.difference, found.method) == (300, pytest.approx(two - one), "square-and-add")
    assert (found.low, found.high) == pytest.approx((two - one - half, two - one + half))


def test_ratios_of_identical_runs_do_not_differ() -> None:
    rng = np.random.default_rng(24)
    for runs in range(5, 105):
        action = 2 + rng.poisson(1.0, runs)
        frame = crashes(rng.binomial(action, 0.5), action)
        found = contrast(frame, frame, "gap_share")
        assert (found.low, found.high) == pytest.approx((0.0, 0.0), abs=1e-7)


def test_ratios_of_none_may_still_differ() -> None:
    found = contrast(crashes(np.zeros(50), np.ones(50)), crashes(np.zeros(50), first(20, 50)), "gap_share")
    assert (found.n, found.difference) == (50, 0.0)
    assert found.low == pytest.approx(-clopper_pearson(0, 50, LEVEL).high)
    assert found.high == pytest.approx(clopper_pearson(0, 20, LEVEL).high)


def test_difference_of_rare_ratios_is_covered() -> None:
    # The same crashes under both strategies; the second has a gap a fifth as long, inside the first. A delta
    # interval of the difference covers .88 here.
    rng = np.random.default_rng(24)
    covered = 0
    for _ in range(1500):
        action = first(630, 1000)
        where = rng.random(1000)
        found = contrast(
            crashes(action * (where < 0.01), action), crashes(action * (where < 0.002), action), "gap_share"
        )
        covered += found.low <= -0.008 <= found.high
    assert 0.95 < covered / 1500 < 0.99


# --------------------------------------------------------------------------------------------- every metric


def some_runs(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.poisson(0.7, 500) * rng.random(500) for name in SUMMED})
    action = rng.poisson(1.5, 500)
    stuck = rng.random(500) < 0.1
    return frame.assign(
        finished=~stuck,
        stuck=stuck,
        action_crashes=action,
        gap_crashes=rng.binomial(action, 0.3),
        gap_crashes_after_done=rng.binomial(action, 0.2),
        spacing_s=np.where(rng.random(500) < 0.5, rng.random(500), nan),
    )


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_lies_in_its_interval_which_narrows_with_the_level(metric: str) -> None:
    wide, narrow = (estimate(some_runs(1), metric, level) for level in (0.99, 0.5))
    assert wide.low <= narrow.low <= wide.estimate == narrow.estimate <= narrow.high <= wide.high
    assert wide.low < wide.high
    assert METRICS[metric].description


@pytest.mark.parametrize("metric", [name for name, what in METRICS.items() if what.kind in CONTRASTED])
def test_every_contrast_is_of_the_estimates_and_changes_sign_with_their_order(metric: str) -> None:
    a, b = some_runs(1), some_runs(2)
    found, back = contrast(a, b, metric, 0.9), contrast(b, a, metric, 0.9)
    assert (back.difference, back.low, back.high) == pytest.approx(
        (-found.difference, -found.high, -found.low)
    )
    assert found.low < found.difference < found.high
    assert found.variance_reduction == pytest.approx(back.variance_reduction)
    assert abs(found.variance_reduction) < 0.2
    same = contrast(a, a, metric)
    assert (same.difference, same.variance_reduction) == (0.0, 1.0)
    assert found.difference == pytest.approx(estimate(b, metric).estimate - estimate(a, metric).estimate)


# ------------------------------------------------------------------------------------------------- mistakes


def test_mistakes_are_answered_with_what_is_allowed() -> None:
    frame = some_runs(1)
    with pytest.raises(ValueError, match=r'unknown metric "p_duplicat"; did you mean "p_duplicate"\?'):
        estimate(frame, "p_duplicat")
    with pytest.raises(ValueError, match=r'did you mean "makespan_s"\? Allowed: crashes'):
        contrast(frame, frame, "makespan")
    with pytest.raises(ValueError, match=r'did you mean "makespan_s"\? Allowed: (?!.*_p50)'):
        contrast(frame, frame, "makespan_s_p50")
    with pytest.raises(ValueError, match=r"inside \(0, 1\), such as 0.95, not 95"):
        estimate(frame, "crashes", level=95)
    with pytest.raises(ValueError, match="as many rows, not 500 and 499"):
        contrast(frame, frame[1:], "crashes")
