"""Both engines give the same outcomes: run by run, column by column, all times to the tick.

They share the random numbers and the unfolding of verbs to phases, and nothing of what crashes do. A fixed
table takes every strategy through all kinds of surroundings; random scenarios are full of ties, of times of
zero and of odd lists of verbs. What is worked out by hand (`by_hand.md`) and what holds of all numbers
(`test_invariants.py`) is checked on both engines as well.
"""

from typing import Any

import pytest
from engine_scenarios import STRATEGIES, build, on_both, random_parts
from hypothesis import given, settings
from hypothesis import strategies as some

from sim import Scenario, timeline
from sim.program import unfold
from sim.simulation import disagreement
from sim.strategy import Save, Strategy
from sim.streams import BLOCK, Streams

# ---------------------------------------------------------------------------------------- a fixed table

WHOLE_SECONDS = {
    "workload": {
        "steps": [
            {"name": "a", "work": 2, "action": {}, "tokens": 3},
            {"name": "b", "work": 0, "tool": 1, "tokens": 5},
            {"name": "c", "work": 3, "action": {"probability": 0.5}, "tool": 2},
            {"name": "d", "work": 1, "action": {}, "tokens": 0.1},
        ]
    },
    "store": {"write": 1, "ack": 1},
    "receiver": {"prepare": 1, "request": 4, "response": 2, "query": 1, "lag": 1},
    "downtime": {"detection": 1, "restart": 2, "load": 1},
    "crash": {"process": "at", "times": [0, 3, 4, 5, 9, 11, 12, 16, 17, 18, 23, 30]},
}
SLOW = {"law": "lognormal", "median": 25.0, "sigma": 0.7}
WEIGHTS = {"work": 0.3, "write": 3.7, "drain": 2.0, "response": 0.0, "prepare": 10.0, "load": 0.5}
OFTEN = {"process": "renewal", "law": {"law": "weibull", "mean": 25.0, "shape": 0.7}}
HOST = {"clock": "host", "renew": "never"}
SURROUNDINGS: dict[str, dict[str, Any]] = {
    "as drawn": {},
    "often": {"crash": OFTEN},
    "weighed": {"crash": OFTEN | {"exposure": WEIGHTS}},
    "host": {"crash": OFTEN | HOST | {"exposure": WEIGHTS}},
    "wall": {"crash": OFTEN | HOST | {"ages_in_downtime": True}},
    "at": {"crash": {"process": "at", "times": [3, 20, 20, 41.5, 60, 90]}, "downtime": {"detection": 2}},
    "a step": {"crash": {"process": "uniform_step", "gap_share": 0.4}},
    "frozen": {"crash": OFTEN, "frozen": True},
    "given up": {"crash": OFTEN, "limits": {"attempts": 7, "makespan": 50.0}},
    "slow store": {"crash": OFTEN, "store": {"write": SLOW, "ack": SLOW}, "limits": {"attempts": 9}},
    "whole seconds": WHOLE_SECONDS,
    # A new worker is there on the very tick on which the run is given up.
    "whole seconds, given up": WHOLE_SECONDS
    | {"limits": {"makespan": 15}, "downtime": {"detection": 1, "restart": 2}},
    "no crash": {"crash": "none"},
}
PROTECTIONS = STRATEGIES | {
    "query first": {"plain": ["work", "save"], "action": ["query", "call", "work", "save"]}
}
TABLE = [
    (name, list(SURROUNDINGS)[(number + 5 * again) % len(SURROUNDINGS)], number)
    for number, name in enumerate(PROTECTIONS)
    for again in range(2)
]
TABLE += [("at most once", "whole seconds, given up", 0)]
# A query of the same step a second time, of a frozen lag.
TABLE += [("intent query", "frozen", 9)]
TABLE += [("query first", surroundings, 1) for surroundings in ("often", "wall", "whole seconds")]
# Whether work done again gives the action other arguments is drawn by the time it is done.
PROTECTIONS["known by arguments"] = {"protocol": "checkpoint", "key": "arguments"}
SURROUNDINGS["reworded"] = {"crash": OFTEN, "workload": WHOLE_SECONDS["workload"] | {"rewords": 0.5}}
TABLE += [("known by arguments", "reworded", 1)]


def agree(strategy: str, surroundings: str, number: int, runs: int) -> None:
    protection = PROTECTIONS[strategy] | ({"key": "run_step"} if number % 3 == 0 else {})
    scenario = build(protection, random_parts(number), **SURROUNDINGS[surroundings])
    on_both(unfold(scenario), lambda: Streams(7, number, runs))


@pytest.mark.parametrize(("strategy", "surroundings", "number"), TABLE)
def test_engines_agree_on_the_first_runs_of_a_block(strategy: str, surroundings: str, number: int) -> None:
    agree(strategy, surroundings, number, BLOCK // 8)


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "surroundings", "number"), TABLE)
def test_engines_agree_on_a_block_of_runs(strategy: str, surroundings: str, number: int) -> None:
    agree(strategy, surroundings, number, BLOCK)


