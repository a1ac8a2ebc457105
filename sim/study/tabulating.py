"""Sums over the runs of an experiment's cells, turned into tables."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from sim import theory
from sim.estimate import CONTRASTED, METRICS, contrast, estimate
from sim.scenario import Scenario
from sim.study.config import Cell, Plan
from sim.sums import Sums

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Tables:
    """Results of an experiment.

    Attributes
    ----------
    estimates : DataFrame
        The cell's factors, strategy, metric, n, estimate, low, high, method, exact.
    contrasts : DataFrame
        The cell's factors, first, second, metric, n, difference (second − first), low, high, method, level,
        variance_reduction.
    published : DataFrame
        strategy, metric, published, published_n, estimate, exact, z: how many standard errors of the
        published n lie between the published value and ours (the exact one if known), beyond its rounding.
        Empty where nothing was published.
    """

    estimates: pd.DataFrame
    contrasts: pd.DataFrame
    published: pd.DataFrame


def tabulate(plan: Plan, cells: Iterable[tuple[Cell, Sums]]) -> Tables:
    """Make the tables of an experiment.

    Parameters
    ----------
    plan : Plan
        The experiment.
    cells : iterable of (Cell, Sums)
        Its cells with the sums over their runs; those that failed are missing.
    """
    estimates: list[dict[str, Any]] = []
    contrasts: list[dict[str, Any]] = []
    published: list[dict[str, Any]] = []
    experiment = plan.experiment
    headline = [metric for metric in experiment.headline if METRICS[metric].kind in CONTRASTED]
    # Bonferroni: all contrasts of the headline in all cells hold together with the confidence.
    asked = max(len(experiment.pairs()) * len(headline) * len(plan.cells), 1)
    level = 1 - (1 - CONFIDENCE) / asked
    for cell, sums in cells:
        for name, scenario in cell.scenarios.items():
            exact = _exact(scenario)
            for metric in METRICS:
                found = estimate(sums, metric, name, CONFIDENCE)
                row = {"strategy": name, **asdict(found), "exact": exact.get(metric)}
                estimates.append({**cell.factors, **row})
                if cell.factors == plan.base and experiment.published:
                    value = experiment.published.values.get(name, {}).get(metric)
                    if value is not None:
                        published.append(_compare(sums, row, value, experiment.published.n))
        for first, second in experiment.pairs():
            for metric in headline:
                apart = contrast(sums, metric, first, second, level)
                row = {"first": first, "second": second, **asdict(apart), "level": level}
                contrasts.append({**cell.factors, **row})
    return Tables(pd.DataFrame(estimates), pd.DataFrame(contrasts), pd.DataFrame(published))


def _exact(scenario: Scenario) -> dict[str, float]:
    """Give what is known of a scenario without simulation, rates included."""
    found = theory.exact(scenario)
    rates = {
        name: what.times * found[what.part] / found[what.whole]
        for name, what in METRICS.items()
        if what.kind == "rate" and what.part in found and found.get(what.whole, 0.0) > 0
    }
    return found | rates


def _compare(sums: Sums, row: dict[str, Any], value: Decimal, n: int) -> dict[str, Any]:
    """Set a published value beside ours: how many of its standard errors apart, rounding forgiven?"""
    column = {(row["strategy"], METRICS[row["metric"]].part): 1.0}
    ours = row["estimate"] if row["exact"] is None else row["exact"]
    rounding = 0.5 * 10.0 ** int(value.as_tuple().exponent)
    apart = float(value) - ours
    beyond = np.copysign(max(abs(apart) - rounding, 0.0), apart)
    error = (sums.product(column, column) / sums.n / n) ** 0.5
    kept = {key: row[key] for key in ("strategy", "metric", "estimate", "low", "high", "exact")}
    z = beyond / error if error else (0.0 if beyond == 0 else np.inf)
    return {**kept, "published": float(value), "published_n": n, "z": z}
