"""Probability laws of positive times.

A law gives its cumulative hazard ``H(t) = -log P(T > t)``, the inverse of it, and its mean. Everything
else follows: a time from one uniform number by inversion (so that the same number gives a comparable time
under every law), and the residual life at an age ``a``, ``H⁻¹(H(a) + X) − a`` with ``X`` ~ Exp(1).

A new law is one decorated class. Any continuous `scipy.stats` law works by its scipy name.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from math import inf, isnan
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BeforeValidator, Field
from scipy import special

from sim.validation import Mistake, Model, NonNegative, Positive, allowed_instead, problem, problems

Floats = NDArray[np.float64]


class Law(Model, ABC):
    """Probability law of a time in seconds, at least 0."""

    name: ClassVar[str]

    @property
    def has_atoms(self) -> bool:
        """Whether some times have a probability of their own, so that the hazard is not a function."""
        return False

    @abstractmethod
    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        """H(t) = -log P(T > t), dimensionless, of the shape of `t` (seconds)."""

    @abstractmethod
    def inverse_hazard(self, h: ArrayLike) -> Floats:
        """Give the time in seconds at which the cumulative hazard reaches `h` (same shape)."""

    @property
    @abstractmethod
    def mean_s(self) -> float:
        """Mean in seconds; infinite where there is none."""

    def quantile(self, u: ArrayLike) -> Floats:
        """Give the time in seconds with P(T <= time) = `u`, for `u` in [0, 1), of the same shape."""
        return self.inverse_hazard(-np.log1p(-np.asarray(u)))

    def survival(self, t: ArrayLike) -> Floats:
        """P(T > t), of the shape of `t` (seconds)."""
        return np.exp(-self.cumulative_hazard(t))


LAWS: dict[str, type[Law]] = {}
"""The laws that a file can name, besides those of `scipy.stats`."""

SomeLaw = TypeVar("SomeLaw", bound=type[Law])


def law(name: str) -> Callable[[SomeLaw], SomeLaw]:
    """Register a law under the name that files use."""

    def register(cls: SomeLaw) -> SomeLaw:
        cls.name = name
        LAWS[name] = cls
        return cls

    return register


@law("constant")
class Constant(Law):
    """Always the same time."""

    value: NonNegative = Field(description="the time, s")

    @property
    def has_atoms(self) -> bool:  # noqa: D102 - said by Law, here and below
        return True

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

    mean: Positive = Field(description="mean, s")

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(np.asarray(t) / self.mean)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(h) * self.mean

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.mean


@law("lognormal")
class Lognormal(Law):
    """The logarithm is normal: latencies, with a long right tail."""

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
        return float(self.median * np.exp(self.sigma**2 / 2))


@law("weibull")
class Weibull(Law):
    """Hazard a power of age: falling for shape < 1 (infant mortality), rising for shape > 1 (wear)."""

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
        return np.asarray((np.asarray(t) / self.scale) ** self.shape)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.scale * np.asarray(h) ** (1 / self.shape))

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.mean


@lru_cache(maxsize=64)
def _standard_gamma_quantile(shape: float) -> Callable[[ArrayLike], Floats]:
    """Quantile function of the gamma law of scale 1, a dozen times as fast as `scipy.special.gammaincinv`.

    The logarithm of a quantile is smooth in the normal score of its probability. So it is interpolated
    between exact values with exact slopes (cubic Hermite), with a relative error below 1e-9.
    """
    score = np.linspace(-8.3, 8.3, 2048)  # beyond 1 / 2^53, the least that a uniform number can be
    below, above = (
        special.gammaincinv(shape, special.ndtr(score)),
        special.gammainccinv(shape, special.ndtr(-score)),
    )
    quantile = np.where(score < 0, below, above)
    if not quantile[0] > sys.float_info.min:  # so small a shape that its low quantiles are no floats
        return lambda u: np.asarray(special.gammaincinv(shape, u))
    step, log_quantile = score[1] - score[0], np.log(quantile)
    log_density = shape * log_quantile - quantile - special.gammaln(shape)
    slope = step / np.sqrt(2 * np.pi) * np.exp(-(score**2) / 2 - log_density)
    rise = np.diff(log_quantile)
    constant, linear = log_quantile[:-1], slope[:-1]
    square, cube = 3 * rise - 2 * slope[:-1] - slope[1:], slope[:-1] + slope[1:] - 2 * rise

    def interpolated(u: ArrayLike) -> Floats:
        place = (special.ndtri(u) - score[0]) / step
        inside = (place >= 0) & (place < len(rise))
        if not np.all(inside):
            return np.where(inside, interpolated(np.where(inside, u, 0.5)), special.gammaincinv(shape, u))
        knot = place.astype(np.intp)
        x = place - knot
        polynomial = constant[knot] + x * (linear[knot] + x * (square[knot] + x * cube[knot]))
        return np.asarray(np.exp(polynomial))

    return interpolated


@law("gamma")
class Gamma(Law):
    """Sum-like times: bell-shaped for a large shape, exponential for shape 1.

    Its hazard is found through the probability, so it is known up to a cumulative hazard of about 745.
    """

    mean: Positive = Field(description="mean, s")
    shape: Positive = Field(description="1 / squared coefficient of variation")

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        with np.errstate(divide="ignore"):
            x = np.asarray(t) * (self.shape / self.mean)
            return np.asarray(-np.log(special.gammaincc(self.shape, x)))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        inverse = special.gammainccinv(self.shape, np.exp(-np.asarray(h)))
        return np.asarray(inverse * (self.mean / self.shape))

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return _standard_gamma_quantile(self.shape)(u) * (self.mean / self.shape)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.mean


class ScipyLaw(Law):
    """A continuous law of `scipy.stats` by its scipy name, with scipy's parameters."""

    law: str
    parameters: tuple[tuple[str, float], ...]

    @cached_property
    def frozen(self) -> Any:
        """The frozen scipy distribution."""
        return _scipy_family(self.law)(**dict(self.parameters))

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(-self.frozen.logsf(t))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.frozen.isf(np.exp(-np.asarray(h))))

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.frozen.ppf(u))

    @property
    def mean_s(self) -> float:  # noqa: D102
        mean = float(self.frozen.mean())
        return inf if isnan(mean) else mean


