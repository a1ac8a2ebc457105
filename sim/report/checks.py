"""What an experiment was held against: exact values, the other engine, the precision that was asked for."""

from math import isnan

import pandas as pd

from sim import timeline
from sim.program import unfold
from sim.report.answers import number
from sim.report.tables import precision
from sim.study.chunks import CHECKED
from sim.study.config import Plan


def checks(plan: Plan, estimates: pd.DataFrame, sizes: list[int]) -> list[str]:
    """Say how an experiment came out of its checks, a sentence a check.

    Parameters
    ----------
    plan : Plan
    estimates : DataFrame
        Its results.
    sizes : list of int
        How many runs each of its cells has of every strategy; 0 if it failed.
    """
    return [
        said for said in (_exact(plan, estimates), _engines(plan, sizes), precision(plan, estimates)) if said
    ]


def _exact(plan: Plan, estimates: pd.DataFrame) -> str:
    """Count the exact values that lie within their intervals, as about 95 % of them should."""
    headline = estimates[estimates["metric"].isin(plan.experiment.headline)]
    known = headline.dropna(subset=["exact", "low", "high"])
    if not len(known):
        return "No exact value is known of the headline"
    inside = int(((known["low"] <= known["exact"]) & (known["exact"] <= known["high"])).sum())
    half = ((known["high"] - known["low"]) / 2).where(lambda width: width > 0)
    farthest = ((known["estimate"] - known["exact"]).abs() / half).max()
    off = "" if isnan(farthest) else f"; the farthest is {number(farthest, 2)} half-widths off"
    return f"{inside} of {len(known)} exact values of the headline lie within their 95 % intervals{off}"


def _engines(plan: Plan, sizes: list[int]) -> str:
    """Count the runs that both engines simulated, which would have failed the cell had they differed."""
    if len(sizes) != len(plan.cells):
        return ""
    runs, alone = 0, {}
    for cell, size in zip(plan.cells, sizes, strict=True):
        for name, scenario in cell.scenarios.items():
            if timeline.cannot(unfold(scenario)):
                alone[name] = True
            else:
                runs += min(size, CHECKED)
    both = f"Both engines simulated {runs:,} of the runs, and agreed on each" if runs else ""
    only = f"SimPy alone simulates what happens in {', '.join(alone)}, in some cells or all" if alone else ""
    return "; ".join(part for part in (both, only) if part)
