"""Laws. Deterministic: figures known by hand, from textbooks or from another formula. Extreme: far tails."""

import numpy as np
import pytest
from law_examples import law_of
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from scipy import integrate, special

from sim.contract import findings
from sim.laws import (
    Aged,
    Bathtub,
    Constant,
    Empirical,
    Equilibrium,
    Exponential,
    Gamma,
    Hyperexponential,
    Law,
    Lognormal,
    Lomax,
    Mixture,
    Preemptible,
    Scaled,
    Shifted,
    Truncated,
    Uniform,
    Weibull,
    files_in,
)
from sim.laws.numeric import HermiteTable, quantile_of

HOUR = 3600.0
U = np.concatenate([np.geomspace(1e-12, 0.5, 50), 1 - np.geomspace(0.5, 1e-12, 50)])

# ------------------------------------------------------------------------------------- several causes


def test_preemptible_machines_die_early_or_at_the_deadline() -> None:
    lived = Preemptible()
    ended = 1 - lived.survival(HOUR * np.array([0.0, 3.0, 20.0, 24.0]))
    assert ended[0] == 0
    np.testing.assert_allclose(ended[1:], [0.43, 0.45, 0.90], atol=0.005)
    assert lived.end_s == pytest.approx(24.16 * HOUR, rel=1e-3)
    assert lived.survival(lived.end_s) == 0
    assert lived.inverse_hazard(np.inf) == pytest.approx(lived.end_s)
    assert lived.mean_s == pytest.approx(integrate.quad(lived.survival, 0, lived.end_s, limit=200)[0])


def test_a_preemptible_machine_without_a_deadline_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"late\n  must be at most a fifth of the deadline \(2000\)"):
        Preemptible(deadline=10_000.0)


def test_hyperexponential_by_hand() -> None:
    # Squared coefficient of variation 3: √((3 - 1)/(3 + 1)) = 0.7071, so 85.36 % are of the short kind.
    p = 0.8535533905932737
    t = np.array([0.01, 1.0, 5.0, 40.0])
    by_hand = p * np.exp(-2 * p * t / 7) + (1 - p) * np.exp(-2 * (1 - p) * t / 7)
    lived = Hyperexponential(mean=7.0, squared_cv=3.0)
    np.testing.assert_allclose(lived.survival(t), by_hand, rtol=1e-13)
    assert squared_cv(lived) == pytest.approx(3.0, rel=1e-6)


def test_a_bathtub_is_the_least_of_its_risks() -> None:
    lived = Bathtub(infancy=9.0, infancy_shape=0.7, chance=20.0, wear=5.0, wear_shape=2.0)
    risks = [Weibull(mean=9.0, shape=0.7), Exponential(mean=20.0), Weibull(mean=5.0, shape=2.0)]
    t = np.array([0.1, 1.0, 3.0, 9.0])
    np.testing.assert_allclose(lived.survival(t), np.prod([risk.survival(t) for risk in risks], axis=0))
    rate = np.diff(lived.cumulative_hazard(np.array([0.0, 0.1, 2.0, 2.1, 9.0, 9.1])))[::2] / 0.1
    assert rate[0] > rate[1] < rate[2]


# ---------------------------------------------------------------------------------------- made of others


def test_a_truncated_uniform_law_is_a_uniform_law() -> None:
    cut, uniform = Truncated(of=Uniform(high=10.0), above=2.0, below=4.0), Uniform(low=2.0, high=4.0)
    np.testing.assert_allclose(cut.quantile(U), uniform.quantile(U), rtol=1e-12)
    np.testing.assert_allclose(cut.survival([1, 2.5, 4]), uniform.survival([1, 2.5, 4]), rtol=1e-12)
    assert cut.mean_s == pytest.approx(3.0, rel=1e-9)


