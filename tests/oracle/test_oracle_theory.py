"""Closed forms against simulation where no table has a number, against each other, and their silence."""

from itertools import pairwise

import numpy as np
import pytest
from oracle_judge import judge, sample
from oracle_scenarios import (
    CHECKPOINT,
    KEYS,
    RESTART,
    SAVE_FIRST,
    every,
    fixture,
    poisson,
    scenario,
    support_agent,
)
from scipy import integrate

import sim
from sim.laws import Constant, Exponential, Gamma, Lognormal, Scaled, Uniform, Weibull, parse_law
from sim.theory import exact, laplace, renewal_chain

SLOW_STORE = {
    "write": {"law": "lognormal", "median": 0.4, "sigma": 0.6},
    "ack": {"law": "gamma", "shape": 2.0, "mean": 0.3},
}
DOWNTIME = {
    "detection": {"law": "lognormal", "median": 3.0, "sigma": 1.0},
    "restart": 2.0,
    "load": {"law": "exponential", "mean": 4.0},
}
WORDY = {
    "prepare": {"law": "uniform", "low": 0.1, "high": 0.5},
    "request": {"law": "weibull", "mean": 0.3, "shape": 0.8},
    "response": {"law": "lognormal", "median": 0.3, "sigma": 0.6},
}
INTENT = {
    "plain": ["work", "save"],
    "action": ["work", {"verb": "save", "resume": "call"}, "call", "save"],
}
STEP = {"process": "uniform_step", "gap_share": 0.15}
TIME = {"process": "uniform_time"}
AGEING_HOST = poisson(40.0) | {"clock": "host", "ages_in_downtime": True}


@pytest.mark.parametrize(
    ("strategy", "crash", "frozen"),
    [
        (every(3), STEP, False),
        pytest.param(every(4), TIME, True, marks=pytest.mark.slow),
        (INTENT, TIME | {"exposure": {"write": 4.0, "request": 9.0}}, False),
        (KEYS, poisson(40.0), False),
        (SAVE_FIRST, AGEING_HOST, False),
        pytest.param(INTENT, AGEING_HOST, False, marks=pytest.mark.slow),
    ],
)
def test_support_agent(strategy, crash, frozen):
    case = support_agent(
        strategy=strategy,
        crash=crash,
        receiver=WORDY,
        store=SLOW_STORE,
        downtime=DOWNTIME,
        frozen=frozen,
    )
    theory = exact(case)
    assert {"redone_steps", "p_duplicate", "p_lost", "makespan_s"} <= theory.keys()
    judge(sample(case), theory)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [RESTART, CHECKPOINT, every(5), INTENT, SAVE_FIRST])
@pytest.mark.parametrize("crash", [TIME, poisson(40.0)])
def test_support_agent_thoroughly(strategy, crash):
    case = support_agent(strategy=strategy, crash=crash, receiver=WORDY, store=SLOW_STORE, downtime=DOWNTIME)
    judge(sample(case, 60_000, seed=25), exact(case))


@pytest.mark.parametrize("strategy", [RESTART, CHECKPOINT, every(4), INTENT, SAVE_FIRST])
def test_the_chain_contains_memoryless_crashes(strategy):
    case = fixture(
        strategy=strategy,
        crash=poisson(700.0),
        store={"write": 2.0, "ack": 1.0},
        receiver={"prepare": 3.0, "request": 0.5},
    )
    assert renewal_chain(case, case.crash.law.survival) == pytest.approx(exact(case), rel=1e-10)


@pytest.mark.parametrize("crash", [STEP, TIME, poisson(40.0)])
def test_fixing_durations_that_are_constant_changes_nothing(crash):
    loose, frozen = (
        exact(fixture(strategy=every(4), crash=crash, frozen=frozen)) for frozen in (False, True)
    )
    assert loose == pytest.approx(frozen, rel=1e-9)


def test_rare_crashes_leave_the_crash_free_run():
    quiet = exact(support_agent(strategy=CHECKPOINT, receiver=WORDY))
    rare = exact(support_agent(strategy=CHECKPOINT, receiver=WORDY, crash=poisson(1e9)))
    assert rare["makespan_s"] == pytest.approx(quiet["makespan_s"], rel=1e-6)
    assert rare["saves"] == pytest.approx(12, rel=1e-6)
    assert quiet["crashes"] == quiet["redone_steps"] == quiet["lost_work_s"] == 0


