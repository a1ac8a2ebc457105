"""What every law must keep, whoever wrote it: one check for all, clause by clause, with findings in words.

A law is compared with itself (hazard, inverse, quantile and mean are four views of one thing), never with a
second implementation. So the check needs nothing but parameters, of which a law declares some (`examples`).
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from pydantic_core import ValidationError
from scipy import special

from sim.laws import Floats, Law, Scaled, parse_law

TOLERANCE = 1e-8
"""Relative error that two views of one law may have."""

ROUNDING = 1e-14
"""Relative error that a time may have because it is a float."""

LEAST_P = 1e-6
"""P value below which a sample is not what it should be."""

LIVES = 2000


@dataclass(frozen=True)
class Finding:
    """A clause that a law does not keep.

    Attributes
    ----------
    clause : str
        Its name.
    sentence : str
        What failed, with the number that shows it.
    parameters : str
        With which of the law's parameters; empty if they do not matter.
    """

    clause: str
    sentence: str
    parameters: str = ""

    def __str__(self) -> str:
        """As a line."""
        given = f", with {self.parameters}" if self.parameters else ""
        return f"{self.clause}{given}: {self.sentence}"


Sentences = Iterator[str]


def findings(law: Law, quick: bool = False) -> list[Finding]:
    """Hold a law to every clause.

    Parameters
    ----------
    law : Law
        The law, with its parameters.
    quick : bool
        Leave out what takes long: the samples, and most of the times at which the rest is checked.

    Returns
    -------
    list of Finding
        Empty for a law that keeps its contract.
    """
    found = []
    clauses = QUICK if quick else CLAUSES
    with np.errstate(all="ignore"):  # on the way to a hazard without end; what is wrong shows in the numbers
        for name, clause in clauses.items():
            try:
                found += [Finding(name, sentence) for sentence in clause(law)]
            except Exception as error:
                found.append(Finding(name, f"the law raises {type(error).__name__}: {error}"))
            if found and name in FIRST:
                break  # what follows would only say the same again, less clearly
    return found


def examine(cls: type[Law], quick: bool = False) -> list[Finding]:
    """Hold a law to every clause with each of its examples."""
    if not cls.examples:
        return [Finding("examples", "the law has none; say with what parameters it shall be checked.")]
    found = []
    for example in cls.examples:
        shown = ", ".join(f"{key} = {value!r}" for key, value in example.items())
        try:
            law = cls.model_validate(example)
        except ValidationError as error:
            wrong = error.errors()[0]
            key = ".".join(map(str, wrong["loc"]))
            found.append(Finding("examples", f"{key}: {wrong['msg']}", shown))
            continue
        found += [Finding(f.clause, f.sentence, shown) for f in findings(law, quick)]
    return found


def skipped(law: Law) -> list[str]:
    """Say which clauses mean nothing for a law, and why."""
    if not law.has_atoms:
        return []
    return [
        "residual life is not sampled: some times have a probability of their own, so the hazard used up by "
        "a life is not exponential."
    ]


def example_of(cls: type[Law]) -> Law:
    """Make a law with the first of its examples."""
    made = parse_law({"law": cls.name} | cls.examples[0])
    assert isinstance(made, Law)
    return made


def _worst(got: Floats, wanted: Floats, at: Floats) -> tuple[float, float, float, float]:
    """Give a great relative error: where, what was got and wanted, and how far apart.

    Of those that are about as great as the greatest, the one in the middle is the easiest to follow.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(got - wanted) / np.maximum(np.abs(wanted), 1e-300)
    apart = np.where(got == wanted, 0.0, np.where(np.isnan(apart), np.inf, apart))
    great = np.flatnonzero(apart >= apart.max() / 2)
    k = int(great[np.argmin(np.abs(great - apart.size / 2))])
    return float(at.flat[k]), float(got.flat[k]), float(wanted.flat[k]), float(apart.flat[k])


def _shapes(law: Law) -> Sentences:
    for name, at in (("cumulative_hazard", 2.0), ("inverse_hazard", 0.5), ("quantile", 0.5)):
        give = getattr(law, name)
        for shape in ((), (3,), (2, 3)):
            given = np.shape(give(np.full(shape, at)))
            if given != shape:
                yield f"{name} of an array of shape {shape} has shape {given}; it must have the same."
                return