# ------------------------------------------------------------------------------------- random scenarios

RUNS = 32
WHOLE = some.shared(some.booleans(), key="whole")


def laws(low: int = 0) -> some.SearchStrategy[Any]:
    """Laws of times; in half of the scenarios all are a few whole seconds, so that ties are common."""
    mean = some.sampled_from([0.5, 2.0, 5.0])
    random = some.one_of(
        some.fixed_dictionaries({"law": some.just("exponential"), "mean": mean}),
        some.fixed_dictionaries({"law": some.just("gamma"), "mean": mean, "shape": some.just(2.0)}),
        some.fixed_dictionaries({"law": some.just("lognormal"), "median": mean, "sigma": some.just(0.8)}),
        some.fixed_dictionaries({"law": some.just("uniform"), "high": mean}),
        some.fixed_dictionaries({"law": some.just("weibull"), "mean": mean, "shape": some.just(0.7)}),
    )
    few = some.integers(low, 3)
    return WHOLE.flatmap(lambda whole: few if whole else some.one_of(few, random))


@some.composite
def steps(draw: some.DrawFn) -> list[dict[str, Any]]:
    chosen = []
    for number in range(draw(some.integers(1, 5))):
        step = {"name": str(number), "work": draw(laws()), "tokens": draw(some.sampled_from([0, 1, 2.3]))}
        if draw(some.booleans()):
            step["action"] = {"probability": draw(some.sampled_from([0, 0.5, 1, 1]))}
        if draw(some.integers(0, 3)) == 0:
            step["tool"] = draw(laws())
        step["group"] = draw(some.sampled_from("xxy"))
        chosen.append(step)
    return chosen


@some.composite
def verbs(draw: some.DrawFn, where: str, lanes: bool, effect: bool = False) -> list[Any]:
    """A list of verbs, as odd as the rules allow."""

    def others(*targets: str) -> list[Any]:
        save = some.fixed_dictionaries(
            {
                "verb": some.just("save"),
                "resume": some.sampled_from(targets),
                "lane": some.sampled_from([None, None, "a", "b"] if lanes else [None]),
                "delta": some.sampled_from([False, False, True]),
            }
        )
        return draw(some.lists(some.one_of(some.just("work"), save, save, some.just("drain")), max_size=2))

    usual = ("next", "next", "here")
    if where == "begin":
        return others("here") if draw(some.booleans()) else []
    if where == "end":
        return others(*usual)
    if where == "plain":
        return [*others(*usual), "work", *others(*usual)]
    if effect:
        return [*others(*usual), "work", {"verb": "save", "holds": "effect"}, *others(*usual)]
    asks = draw(some.sampled_from([[], ["query"], ["park"]]))
    return [*others(*usual, "call", *asks), *asks, "call", *others(*usual)]


PROTOCOLS = [
    *("restart", "checkpoint", "save_first", "async", "intent_query", "intent_park", "transaction"),
    *("two_part", "two_part_async", "memory"),
]
PLACEMENTS: list[dict[str, Any]] = [
    *({}, {}, {"every": 2}, {"after_actions": True}, {"after_groups": True}, {"steps": [1]}),
]
KEYS = ["none", "none", "run_step", "run_step", "per_send", "per_attempt"]


@some.composite
def strategies(draw: some.DrawFn, count: int) -> dict[str, Any]:
    """Strategies; half of them spell their lists out."""
    placement = draw(some.sampled_from([*PLACEMENTS, {"steps": [count]}]))
    strategy: dict[str, Any] = {"key": draw(some.sampled_from(KEYS)), "last": draw(some.booleans())}
    if draw(some.booleans()):
        strategy["protocol"] = draw(some.sampled_from(PROTOCOLS))
        effect = strategy["protocol"] == "transaction"
    else:
        lanes, effect = draw(some.booleans()), draw(some.integers(0, 3)) == 0
        for where in ("begin", "plain", "action", "end"):
            strategy[where] = draw(verbs(where, lanes, effect))
        strategy["if_nothing"] = draw(some.sampled_from(["restart", "restart", "stuck"]))
        strategy["memory_only"] = not effect and draw(some.integers(0, 7)) == 0
    if effect:
        del strategy["key"]
    return strategy | placement


