"""Optimal times between saves, against the mean time for a second of work minimised numerically."""

from math import expm1

import pytest
from scipy.optimize import minimize_scalar

from sim.optimum import daly_s, optimal_s, young_s


def cost(work_s: float, save_s: float, mtbf_s: float) -> float:
    """Mean time for a second of work, over the mean time between crashes."""
    return expm1((work_s + save_s) / mtbf_s) / work_s


@pytest.mark.parametrize("save_s", [0.02, 2.0, 20.0, 60.0, 170.0])
def test_the_exact_optimum_costs_least(save_s: float) -> None:
    found = minimize_scalar(cost, (1e-3, 400.0), args=(save_s, 100.0), bounds=(1e-3, 400.0), method="bounded")
    assert optimal_s(save_s, 100.0) == pytest.approx(found.x, rel=1e-4)


@pytest.mark.parametrize(
    ("save_s", "young", "daly"),
    # By how much more than the optimum, worked out apart.
    [(0.2, 1e-5, 1e-8), (20.0, 0.013, 1e-6), (60.0, 0.066, 2e-5), (167.0, 0.31, 1e-3)],
)
def test_the_approximations_cost_as_much_more_as_is_known(save_s: float, young: float, daly: float) -> None:
    best = cost(optimal_s(save_s, 100.0), save_s, 100.0)
    assert cost(young_s(save_s, 100.0), save_s, 100.0) / best - 1 == pytest.approx(young, rel=0.1, abs=5e-6)
    assert cost(daly_s(save_s, 100.0), save_s, 100.0) / best - 1 <= daly * 1.2


def test_a_save_longer_than_twice_the_time_between_crashes_is_made_once_in_that_time() -> None:
    assert daly_s(200.0, 100.0) == 100.0
    assert optimal_s(1e-9, 100.0) == pytest.approx(young_s(1e-9, 100.0), rel=1e-4)
