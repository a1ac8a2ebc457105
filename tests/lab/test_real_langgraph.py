"""A LangGraph agent that dies at a named point leaves what the simulated system leaves.

The cases are those of kill tests with LangGraph 1.2: in the middle of a node after its effect, while the
checkpoint is saved, and with a store that is slower than the nodes.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sim
from sim.lab import frameworks
from sim.lab.laboratory import Laboratory
from sim.lab.translation import runs
from sim.scenario import Scenario

pytestmark = pytest.mark.skipif(
    frameworks.missing("langgraph:sync") is not None, reason="LangGraph is not installed: make lab"
)

STEPS = 4
WORK_S = 10.0
SLOW_NS = 20_000_000_000
COUNTED = ["crashes", "redone_steps", "duplicate_actions", "lost_actions", "blocked_duplicates", "stuck"]
PROTOCOLS = {"sync": "two_part", "async": "two_part_async", "exit": "on_exit"}


def scenario(mode: str, key: str, write_s: float, crash: dict[str, Any]) -> Scenario:
    """Steps of 10 s and calls of 2 s, much longer than a save unless that is slow."""
    steps = [{"name": f"step {n}", "work": WORK_S, "action": {}} for n in range(STEPS)]
    strategy = {"protocol": PROTOCOLS[mode], "key": key, "if_nothing": "stuck"}
    return Scenario.model_validate(
        {
            "workload": {"steps": steps},
            "strategy": strategy,
            "store": {"write": write_s},
            "receiver": {"request": 1.0, "response": 1.0},
            "crash": crash,
        }
    )


def done_s(mode: str, step: int, write_s: float) -> float:
    """When a step is done: its input is saved before the first, and a synchronous graph waits for saves."""
    waits = write_s if mode == "sync" else 0.0
    return 2 * waits + step * waits + (step + 1) * (WORK_S + 2.0)


@pytest.mark.parametrize("key", ["none", "run_step"])
@pytest.mark.parametrize(
    ("mode", "point", "after_done_s", "write_s", "slow", "scale"),
    [
        ("sync", "step_done", 0.0, 0.1, (0, 0), 0.001),
        ("sync", "writes_saved", 0.08, 0.1, (0, 0), 0.001),
        ("async", "step_done", 0.0, 0.1, (0, 0), 0.02),  # a save is long over when the next step is done
        ("async", "step_done", 0.0, 1000.0, (-2, SLOW_NS), 0.001),
        ("exit", "step_done", 0.0, 0.1, (0, 0), 0.001),
    ],
)
def test_every_step(
    mode: str,
    point: str,
    after_done_s: float,
    write_s: float,
    slow: tuple[int, int],
    scale: float,
    key: str,
    tmp_path: Path,
) -> None:
    real = scenario(mode, key, write_s, {"process": "none"})
    made = runs(real, 1, seed=1, scale=scale, name="run", walks=f"langgraph:{mode}")
    orders = {
        step: replace(made.orders[0], run=f"run-{step}", halt=(step, point), slow=slow)
        for step in range(STEPS)
    }
    with Laboratory("sqlite-full", 2, tmp_path) as laboratory:
        reports = {report.run: report for report in laboratory.run(orders.values())}
    for step, order in orders.items():
        found = replace(made, orders=[order]).tally([reports[order.run]]).columns
        crash = {"process": "at", "times": [done_s(mode, step, write_s) + after_done_s]}
        wanted = sim.simulate(scenario(mode, key, write_s, crash), n=1, seed=1)
        outcome = {name: (float(found[name][0]), float(wanted[name].iloc[0])) for name in COUNTED}
        assert all(one == other for one, other in outcome.values()), (step, outcome)


def test_steps_that_ran_ahead_of_a_checkpoint_are_repeated(tmp_path: Path) -> None:
    """The steps after b have run and written, but what they wrote needs the checkpoint of b: abcd|cd."""
    made = runs(scenario("async", "none", 0.1, {"process": "none"}), 1, 1, 0.005, "run", "langgraph:async")
    order = replace(made.orders[0], halt=(3, "step_done"), slow=(1, SLOW_NS))
    with Laboratory("sqlite-full", 1, tmp_path) as laboratory:
        (report,) = laboratory.run([order])
    assert [step for step, _ in report.performed] == [0, 1, 2, 3, 2, 3]
    assert report.finished
