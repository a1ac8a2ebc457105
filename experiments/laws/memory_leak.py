"""Out of memory: a leak eats up the headroom, and one request too many does the rest."""

from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy.special import exp1

from sim.laws import Law, law
from sim.validation import Positive


@law("memory_leak")
class MemoryLeak(Law):
    """Killed when the peak of a request no longer fits: the leak grows steadily, peaks are exponential.

    A request comes every `request` seconds on average and takes `peak` MB on average. With headroom h left,
    it does not fit with probability e^(-h/peak): the hazard grows exponentially (Gompertz) until the leak has
    eaten the headroom, and from then on every request kills.
    """

    examples: ClassVar = (
        {"headroom": 512.0, "leak": 0.01, "peak": 64.0, "request": 2.0},
        {"headroom": 100.0, "leak": 1.0, "peak": 50.0, "request": 10.0},
    )

    headroom: Positive = Field(description="free memory at the start, MB")
    leak: Positive = Field(description="memory lost for good, MB/s")
    peak: Positive = Field(description="mean memory that a request takes, MB")
    request: Positive = Field(description="mean time from one request to the next, s")

    def _parts(self):
        growth = self.leak / self.peak  # of the hazard, 1/s
        start = np.exp(-self.headroom / self.peak) / (self.request * growth)
        full = self.headroom / self.leak  # when the leak has eaten it all, s
        return growth, start, full, start * np.expm1(growth * full)

    def cumulative_hazard(self, t):
        growth, start, full, until_full = self._parts()
        t = np.asarray(t)
        early = start * np.expm1(growth * np.minimum(t, full))
        return np.where(t < full, early, until_full + (t - full) / self.request)

    def inverse_hazard(self, h):
        growth, start, full, until_full = self._parts()
        early = np.log1p(np.minimum(h, until_full) / start) / growth
        return np.where(h < until_full, early, full + (h - until_full) * self.request)

    @property
    def mean_s(self):
        growth, start, _, until_full = self._parts()
        survived = np.exp(-until_full)
        until = np.exp(start) * (exp1(start) - exp1(start + until_full)) / growth
        return float(until + survived * self.request)
