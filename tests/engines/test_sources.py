"""Crashes from several sources, deploys, bursts, old machines, poison steps; by hand and by law.

What is said of a run is worked out by hand from constant times; what is said of many follows from the law.
"""

from typing import Any

import numpy as np
import pytest
from engine_scenarios import simulate_on_both
from scipy import stats

from sim import Scenario, simulate
from sim.crashes import parse_process
from sim.streams import BLOCK, Streams

# Four steps of 10 s, saved after each in no time; a crash costs 5 s of detection.
PARTS: dict[str, Any] = {
    "workload": {"steps": [{"name": name, "work": 10.0} for name in ("a", "b", "c", "d")]},
    "strategy": {"protocol": "checkpoint"},
    "store": {"write": 0.0},
    "downtime": {"detection": 5.0},
}


def runs(crash: Any, n: int = 1, **changes: Any) -> Any:
    return simulate_on_both(Scenario.model_validate(PARTS | changes | {"crash": crash}), n, seed=24)


def host(life: Any, cause: str, **more: Any) -> dict[str, Any]:
    return {"process": "renewal", "clock": "host", "law": life, "cause": cause} | more


def each(life: Any, cause: str) -> dict[str, Any]:
    return {"process": "renewal", "law": life, "cause": cause}


# ------------------------------------------------------------------------------------------- several sources


def test_a_source_that_did_not_fire_keeps_its_age() -> None:
    # The host lives 27 s of work, a worker 12 s. The first dies 2 s into b, the second 2 s into c, at 24 s of
    # work; the third with the host, 3 s into c; the fourth 2 s into d. The fifth finishes d.
    frame = runs({"process": "any_of", "of": [host(27.0, "host"), each(12.0, "worker")]})
    assert frame["crashes: host"].tolist() == [1]
    assert frame["crashes: worker"].tolist() == [3]
    assert frame["lost_work_s"].tolist() == [2 + 2 + 3 + 2]
    assert frame["makespan_s"].tolist() == [40 + 9 + 4 * 5]


def test_causes_are_told_apart_and_sum_to_all_crashes() -> None:
    of = [
        host({"law": "weibull", "mean": 30.0, "shape": 2.0}, "wear"),
        each({"law": "exponential", "mean": 25.0}, "bug"),
        {"process": "periodic", "period": 40.0, "cause": "deploy"},
    ]
    frame = runs({"process": "any_of", "of": of}, 300, limits={"attempts": 30})
    causes = frame[["crashes: wear", "crashes: bug", "crashes: deploy"]]
    assert (causes.sum() > 20).all()
    assert (causes.sum(axis=1) == frame["crashes"]).all()


def test_a_source_among_others_that_never_fire_is_as_if_alone() -> None:
    alone = runs(each({"law": "exponential", "mean": 30.0}, "bug"), 200)
    never = {"process": "renewal", "law": 1e9, "cause": "never"}
    both = runs({"process": "any_of", "of": [never, each({"law": "exponential", "mean": 30.0}, "bug")]}, 200)
    assert both["crashes: never"].sum() == 0
    assert abs(alone["crashes"].mean() - both["crashes"].mean()) < 5 * np.hypot(
        alone["crashes"].sem(), both["crashes"].sem()
    )


def test_two_exponential_sources_are_one_of_the_sum_of_their_rates() -> None:
    of = [each({"law": "exponential", "mean": 60.0}, "a"), host({"law": "exponential", "mean": 30.0}, "b")]
    crash = {"process": "any_of", "of": of}
    frame = simulate(Scenario.model_validate(PARTS | {"crash": crash}), 4 * BLOCK, 24)
    # A step of 10 s at a rate of 1/20 a second is struck e^.5 - 1 times.
    expected = 4 * np.expm1(0.5)
    assert abs(frame["crashes"].mean() - expected) < 5 * frame["crashes"].sem()
    share = stats.binomtest(int(frame["crashes: a"].sum()), int(frame["crashes"].sum()), 1 / 3)
    assert share.pvalue > 1e-6