def _scipy_family(name: str) -> Any:
    """Continuous law of `scipy.stats` by name; None if there is none."""
    from scipy import stats  # slow to import, and rarely needed

    family = getattr(stats, name, None)
    return family if isinstance(family, stats.rv_continuous) else None


def _scipy_law(name: str, given: dict[str, Any]) -> ScipyLaw:
    shapes = _scipy_family(name).shapes
    needed = [part.strip() for part in shapes.split(",")] if shapes else []
    allowed = [*needed, "loc", "scale"]
    found: list[Mistake] = []
    for key, value in given.items():
        if key not in allowed:
            found.append(((key,), f"unknown key; {allowed_instead(key, allowed)}", value))
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            found.append(((key,), f"must be a number, not {value!r}.", value))
        elif not abs(value) <= sys.float_info.max:
            found.append(((key,), "must be a finite number, as large as a float can hold.", value))
    for key in needed:
        if key not in given:
            sentence = f"this key is missing: scipy's {name} takes {', '.join(allowed)}."
            found.append(((key,), sentence, None))
    if found:
        raise problems(name, found)
    result = ScipyLaw(law=name, parameters=tuple(sorted((k, float(v)) for k, v in given.items())))
    low, _ = result.frozen.support()
    if not low >= 0:
        raise problem(
            f"scipy's {name} with these parameters is no law of times: "
            f"its values must be at least 0 (they start at {low:g}).",
            ("law",),
            name,
        )
    return result


def parse_law(value: Any) -> Any:
    """Turn a number of seconds or a table with the key ``law`` into a law.

    Raises
    ------
    ValidationError
        If the law or a parameter is unknown, missing or out of bounds; it names the nearest name.
    """
    if isinstance(value, Law):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Constant.model_validate({"value": value})
    if not isinstance(value, dict) or "law" not in value:
        raise problem(
            'must be a number of seconds or a table such as { law = "exponential", mean = 3.0 }'
            f", not {value!r}."
        )
    name = value["law"]
    given = {key: item for key, item in value.items() if key != "law"}
    if isinstance(name, str) and name in LAWS:
        return LAWS[name].model_validate(given)
    if isinstance(name, str) and _scipy_family(name):
        return _scipy_law(name, given)
    raise problem(
        f"{name!r} is no law; {allowed_instead(name, LAWS)} Any continuous law of scipy.stats works too.",
        ("law",),
        name,
    )


AnyLaw = Annotated[Law, BeforeValidator(parse_law)]
"""Field type: a law, given as a number of seconds (constant) or as a table."""


@law("scaled")
class Scaled(Law):
    """Another law, all its times multiplied."""

    of: AnyLaw = Field(description="the other law")
    by: Positive = Field(description="factor")

    @property
    def has_atoms(self) -> bool:  # noqa: D102
        return self.of.has_atoms

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return self.of.cumulative_hazard(np.asarray(t) / self.by)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        return self.by * self.of.inverse_hazard(h)

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return self.by * self.of.quantile(u)

    @property
    def mean_s(self) -> float:  # noqa: D102
        return self.by * self.of.mean_s
