"""What downtime and recovery cannot change, and the laws of counts."""

import numpy as np
import pytest
from oracle_judge import LEAST_P, has_law, judge, same_law, sample
from oracle_scenarios import RESTART, every, fixture, poisson
from scipy import stats

from sim.theory import exact

COUNTS = [
    "crashes",
    "redone_steps",
    "duplicate_actions",
    "saves",
    "lost_work_s",
    "save_time_s",
    "action_crashes",
]
CLOCKS = [
    poisson(500.0),
    {"process": "renewal", "law": {"law": "weibull", "mean": 500.0, "shape": 0.6}},
    {
        "process": "renewal",
        "clock": "host",
        "renew": "never",
        "law": {"law": "weibull", "mean": 500.0, "shape": 1.5},
    },
]


@pytest.mark.parametrize("crash", CLOCKS, ids=["memoryless", "process", "host"])
def test_downtime_changes_no_count(crash):
    """Run by run: detection and restart have no worker that could die."""
    short, long, random = (
        sample(fixture(strategy=every(3), crash=crash, downtime=downtime), 1_500)
        for downtime in (
            {},
            {"detection": 100.0},
            {"detection": {"law": "exponential", "mean": 50.0}, "restart": 3.0},
        )
    )
    assert short["crashes"].sum() > 500
    assert short[COUNTS].equals(long[COUNTS])
    assert short[COUNTS].equals(random[COUNTS])
    assert np.allclose(long["makespan_s"] - short["makespan_s"], 100 * short["crashes"])


def test_load_changes_no_law_of_counts():
    """A load can crash, so runs differ, but memoryless crashes strike the work as often as before."""
    quick, slow = (
        sample(fixture(strategy=RESTART, crash=poisson(500.0), downtime={"load": load}), seed=seed)
        for load, seed in ((0.0, 1), (200.0, 2))
    )
    assert same_law(quick["crashes"], slow["crashes"]) < LEAST_P
    for count in ("redone_steps", "duplicate_actions", "action_crashes"):
        assert same_law(quick[count], slow[count]) > LEAST_P, count
    assert has_law(quick["crashes"], crashes_pmf([455], 500.0)) > LEAST_P


def crashes_pmf(blocks, mean):
    """Crashes of a block are geometric, with success e^{-λB}: those of a run a sum of geometrics."""
    values = np.arange(60)
    pmf = np.array([1.0])
    for block in blocks:
        pmf = np.convolve(pmf, stats.geom.pmf(values + 1, np.exp(-block / mean)))[: len(values)]
    pmf[-1] += 1 - pmf.sum()
    return pmf


@pytest.mark.slow
def test_crashes_of_several_blocks():
    frame = sample(fixture(strategy=every(4), crash=poisson(500.0), downtime={}))
    assert has_law(frame["crashes"], crashes_pmf([122, 142, 197], 500.0)) > LEAST_P


def test_crashes_while_loading():
    """Σ e^{λR} (e^{λB} - 1), and a makespan of (1/λ + D) as many."""
    case = fixture(strategy=RESTART, crash=poisson(1000.0), downtime={"detection": 30.0, "load": 300.0})
    crashes = np.exp(0.3) * np.expm1(0.455)
    theory = exact(case)
    assert theory["crashes"] == pytest.approx(crashes)
    assert theory["makespan_s"] == pytest.approx(1030 * crashes)
    judge(sample(case), theory)
