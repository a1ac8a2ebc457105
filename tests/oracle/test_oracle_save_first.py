"""Save first, then act: actions are lost, never repeated; and intents, which leave it open."""

from math import exp

import pytest
from oracle_judge import LEAST_P, judge, sample
from oracle_scenarios import SAVE_FIRST, fixture, poisson
from scipy import stats

import sim
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


# --------------------------------------------------------------------------------------------------- intents

# From the intent's ◆durable on: ack 0.5, prepare 5, ◆sent and performed at once, the answer after a tenth of
# the steps of 15, 10 and 25 s, the save 20.
RATE = 1 / 300
BEFORE = 3 * (0.5 + 5)
SENT = 1.5 + 1 + 2.5 + 3 * 20


def intent(protocol, **receiver):
    return fixture(
        strategy={"protocol": protocol},
        crash=poisson(1 / RATE),
        store={"write": 20.0, "ack": 0.5},
        receiver={"prepare": 5.0, "query": 3.0} | receiver,
    )


def test_an_intent_done_again_makes_a_duplicate_of_a_crash_since_it_was_sent():
    """Crossed again and again until it is passed; only what was sent is sent again."""
    scenario = intent("intent_redo")
    theory = exact(scenario)
    assert theory["p_duplicate"] == pytest.approx(1 - exp(-RATE * SENT))
    frame = sample(scenario)
    judge(frame, {"p_duplicate": theory["p_duplicate"], "p_lost": 0})


@pytest.mark.parametrize("engine", [pytest.param("events", marks=pytest.mark.slow), "timeline"])
def test_an_intent_for_a_person_sticks_at_a_crash_since_it_was_durable(engine):
    """Each window is crossed at most once: the whole of it is ambiguous, whatever happened in it."""
    frame = sim.simulate(intent("intent_park"), 20_000, seed=24, engine=engine)
    stuck = int(frame["stuck"].sum())
    assert stats.binomtest(stuck, len(frame), 1 - exp(-RATE * (BEFORE + SENT))).pvalue > LEAST_P
    assert not frame[["duplicate_actions", "lost_actions"]].any().any()


def test_an_intent_that_is_asked_for_is_neither_lost_nor_repeated():
    """Though crashes strike the window as often: the receiver shows at once what it performs at once."""
    frame = sample(intent("intent_query"))
    assert (frame["gap_crashes"] > 0).mean() > 0.15
    judge(frame, {"p_duplicate": 0, "p_lost": 0})


def test_a_view_that_lags_behind_makes_duplicates_of_what_it_does_not_show():
    """Detection takes 30 s, load 5, query 3: of a lag of 50 the last 12 s before the crash are not seen.

    Each window from ◆sent on is longer, so that a crash in its first 12 s is what it takes.
    """
    scenario = intent("intent_query", lag=50.0).model_copy(update={"crash": sim.crashes.UniformTime()})
    length = 455 + 12 * 20.5 + 3 * (20.5 + 5)
    judge(sample(scenario), {"p_duplicate": 3 * 12 / length, "p_lost": 0})
