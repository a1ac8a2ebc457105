"""Tables of a report: rows chosen from results, numbers written for people."""

from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path

import pandas as pd

from sim.estimate import BY_CAUSE
from sim.report.answers import is_share, number, percent, same
from sim.study.config import Factor, Plan

CAUSE_LABELS = {
    "crash": "crash",
    "timeout": "timeout",
    "zombie": "replaced worker",
    "relay": "relay",
    "expired_key": "expired key",
    "race": "race",
    "receiver_crash": "receiver crash",
}
"""Short names of what makes an action happen again."""

LABELS = {
    "crashes": "crashes a run",
    "redone_steps": "finished steps redone, a run",
    "lost_work_s": "lost work, s a run",
    "wasted_work_s": "work redone or lost, s a run",
    "wasted_tokens": "wasted tokens, a run",
    "duplicate_actions": "duplicate actions a run",
    "lost_actions": "lost actions a run",
    "blocked_duplicates": "repeats blocked by keys, a run",
    "saves": "saves a run",
    "save_time_s": "time waiting for saves, s a run",
    "downtime_s": "downtime, s a run",
    "makespan_s": "makespan, s",
    "p_duplicate": "runs with a duplicate action",
    "p_lost": "runs with a lost action",
    "p_stuck": "runs given up",
    "gap_share": "crashes on action steps in [sent, durable)",
    "gap_share_after_done": "crashes on action steps in [done, durable)",
    "rule_ratio": "P(duplicate) / rule of thumb",
    "duplicates_per_million": "duplicates per million actions",
    "lost_per_million": "lost actions per million",
    **{name: f"duplicates by {CAUSE_LABELS[cause]}, per million actions" for cause, name in BY_CAUSE.items()},
    "zombie_s": "replaced workers living on, s a run",
    "spacing_s_p50": "time to the first duplicate, median, s",
    "spacing_s_p95": "time to the first duplicate, 95th percentile, s",
}
"""Short names of metrics for axes and column heads."""

NAMED = 8
"""At most so many numbers are named that are not as precise as they should be."""


@dataclass(frozen=True)
class Table:
    """A table as a reader sees it: heads and rows of text."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    csv: str = ""
    """File that it is of, in the folder of the experiment or trial."""


def read(file: Path) -> pd.DataFrame:
    """Read a table of results; an absent one is empty, and only an empty field is missing."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""]) if file.is_file() else pd.DataFrame()


def at_cell(
    table: pd.DataFrame, cell: dict[str, Factor], strategy: str, metric: str, by: str = "strategy"
) -> pd.DataFrame:
    """Rows of one strategy and metric in one cell; `by` names the column of the strategy."""
    chosen = (table[by] == strategy) & (table["metric"] == metric)
    for key, value in cell.items():
        chosen &= same(table[key], value)
    return table[chosen]


def one_at(table: pd.DataFrame, cell: dict[str, Factor], strategy: str, metric: str) -> pd.Series:
    """Row of one strategy and metric in one cell; without numbers if older results do not have it."""
    found = at_cell(table, cell, strategy, metric)
    if len(found):
        return found.iloc[0]
    return pd.Series({"metric": metric, "estimate": nan, "low": nan, "high": nan, "exact": nan})


def write(metric: str, value: float, digits: int = 4) -> str:
    """Write a value of a metric; empty if there is none."""
    if isnan(value):
        return ""
    return (percent if is_share(metric) else number)(value, digits)


def interval(metric: str, low: float, high: float, digits: int = 4) -> str:
    """Write an interval; empty if there is none."""
    if isnan(low) or isnan(high):
        return ""
    return f"{write(metric, low, digits)} to {write(metric, high, digits)}"


def headline(plan: Plan, estimates: pd.DataFrame) -> Table:
    """All headline metrics in every cell."""
    factors = [key for key in plan.base if estimates[key].nunique(dropna=False) > 1]
    heads = [*factors, "strategy", "metric", "n", "estimate", "95 % interval", "method", "exact"]
    rows = []
    for _, row in estimates[estimates["metric"].isin(plan.experiment.headline)].iterrows():
        metric = row["metric"]
        rows.append(
            [
                *(_factor(row[key]) for key in factors),
                row["strategy"],
                LABELS.get(metric, metric),
                f"{row['n']:,}",
                write(metric, row["estimate"]) or "does not exist",
                interval(metric, row["low"], row["high"]),
                row["method"] if isinstance(row["method"], str) else "",
                write(metric, row["exact"], 6),
            ]
        )
    return Table("Estimates", heads, rows, "estimates.csv")


