"""The picture of a trace: a lane an actor, time downward, an event a row."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from sim.events.words import DIES, DURABLE, ENDS, PERFORMS, SENDS
from sim.report.look import LETTER_INCHES, mixed, style
from sim.study.files import replacing
from sim.trace import Event, Trace, named_in, number_of, seconds

CREATOR = "savegap prove"
"""Stands in the file, so that a picture of another origin is not taken for one of these."""

NOTE = "A row is an event, so time is not to scale. Pale: a worker after another has taken its place."

LANE_INCHES, TIME_INCHES, ROW_INCHES = 0.95, 0.9, 0.235
HOLDS = ("will carry the request", "will handle the request")
"""How a fault is told that holds a request back."""

PLAIN = "#444444"
PALETTE = sns.color_palette("colorblind")
WORKER, SAVED, SENT, HARM = PALETTE[0], PALETTE[2], PALETTE[4], (0.80, 0.05, 0.10)
FAULT = PALETTE[1]


def draw(trace: Trace, title: str, target: Path) -> None:
    """Draw what happened as SVG; the same trace gives the same bytes.

    Parameters
    ----------
    trace : Trace
    title : str
        Stands above it.
    target : Path
        The SVG file, written whole or not at all.
    """
    beside = [actor for actor in ("store", "receiver", "relay") if actor in trace.actors]
    lanes = {actor: place for place, actor in enumerate([*trace.workers, *beside])}
    rows = len(trace.events)
    texts = LETTER_INCHES * max(len(_says(event)) for event in trace.events)
    width = TIME_INCHES + LANE_INCHES * len(lanes) + texts
    with mpl.rc_context(style(CREATOR)):
        canvas = Canvas(figsize=(width, ROW_INCHES * (rows + 4)))
        left, right = TIME_INCHES / width, 1 - texts / width
        axes = canvas.add_axes(
            (left, 0.35 / canvas.get_figheight(), right - left, 1 - 1 / canvas.get_figheight())
        )
        axes.set_xlim(-0.5, len(lanes) - 0.5)
        axes.set_ylim(rows - 0.3, -0.9)
        _lanes(axes, trace, lanes)
        arrows = _arrows(trace)
        for row in range(rows):
            _mark(axes, trace, lanes, row, arrows.get(row))
        axes.set_xticks(list(lanes.values()), list(lanes))
        axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        axes.set_yticks(range(rows), [_time(trace, row) for row in range(rows)])
        axes.tick_params(axis="y", length=0, labelsize=8)
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        canvas.text(0.012, 0.1 / canvas.get_figheight(), NOTE, va="bottom", fontsize=8, color=PLAIN)
        canvas.text(0.012, 1 - 0.1 / canvas.get_figheight(), title, va="top", fontsize=10)
        with replacing(target) as new:
            canvas.savefig(new, format="svg", metadata={"Date": None, "Creator": CREATOR})


def _time(trace: Trace, row: int) -> str:
    """Label a row with its time, unless the row before has the same."""
    now = seconds(trace.events[row].tick)
    return now if row == 0 or seconds(trace.events[row - 1].tick) != now else ""


def _lanes(axes: Axes, trace: Trace, lanes: dict[str, int]) -> None:
    """Draw for each actor how long it is there: a worker from its start to its end."""
    last = len(trace.events) - 1
    for actor, place in lanes.items():
        if not number_of(actor):
            axes.plot([place, place], [-0.6, last + 0.3], color="#c8c8c8", linewidth=1, zorder=1)
            continue
        own = [row for row, event in enumerate(trace.events) if event.actor == actor]
        ends = [row for row in own if trace.events[row].what in ENDS.values()]
        begin, end = own[0], ends[-1] if ends else last
        replaced = next(
            (r for r, e in enumerate(trace.events) if e.actor == "supervisor" and named_in(e.what) == actor),
            end,
        )
        alive: dict[str, Any] = {"solid_capstyle": "butt", "zorder": 2}
        axes.plot([place, place], [begin, min(replaced, end)], color=WORKER, linewidth=7, alpha=0.85, **alive)
        if replaced < end:  # it goes on, though another has taken its place
            pale = mixed(WORKER, 1.0, 0.55)
            axes.plot([place, place], [replaced, end], color=pale, linewidth=7, **alive)


def _mark(axes: Axes, trace: Trace, lanes: dict[str, int], row: int, sent: int | None) -> None:
    """Draw an event on its lane, and say beside all lanes what it is."""
    event = trace.events[row]
    colour = HARM if event.again else FAULT if event.fault else PLAIN
    actor = event.actor if event.actor in lanes else named_in(event.what)
    place = lanes.get(actor)
    if place is not None:
        edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.7}
        look: dict[str, Any] = {"linestyle": "none", "zorder": 5, **edge}
        if event.again:
            axes.plot(place, row, marker="*", markersize=17, color=HARM, **look)
        elif event.fault:
            axes.plot(place, row, marker="X", markersize=11, color=FAULT, **look)
        elif event.what.startswith(PERFORMS):
            axes.plot(place, row, marker="*", markersize=13, color=SENT, **look)
        elif event.what == DURABLE:
            axes.plot(place, row, marker="D", markersize=7, color=SAVED, **look)
        elif not event.what.startswith(DIES):
            axes.plot(place, row, marker="o", markersize=5, color=PLAIN, **look)
    if sent is not None:
        axes.annotate(
            "",
            (lanes["receiver"], row),
            (lanes[trace.events[sent].actor], sent),
            arrowprops={
                "arrowstyle": "-|>",
                "color": HARM if event.again else SENT,
                "linewidth": 1.6 if event.again else 1.1,
                "shrinkA": 4,
                "shrinkB": 7,
            },
            zorder=4,
        )
    weight = "bold" if event.again or event.fault else "normal"
    text = _says(event)
    axes.text(
        len(lanes) - 0.4, row, text, va="center", fontsize=8.5, color=colour, weight=weight, clip_on=False
    )


def _says(event: Event) -> str:
    step = f" (step {event.step + 1})" if event.step >= 0 else ""
    return f"{event.actor} {event.what}{step}"


def _arrows(trace: Trace) -> dict[int, int]:
    """Find for each event of the receiver the request that it is about: by rows.

    Requests of one sender come in the order in which they were sent, but those that a fault holds back.
    """
    waiting: dict[tuple[str, int], list[int]] = {}
    held: dict[tuple[str, int], list[int]] = {}
    found = {}
    for row, event in enumerate(trace.events):
        sender = event.actor if event.what == SENDS else named_in(event.what)
        sends = waiting.setdefault((sender, event.step), [])
        late = held.setdefault((sender, event.step), [])
        if event.what == SENDS:
            sends.append(row)
        elif event.what.startswith("loses the request") and sends:
            sends.pop()
        elif event.what.startswith(HOLDS) and sends:
            late.append(sends.pop())
        elif event.actor == "receiver" and (sends or late):
            found[row] = (sends or late).pop(0)
    return found
