"""Random scenarios with fixed seeds, and every strategy, for what holds whatever the numbers are.

And a simulation on both engines: whatever is said of it is said of both.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from sim import Scenario, events, simulate, timeline
from sim.program import Program
from sim.simulation import disagreement
from sim.streams import Streams
from sim.timeline import Columns

LANE = {"verb": "save", "lane": "a"}
OTHER_LANE = {"verb": "save", "lane": "b"}


def save(resume: str) -> dict[str, Any]:
    return {"verb": "save", "resume": resume}


STRATEGIES: dict[str, dict[str, Any]] = {
    "restart": {"protocol": "restart"},
    "checkpoint": {"protocol": "checkpoint"},
    "checkpoint every 2nd": {"protocol": "checkpoint", "every": 2},
    "checkpoint after actions": {"protocol": "checkpoint", "after_actions": True},
    "checkpoint listed": {"protocol": "checkpoint", "steps": [1, 3], "last": False},
    "save first": {"protocol": "save_first"},
    "async": {"protocol": "async"},
    "async every 2nd": {"protocol": "async", "every": 2, "last": False},
    "intent query": {"protocol": "intent_query"},
    "intent query every 3rd": {"protocol": "intent_query", "every": 3},
    "intent redo": {"plain": ["work", "save"], "action": ["work", save("call"), "call", "save"]},
    "at most once": {"plain": ["save", "work"], "action": ["save", "work", "call"]},
    "save here": {"plain": [save("here"), "work"], "action": [save("here"), "work", "call"]},
    "on exit": {"plain": ["work"], "action": ["work", "call"], "end": ["save"]},
    "two lanes": {
        "plain": ["work", LANE],
        "action": ["work", {**save("call"), "lane": "b"}, "call", OTHER_LANE],
        "end": ["drain"],
    },
    "lane and drain": {"plain": ["work", LANE, "drain"], "action": ["work", "call", LANE, "drain"]},
    "lanes, not waited for": {"plain": ["work", LANE], "action": ["work", "call", LANE]},
    "call before work": {"plain": ["work", "save"], "action": ["call", "work", "save"]},
}


def random_law(rng: np.random.Generator, mean: float, families: int = 5) -> dict[str, Any]:
    """Give a law of one of several families with about this mean, s; the first four have no upper bound."""
    shape = float(rng.uniform(0.6, 4))
    return [
        {"law": "gamma", "mean": mean, "shape": shape},
        {"law": "lognormal", "median": mean, "sigma": shape / 4},
        {"law": "weibull", "mean": mean, "shape": shape},
        {"law": "exponential", "mean": mean},
        {"law": "uniform", "low": mean / 2, "high": 3 * mean / 2},
    ][rng.integers(families)]


def random_parts(
    number: int, second: float = 1.0, probabilities: tuple[float, ...] = (0, 0.5, 1)
) -> dict[str, Any]:
    """Give all parts of a scenario but its strategy.

    Parameters
    ----------
    number : int
        Which: the same number gives the same scenario.
    second : float
        Length of a second: all times are multiplied by it.
    probabilities : tuple of float
        Of which a step's action has one, if it has one.
    """
    rng = np.random.default_rng(number)

    def law(low: float, high: float) -> dict[str, Any]:
        return random_law(rng, float(rng.uniform(low, high)) * second)

    steps = []
    for step in range(rng.integers(3, 7)):
        parts: dict[str, Any] = {
            "name": f"step {step}",
            "work": law(1, 20),
            "tokens": float(rng.integers(1, 9)),
        }
        if rng.random() < 0.3:
            parts["tool"] = law(0.5, 5)
        if rng.random() < 0.6:
            parts["action"] = {"probability": float(rng.choice(probabilities))}
        steps.append(parts)
    if max(probabilities) and not any(step.get("action", {}).get("probability") for step in steps):
        steps[0]["action"] = {}
    exposure = {"write": 5.0, "load": 0.5, "response": 0.0, "drain": 2.5} if rng.random() < 0.4 else {}
    lifetime = random_law(rng, float(rng.uniform(20, 60)) * second, families=4)
    crash = [
        {"process": "uniform_time", "exposure": exposure},
        {"process": "renewal", "law": lifetime, "exposure": exposure},
        {"process": "renewal", "law": lifetime, "clock": "host", "renew": "never"},
    ][rng.integers(3)]
    return {
        "workload": {"steps": steps},
        "crash": crash,
        "store": {"write": law(0.1, 4), "ack": law(0.1, 1)},
        "receiver": {
            "prepare": law(0.1, 1),
            "request": law(0.5, 10),
            "response": law(0.5, 5),
            "query": law(0.5, 2),
            "lag": law(0.1, 3),
        },
        "downtime": {"detection": law(1, 5), "restart": law(1, 5), "load": law(0.5, 2)},
        "limits": {"attempts": 40},
    }


PROTECTED = [
    *("restart", "checkpoint", "save_first", "at_most_once", "async", "buffered", "on_exit", "two_part"),
    *("two_part_async", "intent_redo", "intent_query", "intent_park", "transaction", "outbox", "memory"),
]


LIFE = {"law": "exponential", "mean": 8.0}


def random_troubles(number: int) -> Scenario:
    """Give a scenario with about all that can go wrong, crashes or not: for the events engine."""
    rng = np.random.default_rng((number, 1))

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    def law(low: int = 0) -> Any:
        mean = float(pick(0.5, 1.0, 3.0))
        return pick(
            int(rng.integers(low, 4)), {"law": "exponential", "mean": mean}, {"law": "uniform", "high": mean}
        )

    def maybe(chance: float, **parts: Any) -> dict[str, Any]:
        return parts if rng.random() < chance else {}

    steps = [
        {"name": str(n), "work": law(), "action": {"probability": pick(1.0, 0.5)}}
        for n in range(pick(1, 2, 4))
    ]
    strategy: dict[str, Any] = {"protocol": PROTECTED[number % len(PROTECTED)]}
    if strategy["protocol"] != "transaction" and rng.random() < 0.6:
        strategy |= {"key": pick("per_attempt", "arguments", "run_step"), "run_id": pick("given", "made")}
    if strategy["protocol"] == "async":
        strategy["lanes"] = {
            "background": {"bound": pick(2, 3), "batch": pick(1, 2)} | maybe(0.5, linger=1.5)
        }
    if strategy["protocol"] == "outbox":
        strategy["relay"] = {"poll": law(), "mark": law(), "life": LIFE, "restart": law()}
    keys = {
        "remembers": pick("success", "all"),
        "mismatch": pick("ignore", "error"),
        "claim": pick("atomic", "check_then_insert"),
        "concurrent": pick("wait", "in_progress"),
    }
    receiver = {part: law() for part in ("prepare", "request", "handling", "response", "query", "lag")}
    watch = {"lease": pick(2, 5), "renew": 1} | maybe(0.8, stalls={"every": law(1), "lasts": law(1)})
    watch |= maybe(0.3, step_timeout=pick(3, 9)) | {"cancels": pick(False, False, True)}
    return Scenario.model_validate(
        {
            "workload": {"steps": steps, "rewords": pick(0.0, 0.5)},
            "strategy": strategy,
            "store": {"write": law(), "ack": law()},
            "receiver": receiver
            | {
                "keys": keys
                | maybe(0.4, ttl=pick(2, 8))
                | maybe(0.4, claim_expires=pick(2, 8))
                | maybe(0.3, forgets=0.4)
            }
            | {"on_disconnect": pick("continues", "cancels")}
            | maybe(0.3, request_lost=0.3)
            | maybe(0.3, answer_lost=0.3)
            | maybe(0.3, fails=0.3)
            | maybe(0.3, outages={"up": law(1), "down": law(1)}, during_outage=pick("error", "silence")),
            "client": {
                "timeout": pick(2, 8),
                "retries": [{"tries": pick(2, "forever"), "first": pick(0, 1)}],
            },
            "downtime": {"restart": law(), "load": law()},
            "supervision": watch | {"fencing": pick("none", "record", "effect")},
            "crash": pick("none", {"process": "renewal", "law": LIFE}),
            "limits": {"attempts": pick(2, 5), "tries": 9} | maybe(0.3, makespan=pick(9, 30)),
            "frozen": pick(False, True),
        }
        | maybe(0.3, provider={"up": law(1), "down": law(1)})
    )


def build(strategy: dict[str, Any], parts: dict[str, Any], **changes: Any) -> Scenario:
    return Scenario.model_validate({"strategy": strategy} | parts | changes)


def on_both(program: Program, draws: Callable[[], Streams]) -> Columns:
    """Simulate a block on both engines, which must agree."""
    theirs = events.simulate_block(program, draws()).columns
    ours = timeline.simulate_block(program, draws())
    assert {name: values.dtype for name, values in ours.items()} == {
        name: values.dtype for name, values in theirs.items()
    }
    assert disagreement(theirs, ours) is None
    return theirs


def simulate_on_both(scenario: Scenario, n: int, seed: int) -> pd.DataFrame:
    """Simulate replications on both engines, which must agree."""
    theirs, ours = (
        {name: column.to_numpy() for name, column in simulate(scenario, n, seed, engine).items()}
        for engine in ("events", "timeline")
    )
    assert disagreement(theirs, ours) is None
    return pd.DataFrame(theirs)
