"""Run the cells of an experiment, block by block, on all cores; turn runs into tables.

Blocks are of fixed size and keyed by seed and number, so the number of workers changes no digit.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from sim import theory
from sim.estimate import CONTRASTED, METRICS, contrast, estimate
from sim.events import simulate_block
from sim.program import unfold
from sim.scenario import Scenario
from sim.simulation import blocks
from sim.streams import Streams
from sim.study.config import Cell, Plan

Columns = dict[str, np.ndarray[Any, Any]]
Runs = dict[str, pd.DataFrame]
"""The runs of one cell, by strategy."""

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


def simulate_strategies(
    scenarios: dict[str, Scenario], seed: int, block: int, size: int
) -> dict[str, Columns]:
    """Simulate a block under every strategy, on common random numbers."""
    draws = Streams(seed, block, size)
    return {name: simulate_block(unfold(scenario), draws).columns for name, scenario in scenarios.items()}


def simulate_cells(
    cells: list[Cell], replications: int, seed: int, jobs: int, advance: Callable[[int], None]
) -> Iterator[tuple[Cell, Runs]]:
    """Simulate cells, one after the other, and give the runs of each.

    Parameters
    ----------
    cells : list of Cell
    replications, seed, jobs : int
        Runs of each strategy in each cell; seed of the study; processes at work.
    advance : callable
        Told how many runs have been added, whenever some have.
    """
    sizes = list(blocks(replications))
    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch="3*n_jobs")
    done = parallel(
        delayed(simulate_strategies)(cell.scenarios, seed, block, size)
        for cell in cells
        for block, size in sizes
    )
    for cell in cells:
        parts: list[dict[str, Columns]] = []
        for _, size in sizes:
            parts.append(next(done))
            advance(size * len(cell.scenarios))
        yield (
            cell,
            {
                name: pd.DataFrame(
                    {column: np.concatenate([part[name][column] for part in parts]) for column in runs}
                )
                for name, runs in parts[0].items()
            },
        )


def run(plan: Plan, replications: int, seed: int, jobs: int, advance: Callable[[int, int], None]) -> Tables:
    """Run an experiment.

    Parameters
    ----------
    plan : Plan
        The experiment.
    replications, seed, jobs : int
        Runs of each strategy in each cell; seed of the study; processes at work.
    advance : callable
        Told (cells, runs) that have been added.
    """
    estimates: list[dict[str, Any]] = []
    contrasts: list[dict[str, Any]] = []
    published: list[dict[str, Any]] = []
    experiment = plan.experiment
    headline = [metric for metric in experiment.headline if METRICS[metric].kind in CONTRASTED]
    # Bonferroni: all contrasts of the headline in all cells hold together with the confidence.
    asked = max(len(experiment.pairs()) * len(headline) * len(plan.cells), 1)
    level = 1 - (1 - CONFIDENCE) / asked
    for cell, runs in simulate_cells(plan.cells, replications, seed, jobs, lambda n: advance(0, n)):
        for name, frame in runs.items():
            exact = theory.exact(cell.scenarios[name])
            for metric in METRICS:
                found = asdict(estimate(frame, metric, CONFIDENCE))
                row = {"strategy": name, **found, "exact": exact.get(metric)}
                estimates.append({**cell.factors, **row})
                if cell is plan.cells[0] and experiment.published:
                    value = experiment.published.values.get(name, {}).get(metric)
                    if value is not None:
                        published.append(_compare(row, value, experiment.published.n, frame))
        for first, second in experiment.pairs():
            for metric in headline:
                difference = contrast(runs[first], runs[second], metric, level)
                row = {"first": first, "second": second, **asdict(difference), "level": level}
                contrasts.append({**cell.factors, **row})
        advance(1, 0)
    return Tables(pd.DataFrame(estimates), pd.DataFrame(contrasts), pd.DataFrame(published))


def _compare(row: dict[str, Any], value: Decimal, n: int, frame: pd.DataFrame) -> dict[str, Any]:
    """Set a published value beside ours: how many of its standard errors apart, rounding forgiven?"""
    metric = METRICS[row["metric"]]
    values = frame[metric.column] > 0 if metric.kind == "share" else frame[metric.column]
    ours = row["estimate"] if row["exact"] is None else row["exact"]
    rounding = 0.5 * 10.0 ** int(value.as_tuple().exponent)
    apart = float(value) - ours
    beyond = np.copysign(max(abs(apart) - rounding, 0.0), apart)
    error = float(values.std()) / n**0.5
    kept = {key: row[key] for key in ("strategy", "metric", "estimate", "low", "high", "exact")}
    z = beyond / error if error else (0.0 if beyond == 0 else np.inf)
    return {**kept, "published": float(value), "published_n": n, "z": z}
