"""Fits. Functionality: planted laws are found again, a maximum is one, a change of unit changes only the
unit. Deterministic: the exponential in closed form, Kaplan and Meier by hand. Extreme: times without a
maximum, far tails of the gamma law. The likelihood is judged by scipy's densities, not by those fitted with.
"""

from math import inf, log, sqrt

import numpy as np
import pytest
from scipy import special, stats

from sim import fit as fitting
from sim.fit import CANDIDATES, as_toml, bootstrap, fit, interval, kaplan_meier
from sim.laws import Law, parse_law

PLANTED = [
    {"law": "exponential", "mean": 3600.0},
    {"law": "weibull", "mean": 86400.0, "shape": 0.5},
    {"law": "weibull", "mean": 86400.0, "shape": 0.7},
    {"law": "weibull", "mean": 86400.0, "shape": 1.5},
    {"law": "lognormal", "median": 0.04, "sigma": 1.0},
    {"law": "lognormal", "median": 7200.0, "sigma": 1.7},
    {"law": "gamma", "mean": 600.0, "shape": 0.5},
    {"law": "gamma", "mean": 600.0, "shape": 3.0},
    {"law": "lomax", "c": 1.5, "scale": 900.0},
]

BY_SCIPY = {
    "exponential": lambda p: stats.expon(scale=p["mean"]),
    "weibull": lambda p: stats.weibull_min(p["shape"], scale=p["mean"] / special.gamma(1 + 1 / p["shape"])),
    "lognormal": lambda p: stats.lognorm(p["sigma"], scale=p["median"]),
    "gamma": lambda p: stats.gamma(p["shape"], scale=p["mean"] / p["shape"]),
    "lomax": lambda p: stats.lomax(p["c"], scale=p["scale"]),
}


def law_of(table) -> Law:
    law = parse_law(table)
    assert isinstance(law, Law)
    return law


def title(table):
    return " ".join(map(str, table.values()))


def observed(table, n=500, horizon="fixed", seed=7):
    """Times of a law, about 30 % of them censored."""
    law, rng = law_of(table), np.random.default_rng(seed)
    times = law.quantile(rng.random(n))
    end = law.quantile(np.full(n, 0.7) if horizon == "fixed" else 0.4 + 0.6 * rng.random(n))
    return np.minimum(times, end), times > end


def by_scipy(law, parameters, times, censored):
    frozen = BY_SCIPY[law](parameters)
    return frozen.logpdf(times[~censored]).sum() + frozen.logsf(times[censored]).sum()


def named(fits):
    return {found.law: found for found in fits}


# ---------------------------------------------------------------------------------------- functionality


@pytest.mark.parametrize("horizon", ["fixed", "random"])
@pytest.mark.parametrize("table", PLANTED, ids=title)
def test_a_planted_law_is_found_again(table, horizon):
    times, censored = observed(table, horizon=horizon)
    assert 0.2 < censored.mean() < 0.4
    fits = fit(times, censored)
    found = named(fits)[table["law"]]
    assert found.aic - fits[0].aic <= 2
    for key in found.parameters:
        assert abs(found.parameters[key] - table[key]) < 3 * found.errors[key], (key, found)


def test_standard_errors_are_those_of_repetition():
    table = {"law": "weibull", "mean": 86400.0, "shape": 0.7}
    only = [candidate for candidate in CANDIDATES if candidate.law == "weibull"]
    again = [fit(*observed(table, n=300, seed=seed), only)[0] for seed in range(150)]
    for key in ("mean", "shape"):
        spread = np.std([found.parameters[key] for found in again])
        assert spread == pytest.approx(np.mean([found.errors[key] for found in again]), rel=0.2)


