"""A law as a picture: density, survival and hazard, or for a law with atoms their shares."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from sim.laws import Floats, Law
from sim.report.look import PERCENT, style
from sim.study.files import replacing

PANEL_INCHES = (3.6, 3.2)
POINTS = 1000
SMALL_INCHES = (5.4, 1.75)
SMALL_POINTS = 300
SMALL_MARGINS = {"left": 0.115, "right": 0.965, "bottom": 0.23, "top": 0.87, "wspace": 0.32}
WIDE = 30.0
"""From so many times the first tenth's time to that of the last tenth on, the axis of time is logarithmic."""

UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("s", 1.0), ("ms", 1e-3))
ROUND = (1, 2, 2.5, 5, 10)
ONE_OF = {"days": "day", "hours": "hour", "minutes": "minute"}
PLAIN = FuncFormatter(lambda value, _: f"{value:,g}")


def draw_law(law: Law, title: str, target: Path) -> None:
    """Draw a law into an SVG or PNG file; the same law gives the same bytes.

    Parameters
    ----------
    law : Law
    title : str
        What stands above the panels.
    target : Path
        The file; its ending says which format.
    """
    unit, per = _unit(law)
    with mpl.rc_context(style(title)), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        canvas = Canvas(figsize=(3 * PANEL_INCHES[0], PANEL_INCHES[1]), layout="constrained")
        first, second, third = canvas.subplots(1, 3)
        t = _times(law, POINTS)
        if law.has_atoms:
            _atoms(first, law, per)
            third.plot(t / per, law.cumulative_hazard(t), drawstyle="steps-post")
            third.set_title("cumulative hazard")
        else:
            _density_and_hazard(first, third, law, t)
        second.plot(t / per, law.survival(t), drawstyle="steps-post" if law.has_atoms else "default")
        second.set_title("survival")
        second.yaxis.set_major_formatter(PERCENT)
        for axes in (first, second, third):
            axes.set_xlabel(f"time, {unit}")
            if _is_wide(law):
                axes.set_xscale("log")
            axes.xaxis.set_major_formatter(PLAIN)
        for axes in (first, third):
            _without_spikes(axes)
            axes.yaxis.set_major_formatter(PLAIN)
        second.set_ylim(0, 1.02)
        canvas.suptitle(title)
        with replacing(target) as new:
            kind = target.suffix.removeprefix(".")
            metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
            canvas.savefig(new, format=kind, dpi=150, metadata=metadata)


def draw_small(law: Law, name: str, creator: str, target: Path) -> None:
    """Draw density and hazard of a law side by side, small, as SVG; the same law gives the same bytes.

    Of a law with atoms it is the share of each of all times, and of the times that are not shorter.

    Parameters
    ----------
    law : Law
    name : str
        Makes names inside the file the same each time.
    creator : str
        Stands in the file.
    target : Path
        The SVG file.
    """
    unit, per = _unit(law)
    look = style(name) | {"font.size": 8, "axes.titlesize": 9, "axes.titlelocation": "left"}
    with mpl.rc_context(look), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        canvas = Canvas(figsize=SMALL_INCHES)
        canvas.subplots_adjust(**SMALL_MARGINS)  # fitting them to each law would double the time it takes
        both = canvas.subplots(1, 2)
        t = _times(law, SMALL_POINTS)
        if law.has_atoms:
            _atoms(both[0], law, per)
            _atoms(both[1], law, per, of_the_living=True)
        else:
            _density_and_hazard(both[0], both[1], law, t)
        for axes in both:
            axes.set_xlabel(f"time, {unit}")
            if _is_wide(law):
                axes.set_xscale("log")
            elif law.has_atoms:
                axes.set_xlim(0, 1.1 * law.atoms_s[-1] / per)
            if not law.has_atoms:
                _without_spikes(axes)
            for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
                axis.set_major_locator(
                    LogLocator(10, numticks=6) if scale == "log" else MaxNLocator(5, steps=ROUND)
                )
                axis.set_minor_locator(NullLocator())
                axis.set_major_formatter(PLAIN)
            if law.has_atoms:
                axes.yaxis.set_major_formatter(PERCENT)
        with replacing(target) as new:
            canvas.savefig(new, format="svg", metadata={"Date": None, "Creator": creator})


def _unit(law: Law) -> tuple[str, float]:
    """Give the unit of time in which a law is drawn, and its seconds."""
    median = float(law.quantile(0.5))
    return next((u, p) for u, p in UNITS if median >= 2 * p or u == "ms")


def _density_and_hazard(density: Axes, hazard: Axes, law: Law, t: Floats) -> None:
    unit, per = _unit(law)
    rate = _rate(law, t)
    density.plot(t / per, rate * law.survival(t) * per)
    hazard.plot(t / per, rate * per)
    for axes, what in ((density, "density"), (hazard, "hazard")):
        axes.set_title(f"{what}, per {ONE_OF.get(unit, unit)}")


def _is_wide(law: Law) -> bool:
    tenth, rest = law.quantile(np.array([0.1, 0.9]))
    return bool(tenth > 0 and rest > WIDE * tenth)


def _times(law: Law, points: int) -> Floats:
    """So many times at which the curves are drawn, s."""
    low, high = law.quantile(np.array([0.01, 0.995]))
    if _is_wide(law):
        return np.geomspace(low, high, points)
    return np.linspace(0.0, high * 1.02, points)


def _rate(law: Law, t: Floats) -> Floats:
    """Hazard rate, 1/s, as a slope of the cumulative hazard over a thousandth of the spacing."""
    step = 1e-3 * np.diff(t, append=2 * t[-1] - t[-2])
    low = np.maximum(t - step, 0.0)
    rise = np.asarray(law.cumulative_hazard(t + step)) - np.asarray(law.cumulative_hazard(low))
    rate = np.asarray(rise / (t + step - low))
    return np.where(np.isfinite(rate), rate, np.nan)


def _atoms(axes: Axes, law: Law, per: float, *, of_the_living: bool = False) -> None:
    """Draw the share of each atom: of all times, or of those that are not shorter."""
    atoms = law.atoms_s
    before = law.survival(np.nextafter(atoms, 0.0))
    share = before - law.survival(atoms)
    axes.vlines(atoms / per, 0, share / before if of_the_living else share)
    axes.set_ylim(bottom=0)
    axes.set_title("share of times not shorter" if of_the_living else "share of all times")


def _without_spikes(axes: Axes) -> None:
    """Begin at 0 and cut off what is far above nearly all of the curve; beside decades of time show all."""
    values = np.array([y for line in axes.lines for y in np.asarray(line.get_ydata(), dtype=float)])
    values = values[np.isfinite(values)]
    if not values.size:
        return
    if axes.get_xscale() == "log" and 0 < 100 * values.min() < values.max():
        axes.set_yscale("log")
    else:
        usual = np.quantile(values, 0.97)
        axes.set_ylim(0, 1.05 * (values.max() if values.max() < 3 * usual else 2 * usual) or 1.0)
