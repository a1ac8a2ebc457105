"""The picture of fitted laws: how many lives last how long, as observed and by each law."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from sim.fit import ALIKE, Fit, KaplanMeier
from sim.report.look import ALONE_INCHES, NUMBERS, PERCENT, legend, plain_numbers, style
from sim.study.files import replacing

CREATOR = "savegap fit"
"""Stands in the file, so that a picture of another origin is not taken for one of these."""
POINTS = 400
OBSERVED: dict[str, Any] = {"color": "black", "linewidth": 1, "zorder": 3}
BAND: dict[str, Any] = {"color": "black", "alpha": 0.12, "linewidth": 0}
SUPPORTED: dict[str, Any] = {"linestyle": "-", "linewidth": 1.8}
OTHER: dict[str, Any] = {"linestyle": "--", "linewidth": 1.1}
DECADES = 4
"""At most so many are shown, down from the longest time: a few very short times would take all room."""


def draw(curve: KaplanMeier, fits: Sequence[Fit], target: Path) -> None:
    """Draw the survival by Kaplan and Meier with its 95 % band, and by every law, as SVG.

    Parameters
    ----------
    curve : KaplanMeier
    fits : sequence of Fit
        The least AIC first; laws about as good as the first are drawn with whole lines.
    target : Path
        The SVG file; the same input gives the same bytes.
    """
    last = curve.times[-1] * 1.5
    first = max(curve.times[0] / 2, last / 10**DECADES)
    with mpl.rc_context(style(CREATOR)):
        canvas = Canvas(figsize=ALONE_INCHES, layout="constrained")
        axes = canvas.subplots()
        # Before the first time all are alive; after the last, nothing is known.
        t = np.concatenate([[curve.times[0] / 2], curve.times])
        survival, low, high = (np.concatenate([[1.0], y]) for y in (curve.survival, curve.low, curve.high))
        axes.step(t, survival, where="post", **OBSERVED, label="observed (Kaplan–Meier)")
        axes.fill_between(t, low, high, step="post", **BAND, label="its 95 % band")
        grid = np.geomspace(first, last, POINTS)
        for found, colour in zip(fits, cycle(sns.color_palette("colorblind")), strict=False):
            alike = found.aic - fits[0].aic <= ALIKE
            look = SUPPORTED if alike else OTHER
            with np.errstate(all="ignore"):
                axes.plot(grid, found.build().survival(grid), color=colour, **look, label=found.law)
        axes.set_xscale("log")
        plain_numbers(axes.xaxis, NUMBERS)
        if last < 100 * first:  # too few decades to read times from
            axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5), numticks=12))
        axes.set_xlim(first, last)
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PERCENT)
        axes.set_xlabel("time since the start or the last crash, s")
        axes.set_title("still without a crash", fontsize=10, loc="left")
        legend(canvas)
        with replacing(target) as new:
            canvas.savefig(new, format="svg", metadata={"Date": None, "Creator": CREATOR})