def test_truncation_far_out_keeps_its_digits() -> None:
    # Only one life in 10^434 is longer than 1,000 means.
    above = Truncated(of=Exponential(mean=1.0), above=1000.0)
    np.testing.assert_allclose(above.quantile([0.0, 0.5]), [1000.0, 1000 + np.log(2)])
    between = Truncated(of=Exponential(mean=1.0), above=1000.0, below=1001.0)
    # Of an exponential law between 0 and 1, half is below -log(1 - (1 - 1/e)/2).
    assert float(between.quantile(0.5)) == pytest.approx(1000 - np.log(1 - (1 - np.exp(-1)) / 2), rel=1e-13)
    assert float(between.inverse_hazard(np.inf)) == 1001
    assert between.mean_s == pytest.approx(1000 + 1 - 1 / (np.e - 1), rel=1e-12)


def test_truncation_keeps_the_atoms_within() -> None:
    cut = Truncated(of=Empirical(times=(1.0, 2.0, 3.0, 4.0)), above=1.0, below=3.0)
    assert cut.atoms_s.tolist() == [2, 3]
    assert cut.quantile([0.2, 0.7]).tolist() == [2, 3]
    assert cut.mean_s == pytest.approx(2.5)


def test_a_truncation_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="leave no time of the law, whose times are from 0 to 10 s"):
        Truncated(of=Uniform(high=10.0), above=11.0)
    with pytest.raises(ValidationError, match=r"below\n  must be above the key above \(5\)"):
        Truncated(of=Uniform(high=10.0), above=5.0, below=5.0)


def test_a_mixture_by_hand() -> None:
    mixed = Mixture.model_validate(
        {
            "parts": [
                {"of": {"law": "exponential", "mean": 1.0}, "weight": 1.0},
                {"of": {"law": "uniform", "high": 4.0}, "weight": 3.0},
            ]
        }
    )
    assert float(mixed.survival(2.0)) == pytest.approx(np.exp(-2) / 4 + 3 / 8)
    assert mixed.mean_s == pytest.approx(1 / 4 + 3 / 2)
    # All uniform times are over by 4: what is left is exponential.
    assert float(mixed.cumulative_hazard(800.0)) == pytest.approx(800 + np.log(4))


def test_a_mixture_of_constants_gives_these() -> None:
    mixed = law_of({"law": "mixture", "parts": [{"of": 3.0, "weight": 1.0}, {"of": 5.0, "weight": 1.0}]})
    assert mixed.atoms_s.tolist() == [3, 5]
    assert mixed.quantile([0.1, 0.4, 0.6, 0.9]).tolist() == [3, 3, 5, 5]
    assert mixed.mean_s == 4


def test_shifted_by_hand() -> None:
    late = Shifted(of=Exponential(mean=2.0), by=10.0)
    assert late.survival([5.0, 10.0, 12.0]).tolist() == pytest.approx([1, 1, np.exp(-1)])
    assert late.mean_s == 12


# ------------------------------------------------------------------------------------- the life that is left


def squared_cv(lived: Law) -> float:
    """From the mean life left at a random time, E T² / (2 E T)."""
    return 2 * Equilibrium(of=lived).mean_s / lived.mean_s - 1


@pytest.mark.parametrize(("shape", "cv"), [(0.5, 2.24), (0.7, 1.46), (1.5, 0.68)])
def test_coefficients_of_variation(shape: float, cv: float) -> None:
    assert np.sqrt(squared_cv(Weibull(mean=1000.0, shape=shape))) == pytest.approx(cv, abs=0.005)


@pytest.mark.parametrize("shape", [0.48, 0.7, 1.5])
def test_weibull_equilibrium_by_closed_form_by_integral_and_by_the_general_way(shape: float) -> None:
    lived = Weibull(mean=1000.0, shape=shape)
    closed = Equilibrium(of=lived)
    t = np.array([1e-3, 1.0, 300.0, 1000.0, 5000.0])
    wanted = special.gammaincc(1 / shape, (t / lived.scale) ** shape)
    np.testing.assert_allclose(closed.survival(t), wanted, rtol=1e-12)
    by_integral = [integrate.quad(lived.survival, 0, x, epsrel=1e-11)[0] / 1000 for x in t]
    np.testing.assert_allclose(1 - closed.survival(t), by_integral, rtol=1e-7)
    general = Equilibrium(of=Scaled(of=lived, by=1.0))
    ages = 1000 * np.geomspace(1e-9, 1000, 80)
    np.testing.assert_allclose(general.cumulative_hazard(ages), closed.cumulative_hazard(ages), rtol=1e-9)
    np.testing.assert_allclose(general.quantile(U), closed.quantile(U), rtol=1e-8)
    assert general.mean_s == pytest.approx(closed.mean_s, rel=1e-8)


