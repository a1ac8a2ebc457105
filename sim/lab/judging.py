"""What is real against what was predicted."""

from dataclasses import dataclass
from math import exp, inf, log, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from sim.intervals import share_interval

if TYPE_CHECKING:
    from sim.lab.trial import Prediction


@dataclass(frozen=True)
class Judged:
    """Duplicates per run, real and as a ratio to the prediction.

    Attributes
    ----------
    real, low, high : float
        Mean, and its interval, simultaneous with those of the other conditions that are compared.
    ratio, ratio_low, ratio_high : float
        Real over predicted likewise; NaN where nothing was predicted or seen.
    verdict, rival_verdict : str
        In words.
    """

    real: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    verdict: str
    rival_verdict: str


def judge(
    claim: str, columns: dict[str, Any], prediction: "Prediction", margin: float, conditions: int
) -> Judged:
    """Judge a condition.

    Parameters
    ----------
    claim : str
        As of `sim.lab.plan.Given.claim`.
    columns : dict of str to ndarray
        Outcomes, a row a run.
    prediction : Prediction
        What was simulated before.
    margin : float
        How far from 1 the ratio may be for both to count as equal.
    conditions : int
        How many are compared: the error of 5 % is divided by them (Bonferroni).

    Notes
    -----
    Equal is what has its whole interval within the margin, as in a test of equivalence (two one-sided tests);
    an interval that only touches it shows nothing.
    """
    duplicates = np.asarray(columns["duplicate_actions"], np.float64)
    n, kills = duplicates.size, int(np.sum(columns["crashes"]))
    real = float(duplicates.mean())
    error = float(duplicates.std(ddof=1) / sqrt(n)) if n > 1 else inf
    z = float(special.ndtri(1 - 0.05 / conditions / 2))
    lost = int(np.sum(columns["lost_actions"]))
    if claim in ("no duplicate", "no harm"):
        most = share_interval(0, kills).high if kills else 1.0
        harm = int(duplicates.sum()) + (lost if claim == "no harm" else 0)
        said = "none" if not harm else f"{harm:,} seen"
        verdict = f"{said}, at most {100 * most:.2g} % of kills" if not harm else said
        return Judged(real, real, nan, nan, nan, nan, verdict, "")
    low, high = _interval(real, error, z)
    ratio, ratio_low, ratio_high = _ratio(real, error, prediction.mean, prediction.error, z)
    if claim == "nothing":
        return Judged(real, low, high, ratio, ratio_low, ratio_high, "not judged", "")
    rival = _ratio(real, error, prediction.rival, prediction.rival_error, z)
    within = f"equal within {100 * margin:g} %"
    if 1 - margin <= ratio_low and ratio_high <= 1 + margin:
        verdict = within
    elif ratio_low > 1 + margin or ratio_high < 1 - margin:
        verdict = f"not {within}"
    else:
        verdict = "undecided"
    rejected = "rejected" if not rival[1] <= 1 <= rival[2] else "not rejected"
    return Judged(real, low, high, ratio, ratio_low, ratio_high, verdict, rejected)


def _interval(mean: float, error: float, z: float) -> tuple[float, float]:
    """Interval of a mean above 0, on the scale of its logarithm."""
    if mean <= 0 or error == inf:
        return 0.0, nan
    return mean * exp(-z * error / mean), mean * exp(z * error / mean)


def _ratio(real: float, error: float, mean: float, mean_error: float, z: float) -> tuple[float, float, float]:
    """Ratio of two independent means and its interval, by the delta method on the logarithm."""
    if real <= 0 or mean <= 0:
        return (real / mean if mean > 0 else nan), nan, nan
    half = z * sqrt((error / real) ** 2 + (mean_error / mean) ** 2)
    ratio = log(real) - log(mean)
    return exp(ratio), exp(ratio - half), exp(ratio + half)
