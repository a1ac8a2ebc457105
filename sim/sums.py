"""What is kept of runs: sums, from which everything is estimated, however many runs there are.

Means, shares, ratios and their paired differences need no more than the mean of each column and the products
of each two, so these are kept and added up (Chan, Golub & LeVeque 1983, The American Statistician 37,
242-247). Quantiles need values: so many of the first runs are kept as are enough for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.conditional import CORRECTION, control, some, value
from sim.outcomes import OUTCOMES

Floats = NDArray[np.float64]
Column = tuple[str, str]
"""Of which table, and its name."""

RUNS = "runs"
"""Name of a column of ones."""

SUMMED = tuple(name for name in OUTCOMES if name != "spacing_s")  # which a run without a duplicate has not
"""Outcomes that are summed up, as far as a table has them."""

COUNTED = ("duplicate_actions", "lost_actions", "action_crashes")
"""Outcomes of which the runs that have at least one are counted."""

SKEWED = ("makespan_s", "wasted_tokens", "lost_work_s", "spacing_s")
"""Outcomes whose values are kept, for quantiles."""

KEPT = 1 << 17
"""Of how many runs they are kept."""


@dataclass(frozen=True)
class Sums:
    """Sums over the runs of several tables, rows of which in the same place share their random numbers.

    Attributes
    ----------
    n : int
        Rows of each table.
    place : dict of Column to int
        Where a column stands in the arrays.
    mean, largest : ndarray, shape (columns,)
        Of each column.
    products : ndarray, shape (columns, columns)
        Sums of products of the distances from the means.
    values : dict of Column to ndarray, shape (at most KEPT,)
        The first values of the columns in `SKEWED`; NaN for the makespan of a run that did not finish. Few
        runs have a `spacing_s`, so of that only values that are there are kept, and counted.
    """

    n: int
    place: dict[Column, int]
    mean: Floats
    largest: Floats
    products: Floats
    values: dict[Column, Floats]

    @classmethod
    def of(cls, tables: Mapping[str, Mapping[str, Any]]) -> "Sums":
        """Sum up tables.

        Parameters
        ----------
        tables : dict of str to table
            By name. A table has columns as in `sim.outcomes.OUTCOMES`, as many of them as there are, and may
            have those of `sim.conditional`; all have as many rows.

        Raises
        ------
        ValueError
            If the tables differ in length.
        """
        columns = {
            (name, column): values
            for name, table in tables.items()
            for column, values in _columns(table).items()
        }
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            few, many = min(lengths), max(lengths)
            raise ValueError(f"tables of paired runs must have as many rows, not {many} and {few}.")
        stacked = np.stack(list(columns.values()), axis=1)
        mean = stacked[0] + (stacked - stacked[0]).mean(axis=0)  # so that a constant is its own mean
        centred = stacked - mean
        # Most counts are 0 in all runs under most strategies: what does not vary has no products but 0.
        varying = np.flatnonzero(centred.any(axis=0))
        varied = centred[:, varying]
        products = np.zeros((len(mean), len(mean)))
        products[np.ix_(varying, varying)] = varied.T @ varied
        kept = {
            (name, column): _to_keep(column, table)[:KEPT]
            for name, table in tables.items()
            for column in SKEWED
            if column in table
        }
        return cls(
            n=len(stacked),
            place={column: index for index, column in enumerate(columns)},
            mean=mean,
            largest=stacked.max(axis=0),
            products=products,
            values=kept,
        )

    def __add__(self, other: "Sums") -> "Sums":
        """Sum up the runs of both, those of `other` after these."""
        n = self.n + other.n
        apart = other.mean - self.mean
        between = np.outer(apart, apart) * (self.n * other.n / n)
        return Sums(
            n=n,
            place=self.place,
            mean=self.mean + apart * (other.n / n),
            largest=np.maximum(self.largest, other.largest),
            products=self.products + other.products + between,
            values={
                column: values if len(values) >= KEPT else np.append(values, other.values[column])[:KEPT]
                for column, values in self.values.items()
            },
        )

    def total(self, column: Column) -> float:
        """Sum of a column."""
        return float(self.mean[self.place[column]] * self.n)

    def mean_of(self, weights: dict[Column, float]) -> float:
        """Mean of a weighted sum of columns."""
        return float(sum(weight * self.mean[self.place[column]] for column, weight in weights.items()))

    def product(self, first: dict[Column, float], second: dict[Column, float]) -> float:
        """Sum of products of two weighted sums of columns, of the distances from their means."""
        rows, columns = ([self.place[column] for column in weights] for weights in (first, second))
        products = self.products[np.ix_(rows, columns)]
        return float(np.array(list(first.values())) @ products @ np.array(list(second.values())))

    def apart(self, first: Column, second: Column) -> tuple[int, int]:
        """Count the runs in which, of two columns of zeros and ones, only the first or the second is one."""
        both = self.both(first, second)
        return round(self.total(first)) - both, round(self.total(second)) - both

    def both(self, first: Column, second: Column) -> int:
        """Count the runs in which two columns of zeros and ones are one."""
        return round(self.product({first: 1}, {second: 1}) + self.total(first) * self.total(second) / self.n)


def _to_keep(column: str, table: Mapping[str, Any]) -> Floats:
    values = np.asarray(table[column], np.float64)
    if column == "spacing_s":
        return values[~np.isnan(values)]
    return np.where(table["finished"], values, np.nan) if column == "makespan_s" else values


def _columns(table: Mapping[str, Any]) -> dict[str, Floats]:
    """Give the columns of which sums are kept."""
    columns = {name: np.asarray(table[name], np.float64) for name in SUMMED if name in table}
    columns |= {some(name): np.sign(columns[name]) for name in COUNTED if name in table}
    columns[RUNS] = np.ones(len(next(iter(columns.values()))))
    if "makespan_s" in columns:
        columns["makespan_s"] = columns["makespan_s"] * columns["finished"]
    conditional = [name for name in table if name == CORRECTION or name.endswith((value(""), control("")))]
    return columns | {name: np.asarray(table[name], np.float64) for name in conditional}