def _digits(law: Law) -> Sentences:
    u = np.array([0.0, 1e-9, 0.03, 0.2, 0.51, 0.77, 0.9, 0.999])
    t = law.quantile(u)
    for name, at in (("quantile", u), ("inverse_hazard", 3 * u), ("cumulative_hazard", t)):
        give = getattr(law, name)
        together = np.asarray(give(at))
        for x, value in zip(at, together, strict=True):
            alone = float(give(float(x)))
            if alone != value and not (np.isnan(alone) and np.isnan(value)):
                yield f"{name}({x!s}) is {alone!r} alone and {float(value)!r} in an array."
                return


def _survival(law: Law) -> Sentences:
    at_0 = float(law.survival(0.0))
    if at_0 != 1:
        yield f"the survival at 0 is {at_0:g}; it must be 1, since no time is shorter."
        return
    median = float(law.quantile(0.5))
    t = np.concatenate([[0.0], median * np.geomspace(1e-6, 1e6, 2001), [1e300]])
    survival = law.survival(t)
    if np.any(np.isnan(survival)):
        yield f"the survival at {t[np.isnan(survival)][0]:.6g} s is not a number."
        return
    rise = np.diff(survival)
    if np.any(rise > 1e-12):
        k = int(np.argmax(rise))
        yield (
            f"the survival grows from {survival[k]:.6g} at {t[k]:.6g} s to {survival[k + 1]:.6g} at "
            f"{t[k + 1]:.6g} s; it must never grow."
        )
    if not 0 <= survival[-1] < 1e-9:
        yield f"the survival ends at {survival[-1]:.3g} instead of 0: a share of the times never comes."


def _times(law: Law) -> Sentences:
    u = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 200), 1 - np.geomspace(0.5, 1e-12, 200)])
    t = law.quantile(u)
    wrong = ~(np.isfinite(t) & (t >= 0))
    if np.any(wrong):
        k = int(np.argmax(wrong))
        yield f"quantile({u[k]:.6g}) is {t[k]:.6g}; every time must be a finite number, at least 0."
        return
    fall = np.diff(t) < -ROUNDING * t[1:]
    if np.any(fall):
        k = int(np.argmax(fall))
        yield (
            f"quantile({u[k]:.6g}) is {t[k]:.6g} s but quantile({u[k + 1]:.6g}) is {t[k + 1]:.6g} s; "
            "a greater uniform number must not give a shorter time."
        )


def _global_generators() -> tuple[object, ...]:
    """State of the generators that code which draws for itself would use."""
    numpy_state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 - it is only looked at
    return random.getstate(), numpy_state["pos"], bytes(numpy_state["key"])


def _draws(law: Law) -> Sentences:
    u = np.random.default_rng(24).choice([0.11, 0.37, 0.5, 0.83], 64)
    before = _global_generators()
    one, other = law.quantile(u), law.quantile(u)
    used = before != _global_generators()
    if used:
        yield "quantile draws random numbers of its own; a time must depend on its one uniform number alone."
    if not np.array_equal(one, other):
        k = int(np.argmax(one != other))
        yield f"quantile({u[k]:g}) is {one[k]:.17g} at the first call and {other[k]:.17g} at the second."
        return
    for value in np.unique(u):
        places = np.flatnonzero(u == value)
        times = one[places]
        if np.any(times != times[0]):
            k = int(np.argmax(times != times[0]))
            yield (
                f"quantile({value:g}) is {times[0]:.17g} at place {places[0]} of an array and "
                f"{times[k]:.17g} at place {places[k]}; each time must come of its own uniform "
                "number alone, one a draw."
            )
            return