def test_a_host_joined_at_a_random_time_is_seldom_young() -> None:
    # A run as long as 1 % of the mean: about 1 % crash, whatever the law.
    for shape in (0.5, 0.7, 1.0):
        joined = Equilibrium(of=Weibull(mean=1000.0, shape=shape))
        assert 1 - float(joined.survival(10.0)) == pytest.approx(0.01, rel=0.1)


def test_equilibrium_of_special_laws() -> None:
    t = np.array([0.1, 3.0, 7.0])
    assert Equilibrium(of=Exponential(mean=3.0)).survival(t) == pytest.approx(np.exp(-t / 3))
    # A constant life met at a random time has a uniform rest.
    rest = Equilibrium(of=Constant(value=60.0))
    np.testing.assert_allclose(rest.quantile([0.0, 0.25, 0.5, 0.999]), [0, 15, 30, 59.94], rtol=1e-9)
    np.testing.assert_allclose(rest.survival([0, 15, 59, 60, 61]), [1, 0.75, 1 / 60, 0, 0], atol=1e-12)
    # Lives of 2 s and 4 s alike: two thirds of the time is in the long ones.
    steps = Equilibrium(of=Empirical(times=(2.0, 4.0)))
    np.testing.assert_allclose(steps.survival([0, 1, 2, 3, 4]), [1, 2 / 3, 1 / 3, 1 / 6, 0], atol=1e-12)
    # Lomax of exponent c has Lomax of exponent c - 1.
    np.testing.assert_allclose(
        Equilibrium(of=Lomax(c=3.0, scale=5.0)).cumulative_hazard(t), 2 * np.log1p(t / 5), rtol=1e-9
    )


def test_the_mean_of_an_equilibrium() -> None:
    assert Equilibrium(of=Lomax(c=3.0, scale=5.0)).mean_s == pytest.approx(5.0)
    assert Equilibrium(of=Lomax(c=1.9, scale=5.0)).mean_s == np.inf
    assert Equilibrium(of=Uniform(high=3.0)).mean_s == pytest.approx(1.0)
    assert Equilibrium(of=Constant(value=3.0)).mean_s == pytest.approx(1.5)
    assert Equilibrium(of=Exponential(mean=3.0)).mean_s == pytest.approx(3.0)


def test_what_has_no_mean_has_no_equilibrium() -> None:
    with pytest.raises(ValidationError, match="must have a finite mean above 0, not inf"):
        Equilibrium(of=Lomax(c=0.5))


@pytest.mark.parametrize(
    "lived",
    [
        Weibull(mean=5.0, shape=0.7),
        Weibull(mean=5.0, shape=2.0),
        Lognormal(median=3.0, sigma=0.8),
        Lomax(c=1.5),
    ],
    ids=str,
)
def test_aged_is_the_residual_life(lived: Law) -> None:
    age = 2 * lived.mean_s
    left, t = Aged(of=lived, age=age), np.array([0.0, 0.5, 4.0, 30.0])
    np.testing.assert_allclose(left.survival(t), lived.survival(age + t) / lived.survival(age), rtol=1e-10)
    mean = integrate.quad(left.survival, 0, np.inf, limit=500)[0]
    assert left.mean_s == pytest.approx(mean, rel=1e-5)


