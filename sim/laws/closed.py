"""Laws whose hazard, inverse and mean are formulas."""

from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field
from scipy import special

from sim.laws.base import Floats, Law, law
from sim.validation import NonNegative, Positive, problem


@law("constant")
class Constant(Law):
    """Always the same time."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"value": 3.0},)

    value: NonNegative = Field(description="the time, s")

    @property
    def atoms_s(self) -> Floats:  # noqa: D102 - said by Law, here and below
        return np.array([self.value])

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return np.where(np.asarray(t) < self.value, 0.0, np.inf)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.full(np.shape(h), self.value)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.value


@law("uniform")
class Uniform(Law):
    """Every time between two bounds alike."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"high": 2.0}, {"low": 1.0, "high": 3.0})

    low: NonNegative = Field(default=0.0, description="least time, s")
    high: Positive = Field(description="greatest time, s")

    def model_post_init(self, _: Any) -> None:
        """Refuse bounds in the wrong order."""
        if self.high <= self.low:
            raise problem(f"must be above low ({self.low:g}).", ("high",), self.high)

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        with np.errstate(divide="ignore"):
            share = np.clip((np.asarray(t) - self.low) / (self.high - self.low), 0.0, 1.0)
            return -np.log1p(-share)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.low - (self.high - self.low) * np.expm1(-np.asarray(h)))

    @property
    def mean_s(self) -> float:  # noqa: D102
        return (self.low + self.high) / 2


@law("exponential")
class Exponential(Law):
    """Constant hazard: what has lasted long is as likely to end as what is new."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"mean": 3600.0},)
    source: ClassVar[str] = "the times between the events of a Poisson process"

    mean: Positive = Field(description="mean, s")

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(np.asarray(t) / self.mean)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(h) * self.mean

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.mean


@law("weibull")
class Weibull(Law):
    """Hazard a power of age: falling for shape < 1 (infant mortality), rising for shape > 1 (wear)."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"mean": 86400.0, "shape": 0.48},
        {"mean": 3.0, "shape": 0.5},
        {"mean": 3.0, "shape": 1.5},
    )
    source: ClassVar[str] = (
        "LANL05 nodes in the Failure Trace Archive: shape 0.48, mean 1,766 h (Javadi et al. 2013)"
    )

    mean: Positive = Field(description="mean, s")
    shape: Positive = Field(description="exponent of the cumulative hazard")

    @cached_property
    def scale(self) -> float:
        """Time at which the cumulative hazard is 1, s."""
        return self.mean / float(special.gamma(1 + 1 / self.shape))

    def model_post_init(self, _: Any) -> None:
        """Refuse a shape for which no float is the scale."""
        if not self.scale > 0:
            raise problem(
                "is too small: the scale of such a law is 0 in floating point.", ("shape",), self.shape
            )

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(np.power(np.asarray(t) / self.scale, self.shape))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.scale * np.power(h, 1 / self.shape))

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.mean


@law("lognormal")
class Lognormal(Law):
    """The logarithm is normal: latencies, with a long right tail."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"median": 0.04, "sigma": 0.6},
        {"median": 3.0, "sigma": 2.85},
    )

    median: Positive = Field(description="median, s")
    sigma: Positive = Field(description="standard deviation of the logarithm")

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        with np.errstate(divide="ignore"):
            z = np.log(np.asarray(t) / self.median) / self.sigma
        return np.asarray(-special.log_ndtr(-z))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.median * np.exp(-self.sigma * special.ndtri_exp(-np.asarray(h))))

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.median * np.exp(self.sigma * special.ndtri(u)))

    @property
    def mean_s(self) -> float:  # noqa: D102
        return float(self.median * np.exp(self.sigma * self.sigma / 2))


@law("lomax")
class Lomax(Law):
    """Falling hazard with a heavy tail: a Pareto law that begins at 0, an exponential of random rate.

    It has no mean for c <= 1. A Lomax life of age a is a Lomax life again, with a added to its scale.
    """

    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"c": 3.0, "scale": 7200.0}, {"c": 0.5})

    c: Positive = Field(description="exponent of the tail, as scipy calls it")
    scale: Positive = Field(default=1.0, description="where the tail begins, s")

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.c * np.log1p(np.asarray(t) / self.scale))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        with np.errstate(over="ignore"):
            return np.asarray(self.scale * np.expm1(np.asarray(h) / self.c))

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.scale / (self.c - 1) if self.c > 1 else inf
