"""How all figures look: styles, colours, numbers at axes, names, and one legend."""

from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import fontManager
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from sim.report.tables import LABELS
from sim.study.config import Cell, Figure, Plan
from sim.study.identity import content, digest

ALONE_INCHES = (6.4, 3.8)
LABEL_WIDTH = 34
"""Letters after which the label of a bar goes on below."""

UNSEEN = "none seen: upper bound"
BEATEN_BY_NONE = "no other is lower in both"
AT_THE_EDGE = "0, at the end of the axis"
COMMON = ("exact", "published", BEATEN_BY_NONE, UNSEEN, AT_THE_EDGE)
"""Entries of a legend that are no strategies, and stand last."""

MARKERS = "os^vPX*<h"
"""One fewer than colours of a round, so that strategies a round apart differ in it too."""

FEW = 6
"""So many entries of a legend stand beside each other, and so many bars need no names of their own."""

LETTER_INCHES = 0.075
"""Room for a letter."""

EXACT: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 8,
    "fillstyle": "none",
    "color": "black",
    "markeredgewidth": 0.8,
}
BOUND: dict[str, Any] = {"linestyle": "none", "marker": 7, "markersize": 8, "gid": "none"}
REFERENCE: dict[str, Any] = {"color": "#555555", "linestyle": "--", "linewidth": 1}
NUMBERS = FuncFormatter(lambda value, _: plain(value))
PERCENT = FuncFormatter(lambda value, _: f"{plain(100 * value)} %")

Colours = dict[str, Any]

# A machine may have another version of a font: only those that come along give the same picture everywhere.
FONTS = Path(mpl.get_data_path(), "fonts", "ttf")
fontManager.ttflist = []
for font in sorted(FONTS.glob("*.ttf")):
    fontManager.addfont(font)


def plain(value: object) -> str:
    """Write a number without an exponent and without zeros that say nothing; any other value as it is."""
    if isinstance(value, (str, bool)) or value is None:
        return str(value)
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


def colours(plans: list[Plan]) -> dict[str, Colours]:
    """Give every strategy of a study its colour, whatever experiments call it; by experiment.

    They go in the order in which strategies first appear. After the colours themselves come darker ones, and
    lighter ones. Where an experiment has one strategy under several names, each has a colour of its own.
    """
    meant = {plan.name: _identities(plan) for plan in plans}
    palette = sns.color_palette("colorblind")
    dark = [mixed(colour, 0.0, 0.45) for colour in palette]
    light = [mixed(colour, 1.0, 0.5) for colour in palette]
    every = dict.fromkeys(identity for named in meant.values() for identity in named.values())
    colour = dict(zip(every, cycle([*palette, *dark, *light]), strict=False))
    return {
        plan: {name: colour[identity] for name, identity in named.items()} for plan, named in meant.items()
    }


def _identities(plan: Plan) -> dict[str, tuple[str, int]]:
    """Say by name which strategy an experiment means, and the how-manieth name of it that is."""
    digests = {name: digest(content(scenario.strategy)) for name, scenario in plan.cells[0].scenarios.items()}
    seen: list[str] = []
    identities = {}
    for name, of in digests.items():
        identities[name] = of, seen.count(of)
        seen.append(of)
    return identities


def mixed(colour: Any, grey: float, share: float) -> tuple[float, ...]:
    """Mix a colour with so large a share of a grey: 0.0 black, 1.0 white."""
    return tuple(part + share * (grey - part) for part in colour)


def strategies(plan: Plan, figure: Figure) -> tuple[str, ...]:
    """Give the strategies that a figure shows."""
    return figure.strategies or tuple(plan.experiment.strategies)


def cell(plan: Plan, figure: Figure) -> Cell:
    """Give the cell at which a figure without an axis is drawn: the base or, if it is none, the first."""
    wanted = plan.base | figure.where
    fitting = [cell for cell in plan.cells if figure.where.items() <= cell.factors.items()]
    return next((cell for cell in fitting if cell.factors == wanted), fitting[0])


def name_panel(axes: Axes, figure: Figure, metric: str) -> None:
    """Name a panel by what it shows, above it."""
    axes.set_title(fill(figure.y_label or LABELS.get(metric, metric), 34), fontsize=10, loc="left")


def plain_numbers(axis: Any, form: FuncFormatter) -> None:
    """Label a logarithmic axis at its decades, in plain numbers."""
    axis.set_major_locator(LogLocator(10, numticks=12))
    axis.set_major_formatter(form)
    axis.set_minor_locator(NullLocator())


def legend(canvas: Canvas, least: int = 2) -> None:
    """One legend below all panels, each entry once, what is common to all strategies last.

    Fewer than `least` entries need none.
    """
    entries: dict[str, Any] = {}
    for axes in canvas.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries |= {label: handle for handle, label in zip(handles, labels, strict=True)}
    entries |= {label: entries.pop(label) for label in COMMON if label in entries}
    if len(entries) >= least:
        columns = 3 if len(canvas.axes) == 1 else len(entries)
        if len(entries) > FEW:
            columns = max(int(canvas.get_figwidth() / (0.6 + LETTER_INCHES * max(map(len, entries)))), 1)
        handles, labels = list(entries.values()), list(entries)
        canvas.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