@some.composite
def crashes(draw: some.DrawFn) -> Any:
    phases = ("load", "work", "tool", "prepare", "request", "response", "write", "ack", "query", "drain")
    weights = some.dictionaries(
        some.sampled_from(phases), some.sampled_from([0, 0.4, 1, 2.5, 1e-9]), max_size=4
    )
    exposure = {"exposure": draw(some.one_of(some.just({}), weights, weights.map(with_a_poison_step)))}
    life = {"process": "renewal", "law": draw(laws(low=1))}
    shape = draw(some.sampled_from([0.7, 2.0]))
    aging = life | {"law": {"law": "weibull", "mean": draw(some.sampled_from([2.0, 9.0])), "shape": shape}}
    once = [{"process": "uniform_time"} | exposure, {"process": "uniform_step", "gap_share": 0.5}]
    deploys = {
        "process": "periodic",
        "period": draw(some.integers(3, 9)),
        "jitter": draw(few := some.integers(0, 2)),
    }
    age = draw(some.sampled_from(["fresh", "equilibrium", 0.5]))
    again = [
        life | exposure,
        life | {"clock": "host"} | exposure,
        aging | {"start": age, "clock": draw(some.sampled_from(["process", "host"]))} | exposure,
        aging | {"start": age, "clock": "host", "renew": "never"},
        deploys,
        deploys | {"first": draw(some.integers(0, 5)), "grace": draw(few)},
        {"process": "bursts", "calm_mean": 20, "storm_mean": 2, "calm_lasts": 8, "storm_lasts": 4},
        aging | {"clock": "host", "renew": "never"} | exposure,
        aging | {"clock": "host", "renew": "never", "ages_in_downtime": True},
        life | {"clock": "host", "ages_in_downtime": True},
        {"process": "at", "times": draw(some.lists(some.integers(0, 25), min_size=1, max_size=8))},
    ]
    several = draw(some.lists(some.sampled_from(again), min_size=2, max_size=3))
    named = [source | {"cause": f"cause {k}"} for k, source in enumerate(several)]
    return draw(some.sampled_from([*once, *again, {"process": "any_of", "of": named}]))


def with_a_poison_step(weights: dict[str, Any]) -> dict[str, Any]:
    return weights | {"steps": {"0": 3.0}}


BACKOFF = {"backoff": {"first": 1, "most": 3, "reset_after": 4}}


@some.composite
def scenarios(draw: some.DrawFn) -> Scenario:
    def services(*names: str) -> dict[str, Any]:
        return {name: draw(laws()) for name in names if draw(some.booleans())}

    def one_in_four(changes: dict[str, Any]) -> dict[str, Any]:
        return changes if draw(some.integers(0, 3)) == 0 else {}

    chosen = draw(steps())
    strategy = draw(strategies(len(chosen)))
    if not any(step.get("action", {}).get("probability") for step in chosen):
        strategy.pop("key", None)
    limits: dict[str, Any] = {"attempts": draw(some.integers(1, 6))}
    if draw(some.integers(0, 2)) == 0:
        limits["makespan"] = draw(some.integers(1, 25))
    store = services("write", "ack") | one_in_four({"growth": 0.5})
    saves = [verb for verb in Strategy.model_validate(strategy).verbs if isinstance(verb, Save)]
    if not any(verb.lane or verb.acts for verb in saves):
        store |= one_in_four({"slots": 1, "torn": 0.5})
    receiver = services("prepare", "request", "response", "query", "lag")
    receiver |= one_in_four({"on_disconnect": "cancels"})
    receiver |= {"keys": one_in_four({"ttl": draw(some.integers(1, 12))})}
    downtime = services("detection", "restart", "load") | draw(some.sampled_from([{}, {}, BACKOFF]))
    return Scenario.model_validate(
        {
            "workload": {"steps": chosen},
            "strategy": strategy,
            "crash": draw(crashes()),
            "store": store,
            "receiver": receiver,
            "downtime": downtime | one_in_four({"replay": draw(laws())}),
            "limits": limits,
            "frozen": draw(some.booleans()),
        }
    )


def check(scenario: Scenario, block: int) -> None:
    program = unfold(scenario)
    assert not timeline.cannot(program)
    on_both(program, lambda: Streams(7, block, RUNS))


@settings(derandomize=True, deadline=None, max_examples=320)
@given(scenarios(), some.integers(0, 10**6))
def test_engines_agree_on_random_scenarios(scenario: Scenario, block: int) -> None:
    check(scenario, block)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=3200)
@given(scenarios(), some.integers(0, 10**6))
def test_engines_agree_on_many_random_scenarios(scenario: Scenario, block: int) -> None:
    check(scenario, block)


def test_retries_without_a_time_out_change_nothing_and_need_no_conversation() -> None:
    plain = build(STRATEGIES["checkpoint"], random_parts(1), crash=OFTEN)
    again = build(STRATEGIES["checkpoint"], random_parts(1), crash=OFTEN, client={"retries": [{"tries": 6}]})
    blocks = [on_both(unfold(scenario), lambda: Streams(7, 0, 64)) for scenario in (plain, again)]
    assert disagreement(*blocks) is None
    fails = build(
        STRATEGIES["checkpoint"], random_parts(1), client={"retries": [{}]}, receiver={"fails": 0.1}
    )
    assert timeline.cannot(unfold(fails))
