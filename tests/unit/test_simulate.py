"""`sim.simulate`. Functionality: a table with a row a replication, the same for equal seeds, longer for more
replications, whatever was simulated before, on every engine; the shipped workloads run. Deterministic:
makespans by hand. Dirty: numbers out of range are refused, and engines that are none.
"""

import tomllib
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

import sim
from sim.outcomes import OUTCOMES
from sim.program import unfold
from sim.simulation import Engine, blocks, choose
from sim.streams import BLOCK
from sim.supervision import Supervision

WORKLOADS = sorted((Path(sim.__file__).parents[1] / "experiments" / "workloads").glob("*.toml"))

SMALL: dict[str, Any] = {
    "workload": {
        "default": {"work": {"law": "gamma", "mean": 3.0, "shape": 4}, "tokens": 100},
        "steps": ["read", {"name": "send", "action": {"probability": 0.5}}],
    },
    "strategy": {"protocol": "checkpoint"},
    "crash": {"process": "renewal", "law": {"law": "weibull", "mean": 10.0, "shape": 0.7}, "clock": "host"},
    "downtime": {"restart": {"law": "lognormal", "median": 2.0, "sigma": 0.5}},
}


def scenario(**changes: Any) -> sim.Scenario:
    return sim.Scenario.model_validate(SMALL | changes)


def shipped(path: Path, **more: Any) -> sim.Scenario:
    workload = tomllib.loads(path.read_text(encoding="utf-8"))
    return scenario(workload=workload, **more)


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, other, check_exact=True)


# ---------------------------------------------------------------------------------------- functionality


def test_columns_and_rows() -> None:
    frame = sim.simulate(scenario(), n=5, seed=24)
    assert list(frame.columns) == list(OUTCOMES)
    assert frame.index.tolist() == [0, 1, 2, 3, 4]
    assert frame["finished"].dtype == frame["stuck"].dtype == bool
    for count in ("crashes", "redone_steps", "duplicate_actions", "saves", "actions"):
        assert np.issubdtype(frame[count].dtype, np.integer), count
    assert frame["makespan_s"].dtype == np.float64


def test_more_replications_extend_fewer() -> None:
    whole = sim.simulate(scenario(), n=BLOCK + 60, seed=24)
    for n in (1, 7, BLOCK - 1, BLOCK, BLOCK + 1):
        same(sim.simulate(scenario(), n=n, seed=24), whole.head(n))


def test_no_two_replications_are_alike() -> None:
    makespans = sim.simulate(scenario(crash="none"), n=BLOCK + 60, seed=24)["makespan_s"]
    assert makespans.is_unique  # across the border of a block, too


@settings(derandomize=True, deadline=None)
@given(some.integers(1, 10**6))
def test_blocks_hold_each_replication_once(n: int) -> None:
    cut = list(blocks(n))
    assert [number for number, _ in cut] == list(range(len(cut)))
    assert [size for _, size in cut[:-1]] == [BLOCK] * (len(cut) - 1)
    assert sum(size for _, size in cut) == n
    assert 1 <= cut[-1][1] <= BLOCK


def test_equal_seeds_give_equal_tables_and_others_do_not() -> None:
    one = sim.simulate(scenario(), n=50, seed=24)
    same(one, sim.simulate(scenario(), n=50, seed=24))
    other = sim.simulate(scenario(), n=50, seed=25)
    assert not np.intersect1d(one["makespan_s"], other["makespan_s"]).size


def test_what_was_simulated_before_changes_nothing() -> None:
    before = sim.simulate(scenario(), n=50, seed=24)
    sim.simulate(scenario(strategy={"protocol": "async"}, crash={"process": "uniform_time"}), n=70, seed=24)
    sim.simulate(scenario(), n=3, seed=99)
    np.random.seed(5)  # noqa: NPY002
    same(before, sim.simulate(scenario(), n=50, seed=24))


