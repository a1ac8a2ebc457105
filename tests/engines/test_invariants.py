"""What holds run by run whatever the numbers are, on random scenarios with fixed seeds.

Each test changes something that must not matter, or must matter in a known way, and compares replication
by replication; nothing is statistical.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from by_hand import SURROUNDINGS, scenario, tick
from engine_scenarios import LANE, STRATEGIES, build, random_parts, random_troubles, save, simulate_on_both

from sim import Scenario
from sim.events import Block, Run, marks, simulate_block
from sim.outcomes import CAUSES, Log
from sim.program import unfold
from sim.schedule import crash_free
from sim.streams import BLOCK, Streams

RUNS = 24
SEED = 5
NUMBERS = range(6)
GAPS = ["gap_crashes", "gap_crashes_after_done"]
DIMENSIONLESS = [
    *("crashes", "redone_steps", "wasted_tokens", "actions", "duplicate_actions", "lost_actions"),
    *("blocked_duplicates", "saves", "finished", "stuck", "skipped_steps", "action_crashes", *GAPS),
]
TIMES = ["lost_work_s", "wasted_work_s", "save_time_s", "downtime_s", "makespan_s"]
WITHOUT_CRASH = [
    *("crashes", "redone_steps", "lost_work_s", "wasted_work_s", "wasted_tokens", "duplicate_actions"),
    *("lost_actions", "blocked_duplicates", "downtime_s", "stuck", "skipped_steps", "action_crashes"),
]
every_strategy = pytest.mark.parametrize(
    ("name", "number"), [(name, number % len(NUMBERS)) for number, name in enumerate(STRATEGIES)]
)
every_scenario = pytest.mark.parametrize("number", NUMBERS)


def run(scenario: Scenario, n: int = RUNS) -> pd.DataFrame:
    return simulate_on_both(scenario, n, SEED)


def same(a: pd.DataFrame, b: pd.DataFrame, columns: list[str] | None = None) -> None:
    """Fail unless two tables are equal; say which replications are not, and in what."""
    columns = columns or list(a.columns)
    differs = (a[columns] != b[columns]) & ~(a[columns].isna() & b[columns].isna())
    wrong = differs.any(axis=1)
    names = [column for column in columns if differs[column].any()]
    assert not wrong.any(), f"replications {list(a.index[wrong])}:\n{a[wrong][names]}\n{b[wrong][names]}"


def ticks(seconds: Any) -> np.ndarray:
    return np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def test_the_scenarios_are_rich_enough() -> None:
    # Else what follows would hold of nothing.
    frames = {
        name: pd.concat([run(build(s, random_parts(number))) for number in range(5)])
        for name, s in STRATEGIES.items()
    }
    for column in ("crashes", "redone_steps", "lost_work_s", "duplicate_actions"):
        assert frames["restart"][column].any(), column
    for column in ("lost_actions", "skipped_steps"):
        assert frames["save first"][column].any(), column
    for name in set(STRATEGIES) - {"save first", "at most once"}:
        assert frames[name]["duplicate_actions"].any(), name
    assert frames["checkpoint"][GAPS].any().all()


# ------------------------------------------------------------------------------------ what must not matter


@every_strategy
def test_detection_and_restart_change_the_makespan_only(name: str, number: int) -> None:
    # Neither can crash, nor ages a worker's or a host's clock. A query's answer depends on how long nobody
    # asked, unless actions are performed as soon as they are sent.
    parts = random_parts(number)
    if "query" in name:
        parts["receiver"] |= {"request": 0, "lag": 0}
    brief = run(
        build(STRATEGIES[name], parts | {"downtime": parts["downtime"] | {"detection": 0, "restart": 0}})
    )
    usual = run(build(STRATEGIES[name], parts))
    assert (usual["downtime_s"] > brief["downtime_s"]).equals(usual["downtime_s"] > 0)
    same(brief, usual, [*DIMENSIONLESS, *TIMES[:3]])
    worked = [ticks(frame["makespan_s"]) - ticks(frame["downtime_s"]) for frame in (brief, usual)]
    assert np.array_equal(*worked), f"{name}, scenario {number}: time outside of downtime"


@pytest.mark.parametrize("factor", [0.25, 8.0])
@every_strategy
def test_a_change_of_the_unit_of_time_changes_no_count(name: str, number: int, factor: float) -> None:
    # A power of two, so that only the rounding to ticks differs: less than a microsecond a run.
    usual = run(build(STRATEGIES[name], random_parts(number)))
    scaled = run(build(STRATEGIES[name], random_parts(number, second=factor)))
    same(usual.drop(columns="wasted_tokens"), scaled, [c for c in DIMENSIONLESS if c != "wasted_tokens"])
    assert np.allclose(usual["wasted_tokens"], scaled["wasted_tokens"], rtol=0, atol=1e-6)
    for column in TIMES:
        assert np.allclose(usual[column] * factor, scaled[column], rtol=0, atol=factor * 1e-6), column


@every_strategy
def test_a_weight_that_all_phases_share_is_a_change_of_the_lifetime(name: str, number: int) -> None:
    phases = ("load", "work", "tool", "prepare", "request", "response", "write", "ack", "query", "drain")
    parts = random_parts(number)
    law = {"law": "weibull", "shape": 0.8, "mean": 30.0}
    usual = run(build(STRATEGIES[name], parts, crash={"process": "renewal", "law": law}))
    for weight in (0.5, 4.0):
        crash = {
            "process": "renewal",
            "law": law | {"mean": 30.0 * weight},
            "exposure": dict.fromkeys(phases, weight),
        }
        weighted = run(build(STRATEGIES[name], parts, crash=crash))
        same(usual, weighted, [c for c in DIMENSIONLESS if c != "wasted_tokens"])
        assert np.allclose(usual["makespan_s"], weighted["makespan_s"], rtol=0, atol=1e-6)


@every_strategy
def test_weights_of_one_are_no_weights(name: str, number: int) -> None:
    parts = random_parts(number)
    law = {"law": "gamma", "mean": 30.0, "shape": 2.0}
    none = run(build(STRATEGIES[name], parts, crash={"process": "renewal", "law": law}))
    ones = {"process": "renewal", "law": law, "exposure": {"work": 1.0, "write": 1.0}}
    same(none, run(build(STRATEGIES[name], parts, crash=ones)))


@every_strategy
def test_frozen_times_change_nothing_where_times_are_constant(name: str, number: int) -> None:
    constant = {
        "workload": {
            "steps": [
                {"name": "a", "work": 7.1, "action": {}},
                {"name": "b", "work": 4.3, "tool": 1.7},
                {"name": "c", "work": 9.7, "action": {}, "tool": 0.9},
            ]
        },
        "store": {"write": 1.3, "ack": 0.7},
        "receiver": {"prepare": 0.3, "request": 2.3, "response": 1.1, "query": 0.9, "lag": 0.4},
    }
    parts = random_parts(number) | constant
    same(run(build(STRATEGIES[name], parts)), run(build(STRATEGIES[name], parts, frozen=True)))


@every_strategy
def test_simulating_again_gives_the_same(name: str, number: int) -> None:
    scenario = build(STRATEGIES[name], random_parts(number))
    same(run(scenario), run(scenario))


@every_strategy
def test_more_replications_extend_fewer(name: str, number: int) -> None:
    scenario = build(STRATEGIES[name], random_parts(number))
    same(run(scenario, 7), run(scenario).head(7))


def test_more_replications_extend_fewer_beyond_a_block() -> None:
    scenario = build(STRATEGIES["intent query"], random_parts(1))
    many = run(scenario, BLOCK + 9)
    same(run(scenario, BLOCK - 3), many.head(BLOCK - 3))
    same(run(scenario, BLOCK + 4), many.head(BLOCK + 4))
    assert not many["makespan_s"].duplicated().any(), "blocks have random numbers of their own"


@every_strategy
def test_what_was_simulated_before_with_the_same_numbers_does_not_matter(name: str, number: int) -> None:
    program = unfold(build(STRATEGIES[name], random_parts(number)))
    alone = simulate_block(program, Streams(SEED, 0, RUNS)).columns
    shared = Streams(SEED, 0, RUNS)
    for other in ("restart", "async", "intent query"):
        simulate_block(unfold(build(STRATEGIES[other], random_parts(number))), shared)
    same(pd.DataFrame(alone), pd.DataFrame(simulate_block(program, shared).columns))


def test_a_query_that_was_passed_by_without_asking_was_not_begun() -> None:
    # So that the first question takes the first of the random times, whether the first worker died before its
    # query (in the intent's ack) or after it (in the preparation).
    law = {"law": "lognormal", "median": 3.0, "sigma": 0.8}
    receiver = SURROUNDINGS["receiver"] | {"query": law}
    before, after = (
        run(scenario({"protocol": "intent_query"}, [crash], receiver=receiver))
        for crash in (tick(31.375), tick(32))
    )
    since = [ticks(before["makespan_s"]) - tick(31.375), ticks(after["makespan_s"]) - tick(32)]
    assert since[0].tolist() == since[1].tolist()
    assert len(set(since[0])) == RUNS, "the times are random"


@every_scenario
def test_a_verb_takes_the_time_it_takes_wherever_it_stands(number: int) -> None:
    # Without a crash; times are drawn by what is done, not by its place in the list.
    parts = random_parts(number) | {"crash": "none"}

    def length(plain: list[Any], action: list[Any]) -> np.ndarray:
        return ticks(run(build({"plain": plain, "action": action}, parts))["makespan_s"])

    checkpoint = length(["work", "save"], ["work", "call", "save"])
    for action in ["work", "save", "call"], ["call", "work", "save"], ["save", "work", "call"]:
        for plain in ["work", "save"], ["save", "work"]:
            assert length(plain, action).tolist() == checkpoint.tolist(), f"{plain}, {action}"
    # And a verb adds its own time, whatever else there is.
    intent = save("call")
    without_saves = length(["work"], ["work", "call"])
    added = length(["work", "save"], ["work", intent, "call", "save"]) - checkpoint
    assert added.tolist() == (length(["work"], ["work", intent, "call"]) - without_saves).tolist()


# --------------------------------------------------------------------------------------- without a crash


@every_strategy
def test_without_a_crash_a_run_is_as_the_schedule_says(name: str, number: int) -> None:
    parts = random_parts(number)
    frame = run(build(STRATEGIES[name], parts, crash="none"))
    program = unfold(build(STRATEGIES[name], parts, crash="none"))
    draws = Streams(SEED, 0, RUNS)
    marks = crash_free(program, draws, program.draw_acts(draws))
    assert ticks(frame["makespan_s"]).tolist() == marks.makespan.tolist()
    assert not frame[WITHOUT_CRASH].to_numpy().any()
    assert frame["finished"].all()


NO_WEIGHT = dict.fromkeys(("work", "tool", "prepare", "request", "response", "write", "ack", "drain"), 0)
OLD_HOST = {"law": "weibull", "mean": 1e14, "shape": 0.9}
NEVER_COMES = {
    "at": {"process": "at", "times": [1e6]},
    "process": {"process": "renewal", "law": 1e6},
    "rare": {"process": "renewal", "law": {"law": "exponential", "mean": 1e14}},
    "host": {"process": "renewal", "clock": "host", "renew": "never", "law": OLD_HOST},
    "wall": {"process": "renewal", "clock": "host", "ages_in_downtime": True, "law": 1e6},
    "no weight": {"process": "renewal", "law": 1, "exposure": NO_WEIGHT},
}


@every_strategy
def test_a_crash_that_never_comes_is_no_crash(name: str, number: int) -> None:
    parts = random_parts(number)
    without = run(build(STRATEGIES[name], parts, crash="none"), 6).drop(columns="rule_duplicates")
    for crash in NEVER_COMES.values():
        never = run(build(STRATEGIES[name], parts, crash=crash), 6).drop(columns="rule_duplicates")
        same(without, never)


@every_strategy
def test_replications_that_a_crash_spares_are_as_without_a_crash(name: str, number: int) -> None:
    parts = random_parts(number) | {
        "crash": {"process": "renewal", "law": {"law": "exponential", "mean": 40.0}}
    }
    frame = run(build(STRATEGIES[name], parts))
    spared = frame["crashes"] == 0
    assert spared.any()
    assert not spared.all()
    without = run(build(STRATEGIES[name], parts, crash="none"))
    same(frame[spared].drop(columns="rule_duplicates"), without[spared].drop(columns="rule_duplicates"))


# -------------------------------------------------------------------------------------------------- actions


@every_strategy
def test_keys_turn_every_duplicate_into_a_blocked_one_and_change_nothing_else(name: str, number: int) -> None:
    plain = run(build(STRATEGIES[name], random_parts(number)))
    keyed = run(build(STRATEGIES[name] | {"key": "run_step"}, random_parts(number)))
    assert not keyed["duplicate_actions"].any()
    assert not plain["blocked_duplicates"].any()
    assert keyed["blocked_duplicates"].tolist() == plain["duplicate_actions"].tolist()
    told = ("duplicate_actions", "duplicates_crash", "spacing_s", "blocked_duplicates")
    others = [c for c in plain.columns if c not in told]
    same(plain, keyed, others)


@pytest.mark.parametrize("key", ["none", "run_step"])
@every_strategy
def test_every_action_is_performed_once_and_for_each_duplicate_but_for_lost_ones(
    name: str, number: int, key: str
) -> None:
    program = unfold(build(STRATEGIES[name] | {"key": key}, random_parts(number)))
    draws = Streams(SEED, 0, RUNS)
    columns = simulate_block(program, draws).columns
    block = Block(program, draws, program.scenario.crash.plan(draws, marks(program, draws)))
    for replication in range(RUNS):
        log = Log()
        Run(block, replication, log).simulate()
        row = {column: values[replication] for column, values in columns.items()}
        performed = [step for _, step in log.performed]
        acting = np.flatnonzero(block.acts[replication]).tolist()
        where = f"{name}, scenario {number}, replication {replication}"
        assert set(performed) <= set(acting), where
        assert row["actions"] == len(acting), where
        assert row["duplicate_actions"] == len(performed) - len(set(performed)), where
        if row["finished"]:
            assert row["lost_actions"] == len(acting) - len(set(performed)), where
            total = row["actions"] + row["duplicate_actions"] - row["lost_actions"]
            assert len(performed) == total, where
        assert len(log.blocked) == row["blocked_duplicates"], where


@every_strategy
def test_lost_actions_need_a_save_before_the_call(name: str, number: int) -> None:
    frame = run(build(STRATEGIES[name], random_parts(number)))
    if name not in ("save first", "at most once"):
        assert not frame["lost_actions"].any()
        assert not frame["skipped_steps"].any()
    else:
        # What is saved before it is done is not done twice.
        assert not frame["duplicate_actions"].any()
        assert (frame["lost_actions"] <= frame["skipped_steps"]).all()


@every_strategy
def test_a_run_in_which_chance_decides_acts_as_one_in_which_it_is_certain(name: str, number: int) -> None:
    chance = {"action": {"probability": 0.5}}
    sure = {"action": {"probability": 1}}
    never = {"action": {"probability": 0}}
    parts = random_parts(number)
    first, *others = [{k: v for k, v in step.items() if k != "action"} for step in parts["workload"]["steps"]]

    def frame(action: dict[str, Any]) -> pd.DataFrame:
        return run(build(STRATEGIES[name], parts | {"workload": {"steps": [first | action, *others]}}))

    found = frame(chance)
    acts = found["actions"] == 1
    assert acts.any()
    assert not acts.all()
    same(found[acts], frame(sure)[acts])
    # Without any action there is no gap to be defined.
    same(found[~acts], frame(never)[~acts], [c for c in found.columns if c not in GAPS])


# ---------------------------------------------------------------------------------------------- all troubles

SOME = range(60)
MANY = range(60, 400)


def ledger_balances(number: int) -> pd.DataFrame:
    """Simulate a random scenario, whose accounts the engine balances; check what it counts of actions."""
    program = unfold(random_troubles(number))
    draws = Streams(SEED, number, RUNS)
    frame = pd.DataFrame(simulate_block(program, draws).columns)
    where = f"scenario {number}"
    by_cause = frame[[f"duplicates_{cause}" for cause in CAUSES]].sum(axis=1)
    assert (by_cause == frame["duplicate_actions"]).all(), where
    assert (frame["spacing_s"].notna() == (frame["duplicate_actions"] > 0)).all(), where
    assert not (frame.filter(regex="_s$") < 0).any().any(), where
    assert (frame["finished"] != frame["stuck"]).all(), where
    block = Block(program, draws, program.scenario.crash.plan(draws, marks(program, draws)))
    for replication, row in enumerate(frame.itertuples()):
        log = Log()
        Run(block, replication, log).simulate()
        if row.finished:
            expected = row.actions + row.duplicate_actions - row.lost_actions
            assert len(log.performed) == expected, f"{where}, replication {replication}"
    return frame


def test_what_is_performed_balances_whatever_goes_wrong() -> None:
    frame = pd.concat([ledger_balances(number) for number in SOME])
    # Else it would hold of nothing.
    for column in (
        *(f"duplicates_{cause}" for cause in CAUSES),
        "zombie_s",
        "stuck",
        "lost_actions",
        "finished",
    ):
        assert frame[column].any(), column


@pytest.mark.slow
def test_what_is_performed_balances_in_many_scenarios() -> None:
    for number in MANY:
        ledger_balances(number)


# --------------------------------------------------------------------------------- a strategy, said twice

CONSTANT_ACK = {"store": {"write": {"law": "gamma", "mean": 1.0, "shape": 2.0}, "ack": 0.4}}
INSTANT = {"store": {"write": 0, "ack": 0}}
SAME = {
    "checkpoint without any save is restart": (
        {"protocol": "checkpoint", "steps": [], "last": False},
        {"protocol": "restart"},
        {},
    ),
    "checkpoint after every step is checkpoint": (
        {"protocol": "checkpoint", "every": 1},
        {"protocol": "checkpoint"},
        {},
    ),
    "checkpoint after many steps is a save at the end": (
        {"protocol": "checkpoint", "every": 99},
        {"protocol": "checkpoint", "steps": []},
        {},
    ),
    "waiting for the lane at once is a save in the foreground": (
        {"plain": ["work", LANE, "drain"], "action": ["work", "call", LANE, "drain"]},
        {"protocol": "checkpoint"},
        CONSTANT_ACK,
    ),
    "behind the work or not does not matter to a store that takes no time": (
        {"protocol": "async"},
        {"protocol": "checkpoint"},
        INSTANT,
    ),
    "a lane's name does not matter": (
        {"plain": ["work", LANE], "action": ["work", "call", LANE], "end": ["drain"]},
        {"protocol": "async"},
        {},
    ),
    "nothing is lost or asked between a save and a call that take no time": (
        {"protocol": "save_first"},
        {"protocol": "checkpoint"},
        INSTANT | {"receiver": {}},
    ),
}


@every_scenario
@pytest.mark.parametrize("what", SAME)
def test_one_strategy_said_in_two_ways_is_one(what: str, number: int) -> None:
    one, other, changes = SAME[what]
    parts = random_parts(number) | changes
    if parts["crash"].get("exposure"):
        # Phases have other names.
        parts["crash"] = parts["crash"] | {"exposure": {}}
    if changes.get("receiver") == {}:
        parts["workload"] = {
            "steps": [{k: v for k, v in step.items() if k != "tool"} for step in parts["workload"]["steps"]]
        }
    frames = [run(build(strategy, parts)) for strategy in (one, other)]
    same(*frames, [c for c in frames[0].columns if c not in GAPS])


@every_scenario
def test_without_actions_what_protects_actions_does_nothing(number: int) -> None:
    parts = random_parts(number, probabilities=(0,))
    checkpoint = run(build({"protocol": "checkpoint"}, parts))
    assert not checkpoint["actions"].any()
    same(checkpoint, run(build({"protocol": "save_first"}, parts)))
    same(checkpoint, run(build({"protocol": "intent_query"}, parts)))
    same(checkpoint, run(build({"protocol": "intent_park"}, parts)))
    same(checkpoint, run(build({"protocol": "transaction"}, parts)))


# --------------------------------------------------------------------------------------- a crash, said twice


@every_strategy
def test_a_uniform_crash_is_a_crash_at_its_instant(name: str, number: int) -> None:
    parts = random_parts(number) | {"crash": {"process": "uniform_time"}}
    found = run(build(STRATEGIES[name], parts), 6)
    assert (found["crashes"] == 1).all(), "it comes before the end of the run"
    draws = Streams(SEED, 0, 6)
    length = ticks(run(build(STRATEGIES[name], parts, crash="none"), 6)["makespan_s"])
    instants = np.floor(draws.uniforms("crash", "instant") * length)
    for replication, instant in enumerate(instants.tolist()):
        at = run(build(STRATEGIES[name], parts, crash={"process": "at", "times": [instant / 1e9]}), 6)
        same(found.iloc[[replication]], at.iloc[[replication]])


@every_strategy
def test_a_host_that_a_crash_renews_and_that_rests_in_downtime_has_the_clock_of_its_worker(
    name: str, number: int
) -> None:
    crash = {"process": "renewal", "law": {"law": "weibull", "mean": 30.0, "shape": 0.7}}
    frames = [
        run(build(STRATEGIES[name], random_parts(number), crash=crash | {"clock": c}))
        for c in ("process", "host")
    ]
    same(*frames)


@every_strategy
def test_a_memoryless_host_does_not_know_whether_it_was_renewed(name: str, number: int) -> None:
    # Lives are the same numbers; that of a host that was not renewed is rounded as a difference of two ages.
    law = {"law": "exponential", "mean": 30.0}
    crash = {"process": "renewal", "clock": "host", "law": law}
    frames = [
        run(build(STRATEGIES[name], random_parts(number), crash=crash | {"renew": r}))
        for r in ("crash", "never")
    ]
    same(*frames, [c for c in DIMENSIONLESS if c != "wasted_tokens"])
    assert np.allclose(frames[0]["makespan_s"], frames[1]["makespan_s"], rtol=0, atol=1e-6)


@every_strategy
def test_one_crash_of_a_worker_without_downtime_ages_no_clock_but_the_walls(name: str, number: int) -> None:
    # With no downtime at all the wall and the host show the same time.
    law = {"law": "gamma", "mean": 40.0, "shape": 1.5}
    crash = {"process": "renewal", "clock": "host", "law": law}
    parts = random_parts(number) | {"downtime": {}}
    host = run(build(STRATEGIES[name], parts, crash=crash))
    wall = run(build(STRATEGIES[name], parts, crash=crash | {"ages_in_downtime": True}))
    same(host, wall)


@every_scenario
def test_a_frozen_run_started_again_is_the_same_run(number: int) -> None:
    # Restart: crash time + downtime + the run without a crash; else each execution takes its own time.
    parts = random_parts(number) | {"crash": {"process": "uniform_time"}}
    once = run(build(STRATEGIES["restart"], parts, crash="none"))
    instant = np.floor(Streams(SEED, 0, RUNS).uniforms("crash", "instant") * ticks(once["makespan_s"]))
    frozen = run(build(STRATEGIES["restart"], parts, frozen=True))
    expected = instant.astype(np.int64) + ticks(frozen["downtime_s"]) + ticks(once["makespan_s"])
    assert ticks(frozen["makespan_s"]).tolist() == expected.tolist()
    redrawn = run(build(STRATEGIES["restart"], parts))
    assert (redrawn["makespan_s"] != frozen["makespan_s"]).all()
    same(redrawn, frozen, ["crashes", "redone_steps", "lost_work_s", "downtime_s"])


# --------------------------------------------------------------------------------------------------- limits


@every_strategy
def test_a_run_whose_time_is_over_is_given_up_then_and_others_do_not_know_of_the_limit(
    name: str, number: int
) -> None:
    parts = random_parts(number)
    free = run(build(STRATEGIES[name], parts))
    # Time for half of the runs, for one of them to the tick.
    limit = float(free["makespan_s"].sort_values().iloc[RUNS // 2])
    limited = run(build(STRATEGIES[name], parts, limits=parts["limits"] | {"makespan": limit}))
    in_time = free["makespan_s"] <= limit
    assert in_time.any()
    assert not in_time.all()
    same(free[in_time], limited[in_time])
    assert limited["stuck"][~in_time].all()
    assert (limited["makespan_s"][~in_time] == limit).all()


@every_strategy
def test_at_most_so_many_attempts_end_a_run_with_so_many_crashes(name: str, number: int) -> None:
    crash = {"process": "renewal", "law": {"law": "exponential", "mean": 20.0}}
    parts = random_parts(number) | {"crash": crash}
    free = run(build(STRATEGIES[name], parts, limits={"attempts": 60}))
    limited = run(build(STRATEGIES[name], parts, limits={"attempts": 2}))
    needs_more = free["crashes"] >= 2
    assert needs_more.any()
    assert (limited["stuck"] == needs_more).all()
    assert (limited["crashes"][needs_more] == 2).all()
    same(free[~needs_more], limited[~needs_more])
