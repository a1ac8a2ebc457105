"""Sums of runs add up, and hold what the runs hold."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sim import sums
from sim.estimate import METRICS, estimate
from sim.outcomes import CAUSES, OUTCOMES, duplicates_by
from sim.sums import RUNS, SUMMED, Sums


def some_runs(seed: int, n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.poisson(0.7, n) * rng.random(n) for name in SUMMED})
    spacing = np.where(rng.random(n) < 0.3, rng.random(n), np.nan)
    return frame.assign(finished=rng.random(n) < 0.9, save_time_s=0.1, spacing_s=spacing)


def test_sums_of_parts_are_those_of_the_whole() -> None:
    tables = {"a": some_runs(1), "b": some_runs(2)}
    whole = Sums.of(tables)
    cuts = [0, 1, 100, 130, 500]
    parts = [
        Sums.of({name: table[begin:end] for name, table in tables.items()}) for begin, end in pairwise(cuts)
    ]
    added = parts[0] + parts[1] + parts[2] + parts[3]
    assert added.n == whole.n == 500
    assert added.place == whole.place
    np.testing.assert_allclose(added.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(added.products, whole.products, rtol=1e-11, atol=1e-10)
    assert np.array_equal(added.largest, whole.largest)
    for column, values in whole.values.items():
        assert np.array_equal(added.values[column], values, equal_nan=True)
    for metric in METRICS:
        one, other = estimate(whole, metric, "b"), estimate(added, metric, "b")
        assert (one.n, one.method) == (other.n, other.method)
        assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high))


def test_products_are_of_distances_from_means() -> None:
    a, b = some_runs(1), some_runs(2)
    whole = Sums.of({"a": a, "b": b})
    covariance = np.cov(a["saves"], b["crashes"] + 2 * a["saves"], ddof=0)[0, 1]
    product = whole.product({("a", "saves"): 1.0}, {("b", "crashes"): 1.0, ("a", "saves"): 2.0})
    assert product == pytest.approx(500 * covariance)
    assert whole.mean_of({("a", "saves"): 3.0, ("b", RUNS): 1.0}) == pytest.approx(3 * a["saves"].mean() + 1)


def test_runs_are_counted_by_what_they_have() -> None:
    one, other = np.array([1, 1, 1, 0, 0]), np.array([0, 2, 3, 4, 0])
    whole = Sums.of({"": {"duplicate_actions": one, "lost_actions": other}})
    first, second = ("", "duplicate_actions > 0"), ("", "lost_actions > 0")
    assert whole.both(first, second) == 2
    assert whole.apart(first, second) == (1, 1)
    assert whole.total(second) == pytest.approx(3)


def test_constants_do_not_vary_and_what_is_missing_spoils_nothing_else() -> None:
    frame = some_runs(3).assign(gap_crashes=np.nan)
    whole = Sums.of({"": frame}) + Sums.of({"": frame})
    constant = {("", "save_time_s"): 1.0}
    assert whole.mean_of(constant) == 0.1
    assert whole.product(constant, constant) == 0.0
    assert np.isnan(whole.mean_of({("", "gap_crashes"): 1.0}))
    assert estimate(whole, "redone_steps").estimate == pytest.approx(frame["redone_steps"].mean())


def test_only_so_many_values_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "KEPT", 120)
    parts = [some_runs(seed, 50) for seed in range(4)]
    whole = Sums.of({"": parts[0]})
    for part in parts[1:]:
        whole += Sums.of({"": part})
    assert whole.n == 200
    assert np.array_equal(
        whole.values["", "wasted_tokens"], np.concatenate([p["wasted_tokens"] for p in parts])[:120]
    )
    assert estimate(whole, "wasted_tokens_p50").n == 120
    assert estimate(whole, "wasted_tokens").n == 200


def test_of_what_few_runs_have_only_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "KEPT", 20)
    spacings = [some_runs(seed, 50)["spacing_s"] for seed in range(3)]
    whole, *others = (Sums.of({"": some_runs(seed, 50)}) for seed in range(3))
    for part in others:
        whole += part
    there = pd.concat(spacings).dropna()
    assert len(spacings[0].dropna()) < 20 < len(there)
    assert np.array_equal(whole.values["", "spacing_s"], there[:20])
    assert estimate(whole, "spacing_s_p50").estimate == np.sort(there[:20])[9]
    assert ("", "spacing_s") not in whole.place


def test_what_does_not_vary_has_the_products_that_all_have() -> None:
    a, b = some_runs(1).assign(saves=0), some_runs(2)
    whole = Sums.of({"a": a, "b": b})
    assert whole.product({("a", "saves"): 1.0}, {("b", "crashes"): 1.0}) == 0.0
    covariance = np.cov(a["crashes"], b["saves"], ddof=0)[0, 1]
    assert whole.product({("a", "crashes"): 1.0}, {("b", "saves"): 1.0}) == pytest.approx(500 * covariance)
    varied = whole + Sums.of({"a": some_runs(3), "b": b})  # which in a later block it may
    assert varied.product({("a", "saves"): 1.0}, {("a", "saves"): 1.0}) > 0


def test_every_cause_that_is_counted_is_known() -> None:
    counted = {name for name in OUTCOMES if name.startswith(duplicates_by(""))}
    assert counted in (set(), {*map(duplicates_by, CAUSES)})


def test_tables_of_unequal_length() -> None:
    with pytest.raises(ValueError, match="as many rows, not 500 and 499"):
        Sums.of({"a": some_runs(1), "b": some_runs(2, 499)})