def test_the_random_numbers_of_others_are_left_alone() -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    sim.simulate(scenario(), n=3, seed=24)
    assert np.random.random() == expected  # noqa: NPY002


def test_a_simulation_leaves_its_scenario_as_it_was() -> None:
    used = scenario()
    sim.simulate(used, n=20, seed=24)
    assert used == scenario()
    assert used.model_dump_json() == scenario().model_dump_json()


def test_strategies_are_paired_replication_by_replication() -> None:
    def makespan(protocol: str) -> pd.Series:
        changes: dict[str, Any] = {"strategy": {"protocol": protocol}, "crash": "none", "store": {"write": 0}}
        return sim.simulate(scenario(**changes), n=200, seed=24)["makespan_s"]

    # Without a crash, and with saves that take no time, all do the same work in the same time.
    for protocol in ("checkpoint", "save_first", "async", "intent_query"):
        assert makespan(protocol).equals(makespan("restart")), protocol
    assert makespan("restart").nunique() == 200


def test_a_paired_change_moves_no_other_draw() -> None:
    # A store that is slower by a second delays each run by a second a save, no more and no less.
    fast, slow = (
        sim.simulate(scenario(crash="none", store={"write": write}), n=200, seed=24) for write in (0.5, 1.5)
    )
    np.testing.assert_allclose(slow["makespan_s"] - fast["makespan_s"], 2.0, atol=1e-8)


# ------------------------------------------------------------------------------------ shipped workloads

SUPPORT, CODING = "support-agent", "coding-agent"


def test_both_shipped_workloads_are_there() -> None:
    assert {SUPPORT, CODING} <= {path.stem for path in WORKLOADS}


@pytest.mark.parametrize("protocol", ["restart", "checkpoint", "save_first", "async", "intent_query"])
@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_shipped_workload_runs(path: Path, protocol: str) -> None:
    crashes: dict[str, Any] = {"strategy": {"protocol": protocol}, "crash": {"process": "uniform_time"}}
    frame = sim.simulate(shipped(path, **crashes), n=100, seed=24)
    assert frame["finished"].all()
    assert (frame["crashes"] == 1).all()
    assert (frame["makespan_s"] > 0).all()
    assert frame["wasted_tokens"].sum() > 0


def test_support_agent_as_its_source_says() -> None:
    path = next(path for path in WORKLOADS if path.stem == SUPPORT)
    answer = {"response": {"law": "lognormal", "median": 0.3, "sigma": 0.6}}
    quiet: dict[str, Any] = {"strategy": {"protocol": "restart"}, "crash": "none", "receiver": answer}
    frame = sim.simulate(shipped(path, **quiet), n=2000, seed=24)
    assert (frame["actions"] == 3).all()
    # Twelve steps of 3.0 s; a gamma of shape 4 has half its mean as deviation.
    error = np.sqrt((9 * 1.5**2 + 3 * 1.32**2 + 3 * 0.24**2) / 2000)
    assert abs(frame["makespan_s"].mean() - 36) < 5 * error


def test_coding_agent_as_its_source_says() -> None:
    path = next(path for path in WORKLOADS if path.stem == CODING)
    frame = sim.simulate(shipped(path, strategy={"protocol": "restart"}, crash="none"), n=2000, seed=24)
    assert stats.binomtest(int(frame["actions"].sum()), 15 * 2000, 0.1).pvalue > 1e-6


# ---------------------------------------------------------------------------------------- deterministic

FIXED: dict[str, Any] = {
    "workload": {"steps": [{"name": "A", "work": 10}, {"name": "B", "work": 20, "action": {}}]},
    "store": {"write": 0.5, "ack": 0.25},
    "receiver": {"prepare": 1, "request": 2, "response": 4},
    "downtime": {"detection": 5, "restart": 2.5, "load": 1.5},
}


