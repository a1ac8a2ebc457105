"""Outages, met in equilibrium: of what does the work, and of the receiver."""

from math import exp, expm1

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import scenario

import sim

UP, DOWN, WORK = 60.0, 20.0, 45.0
IS_DOWN = DOWN / (UP + DOWN)
MEMORYLESS = {"law": "exponential", "mean": UP}
# Laws of the length of an outage, and the mean of what is left of one that is met: E X² / (2 E X).
DOWNS = {
    "exponential": ({"law": "exponential", "mean": DOWN}, DOWN),
    "gamma": ({"law": "gamma", "mean": DOWN, "shape": 4.0}, DOWN * 5 / 8),
    "constant": (DOWN, DOWN / 2),
}


def slow(value):
    return pytest.param(value, marks=pytest.mark.slow)


@pytest.mark.parametrize("down", [slow(name) if name != "gamma" else name for name in DOWNS])
def test_work_that_outages_cut_begins_anew(down):
    """A stretch of x takes (m + d)(e^{x/m} - 1), as under crashes of a machine that is down for d after each.

    The first step finds an outage with the share of time that is down, and waits for the rest of it.
    """
    law, left = DOWNS[down]
    case = scenario(
        [{"work": WORK}, {"work": WORK}],
        strategy={"protocol": "restart"},
        provider={"up": MEMORYLESS, "down": law},
    )
    judge(sample(case), {"makespan_s": IS_DOWN * left + 2 * (UP + DOWN) * expm1(WORK / UP)})


@pytest.mark.parametrize("tries", [slow(1), 2, slow(4)])
def test_a_call_is_given_up_that_finds_the_receiver_down_at_each_try(tries):
    """Down with the share of time; still, or again, after a wait w: a chain of two states."""
    wait = 15.0
    case = scenario(
        [{"work": 5.0, "action": {}}],
        strategy={"protocol": "restart"},
        receiver={"outages": {"up": MEMORYLESS, "down": DOWNS["exponential"][0]}},
        client={"retries": [{"tries": tries, "first": wait, "factor": 1.0}]},
    )
    down_again = IS_DOWN + (1 - IS_DOWN) * exp(-wait * (1 / UP + 1 / DOWN))
    judge(sim.simulate(case, 20_000, seed=24), {"stuck": IS_DOWN * down_again ** (tries - 1)})


@pytest.mark.slow
def test_a_request_without_an_answer_takes_its_time_out():
    """Silence instead of an error, and tries for ever: as many time-outs as the outage lasts."""
    timeout = 2.0
    case = scenario(
        [{"work": 5.0, "action": {}}],
        strategy={"protocol": "restart"},
        receiver={
            "outages": {"up": MEMORYLESS, "down": DOWNS["exponential"][0]},
            "during_outage": "silence",
        },
        client={"timeout": timeout, "retries": [{"tries": "forever", "first": 0.0}]},
    )
    # A try finds it up with chance u if the one before found it down: geometric.
    up_next = (1 - IS_DOWN) * -expm1(-timeout * (1 / UP + 1 / DOWN))
    judge(sample(case), {"makespan_s": 5 + IS_DOWN * timeout / up_next, "duplicate_actions": 0})