@pytest.mark.parametrize("table", PLANTED[1:], ids=title)
def test_no_step_from_the_maximum_leads_upward(table):
    times, censored = observed(table, n=200)
    for found in fit(times, censored):
        top = by_scipy(found.law, found.parameters, times, censored)
        assert found.log_likelihood == pytest.approx(top, abs=1e-8 * len(times))
        for key, value in found.parameters.items():
            up, down = (
                by_scipy(found.law, found.parameters | {key: value * (1 + step)}, times, censored)
                for step in (1e-4, -1e-4)
            )
            # In units of the standard error, the slope is nothing beside the curvature, which is 1.
            slope = (up - down) / 2e-4 * found.errors[key] / value
            assert abs(slope) < 1e-3, (found.law, key, slope)


@pytest.mark.parametrize("table", PLANTED[1:], ids=title)
def test_no_less_likely_than_what_scipy_finds(table):
    times, censored = observed(table, n=200)
    data = stats.CensoredData.right_censored(times, censored)
    family = {"weibull": stats.weibull_min, "lognormal": stats.lognorm}.get(table["law"])
    family = family or getattr(stats, table["law"])
    frozen = family(*family.fit(data, floc=0))
    theirs = frozen.logpdf(times[~censored]).sum() + frozen.logsf(times[censored]).sum()
    assert named(fit(times, censored))[table["law"]].log_likelihood >= theirs - 1e-6


def test_errors_are_of_the_curvature_by_scipy():
    times, censored = observed({"law": "gamma", "mean": 600.0, "shape": 3.0})
    found = named(fit(times, censored))["gamma"]
    keys = list(found.parameters)
    h = {key: 1e-3 * found.parameters[key] for key in keys}

    def at(**moved):
        return by_scipy(
            "gamma", {k: v + moved.get(k, 0) * h[k] for k, v in found.parameters.items()}, times, censored
        )

    def second(a, b):
        signs = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
        if a == b:
            return (at(**{a: 1}) + at(**{a: -1}) - 2 * at()) / h[a] ** 2
        return sum(s * at(**{a: i, b: j}) for i, j, s in signs) / (4 * h[a] * h[b])

    information = -np.array([[second(a, b) for b in keys] for a in keys])
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose([found.errors[key] for key in keys], errors, rtol=1e-3)


@pytest.mark.parametrize("factor", [1 / 86400, 1000.0])
def test_another_unit_changes_only_the_unit(factor):
    times, censored = observed({"law": "weibull", "mean": 86400.0, "shape": 0.7})
    ours, other = fit(times, censored), named(fit(times * factor, censored))
    for found in ours:
        same = other[found.law]
        for key, value in found.parameters.items():
            by = factor if key in ("mean", "median", "scale") else 1.0
            assert same.parameters[key] == pytest.approx(by * value, rel=1e-6)
            assert same.errors[key] == pytest.approx(by * found.errors[key], rel=1e-4)
        shift = (~censored).sum() * log(factor)  # densities are per second
        assert same.log_likelihood == pytest.approx(found.log_likelihood - shift, abs=1e-6)


def test_the_order_of_the_times_does_not_matter():
    times, censored = observed({"law": "gamma", "mean": 600.0, "shape": 0.5})
    for ours, other in zip(fit(times, censored), fit(times[::-1], censored[::-1]), strict=True):
        assert ours.law == other.law
        assert ours.parameters == pytest.approx(other.parameters, rel=1e-7)


def test_ranked_by_aic():
    fits = fit(*observed({"law": "weibull", "mean": 86400.0, "shape": 0.7}))
    assert [found.aic for found in fits] == sorted(found.aic for found in fits)
    for found in fits:
        assert found.aic == 2 * len(found.errors) - 2 * found.log_likelihood


def test_candidates_write_what_files_read():
    for candidate in CANDIDATES:
        parameters = candidate.parameters(2.0, *candidate.shapes)
        law = law_of({"law": candidate.law} | parameters)
        t = np.geomspace(0.01, 20, 50)
        ours = candidate.log_survival(t / 2.0, *candidate.shapes)
        np.testing.assert_allclose(ours, -law.cumulative_hazard(t), rtol=1e-10)
        # The density is the slope of the survival.
        h = 1e-5 * t
        slope = (law.survival(t - h) - law.survival(t + h)) / (2 * h)
        density = np.exp(candidate.log_density(t / 2.0, *candidate.shapes)) / 2.0
        np.testing.assert_allclose(density, slope, rtol=1e-5)


