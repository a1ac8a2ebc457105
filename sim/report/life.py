"""The picture of one run under several strategies, a lane each: what is kept, thrown away and repeated."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from sim.report.answers import number
from sim.report.lives import Life
from sim.report.look import LETTER_INCHES, NUMBERS, mixed, style
from sim.study.files import replacing

CREATOR = "savegap replay"
"""Stands in the file, and makes names inside it the same each time."""

WIDTH_INCHES, NAME_INCHES, END_INCHES = 7.2, 1.2, 1.0
LANE_INCHES, HEAD_INCHES, FOOT_INCHES = 0.82, 0.3, 0.98
HALF = 0.2
"""Half the height of a block, as a part of its lane."""

NAME_WIDTH = 15
"""Letters after which the name of a strategy goes on below."""

PALETTE = sns.color_palette("colorblind")
PLAIN: Any = mixed(PALETTE[0], 1.0, 0.75)
ACTING: Any = mixed(PALETTE[0], 1.0, 0.35)
CRASH, SAVED, HARM = PALETTE[3], PALETTE[2], (0.80, 0.05, 0.10)
QUIET = "#555555"
BLOCK: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6}
THROWN: dict[str, Any] = {"facecolor": "white", "edgecolor": "#8a8a8a", "hatch": "/////", "linewidth": 0.6}
EDGE: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.6, "linestyle": "none"}
KINDS: dict[str, dict[str, Any]] = {
    "first": {"marker": "o", "markersize": 7, "color": "#222222", **EDGE},
    "again": {"marker": "*", "markersize": 14, "color": HARM, **EDGE},
    "known": {
        "marker": "o",
        "markersize": 6,
        "color": PALETTE[0],
        "fillstyle": "none",
        "markeredgewidth": 1.4,
        "linestyle": "none",
    },
    "lost": {"marker": "X", "markersize": 10, "color": HARM, **EDGE},
}
SAYS = {
    "first": "action performed",
    "again": "performed again",
    "known": "repeat known by its key",
    "lost": "never performed",
}
CROSS: dict[str, Any] = {"marker": "X", "markersize": 9, "color": CRASH, **EDGE}


def draw(lives: Mapping[str, Life], title: str, target: Path) -> None:
    """Draw one run under each of several strategies as SVG; the same lives give the same bytes.

    Parameters
    ----------
    lives : mapping of str to Life
        By strategy, a lane each.
    title : str
        Stands above it.
    target : Path
        The SVG file, written whole or not at all.
    """
    height = HEAD_INCHES + LANE_INCHES * len(lives) + FOOT_INCHES
    with mpl.rc_context(style(CREATOR) | {"hatch.linewidth": 0.6}):
        canvas = Canvas(figsize=(WIDTH_INCHES, height))
        axes = canvas.add_axes(
            (
                NAME_INCHES / WIDTH_INCHES,
                FOOT_INCHES / height,
                1 - (NAME_INCHES + END_INCHES) / WIDTH_INCHES,
                LANE_INCHES * len(lives) / height,
            )
        )
        axes.set_xlim(0, max(_until(life) for life in lives.values()))
        axes.set_ylim(len(lives) - 0.5, -0.5)
        for lane, life in enumerate(lives.values()):
            _lane(axes, lane, life)
        axes.set_yticks(range(len(lives)), [fill(name, NAME_WIDTH) for name in lives])
        axes.tick_params(axis="y", length=0, labelsize=9)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(8))
        axes.xaxis.set_major_formatter(NUMBERS)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_xlabel("time since the run began, s", fontsize=9)
        entries = list(_entries(lives))
        canvas.legend(
            [handle for handle, _ in entries],
            [label for _, label in entries],
            loc="lower center",
            ncols=4,
            frameon=False,
            fontsize=8,
            handletextpad=0.5,
            columnspacing=1.4,
        )
        canvas.text(0.012, 1 - 0.08 / height, title, va="top", fontsize=9, color=QUIET)
        with replacing(target) as new:
            canvas.savefig(new, format="svg", metadata={"Date": None, "Creator": CREATOR})


def _until(life: Life) -> float:
    """Give when the last thing happened, which may be after the run: its requests and other workers go on."""
    return max([life.end_s, *life.first, *life.again, *life.known])


def _lane(axes: Axes, lane: int, life: Life) -> None:
    """Draw a run: its blocks, its saves on them, actions above, crashes below, and how it ended."""
    until = _until(life)
    axes.plot([0, life.end_s], [lane, lane], color="#b8b8b8", linewidth=1, zorder=1)
    axes.plot([life.end_s, until], [lane, lane], color="#b8b8b8", linewidth=1, linestyle=":", zorder=1)
    inch = (WIDTH_INCHES - NAME_INCHES - END_INCHES) / axes.get_xlim()[1]
    for part in life.stretches:
        length = part.end_s - part.begin_s
        look = BLOCK | {"facecolor": ACTING if part.acts else PLAIN} if part.kept else THROWN
        axes.add_patch(Rectangle((part.begin_s, lane - HALF), length, 2 * HALF, zorder=2, **look))
        name = str(part.step + 1)
        if LETTER_INCHES * (len(name) + 0.3) < length * inch:
            halo = {"boxstyle": "round,pad=0.1", "facecolor": "white", "linewidth": 0, "alpha": 0.85}
            axes.text(
                part.begin_s + length / 2,
                lane,
                name,
                ha="center",
                va="center",
                fontsize=7,
                bbox=None if part.kept else halo,
                zorder=4,
            )
    for one, other in pairwise(life.stretches):
        pause = other.begin_s - one.end_s
        words = (f"down {number(pause, 2)} s", "down")
        text = next((text for text in words if 0.8 * LETTER_INCHES * len(text) < pause * inch), "")
        if text:
            middle = (one.end_s + other.begin_s) / 2
            axes.text(middle, lane - 0.03, text, ha="center", va="bottom", fontsize=7, color=QUIET)
    axes.vlines(life.saved, lane - HALF, lane + HALF, color=SAVED, linewidth=1.6, zorder=3)
    for at in life.crashes:
        axes.plot([at, at], [lane - HALF, lane + 0.31], color=CRASH, linewidth=1.2, zorder=4)
        axes.plot(at, lane + 0.33, zorder=5, clip_on=False, **CROSS)
    for kind, instants in _deeds(life).items():
        axes.plot(
            instants,
            [lane - 0.33] * len(instants),
            zorder=6 if kind == "first" else 7,
            clip_on=False,
            **KINDS[kind],
        )
    axes.plot(
        [life.end_s] * 2,
        [lane - HALF - 0.05, lane + HALF + 0.05],
        color="#222222",
        linewidth=2,
        zorder=5,
        clip_on=False,
    )
    ends = f"{'end' if life.finished else 'given up'}: {number(life.end_s)} s"
    damage = {"repeated": len(life.again), "lost": len(life.lost)}
    lines = [ends, *(f"{count} {what}" for what, count in damage.items() if count)]
    axes.annotate(
        "\n".join(lines),
        (until, lane),
        (6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=HARM if len(lines) > 1 else "#222222",
        annotation_clip=False,
    )


def _deeds(life: Life) -> dict[str, list[float]]:
    """When what became of actions; one that is lost stands where the run goes on without it."""
    passed = [
        min((s.begin_s for s in life.stretches if s.step > step), default=life.end_s) for step in life.lost
    ]
    return {"first": life.first, "again": life.again, "known": life.known, "lost": passed}


def _entries(lives: Mapping[str, Life]) -> Iterator[tuple[Any, str]]:
    """What stands in the legend: what occurs."""
    yield Patch(facecolor=PLAIN), "step, with its number"
    yield Patch(facecolor=ACTING), "step that acts"
    if any(not part.kept for life in lives.values() for part in life.stretches):
        yield Patch(**THROWN), "thrown away by a crash"
    if any(life.saved for life in lives.values()):
        yield (
            Line2D(
                [],
                [],
                color=SAVED,
                linewidth=1.6,
                marker="|",
                markersize=9,
                linestyle="none",
                markeredgewidth=1.8,
            ),
            "saved",
        )
    deaths = [len(life.crashes) for life in lives.values()]
    if any(deaths):
        yield Line2D([], [], **CROSS), "crash"
    for kind, look in KINDS.items():
        if any(_deeds(life)[kind] for life in lives.values()):
            yield Line2D([], [], **look), SAYS[kind]