def _inverse_at(law: Law, points: int) -> Sentences:
    u = np.concatenate([np.geomspace(1e-6, 0.5, points), 1 - np.geomspace(0.5, 1e-6, points)])
    h = -np.log1p(-u)
    t, inverse = np.asarray(law.quantile(u)), np.asarray(law.inverse_hazard(h))
    at, got, wanted, apart = _worst(t, inverse, u)
    if apart > TOLERANCE:
        yield (
            f"quantile({at:.6g}) is {got:.9g} s, but the inverse of the hazard {-np.log1p(-at):.6g} is "
            f"{wanted:.9g} s; they must be the same."
        )
    if law.has_atoms:
        scale = law.mean_s if np.isfinite(law.mean_s) else float(law.quantile(0.5))
        times = scale * np.array([0.0, 0.123, 0.457, 0.789, 0.999, 1.001, 1.23, 4.57, 7.89])[:, None]
        apart_at = (inverse <= times) != (np.asarray(law.cumulative_hazard(times)) >= h)
        if np.any(apart_at):
            row, k = map(int, np.argwhere(apart_at)[0])
            yield (
                f"the inverse of the hazard {h[k]:.6g} is {inverse[k]:.6g} s, but at {times[row, 0]:.6g} s "
                f"the hazard is {float(law.cumulative_hazard(times[row, 0])):.6g}."
            )
        return
    hazard = np.asarray(law.cumulative_hazard(inverse))
    if not np.all(np.isfinite(hazard)):
        k = int(np.argmin(np.isfinite(hazard)))
        yield (
            f"the hazard at {inverse[k]:.6g} s is {hazard[k]}, though P(T <= {inverse[k]:.6g} s) is only "
            f"{u[k]:.6g}. If that time has a probability of its own, name it in atoms_s."
        )
        return
    around = (
        law.cumulative_hazard(inverse * (1 - ROUNDING)),
        law.cumulative_hazard(inverse * (1 + ROUNDING)),
    )
    as_near_as_floats_are = (around[0] <= h) & (h <= around[1])
    at, got, wanted, apart = _worst(np.where(as_near_as_floats_are, h, hazard), h, inverse)
    if apart > TOLERANCE:
        yield (
            f"inverse_hazard({wanted:.9g}) is {at:.9g} s, but cumulative_hazard({at:.9g}) is {got:.9g}, "
            f"off by a factor of {got / wanted:.9g}; the inverse is not the inverse."
        )


def _inverse(law: Law) -> Sentences:
    return _inverse_at(law, 200)


def _mean_below(law: Law, hazard: float, points: int) -> float:
    """Mean as ∫ H⁻¹(h) e⁻ʰ dh up to a hazard, by the trapezoid rule in log h."""
    s = np.linspace(-40, np.log(hazard), points)
    h = np.exp(s)
    return float(np.trapezoid(law.inverse_hazard(h) * np.exp(s - h), s))


def _mean_by(law: Law, points: int, tolerance: float) -> Sentences:
    mean = law.mean_s
    if np.isnan(mean) or mean < 0:
        yield f"the mean is said to be {mean}; it must be a number of seconds, at least 0, or infinite."
    elif np.isinf(mean):
        parts = [_mean_below(law, h, points) for h in (10, 20, 40)]
        if not parts[2] > 10 * parts[1] > 100 * parts[0]:
            yield f"the mean is said to be infinite, but the times add up to a mean of {parts[2]:.6g} s."
    else:
        integral = _mean_below(law, 200, points)
        if not abs(integral - mean) <= tolerance * mean:  # times may leap, from one kind of life to another
            integral = _mean_below(law, 200, 10 * points)
        if not abs(integral - mean) <= tolerance * mean:
            yield f"the mean is said to be {mean:.6g} s, but the times have a mean of {integral:.6g} s."


def _mean(law: Law) -> Sentences:
    return _mean_by(law, 4001, 1e-3)


def _sample_mean(law: Law) -> Sentences:
    """By the quantile, which engines draw with; one time in each of many classes of equal probability."""
    if not np.isfinite(law.mean_s):
        return
    n = 20_000
    u = (np.arange(n) + np.random.default_rng(24).random(n)) / n
    times = law.quantile(u)
    whole = n // 50 * 49  # the rest depends on a few of the longest times
    wanted = _mean_below(law, -np.log1p(-whole / n), 4001)
    got = float(np.sum(times[:whole])) / n
    if not abs(got - wanted) <= 2e-3 * law.mean_s:
        yield (
            f"times drawn have, up to the longest fiftieth of them, a mean of {got:.6g} s; by the hazard it "
            f"is {wanted:.6g} s."
        )