@pytest.mark.parametrize(
    ("protocol", "quiet", "crashed"),
    [
        # Nothing crashes: the work of 30, the call of 7, and saves of 0.75 for which the worker waits.
        # A crash at 20, in the work of B: 9 of downtime, then either everything again, or B.
        ("restart", 37, 20 + 9 + 37),
        ("checkpoint", 38.5, 20 + 9 + 27.75),
        ("save_first", 38.5, 20 + 9 + 27.75),
        ("async", 37.75, 20 + 9 + 27.75),  # the last save is waited for
    ],
)
def test_makespan_by_hand(protocol: str, quiet: float, crashed: float) -> None:
    strategy = {"protocol": protocol}
    frame = sim.simulate(scenario(strategy=strategy, **FIXED | {"crash": "none"}), n=3, seed=24)
    assert frame["makespan_s"].tolist() == [quiet] * 3
    at_20 = FIXED | {"crash": {"process": "at", "times": [20]}}
    frame = sim.simulate(scenario(strategy=strategy, **at_20), n=3, seed=24)
    assert frame["makespan_s"].tolist() == [crashed] * 3
    assert frame["crashes"].tolist() == [1] * 3


# -------------------------------------------------------------------------------------- extreme and dirty


def test_one_step_that_takes_no_time() -> None:
    nothing = {"steps": [{"name": "A", "work": 0}]}
    frame = sim.simulate(scenario(workload=nothing, strategy={"protocol": "restart"}), n=2, seed=0)
    assert frame["makespan_s"].tolist() == [0, 0]
    assert frame["finished"].all()
    assert frame["crashes"].tolist() == [0, 0]


def test_a_worker_that_always_dies_at_once_is_stuck() -> None:
    changes: dict[str, Any] = {"crash": {"process": "renewal", "law": 0}, "limits": {"attempts": 7}}
    frame = sim.simulate(scenario(**changes), n=2, seed=0)
    assert frame["stuck"].all()
    assert not frame["finished"].any()
    assert frame["crashes"].tolist() == [7, 7]


def test_one_crash_is_at_most_one_crash_in_a_run_without_end() -> None:
    endless = {"steps": [{"name": "A", "work": 5e9}, {"name": "B", "work": 5e9}]}
    changes: dict[str, Any] = {"crash": {"process": "uniform_time"}, "limits": {"makespan": 1e10}}
    frame = sim.simulate(scenario(workload=endless, **changes), n=50, seed=0)
    assert set(frame["crashes"]) == {1}
    assert frame["stuck"].all()


@pytest.mark.parametrize(("n", "seed"), [(0, 24), (-1, 24), (1, -1)])
def test_numbers_out_of_range(n: int, seed: int) -> None:
    with pytest.raises(ValueError, match=f"n must be at least 1 and seed at least 0, not {n} and {seed}"):
        sim.simulate(scenario(), n=n, seed=seed)


def test_least_numbers() -> None:
    assert len(sim.simulate(scenario(), n=1, seed=0)) == 1


# --------------------------------------------------------------------------------------------- engines


def test_the_engine_changes_no_outcome() -> None:
    frames = [sim.simulate(scenario(), BLOCK + 60, 24, engine) for engine in get_args(Engine)]
    assert frames[0]["crashes"].any()
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frames[0], frame, rtol=1e-12, atol=0)


def test_no_such_engine() -> None:
    with pytest.raises(ValueError, match="engine must be auto, events or timeline, not 'fast'"):
        sim.simulate(scenario(), n=1, seed=0, engine="fast")  # type: ignore[arg-type]


def test_what_the_timeline_engine_does_not_know_is_left_to_the_other() -> None:
    known = unfold(scenario())
    watched = {"step_timeout": 60.0}
    unknown = unfold(scenario().model_copy(update={"supervision": Supervision.model_validate(watched)}))
    assert choose("auto", known) == choose("timeline", known) == "timeline"
    assert choose("auto", unknown) == choose("events", known) == "events"
    with pytest.raises(ValueError, match=r"engine does not know .*a living worker"):
        choose("timeline", unknown)