def runs(estimates: pd.DataFrame) -> str:
    """Say how many runs of each strategy a cell has, or from how many to how many."""
    sizes = estimates.loc[estimates["metric"] == "crashes", "n"]
    return " to ".join(f"{n:,}" for n in sorted({sizes.min(), sizes.max()}))


def precision(plan: Plan, estimates: pd.DataFrame) -> str:
    """Say where the headline has the precision that was asked for; nothing if none was."""
    goal = plan.experiment.precision
    if goal is None:
        return ""
    rows = estimates[estimates["metric"].isin(plan.experiment.headline)]
    enough = f"±{100 * goal.relative:g} % of the estimate" + (
        f" or ±{goal.absolute:g}" if goal.absolute else ""
    )
    missed = [
        _missed(plan, row)
        for _, row in rows.iterrows()
        if not goal.reached(row["estimate"], row["low"], row["high"])
    ]
    if not missed:
        return f"All {len(rows)} headline intervals are within {enough}"
    named = missed[:NAMED]
    if len(missed) > NAMED:
        named.append(f"and {len(missed) - NAMED} more, see the tables")
    return (
        f"{len(rows) - len(missed)} of {len(rows)} headline intervals are within {enough}, "
        f"with at most {plan.experiment.replications:,} runs allowed; not reached: {'; '.join(named)}"
    )


def _missed(plan: Plan, row: pd.Series) -> str:
    """Name a number that is not as precise as it should be, and say how precise it is."""
    half = (row["high"] - row["low"]) / 2
    width = f"±{percent(half / abs(row['estimate']), 2)}" if row["estimate"] and half >= 0 else "unknown"
    apart = [
        f"{key} {_factor(row[key])}" for key, base in plan.base.items() if not same(row[[key]], base).all()
    ]
    where = f" at {', '.join(apart)}" if apart else ""
    return f"{LABELS.get(row['metric'], row['metric'])}, {row['strategy']}{where} ({width}, n = {row['n']:,})"


def published(plan: Plan, table: pd.DataFrame) -> Table:
    """Published values beside ours."""
    assert plan.experiment.published is not None
    source = plan.experiment.published.source
    heads = ["strategy", "metric", "published", "ours", "95 % interval", "exact", "errors apart"]
    rows = [
        [
            row["strategy"],
            LABELS.get(row["metric"], row["metric"]),
            write(row["metric"], row["published"]),
            write(row["metric"], row["estimate"]),
            interval(row["metric"], row["low"], row["high"]),
            write(row["metric"], row["exact"], 6),
            number(row["z"], 2),
        ]
        for _, row in table.iterrows()
    ]
    title = f"Published by {source} (n = {table['published_n'].max():,})"
    return Table(title, heads, rows, "published.csv")


def contrasts(plan: Plan, table: pd.DataFrame) -> Table:
    """Paired differences of the headline metrics."""
    factors = [key for key in plan.base if table[key].nunique(dropna=False) > 1]
    heads = [*factors, "difference", "metric", "value", "interval", "variance spared by pairing"]
    rows = []
    for _, row in table.dropna(subset="difference").iterrows():
        metric = row["metric"]
        rows.append(
            [
                *(_factor(row[key]) for key in factors),
                f"{row['second']} − {row['first']}",
                LABELS.get(metric, metric),
                write(metric, row["difference"]),
                interval(metric, row["low"], row["high"]),
                percent(row["variance_reduction"], 3) if not isnan(row["variance_reduction"]) else "",
            ]
        )
    return Table("Paired contrasts", heads, rows, "contrasts.csv")


def _factor(value: object) -> str:
    if isinstance(value, float):
        return "" if isnan(value) else f"{value:g}"
    return str(value)
