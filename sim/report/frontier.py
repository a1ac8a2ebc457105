"""A frontier: every strategy a point, one metric against another, with its name beside it.

So overhead is read against duplicates. A grey line joins the strategies than which no other is lower in both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle, pairwise, product
from math import copysign, cos, isnan, nan, radians, sin
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from sim.report.answers import is_share, swept_along
from sim.report.look import (
    AT_THE_EDGE,
    BEATEN_BY_NONE,
    MARKERS,
    NUMBERS,
    PERCENT,
    REFERENCE,
    UNSEEN,
    Colours,
    cell,
    legend,
    name_panel,
    plain,
    plain_numbers,
    strategies,
)
from sim.report.tables import LABELS, at_cell
from sim.study.config import Figure, Plan

INCHES = (7.2, 4.8)
MANY_INCHES = (8.4, 6.2)
"""Size of a panel of more than `MANY` points."""

MANY = 8
LABEL_WIDTHS = (26, 16)
"""Letters after which a name goes on below; the narrow one where that stands nearer."""

MARKER_POINTS = 7.0
CARET_POINTS = 9.0
DISTANCES = (7.0, 13.0, 22.0, 34.0, 48.0, 64.0, 82.0)
"""How many points from its marker a name may stand; beyond the first, a thin line leads to it."""

ANGLES = (0, 45, -45, 180, 135, -135, 90, -90, 25, -25, 155, -155, 65, -65, 115, -115)
"""Where a name may stand, the best first; degrees."""

TRIES = 6
NEAR = DISTANCES[0]
NAMED: dict[str, Any] = {
    "fontsize": 8.5,
    "color": "#222222",
    "linespacing": 0.95,
    "zorder": 4,
    "arrowprops": {"arrowstyle": "-", "color": "#999999", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4},
}
VALUED = NAMED | {"fontsize": 7.5, "color": "#666666"}
FRONT: dict[str, Any] = {"color": "#c4c4c4", "linewidth": 1.4, "zorder": 1.5, "gid": "front"}
LEFT, DOWN = 4, 7
"""Markers of bounds."""

Box = tuple[float, float, float, float]
Boxes = NDArray[np.float64]
"""Left, lower, right and upper ends, in dots."""


@dataclass(frozen=True)
class Spot:
    """Where a value stands on an axis, and its error bar; an upper bound of what was not seen has none."""

    value: float
    at: float
    low: float
    high: float

    @classmethod
    def of(cls, row: pd.Series, logarithmic: bool) -> "Spot":
        """Find out where an estimate stands: NaN if that is below all that a logarithmic axis has."""
        value, low, high = (float(row[name]) for name in ("estimate", "low", "high"))
        if value > 0 or not logarithmic:
            return cls(value, value, value if isnan(low) else low, value if isnan(high) else high)
        at = high if high > 0 else nan
        return cls(value, at, at, at)

    @property
    def bound(self) -> bool:
        """Whether it is only a bound."""
        return self.at != self.value

    @property
    def at_the_end(self) -> bool:
        """Whether it is 0 for all that is known, at the end of a logarithmic axis."""
        return isnan(self.high)


@dataclass(frozen=True)
class Point:
    """A strategy in a cell: what is written beside it, and whether its name must be read somewhere."""

    strategy: str
    marker: str
    text: str
    named: bool
    x: Spot
    y: Spot


def drawn(plan: Plan, figure: Figure, estimates: pd.DataFrame, colour: Colours) -> Canvas:
    """Draw one metric against others, a panel each.

    Parameters
    ----------
    plan, figure : Plan, Figure
        The experiment, and what to draw of it.
    estimates : DataFrame
        Its results; a strategy without one of the numbers is not shown.
    colour : dict of str to colour
        By strategy.
    """
    panels = [list(_points(plan, figure, metric, estimates)) for metric in figure.y]
    width, height = MANY_INCHES if max(map(len, panels)) > MANY else INCHES
    # With 72 dots an inch a dot is a point, as it is in the file.
    canvas = Canvas(figsize=(width * len(panels), height), layout="constrained", dpi=72)
    row = canvas.subplots(1, len(panels), squeeze=False)[0]
    placed = [
        (axes, _draw(axes, figure, metric, points, colour))
        for axes, metric, points in zip(row, figure.y, panels, strict=True)
    ]
    _name(canvas, placed, colour)
    return canvas


def _points(plan: Plan, figure: Figure, metric: str, estimates: pd.DataFrame) -> Iterator[Point]:
    names, along = strategies(plan, figure), figure.along
    cells = swept_along(plan, along, figure.where) if along else [cell(plan, figure).factors]
    for (name, marker), factors in product(zip(names, cycle(MARKERS), strict=False), cells):
        rows = [at_cell(estimates, factors, name, of) for of in (str(figure.x), metric)]
        if any(found["estimate"].isna().all() for found in rows):
            continue
        scales = (figure.x_scale, figure.y_scale)
        x, y = (Spot.of(rows[i].iloc[0], scales[i] == "log") for i in range(2))
        # Of a strategy that has several points the last is named, and all have the value of the swept key.
        named = len(names) > 1 and factors is cells[-1] if along else True
        shown = plain(factors[along]) if along else ""
        yield Point(name, marker, f"{name} {shown}".strip() if named else shown, named, x, y)


def _draw(axes: Axes, figure: Figure, metric: str, points: list[Point], colour: Colours) -> list[Point]:
    """Draw all but names; give the points with their places."""
    for which, of, scale in (("x", str(figure.x), figure.x_scale), ("y", metric, figure.y_scale)):
        points = _scaled(axes, which, points, is_share(of), scale == "log")
    for point in points:
        _mark(axes, point, colour[point.strategy])
    if figure.along:
        for name in dict.fromkeys(point.strategy for point in points):
            line = [(point.x.at, point.y.at) for point in points if point.strategy == name]
            axes.plot(*np.array(line).T, color=colour[name], linewidth=1, alpha=0.6, zorder=2)
    elif len(points) > 2:
        front = [(point.x.at, point.y.at) for point in _unbeaten(points)]
        axes.plot(*np.array(front).T, drawstyle="steps-post", **FRONT, label=BEATEN_BY_NONE)
    spots = [spot for point in points for spot in (point.x, point.y) if spot.bound]
    common: dict[str, Any] = {"color": "#555555", "linestyle": "none"}
    if not all(spot.at_the_end for spot in spots):
        axes.plot([], [], marker=DOWN, **common, label=UNSEEN)
    if any(spot.at_the_end for spot in spots):
        axes.plot([], [], marker="o", markerfacecolor="white", **common, label=AT_THE_EDGE)
    axes.set_xlabel(figure.x_label or LABELS.get(str(figure.x), str(figure.x)))
    name_panel(axes, figure, metric)
    if figure.reference:
        axes.axhline(figure.reference.value, **REFERENCE, label=figure.reference.label)
    return points


def _mark(axes: Axes, point: Point, colour: Any) -> None:
    """Draw a point with its error bars, a caret at a bound, or hollow at the end of an axis."""
    x, y = point.x, point.y
    look: dict[str, Any] = {"color": colour, "zorder": 3}
    axes.hlines(y.at, x.low, x.high, linewidth=1.2, alpha=0.6, **look)
    axes.vlines(x.at, y.low, y.high, linewidth=1.2, alpha=0.6, **look)
    look |= {"linestyle": "none", "clip_on": False}
    carets = [caret for spot, caret in ((x, LEFT), (y, DOWN)) if spot.bound and not spot.at_the_end]
    for caret in carets:
        axes.plot(x.at, y.at, marker=caret, markersize=CARET_POINTS, **look)
    if not carets:
        look |= {"markerfacecolor": "white"} if x.at_the_end or y.at_the_end else {}
        axes.plot(x.at, y.at, marker=point.marker, markersize=MARKER_POINTS, **look)


def _scaled(axes: Axes, which: str, points: list[Point], share: bool, logarithmic: bool) -> list[Point]:
    """Give an axis its scale and its ends, and what is below it a place at its end."""
    axis, form = getattr(axes, f"{which}axis"), PERCENT if share else NUMBERS
    spots = [getattr(point, which) for point in points]
    known = [spot for spot in spots if not isnan(spot.at)]
    if logarithmic:
        least = min((max(spot.low, spot.at / 10) for spot in known), default=0.1)
        most = max((spot.high for spot in known), default=1.0)
        low, high = least / 1.8, most * 1.8
        getattr(axes, f"set_{which}scale")("log")
        plain_numbers(axis, form)
        if high < 100 * low:
            axis.set_major_locator(LogLocator(10, subs=(1, 2, 5), numticks=12))
    else:
        least = min((spot.low for spot in known), default=0.0)
        most = max((spot.high for spot in known), default=1.0)
        margin = 0.08 * (most - least) or 0.08 * most or 1.0
        low, high = (-margin / 2 if least < most / 2 else least - margin), most + margin
        axis.set_major_formatter(form)
    getattr(axes, f"set_{which}lim")(low, high)
    moved = []
    for point, spot in zip(points, spots, strict=True):
        edge = replace(spot, at=low, low=low, high=nan)
        here = edge if isnan(spot.at) else replace(spot, low=max(spot.low, low))
        moved.append(replace(point, x=here) if which == "x" else replace(point, y=here))
    return moved


def _unbeaten(points: list[Point]) -> list[Point]:
    """Give the points than which no other is lower in both, from left to right."""
    found: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x.value, point.y.value)):
        if not found or point.y.value < found[-1].y.value:
            found.append(point)
    return found


def _name(canvas: Canvas, panels: list[tuple[Axes, list[Point]]], colour: Colours) -> None:
    """Write names beside the points; those without room stand in the legend, which takes room itself."""
    without: dict[str, Point] = {}
    for _ in range(3):
        for old in canvas.legends:
            old.remove()
        for axes, _ in panels:
            for text in list(axes.texts):
                text.remove()
        legend(canvas, least=1)
        canvas.draw_without_rendering()
        left = [point for axes, points in panels for point in _names_of(axes, points) if point.named]
        new = {point.strategy: point for point in left if point.strategy not in without}
        if not new:
            return
        for name, point in new.items():
            look = {"marker": point.marker, "color": colour[name], "linestyle": "none"}
            panels[0][0].plot([], [], label=name, **look)
        without |= new


def _names_of(axes: Axes, points: list[Point]) -> list[Point]:
    """Write the names of a panel; give the points that have no room for theirs.

    Those that had none come first in another try.
    """
    front = [box for line in axes.lines if line.get_gid() == FRONT["gid"] for box in _along(axes, line)]
    marks = [box for point in points for box in _boxes(axes, point)]
    rooms = {point: list(_rooms(axes, point)) for point in points}
    order = points
    tries: list[tuple[list[Point], dict[Point, _Room]]] = []
    for _ in range(TRIES):
        taken, left, found = np.array([*front, *marks]), [], {}
        for point in order:
            room = next((room for room in rooms[point] if not _overlap(room.boxes, taken)), None)
            if room is not None:
                found[point] = room
                taken = np.concatenate([taken, room.boxes])
            elif point.named:
                left.append(point)
        tries.append((left, found))
        if not left:
            break
        order = left + [point for point in order if point not in left]
    left, found = min(tries, key=lambda one: len(one[0]))
    for point, room in found.items():
        _write(axes, point, room)
    return left


def _text(axes: Axes, point: Point, width: int, offset: tuple[float, float], **place: Any) -> Annotation:
    text = axes.annotate(
        fill(point.text, width),
        (point.x.at, point.y.at),
        offset,
        textcoords="offset points",
        **place,
        **(NAMED if point.named else VALUED),
    )
    text.set_in_layout(False)
    return text


def _write(axes: Axes, point: Point, room: "_Room") -> None:
    ha, va = ("center", "left", "right")[room.side[0]], ("center", "bottom", "top")[room.side[1]]
    text = _text(axes, point, room.width, room.offset, ha=ha, va=va)
    if room.distance <= NEAR and text.arrow_patch is not None:
        text.arrow_patch.set_visible(False)


def _along(axes: Axes, line: Line2D) -> Iterator[Box]:
    """Give the room that the steps of the front take."""
    corners = axes.transData.transform(np.column_stack(line.get_data()))
    for (x0, y0), (x1, y1) in pairwise(corners):
        yield x0, y0 - 1, x1, y0 + 1
        yield x1 - 1, min(y0, y1), x1 + 1, max(y0, y1)


def _boxes(axes: Axes, point: Point) -> Iterator[Box]:
    """Give the room that a point and its error bars take."""
    x, y = axes.transData.transform((point.x.at, point.y.at))
    half = MARKER_POINTS / 2 + 1
    # A caret points at its place, so it stands beside it.
    beside, above = (CARET_POINTS * (spot.bound and not spot.at_the_end) for spot in (point.x, point.y))
    yield x - half, y - half, x + max(half, beside), y + max(half, above)
    if point.x.high > point.x.low:
        ends = [axes.transData.transform((end, point.y.at))[0] for end in (point.x.low, point.x.high)]
        yield ends[0], y - 1, ends[1], y + 1
    if point.y.high > point.y.low:
        ends = [axes.transData.transform((point.x.at, end))[1] for end in (point.y.low, point.y.high)]
        yield x - 1, ends[0], x + 1, ends[1]


def _overlap(some: Boxes, others: Boxes) -> bool:
    """Whether any of some boxes overlaps any of others."""
    one, other = some[:, np.newaxis], others[np.newaxis]
    apart = (one[..., :2] >= other[..., 2:]) | (other[..., :2] >= one[..., 2:])
    return bool((~apart.any(axis=-1)).any())


class _Room(NamedTuple):
    """Room for a name: how far from its marker, and what the name and the line to it take."""

    distance: float
    width: int
    side: tuple[int, int]
    offset: tuple[float, float]
    boxes: Boxes


def _rooms(axes: Axes, point: Point) -> Iterator[_Room]:
    """Give the rooms in a panel for the name of a point, the best first, whatever else is there."""
    sizes = {}
    for width in LABEL_WIDTHS:
        text = _text(axes, point, width, (0.0, 0.0))
        sizes[width] = Text.get_window_extent(text).size  # without the line that leads to it
        text.remove()
    panel, at = axes.bbox, axes.transData.transform((point.x.at, point.y.at))
    distances = DISTANCES if point.named else DISTANCES[:2]
    for distance, (width, size), angle in product(distances, sizes.items(), ANGLES):
        offset = distance * cos(radians(angle)), distance * sin(radians(angle))
        # A text is anchored at the corner or the middle of the side that is nearest to the marker.
        right, up = (0 if abs(part) < 0.3 * distance else int(copysign(1, part)) for part in offset)
        left = at[0] + offset[0] + (right - 1) / 2 * size[0]
        below = at[1] + offset[1] + (up - 1) / 2 * size[1]
        if not (panel.x0 < left < panel.x1 - size[0] + 4 and panel.y0 < below < panel.y1 - size[1] + 4):
            continue
        boxes = [(left - 1, below - 1, left + size[0] + 1, below + size[1] + 1)]
        for share in np.linspace(NEAR / distance, 1, 12)[:-1] if distance > NEAR else ():
            x, y = at[0] + share * offset[0], at[1] + share * offset[1]
            boxes.append((x - 1, y - 1, x + 1, y + 1))
        yield _Room(distance, width, (right, up), offset, np.array(boxes))
