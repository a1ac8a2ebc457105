"""Figures of an experiment, drawn from its tables: one visual language, a strategy always in its colour."""

from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from sim.estimate import METRICS
from sim.report.answers import is_share, swept_along
from sim.report.tables import LABELS, at_cell
from sim.study.config import Figure, Plan
from sim.study.files import replacing

PANEL_INCHES = (4.2, 3.4)
ALONE_INCHES = (6.4, 3.8)
LABEL_WIDTH = 34
"""Letters after which the label of a bar goes on below."""

INCHES_PER_LABEL = 0.55
UNSEEN = "none seen: upper bound"
MARKERS = "os^vP"
EXACT: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 8,
    "fillstyle": "none",
    "color": "black",
    "markeredgewidth": 0.8,
}
PUBLISHED: dict[str, Any] = EXACT | {"marker": "x", "markeredgewidth": 1.8}
BOUND: dict[str, Any] = {"linestyle": "none", "marker": 7, "markersize": 8, "gid": "none"}
REFERENCE: dict[str, Any] = {"color": "#555555", "linestyle": "--", "linewidth": 1}
NUMBERS = FuncFormatter(lambda value, _: _plain(value))
PERCENT = FuncFormatter(lambda value, _: f"{_plain(100 * value)} %")

Colours = dict[str, Any]


def _plain(value: float) -> str:
    """Write a number without an exponent and without zeros that say nothing."""
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def style(salt: str) -> dict[Any, Any]:
    """Give the look of every figure; the salt makes names inside an SVG file the same each time."""
    return {
        **sns.axes_style("whitegrid"),
        "svg.hashsalt": salt,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.ymargin": 0.1,
        "axes.spines.right": False,
        "grid.color": "#e4e4e4",
    }


def colours(plans: list[Plan]) -> Colours:
    """Give every strategy of a study its colour, in the order in which they first appear."""
    names = list(dict.fromkeys(name for plan in plans for name in plan.experiment.strategies))
    return dict(zip(names, cycle(sns.color_palette("colorblind")), strict=False))


def draw(
    plan: Plan,
    figure: Figure,
    estimates: pd.DataFrame,
    published: pd.DataFrame,
    colour: Colours,
    target: Path,
) -> None:
    """Draw a figure as SVG; the same tables give the same bytes.

    Parameters
    ----------
    plan, figure : Plan, Figure
        The experiment, and what to draw of it.
    estimates, published : DataFrame
        Its results.
    colour : dict of str to colour
        By strategy.
    target : Path
        The SVG file.
    """
    with mpl.rc_context(style(f"{plan.name}/{figure.name}")):
        panels = len(figure.y)
        width, height = ALONE_INCHES if panels == 1 else (PANEL_INCHES[0] * panels, PANEL_INCHES[1])
        if figure.kind == "bar" and figure.x:
            height = max(height, 1.0 + INCHES_PER_LABEL * len(swept_along(plan, figure.x)))
        canvas = Canvas(figsize=(width, height), layout="constrained")
        for axes, metric in zip(canvas.subplots(1, panels, squeeze=False)[0], figure.y, strict=True):
            if figure.kind == "line":
                _lines(axes, plan, figure, metric, estimates, colour)
            else:
                _bars(axes, plan, figure, metric, estimates, published, colour)
        legend(canvas)
        with replacing(target) as new:
            canvas.savefig(new, format="svg", metadata={"Date": None, "Creator": None})


def _strategies(plan: Plan, figure: Figure) -> tuple[str, ...]:
    return figure.strategies or tuple(plan.experiment.strategies)


