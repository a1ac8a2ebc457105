"""Real processes that were really killed, beside what the simulation had said: a section of the report."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from sim.intervals import share_interval
from sim.lab.stores import STORES
from sim.report.answers import number, percent
from sim.report.look import NUMBERS, PERCENT, REFERENCE, legend, plain_numbers, style
from sim.report.tables import Table, read

FOLDER = Path("measured", "lab")
"""Where trials are, beside the results of experiments."""

COMPARED, WINDOWS = "compared", "windows"
"""Names of the figures."""

BINS = 10
"""Parts into which offsets are put."""

REAL: dict[str, Any] = {"fmt": "o", "color": "#0173b2", "capsize": 3, "markersize": 6}
PREDICTED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 9,
    "fillstyle": "none",
    "color": "black",
}
RIVAL: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 7, "color": "#de8f05"}


@dataclass(frozen=True)
class Trial:
    """The tables of a trial.

    Attributes
    ----------
    folder : Path
    facts : dict
        Title, question, scale and so on, machine and versions.
    conditions, latencies, offsets : DataFrame
        As `sim.lab.trial` writes them.
    """

    folder: Path
    facts: dict[str, Any]
    conditions: pd.DataFrame
    latencies: pd.DataFrame
    offsets: pd.DataFrame

    @property
    def compared(self) -> pd.DataFrame:
        """The conditions whose duplicates are compared with a prediction."""
        return self.conditions[self.conditions["claim"] == "duplicates"]


def trials(results: Path) -> list[Trial]:
    """Read all trials beside some results."""
    return [_read(file.parent) for file in sorted((results / FOLDER).glob("*/conditions.csv"))]


def _read(folder: Path) -> Trial:
    facts = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    tables = (read(folder / f"{name}.csv") for name in ("conditions", "latencies", "offsets"))
    return Trial(folder, facts, *tables)


def figures(trial: Trial) -> dict[str, str]:
    """Name the figures of a trial that there are, with their captions."""
    found = {}
    if len(trial.compared):
        found[COMPARED] = (
            "Duplicates a run: what real processes did (with intervals that hold all together with 95 %), "
            "what had been predicted, and what a model predicts whose window is the save alone"
        )
    if len(trial.offsets):
        found[WINDOWS] = (
            "Where the window ends: share of actions performed twice by a kill so long after the action was "
            "sent (95 % intervals); the lines are the mean instants of the answer and of the end of the save"
        )
    return found


def draw(trial: Trial, name: str) -> None:
    """Draw a figure of a trial into its folder."""
    with mpl.rc_context(style(f"{trial.folder.name}-{name}")):
        canvas = _compare(trial) if name == COMPARED else _windows(trial)
        canvas.savefig(trial.folder / f"{name}.svg", metadata={"Date": None})


def _compare(trial: Trial) -> Canvas:
    table = trial.compared.iloc[::-1]
    canvas = Canvas(figsize=(7.2, 1.5 + 0.36 * len(table)), layout="constrained")
    axes = canvas.subplots()
    y = np.arange(len(table))
    reach = [table["real"] - table["low"], table["high"] - table["real"]]
    axes.errorbar(table["real"], y, xerr=reach, label="real", **REAL)
    axes.plot(table["predicted"], y, label="predicted", **PREDICTED)
    axes.plot(table["rival"], y, label="window = save alone", **RIVAL)
    axes.set_xscale("log")
    plain_numbers(axes.xaxis, NUMBERS)
    axes.set_yticks(y, table["condition"])
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel("duplicate actions a run")
    axes.grid(axis="y", visible=False)
    legend(canvas)
    return canvas


def _windows(trial: Trial) -> Canvas:
    stores = list(dict.fromkeys(trial.offsets["store"]))
    columns = min(len(stores), 2)
    rows = -(-len(stores) // columns)
    canvas = Canvas(figsize=(7.2, 0.9 + 2.3 * rows), layout="constrained")
    grid = canvas.subplots(rows, columns, squeeze=False, sharey=True, sharex=True)
    for axes in grid.flat[len(stores) :]:
        axes.set_visible(False)
    for axes, store in zip(grid.flat, stores, strict=False):
        _window(axes, trial, store)
    for axes in grid[-1]:
        axes.set_xlabel("ms after the action was sent")
    for axes in grid[:, 0]:
        axes.set_ylabel("performed twice")
    legend(canvas)
    return canvas


def _window(axes: Axes, trial: Trial, store: str) -> None:
    found = trial.offsets[trial.offsets["store"] == store]
    edges = np.linspace(0, found["span_s"].iloc[0], BINS + 1)
    for begin, end in pairwise(edges):
        inside = found[(found["offset_s"] >= begin) & (found["offset_s"] < end)]
        if not len(inside):
            continue
        hits = int(inside["repeated"].sum())
        share, interval = hits / len(inside), share_interval(hits, len(inside))
        reach = [[share - interval.low], [interval.high - share]]
        axes.errorbar(500 * (begin + end), share, yerr=reach, label="real", **REAL)
    own = _of_store(trial, store)
    answered = own["request"] + own["response"]
    axes.axvline(answered, label="answer", **REFERENCE)
    axes.axvline(answered + own["save"], label="save is over", **(REFERENCE | {"linestyle": ":"}))
    axes.set_title(STORES[store].title, fontsize=10, loc="left")
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_ylim(-0.05, 1.05)


def _of_store(trial: Trial, store: str) -> dict[str, float]:
    """Mean latencies, in ms, of the first condition on a store."""
    stores = dict(zip(trial.conditions["condition"], trial.conditions["store"], strict=True))
    rows = trial.latencies[trial.latencies["measured"] == "before"]
    for condition in dict.fromkeys(rows["condition"]):
        own = rows[rows["condition"] == condition].set_index("latency")["mean_ms"]
        if stores[condition] == STORES[store].title and {"request", "response", "save"} <= set(own.index):
            return {str(name): float(value) for name, value in own.items()}
    return {"request": np.nan, "response": np.nan, "save": np.nan}


def answer(trial: Trial) -> list[str]:
    """Say what came out, in paragraphs."""
    said = []
    compared, margin = trial.compared, trial.facts["margin"]
    if len(compared):
        equal = compared[compared["verdict"] == f"equal within {100 * margin:g} %"]
        said.append(
            f"In {len(equal)} of {len(compared)} comparisons real duplicates a run are equal to the "
            f"prediction within {100 * margin:g} %, with intervals that hold all together with 95 %; "
            f"{int(compared['kills'].sum()):,} kills are behind them."
        )
        for row in compared.drop(equal.index).itertuples():
            said.append(
                f"{row.condition}: {row.verdict}. Real over predicted is {number(row.ratio)} "
                f"[{number(row.ratio_low)}, {number(row.ratio_high)}]; with the latencies of the very runs "
                f"that were killed the prediction is {number(row.predicted_with_latencies_of_the_runs)} "
                f"instead of {number(row.predicted)}, and {number(row.real)} were seen."
            )
        rejected = compared[compared["rival_verdict"] == "rejected"]
        said.append(
            "The model whose window is the save alone is rejected for "
            + ("all of them" if len(rejected) == len(compared) else f"{len(rejected)} of them")
            + ": the window begins when the action is sent, not when it is answered."
        )
    for row in trial.conditions.itertuples():
        if row.claim in ("no duplicate", "no harm"):
            said.append(
                f"{row.condition}: {row.kills:,} kills, {_none(row.duplicates, 'duplicate')}, "
                f"{_none(row.lost_actions, 'lost action')}, {row.blocked_duplicates:,} repeats absorbed."
            )
    if len(shares := trial.conditions.dropna(subset=["write_share"]).drop_duplicates("write_share")):
        parts = "; ".join(
            f"{row.condition} {percent(row.write_share)} "
            f"[{percent(row.write_share_low)}, {percent(row.write_share_high)}]"
            for row in shares.itertuples()
        )
        said.append(f"Of a save, this part goes before its point of no return: {parts}.")
    said.append(
        "A killed process is not a lost machine: what it has handed to the system survives it, flushed or "
        "not, so that nothing here tells what a power failure costs."
    )
    return said


def _none(count: int, what: str) -> str:
    return f"no {what}" if not count else f"{count:,} {what}{'s' if count > 1 else ''}"


def given(trial: Trial) -> str:
    """Say on what machine, at what scale."""
    facts = trial.facts
    workers = " to ".join(
        map(str, sorted({trial.conditions["workers"].min(), trial.conditions["workers"].max()}))
    )
    versions = ", ".join(
        f"{name} {facts[key]}"
        for key, name in (
            ("python", "Python"),
            ("sqlite", "SQLite"),
            ("langgraph", "LangGraph"),
            ("dbos", "DBOS"),
        )
        if key in facts
    )
    return (
        f"a second of the agent's takes {1000 * facts['scale']:g} ms, {workers} runs at once, "
        f"{facts['processors']} processors ({facts['processor']}), {facts['system']}, {versions}"
    )


def tables(trial: Trial) -> list[Table]:
    """Give what happened, and the latencies, as a reader sees them."""
    heads = ["condition", "runs", "kills", "duplicates", "lost", "absorbed", "redone steps", "a run"]
    heads += ["predicted", "real / predicted", "verdict", "save alone"]
    rows = [
        [
            row.condition,
            f"{row.runs:,}",
            f"{row.kills:,}",
            f"{row.duplicates:,}",
            f"{row.lost_actions:,}",
            f"{row.blocked_duplicates:,}",
            f"{row.redone_steps:,}",
            _between(row.real, row.low, row.high),
            number(row.predicted),
            _between(row.ratio, row.ratio_low, row.ratio_high),
            row.verdict,
            "" if row.claim != "duplicates" else f"{number(row.rival)}, {row.rival_verdict}",
        ]
        for row in trial.conditions.itertuples()
    ]
    latencies = [
        [row.condition, row.latency, row.measured, f"{row.n:,}"]
        + [number(value) for value in (row.mean_ms, row.p50_ms, row.p95_ms, row.p99_ms)]
        for row in trial.latencies.itertuples()
    ]
    return [
        Table("Real against predicted", heads, rows, "conditions.csv"),
        Table(
            "Latencies before and during the kills, ms",
            ["condition", "latency", "measured", "n", "mean", "median", "95th percentile", "99th percentile"],
            latencies,
            "latencies.csv",
        ),
    ]


def _between(value: float, low: float, high: float) -> str:
    if np.isnan(value):
        return ""
    known = not (np.isnan(low) or np.isnan(high))
    return number(value) + (f" [{number(low)}, {number(high)}]" if known else "")
