"""A map of which strategy costs least: over a swept key, and over what a duplicate costs.

A mean run costs its time, the price of its protection and, for each duplicate, what that costs, all in
seconds of the agent. Between the points of a sweep time is linear in the logarithm of the key, and rates of
duplicates are power laws.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from sim.report.answers import Answers, swept_along
from sim.report.costs import between, lines_between
from sim.report.look import NUMBERS, Colours, mixed, plain_numbers, strategies
from sim.report.tables import at_cell
from sim.study.config import WEIGHED, Figure, Plan

INCHES = (6.4, 4.4)
POINTS = 361
"""Of the grid on which costs are compared, along each axis."""

PALE = 0.45
NAME_SIZE, LEAST_SIZE = 10.0, 7.0
UNITS = {"minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}
"""Times that a reader knows by another name than their seconds."""

OPEN = "pale along a border: the intervals, 95 % all together, leave open which"
NOTHING = 1e-12
"""A difference in cost, s, that is none."""

Floats = NDArray[np.float64]


def drawn(
    plan: Plan, figure: Figure, estimates: pd.DataFrame, contrasts: pd.DataFrame, colour: Colours
) -> Canvas:
    """Draw which strategy costs least where, and where that is open.

    Parameters
    ----------
    plan, figure : Plan, Figure
        The experiment, and what to draw of it.
    estimates, contrasts : DataFrame
        Its results; what is open follows from paired differences.
    colour : dict of str to colour
        By strategy.
    """
    assert figure.x is not None
    names = strategies(plan, figure)
    points = Points(plan, figure, estimates, contrasts)
    x = np.geomspace(points.x[0], points.x[-1], POINTS)
    y = np.geomspace(*figure.costs, POINTS)
    cost = points.costs(x, y)
    canvas = Canvas(figsize=INCHES, layout="constrained")
    axes = canvas.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.grid(visible=False)
    for number, name in enumerate(names):
        ahead = np.delete(cost, number, axis=0).min(axis=0) - cost[number]
        fill = mixed(colour[name], 1.0, PALE)
        if (ahead >= 0).all():
            axes.fill_between(x, *figure.costs, color=fill, linewidth=0, zorder=1)
        elif (ahead >= 0).any():
            axes.contourf(x, y, ahead, levels=[0.0, np.inf], colors=[fill], zorder=1)
            axes.contour(x, y, ahead, levels=[0.0], colors="#333333", linewidths=0.9, zorder=3)
    sure = points.sure(x, y, cost)
    undecided = bool((sure < -NOTHING).any())
    if undecided:
        white = [(1.0, 1.0, 1.0, 0.5)]
        axes.contourf(x, y, sure, levels=[-np.inf, -NOTHING], colors=white, zorder=2)
    for number, name in enumerate(names):
        _name(axes, name, cost.argmin(axis=0) == number)
    plain_numbers(axes.xaxis, NUMBERS)
    plain_numbers(axes.yaxis, NUMBERS)
    axes.set_xlabel(figure.x_label or figure.x)
    axes.set_ylabel(figure.y_label or "what a duplicate costs, s of the agent")
    beside = axes.secondary_yaxis("right")
    beside.yaxis.set_major_locator(FixedLocator([at for at in UNITS.values() if y[0] <= at <= y[-1]]))
    beside.yaxis.set_minor_locator(NullLocator())
    beside.yaxis.set_major_formatter(FuncFormatter(lambda at, _: _long(at)))
    beside.tick_params(labelsize=8, colors="#555555")
    beside.spines["right"].set_visible(False)
    if undecided:
        axes.set_title(OPEN, fontsize=8, loc="right", color="#555555")
    return canvas


class Points:
    """What runs of each strategy cost at the points of the sweep.

    Parameters
    ----------
    plan, figure : Plan, Figure
    estimates, contrasts : DataFrame

    Attributes
    ----------
    x : ndarray of float, shape (points,)
        Values of the swept key, ascending.
    names : tuple of str
    """

    def __init__(self, plan: Plan, figure: Figure, estimates: pd.DataFrame, contrasts: pd.DataFrame) -> None:
        key = figure.x or ""
        cells = sorted(swept_along(plan, key, figure.where), key=lambda cell: float(cell[key] or 0))
        answers = Answers(plan, estimates, pd.DataFrame())
        self.x = np.array([float(cell[key] or 0) for cell in cells])
        self.names = strategies(plan, figure)
        lines = [answers.on_map(figure.name, cell) for cell in cells]
        self.lines = [[at[name] for at in lines] for name in self.names]
        # By pair of strategies and metric: how far the interval of their difference reaches down, and up.
        self.reach: dict[tuple[int, int], Floats] = {}
        for (one, first), (other, second) in combinations(enumerate(self.names), 2):
            reach = np.array(
                [
                    [_reach(estimates, contrasts, cell, (first, second), metric) for cell in cells]
                    for metric in WEIGHED
                ]
            )
            self.reach[other, one], self.reach[one, other] = reach[:, :, 0], reach[:, :, 1]

    def costs(self, x: Floats, y: Floats) -> Floats:
        """Cost of a mean run, shape (strategies, y, x), s."""
        return np.array(
            [
                time + often * y[:, None]
                for time, often in (lines_between(x, self.x, lines) for lines in self.lines)
            ]
        )

    def sure(self, x: Floats, y: Floats, cost: Floats) -> Floats:
        """By how much the cheapest surely is cheaper than any other, shape (y, x), s; below 0 if not."""
        best = cost.argmin(axis=0)
        least = np.full(best.shape, np.inf)
        for (dearer, cheaper), (time, often) in self.reach.items():
            reach = between(x, self.x, time) + between(x, self.x, often) * y[:, None]
            apart = cost[dearer] - cost[cheaper] - reach
            least = np.where(best == cheaper, np.minimum(least, apart), least)
        return least


def _reach(
    estimates: pd.DataFrame, contrasts: pd.DataFrame, cell: dict[str, Any], pair: tuple[str, str], metric: str
) -> tuple[float, float]:
    """How far an interval reaches below and above the difference of the second strategy from the first.

    Not at all where theory says that there is none, or where no run of either differed.
    """
    exact = [float(at_cell(estimates, cell, name, metric).iloc[0]["exact"]) for name in pair]
    if exact[0] == exact[1]:
        return 0.0, 0.0
    one, other = pair
    for first, second, turned in ((one, other, False), (other, one, True)):
        rows = at_cell(contrasts[contrasts["first"] == first], cell, second, metric, by="second")
        if len(rows):
            middle, low, high = (float(rows.iloc[0][name]) for name in ("difference", "low", "high"))
            below, above = np.nan_to_num([middle - low, high - middle])
            return (above, below) if turned else (below, above)
    raise ValueError(f"there is no contrast of {pair[0]!r} and {pair[1]!r}.")


def _name(axes: Axes, name: str, where: NDArray[np.bool_]) -> None:
    """Write a name where its region is widest, as large as it fits."""
    if not where.any():
        return
    size = NAME_SIZE
    width, height = (TextPath((0, 0), name, size=size).get_extents().width / 72, size / 72)
    inside = np.pad(where, 1)
    apart = INCHES[1] / POINTS, INCHES[0] / POINTS * height / width  # a text is wider than it is high
    room = distance_transform_edt(inside, sampling=apart)[1:-1, 1:-1]
    rows, columns = np.nonzero(room > 0.97 * room.max())
    middle = [float(np.mean(at)) for at in np.nonzero(where)]
    nearest = np.hypot(rows - middle[0], columns - middle[1]).argmin()
    row, column = rows[nearest], columns[nearest]
    size = float(np.clip(size * 2 * room.max() / height / 1.3, LEAST_SIZE, NAME_SIZE))
    place = (column + 0.5) / POINTS, (row + 0.5) / POINTS
    axes.text(
        *place,
        name,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=size,
        weight="bold",
        zorder=5,
    )


def _long(seconds: float) -> str:
    """Write a long time in the unit that it is one of."""
    return next(f"1 {unit}" for unit, per in UNITS.items() if per == seconds)