def _ages(law: Law) -> list[tuple[float, float]]:
    """Ages at which residual lives are looked at, with the hazard used up by then."""
    median = float(law.quantile(0.5))
    scale = law.mean_s if np.isfinite(law.mean_s) else median
    known = [(age, float(law.cumulative_hazard(age))) for age in (0.0, median, 3 * scale, 30 * scale)]
    # So unlikely a life that a law in terms of probabilities cannot say it, is not asked for.
    return [(age, hazard) for age, hazard in known if hazard <= 700 or age <= median]


def _p_of_exponential(sample: Floats) -> float:
    """P value of a sample under the exponential law (Kolmogorov and Smirnov)."""
    x = -np.expm1(-np.sort(sample))
    n = len(x)
    apart = max(np.max(np.arange(1, n + 1) / n - x), np.max(x - np.arange(n) / n))
    return float(special.kolmogorov(apart * np.sqrt(n)))


def _residual(law: Law) -> Sentences:
    if law.has_atoms:
        return
    rng = np.random.default_rng(24)
    for age, hazard in _ages(law):
        left = law.inverse_hazard(hazard + rng.exponential(size=LIVES)) - age
        wrong = ~(np.isfinite(left) & (left >= -1e-9 * age))
        if np.any(wrong):
            yield (
                f"at the age of {age:.6g} s a residual life is {left[np.argmax(wrong)]:.6g}; it must be a "
                "finite number, at least 0."
            )
            continue
        lives = {"inverse_hazard": age + left}
        if hazard < 12:
            # What a life turns out to be, given that it is longer than the age.
            lives["quantile"] = law.quantile(1 - rng.random(LIVES) * np.exp(-hazard))
        for way, ends in lives.items():
            p = _p_of_exponential(np.maximum(law.cumulative_hazard(ends) - hazard, 0.0))
            if not p > LEAST_P:
                yield (
                    f"at the age of {age:.6g} s, {LIVES} lives by {way} do not use up an exponential hazard "
                    f"(p = {p:.1g})."
                )


def _two_stages(law: Law) -> Sentences:
    """To live to b and from there on is to live: the residual life at a + b is that at b of the one at a."""
    if law.has_atoms:
        return
    used = np.array([0.1, 0.5, 1.0, 3.0])
    for age, hazard in _ages(law):
        stop = float(law.inverse_hazard(hazard + 0.5))
        at_once = law.inverse_hazard(hazard + 0.5 + used)
        by_stages = law.inverse_hazard(float(law.cumulative_hazard(stop)) + used)
        _, got, wanted, apart = _worst(np.asarray(by_stages), np.asarray(at_once), used)
        if apart > TOLERANCE:
            yield (
                f"a life of more than {age:.6g} s ends at {wanted:.9g} s at once, but at {got:.9g} s if it "
                f"is drawn in two stages, with a stop at {stop:.6g} s."
            )
            return


def _scale(law: Law) -> Sentences:
    by = 4.0  # a power of 2, so that nothing is rounded
    other = Scaled(of=law, by=by)
    u = np.linspace(0.001, 0.999, 99)
    t = law.quantile(u)
    same = (
        np.array_equal(other.cumulative_hazard(by * t), law.cumulative_hazard(t))
        and np.array_equal(other.quantile(u), by * t)
        and np.array_equal(other.inverse_hazard(u), by * law.inverse_hazard(u))
        and other.mean_s == by * law.mean_s
    )
    if not same:
        yield f"the law with all its times multiplied by {by:g} is not the same law in another unit."


Clause = Callable[[Law], Sentences]

CLAUSES: dict[str, Clause] = {
    "shape": _shapes,
    "draws": _draws,
    "survival": _survival,
    "times": _times,
    "digits": _digits,
    "inverse": _inverse,
    "mean": _mean,
    "sample": _sample_mean,
    "residual": _residual,
    "stages": _two_stages,
    "scale": _scale,
}
"""All clauses, by name, in the order in which they are checked."""

FIRST = ("shape", "draws", "survival", "times")
"""Clauses without which the others mean nothing."""

QUICK: dict[str, Clause] = {
    **{name: CLAUSES[name] for name in ("shape", "draws", "survival", "times", "digits")},
    "inverse": lambda law: _inverse_at(law, 20),
    "mean": lambda law: _mean_by(law, 401, 5e-2 if law.has_atoms else 1e-2),
}