@pytest.mark.parametrize(
    ("of", "told"),
    [
        ([each(3.0, "a")], "at least 2"),
        ([each(3.0, "a"), each(4.0, "a")], "two sources are called 'a'"),
        ([each(3.0, "a"), {"process": "uniform_time"}], "uniform_time cannot be one of several sources"),
    ],
)
def test_sources_that_do_not_go_together(of: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_process({"process": "any_of", "of": of})


# ------------------------------------------------------------------------------------------------- deploys


def test_a_worker_that_is_told_to_stop_finishes_its_step_if_it_can() -> None:
    # Told at 17, in b: it ends b at 20 and stops, losing nothing.
    deploys = {"process": "periodic", "period": 100.0, "first": 17.0, "grace": 4.0}
    frame = runs(deploys)
    assert frame["crashes"].tolist() == [1]
    assert frame["lost_work_s"].tolist() == [0.0]
    assert frame["makespan_s"].tolist() == [45.0]
    # Told at 13: b would end 7 s later, after the grace time. It is killed at 17, and 7 s are lost.
    killed = runs(deploys | {"first": 13.0})
    assert killed["lost_work_s"].tolist() == [7.0]
    assert killed["makespan_s"].tolist() == [40 + 7 + 5.0]


def test_a_step_that_ends_as_the_grace_time_does_has_ended() -> None:
    frame = runs({"process": "periodic", "period": 100.0, "first": 16.0, "grace": 4.0})
    assert frame["lost_work_s"].tolist() == [0.0]
    assert frame["action_crashes"].tolist() == [0]


def test_a_stop_that_finds_no_worker_does_nothing() -> None:
    # Stops at 12 and 16; the worker is away from 12 to 17.
    frame = runs({"process": "periodic", "period": 4.0, "first": 12.0}, limits={"makespan": 18.5})
    assert frame["crashes"].tolist() == [1]


def test_stops_come_once_a_period_and_the_first_anywhere_in_it() -> None:
    crash = parse_process({"process": "periodic", "period": 60.0, "jitter": 10.0})
    rows = crash.plan(Streams(24, 0), None).sources[0].rows
    first, second, third = (next(rows) / 1e9 for _ in range(3))
    assert first.max() < 70
    assert abs(first.mean() - 35) < 5 * first.std() / np.sqrt(BLOCK)
    assert stats.kstest(second - first, "triang", args=(0.5, 50, 20)).pvalue > 1e-6
    assert (third > second).all()


# ------------------------------------------------------------------------------------- bursts, age, poison


def test_bursts_come_at_their_long_run_rate_and_in_bursts() -> None:
    crash = parse_process(
        {
            "process": "bursts",
            "calm_mean": 2000.0,
            "storm_mean": 12.0,
            "calm_lasts": 360.0,
            "storm_lasts": 30.0,
        }
    )
    rows = crash.plan(Streams(24, 0), None).sources[0].rows
    instants = np.array([next(rows) for _ in range(12)]) / 1e9
    horizon = 300.0
    counts = (instants < horizon).sum(axis=0)
    assert counts.max() <= 12
    within = np.minimum(counts, 12)
    assert within.var() > 2 * within.mean()  # a Poisson count has a variance of its mean
    few = (instants < 30.0).sum(axis=0)
    assert abs(few.mean() - 30 * crash.rate_per_s) < 5 * few.std() / np.sqrt(BLOCK)


@pytest.mark.parametrize("clock", ["process", "host"])
@pytest.mark.parametrize(("start", "age"), [(50.0, 50.0), ("equilibrium", None)])
def test_the_first_lifetime_goes_on_from_its_age(clock: str, start: Any, age: float | None) -> None:
    law = {"law": "weibull", "mean": 100.0, "shape": 2.0}
    crash = parse_process({"process": "renewal", "law": law, "clock": clock, "start": start})
    rows = crash.plan(Streams(24, 0), None).sources[0].rows
    first, second = next(rows) / 1e9, next(rows) / 1e9
    hazard = crash.law.cumulative_hazard
    if age is not None:
        assert stats.kstest(hazard(age + first) - hazard(age), "expon").pvalue > 1e-6
    else:
        # Of the residual life: density S(t) / mean, so mean E[T²] / (2 E[T]) = 100 × (1 + cv²) / 2.
        cv2 = stats.weibull_min(2.0).var() / stats.weibull_min(2.0).mean() ** 2
        assert abs(first.mean() - 50 * (1 + cv2)) < 5 * first.std() / np.sqrt(BLOCK)
    assert stats.kstest(hazard(second), "expon").pvalue > 1e-6


def test_minimal_repair_goes_on_from_the_age_too() -> None:
    law = {"law": "weibull", "mean": 100.0, "shape": 2.0}
    crash = parse_process(
        {"process": "renewal", "law": law, "clock": "host", "renew": "never", "start": 80.0}
    )
    rows = crash.plan(Streams(24, 0), None).sources[0].rows
    age = 80.0 + np.cumsum([next(rows) / 1e9 for _ in range(4)], axis=0)
    hazards = crash.law.cumulative_hazard(np.vstack([np.full(BLOCK, 80.0), age]))
    for between in np.diff(hazards, axis=0):
        assert stats.kstest(between, "expon").pvalue > 1e-6


def test_a_poison_step_is_struck_as_its_weight_says() -> None:
    # Nothing but c can crash, at a rate of 1/10: its 10 s are struck e - 1 times.
    steps = {"a": 0.0, "b": 0.0, "d": 0.0}
    crash = {
        "process": "renewal",
        "law": {"law": "exponential", "mean": 10.0},
        "exposure": {"load": 0.0, "steps": steps},
    }
    frame = simulate(Scenario.model_validate(PARTS | {"crash": crash}), 2 * BLOCK, 24)
    assert abs(frame["crashes"].mean() - np.expm1(1)) < 5 * frame["crashes"].sem()
    assert (frame["redone_steps"] == 0).all()
