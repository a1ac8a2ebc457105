"""Run the cells of an experiment, block by block, on all cores; turn sums over runs into tables.

Blocks are of fixed size, keyed by seed and number, and added up in their order, so the number of workers
changes no digit. A block is summed up where it was simulated, so memory does not grow with the number of
runs.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import reduce
from itertools import islice
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from sim import theory
from sim.estimate import CONTRASTED, METRICS, contrast, estimate
from sim.program import unfold
from sim.scenario import Scenario
from sim.simulation import Engine, blocks, check_engines, simulate_block
from sim.streams import Streams
from sim.study.config import Cell, Plan
from sim.study.errors import EnginesDifferError, InputError, Problem
from sim.study.precision import PILOT, PILOT_RUNS
from sim.sums import Sums
from sim.ticks import EndlessError
from sim.timeline import Columns

CONFIDENCE = 0.95

CHECKED = 64
"""How many runs of each strategy in each cell are simulated on both engines."""


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


@dataclass(frozen=True)
class Task:
    """A block of runs of a cell under every strategy: what one process does at a time."""

    where: str
    scenarios: dict[str, Scenario]
    engine: Engine
    seed: int
    block: int
    size: int

    def simulate(self) -> Sums:
        """Simulate the runs, on common random numbers.

        Raises
        ------
        EnginesDifferError
            If the engines do not agree on one of the cell's first runs.
        InputError
            If a run does not end, or a law gives no times.
        """
        draws = Streams(self.seed, self.block, self.size)
        tables = {}
        for name, scenario in self.scenarios.items():
            try:
                with np.errstate(all="ignore"):
                    tables[name] = self._simulated(name, scenario, draws)
            except (EndlessError, ValueError) as error:
                raise InputError([Problem(self.where, name, str(error))]) from error
            except OverflowError as error:
                sentence = "its times do not fit the clock, which ends after 146 years; set limits.makespan."
                raise InputError([Problem(self.where, name, sentence)]) from error
        return Sums.of(tables)

    def _simulated(self, name: str, scenario: Scenario, draws: Streams) -> Columns:
        program = unfold(scenario)
        if self.block == 0 and (wrong := check_engines(program, self.seed, min(self.size, CHECKED))):
            raise EnginesDifferError(f"{self.where}, {name}, seed {self.seed}, {wrong}")
        return simulate_block(program, draws, self.engine, conditionally=True)


def _tasks(plan: Plan, cell: Cell, seed: int, sizes: Iterable[tuple[int, int]]) -> Iterator[Task]:
    """One task for each (number, size) of a block."""
    where = ", ".join([plan.name, *(f"{key} = {value}" for key, value in cell.factors.items())])
    for block, size in sizes:
        yield Task(where, cell.scenarios, plan.experiment.engine, seed, block, size)


def _simulate(tasks: Iterable[Task], jobs: int) -> Iterator[Sums]:
    """Do tasks on so many processes; their sums come in the order of the tasks."""
    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch="3*n_jobs")
    return iter(parallel(delayed(task.simulate)() for task in tasks))


def needed(plan: Plan, most: int, seed: int, jobs: int) -> list[int]:
    """Find out by a pilot how many runs of each strategy the cells of an experiment need.

    Parameters
    ----------
    plan : Plan
        The experiment.
    most, seed, jobs : int
        Runs that a cell may have, and has where the experiment asks for no precision or they are few; seed of
        the study; processes at work.

    Returns
    -------
    list of int
        By cell.
    """
    experiment = plan.experiment
    if experiment.precision is None or most <= 2 * PILOT_RUNS:  # a pilot would spare nothing
        return [most] * len(plan.cells)
    tasks = (task for cell in plan.cells for task in _tasks(plan, cell, seed, [(PILOT, PILOT_RUNS)]))
    pilots = [
        [estimate(sums, metric, name) for name in experiment.strategies for metric in experiment.headline]
        for sums in _simulate(tasks, jobs)
    ]
    return [experiment.precision.runs(pilot, most) for pilot in pilots]


def run(
    plan: Plan, replications: list[int], seed: int, jobs: int, advance: Callable[[int, int], None]
) -> Tables:
    """Run an experiment.

    Parameters
    ----------
    plan : Plan
        The experiment.
    replications : list of int
        Runs of each strategy, by cell.
    seed, jobs : int
        Seed of the study; processes at work.
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
    cut = [list(blocks(n)) for n in replications]
    tasks = (
        task for cell, sizes in zip(plan.cells, cut, strict=True) for task in _tasks(plan, cell, seed, sizes)
    )
    done = _simulate(tasks, jobs)

    def told(parts: Iterator[Sums]) -> Iterator[Sums]:
        for part in parts:
            advance(0, part.n * len(experiment.strategies))
            yield part

    for cell, sizes in zip(plan.cells, cut, strict=True):
        sums = reduce(add, told(islice(done, len(sizes))))
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
        advance(1, 0)
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