@pytest.mark.parametrize(
    "law",
    [
        Lognormal(median=0.3, sigma=0.6),
        Lognormal(median=5.0, sigma=2.4),
        Weibull(mean=2.0, shape=0.5),
        Weibull(mean=2.0, shape=3.0),
        Uniform(low=1.0, high=4.0),
        Gamma(mean=3.0, shape=4.0),
        Scaled(of=Exponential(mean=2.0), by=1.5),
        parse_law({"law": "invgauss", "mu": 0.7, "scale": 2.0}),
    ],
)
@pytest.mark.parametrize("rate", [1e-4, 0.1, 3.0])
@pytest.mark.parametrize("power", [0, 1])
def test_transform(law, rate, power):
    """By parts, from the survival function: another way than that of the module."""

    def weighted(t):
        slope = 1 - rate * t if power else -rate
        return law.survival(t) * slope * np.exp(-rate * t)

    cuts = [0.0, *law.quantile([1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 1e-15])]
    pieces = [integrate.quad(weighted, *span, epsabs=1e-15, epsrel=1e-12)[0] for span in pairwise(cuts)]
    assert laplace(law, rate, power) == pytest.approx((1 - power) + sum(pieces), rel=1e-9)


def test_transform_of_a_constant_and_of_a_negative_rate():
    assert laplace(Constant(value=2.0), 0.5, 1) == pytest.approx(2 * 2.718281828459045**-1)
    assert laplace(Exponential(mean=2.0), -0.25) == pytest.approx(2.0)
    assert laplace(Exponential(mean=2.0), -0.5) == float("inf")
    with pytest.raises(ValueError, match="negative"):
        laplace(Lognormal(median=1.0, sigma=1.0), -0.1)


def test_known_part_only():
    """How a crash at a uniform step divides work and a random tool call is no simple expectation."""
    steps = [{"work": 3.0, "tool": {"law": "exponential", "mean": 2.0}, "tokens": 100.0}]
    theory = exact(scenario(steps, strategy=CHECKPOINT, crash=STEP))
    assert "wasted_tokens" not in theory
    assert theory["makespan_s"] == pytest.approx(5 + 0.04 + 2.5)


@pytest.mark.parametrize(
    "changed",
    [
        {"limits": {"makespan": 1000.0}},
        {"limits": {"attempts": 3}},
        {"strategy": {"protocol": "async"}},
        {"strategy": {"protocol": "intent_query"}},
        {"crash": {"process": "at", "times": [30.0]}},
        {"crash": poisson(1000.0) | {"exposure": {"write": 2.0}}},
        {"crash": {"process": "renewal", "law": {"law": "weibull", "mean": 40.0, "shape": 0.7}}},
        {"frozen": True, "crash": poisson(40.0)},
        {"strategy": SAVE_FIRST, "crash": STEP},
        {"crash": poisson(2.0), "strategy": RESTART},
        {"client": {"timeout": 5.0}},
        {"client": {"retries": [{}]}, "receiver": {"fails": 0.1}},
    ],
)
def test_silence(changed):
    """Nothing rather than an approximation."""
    case = {"strategy": CHECKPOINT, "crash": poisson(40.0), "store": SLOW_STORE} | changed
    assert exact(support_agent(**case)) == {}


def test_a_client_that_has_nothing_to_try_again_changes_nothing():
    case = {"strategy": CHECKPOINT, "crash": poisson(40.0)}
    assert exact(support_agent(**case, client={"retries": [{"tries": 6}]})) == exact(support_agent(**case))


def test_a_step_that_acts_in_some_runs_only():
    steps = [{"work": 1.0, "action": {"probability": 0.5}}]
    assert exact(scenario(steps, strategy=CHECKPOINT, crash=poisson(40.0))) == {}


def test_one_step_that_saves_here():
    """A save that leads back: its block is walked again although it became durable."""
    back = {"plain": ["work", {"verb": "save", "resume": "here"}], "action": ["work", "call"]}
    assert exact(scenario([{"work": 1.0}, {"work": 2.0}], strategy=back, crash=poisson(40.0))) == {}


def test_a_field_that_came_later_silences(monkeypatch):
    """Whoever adds one need not remember this module for it to be right."""
    case = support_agent(strategy=CHECKPOINT, crash=poisson(40.0))
    assert exact(case)
    monkeypatch.setattr("sim.theory.KNOWN", "")
    assert exact(case) == {}
    assert isinstance(case, sim.Scenario)
