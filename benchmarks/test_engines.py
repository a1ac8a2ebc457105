"""Speed of the engines beside a plain SimPy model of the same phases and outcomes, in one run."""

import statistics
import tomllib
from pathlib import Path
from time import process_time

import pytest

import sim
from benchmarks.peers import tutorial

RUNS = 2048
MEAN_LIFE_S = 36.58
"""As long as a run without crashes: one crash a run on average."""

WORKLOADS = Path(__file__).parents[1] / "experiments" / "workloads"


@pytest.fixture(scope="module")
def scenario():
    workload = tomllib.loads((WORKLOADS / "support-agent.toml").read_text())
    return sim.Scenario.model_validate(
        {
            "workload": workload,
            "strategy": {"protocol": "checkpoint"},
            "crash": {"process": "renewal", "law": {"law": "exponential", "mean": MEAN_LIFE_S}},
            "store": {"write": {"law": "lognormal", "median": 0.04, "sigma": 0.6}},
            "receiver": {"response": {"law": "lognormal", "median": 0.3, "sigma": 0.6}},
            "downtime": {"detection": 5.0},
        }
    )


def events(scenario):
    return sim.simulate(scenario, RUNS, seed=24, engine="events")


def timeline(scenario):
    return sim.simulate(scenario, RUNS, seed=24, engine="timeline")


def peer(_):
    return tutorial.simulate(RUNS, seed=24, mean_life=MEAN_LIFE_S)


def test_same_outcomes(scenario):
    ours, theirs = events(scenario), peer(scenario)
    for name in ("crashes", "redone_steps", "wasted_tokens", "saves", "save_time_s", "makespan_s"):
        other = [float(getattr(result, name)) for result in theirs]
        error = (ours[name].std() ** 2 / RUNS + statistics.variance(other) / RUNS) ** 0.5
        assert abs(ours[name].mean() - statistics.fmean(other)) <= 5 * error, name


@pytest.mark.parametrize("model", [events, timeline, peer])
def test_time_of_a_run(benchmark, scenario, model):
    benchmark.pedantic(model, args=(scenario,), rounds=5, warmup_rounds=1)
    benchmark.extra_info["us_per_run"] = benchmark.stats.stats.median / RUNS * 1e6


def test_at_least_1_8_times_as_fast_as_the_tutorial_model(scenario):
    def seconds(model):
        begin = process_time()
        model(scenario)
        return process_time() - begin

    events(scenario)
    pairs = [(seconds(peer), seconds(events)) for _ in range(9)]
    theirs, ours = (min(times) / RUNS * 1e6 for times in zip(*pairs, strict=True))  # the least disturbed
    print(f"tutorial {theirs:.0f} µs, events {ours:.0f} µs a run: {theirs / ours:.2f} times as fast")
    assert theirs / ours >= 1.8
