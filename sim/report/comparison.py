"""The table of what each strategy leaves, in one cell."""

from math import isnan

import pandas as pd

from sim.report.tables import LABELS, Table, interval, one_at, write
from sim.study.config import Plan, StrategyTable

NO_BREAK = "\u00a0"


def table(plan: Plan, wanted: StrategyTable, estimates: pd.DataFrame) -> Table:
    """Write the estimates of a cell, a row a strategy, each with its interval.

    Parameters
    ----------
    plan : Plan
    wanted : StrategyTable
        One of its tables.
    estimates : DataFrame
        Its results.
    """
    cell = plan.base | wanted.where
    rows = []
    for name in plan.experiment.strategies:
        found = [one_at(estimates, cell, name, metric) for metric in wanted.metrics]
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
