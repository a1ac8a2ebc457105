"""Continuous laws of `scipy.stats` by their scipy name."""

import sys
from functools import cached_property
from math import inf, isnan
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sim.laws import numeric
from sim.laws.base import Floats, Law
from sim.validation import Mistake, allowed_instead, problem, problems

FAR = 700.0
"""Cumulative hazard from which on probabilities, of which the least is e^-745, are not used."""


def family(name: str) -> Any:
    """Continuous law of `scipy.stats` by name; None if there is none."""
    from scipy import stats  # slow to import, and rarely needed

    family = getattr(stats, name, None)
    return family if isinstance(family, stats.rv_continuous) else None


class ScipyLaw(Law):
    """A continuous law of `scipy.stats` by its scipy name, with scipy's parameters."""

    law: str
    parameters: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, name: str, given: dict[str, Any]) -> Self:
        """Make the law of a name from what a file gives.

        Raises
        ------
        ValidationError
            If a parameter is unknown, missing or no number, or the law has values below 0.
        """
        shapes = family(name).shapes
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
        result = cls(law=name, parameters=tuple(sorted((k, float(v)) for k, v in given.items())))
        low, _ = result.frozen.support()
        if not low >= 0:
            raise problem(
                f"scipy's {name} with these parameters is no law of times: "
                f"its values must be at least 0 (they start at {low:g}).",
                ("law",),
                name,
            )
        return result

    @cached_property
    def frozen(self) -> Any:
        """The frozen scipy distribution."""
        return family(self.law)(**dict(self.parameters))

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(-self.frozen.logsf(t))

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        h = np.asarray(h, dtype=np.float64)
        t = np.asarray(self.frozen.isf(np.exp(-h)))
        far = (h > FAR) & (h < np.inf)
        if np.any(far):  # right as far as scipy's logsf is: for some laws that is no further
            found = numeric.inverse_of(self.cumulative_hazard, h[far] if h.ndim else h)
            reached = np.abs(self.cumulative_hazard(found) / h[far] - 1) < 1e-9
            t = np.array(t)
            t[far] = np.where(reached, found, t[far])
        return t

    def quantile(self, u: ArrayLike) -> Floats:  # noqa: D102
        return np.asarray(self.frozen.ppf(u))

    @property
    def mean_s(self) -> float:  # noqa: D102
        mean = float(self.frozen.mean())
        return inf if isnan(mean) else mean
