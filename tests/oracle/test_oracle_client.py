"""Duplicates without a crash: a time-out does not tell whether the action was performed.

Of a try, b is the chance that its request is lost, and a that it is not, but that no answer comes by the
time-out. A call is an execution, however it ends. With one retry it is performed twice with chance a (1 - b);
with unlimited ones a / (1 - a - b) times too often. That takes that tries are independent of each other: each
draws its loss and its answer anew, none is remembered, and the receiver performs whatever arrives, be it
after the time-out. Crashes have no part in it.
"""

from math import exp

import pytest
from oracle_judge import judge
from oracle_scenarios import scenario

import sim

TIMEOUT = 4.0
SLOW = {"law": "exponential", "mean": 2.0}
LATE = exp(-TIMEOUT / 2.0)
"""Chance that an answer is later than the time-out."""

# What goes wrong, and a and b.
TROUBLES = {
    "slow answers": ({"response": SLOW}, LATE, 0.0),
    "lost answers": ({"answer_lost": 0.3}, 0.3, 0.0),
    "lost requests": ({"request_lost": 0.3}, 0.0, 0.3),
    "all of it": (
        {"response": SLOW, "answer_lost": 0.2, "request_lost": 0.25},
        0.75 * (0.2 + 0.8 * LATE),
        0.25,
    ),
}
# Work of a minute is struck by crashes often, and the call never: it has no weight.
CRASHES = {
    "no crash": "none",
    "crashes": {
        "process": "renewal",
        "law": {"law": "exponential", "mean": 60.0},
        "exposure": {"steps": {"act": 0.0}},
    },
}


def sample(receiver, tries, crash, wait=0.0):
    case = scenario(
        [
            {"name": "before", "work": 60.0},
            {"name": "act", "work": 1.0, "action": {}},
            {"name": "after", "work": 60.0},
        ],
        strategy={"protocol": "checkpoint"},
        receiver=receiver,
        client={"timeout": TIMEOUT, "retries": [{"tries": tries, "first": wait}]},
        crash=CRASHES[crash],
    )
    frame = sim.simulate(case, 20_000, seed=24)
    assert (frame["crashes"].mean() > 1) == (crash == "crashes")
    assert (frame["duplicates_timeout"] == frame["duplicate_actions"]).all()
    return frame


each_case = pytest.mark.parametrize(
    ("trouble", "crash"),
    [
        pytest.param(t, c, marks=[] if (t, c) == ("all of it", "no crash") else pytest.mark.slow)
        for t in TROUBLES
        for c in CRASHES
    ],
)


@each_case
def test_one_retry(trouble, crash):
    receiver, a, b = TROUBLES[trouble]
    frame = sample(receiver, 2, crash)
    judge(frame, {"p_duplicate": a * (1 - b), "duplicate_actions": a * (1 - b), "stuck": (a + b) ** 2})


@each_case
def test_unlimited_retries(trouble, crash):
    receiver, a, b = TROUBLES[trouble]
    frame = sample(receiver, "forever", crash, wait=0.5)
    judge(frame, {"duplicate_actions": a / (1 - a - b), "stuck": 0, "p_lost": 0})


@pytest.mark.slow
def test_the_same_runs_repeat_the_same_actions_whatever_crashes():
    """Not only as often: losses and answers are drawn by the try."""
    receiver, _, _ = TROUBLES["all of it"]
    calm, struck = (sample(receiver, "forever", crash, wait=0.5) for crash in CRASHES)
    assert calm["duplicate_actions"].equals(struck["duplicate_actions"])


@pytest.mark.parametrize(
    ("layers", "tries"), [([], 1), ([3], 3), pytest.param([1, 2, 3], 6, marks=pytest.mark.slow)]
)
def test_a_call_that_fails_at_each_try_is_given_up(layers, tries):
    """p^n; layers multiply."""
    case = scenario(
        [{"work": 1.0, "action": {}}],
        strategy={"protocol": "restart"},
        receiver={"fails": 0.6},
        client={"retries": [{"tries": n, "first": 0.5} for n in layers]},
    )
    frame = sim.simulate(case, 20_000, seed=24)
    judge(frame, {"stuck": 0.6**tries, "duplicate_actions": 0})
