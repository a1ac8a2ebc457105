"""Repeated crashes on the fixture, twelve constant steps that all differ."""

import numpy as np
import pytest
from oracle_judge import judge, sample
from oracle_scenarios import ACTING, CHECKPOINT, DURATIONS, PHI, RESTART, SAVE_FIRST, every, fixture, poisson
from scipy import special

from sim.laws import Weibull
from sim.theory import async_durable_s, exact, renewal_chain

COLUMNS = ("redone_steps", "p_duplicate", "duplicate_actions", "makespan_s", "lost_work_s", "save_time_s")
AFTER_ACTIONS = {"protocol": "checkpoint", "after_actions": True, "last": False}
PLACEMENTS = {
    "restart": (RESTART, (3.2970, 0.28573, 0.78960, 596.43, 12.936, 0)),
    "per step": (CHECKPOINT, (0.024024, 0.010940, 0.011021, 507.96, 10.771, 24.024)),
    "every 2": (every(2), (0.26535, 0.040171, 0.041567, 505.47, 10.987, 12.012)),
    "every 3": (every(3), (0.66186, 0.26729, 0.32843, 509.41, 11.061, 8.008)),
    "every 4": (every(4), (0.75686, 0.15295, 0.17532, 517.66, 11.335, 6.006)),
    "every 6": (every(6), (1.5519, 0.28215, 0.50339, 534.16, 11.575, 4.004)),
    "after actions": (AFTER_ACTIONS, (0.46109, 0.010940, 0.011021, 505.99, 11.093, 6.006)),
}


@pytest.mark.parametrize(("strategy", "row"), PLACEMENTS.values(), ids=PLACEMENTS.keys())
def test_placement(strategy, row):
    """1.7."""
    case = fixture(strategy=strategy, crash=poisson(1000.0))
    theory = exact(case)
    assert [theory[column] for column in COLUMNS] == pytest.approx(row, rel=5e-5)
    judge(sample(case), theory)


def test_equilibrium_start_in_theory():
    """1.10: a worker that joins a host at a random time."""
    law = Weibull(mean=1000.0, shape=0.7)
    theory = renewal_chain(
        fixture(strategy=CHECKPOINT, downtime={"detection": 30.0}),
        law.survival,
        lambda t: special.gammaincc(1 / 0.7, (np.asarray(t) / law.scale) ** 0.7),
    )
    assert theory["redone_steps"] == pytest.approx(0.022907, rel=5e-5)
    assert theory["p_duplicate"] == pytest.approx(0.010389, rel=5e-5)
    assert theory["makespan_s"] == pytest.approx(505.40, rel=5e-5)


@pytest.mark.parametrize("strategy", [pytest.param(every(3), marks=pytest.mark.slow), SAVE_FIRST])
def test_chain_with_tails_and_load(strategy):
    """Any law, with an ack and a load that can crash, and the age going through both."""
    case = fixture(
        strategy=strategy,
        crash={"process": "renewal", "clock": "host", "law": {"law": "weibull", "mean": 400.0, "shape": 1.6}},
        store={"write": 20.0, "ack": 15.0},
        receiver={"prepare": 8.0, "request": 3.0},
        downtime={"detection": 10.0, "load": 60.0},
    )
    judge(sample(case), exact(case))


def test_saves_behind_the_work():
    """1.1: they take no time from the worker, and leave the risk of a repeat as it was."""
    downtime = {"detection": 30.0}
    case = fixture(strategy={"protocol": "async"}, crash=poisson(1000.0), downtime=downtime)
    blocking = exact(fixture(strategy=CHECKPOINT, crash=poisson(1000.0), downtime=downtime))
    makespan = async_durable_s(DURATIONS, 2.0, 1 / 1000, 30.0)
    assert makespan == pytest.approx(482.744, abs=5e-4)
    assert blocking["p_duplicate"] == pytest.approx(
        1 - np.exp(-sum((1 - PHI) * DURATIONS[e - 1] + 2 for e in ACTING) / 1000)
    )
    judge(sample(case), {"makespan_s": makespan, "p_duplicate": blocking["p_duplicate"]})


def test_a_save_longer_than_a_step_has_no_closed_form():
    with pytest.raises(ValueError, match="longer"):
        async_durable_s([30.0, 1.0], 2.0, 1e-3)
