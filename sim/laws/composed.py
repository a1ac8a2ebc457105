"""Laws made of other laws."""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from sim.laws import numeric
from sim.laws.base import Floats, Law, law
from sim.laws.closed import Constant
from sim.laws.parsing import AnyLaw
from sim.validation import Model, NonNegative, Positive, problem


@law("scaled")
class Scaled(Law):
    """Another law, all its times multiplied."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"of": {"law": "gamma", "mean": 3.0, "shape": 4}, "by": 2.5},
        {"of": {"law": "fisk", "c": 2.5}, "by": 0.1},
        {"of": 3.0, "by": 2.0},
    )

    of: AnyLaw = Field(description="the other law")
    by: Positive = Field(description="factor")

    @property
    def atoms_s(self) -> Floats:  # noqa: D102
        return self.by * self.of.atoms_s

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return self.of.cumulative_hazard(np.asarray(t) / self.by)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return self.by * self.of.inverse_hazard(h)

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return self.by * self.of.quantile(u)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.by * self.of.mean_s


def longer(law: Law, by: float) -> Law:
    """Give the law of times so many times as long."""
    if by == 1:
        return law
    return Constant(value=law.value * by) if isinstance(law, Constant) else Scaled(of=law, by=by)


@law("shifted")
class Shifted(Law):
    """Another law, begun later: nothing ends before the shift."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"of": {"law": "exponential", "mean": 3.0}, "by": 1.5},
        {"of": 3.0, "by": 2.0},
    )

    of: AnyLaw = Field(description="the other law")
    by: NonNegative = Field(description="what is added to its times, s")

    @property
    def atoms_s(self) -> Floats:  # noqa: D102
        return np.asarray(self.of.atoms_s + self.by)

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        since = np.asarray(t) - self.by
        return np.where(since < 0, 0.0, self.of.cumulative_hazard(np.maximum(since, 0.0)))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return self.of.inverse_hazard(h) + self.by

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return self.of.quantile(u) + self.by

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.of.mean_s + self.by


def _log1mexp(x: ArrayLike) -> Floats:
    """log(1 - e^-x) for x >= 0, without loss for small and for large x."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(x < 0.7, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x))))


@law("truncated")
class Truncated(Law):
    """Another law, given that its time is above one bound and at most another."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"of": {"law": "weibull", "mean": 3600.0, "shape": 0.7}, "below": 86400.0},
        {"of": {"law": "lognormal", "median": 3.0, "sigma": 1.0}, "above": 1.0, "below": 9.0},
        {"of": {"law": "exponential", "mean": 3.0}, "above": 2.0},
    )

    of: AnyLaw = Field(description="the other law")
    above: NonNegative = Field(default=0.0, description="all times are longer, s")
    below: Positive | None = Field(default=None, description="no time is longer, s; absent: no such bound")

    def model_post_init(self, _: Any) -> None:
        """Refuse bounds that leave nothing."""
        if self.below is not None and self.below <= self.above:
            raise problem(f"must be above the key above ({self.above:g}).", ("below",), self.below)
        if not self._between > 0 or self._before == np.inf:
            least, most = float(self.of.inverse_hazard(0.0)), float(self.of.inverse_hazard(np.inf))
            raise problem(
                f"leave no time of the law, whose times are from {least:g} to {most:g} s.", ("of",), self.of
            )

    @property
    def _before(self) -> float:
        return float(self.of.cumulative_hazard(self.above)) if self.above else 0.0

    @property
    def _between(self) -> float:
        if self.below is None:
            return np.inf
        with np.errstate(invalid="ignore"):
            return float(self.of.cumulative_hazard(self.below)) - self._before

    @property
    def atoms_s(self) -> Floats:  # noqa: D102
        atoms = self.of.atoms_s
        return atoms[(atoms > self.above) & (atoms <= (np.inf if self.below is None else self.below))]

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        t = np.maximum(t, self.above)
        used = np.maximum(self.of.cumulative_hazard(t) - self._before, 0.0)
        whole = self._between
        if whole == np.inf:
            return np.asarray(used)
        used = np.minimum(used, whole)
        with np.errstate(divide="ignore"):
            early = -np.log1p(-np.expm1(-used) / np.expm1(-whole))
            late = used - _log1mexp(whole - used) + _log1mexp(whole)
        return np.asarray(np.where(used < 0.5 * min(whole, 1.0), early, late))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        used = np.asarray(h, dtype=np.float64)
        whole = self._between
        if whole < np.inf:
            early = -np.log1p(-np.expm1(-used) * np.expm1(-whole))
            late = -np.logaddexp(_log1mexp(whole) - used, -whole)
            used = np.minimum(np.where(used < 0.5, early, late), whole)
        t = np.maximum(self.of.inverse_hazard(self._before + used), self.above)
        return np.asarray(t if self.below is None else np.minimum(t, self.below))


class Part(Model):
    """A part of a mixture."""

    of: AnyLaw = Field(description="a law")
    weight: Positive = Field(description="its share, up to a common factor")


@law("mixture")
class Mixture(Law):
    """One of several laws, each with its share: some lives are of one kind, some of another."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "parts": [
                {"of": {"law": "exponential", "mean": 60.0}, "weight": 1.0},
                {"of": {"law": "weibull", "mean": 86400.0, "shape": 1.5}, "weight": 3.0},
            ]
        },
        {"parts": [{"of": 3.0, "weight": 1.0}, {"of": {"law": "exponential", "mean": 9.0}, "weight": 1.0}]},
    )

    parts: tuple[Part, ...] = Field(min_length=1, description="tables with the keys of (a law) and weight")

    @cached_property
    def _log_shares(self) -> Floats:
        weights = np.array([part.weight for part in self.parts])
        return np.asarray(np.log(weights / weights.sum()))

    @property
    def atoms_s(self) -> Floats:  # noqa: D102
        return np.unique(np.concatenate([part.of.atoms_s for part in self.parts]))

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        hazards = np.stack([np.asarray(part.of.cumulative_hazard(t)) for part in self.parts])
        shares = self._log_shares.reshape(-1, *[1] * (hazards.ndim - 1))
        late = -np.logaddexp.reduce(shares - hazards, axis=0)
        early = -np.log1p(np.sum(np.exp(shares) * np.expm1(-hazards), axis=0).clip(-0.5, 0))
        return np.asarray(np.where(late < 0.5, early, late))

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return numeric.quantile_of(self)(u)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return float(
            sum(np.exp(s) * part.of.mean_s for s, part in zip(self._log_shares, self.parts, strict=True))
        )