def test_bootstrap_spreads_as_the_errors_say_and_keeps_its_seed():
    times, censored = observed({"law": "lognormal", "median": 7200.0, "sigma": 1.7}, n=300)
    best = fit(times, censored)[:1]
    sets = bootstrap(times, censored, best, 150, seed=3)[best[0].law]
    assert len(sets) == 150
    for key, (low, high) in interval(sets).items():
        assert low < best[0].parameters[key] < high
        assert high - low == pytest.approx(2 * 1.96 * best[0].errors[key], rel=0.3)
    assert bootstrap(times, censored, best, 3, seed=3)[best[0].law] == sets[:3]
    assert bootstrap(times, censored, best, 3, seed=4)[best[0].law] != sets[:3]


# ---------------------------------------------------------------------------------------- deterministic


def test_the_exponential_in_closed_form():
    times, censored = np.array([3.0, 8.0, 1.0, 20.0, 20.0]), np.array([0, 0, 0, 1, 1], bool)
    found = named(fit(times, censored))["exponential"]
    mean = 52 / 3
    assert found.parameters["mean"] == pytest.approx(mean, rel=1e-14)
    assert found.errors["mean"] == pytest.approx(mean / sqrt(3), rel=1e-5)
    assert found.log_likelihood == pytest.approx(-3 * log(mean) - 3, rel=1e-14)


def test_the_lognormal_without_censoring_in_closed_form():
    times = np.array([1.0, 10.0, 100.0, 1000.0])
    found = named(fit(times, np.zeros(4, bool)))["lognormal"]
    sigma = np.log(times).std()
    assert found.parameters == pytest.approx({"median": 10**1.5, "sigma": sigma}, rel=1e-7)
    errors = {"median": 10**1.5 * sigma / 2, "sigma": sigma / sqrt(8)}
    assert found.errors == pytest.approx(errors, rel=1e-4)


def test_kaplan_meier_by_hand():
    """Remission of 21 patients given 6-MP, in weeks (Freireich et al. 1963; Cox & Oakes 1984, table 1.1).

    At 6 weeks three of 21 relapse and one more is censored, which counts as longer.
    """
    ended = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    going_on = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    curve = kaplan_meier(ended + going_on, [False] * 9 + [True] * 12)
    steps = {6: (3, 21), 7: (1, 17), 10: (1, 15), 13: (1, 12), 16: (1, 11), 22: (1, 7), 23: (1, 6)}
    survival, variance = 1.0, 0.0
    for week, (relapses, at_risk) in steps.items():
        survival *= 1 - relapses / at_risk
        variance += relapses / (at_risk * (at_risk - relapses))
        here = list(curve.times).index(week)
        assert curve.survival[here] == pytest.approx(survival, rel=1e-12)
        half = 1.959964 * sqrt(variance) / -log(survival)
        assert curve.low[here] == pytest.approx(survival ** np.exp(half), rel=1e-6)
        assert curve.high[here] == pytest.approx(survival ** np.exp(-half), rel=1e-6)
    assert survival == pytest.approx(0.448, abs=5e-4)
    assert curve.survival[-1] == curve.survival[list(curve.times).index(23)]
    assert curve.median == 23
    assert curve.median_interval == (13, inf)


def test_kaplan_meier_without_censoring_counts():
    curve = kaplan_meier([4.0, 1.0, 2.0, 2.0], [False] * 4)
    assert curve.times.tolist() == [1, 2, 4]
    assert curve.survival.tolist() == [0.75, 0.25, 0]
    assert curve.median == 2


