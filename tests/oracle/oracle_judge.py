"""How a sample is judged against exact values: fixed seeds, and bounds that any seed would pass.

A mean may be off by 5 standard errors, a probability must have an exact binomial p-value above 1e-6, so
that a change of the random numbers does not fail a test, and a wrong model does.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

import sim
from sim.simulation import Engine

N = 20_000
LEAST_P = 1e-6
COUNTED = {"p_duplicate": "duplicate_actions", "p_lost": "lost_actions"}
SHARES = {"gap_share": "gap_crashes", "gap_share_after_done": "gap_crashes_after_done"}


def sample(scenario: sim.Scenario, n: int = N, seed: int = 24, engine: Engine = "auto") -> pd.DataFrame:
    frame = sim.simulate(scenario, n, seed, engine)
    assert frame["finished"].all()
    return frame


def judge(frame: pd.DataFrame, expected: Mapping[str, float]) -> None:
    """Fail if any metric of the sample cannot have its expected value; say which, all at once."""
    found = {metric: _verdict(frame, metric, value) for metric, value in expected.items()}
    wrong = [f"{metric}: {verdict}" for metric, verdict in found.items() if verdict]
    assert not wrong, "\n".join(wrong)


def _verdict(frame: pd.DataFrame, metric: str, expected: float) -> str:
    n = len(frame)
    if metric in COUNTED:
        return _binomial(int((frame[COUNTED[metric]] > 0).sum()), n, expected)
    if metric in SHARES:
        inside, struck = frame[SHARES[metric]].to_numpy(), frame["action_crashes"].to_numpy()
        if struck.max() <= 1:
            return _binomial(int(inside.sum()), int(struck.sum()), expected)
        # A ratio of sums: the delta method.
        share = inside.sum() / struck.sum()
        return _normal(share, float(np.std(inside - share * struck)) / struck.mean() / n**0.5, expected)
    if metric == "rule_ratio":
        happened, rule = frame["duplicate_actions"].to_numpy() > 0, frame["rule_duplicates"].to_numpy()
        ratio = happened.sum() / rule.sum()
        return _normal(ratio, float(np.std(happened - ratio * rule)) / rule.mean() / n**0.5, expected)
    return _normal(float(frame[metric].mean()), float(frame[metric].std()) / n**0.5, expected)


def _binomial(k: int, n: int, p: float) -> str:
    p = min(max(p, 0.0), 1.0)
    value = stats.binomtest(k, n, p).pvalue
    return "" if value > LEAST_P else f"{k} of {n}, not {p:.6g} (p-value {value:.1g})"


def _normal(mean: float, error: float, expected: float) -> str:
    # Times are rounded to ticks, hence the last term.
    bound = 5 * error + 1e-8 * (1 + abs(expected))
    return "" if abs(mean - expected) <= bound else f"{mean:.6g} ± {error:.2g}, not {expected:.6g}"


def same_law(first: pd.Series, second: pd.Series) -> float:
    """P-value of the chi-square test that two samples of counts have one law; rare counts are pooled."""
    values = np.arange(1 + max(first.max(), second.max()))
    table = np.array([[(one == value).sum() for value in values] for one in (first, second)])
    return float(stats.chi2_contingency(_pooled(table, table.sum(axis=0) / 2)).pvalue)


def has_law(counts: pd.Series, pmf: np.ndarray) -> float:
    """P-value of the chi-square test that counts have probabilities `pmf` from 0 on, which sum to 1."""
    seen = np.bincount(np.minimum(counts, len(pmf) - 1), minlength=len(pmf))
    table = _pooled(np.array([seen, pmf * len(counts)]), pmf * len(counts))
    return float(stats.chisquare(table[0], table[1]).pvalue)


def _pooled(table: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Add neighbouring columns together until each expects at least 10."""
    columns, held, mass = [], np.zeros(len(table)), 0.0
    for column, more in zip(table.T, expected, strict=True):
        held, mass = held + column, mass + more
        if mass >= 10:
            columns.append(held)
            held, mass = np.zeros(len(table)), 0.0
    columns[-1] = columns[-1] + held
    return np.array(columns).T
