"""Laws. Functionality: closed forms give what `scipy.stats` gives for the same parameters."""

from typing import Any

import numpy as np
import pytest
from law_examples import law_of
from scipy import special, stats

U = np.concatenate([np.geomspace(1e-9, 0.5, 50), 1 - np.geomspace(0.5, 1e-9, 50)])

PAIRS = [
    ({"law": "uniform", "low": 1.0, "high": 3.0}, stats.uniform(loc=1, scale=2)),
    ({"law": "exponential", "mean": 3.0}, stats.expon(scale=3)),
    ({"law": "lognormal", "median": 0.04, "sigma": 0.6}, stats.lognorm(s=0.6, scale=0.04)),
    ({"law": "lognormal", "median": 5.7, "sigma": 2.85}, stats.lognorm(s=2.85, scale=5.7)),
    (
        {"law": "weibull", "mean": 5.0, "shape": 0.48},
        stats.weibull_min(c=0.48, scale=5 / special.gamma(1 + 1 / 0.48)),
    ),
    (
        {"law": "weibull", "mean": 5.0, "shape": 3.0},
        stats.weibull_min(c=3, scale=5 / special.gamma(4 / 3)),
    ),
    ({"law": "gamma", "mean": 3.0, "shape": 4.0}, stats.gamma(a=4, scale=0.75)),
    ({"law": "gamma", "mean": 3.0, "shape": 0.3}, stats.gamma(a=0.3, scale=10)),
    ({"law": "scaled", "of": {"law": "exponential", "mean": 3.0}, "by": 7.0}, stats.expon(scale=21)),
    ({"law": "lomax", "c": 3.0, "scale": 5.0}, stats.lomax(3, scale=5)),
    # A law by its scipy name is that law, with loc and scale.
    ({"law": "fisk", "c": 2.5, "loc": 1.0, "scale": 60.0}, stats.fisk(2.5, 1, 60)),
    ({"law": "genpareto", "c": 0.1, "scale": 5.0}, stats.genpareto(0.1, 0, 5)),
    ({"law": "truncexpon", "b": 3.0}, stats.truncexpon(3)),
    ({"law": "beta", "a": 2.0, "b": 3.0, "scale": 10.0}, stats.beta(2, 3, 0, 10)),
]


@pytest.mark.parametrize(("table", "theirs"), PAIRS, ids=lambda x: x["law"] if isinstance(x, dict) else "")
def test_closed_form(table: dict[str, Any], theirs: Any) -> None:
    ours = law_of(table)
    t = theirs.ppf(U)
    np.testing.assert_allclose(ours.quantile(U), t, rtol=1e-9)
    np.testing.assert_allclose(ours.survival(t), theirs.sf(t), rtol=1e-9)
    np.testing.assert_allclose(ours.cumulative_hazard(t), -theirs.logsf(t), rtol=1e-6)
    h = np.array([1e-6, 0.1, 1, 10, 100])
    np.testing.assert_allclose(ours.inverse_hazard(h), theirs.isf(np.exp(-h)), rtol=1e-8)
    assert ours.mean_s == pytest.approx(theirs.mean(), rel=1e-12)
