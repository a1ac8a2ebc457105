"""Laws of lives with several causes of death, or several kinds of life."""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from sim.laws import numeric
from sim.laws.base import Floats, Law, law
from sim.laws.closed import Exponential, Weibull
from sim.validation import Positive, problem


@law("hyperexponential")
class Hyperexponential(Law):
    """Two kinds of exponential life, short and long, which add up to equal parts of the mean."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"mean": 3600.0, "squared_cv": 4.0},
        {"mean": 3.0, "squared_cv": 30.0},
    )
    source: ClassVar[str] = "two phases with balanced means"

    mean: Positive = Field(description="mean, s")
    squared_cv: float = Field(
        gt=1, le=1e6, strict=True, description="squared coefficient of variation; 1 would be exponential"
    )

    @cached_property
    def _short_share(self) -> float:
        return (1 + float(np.sqrt((self.squared_cv - 1) / (self.squared_cv + 1)))) / 2

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        x = 2 * np.asarray(t, dtype=np.float64) / self.mean
        p, rest = self._short_share, 1 - self._short_share
        # Relative to the long kind, which is the last to die: the sum is rest or more, at any age.
        late = rest * x - np.log(rest + p * np.exp(-(p - rest) * x))
        with np.errstate(invalid="ignore", divide="ignore"):
            early = -np.log1p(p * np.expm1(-p * x) + rest * np.expm1(-rest * x))
        return np.where(x < 0.5, early, late)

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return numeric.quantile_of(self)(u)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.mean


@law("bathtub")
class Bathtub(Law):
    """The first of three risks kills: infant mortality, chance, wear. Their hazards add up.

    A risk is a Weibull law by the mean it would have alone: falling hazard for infancy, constant for
    chance, rising for wear.
    """

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"infancy": 864000.0, "chance": 172800.0, "wear": 259200.0},
        {"infancy": 9.0, "infancy_shape": 0.7, "chance": 20.0, "wear": 5.0, "wear_shape": 2.0},
    )

    infancy: Positive = Field(description="mean life if there were only infant mortality, s")
    infancy_shape: float = Field(
        default=0.5, ge=0.05, lt=1, strict=True, description="its exponent of the cumulative hazard"
    )
    chance: Positive = Field(description="mean life if there were only chance, s")
    wear: Positive = Field(description="mean life if there were only wear, s")
    wear_shape: float = Field(
        default=4.0, gt=1, le=100, strict=True, description="its exponent of the cumulative hazard"
    )

    @cached_property
    def _risks(self) -> tuple[Law, ...]:
        return (
            Weibull(mean=self.infancy, shape=self.infancy_shape),
            Exponential(mean=self.chance),
            Weibull(mean=self.wear, shape=self.wear_shape),
        )

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        infancy, chance, wear = (risk.cumulative_hazard(t) for risk in self._risks)
        return infancy + chance + wear


@law("preemptible")
class Preemptible(Law):
    """A cloud machine taken back within 24 h: often in its first hours, seldom then, surely at the end.

    P(T <= t) = share · (1 - e^(-t/early) + e^((t - deadline)/late)), less its value at 0, a trifle that would
    else be a probability of not living at all; it ends at 1, shortly after the deadline.
    """

    examples: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    source: ClassVar[str] = "preemptible machines of Google's cloud (Kadupitiya et al., HPDC 2020), rounded"

    share: float = Field(default=0.45, gt=0, lt=1, strict=True, description="die early, in the long run")
    early: Positive = Field(default=3600.0, description="time scale of early deaths, s")
    late: Positive = Field(default=2880.0, description="time scale of the rise before the deadline, s")
    deadline: Positive = Field(default=86400.0, description="when the rise has gained as much as share, s")

    def _probability(self, t: Floats) -> Floats:
        rise = np.exp(np.minimum((t - self.deadline) / self.late, 700.0)) - np.exp(-self.deadline / self.late)
        return np.asarray(self.share * (rise - np.expm1(-t / self.early)))

    @cached_property
    def end_s(self) -> float:
        """The greatest age, at which the probability has reached 1, s."""
        return float(numeric.inverse_of(self._probability, 1.0))

    def model_post_init(self, _: Any) -> None:
        """Refuse what is no law: one whose deadline is no end."""
        if self.late > self.deadline / 5:
            raise problem(
                f"must be at most a fifth of the deadline ({self.deadline / 5:g}).", ("late",), self.late
            )
        if self.early > self.deadline:
            raise problem(f"must be at most the deadline ({self.deadline:g}).", ("early",), self.early)

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        t = np.minimum(t, self.end_s)
        left = self.end_s - t
        at_end = np.exp((self.end_s - self.deadline) / self.late)
        survival = self.share * (
            -np.exp(-t / self.early) * np.expm1(-left / self.early) - at_end * np.expm1(-left / self.late)
        )
        with np.errstate(divide="ignore"):
            late, early = -np.log(survival), -np.log1p(-np.minimum(self._probability(t), 1.0))
        return np.where(survival > 0.5, early, late)
