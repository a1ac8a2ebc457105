"""A relay that dies between performing an entry and marking it performs it again.

Of a memoryless life it does not matter how long the relay has waited or polled: an entry is sent once more
whenever the relay dies from sending it until it is marked, and each such sending is performed, for requests
outlive their senders. So the chance of it is 1 - E e^{-μ (request + response + mark)}, and the sendings are
geometric.
"""

from math import exp

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import scenario

LIFE = 20.0
# Mark, and the mean of e^{-mark/life}.
MARKS = {
    "constant": (3.0, exp(-3 / LIFE)),
    "exponential": ({"law": "exponential", "mean": 3.0}, LIFE / (LIFE + 3)),
}


def case(mark, actions, poll):
    return scenario(
        [{"work": 8.0, "action": {}}] * actions,
        strategy={
            "protocol": "outbox",
            "relay": {
                "poll": poll,
                "mark": mark,
                "life": {"law": "exponential", "mean": LIFE},
                "restart": {"law": "exponential", "mean": 5.0},
            },
        },
        receiver={"request": 1.0, "response": {"law": "exponential", "mean": 2.0}},
    )


@pytest.mark.parametrize(
    ("mark", "poll"),
    [
        ("exponential", 0.0),
        pytest.param("exponential", 30.0, marks=pytest.mark.slow),
        pytest.param("constant", 0.0, marks=pytest.mark.slow),
    ],
)
def test_an_entry(mark, poll):
    law, survives = MARKS[mark]
    once = exp(-1 / LIFE) * LIFE / (LIFE + 2) * survives
    frame = sample(case(law, 1, poll))
    judge(frame, {"p_duplicate": 1 - once, "duplicate_actions": 1 / once - 1, "p_lost": 0})
    assert (frame["duplicates_relay"] == frame["duplicate_actions"]).all()


@pytest.mark.slow
def test_entries_that_wait_for_each_other():
    """Each has the chance of its own, however long it waits for those before it."""
    law, survives = MARKS["constant"]
    once = exp(-1 / LIFE) * LIFE / (LIFE + 2) * survives
    frame = sample(case(law, 3, 1.0))
    judge(frame, {"p_duplicate": 1 - once**3, "duplicate_actions": 3 * (1 / once - 1)})


def test_a_relay_that_does_not_die_performs_each_entry_once():
    frame = sample(
        scenario(
            [{"work": 8.0, "action": {}}] * 3, strategy={"protocol": "outbox"}, receiver={"response": 4.0}
        ),
        50,
    )
    assert not frame[["duplicate_actions", "lost_actions"]].any().any()
