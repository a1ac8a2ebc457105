"""The scenarios that are timed: the article's workload, cut or repeated, with as many crashes as wanted."""

import tomllib
from itertools import cycle, islice
from math import exp, log, sqrt
from pathlib import Path

from sim.scenario import Scenario

ROOT = Path(__file__).parents[1]
SEED = 24

CHECKPOINT = {"protocol": "checkpoint"}
LANE = {"protocol": "async"}
WITHOUT_LANES = ({"protocol": "restart"}, CHECKPOINT, CHECKPOINT | {"key": "run_step"})
_SAVE_BEHIND = {"verb": "save", "lane": "background"}
WITH_LANES = (
    LANE,
    LANE | {"key": "run_step"},
    {"plain": ["work", _SAVE_BEHIND], "action": ["work", "call", "save"], "end": ["drain"]},
)
"""Three strategies that share their random numbers, as in a study."""

ONE_CRASH = {"process": "uniform_time"}


def mean_life_s(steps: int, lives: float) -> float:
    """Mean time between crashes, of which a run without crashes, 3 s and a save a step, lasts so many."""
    return steps * (3.0 + 0.04 * exp(0.6**2 / 2)) / lives


def exponential(mean_s: float) -> dict:
    """Crashes at a constant rate."""
    return {"process": "renewal", "law": {"law": "exponential", "mean": mean_s}}


def workload(steps: int = 12, lognormal: bool = False) -> dict:
    """The article's steps in turn, a quarter of which act; work lognormal, of the same spread, if wanted."""
    file = ROOT / "experiments" / "workloads" / "support-agent.toml"
    given = tomllib.loads(file.read_text(encoding="utf-8"))
    turns = islice(cycle(given["steps"]), steps)
    found = [given["default"] | step | {"name": f"{i} {step['name']}"} for i, step in enumerate(turns)]
    if lognormal:
        for step in found:
            spread = log(1 + 1 / step["work"]["shape"])
            median = step["work"]["mean"] / exp(spread / 2)
            step["work"] = {"law": "lognormal", "median": median, "sigma": sqrt(spread)}
    return {"steps": found}


def scenario(strategy: dict, crash: dict, **of_workload: int) -> Scenario:
    """A strategy on the workload, under a crash process."""
    return Scenario.model_validate(
        {
            "workload": workload(**of_workload),
            "strategy": strategy,
            "crash": crash,
            "store": {"write": {"law": "lognormal", "median": 0.04, "sigma": 0.6}},
            "receiver": {"response": {"law": "lognormal", "median": 0.3, "sigma": 0.6}},
            "downtime": {"detection": 5.0},
        }
    )
