"""Crashes from several sources, deploys, bursts, old machines, poison steps; by hand and by law.

What is said of a run is worked out by hand from constant times; what is said of many follows from the law.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_scenarios import simulate_on_both
from scipy import stats

from sim import Scenario, simulate
from sim.crashes import parse_process
from sim.laws import files_in
from sim.services import Receiver
from sim.streams import BLOCK, Streams
from sim.workload import Workload

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


# ------------------------------------------------------------------------------ schedules, back-off, matching


def test_a_schedule_strikes_at_the_instants_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "incidents.csv").write_text("seconds\n32\n4\n")
    with files_in(tmp_path):
        crash = {"process": "schedule", "file": "incidents.csv"}
        frame = runs(crash)
        # 4 s of a are lost; work goes on at 9, and at 32 3 s of c are.
        assert frame["lost_work_s"].tolist() == [7.0]
        anywhere = parse_process(crash | {"start": "random", "length": 40.0})
    rows = anywhere.plan(Streams(24, 0), None).sources[0].rows
    instants = np.array([next(rows) for _ in range(4)]) / 1e9
    assert (instants >= 0).all()
    gaps = np.diff(instants, axis=0)
    assert np.isin(gaps.round(6), [28.0, 12.0]).all()
    assert (
        stats.kstest(instants[0], "uniform", args=(0, 28)).pvalue < 1e-6
    )  # the next crash is within 12 s for some
    assert abs(instants[0].mean() - (12 * 6 + 28 * 14) / 40) < 0.5


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("seconds\nsoon\n", {}, "soon"),
        ("seconds\n", {}, "no times"),
        ("seconds\n5\n", {"length": 4.0}, "at least the last time"),
        ("seconds\n5\n", {"times": [3.0]}, "are read from the file"),
    ],
)
def test_a_schedule_that_makes_no_sense(tmp_path: Path, text: str, more: Any, told: str) -> None:
    (tmp_path / "incidents.csv").write_text(text)
    with files_in(tmp_path), pytest.raises(ValueError, match=told):
        parse_process({"process": "schedule", "file": "incidents.csv"} | more)


def test_waits_grow_with_each_crash_until_a_worker_lives_long_enough() -> None:
    # Crashes at 1, 2, ... find a worker after 0, 10, 20, 20 s of waiting; the fourth worker lives 15 s.
    backoff = {"first": 10.0, "factor": 2.0, "most": 20.0, "reset_after": 15.0}
    downtime = {"detection": 0.0, "backoff": backoff}
    frame = runs({"process": "at", "times": [1, 2, 13, 48]}, downtime=downtime)
    # After 48 the worker has lived 15 s, so the row is over; b, which it had begun, c and d are left.
    assert frame["downtime_s"].tolist() == [0 + 10 + 20 + 0]
    assert frame["makespan_s"].tolist() == [48 + 30.0]


@pytest.mark.parametrize("start", ["fresh", "equilibrium"])
def test_a_law_is_scaled_to_the_chance_of_a_crash_within_a_run(start: str) -> None:
    law = {"law": "weibull", "mean": 1000.0, "shape": 0.6}
    match = {"by": "p_crash", "value": 0.2}
    crash = {"process": "renewal", "clock": "host", "law": law, "start": start, "match": match}
    scenario = Scenario.model_validate(PARTS | {"crash": crash, "strategy": {"protocol": "restart"}})
    frame = simulate(scenario, BLOCK, 24)
    assert stats.binomtest(int((frame["crashes"] > 0).sum()), BLOCK, 0.2).pvalue > 1e-6


def test_a_law_is_scaled_to_a_mean_time_between_crashes() -> None:
    law = {"law": "gamma", "mean": 7.0, "shape": 0.5}
    crash = {"process": "renewal", "law": law, "match": {"by": "mtbf", "value": 300.0}}
    scenario = Scenario.model_validate(PARTS | {"crash": crash})
    assert scenario.crash.rate_per_s == pytest.approx(1 / 300)


def test_each_of_several_sources_is_scaled_by_itself() -> None:
    law = {"law": "weibull", "mean": 1000.0, "shape": 0.6}
    match = {"by": "p_crash", "value": 0.2}
    of = [each(law, "bug") | {"match": match}, host(law, "wear", match={"by": "mtbf", "value": 50.0})]
    restart = {"strategy": {"protocol": "restart"}}
    scenario = Scenario.model_validate(PARTS | {"crash": {"process": "any_of", "of": of}} | restart)
    bug, wear = scenario.crash.of
    assert bug.law.survival(40.0) == pytest.approx(0.8)
    assert wear.law.mean_s == pytest.approx(50.0)


def test_a_run_is_as_long_as_its_steps_and_calls_are_on_average() -> None:
    steps = [
        {"name": "a", "work": {"law": "exponential", "mean": 4.0}, "tool": 2.0},
        {"name": "b", "work": 1.0, "action": {"probability": 0.5}},
        {"name": "c", "work": 1.0, "action": {}, "tool": 3.0},
    ]
    workload = Workload.model_validate({"steps": steps, "work_scale": 2.0})
    receiver = Receiver.model_validate({"prepare": 0.1, "request": 0.2, "response": 0.7})
    assert workload.mean_s(receiver) == pytest.approx(2 * (4 + 1 + 1) + 2 + 0.5 * 1.0 + 0.3 + 3)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"match": {"by": "p_crash", "value": 1.0}}, "must be below 1"),
        ({"start": 3.0, "match": {"by": "mtbf", "value": 9.0}}, "not an age"),
        ({"law": {"law": "lomax", "c": 0.5, "scale": 1.0}, "start": "equilibrium"}, "no mean"),
        (
            {"law": {"law": "lomax", "c": 0.5, "scale": 1.0}, "match": {"by": "mtbf", "value": 9.0}},
            "no finite time",
        ),
        ({"law": 0.0, "match": {"by": "p_crash", "value": 0.5}}, "no finite time above 0"),
        ({"law": {"law": "uniform", "high": 5.0}, "start": 5.0}, "no lifetime of the law reaches"),
    ],
)
def test_what_cannot_be_matched(more: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_process({"process": "renewal", "law": {"law": "exponential", "mean": 5.0}} | more)


def test_an_exposure_of_a_step_that_is_not_there() -> None:
    crash = {"process": "uniform_time", "exposure": {"steps": {"e": 2.0}}}
    with pytest.raises(ValueError, match="'e' is no step of the workload"):
        Scenario.model_validate(PARTS | {"crash": crash})


# ---------------------------------------------------------------------------------------- rates and residuals

YOUNG: dict[str, Any] = {"process": "renewal", "law": {"law": "weibull", "mean": 60.0, "shape": 0.48}}


def ages_at_death(crash: Any, count: int) -> Any:
    """Instants of the first crashes of a block of hosts that work without a pause, s, shape (count, runs)."""
    rows = parse_process(crash).plan(Streams(24, 0), None).sources[0].rows
    return np.cumsum([next(rows) / 1e9 for _ in range(count)], axis=0)


def test_a_renewed_host_crashes_once_in_its_mean_lifetime_in_the_long_run() -> None:
    instants = ages_at_death(YOUNG | {"clock": "host"}, 260)
    horizon = 3000.0
    # From equilibrium on the mean count is exact; fresh, it has an offset that does not grow.
    met = ages_at_death(YOUNG | {"clock": "host", "start": "equilibrium"}, 260)
    counts = (met < horizon).sum(axis=0)
    assert counts.max() < 260
    assert abs(counts.mean() - horizon / 60) < 5 * counts.std() / np.sqrt(BLOCK)
    late = ((instants >= 1500) & (instants < horizon)).sum(axis=0)
    assert abs(late.mean() - 1500 / 60) < 5 * late.std() / np.sqrt(BLOCK) + 0.5


def test_a_host_that_is_never_renewed_crashes_as_often_as_its_hazard_says() -> None:
    instants = ages_at_death(YOUNG | {"clock": "host", "renew": "never"}, 80)
    hazard = parse_process(YOUNG).law.cumulative_hazard
    for horizon in (10.0, 200.0, 20_000.0):
        counts = (instants < horizon).sum(axis=0)
        expected = float(hazard(horizon))
        assert abs(counts.mean() - expected) < 5 * np.sqrt(expected / BLOCK)  # a Poisson count


@pytest.mark.parametrize("age", [0.0, 20.0, 600.0])
@pytest.mark.parametrize("renew", ["crash", "never"])
def test_what_a_host_has_left_at_an_age_follows_its_hazard(renew: str, age: float) -> None:
    first = ages_at_death(YOUNG | {"clock": "host", "renew": renew, "start": 5.0}, 1)[0] + 5.0
    hazard = parse_process(YOUNG).law.cumulative_hazard
    older = first[first > age]
    used_up = hazard(older) - hazard(max(age, 5.0))
    assert len(older) > 50
    assert stats.kstest(used_up[older > max(age, 5.0)], "expon").pvalue > 1e-6


def test_stops_and_storms_do_not_know_of_the_worker() -> None:
    calm = {"process": "bursts", "calm_mean": 50.0, "storm_mean": 50.0, "calm_lasts": 9.0, "storm_lasts": 3.0}
    rows = parse_process(calm).plan(Streams(24, 0), None).sources[0].rows
    instants = np.array([next(rows) for _ in range(5)]) / 1e9
    # Of one rate, the weather does not matter: gaps are exponential, at every age.
    gaps = np.diff(instants, axis=0, prepend=0)
    for age in (0.0, 50.0, 150.0):
        left = gaps[gaps > age] - age
        assert stats.kstest(left / 50.0, "expon").pvalue > 1e-6
