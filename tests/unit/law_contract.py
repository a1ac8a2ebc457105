"""What every law must keep, whoever wrote it: one check for all, clause by clause.

A law is compared with itself (hazard, inverse, quantile and mean are four views of one thing), never with a
second implementation. So the check needs nothing but parameters, of which `ROWS` has some for each law.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import stats

from sim.laws import LAWS, Law, Scaled, parse_law

ROWS: dict[str, list[dict[str, Any]]] = {
    "constant": [{"value": 3.0}],
    "uniform": [{"high": 2.0}, {"low": 1.0, "high": 3.0}],
    "exponential": [{"mean": 3.0}],
    "lognormal": [{"median": 0.04, "sigma": 0.6}, {"median": 3.0, "sigma": 2.85}],
    "weibull": [{"mean": 86400.0, "shape": 0.48}, {"mean": 3.0, "shape": 0.5}, {"mean": 3.0, "shape": 1.5}],
    "gamma": [{"mean": 3.0, "shape": 4}, {"mean": 3.0, "shape": 0.5}],
    "scaled": [
        {"of": {"law": "gamma", "mean": 3.0, "shape": 4}, "by": 2.5},
        {"of": {"law": "fisk", "c": 2.5}, "by": 0.1},
        {"of": 3.0, "by": 2.0},
    ],
}
"""Parameters of every registered law. A law without a row here fails the tests."""

BY_SCIPY: list[dict[str, Any]] = [
    {"law": "fisk", "c": 2.5, "scale": 60.0},
    {"law": "lomax", "c": 3.0},
    {"law": "lomax", "c": 0.5},
    {"law": "genpareto", "c": 0.1, "scale": 5.0},
    {"law": "loguniform", "a": 1.0, "b": 100.0},
    {"law": "truncexpon", "b": 3.0},
    {"law": "invgamma", "a": 3.0},
    {"law": "burr12", "c": 2.0, "d": 3.0},
    {"law": "halfnorm", "scale": 2.0},
    {"law": "weibull_min", "c": 0.7, "scale": 10.0},
    {"law": "genextreme", "c": -0.1, "loc": 100.0},
]
"""Laws by their scipy name; lomax with c = 0.5 has no mean."""


def without_row(laws: Iterable[str]) -> set[str]:
    """Names of the laws that the contract would not see."""
    return {name for name in laws if not ROWS.get(name)}


def tables() -> list[dict[str, Any]]:
    """All laws of `ROWS` and `BY_SCIPY`, as a file has them."""
    return [{"law": name} | row for name, rows in ROWS.items() for row in rows if name in LAWS] + BY_SCIPY


def title(table: dict[str, Any]) -> str:
    """Name of a test case."""
    return " ".join(str(value["law"] if isinstance(value, dict) else value) for value in table.values())


def check(law: Law) -> None:
    """Hold a law to every clause.

    Raises
    ------
    AssertionError
        It names the clause first.
    """
    with np.errstate(over="ignore", divide="ignore"):  # on the way to a hazard without end
        for clause in (_shapes, _survival, _times, _inverse, _mean, _residual, _scale):
            clause(law)


def _shapes(law: Law) -> None:
    for give, at in ((law.cumulative_hazard, 2.0), (law.inverse_hazard, 0.5), (law.quantile, 0.5)):
        for shape in ((), (3,), (2, 3)):
            assert np.shape(give(np.full(shape, at))) == shape, f"shape: not that of the argument, {shape}"


def _survival(law: Law) -> None:
    median = float(law.quantile(0.5))
    t = np.concatenate([[0.0], median * np.geomspace(1e-6, 1e6, 2001), [1e300]])
    survival = law.survival(t)
    assert survival[0] == 1, f"survival: {survival[0]} at 0"
    assert np.all(np.diff(survival) <= 1e-12), "survival: grows somewhere"
    assert 0 <= survival[-1] < 1e-9, f"survival: ends at {survival[-1]}"


def _times(law: Law) -> None:
    u = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 200), 1 - np.geomspace(0.5, 1e-12, 200)])
    t = law.quantile(u)
    assert np.all(np.isfinite(t) & (t >= 0)), "times: not finite, or below 0"
    assert np.all(np.diff(t) >= 0), "times: a greater uniform gives a shorter time"


def _inverse(law: Law) -> None:
    u = np.concatenate([np.geomspace(1e-6, 0.5, 200), 1 - np.geomspace(0.5, 1e-6, 200)])
    t, h = law.quantile(u), -np.log1p(-u)
    np.testing.assert_allclose(law.inverse_hazard(h), t, rtol=1e-8, err_msg="inverse: not the quantile")
    if law.has_atoms:
        t = law.mean_s * np.array([0.0, 0.123, 0.457, 0.789, 0.999, 1.001, 1.23, 4.57, 7.89])[:, None]
        by_time, by_hazard = law.inverse_hazard(h) <= t, law.cumulative_hazard(t) >= h
        assert np.array_equal(by_time, by_hazard), "inverse: time and hazard are reached apart"
    else:
        hazard = law.cumulative_hazard(t)
        assert np.all(np.isfinite(hazard)), "inverse: endless hazard at a likely time, but no atoms declared"
        np.testing.assert_allclose(hazard, h, rtol=1e-8, err_msg="inverse: not of the hazard")
        np.testing.assert_allclose(law.inverse_hazard(hazard), t, rtol=1e-8, err_msg="inverse: does not undo")


def _mean_below(law: Law, hazard: float) -> float:
    """Mean as ∫ H⁻¹(h) e⁻ʰ dh up to a hazard, by the trapezoid rule in log h."""
    s = np.linspace(-40, np.log(hazard), 4001)
    h = np.exp(s)
    return float(np.trapezoid(law.inverse_hazard(h) * np.exp(s - h), s))


def _mean(law: Law) -> None:
    if np.isinf(law.mean_s):
        parts = [_mean_below(law, h) for h in (10, 20, 40)]
        assert parts[2] > 10 * parts[1] > 100 * parts[0], f"mean: said to be infinite, but {parts}"
    else:
        integral = _mean_below(law, 200)
        assert abs(integral / law.mean_s - 1) < 1e-3, f"mean: said to be {law.mean_s}, but {integral}"


def _residual(law: Law) -> None:
    if law.has_atoms:
        return
    rng = np.random.default_rng(24)
    ages = [0.0, float(law.quantile(0.5))]
    if np.isfinite(law.mean_s):
        ages += [3 * law.mean_s, 30 * law.mean_s]
    for age in ages:
        hazard = float(law.cumulative_hazard(age))
        if hazard > 700 and age > ages[1]:
            continue  # so unlikely that a law in terms of probabilities cannot say it
        left = law.inverse_hazard(hazard + rng.exponential(size=2000)) - age
        assert np.all(np.isfinite(left) & (left >= 0)), f"residual: not finite, or below 0, at age {age:g}"
        samples = {"inverse": age + left}
        if hazard < 12:
            # What a life turns out to be, given that it is longer than the age.
            samples["quantile"] = law.quantile(1 - rng.random(2000) * np.exp(-hazard))
        for way, lives in samples.items():
            used_up = law.cumulative_hazard(lives) - hazard
            p = stats.kstest(used_up, "expon").pvalue
            assert p > 1e-6, f"residual: by {way}, not exponential at age {age:g} (p = {p:.1g})"


def _scale(law: Law) -> None:
    by = 4.0  # a power of 2, so that nothing is rounded
    other = Scaled(of=law, by=by)
    u = np.linspace(0.001, 0.999, 99)
    t = law.quantile(u)
    same = (
        np.array_equal(other.cumulative_hazard(by * t), law.cumulative_hazard(t))
        and np.array_equal(other.quantile(u), by * t)
        and np.array_equal(other.inverse_hazard(u), by * law.inverse_hazard(u))
        and other.mean_s == by * law.mean_s
    )
    assert same, "scale: not the same law in another unit"


def law_of(table: dict[str, Any]) -> Law:
    """Make a law as a file would."""
    made = parse_law(table)
    assert isinstance(made, Law)
    return made
