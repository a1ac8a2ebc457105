"""The picture of an action step under several strategies: phases to scale, marks, and what a crash does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from sim.program import CALL, QUERY, SAVE, WORK
from sim.report.answers import number
from sim.report.look import mixed, plain, style
from sim.report.windows import KNOWN, NEVER_DONE, STUCK, TWICE, Anatomy, Part, Window, anatomy
from sim.scenario import Scenario
from sim.study.files import replacing

CREATOR = "savegap anatomy"
"""Stands in the file, and makes names inside it the same each time."""

WIDTH_INCHES, NAME_INCHES, ROW_INCHES, BAR_INCHES = 7.2, 1.12, 0.88, 0.32
FOOT_INCHES, EDGE_INCHES = 0.42, 0.08
NAME_SIZE, NAME_WIDTH = 9.0, 15
"""Of the names of strategies: their size, smaller where one is too wide, and letters of a line."""

SHOWN_OF_WORK = 0.25
"""A phase longer than all calls and saves of a step is drawn as so large a part of these."""

STUB = 0.09
"""What is shown of the following step, as a part of the same."""

NEAR = 0.25
"""What follows the step by no more than so large a part of the same is shown too."""

SMALL = 7.0
PALETTE = sns.color_palette("colorblind")
FILLS = {WORK: "#d9d9d9", CALL: PALETTE[9], SAVE: mixed(PALETTE[2], 1.0, 0.4), QUERY: PALETTE[8]}
DARKER = mixed(PALETTE[4], 0.0, 0.3)
HARMS: dict[str, tuple[str, Any]] = {
    TWICE: ("a crash here repeats the action", (0.80, 0.05, 0.10)),
    NEVER_DONE: ("a crash here loses the action", DARKER),
    STUCK: ("a crash here leaves the run stuck", (0.33, 0.33, 0.33)),
    KNOWN: ("sent again, but known by its key", PALETTE[0]),
}
FOLLOWING = "next"
HARMLESS = "no crash repeats or loses the action"
QUIET = "#555555"


@dataclass(frozen=True)
class Ruler:
    """Where instants of a step stand: true to scale, but for phases that are shortened.

    Attributes
    ----------
    instants, places : list of float
        In seconds of the run, and in seconds as drawn.
    ends : float
        Where the picture ends.
    shortened : list of Part
    """

    instants: list[float]
    places: list[float]
    ends: float
    shortened: list[Part]

    @classmethod
    def of(cls, shown: Anatomy, rest: float) -> "Ruler":
        """Shorten what is longer than `rest`, the time of a step but for its work."""
        instants, places, shortened = [0.0], [0.0], []
        for part in shown.own:
            length = part.end_s - part.begin_s
            if length > rest:
                shortened.append(part)
                length = SHOWN_OF_WORK * rest
            instants.append(part.end_s)
            places.append(places[-1] + length)
        near = [mark.at_s for mark in shown.marks if mark.at_s - instants[-1] <= NEAR * rest]
        beyond = max([0.0, *(at - instants[-1] for at in near)]) + STUB * rest
        instants.append(instants[-1] + beyond)
        places.append(places[-1] + beyond)
        return cls(instants, places, places[-1], shortened)

    def shows(self, instant: float) -> bool:
        """Whether an instant is within the picture."""
        return instant <= self.instants[-1]

    def place(self, instant: float) -> float:
        """Where an instant stands; what is beyond the picture stands at its end."""
        return float(np.interp(instant, self.instants, self.places))


def draw(scenarios: Mapping[str, Scenario], target: Path) -> None:
    """Draw the first action step under each of several strategies as SVG; the same bytes each time.

    Parameters
    ----------
    scenarios : mapping of str to Scenario
        By strategy, a row each. Their crashes are left out.
    target : Path
        The SVG file, written whole or not at all.
    """
    rows = {name: anatomy(scenario) for name, scenario in scenarios.items()}
    rest = max(_besides_work(shown) for shown in rows.values())
    rulers = {name: Ruler.of(shown, rest) for name, shown in rows.items()}
    scale = (WIDTH_INCHES - NAME_INCHES - EDGE_INCHES) / max(ruler.ends for ruler in rulers.values())
    size = _size_of(rows)
    height = ROW_INCHES * len(rows) + FOOT_INCHES
    with mpl.rc_context(style(CREATOR)):
        canvas = Canvas(figsize=(WIDTH_INCHES, height))
        # An inch of the picture is a unit of both axes.
        axes = canvas.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, WIDTH_INCHES)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        for row, (name, shown) in enumerate(rows.items()):
            _row(axes, name, size, shown, rulers[name], scale, row * ROW_INCHES + 0.46)
        _foot(axes, scale, height - 0.14)
        with replacing(target) as new:
            canvas.savefig(new, format="svg", metadata={"Date": None, "Creator": CREATOR})


def written(length_s: float) -> str:
    """Write a time with two digits, in milliseconds if it is short."""
    return f"{number(1000 * length_s, 2)} ms" if length_s < 0.1 else f"{number(length_s, 2)} s"


def _besides_work(shown: Anatomy) -> float:
    """Time of the step but for its work, s; that of its shortest work if there is nothing else."""
    rest = sum(part.end_s - part.begin_s for part in shown.own if part.activity != WORK)
    return rest or min(part.end_s - part.begin_s for part in shown.own)


def _size_of(names: Iterable[str]) -> float:
    """Find the size in which all names have room."""
    lines = [line for name in names for line in fill(name, NAME_WIDTH).split("\n")]
    widest = max(_width(line, NAME_SIZE, "bold") for line in lines)
    return NAME_SIZE * min((NAME_INCHES - 2 * EDGE_INCHES) / widest, 1.0)


def _row(
    axes: Axes, name: str, size: float, shown: Anatomy, ruler: Ruler, scale: float, middle: float
) -> None:
    """Draw a strategy: its windows behind, the phases over them, the marks below."""
    top, bottom = middle - BAR_INCHES / 2, middle + BAR_INCHES / 2

    def x(instant: float) -> float:
        return NAME_INCHES + scale * ruler.place(instant)

    text = fill(name, NAME_WIDTH)
    axes.text(EDGE_INCHES, middle, text, va="center", fontsize=size, weight="bold", linespacing=0.95)
    for part in shown.own:
        _phase(axes, part, x(part.begin_s), x(part.end_s), top, part in ruler.shortened)
    after, end = x(shown.own[-1].end_s), NAME_INCHES + scale * ruler.ends
    axes.fill_between([after, end], top, bottom, color="#efefef", linewidth=0, zorder=1)
    if _width(FOLLOWING, SMALL) < end - after:
        axes.text((after + end) / 2, middle, FOLLOWING, ha="center", va="center", fontsize=SMALL, color=QUIET)
    taken = 0.0
    for window in shown.windows:
        taken = _window(axes, window, x(window.begin_s), x(window.end_s), end, top, bottom, taken)
    if not shown.windows:
        axes.text(NAME_INCHES, top - 0.09, HARMLESS, va="bottom", fontsize=8, color=QUIET)
    _marks(axes, {mark.at_s: x(mark.at_s) for mark in shown.marks if ruler.shows(mark.at_s)}, shown, bottom)
    late = [mark for mark in shown.marks if not ruler.shows(mark.at_s)]
    if late:
        after_s = shown.own[-1].end_s
        text = f"… {', '.join(f'{mark.name} {written(mark.at_s - after_s)}' for mark in late)} later"
        right = WIDTH_INCHES - EDGE_INCHES - _width(text, SMALL)
        axes.text(min(end + 0.08, right), middle, text, va="center", fontsize=SMALL, color="#222222")


def _phase(axes: Axes, part: Part, begin: float, end: float, top: float, shortened: bool) -> None:
    """Draw a phase, and in it its name and its length if there is room."""
    middle = top + BAR_INCHES / 2
    axes.fill_between([begin, end], top, top + BAR_INCHES, color=FILLS[part.activity], linewidth=0)
    axes.plot([begin, begin], [top, top + BAR_INCHES], color="white", linewidth=0.8, zorder=3)
    lines = [part.name, written(part.end_s - part.begin_s)]
    if max(_width(line, SMALL) for line in lines) < end - begin:
        place = (begin + end) / 2 - (0.1 if shortened else 0)
        axes.text(place, middle, "\n".join(lines), ha="center", va="center", fontsize=SMALL, linespacing=1.05)
    if shortened:
        at = begin + 0.82 * (end - begin)
        for apart in (0.0, 0.06):
            slash = [at + apart - 0.03, at + apart + 0.03], [top + BAR_INCHES + 0.04, top - 0.04]
            axes.plot(*slash, color="white", linewidth=3, zorder=4, solid_capstyle="butt")
            axes.plot(*slash, color=QUIET, linewidth=0.8, zorder=5)


def _window(
    axes: Axes, window: Window, begin: float, end: float, edge: float, top: float, bottom: float, taken: float
) -> float:
    """Shade a window, and say above it what it is and how long; give where the text ends."""
    says, colour = HARMS[window.harm]
    text = f"{says}: {written(window.length_s)}"
    if window.to_the_end:
        text = f"{text}, to the end of the run"
    behind = mixed(colour, 1.0, 0.72)
    axes.fill_between([begin, end], top - 0.06, bottom + 0.06, color=behind, linewidth=0, zorder=0)
    axes.plot([begin, end], [top - 0.05] * 2, color=colour, linewidth=2.2, solid_capstyle="butt", zorder=6)
    if window.to_the_end:
        axes.plot(end + 0.02, top - 0.05, marker=9, markersize=7, color=colour, linestyle="none", zorder=6)
    width = _width(text, 8)
    left = max(min(begin, edge - width), taken + 0.1)
    axes.text(left, top - 0.09, text, va="bottom", fontsize=8, color=colour)
    return left + width


def _marks(axes: Axes, places: Mapping[float, float], shown: Anatomy, bottom: float) -> None:
    """Draw marks below the bar; a name that would touch the one before it stands lower."""
    free = [0.0, 0.0]
    for instant, at in places.items():
        names = ", ".join(dict.fromkeys(mark.name for mark in shown.marks if mark.at_s == instant))
        half = _width(names, SMALL) / 2 + 0.03
        level = 0 if at - half >= free[0] else 1
        free[level] = at + half
        axes.plot([at, at], [bottom, bottom + 0.06 + 0.11 * level], color=QUIET, linewidth=0.6, zorder=5)
        axes.plot(at, bottom + 0.02, marker="D", markersize=4.5, color="#222222", linestyle="none", zorder=6)
        below = bottom + 0.07 + 0.11 * level
        centre = min(at, WIDTH_INCHES - EDGE_INCHES - half)
        axes.text(centre, below, names, ha="center", va="top", fontsize=SMALL, color="#222222")


def _foot(axes: Axes, scale: float, at: float) -> None:
    """Give the scale, and say what is not to it."""
    step = 10.0 ** np.floor(np.log10(1.5 / scale))
    length = max(step * factor for factor in (1, 2, 5) if step * factor * scale <= 1.5)
    right = NAME_INCHES + scale * length
    axes.plot([NAME_INCHES, right], [at, at], color=QUIET, linewidth=1.5, solid_capstyle="butt")
    for end in (NAME_INCHES, right):
        axes.plot([end, end], [at - 0.04, at + 0.04], color=QUIET, linewidth=1.0)
    note = f"{plain(length)} s. To scale, but for phases with a break. Every time is its mean."
    axes.text(right + 0.1, at, note, va="center", fontsize=8, color=QUIET)


def _width(text: str, size: float, weight: str = "normal") -> float:
    """How wide a text is, in inches."""
    font = FontProperties(weight=weight)
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) / 72