def test_kaplan_meier_by_scipy():
    times, censored = observed(PLANTED[1], n=60, horizon="random")
    times = np.ceil(times / 3600)  # so that there are ties
    curve = kaplan_meier(times, censored)
    theirs = stats.ecdf(stats.CensoredData.right_censored(times, censored)).sf
    np.testing.assert_array_equal(curve.times, theirs.quantiles)
    np.testing.assert_allclose(curve.survival, theirs.probabilities, rtol=1e-12)
    band = theirs.confidence_interval(method="log-log")
    np.testing.assert_allclose(curve.low, band.low.probabilities, rtol=1e-9)
    np.testing.assert_allclose(curve.high, band.high.probabilities, rtol=1e-9)


def test_kaplan_meier_before_the_first_end_is_certain():
    curve = kaplan_meier([1.0, 2.0, 3.0], [True, False, True])
    assert (curve.survival[0], curve.low[0], curve.high[0]) == (1, 1, 1)


def test_toml_has_six_digits_and_a_point():
    assert as_toml("weibull", {"mean": 86400.0, "shape": 0.70000004}) == (
        '{ law = "weibull", mean = 86400.0, shape = 0.7 }'
    )
    assert as_toml("gamma", {"mean": 1.234567e9, "shape": 1e-7}) == (
        '{ law = "gamma", mean = 1234570000.0, shape = 1e-07 }'
    )


# ---------------------------------------------------------------------------------------- extreme


def test_equal_times_leave_only_the_exponential():
    assert [found.law for found in fit([5.0] * 6, [False] * 6)] == ["exponential"]


def test_times_less_spread_than_exponential_have_no_lomax_law():
    fits = fit(*observed({"law": "gamma", "mean": 600.0, "shape": 3.0}))
    assert "lomax" not in named(fits)


@pytest.mark.parametrize("shape", [0.05, 40.0, 300.0])
def test_shapes_far_from_where_the_search_begins(shape):
    times, censored = observed({"law": "gamma", "mean": 3.0, "shape": shape})
    found = named(fit(times, censored))["gamma"]
    assert abs(found.parameters["shape"] - shape) < 3 * found.errors["shape"]


def test_times_within_two_percent_of_each_other():
    times = 4300 + 10 * np.arange(12.0)
    fits = named(fit(times, np.arange(12) % 3 == 1))
    assert fits.keys() == {"exponential", "weibull", "lognormal", "gamma"}
    assert fits["lognormal"].parameters["sigma"] < 0.02
    assert fits["gamma"].aic == pytest.approx(fits["lognormal"].aic, abs=0.1)  # both are nearly normal


def test_far_tail_of_the_gamma_law():
    # Q(2, x) = (1 + x) exp(-x) and Q(1, x) = exp(-x), Q(1/2, x) = erfc(√x), where the ratio is 0 as a float.
    x = np.array([0.5, 50.0, 800.0, 1e5])
    exact = {2.0: np.log1p(x) - x, 1.0: -x, 0.5: np.log(2) + stats.norm.logsf(np.sqrt(2 * x))}
    for shape, survival in exact.items():
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(fitting._log_gamma_survival(x, shape), survival, rtol=1e-12)


def test_a_resample_without_an_end_is_passed_over():
    times, censored = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 9.0]), np.array([0, 0, 0, 1, 1, 1], bool)
    only = [found for found in fit(times, censored) if found.law == "exponential"]
    assert 150 < len(bootstrap(times, censored, only, 200, seed=1)["exponential"]) < 200


def test_no_interval_of_too_few():
    assert interval([]) == {}


@pytest.mark.parametrize(
    ("times", "censored", "told"),
    [
        ([1.0, 2.0], [True], "one length"),
        ([1.0, 0.0], [False, False], "above 0"),
        ([1.0, inf], [False, False], "finite"),
        ([1.0, 2.0], [True, True], "all are censored"),
    ],
)
def test_wrong_times_are_refused(times, censored, told):
    with pytest.raises(ValueError, match=told):
        fit(times, censored)
