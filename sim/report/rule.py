"""The rule of thumb with its measured error: what the calculator of the report needs."""

from dataclasses import dataclass
from math import isnan
from pathlib import Path

import pandas as pd

from sim.report.answers import number
from sim.report.tables import one_at, read
from sim.study.config import Cell, Factor, Plan

LAW = "crash.law"
RATIO, SHARE, RATE = "rule_ratio", "p_duplicate", "duplicates_per_million"


@dataclass(frozen=True)
class Rule:
    """Duplicates ≈ crash rate × expected gap, and where an experiment measured how far that is off.

    Attributes
    ----------
    section, of : str
        Anchor and title of the experiment.
    strategy : str
        Of which the error is.
    points : list of (float, float)
        Expected gap of an action over the mean time between crashes, and duplicates over the rule; sorted.
    base, other_laws : str
        Law of the crashes; least and greatest number of duplicates over the rule with others of that mean,
        "" if there are none.
    gap_s : str
        Of an action at the experiment's base.
    """

    section: str
    of: str
    strategy: str
    points: list[tuple[float, float]]
    base: str
    other_laws: str
    gap_s: str


def rule(plans: list[Plan], results: Path) -> Rule | None:
    """Take the rule's error from the first experiment that names a strategy for the calculator.

    Parameters
    ----------
    plans : list of Plan
    results : Path
        Folder with their tables.
    """
    for plan in plans:
        if plan.experiment.calculator is not None:
            estimates = read(results / plan.name / "estimates.csv")
            return _rule(plan, plan.experiment.calculator, estimates)
    return None


def _rule(plan: Plan, strategy: str, estimates: pd.DataFrame) -> Rule | None:
    base = tuple(plan.base.values())
    gaps_s: dict[tuple[Factor, ...], float] = {}
    points, others = [], []
    for cell in plan.cells:
        ratio, share, rate = (_best(estimates, cell, strategy, metric) for metric in (RATIO, SHARE, RATE))
        if not (share > 0 and ratio > 0 and rate > 0):
            continue
        scenario = cell.scenarios[strategy]
        actions = sum(step.acts for step in scenario.workload.steps)
        of_an_action = share / ratio / actions  # what the rule says of a run, by action
        if cell.factors.get(LAW) != plan.base.get(LAW):
            others.append(rate / 1e6 / of_an_action)
            continue
        points.append((of_an_action, rate / 1e6 / of_an_action))
        gaps_s[tuple(cell.factors.values())] = of_an_action / scenario.crash.rate_per_s
    if len(points) < 2:  # nothing to interpolate between
        return None
    return Rule(
        section=plan.name,
        of=plan.experiment.title,
        strategy=strategy,
        points=sorted((float(f"{at:.4g}"), float(f"{ratio:.4g}")) for at, ratio in points),
        base=str(plan.base.get(LAW)),
        other_laws=f"{number(min(others))} to {number(max(others))}" if others else "",
        gap_s=number(gaps_s.get(base, min(gaps_s.values()))),
    )


def _best(estimates: pd.DataFrame, cell: Cell, strategy: str, metric: str) -> float:
    """Give an exact value, or the estimate where none is known."""
    row = one_at(estimates, cell.factors, strategy, metric)
    return float(row["estimate"] if isnan(row["exact"]) else row["exact"])
