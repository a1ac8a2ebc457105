"""Which assumption moves which number how far: each by itself, from the base; the farthest first."""

from dataclasses import dataclass
from math import inf, isnan, log, nan
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator

from sim.report.answers import number, swept_along
from sim.report.look import LABEL_WIDTH, REFERENCE, legend, plain, plain_numbers
from sim.report.tables import LABELS, Table, one_at
from sim.study.config import Factor, Headline, Plan, SensitivityTable

UNMOVED = "≈ 1"
"""Stands where the intervals do not tell a value from the one at the base."""

PANEL_INCHES, NAMES_INCHES, ROW_INCHES, REST_INCHES = 2.1, 2.7, 0.36, 1.1
LESS, MORE, OTHER = "moved down", "moved up", "another law"
SIGNS = {LESS: ("<", "#0173b2"), MORE: (">", "#de8f05"), OTHER: ("o", "#cc78bc")}


@dataclass(frozen=True)
class Move:
    """What a value of a swept key makes of a number.

    Attributes
    ----------
    value : str, number or bool
        Of the swept key.
    kind : str
        Whether that is less than at the base, more, or something else.
    factor, low, high : float
        The estimate, and its interval, over the estimate at the base.
    told : bool
        Whether the interval does not meet that of the base.
    """

    value: Factor
    kind: str
    factor: float
    low: float
    high: float
    told: bool

    @property
    def reach(self) -> float:
        """Absolute logarithm of the factor; 0 where it is not told from 1."""
        if not self.told:
            return 0.0
        return abs(log(self.factor)) if 0 < self.factor < inf else inf


@dataclass(frozen=True)
class Assumption:
    """A swept key: what it is, its value at the base, and by headline what moving it does."""

    name: str
    base: Factor
    moves: list[list[Move]]

    @property
    def reach(self) -> float:
        """How far it moves what it moves farthest."""
        return max((move.reach for moved in self.moves for move in moved), default=0.0)


def assumptions(plan: Plan, wanted: SensitivityTable, estimates: pd.DataFrame) -> list[Assumption]:
    """Rank the swept keys of an experiment by how far each moves any of some headlines.

    Parameters
    ----------
    plan : Plan
        Its base is among the cells.
    wanted : SensitivityTable
    estimates : DataFrame
        Its results.
    """
    found = []
    for key, base in plan.base.items():
        cells = [cell for cell in swept_along(plan, key) if cell[key] != base]
        moves = [[_move(plan, cell, key, headline, estimates) for cell in cells] for headline in wanted.of]
        found.append(Assumption(wanted.labels.get(key, key), base, moves))
    return sorted(found, key=lambda each: -each.reach)


def _move(plan: Plan, cell: dict[str, Factor], key: str, headline: Headline, estimates: pd.DataFrame) -> Move:
    moved, base = (one_at(estimates, at, headline.strategy, headline.metric) for at in (cell, plan.base))
    told = bool(moved["low"] > base["high"] or moved["high"] < base["low"])
    factor, low, high = (_over(moved[what], base["estimate"]) for what in ("estimate", "low", "high"))
    return Move(cell[key], _kind(cell[key], plan.base[key]), factor, low, high, told)


def _over(value: float, base: float) -> float:
    if value == base:
        return 1.0
    if isnan(value) or isnan(base):
        return nan
    return value / base if base else inf


def _kind(value: Factor, base: Factor) -> str:
    numbers = [isinstance(each, (int, float)) and not isinstance(each, bool) for each in (value, base)]
    if not all(numbers):
        return OTHER
    return LESS if float(value or 0) < float(base or 0) else MORE


def table(plan: Plan, wanted: SensitivityTable, estimates: pd.DataFrame) -> Table:
    """Write the factors by which headlines move, as a range for each assumption."""
    heads = ["assumption", "at the base", "moved to"]
    heads += [f"{LABELS[headline.metric]}: {headline.strategy}" for headline in wanted.of]
    rows = [
        [
            each.name,
            _short(each.base),
            ", ".join(_short(move.value) for move in each.moves[0]),
            *map(_factors, each.moves),
        ]
        for each in assumptions(plan, wanted, estimates)
    ]
    return Table(wanted.title, heads, rows, "estimates.csv")


def _factors(moves: list[Move]) -> str:
    """Write the least and the greatest factor."""
    if any(isnan(move.factor) for move in moves):
        return ""
    factors = [move.factor for move in moves if move.told]
    low, high = min([1.0, *factors]), max([1.0, *factors])
    if low == high:
        return UNMOVED
    return " to ".join("1" if end == 1 else f"× {number(end)}" for end in (low, high))


def _short(value: Factor) -> str:
    return f"{value:,.10g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def drawn(plan: Plan, wanted: SensitivityTable, estimates: pd.DataFrame) -> Canvas:
    """Draw the factors with their intervals: a row an assumption, a panel a headline."""
    ranked = assumptions(plan, wanted, estimates)
    width = NAMES_INCHES + PANEL_INCHES * len(wanted.of)
    canvas = Canvas(figsize=(width, REST_INCHES + ROW_INCHES * len(ranked)), layout="constrained")
    for place, axes in enumerate(canvas.subplots(1, len(wanted.of), sharey=True, squeeze=False)[0]):
        headline = wanted.of[place]
        for row, each in enumerate(ranked):
            for move in each.moves[place]:
                _mark(axes, row, move)
        axes.axvline(1.0, **REFERENCE)
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        low, high = min(low, 0.4), max(high, 2.5)
        axes.set_xlim(low, high)
        plain_numbers(axes.xaxis, FuncFormatter(lambda value, _: f"× {plain(value)}"))
        if high < 100 * low:
            axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
        axes.set_title(fill(f"{LABELS[headline.metric]}: {headline.strategy}", 26), fontsize=9, loc="left")
        axes.set_yticks(range(len(ranked)), [fill(each.name, LABEL_WIDTH) for each in ranked], fontsize=9)
        axes.set_ylim(len(ranked) - 0.5, -0.5)
    legend(canvas)
    return canvas


def _mark(axes: Axes, row: int, move: Move) -> None:
    if not 0 < move.factor < inf:
        return
    marker, colour = SIGNS[move.kind]
    axes.plot([1.0, move.factor], [row, row], color=colour, linewidth=1.2, alpha=0.5)
    reach = [[move.factor - move.low], [move.high - move.factor]]
    style: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 6, "elinewidth": 1.0, "capsize": 2}
    axes.errorbar(move.factor, row, xerr=reach, label=move.kind, **style)
