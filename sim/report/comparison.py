"""The tables before the experiments: what each strategy leaves, and which assumption moves what how far."""

from math import exp, inf, isnan, log

import pandas as pd

from sim.report.answers import number, swept_along
from sim.report.tables import LABELS, Table, at_cell, interval, write
from sim.study.config import Factor, Headline, Plan, SensitivityTable, StrategyTable

NO_BREAK = "\u00a0"

UNMOVED = "≈ 1"
"""Stands where the intervals do not tell a value from the one at the base."""


def table(plan: Plan, wanted: StrategyTable | SensitivityTable, estimates: pd.DataFrame) -> Table:
    """Make a table that an experiment file asks for.

    Parameters
    ----------
    plan : Plan
    wanted : StrategyTable or SensitivityTable
        One of its tables.
    estimates : DataFrame
        Its results.
    """
    if isinstance(wanted, StrategyTable):
        return _strategies(plan, wanted, estimates)
    return _sensitivity(plan, wanted, estimates)


def _strategies(plan: Plan, wanted: StrategyTable, estimates: pd.DataFrame) -> Table:
    """Estimates of a cell, a row a strategy, each with its interval where it is not a point."""
    cell = plan.base | wanted.where
    rows = []
    for name in plan.experiment.strategies:
        found = [at_cell(estimates, cell, name, metric).iloc[0] for metric in wanted.metrics]
        rows.append([name, *map(_written, found)])
    return Table(wanted.title, ["strategy", *(LABELS[m] for m in wanted.metrics)], rows, "estimates.csv")


def _written(row: pd.Series) -> str:
    """Write an estimate with its interval, or with its upper bound if nothing was seen."""
    metric, value, low, high = row["metric"], row["estimate"], row["low"], row["high"]
    if isnan(value):
        return "does not exist"
    if low == high or isnan(low) or isnan(high):
        return write(metric, value, 3)
    if value == 0:
        return f"0 (at most {write(metric, high, 2)})"
    within = interval(metric, low, high, 3).replace(" ", NO_BREAK)
    return f"{write(metric, value, 3)} ({within})"


def _sensitivity(plan: Plan, wanted: SensitivityTable, estimates: pd.DataFrame) -> Table:
    """How far each swept key moves each headline from the base, as factors; the farthest first."""
    base = [_at(estimates, plan.base, headline) for headline in wanted.of]
    rows = []
    for key in plan.base:
        cells = swept_along(plan, key)
        moves = [
            [_move(_at(estimates, cell, headline), at_base) for cell in cells]
            for headline, at_base in zip(wanted.of, base, strict=True)
        ]
        reach = max(abs(move) for moved in moves for move in moved)
        rows.append((reach, [*_assumption(plan, key, wanted, cells), *map(_factors, moves)]))
    rows.sort(key=lambda pair: -pair[0])
    heads = ["assumption", "at the base", "moved to"]
    heads += [f"{LABELS[headline.metric]}: {headline.strategy}" for headline in wanted.of]
    return Table(wanted.title, heads, [row for _, row in rows], "estimates.csv")


def _at(estimates: pd.DataFrame, cell: dict[str, Factor], headline: Headline) -> pd.Series:
    return at_cell(estimates, cell, headline.strategy, headline.metric).iloc[0]


def _move(moved: pd.Series, base: pd.Series) -> float:
    """Give the logarithm of a factor of change; 0 where the intervals do not tell the values apart."""
    if not (moved["low"] > base["high"] or moved["high"] < base["low"]) or isnan(base["estimate"]):
        return 0.0
    if not base["estimate"]:
        return inf
    return log(moved["estimate"] / base["estimate"]) if moved["estimate"] else -inf


def _factors(moves: list[float]) -> str:
    """Write the least and the greatest factor."""
    low, high = min(0.0, *moves), max(0.0, *moves)
    if low == high:
        return UNMOVED
    return " to ".join("1" if end == 0 else f"× {number(exp(end))}" for end in (low, high))


def _assumption(
    plan: Plan, key: str, wanted: SensitivityTable, cells: list[dict[str, Factor]]
) -> tuple[str, str, str]:
    """Name a swept key, its value at the base, and those that it is moved to."""
    values = [cell[key] for cell in cells if cell[key] != plan.base[key]]
    return wanted.labels.get(key, key), _short(plan.base[key]), ", ".join(map(_short, values))


def _short(value: Factor) -> str:
    return f"{value:,.10g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