def test_aged_by_hand() -> None:
    t = np.array([1e-9, 1.0, 50.0])
    assert Aged(of=Exponential(mean=3.0), age=1e6).cumulative_hazard(t) == pytest.approx(t / 3, rel=1e-13)
    # Lomax stays Lomax, its scale greater by the age.
    assert Aged(of=Lomax(c=2.0, scale=5.0), age=7.0).cumulative_hazard(t) == pytest.approx(
        Lomax(c=2.0, scale=12.0).cumulative_hazard(t), rel=1e-13
    )
    # H = (t/scale)²: from age a on it is ((a+t)² - a²)/scale², without loss at 1,000 means.
    lived = Weibull(mean=1.0, shape=2.0)
    old = Aged(of=lived, age=1000.0)
    np.testing.assert_allclose(old.cumulative_hazard(t), (2000 * t + t * t) / lived.scale**2, rtol=1e-12)
    np.testing.assert_allclose(old.inverse_hazard(old.cumulative_hazard(t)), t, rtol=1e-12)


def test_no_age_beyond_the_greatest() -> None:
    with pytest.raises(ValidationError, match=r"age\n  must be below 10, the greatest age of the law"):
        Aged(of=Uniform(high=10.0), age=10.0)


# ---------------------------------------------------------------------------------------------- observed

# Weeks of remission (Freireich et al. 1963), in every textbook; the second list was cut off.
SEEN = [6, 6, 6, 7, 10, 13, 16, 22, 23]
CUT = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]


def remission() -> Empirical:
    return Empirical(
        times=tuple(map(float, SEEN + CUT)), censored=tuple([False] * len(SEEN) + [True] * len(CUT))
    )


def test_kaplan_meier_of_the_textbooks() -> None:
    lived = remission()
    at = [5.99, 6, 7, 10, 13, 16, 22, 23, 34.9]
    wanted = [1, 0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448, 0.448]
    np.testing.assert_allclose(lived.survival(at), wanted, atol=5e-4)
    assert float(lived.quantile(0.3)) == 13  # survival falls below 0.7 there
    assert lived.atoms_s.tolist() == [6, 7, 10, 13, 16, 22, 23]


def test_beyond_the_longest_time_the_hazard_is_constant() -> None:
    lived = remission()
    last = float(lived.survival(35.0))
    assert float(lived.survival(70.0)) == pytest.approx(last**2)
    assert float(lived.survival(3500.0)) == pytest.approx(last**100)
    assert float(lived.inverse_hazard(lived.cumulative_hazard(50.0))) == pytest.approx(50.0)
    # Area under the steps up to 35, and beyond it the mean of an exponential life.
    steps = integrate.quad(lived.survival, 0, 35, points=lived.atoms_s, limit=200)[0]
    assert lived.mean_s == pytest.approx(steps + last * 35 / -np.log(last), rel=1e-9)


def test_without_censoring_it_is_the_sample() -> None:
    lived = Empirical(times=(4.0, 1.0, 3.0, 3.0))
    assert lived.survival([0.5, 1, 3, 4]).tolist() == pytest.approx([1, 0.75, 0.25, 0])
    assert lived.quantile([0, 0.2, 0.3, 0.7, 0.8]).tolist() == [1, 1, 3, 3, 4]
    assert lived.mean_s == pytest.approx(11 / 4)
    assert float(lived.inverse_hazard(np.inf)) == 4


def csv(folder, text: str) -> Law:
    (folder / "lives.csv").write_text(text)
    with files_in(folder):
        return law_of({"law": "empirical", "file": "lives.csv"})


