"""Duplicates by cause: a row a strategy, a column a cause, a dot with its interval and its number.

Causes differ by orders of magnitude, which a stack of bars cannot show; all columns share a logarithmic axis.
"""

from math import ceil, floor, log10
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from sim.estimate import BY_CAUSE
from sim.report.answers import UNIT_OF_RATES, number, swept_along
from sim.report.look import LETTER_INCHES, NUMBERS, UNSEEN, cell, legend, plain, strategies
from sim.report.tables import CAUSE_LABELS, LABELS, at_cell
from sim.study.config import Figure, Plan

TOTAL = "duplicates_per_million"
LABEL_WIDTH = 30
"""Letters after which the name of a row goes on below."""

HEAD_WIDTH = 15
NUMBER_INCHES = 0.065
"""Room for a figure of a number."""

COLUMN_INCHES = 1.3
ROW_INCHES = 0.34
NUMBERS_BELOW, LONG_ONES_BELOW = 3, 2
"""At most so many stand at the axis of a column; fewer if they reach a million."""

COLOURS = {
    metric: sns.color_palette("colorblind")[place]
    for metric, place in zip(BY_CAUSE.values(), (0, 1, 2, 3, 4, 5, 9), strict=True)
} | {TOTAL: "black"}
"""A cause always has its colour; other rates are grey."""

HEADS = {metric: CAUSE_LABELS[cause] for cause, metric in BY_CAUSE.items()} | {
    TOTAL: "all duplicates",
    "lost_per_million": "lost actions",
}
CARET: dict[str, Any] = {"linestyle": "none", "marker": 4, "markersize": 7, "gid": "none"}
DOT: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5, "zorder": 3}
STRIPE: dict[str, Any] = {"color": "#f5f5f5", "linewidth": 0, "zorder": 0}

Values = NDArray[np.float64]
"""Estimate, low and high of each row, shape (3, rows)."""


def drawn(plan: Plan, figure: Figure, estimates: pd.DataFrame) -> Canvas:
    """Draw the duplicates of all causes together, those of each that occurs, and further rates.

    Parameters
    ----------
    plan, figure : Plan, Figure
        The experiment, and what to draw of it.
    estimates : DataFrame
        Its results; what is not in them is left out.
    """
    names = strategies(plan, figure)
    if figure.x:
        cells = swept_along(plan, figure.x, figure.where)
        rows = [(plain(factors[figure.x]), factors, names[0]) for factors in cells]
    else:
        rows = [(name, cell(plan, figure).factors, name) for name in names]
    table = {
        metric: np.array([_values(at_cell(estimates, factors, name, metric)) for _, factors, name in rows]).T
        for metric in (TOTAL, *BY_CAUSE.values(), *figure.y)
    }
    shown = [TOTAL, *(metric for metric in BY_CAUSE.values() if (table[metric][0] > 0).any()), *figure.y]
    labels = [fill(label, LABEL_WIDTH) for label, _, _ in rows]
    margin = LETTER_INCHES * max(len(line) for label in labels for line in label.split("\n"))
    size = 0.4 + margin + COLUMN_INCHES * len(shown), 1.3 + ROW_INCHES * len(rows)
    canvas = Canvas(figsize=size, layout="constrained")
    columns = canvas.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    logarithmic = figure.x_scale == "log"
    _scale(columns[0], np.hstack([table[metric] for metric in shown]), logarithmic)
    for axes, metric in zip(columns, shown, strict=True):
        colour = COLOURS.get(metric, "#555555")
        _column(axes, table[metric], colour, logarithmic)
        head = HEADS.get(metric, LABELS.get(metric, metric))
        axes.set_title(fill(head, HEAD_WIDTH), fontsize=9, loc="left", color=colour)
    columns[0].set_yticks(np.arange(len(rows)), labels)
    columns[0].set_ylim(len(rows) - 0.5, -0.5)
    if figure.x:
        columns[0].set_ylabel(figure.x_label or figure.x)
    columns[0].set_xlabel(figure.y_label or f"{UNIT_OF_RATES.strip()} actions", loc="left")
    if "none" in {line.get_gid() for axes in columns for line in axes.lines}:
        columns[0].plot([], [], color="#555555", label=UNSEEN, **CARET)
    legend(canvas, least=1)
    return canvas


def _values(rows: pd.DataFrame) -> list[float]:
    """Give estimate, low and high; NaN for what is not there."""
    if rows.empty:
        return [np.nan] * 3
    return [float(rows.iloc[0][name]) for name in ("estimate", "low", "high")]


def _scale(axes: Axes, values: Values, logarithmic: bool) -> None:
    """Give the axis that all columns share its ends and its numbers."""
    value, _, high = values
    most = float(np.nanmax([*value, *high, 0.0]))
    if not logarithmic or most == 0:
        axes.xaxis.set_major_formatter(NUMBERS)
        axes.xaxis.set_major_locator(MaxNLocator(NUMBERS_BELOW - 1))
        axes.set_xlim(0, 1.1 * most or 1.0)
        return
    least = min(float(one) for one in np.where(value > 0, value, high) if one > 0)
    low, above = floor(log10(least * 0.9)), ceil(log10(most * 1.1))
    axes.set_xscale("log")
    axes.set_xlim(10.0**low, 10.0**above)
    decades = [10.0**exponent for exponent in range(low, above + 1)]
    many = NUMBERS_BELOW if above < 6 else LONG_ONES_BELOW
    axes.xaxis.set_major_locator(FixedLocator(decades[:: ceil(len(decades) / many)]))
    axes.xaxis.set_minor_locator(FixedLocator(decades))
    axes.xaxis.set_major_formatter(NUMBERS)
    axes.xaxis.set_minor_formatter(NullFormatter())


def _column(axes: Axes, values: Values, colour: Any, logarithmic: bool) -> None:
    """Draw a dot, an interval and a number a row; upper bounds where nothing was seen."""
    for row in range(0, values.shape[1], 2):
        axes.axhspan(row - 0.5, row + 0.5, **STRIPE)
    axes.grid(visible=True, which="both", axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="x", labelsize=8)
    ends = axes.get_xlim()
    for row, (value, low, high) in enumerate(values.T):
        if value > 0 or (value == 0 and not logarithmic):
            low, high = (value if np.isnan(bound) else bound for bound in (low, high))
            axes.hlines(row, max(low, ends[0]), high, color=colour, linewidth=1.5, alpha=0.6)
            axes.plot(value, row, color=colour, clip_on=False, **DOT)
            _write(axes, number(value, 2), row, max(low, ends[0]), high)
        elif high > 0:
            axes.plot(high, row, color=colour, alpha=0.35, **CARET)
        elif value == 0:
            _write(axes, "0", row, ends[0], ends[0])


def _write(axes: Axes, text: str, row: int, low: float, high: float) -> None:
    """Write a number beside its interval, on the right unless there is more room on the left."""
    to_axes = axes.transData + axes.transAxes.inverted()
    left, right = (float(to_axes.transform((end, row))[0]) for end in (low, high))
    on_right = 1 - right > NUMBER_INCHES * len(text) / COLUMN_INCHES + 0.1 or 1 - right > left
    place, align, away = (high, "left", 5) if on_right else (low, "right", -5)
    axes.annotate(
        text, (place, row), (away, 0), textcoords="offset points", ha=align, va="center", fontsize=7.5
    )
