"""Save first, then act: actions are lost, never repeated."""

from math import exp

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import SAVE_FIRST, fixture, poisson

from sim.theory import exact

ACK, PREPARE = 0.5, 6.5 / 3 - 0.5
"""Together the window from ◆durable to ◆sent; the same in each step here, with the sum of 1.8."""


def case(crash, widen=1.0, request=1.0):
    return fixture(
        strategy=SAVE_FIRST,
        crash=crash,
        store={"write": 2.0, "ack": ACK * widen},
        receiver={"prepare": PREPARE * widen, "request": request},
    )


def test_memoryless_crashes():
    scenario = case(poisson(1000.0))
    theory = exact(scenario)
    assert theory["p_lost"] == pytest.approx(0.0064789, abs=5e-8)
    assert theory["lost_actions"] == pytest.approx(3 * (1 - exp(-6.5 / 3000)))
    assert theory["duplicate_actions"] == theory["p_duplicate"] == 0
    judge(sample(scenario), theory)


@pytest.mark.slow
def test_wide_windows():
    """The same where losses are common, so that the test has power."""
    scenario = case(poisson(300.0), widen=20.0)
    theory = exact(scenario)
    assert theory["p_lost"] == pytest.approx(1 - exp(-130 / 300))
    judge(sample(scenario), theory)


def test_one_crash():
    scenario = case({"process": "uniform_time"}, widen=10.0)
    length = 455 + 12 * (2 + 10 * ACK) + 3 * (10 * PREPARE + 1)
    theory = exact(scenario)
    assert theory["p_lost"] == pytest.approx(65 / length)
    assert theory["lost_actions"] == pytest.approx(65 / length)
    judge(sample(scenario), theory)


def test_a_request_in_flight_outlives_its_sender():
    """However long it flies, a crash meanwhile loses nothing."""
    scenario = case({"process": "uniform_time"}, request=60.0)
    length = 455 + 12 * (2 + ACK) + 3 * (PREPARE + 60)
    theory = exact(scenario)
    assert theory["p_lost"] == pytest.approx(6.5 / length)
    judge(sample(scenario), theory)
