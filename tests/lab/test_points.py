"""An agent that kills itself at a named point leaves what the simulator gives for a crash there.

No chance is in it: which mark has been passed decides.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
from sim.lab.agent import POINTS
from sim.lab.laboratory import Laboratory
from sim.lab.stores import STORES
from sim.lab.translation import runs
from sim.outcomes import OUTCOMES
from sim.program import unfold
from sim.scenario import Scenario

SECOND = {"law": "constant", "value": 1.0}
COUNTED = [
    name
    for name in OUTCOMES
    if not name.endswith("_s") and name not in ("wasted_tokens", "rule_duplicates", "saves")
]
ALL_ACT = [{"name": f"step {n}", "work": SECOND, "action": {}} for n in range(1, 13)]
FEW_ACT = [
    {"name": f"step {n}", "work": SECOND} | ({"action": {}} if n in (2, 4) else {}) for n in range(1, 5)
]


def scenario(strategy: dict[str, Any], steps: list[dict[str, Any]], crash: dict[str, Any]) -> Scenario:
    return Scenario.model_validate(
        {
            "workload": {"steps": steps},
            "strategy": strategy,
            "crash": crash,
            "store": {"write": SECOND, "ack": SECOND},
            "receiver": dict.fromkeys(("prepare", "request", "response", "query"), SECOND),
        }
    )


def simulated(
    strategy: dict[str, Any], steps: list[dict[str, Any]], step: int, where: tuple[str, str]
) -> Any:
    """What the simulator gives for a crash within a phase of a step, or at its end; None without one."""
    program = unfold(scenario(strategy, steps, {"process": "none"}))
    acts = np.array([bool(s.acts) for s in program.scenario.workload.steps])
    path = [phase for phase in program.path(acts) if phase.name not in ("query", "park")]
    at = [n for n, phase in enumerate(path) if phase.step == step and phase.name == where[0]]
    if not at:
        return None
    crash = {"process": "at", "times": [at[0] + (1.0 if where[1] == "end" else 0.5)]}
    return sim.simulate(scenario(strategy, steps, crash), n=1, seed=1)[COUNTED].iloc[0]


def cases(
    store: str, strategy: dict[str, Any], steps: list[dict[str, Any]]
) -> Iterator[tuple[str, int, Any]]:
    for point, where in {**POINTS, **STORES[store].points}.items():
        for step in range(len(steps)):
            expected = simulated(strategy, steps, step, where)
            if expected is not None:
                yield point, step, expected


def check(folder: Path, store: str, strategies: list[dict[str, Any]], steps: list[dict[str, Any]]) -> int:
    """Let agents die at all points, and compare; give how many cases there were."""
    made, expected = [], {}
    for number, strategy in enumerate(strategies):
        one = runs(scenario(strategy, steps, {"process": "none"}), 1, seed=1, scale=1e-4, name=f"{number}")
        for point, step, wanted in cases(store, strategy, steps):
            order = replace(one.orders[0], run=f"{number}-{point}-{step}", halt=(step, point))
            expected[order.run] = (replace(one, orders=[order]), wanted)
            made.append(order)
    wrong = []
    with Laboratory(store, 2, folder) as laboratory:
        for report in laboratory.run(made):
            set_of_one, wanted = expected.pop(report.run)
            found = set_of_one.tally([report]).columns
            for name in COUNTED:
                real, simulated = float(found[name][0]), float(wanted[name])
                if real != simulated and not (np.isnan(real) and np.isnan(simulated)):
                    wrong.append(f"{report.run}: {name} is {real}, simulated {simulated}")
    assert not expected
    assert not wrong, "\n".join(wrong[:20])
    return len(made)


@pytest.mark.parametrize("store", ["file", "sqlite-full"])
def test_every_point_of_every_step_with_and_without_keys(store: str, tmp_path: Path) -> None:
    strategies = [{"protocol": "checkpoint"}, {"protocol": "checkpoint", "key": "run_step"}]
    points = len(POINTS) + len(STORES[store].points)
    assert check(tmp_path, store, strategies, ALL_ACT) == points * 12 * 2


@pytest.mark.parametrize(
    "strategy",
    [
        {"protocol": "restart"},
        {"protocol": "save_first"},
        {"protocol": "at_most_once"},
        {"protocol": "intent_redo"},
        {"protocol": "intent_redo", "key": "per_send"},
        {"protocol": "intent_query"},
        {"protocol": "intent_park"},
        {"protocol": "transaction"},
        {"protocol": "outbox"},
        {"protocol": "checkpoint", "after_actions": True},
        {"protocol": "checkpoint", "key": "per_attempt"},
    ],
    ids=str,
)
def test_every_strategy(strategy: dict[str, Any], tmp_path: Path) -> None:
    assert check(tmp_path, "sqlite-normal", [strategy], FEW_ACT) >= 6


def test_memory_keeps_nothing(tmp_path: Path) -> None:
    assert check(tmp_path, "memory", [{"protocol": "memory"}], FEW_ACT) >= 10
