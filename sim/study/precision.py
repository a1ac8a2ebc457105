"""How precise the headline of an experiment shall be, and how many replications that takes.

Two stages: a pilot tells how much runs vary, and so how many are needed; then so many fresh runs are
simulated. To look at an interval again and again and stop when it is narrow enough gives intervals that are
too narrow: runs that happen to vary little stop it.
"""

from math import ceil, isnan
from typing import Annotated

from pydantic import Field

from sim.estimate import Estimate
from sim.streams import BLOCK
from sim.validation import Model, NonNegative

PILOT = 1 << 31
"""Number of the block that pilots simulate: no other run has its random numbers."""

PILOT_RUNS = BLOCK
MARGIN = 1.25
"""How many times as many runs are made as the pilot says, which errs itself."""


class Precision(Model):
    """Half the width of an interval that is narrow enough: a share of the estimate, or so much."""

    relative: Annotated[float, Field(gt=0, lt=1, strict=True)] = Field(
        description="as a share of the estimate"
    )
    absolute: NonNegative = Field(default=0.0, description="in the unit of the metric, for what is about 0")

    def short_by(self, estimate: float, low: float, high: float) -> float:
        """How many times too wide an interval is; infinite for one that does not exist."""
        half, enough = (high - low) / 2, max(self.relative * abs(estimate), self.absolute)
        if half <= enough:
            return half / enough if enough else 1.0
        return float("inf") if isnan(half) or not enough else half / enough

    def reached(self, estimate: float, low: float, high: float) -> bool:
        """Whether an interval is narrow enough."""
        return self.short_by(estimate, low, high) <= 1

    def runs(self, pilot: list[Estimate], most: int) -> int:
        """How many runs a cell needs.

        Parameters
        ----------
        pilot : list of Estimate
            What shall be precise, as the pilot estimates it.
        most : int
            Not more than these.
        """
        short = max((self.short_by(found.estimate, found.low, found.high) for found in pilot), default=0.0)
        needed = MARGIN * PILOT_RUNS * short**2
        return most if needed >= most else min(most, BLOCK * max(ceil(needed / BLOCK), 1))