def _lines(
    axes: Axes, plan: Plan, figure: Figure, metric: str, estimates: pd.DataFrame, colour: Colours
) -> None:
    assert figure.x is not None
    cells = swept_along(plan, figure.x)
    for name, marker in zip(_strategies(plan, figure), cycle(MARKERS), strict=False):
        rows = pd.concat([at_cell(estimates, cell, name, metric) for cell in cells]).dropna(subset="estimate")
        columns = [figure.x, "estimate", "low", "high", "exact"]
        x, y, low, high, exact = rows[columns].astype(float).sort_values(figure.x).to_numpy().T
        shown = y > 0 if figure.y_scale == "log" else np.full(len(y), True)
        axes.plot(x[shown], y[shown], color=colour[name], marker=marker, markersize=5, label=name)
        axes.fill_between(x[shown], low[shown], high[shown], color=colour[name], alpha=0.2, linewidth=0)
        axes.plot(x, exact, **EXACT, label="exact" if np.isfinite(exact).any() else None)
        bounds = ~shown & np.isfinite(high)
        if bounds.any():
            axes.plot(x[bounds], high[bounds], color=colour[name], **BOUND)
    if "none" in {line.get_gid() for line in axes.lines}:
        axes.plot([], [], color="#555555", **BOUND, label=UNSEEN)
    axes.set_xscale(figure.x_scale)
    axes.set_yscale(figure.y_scale)
    if figure.x_scale == "log":
        plain_numbers(axes.xaxis, NUMBERS)
        swept = sorted(float(cell[figure.x] or 0) for cell in cells)
        if swept[-1] < 100 * swept[0]:
            axes.xaxis.set_major_locator(FixedLocator(swept))
    axes.set_xlabel(figure.x_label or figure.x)
    _name(axes, figure, metric)
    form = PERCENT if is_share(metric) else NUMBERS
    if figure.y_scale == "log":
        plain_numbers(axes.yaxis, form)
    else:
        axes.yaxis.set_major_formatter(form)
        axes.set_ylim(bottom=0)
    if figure.reference and METRICS[metric].kind == METRICS[figure.y[0]].kind:
        axes.axhline(figure.reference.value, **REFERENCE, label=figure.reference.label)


def _bars(
    axes: Axes,
    plan: Plan,
    figure: Figure,
    metric: str,
    estimates: pd.DataFrame,
    published: pd.DataFrame,
    colour: Colours,
) -> None:
    """Horizontal bars, since names of strategies and laws are long."""
    names = _strategies(plan, figure)
    cells = swept_along(plan, figure.x) if figure.x else [plan.cells[0].factors]
    thickness = 0.8 / len(names)
    for index, name in enumerate(names):
        rows = pd.concat([at_cell(estimates, cell, name, metric) for cell in cells])
        y = np.arange(len(cells)) + (index - (len(names) - 1) / 2) * thickness
        value = rows["estimate"].to_numpy(float)
        error = np.abs(np.vstack([value - rows["low"], rows["high"] - value]))
        axes.barh(y, value, thickness * 0.9, color=colour[name], label=name)
        axes.errorbar(
            value, y, xerr=np.nan_to_num(error), fmt="none", ecolor="black", elinewidth=1, capsize=2
        )
        exact = rows["exact"].to_numpy(float)
        axes.plot(exact, y, **EXACT, label="exact" if np.isfinite(exact).any() else None)
        if len(published) and not figure.x:
            theirs = published[(published["strategy"] == name) & (published["metric"] == metric)]
            label = "published" if len(theirs) else None
            axes.plot(theirs["published"], y[: len(theirs)], **PUBLISHED, label=label)
    labels = [fill(str(cell[figure.x]), LABEL_WIDTH) if figure.x else "" for cell in cells]
    axes.set_yticks(np.arange(len(cells)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PERCENT if is_share(metric) else NUMBERS)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    _name(axes, figure, metric)
    if figure.reference:
        axes.axvline(figure.reference.value, **REFERENCE, label=figure.reference.label)


def _name(axes: Axes, figure: Figure, metric: str) -> None:
    """Name a panel by what it shows, above it."""
    axes.set_title(fill(figure.y_label or LABELS.get(metric, metric), 34), fontsize=10, loc="left")


def plain_numbers(axis: Any, form: FuncFormatter) -> None:
    """Label a logarithmic axis at its decades, in plain numbers."""
    axis.set_major_locator(LogLocator(10, numticks=12))
    axis.set_major_formatter(form)
    axis.set_minor_locator(NullLocator())


def legend(canvas: Canvas) -> None:
    """One legend below all panels, each entry once, what is common to all strategies last."""
    entries: dict[str, Any] = {}
    for axes in canvas.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries |= {label: handle for handle, label in zip(handles, labels, strict=True)}
    entries |= {label: entries.pop(label) for label in ("exact", "published", UNSEEN) if label in entries}
    if len(entries) > 1:
        columns = 3 if len(canvas.axes) == 1 else len(entries)
        handles, labels = list(entries.values()), list(entries)
        canvas.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
