"""1.11: calm and storm, which go on through crashes and downtime."""

import numpy as np
import pytest
from oracle_judge import judge, sample
from oracle_scenarios import (
    ACTING,
    CHECKPOINT,
    DURATIONS,
    KEYS,
    PHI,
    RESTART,
    SAVE_FIRST,
    every,
    fixture,
    poisson,
)
from scipy import linalg

from sim.crashes import Bursts
from sim.theory import exact
from sim.weather import Block, Weather, expected

BURSTS = {
    "process": "bursts",
    "calm_mean": 20_000.0,
    "storm_mean": 120.0,
    "calm_lasts": 3600.0,
    "storm_lasts": 300.0,
}
FREQUENT = {
    "process": "bursts",
    "calm_mean": 2000.0,
    "storm_mean": 50.0,
    "calm_lasts": 400.0,
    "storm_lasts": 100.0,
}
DOWNTIME = {"detection": 30.0}
INTENT = {
    "plain": ["work", "save"],
    "action": ["work", {"verb": "save", "resume": "call"}, "call", "save"],
}
METRICS = ("p_duplicate", "duplicate_actions", "makespan_s")


@pytest.mark.parametrize(
    ("engine", "n"), [("timeline", 200_000), pytest.param("events", 20_000, marks=pytest.mark.slow)]
)
def test_bursts(engine, n):
    case = fixture(strategy=CHECKPOINT, crash=BURSTS, downtime=DOWNTIME)
    theory = exact(case)
    assert theory == pytest.approx(
        {"p_duplicate": 0.006025, "duplicate_actions": 0.006249, "makespan_s": 495.86}, rel=8e-5
    )
    judge(sample(case, n, engine=engine), theory)


def test_as_many_crashes_without_bursts():
    """They repeat more actions, in more runs."""
    case = fixture(strategy=CHECKPOINT, crash=BURSTS, downtime=DOWNTIME)
    mean = 1 / case.crash.rate_per_s
    theory = exact(fixture(strategy=CHECKPOINT, crash=poisson(mean), downtime=DOWNTIME))
    assert [theory[metric] for metric in METRICS] == pytest.approx([0.00753, 0.00757, 497.04], rel=2e-4)


def test_chance_of_a_repeat_as_in_the_formula():
    """π Π (I - A(c) e^{QD})⁻¹ e^{Kl} 1, with c the time until an action is sent."""
    changes = np.array([[-1 / 3600, 1 / 3600], [1 / 300, -1 / 300]])
    crashes = np.diag([1 / 20_000, 1 / 120])
    k = changes - crashes
    chance = np.array([3600, 300]) / 3900
    for step, duration in enumerate(DURATIONS, 1):
        harmless = PHI * duration if step in ACTING else duration + 2
        struck = np.linalg.inv(k) @ (linalg.expm(k * harmless) - np.eye(2)) @ crashes
        again = np.linalg.inv(np.eye(2) - struck @ linalg.expm(changes * 30))
        chance = chance @ again @ linalg.expm(k * (duration + 2))
    theory = exact(fixture(strategy=CHECKPOINT, crash=BURSTS, downtime=DOWNTIME))
    assert theory["p_duplicate"] == pytest.approx(1 - chance.sum(), rel=1e-9)


@pytest.mark.parametrize("strategy", [CHECKPOINT, SAVE_FIRST, INTENT, KEYS])
def test_one_weather(strategy):
    """Where it crashes as often in the calm as in a storm, there are no bursts."""
    rest = {
        "strategy": strategy,
        "store": {"write": 2.0, "ack": 4.0},
        "receiver": {"prepare": 3.0, "request": 0.5},
        "downtime": {"detection": 20.0, "restart": 10.0, "load": 15.0},
    }
    even = FREQUENT | {"calm_mean": 300.0, "storm_mean": 300.0}
    memoryless = exact(fixture(crash=poisson(300.0), **rest))
    assert exact(fixture(crash=even, **rest)) == pytest.approx(
        {metric: memoryless[metric] for metric in METRICS}, rel=1e-10
    )


@pytest.mark.parametrize("strategy", [CHECKPOINT, SAVE_FIRST, INTENT])
@pytest.mark.parametrize("engine", ["timeline", pytest.param("events", marks=pytest.mark.slow)])
def test_bursts_strike_answers_and_loads_too(strategy, engine):
    """Crashes are common here, so that the test has power; an answer and a load last long."""
    case = fixture(
        strategy=strategy,
        crash=FREQUENT,
        store={"write": 10.0, "ack": 15.0},
        receiver={"prepare": 8.0, "request": 3.0},
        downtime={"detection": 10.0, "restart": 10.0, "load": 40.0},
        limits={"attempts": 100_000},
    )
    theory = exact(case)
    assert (theory["p_duplicate"] > 0.05) == (strategy != SAVE_FIRST)
    judge(sample(case, 5_000 if engine == "events" else 20_000, engine=engine), theory)


def test_a_block_with_several_actions():
    """All steps in one block: against the memoryless form of a run without saves."""
    weather = Weather.of(Bursts(calm_mean=700.0, storm_mean=700.0, calm_lasts=400.0, storm_lasts=100.0))
    sent = tuple(sum(DURATIONS[: step - 1]) + PHI * DURATIONS[step - 1] for step in ACTING)
    theory = exact(fixture(strategy=RESTART, crash=poisson(700.0)))
    found = expected(weather, [Block(0.0, sum(DURATIONS), sent)], 30.0, 5.0)
    assert found == pytest.approx([theory[metric] for metric in METRICS], rel=1e-10)


@pytest.mark.parametrize(
    "changed",
    [
        {"strategy": RESTART},
        {"strategy": every(3)},
        {"strategy": {"protocol": "async"}},
        {"downtime": {"detection": {"law": "exponential", "mean": 30.0}}},
        {"downtime": {"load": {"law": "exponential", "mean": 30.0}}},
        {"store": {"write": {"law": "exponential", "mean": 2.0}}},
        {"crash": FREQUENT | {"calm_mean": 3.0}},
        {"crash": FREQUENT | {"storm_mean": 0.1}},
        {"crash": FREQUENT | {"storm_mean": 1e-3}},
        {"limits": {"makespan": 1000.0}},
    ],
)
def test_silence(changed):
    assert exact(fixture(**{"strategy": CHECKPOINT, "crash": FREQUENT} | changed)) == {}
