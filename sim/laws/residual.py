"""The life that is left: of what is met at a random time, and of what has reached an age."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from sim.laws import gamma, numeric
from sim.laws.base import Floats, Law, law
from sim.laws.closed import Exponential, Lomax, Weibull
from sim.laws.parsing import AnyLaw
from sim.validation import NonNegative, problem


def _has_equilibrium(law: Any) -> bool:
    """Whether a law is an equilibrium or made of one: integrals of integrals take for ever."""
    parts = [getattr(law, "of", None), *(part.of for part in getattr(law, "parts", ()))]
    return isinstance(law, Equilibrium) or any(isinstance(p, Law) and _has_equilibrium(p) for p in parts)


@law("equilibrium")
class Equilibrium(Law):
    """Life left of what is met at a random time: of a host that an agent joins, say.

    P(T <= t) = ∫ S / mean up to t, with the survival S and the mean of the other law, whose lives follow one
    another. In hazards, H(t) - log(m(t) / m(0)) with the other law's mean residual life m.
    """

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"of": {"law": "weibull", "mean": 86400.0, "shape": 0.7}},
        {"of": {"law": "lognormal", "median": 3600.0, "sigma": 1.0}},
        {"of": 60.0},
    )
    source: ClassVar[str] = "renewal theory: the forward recurrence time"

    of: AnyLaw = Field(description="law of whole lives; it must have a mean")

    def model_post_init(self, _: Any) -> None:
        """Refuse lives that none could be met in."""
        if not 0 < self.of.mean_s < np.inf:
            raise problem(
                f"must have a finite mean above 0, not {self.of.mean_s:g}: no life of it is met "
                "at a random time.",
                ("of",),
                self.of,
            )
        if _has_equilibrium(self.of):
            raise problem("must not have an equilibrium in it: what is left of what is left.", ("of",), None)

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        match self.of:
            case Exponential():
                return self.of.cumulative_hazard(t)
            case Weibull():
                return gamma.standard_hazard(1 / self.of.shape, self.of.cumulative_hazard(t))
        return numeric.tail_of(self.of).equilibrium_hazard(t)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        match self.of:
            case Exponential():
                return self.of.inverse_hazard(h)
            case Weibull():
                return self.of.inverse_hazard(gamma.standard_inverse_hazard(1 / self.of.shape, h))
        return numeric.inverse_of(self.cumulative_hazard, h, numeric.tail_of(self.of).equilibrium_knots)

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        if isinstance(self.of, Exponential):
            return self.of.quantile(u)
        return numeric.quantile_of(self)(u)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return numeric.tail_of(self.of).equilibrium_mean_s


@law("aged")
class Aged(Law):
    """Life left at a known age, of what has lived so long.

    H⁻¹(H(age) + X) - age with X ~ Exp(1). Formulas keep all digits for exponential, weibull and lomax laws;
    under others a hazard is known to a share of 1e-16 of what the age has used up.
    """

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"of": {"law": "weibull", "mean": 86400.0, "shape": 0.7}, "age": 604800.0},
        {"of": {"law": "lognormal", "median": 3600.0, "sigma": 1.0}, "age": 3600.0},
    )

    of: AnyLaw = Field(description="law of whole lives")
    age: NonNegative = Field(description="age already reached, s")

    def model_post_init(self, _: Any) -> None:
        """Refuse an age that nothing reaches."""
        if not self._used_up < np.inf:
            most = float(self.of.inverse_hazard(np.inf))
            raise problem(f"must be below {most:g}, the greatest age of the law.", ("age",), self.age)

    @property
    def _used_up(self) -> float:
        return float(self.of.cumulative_hazard(self.age)) if self.age else 0.0

    @property
    def atoms_s(self) -> Floats:  # noqa: D102
        atoms = self.of.atoms_s
        return atoms[atoms > self.age] - self.age

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        t = np.asarray(t, dtype=np.float64)
        match self.of:  # where a formula keeps the digits that the difference of two large hazards loses
            case Exponential():
                return self.of.cumulative_hazard(t)
            case Lomax(c=c, scale=scale):
                return np.asarray(c * np.log1p(t / (scale + self.age)))
            case Weibull(shape=shape) if self._used_up > 0:
                with np.errstate(over="ignore"):
                    return np.asarray(self._used_up * np.expm1(shape * np.log1p(t / self.age)))
        return np.maximum(self.of.cumulative_hazard(self.age + t) - self._used_up, 0.0)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        h = np.asarray(h, dtype=np.float64)
        match self.of:
            case Exponential():
                return self.of.inverse_hazard(h)
            case Lomax(c=c, scale=scale):
                with np.errstate(over="ignore"):
                    return np.asarray((scale + self.age) * np.expm1(h / c))
            case Weibull(shape=shape) if self._used_up > 0:
                with np.errstate(over="ignore"):
                    return np.asarray(self.age * np.expm1(np.log1p(h / self._used_up) / shape))
        return np.maximum(self.of.inverse_hazard(self._used_up + h) - self.age, 0.0)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return float(self.of.mean_residual(self.age))