def test_a_file_of_times(tmp_path) -> None:
    lived = csv(tmp_path, "host,seconds,censored\na,3,0\nb,5,1\n\nc,4.5,\n")
    assert lived == Empirical(times=(3.0, 5.0, 4.5), censored=(False, True, False))
    assert hash(lived) == hash(Empirical(times=(3.0, 5.0, 4.5), censored=(False, True, False)))
    assert lived != Empirical(times=(3.0, 5.0, 4.5))
    assert csv(tmp_path, "3\n5\n") == csv(tmp_path, "seconds\r\n3\r\n5\r\n") == Empirical(times=(3.0, 5.0))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seconds\n3\nsoon\n", r"lives.csv, line 3: a time must be a number of seconds above 0, not 'soon'"),
        ("seconds\n3\n-1\n", "line 3: a time must be a number of seconds above 0, not '-1'"),
        ("seconds\n0\n", "line 2: a time must be a number of seconds above 0, not '0'"),
        ("seconds\nnan\n", "not 'nan'"),
        ("seconds,censored\n3,maybe\n", "line 2: censored must be 1"),
        ("host,lived\na,3\n", "needs a column seconds; its columns are host, lived"),
        ("seconds,censored\n3,1\n", "must hold a time that was not cut off"),
        ("seconds\n", "needs at least one time"),
        ("", "needs at least one time"),
    ],
)
def test_a_file_that_is_no_list_of_times(tmp_path, text: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        csv(tmp_path, text)


def test_other_mistakes_about_observed_times(tmp_path) -> None:
    with files_in(tmp_path), pytest.raises(ValidationError, match=r"no.csv cannot be read: No such file"):
        law_of({"law": "empirical", "file": "no.csv"})
    with pytest.raises(ValidationError, match="say either file or times, not both"):
        law_of({"law": "empirical", "file": "no.csv", "times": [3.0]})
    with pytest.raises(
        ValidationError, match="for each of the 2 times whether it was cut off, not 1 of them"
    ):
        law_of({"law": "empirical", "times": [3.0, 4.0], "censored": [True]})


# -------------------------------------------------------------------------------------------- worked out


class OnlyAHazard(Law):
    """A Weibull law of scale 1 that says nothing but its hazard."""

    shape: float

    def cumulative_hazard(self, t: ArrayLike) -> NDArray[np.float64]:
        return np.power(np.asarray(t, dtype=float), self.shape)


@pytest.mark.parametrize("shape", [0.3, 0.7, 1.0, 3.0])
def test_what_a_law_does_not_say_is_worked_out(shape: float) -> None:
    mean = float(special.gamma(1 + 1 / shape))
    lived, known = OnlyAHazard(shape=shape), Weibull(mean=mean, shape=shape)
    h = np.geomspace(1e-12, 1e6, 50)
    np.testing.assert_allclose(lived.inverse_hazard(h), known.inverse_hazard(h), rtol=3e-14)
    np.testing.assert_allclose(lived.quantile(U), known.quantile(U), rtol=1e-9)
    assert isinstance(quantile_of(lived), HermiteTable)
    assert lived.mean_s == pytest.approx(mean, rel=1e-9)
    assert (lived.inverse_hazard(0.0), lived.inverse_hazard(np.inf)) == (0.0, np.inf)


class TailOfThePower(Law):
    """Survival (1 + t)^-c, by its hazard alone."""

    c: float

    def cumulative_hazard(self, t: ArrayLike) -> NDArray[np.float64]:
        return self.c * np.log1p(t)


@pytest.mark.parametrize(("c", "mean"), [(0.5, np.inf), (1.0, np.inf), (1.2, 5.0), (3.0, 0.5)])
def test_an_endless_mean_is_seen(c: float, mean: float) -> None:
    assert TailOfThePower(c=c).mean_s == pytest.approx(mean, rel=1e-6)


class WithAGap(Law):
    """Half of the times are below 1, half between 9 and 10, by its hazard alone."""

    def cumulative_hazard(self, t: ArrayLike) -> NDArray[np.float64]:
        t = np.asarray(t, dtype=float)
        with np.errstate(divide="ignore"):
            return -np.log1p(-(np.clip(t, 0, 1) + np.clip(t - 9, 0, 1)) / 2)


def test_a_gap_is_no_place_for_a_time() -> None:
    lived = WithAGap()
    u = np.array([0.1, 0.4, 0.499999, 0.500001, 0.6, 0.9])
    np.testing.assert_allclose(lived.quantile(u), np.where(u < 0.5, 2 * u, 8 + 2 * u), rtol=1e-9)
    assert lived.mean_s == pytest.approx(5.0, rel=1e-3)
    assert float(lived.inverse_hazard(np.inf)) == pytest.approx(10.0)


@pytest.mark.parametrize("lived", [Preemptible(), Hyperexponential(mean=3.0, squared_cv=30.0)], ids=str)
def test_a_table_is_as_good_as_the_inverse(lived: Law) -> None:
    assert isinstance(quantile_of(lived), HermiteTable)
    u = np.random.default_rng(24).random(2000)
    np.testing.assert_allclose(lived.quantile(u), lived.inverse_hazard(-np.log1p(-u)), rtol=1e-9)


# ---------------------------------------------------------------------------------------------- far tails


def test_gamma_beyond_all_probabilities() -> None:
    # Shape 4: P(T > x) = (1 + x + x²/2 + x³/6) e^-x. Shape ½: P(T > x) = erfc(√x).
    x = np.array([600.0, 700.0, 5_000.0, 1e6])
    by_hand = x - np.log(1 + x + x**2 / 2 + x**3 / 6)
    four = Gamma(mean=4.0, shape=4.0)
    np.testing.assert_allclose(four.cumulative_hazard(x), by_hand, rtol=1e-14)
    np.testing.assert_allclose(four.inverse_hazard(by_hand), x, rtol=1e-14)
    half = Gamma(mean=0.5, shape=0.5)
    np.testing.assert_allclose(half.cumulative_hazard(x), x - np.log(special.erfcx(np.sqrt(x))), rtol=1e-14)


@pytest.mark.parametrize("shape", [0.05, 0.5, 4.0, 300.0])
def test_the_gamma_law_is_smooth_where_its_far_tail_begins(shape: float) -> None:
    lived = Gamma(mean=1.0, shape=shape)
    t = lived.inverse_hazard(np.linspace(590, 610, 201))
    np.testing.assert_allclose(lived.cumulative_hazard(t), np.linspace(590, 610, 201), rtol=1e-12)
    assert np.all(np.diff(t) > 0)
    assert np.ptp(np.diff(t)) < 0.01 * np.diff(t).mean()


def test_the_gamma_law_at_its_begin() -> None:
    # Shape 2: H(t) = t - log(1 + t), about t²/2.
    t = np.array([1e-9, 1e-6, 1e-3])
    lived = Gamma(mean=2.0, shape=2.0)
    np.testing.assert_allclose(lived.cumulative_hazard(t), t**2 / 2 - t**3 / 3, rtol=1e-6)
    np.testing.assert_allclose(lived.inverse_hazard(lived.cumulative_hazard(t)), t, rtol=1e-9)


def test_laws_of_scipy_beyond_all_probabilities() -> None:
    lived = law_of({"law": "weibull_min", "c": 0.7, "scale": 10.0})
    h = np.array([1.0, 700.0, 3000.0])
    np.testing.assert_allclose(lived.inverse_hazard(h), 10 * h ** (1 / 0.7), rtol=1e-11)
    assert float(lived.inverse_hazard(3000.0)) == lived.inverse_hazard(h)[2]
    assert lived.inverse_hazard(np.inf) == np.inf


WEIBULL = Weibull(mean=5.0, shape=0.7)


@pytest.mark.parametrize(
    "lived",
    [
        Gamma(mean=3.0, shape=0.02),
        Gamma(mean=3.0, shape=1e6),
        Hyperexponential(mean=3.0, squared_cv=1.0001),
        Hyperexponential(mean=3.0, squared_cv=1e6),
        Bathtub(infancy=1e6, infancy_shape=0.1, chance=10.0, wear=5.0, wear_shape=50.0),
        Preemptible(share=0.5, early=1e-3, late=1.0, deadline=1e5),
        Preemptible(share=0.45, early=100.0, late=0.01, deadline=100.0),
        Truncated(of=WEIBULL, above=5000.0),
        Truncated(of=WEIBULL, above=1.0, below=1.001),
        Aged(of=WEIBULL, age=5000.0),
        Equilibrium(of=Lomax(c=1.1)),
        Equilibrium(of=Preemptible()),
        Equilibrium(of=Hyperexponential(mean=3.0, squared_cv=30.0)),
        Equilibrium(of=Aged(of=Lognormal(median=1.0, sigma=2.0), age=3.0)),
    ],
    ids=str,
)
def test_extreme_parameters_keep_the_contract(lived: Law) -> None:
    assert [str(finding) for finding in findings(lived)] == []
