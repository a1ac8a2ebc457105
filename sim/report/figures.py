"""Figures of an experiment, drawn from its tables: one visual language, a strategy always in its colour."""

from itertools import cycle
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator

from sim.estimate import METRICS
from sim.report import causes, frontier, sensitivity, worth
from sim.report.answers import is_share, swept_along
from sim.report.look import (
    ALONE_INCHES,
    BOUND,
    EXACT,
    FEW,
    LABEL_WIDTH,
    MARKERS,
    NUMBERS,
    PERCENT,
    REFERENCE,
    UNSEEN,
    Colours,
    cell,
    legend,
    name_panel,
    plain_numbers,
    strategies,
    style,
)
from sim.report.tables import at_cell
from sim.study.config import Figure, Plan
from sim.study.files import replacing

PANEL_INCHES = (4.2, 3.4)
INCHES_PER_LABEL = 0.55
INCHES_PER_BAR = 0.1
INCHES_PER_NAME = 0.34
INCHES_PER_ENTRY = 0.24
WIDE_INCHES = 7.4
"""Room for two columns of a legend of many strategies."""

PUBLISHED: dict[str, Any] = EXACT | {"marker": "x", "markeredgewidth": 1.8}


def draw(
    plan: Plan,
    figure: Figure,
    estimates: pd.DataFrame,
    published: pd.DataFrame,
    colour: Colours,
    target: Path,
    contrasts: pd.DataFrame | None = None,
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
    contrasts : DataFrame, optional
        Paired differences, which only a map takes.
    """
    with mpl.rc_context(style(f"{plan.name}/{figure.name}")):
        match figure.kind:
            case "frontier":
                canvas = frontier.drawn(plan, figure, estimates, colour)
            case "causes":
                canvas = causes.drawn(plan, figure, estimates)
            case "sensitivity":
                canvas = sensitivity.drawn(plan, plan.experiment.sensitivity, estimates)
            case "map":
                assert contrasts is not None, "a map takes paired differences"
                canvas = worth.drawn(plan, figure, estimates, contrasts, colour)
            case _:
                canvas = _panels(plan, figure, estimates, published, colour)
        with replacing(target) as new:
            canvas.savefig(new, format="svg", metadata={"Date": None, "Creator": None})


def _panels(
    plan: Plan, figure: Figure, estimates: pd.DataFrame, published: pd.DataFrame, colour: Colours
) -> Canvas:
    """Draw a panel a metric."""
    panels = len(figure.y)
    canvas = Canvas(figsize=_size(plan, figure), layout="constrained")
    for axes, metric in zip(canvas.subplots(1, panels, squeeze=False)[0], figure.y, strict=True):
        if figure.kind == "line":
            _lines(axes, plan, figure, metric, estimates, colour)
        else:
            _bars(axes, plan, figure, metric, estimates, published, colour)
    legend(canvas)
    return canvas


def _size(plan: Plan, figure: Figure) -> tuple[float, float]:
    """Give the size of a figure of lines or bars, in inches: many strategies need more room."""
    panels, names = len(figure.y), len(strategies(plan, figure))
    width, height = ALONE_INCHES if panels == 1 else (PANEL_INCHES[0] * panels, PANEL_INCHES[1])
    if figure.kind == "bar" and figure.x:
        each = max(INCHES_PER_LABEL, INCHES_PER_BAR * names)
        height = max(height, 1.0 + each * len(swept_along(plan, figure.x, figure.where)))
    elif figure.kind == "bar" and names > FEW:
        height = max(height, 1.0 + INCHES_PER_NAME * names)
    if names > FEW and not _by_name(plan, figure):
        width, height = max(width, WIDE_INCHES), height + INCHES_PER_ENTRY * ceil(names / 2)
    return width, height


def _by_name(plan: Plan, figure: Figure) -> bool:
    """Whether bars have their names beside them, since there are too many for a legend."""
    return figure.kind == "bar" and figure.x is None and len(strategies(plan, figure)) > FEW


def _lines(
    axes: Axes, plan: Plan, figure: Figure, metric: str, estimates: pd.DataFrame, colour: Colours
) -> None:
    assert figure.x is not None
    cells = swept_along(plan, figure.x, figure.where)
    for name, marker in zip(strategies(plan, figure), cycle(MARKERS), strict=False):
        rows = pd.concat([at_cell(estimates, factors, name, metric) for factors in cells]).dropna(
            subset="estimate"
        )
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
    # An axis on which nothing could be drawn has no logarithms.
    x_scale = figure.x_scale if np.isfinite(axes.dataLim.minposx) else "linear"
    y_scale = figure.y_scale if np.isfinite(axes.dataLim.minposy) else "linear"
    axes.set_xscale(x_scale)
    axes.set_yscale(y_scale)
    if x_scale == "log":
        plain_numbers(axes.xaxis, NUMBERS)
        swept = sorted(float(factors[figure.x] or 0) for factors in cells)
        if swept[-1] < 100 * swept[0]:
            axes.xaxis.set_major_locator(FixedLocator(swept))
    axes.set_xlabel(figure.x_label or figure.x)
    name_panel(axes, figure, metric)
    form = PERCENT if is_share(metric) else NUMBERS
    if y_scale == "log":
        plain_numbers(axes.yaxis, form)
        low, high = axes.get_ylim()
        if high < 100 * low:
            axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5), numticks=12))
        if not np.isfinite(axes.dataLim.minposy):  # nothing that such an axis could show
            axes.set_ylim(0.1, 1.0)
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
    names, by_name = strategies(plan, figure), _by_name(plan, figure)
    cells = swept_along(plan, figure.x, figure.where) if figure.x else [cell(plan, figure).factors]
    thickness = 0.8 / (1 if by_name else len(names))
    for index, name in enumerate(names):
        rows = pd.concat([at_cell(estimates, factors, name, metric) for factors in cells])
        offset = index if by_name else (index - (len(names) - 1) / 2) * thickness
        y = (np.arange(len(cells)) + offset)[: len(rows)]
        value = rows["estimate"].to_numpy(float)
        error = np.abs(np.vstack([value - rows["low"], rows["high"] - value]))
        axes.barh(y, value, thickness * 0.9, color=colour[name], label=None if by_name else name)
        axes.errorbar(
            value, y, xerr=np.nan_to_num(error), fmt="none", ecolor="black", elinewidth=1, capsize=2
        )
        exact = rows["exact"].to_numpy(float)
        axes.plot(exact, y, **EXACT, label="exact" if np.isfinite(exact).any() else None)
        if len(published) and not figure.x:
            theirs = published[(published["strategy"] == name) & (published["metric"] == metric)]
            label = "published" if len(theirs) else None
            axes.plot(theirs["published"], y[: len(theirs)], **PUBLISHED, label=label)
    labels = list(names) if by_name else [str(factors[figure.x]) if figure.x else "" for factors in cells]
    if metric != figure.y[0]:
        labels = [""] * len(labels)  # they stand beside the first panel
    axes.set_yticks(np.arange(len(labels)), [fill(label, LABEL_WIDTH) for label in labels])
    if by_name:
        axes.set_ylim(-0.6, len(names) - 0.4)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PERCENT if is_share(metric) else NUMBERS)
    axes.xaxis.set_major_locator(MaxNLocator(5 if len(figure.y) == 1 else 4))
    name_panel(axes, figure, metric)
    if figure.reference:
        axes.axvline(figure.reference.value, **REFERENCE, label=figure.reference.label)
