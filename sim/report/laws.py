"""A law as a picture: density, survival and hazard, or for a law with atoms their shares."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from sim.laws import Floats, Law
from sim.study.files import replacing

PANEL_INCHES = (3.6, 3.2)
POINTS = 1000
WIDE = 30.0
"""From so many times the first tenth's time to that of the last tenth on, the axis of time is logarithmic."""

UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("s", 1.0), ("ms", 1e-3))


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
    median = float(law.quantile(0.5))
    unit, per = next((u, p) for u, p in UNITS if median >= 2 * p or u == "ms")
    style = {
        **sns.axes_style("whitegrid"),
        "svg.hashsalt": title,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": "#e4e4e4",
    }
    with mpl.rc_context(style), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        canvas = Canvas(figsize=(3 * PANEL_INCHES[0], PANEL_INCHES[1]), layout="constrained")
        first, second, third = canvas.subplots(1, 3)
        t = _times(law)
        if law.has_atoms:
            _atoms(first, law, per)
            third.plot(t / per, law.cumulative_hazard(t), drawstyle="steps-post")
            third.set_title("cumulative hazard")
        else:
            rate = _rate(law, t)
            first.plot(t / per, rate * law.survival(t) * per)
            first.set_title(f"density, per {unit.removesuffix('s') or unit}")
            third.plot(t / per, rate * per)
            third.set_title(f"hazard, per {unit.removesuffix('s') or unit}")
        second.plot(t / per, law.survival(t), drawstyle="steps-post" if law.has_atoms else "default")
        second.set_title("survival")
        second.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        for axes in (first, second, third):
            axes.set_xlabel(f"time, {unit}")
            if _is_wide(law):
                axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        for axes in (first, third):
            _without_spikes(axes)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        second.set_ylim(0, 1.02)
        canvas.suptitle(title)
        with replacing(target) as new:
            kind = target.suffix.removeprefix(".")
            metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
            canvas.savefig(new, format=kind, dpi=150, metadata=metadata)


def _is_wide(law: Law) -> bool:
    tenth, rest = law.quantile(np.array([0.1, 0.9]))
    return bool(tenth > 0 and rest > WIDE * tenth)


def _times(law: Law) -> Floats:
    """Times at which the curves are drawn, s."""
    low, high = law.quantile(np.array([0.01, 0.995]))
    if _is_wide(law):
        return np.geomspace(low, high, POINTS)
    return np.linspace(0.0, high * 1.02, POINTS)


def _rate(law: Law, t: Floats) -> Floats:
    """Hazard rate, 1/s, as a slope of the cumulative hazard over a thousandth of the spacing."""
    step = 1e-3 * np.diff(t, append=2 * t[-1] - t[-2])
    low = np.maximum(t - step, 0.0)
    rise = np.asarray(law.cumulative_hazard(t + step)) - np.asarray(law.cumulative_hazard(low))
    rate = np.asarray(rise / (t + step - low))
    return np.where(np.isfinite(rate), rate, np.nan)


def _atoms(axes: Axes, law: Law, per: float) -> None:
    """Draw the share of each atom."""
    atoms = law.atoms_s
    before = np.nextafter(atoms, 0.0)
    axes.vlines(atoms / per, 0, law.survival(before) - law.survival(atoms))
    axes.set_ylim(bottom=0)
    axes.set_title("share of all times")


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
