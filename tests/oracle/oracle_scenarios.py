"""The scenarios of the oracle tests: the fixture with twelve constant steps, and the support agent."""

import tomllib
from pathlib import Path
from typing import Any

import sim

DURATIONS = (20, 35, 50, 15, 40, 60, 10, 30, 45, 25, 55, 70)
ACTING = (4, 7, 10)
PHI = 0.9
"""The fixture's action commits at this share of its step."""

RESTART = {"protocol": "restart"}
CHECKPOINT = {"protocol": "checkpoint"}
KEYS = {"protocol": "checkpoint", "key": "run_step"}
SAVE_FIRST = {"protocol": "save_first"}


def every(k: int) -> dict[str, Any]:
    return {"protocol": "checkpoint", "every": k}


def poisson(mean: float) -> dict[str, Any]:
    return {"process": "renewal", "law": {"law": "exponential", "mean": mean}}


def scenario(steps: list[dict[str, Any]], **rest: Any) -> sim.Scenario:
    named = [{"name": f"step {number}"} | step for number, step in enumerate(steps, 1)]
    return sim.Scenario.model_validate({"workload": {"steps": named}} | rest)


def fixture(**rest: Any) -> sim.Scenario:
    """1.7: a step that acts works for a share of its time and waits for the answer in the rest."""
    steps = [
        {"work": PHI * d, "tool": (1 - PHI) * d, "action": {}} if i in ACTING else {"work": float(d)}
        for i, d in enumerate(DURATIONS, 1)
    ]
    return scenario(steps, **{"store": {"write": 2.0}, "downtime": {"detection": 30.0, "load": 5.0}} | rest)


def support_agent(**rest: Any) -> sim.Scenario:
    path = Path(__file__).parents[2] / "experiments" / "workloads" / "support-agent.toml"
    answer = {"law": "lognormal", "median": 0.3, "sigma": 0.6}
    return sim.Scenario.model_validate(
        {"workload": tomllib.loads(path.read_text()), "receiver": {"response": answer}} | rest
    )
