"""Laws. Functionality: every law keeps the contract of `sim.contract`, and the contract finds wrong laws.
Deterministic: figures known by hand. Extreme: ages of a thousand means, where probabilities underflow.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from law_examples import BY_SCIPY, law_of, tables, title
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from scipy import special, stats

from sim.contract import examine, findings, skipped
from sim.laws import (
    LAWS,
    Constant,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Lomax,
    Scaled,
    Weibull,
    law,
    parse_law,
)

Floats = NDArray[np.float64]

# ---------------------------------------------------------------------------------------- functionality


def check(lived: Law) -> None:
    found = findings(lived)
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("table", tables(), ids=title)
def test_contract(table: dict[str, Any]) -> None:
    check(law_of(table))


@pytest.mark.parametrize("name", LAWS)
def test_every_law_has_examples_a_line_and_described_parameters(name: str) -> None:
    cls = LAWS[name]
    assert cls.examples
    assert cls.__doc__
    assert cls.__doc__.splitlines()[0].endswith((".", "."))
    assert [key for key, field in cls.model_fields.items() if not field.description] == []


def test_a_law_without_examples_is_refused() -> None:
    with pytest.raises(ValueError, match=r'the law "slipped in" has no examples; say with what parameters'):

        @law("slipped in")
        class _SlippedIn(Exponential):
            """One."""

            examples = ()

    assert "slipped in" not in LAWS


def test_a_law_without_a_docstring_is_refused() -> None:
    with pytest.raises(ValueError, match=r'the law "slipped in" has no docstring'):

        @law("slipped in")
        class _SlippedIn(Exponential):
            pass

    assert "slipped in" not in LAWS


def test_two_laws_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r'there is a law "weibull" already \(sim.laws.closed\)'):

        @law("weibull")
        class _Second(Exponential):
            """Another."""


class WrongMean(Exponential):
    @property
    def mean_s(self) -> float:
        return 1.01 * self.mean


class MeanOfALawWithoutOne(Exponential):
    """Survival (1 + t)^-½."""

    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        return np.log1p(t) / 2

    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return np.expm1(2 * np.asarray(h))


class NoMeanThoughThereIsOne(Exponential):
    @property
    def mean_s(self) -> float:
        return np.inf


class InverseOffByAScale(Exponential):
    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return 1.001 * super().inverse_hazard(h)


class QuantileOffByAScale(Exponential):
    def quantile(self, u: ArrayLike) -> Floats:
        return 1.001 * super().quantile(u)


class QuantileOfTheComplement(Exponential):
    def quantile(self, u: ArrayLike) -> Floats:
        return -self.mean * np.log(u)


class RisingSurvival(Exponential):
    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        x = np.asarray(t) / self.mean
        return x + 1.5 * np.sin(x)


class ImmortalShare(Exponential):
    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        return np.minimum(super().cumulative_hazard(t), 10.0)


class DeadAtBirth(Exponential):
    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        return super().cumulative_hazard(t) + 0.01


class NegativeTimes(Exponential):
    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        return np.maximum(super().cumulative_hazard(np.asarray(t) + 0.01) - 0.01 / self.mean, 0)

    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return super().inverse_hazard(h) - 0.01


class AtomNotDeclared(Exponential):
    """No life is longer than two means, and many are as long."""

    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        return np.where(np.asarray(t) < 2 * self.mean, super().cumulative_hazard(t), np.inf)

    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return np.minimum(super().inverse_hazard(h), 2 * self.mean)


class AtomInTheWrongPlace(AtomNotDeclared):
    @property
    def has_atoms(self) -> bool:
        return True

    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return np.minimum(super().inverse_hazard(h), 1.1 * self.mean)


class NoOldAge(Exponential):
    """Right but for one life in 10¹⁰."""

    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return super().inverse_hazard(np.minimum(h, 25.0))


class OneNumberForAll(Exponential):
    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return np.asarray(self.mean)


class NotANumberAtZero(Exponential):
    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        x = np.asarray(t) / self.mean
        return np.where(x == 0, np.nan, x)


class TwoDrawsForOneTime(Exponential):
    """The second is taken from the place beside."""

    def quantile(self, u: ArrayLike) -> Floats:
        u = np.asarray(u)
        if not u.ndim:
            return super().quantile(u)
        return (super().quantile(u) + super().quantile(np.roll(u, 1).reshape(u.shape))) / 2


class DrawsOfItsOwn(Exponential):
    def quantile(self, u: ArrayLike) -> Floats:
        return super().quantile(u) * (1 + 1e-12 * np.random.random())  # noqa: NPY002


class AnotherAtEachCall(Exponential):
    def quantile(self, u: ArrayLike) -> Floats:
        return super().quantile(u) * (1 + 1e-12 * np.random.default_rng().random())


class OtherDigitsAlone(Exponential):
    def inverse_hazard(self, h: ArrayLike) -> Floats:
        return super().inverse_hazard(h) * (1 if np.ndim(h) else 1 + 1e-12)


class FreshLifeAtEveryAge(Exponential):
    """Right for a new life, but an old one begins anew: not a function of the hazard alone."""

    def inverse_hazard(self, h: ArrayLike) -> Floats:
        h = np.asarray(h)
        return super().inverse_hazard(np.where(h > 30, h - 30, h))


class Broken(Exponential):
    def inverse_hazard(self, h: ArrayLike) -> Floats:
        raise IndexError("no such thing")


@pytest.mark.parametrize(
    ("wrong", "clause", "number"),
    [
        (WrongMean, "mean", "said to be 3.03 s, but the times have a mean of 3 s"),
        (MeanOfALawWithoutOne, "mean", "said to be 3 s"),
        (NoMeanThoughThereIsOne, "mean", "said to be infinite"),
        (InverseOffByAScale, "inverse", "off by a factor of 1.001"),
        (QuantileOffByAScale, "inverse", "is 2.08152098 s, but the inverse"),
        (QuantileOfTheComplement, "times", "quantile(0) is inf"),
        (RisingSurvival, "survival", "it must never grow"),
        (ImmortalShare, "survival", "ends at 4.54e-05"),
        (DeadAtBirth, "survival", "at 0 is 0.99"),
        (NegativeTimes, "times", "is -0.01"),
        (AtomNotDeclared, "inverse", "the hazard at 6 s is inf"),
        (AtomInTheWrongPlace, "inverse", "3.3 s"),
        (NoOldAge, "residual", "at the age of 90 s"),
        (FreshLifeAtEveryAge, "residual", "at the age of 90 s"),
        (OneNumberForAll, "shape", "has shape (); it must have the same"),
        (NotANumberAtZero, "survival", "at 0 is nan"),
        (TwoDrawsForOneTime, "draws", "one a draw"),
        (DrawsOfItsOwn, "draws", "random numbers of its own"),
        (AnotherAtEachCall, "draws", "at the second"),
        (OtherDigitsAlone, "digits", "alone and"),
        (Broken, "shape", "raises IndexError: no such thing"),
    ],
)
def test_the_contract_finds(wrong: type[Exponential], clause: str, number: str) -> None:
    check(Exponential(mean=3.0))
    found = findings(wrong(mean=3.0))
    assert any(f.clause == clause and number in f.sentence for f in found), found


@pytest.mark.parametrize(
    ("wrong", "clause"),
    [
        (WrongMean, "mean"),
        (InverseOffByAScale, "inverse"),
        (RisingSurvival, "survival"),
        (NotANumberAtZero, "survival"),
        (TwoDrawsForOneTime, "draws"),
    ],
)
def test_the_quick_contract_finds(wrong: type[Exponential], clause: str) -> None:
    assert not findings(Exponential(mean=3.0), quick=True)
    # A mean that is wrong by a percent takes the full contract.
    found = findings(wrong(mean=3.0), quick=clause != "mean")
    assert clause in {f.clause for f in found}


def test_what_is_skipped_for_atoms_is_said() -> None:
    assert "residual life is not sampled" in skipped(Constant(value=3.0))[0]
    assert skipped(Exponential(mean=3.0)) == []


def test_examples_are_checked_with_their_parameters() -> None:
    class Twice(WrongMean):
        examples = ({"mean": 2.0}, {"mean": -1.0})

    found = examine(Twice)
    assert [f.parameters for f in found] == ["mean = 2.0", "mean = -1.0"]
    assert "mean: must be greater than 0, not -1.0." in str(found[1])


OF_ONE_UNIT = {"constant", "uniform", "exponential", "weibull", "lognormal", "gamma", "lomax"} | {
    table["law"] for table in BY_SCIPY
}


def in_another_unit(table: dict[str, Any], by: float) -> dict[str, Any]:
    """The same law with its times in another unit, by its own parameters."""
    times = {"value", "low", "high", "mean", "median", "loc", "scale"}
    if table["law"] == "loguniform":
        times = {"a", "b"}
    elif table["law"] not in LAWS or table["law"] == "lomax":
        table = {"scale": 1.0} | table
    return {key: value * by if key in times else value for key, value in table.items()}


@pytest.mark.parametrize("table", [t for t in tables() if t["law"] in OF_ONE_UNIT], ids=title)
def test_scaled_is_the_law_with_scaled_parameters(table: dict[str, Any]) -> None:
    scaled = law_of({"law": "scaled", "of": table, "by": 60.0})
    own = law_of(in_another_unit(table, by=60.0))
    t = own.quantile(np.array([0.01, 0.5, 0.99]))
    np.testing.assert_allclose(scaled.quantile([0.01, 0.5, 0.99]), t, rtol=1e-12)
    np.testing.assert_allclose(scaled.inverse_hazard([0.01, 0.5, 3]), own.inverse_hazard([0.01, 0.5, 3]))
    if not own.has_atoms:
        np.testing.assert_allclose(scaled.cumulative_hazard(t), own.cumulative_hazard(t), rtol=1e-9)
    assert scaled.mean_s == pytest.approx(own.mean_s, rel=1e-12)


POSITIVE = some.floats(1e-3, 1e6)
ANY_LAW = some.one_of(
    some.builds(Exponential, mean=POSITIVE),
    some.builds(Weibull, mean=POSITIVE, shape=some.floats(0.2, 6)),
    some.builds(Lognormal, median=POSITIVE, sigma=some.floats(0.05, 3)),
)


@settings(derandomize=True, deadline=None)
@given(lived=ANY_LAW, ages=some.floats(0, 1000), used_up=some.floats(1e-3, 30))
def test_residual_life_uses_up_its_hazard(lived: Law, ages: float, used_up: float) -> None:
    age = ages * lived.mean_s
    before = float(lived.cumulative_hazard(age))
    death = float(lived.inverse_hazard(before + used_up))
    assert death >= age * (1 - 1e-9)
    assert float(lived.cumulative_hazard(death)) - before == pytest.approx(
        used_up, abs=1e-9 * before, rel=1e-6
    )


# ----------------------------------------------------------------------------------------- deterministic


@pytest.mark.parametrize(
    ("shape", "share"), [(1.0, 0.010), (0.7, 0.046), (0.5, 0.132)]
)  # a run as long as 1 % of the mean life
def test_laws_of_equal_mean_differ_in_infancy(shape: float, share: float) -> None:
    young = Weibull(mean=1000.0, shape=shape)
    assert 1 - float(young.survival(10.0)) == pytest.approx(share, abs=5e-4)


def test_by_hand() -> None:
    # A quarter of the lives is over at the mean times log(4/3), three quarters at the mean times log 4.
    np.testing.assert_allclose(
        law_of({"law": "exponential", "mean": 10}).quantile([0.25, 0.75]),
        [2.876820724517809, 13.862943611198906],
    )
    # 84.13 % of a normal law are below its mean plus one standard deviation.
    lognormal = law_of({"law": "lognormal", "median": 2, "sigma": 0.5})
    assert float(lognormal.quantile(0.8413447460685429)) == pytest.approx(2 * 1.6487212707001282)
    assert lognormal.mean_s == pytest.approx(2 * 1.1331484530668263)
    # Gamma of shape 2 with mean 2: P(T > t) = (1 + t) e^-t.
    assert float(law_of({"law": "gamma", "mean": 2, "shape": 2}).survival(3)) == pytest.approx(4 * np.exp(-3))
    # Weibull of shape ½ has twice its scale as mean: P(T > t) = exp(-√(2t/mean)).
    assert float(law_of({"law": "weibull", "mean": 8, "shape": 0.5}).survival(16)) == pytest.approx(
        np.exp(-2)
    )
    assert float(law_of({"law": "uniform", "low": 1, "high": 5}).survival(2)) == 0.75
    # Log-logistic: the odds of having ended are (t/scale)^c.
    assert float(law_of({"law": "fisk", "c": 2, "scale": 10}).survival(20)) == pytest.approx(1 / 5)


def test_a_number_is_a_constant() -> None:
    constant = parse_law(3)
    assert (constant.mean_s, constant.quantile([0.0, 0.999]).tolist()) == (3.0, [3.0, 3.0])
    assert constant.survival([2.999, 3.0]).tolist() == [1, 0]


def test_a_law_is_left_as_it_is() -> None:
    made = Exponential(mean=3.0)
    assert parse_law(made) is made


def test_own_laws_come_before_those_of_scipy() -> None:
    # scipy's gamma has a and scale; ours is known by its mean.
    assert law_of({"law": "gamma", "mean": 3.0, "shape": 4}).mean_s == 3.0
    assert {"constant", "uniform", "exponential", "lognormal", "weibull", "gamma", "scaled"} <= LAWS.keys()


def test_equal_laws_are_equal_and_hash_alike() -> None:
    for table in [*BY_SCIPY, *tables()]:
        one, other = law_of(table), law_of(table)
        one.quantile(0.5)  # what a law has worked out for itself does not count
        assert one == other
        assert hash(one) == hash(other)
    assert law_of({"law": "fisk", "c": 2}) != law_of({"law": "fisk", "c": 3})
    assert law_of({"law": "fisk", "c": 2, "scale": 3}) == law_of({"law": "fisk", "scale": 3, "c": 2})


# ----------------------------------------------------------------------------------------------- extreme

TAILED: list[Law] = [
    Exponential(mean=3.0),
    Weibull(mean=3.0, shape=0.48),
    Weibull(mean=3.0, shape=1.5),
    Lognormal(median=3.0, sigma=0.6),
    Lognormal(median=3.0, sigma=2.0),
    Gamma(mean=3.0, shape=4.0),
    Gamma(mean=3.0, shape=0.3),
    Lomax(c=1.5, scale=3.0),
]


def mean_residual_of_small_hazard(lived: Law, age: float) -> float:
    """1 / hazard rate, from the density over the survival."""
    match lived:
        case Exponential():
            return lived.mean
        case Weibull():
            scale = lived.mean / special.gamma(1 + 1 / lived.shape)
            return scale / lived.shape * (age / scale) ** (1 - lived.shape)
        case Lognormal():
            z = np.log(age / lived.median) / lived.sigma
            mills = np.sqrt(np.pi / 2) * special.erfcx(z / np.sqrt(2))
            return lived.sigma * age * mills
        case Gamma():
            # Q(x) = pdf(x) · (1 + (a-1)/x + (a-1)(a-2)/x² + ...), an asymptotic series.
            x, a = age * lived.shape / lived.mean, lived.shape
            if x > 40:
                terms = np.cumprod([(a - k) / x for k in range(1, 15)])
                return lived.mean / lived.shape * (1 + float(np.sum(terms)))
            frozen = stats.gamma(a, scale=lived.mean / a)
            return float(frozen.sf(age) / frozen.pdf(age))
        case Lomax():
            return (lived.scale + age) / lived.c
    raise TypeError(lived)


@pytest.mark.parametrize("means", [1, 30, 1000])
@pytest.mark.parametrize("lived", TAILED, ids=str)
def test_residual_life_in_old_age(lived: Law, means: float) -> None:
    age = means * lived.mean_s
    hazard = lived.cumulative_hazard(age)
    left = lived.inverse_hazard(hazard + np.array([1e-5, 1e-3, 0.1, 1, 10, 100])) - age
    assert np.all(np.isfinite(left))
    assert left[0] > 0
    assert np.all(np.diff(left) > 0)
    assert left[0] == pytest.approx(1e-5 * mean_residual_of_small_hazard(lived, age), rel=1e-3)


@pytest.mark.parametrize("table", [{"law": "fisk", "c": 0.5}, {"law": "invweibull", "c": 0.5}], ids=title)
def test_a_mean_that_does_not_exist_is_infinite(table: dict[str, Any]) -> None:
    assert law_of(table).mean_s == np.inf


def test_a_shape_without_a_scale_is_refused() -> None:
    with pytest.raises(ValidationError, match="is too small: the scale of such a law is 0"):
        Weibull(mean=3.0, shape=0.005)


def test_scaled_by_scaled() -> None:
    nested = Scaled(of=Scaled(of=Exponential(mean=3.0), by=2.0), by=5.0)
    assert nested.mean_s == 30
    assert float(nested.cumulative_hazard(60.0)) == 2
    assert float(nested.inverse_hazard(2.0)) == 60
