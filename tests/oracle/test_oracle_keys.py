"""Keys that a receiver forgets: a repeat is a duplicate if it comes later than they last."""

from math import log

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import ACTING, DURATIONS, PHI, fixture
from scipy import integrate

from sim.laws import parse_law

TTL, LOAD, WRITE = 900.0, 5.0, 2.0
DOWNTIMES = {
    "exponential": {"law": "exponential", "mean": 600.0},
    "lognormal": {"law": "lognormal", "median": 300.0, "sigma": 1.5},
}
LITERALS = {
    ("checkpoint", "exponential"): 0.0053232,
    ("checkpoint", "lognormal"): 0.0054478,
    ("restart", "exponential"): 0.27188,
    ("restart", "lognormal"): 0.23875,
}


def case(protocol, down, **keys):
    return fixture(
        strategy={"protocol": protocol, "key": "run_step"},
        crash={"process": "uniform_time"},
        receiver={"keys": {"ttl": TTL} | keys},
        downtime={"detection": DOWNTIMES[down], "load": LOAD},
    )


def p_duplicate(protocol, down):
    """Chance that one crash, uniform over the run, is followed by a repeat older than the key."""
    survival = parse_law(DOWNTIMES[down]).survival

    def late(age):
        return float(survival(TTL - LOAD - age))

    ends = [sum(DURATIONS[:number]) for number in range(13)]
    sent = [ends[number - 1] + PHI * DURATIONS[number - 1] for number in ACTING]
    if protocol == "restart":
        # A repeat comes as long after the restart as its original came after the begin.
        return integrate.quad(late, sent[0], 455)[0] / 455
    windows = [(PHI * DURATIONS[n - 1], (1 - PHI) * DURATIONS[n - 1] + WRITE) for n in ACTING]
    found = sum(integrate.quad(lambda u, work=work: late(work + u), 0, gap)[0] for work, gap in windows)
    return found / (455 + 12 * WRITE)


@pytest.mark.parametrize(("protocol", "down"), LITERALS)
def test_exact_values(protocol, down):
    assert p_duplicate(protocol, down) == pytest.approx(LITERALS[protocol, down], rel=3e-5)


@pytest.mark.parametrize(
    ("engine", "n"), [pytest.param("events", 20_000, marks=pytest.mark.slow), ("timeline", 200_000)]
)
@pytest.mark.parametrize(("protocol", "down"), LITERALS)
def test_a_repeat_is_a_duplicate_if_the_key_has_run_out(protocol, down, engine, n):
    frame = sample(case(protocol, down), n, engine=engine)
    judge(frame, {"p_duplicate": LITERALS[protocol, down]})
    assert (frame["duplicates_expired_key"] == frame["duplicate_actions"]).all()


def test_half_of_the_downtimes_are_longer_than_their_median():
    """Beside the downtime a repeat takes a load, the work, and on average half of the gap."""
    scenario = case("checkpoint", "exponential", ttl=600 * log(2) + LOAD + PHI * 25 + 1.25 + 1)
    scenario = scenario.model_copy(update={"workload": only_step_10(scenario)})
    # The gap of 4.5 s is short beside 600 s: its middle stands for it.
    frame = sample(scenario)
    repeats = frame["duplicate_actions"] + frame["blocked_duplicates"]
    assert set(repeats) == {0, 1}
    judge(frame[repeats == 1].reset_index(), {"p_duplicate": 0.5})


def only_step_10(scenario):
    return scenario.workload.model_copy(update={"steps": (scenario.workload.steps[9],)})
