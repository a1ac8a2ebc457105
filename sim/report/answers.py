"""The words with which a template speaks of estimates: numbers, ranges, crossings, verdicts.

An experiment's ``answer`` is a Jinja template over these, so that no number in a sentence is typed by hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, isfinite, isnan, log, nan
from typing import Any, Literal

import numpy as np
import pandas as pd
from jinja2 import TemplateError
from pydantic_core import ValidationError

from sim.estimate import METRICS
from sim.laws import parse_law
from sim.optimum import daly_s, optimal_s, young_s
from sim.report.costs import Line, alike, cheapest, lines_between, meet
from sim.study.config import WEIGHED, Factor, Figure, Plan
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS
from sim.study.templates import Answering
from sim.validation import allowed_instead

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Figures as they stand in an exponent."""


UNIT_OF_RATES = " per million"


def number(value: Any, digits: int = 3) -> str:
    """Write a number with so many significant digits, at most 15, and thousands separated."""
    digits = min(max(int(digits), 1), 15)
    value = float(value.value if isinstance(value, Number) else value)
    if not isfinite(value):
        return "unknown" if isnan(value) else "∞"
    rounded = float(f"{value:.{digits}g}")
    if rounded and abs(rounded) < 1e-4:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(RAISED)}"
    places = max(digits - 1 - int(np.floor(np.log10(abs(rounded)))), 0) if rounded else 0
    return f"{rounded:,.{places}f}"


def percent(value: Any, digits: int = 3) -> str:
    """Write a share as a percentage."""
    if isinstance(value, Number) and value.value == 0 and not isnan(value.high):
        return f"0 % (at most {number(100 * value.high, 2)} %)"
    value = float(value.value if isinstance(value, Number) else value)
    return f"{number(100 * value, digits)} %"


def per_million(value: Any, digits: int = 3) -> str:
    """Write a rate per million actions."""
    bound = ""
    if isinstance(value, Number) and value.value == 0 and value.high > 0:
        bound = f" (at most {number(value.high, 2)})"
    return f"{number(value, digits)}{UNIT_OF_RATES}{bound}"


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    unit, per = unit_of(seconds)
    return f"{seconds / per:.3g} {unit}" if seconds < float("inf") else "infinite"


def unit_of(seconds: float) -> tuple[str, float]:
    """Give the unit that suits a time, and its seconds."""
    for unit, per in (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if per == 1 or (3 * per <= seconds < float("inf")):
            return unit, per
    raise AssertionError("unreachable")


def is_share(metric: str) -> bool:
    """Whether a metric is written as a percentage."""
    return METRICS[metric].kind in ("share", "ratio")


def is_rate(metric: str) -> bool:
    """Whether a metric counts in a million actions."""
    return METRICS[metric].kind == "rate"


def _written(metric: str, value: Any) -> str:
    if is_rate(metric):
        return per_million(value)
    return percent(value) if is_share(metric) else number(value)


def _range(metric: str, values: list[float]) -> str:
    """Write the least and the greatest of values; the unit of rates once."""
    low, high = min(values), max(values)
    return f"{number(low) if is_rate(metric) else _written(metric, low)} to {_written(metric, high)}"


COSTS = {"duplicate": "duplicate_actions", "loss": "lost_actions", "stuck": "p_stuck"}
"""What may cost something, and the metric that says how often it comes in a run."""

FINE = 10_001
"""Steps along the axis of a map in which a border is looked for."""

Names = Sequence[str] | None
"""Strategies; None for all."""


@dataclass(frozen=True)
class Number:
    """An estimate with its interval; as text, its value."""

    metric: str
    value: float
    low: float
    high: float
    exact: float

    def __str__(self) -> str:
        """Write the value as its metric is written."""
        return _written(self.metric, self)


def with_interval(found: Number) -> str:
    """Write an estimate with its interval: "4.1 % (4.0 % to 4.2 %)"; without one where there is none."""
    if isnan(found.low) or isnan(found.high) or found.value == 0:
        return str(found)
    if is_rate(found.metric):
        return f"{number(found)} ({number(found.low)} to {number(found.high)}){UNIT_OF_RATES}"
    return f"{found} ({_range(found.metric, [found.low, found.high])})"


class Answers:
    """Looks up an experiment's estimates for its template.

    Parameters
    ----------
    plan : Plan
        The experiment.
    estimates, published : DataFrame
        Its results.
    """

    def __init__(self, plan: Plan, estimates: pd.DataFrame, published: pd.DataFrame) -> None:
        self.plan = plan
        self.estimates = estimates
        self.published = published

    def render(self, text: str) -> list[str]:
        """Fill in a template, a text a paragraph.

        Raises
        ------
        ValueError, jinja2.TemplateError
            If the template asks for what is not there.
        """
        template = Answering().from_string(text)
        text = template.render(
            number=number,
            percent=percent,
            count=len,
            scenario=self.plan.experiment.scenario,
            mean=lambda law: parse_law(law).mean_s,
            young=young_s,
            daly=daly_s,
            optimal=optimal_s,
            published=self.published.to_dict("records"),
            est=self.est,
            with_interval=with_interval,
            span=self.span,
            ratio=self.ratio,
            swept=self.swept,
            ends=self.ends,
            crossing=self.crossing,
            level_with=self.level_with,
            verdicts=self.verdicts,
            per_million=per_million,
            best=self.best,
            least_at=self.least_at,
            order=self.order,
            times=self.times,
            best_at_costs=self.best_at_costs,
            cost_switch=self.cost_switch,
            best_by_cost_ratio=self.best_by_cost_ratio,
            best_on_map=self.best_on_map,
            level_on_map=self.level_on_map,
        )
        return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]

    def rows(self, metric: str, strategy: str | None, where: dict[str, Factor]) -> pd.DataFrame:
        """Rows of one metric and strategy in the cells that match."""
        name = strategy or next(iter(self.plan.experiment.strategies))
        table = self.estimates
        chosen = (table["metric"] == metric) & (table["strategy"] == name)
        for key, value in where.items():
            if key not in self.plan.base:
                raise ValueError(f"{key!r} is not swept; {allowed_instead(key, self.plan.base)}")
            chosen &= same(table[key], value)
        if not chosen.any():
            raise ValueError(f"there is no {metric!r} of {name!r} where {where}.")
        return table[chosen]

    def est(self, metric: str, strategy: str | None = None, where: dict[str, Factor] | None = None) -> Number:
        """One estimate: in the base cell, but for what `where` says."""
        row = self.rows(metric, strategy, self.plan.base | (where or {})).iloc[0]
        return Number(metric, row["estimate"], row["low"], row["high"], row["exact"])

    def along(
        self,
        metric: str,
        strategy: str | None,
        axis: str,
        exact: bool = False,
        where: dict[str, Factor] | None = None,
    ) -> list[tuple[Factor, Number]]:
        """Estimates along a swept axis, in the cells of its sweeps; or exact values where they are known.

        Other axes of a sweep stand at their first value, or at what `where` says.
        """
        found = []
        for cell in swept_along(self.plan, axis, where):
            row = self.rows(metric, strategy, cell).iloc[0]
            value = Number(metric, row["estimate"], row["low"], row["high"], row["exact"])
            if exact and not isnan(value.exact):
                value = Number(metric, value.exact, value.exact, value.exact, value.exact)
            found.append((cell[axis], value))
        return found

    def ratio(
        self, metric: str, strategy: str | None = None, *, along: str, where: dict[str, Factor] | None = None
    ) -> float:
        """How many times the least estimate along an axis the greatest is; infinite if the least is 0."""
        values = [value.value for _, value in self.along(metric, strategy, along, where=where)]
        return max(values) / min(values) if min(values) > 0 else inf

    def span(
        self,
        metric: str,
        strategy: str | None = None,
        *,
        along: str,
        exact: bool = False,
        where: dict[str, Factor] | None = None,
    ) -> str:
        """Least and greatest estimate along an axis; of exact values where known, if asked for."""
        values = [value.value for _, value in self.along(metric, strategy, along, exact, where)]
        return _range(metric, values)

    def swept(self, axis: str) -> str:
        """Least and greatest value of a swept axis."""
        values = [float(cell[axis] or 0) for cell in swept_along(self.plan, axis)]
        return f"{min(values):,.10g} to {max(values):,.10g}"

    def ends(self, metric: str, strategy: str | None = None, *, along: str, reverse: bool = False) -> str:
        """Estimates at both ends of an axis; the exact value where there is one and nothing was seen."""
        line = self.along(metric, strategy, along)
        ends = (line[-1], line[0]) if reverse else (line[0], line[-1])
        written = []
        for _, value in ends:
            unseen = value.value == 0 and not isnan(value.exact)
            written.append(f"{_written(metric, value.exact)} (exact)" if unseen else str(value))
        return written[0] if written[0] == written[1] else f"{written[0]} to {written[1]}"

    def crossing(
        self,
        metric: str,
        level: float,
        strategy: str | None = None,
        *,
        along: str,
        unit: str = "",
        exact: bool = False,
    ) -> str:
        """Where along an axis a metric passes a level, and where its bounds do; or "never"."""
        line = [(float(x), value) for x, value in self.along(metric, strategy, along, exact) if x is not None]
        at = crossing([(x, value.value) for x, value in line], level)
        if at is None:
            values = [value.value for _, value in line]
            reached = _range(metric, values)
            return f"never ({reached} from {self.swept(along)} {unit}".strip() + ")"
        bounds = [crossing([(x, getattr(value, end)) for x, value in line], level) for end in ("low", "high")]
        known = sorted(bound for bound in bounds if bound is not None)
        interval = f" ({number(known[0])} to {number(known[-1])})" if len(set(known)) == 2 else ""
        return f"{number(at)}{interval}{' ' + unit if unit else ''}"

    def level_with(self, metric: str, first: str, second: str, *, along: str, unit: str = "") -> str:
        """Where along an axis two strategies are level, by exact values where known; or "never"."""
        lines = [self.along(metric, name, along, exact=True) for name in (first, second)]
        differences = [(float(x or 0), a.value - b.value) for (x, a), (_, b) in zip(*lines, strict=True)]
        at = crossing(differences, 0.0)
        return "never" if at is None else f"{number(at)} {unit}".strip()

    def least_at(
        self,
        metric: str,
        strategy: str | None = None,
        *,
        along: str,
        where: dict[str, Factor] | None = None,
        most: bool = False,
    ) -> Factor:
        """Give the value of a swept axis with the least estimate, or the most; the first of level ones."""
        line = [pair for pair in self.along(metric, strategy, along, where=where) if not isnan(pair[1].value)]
        if not line:
            return None
        return (max if most else min)(line, key=lambda pair: pair[1].value)[0]

    def best(
        self, metric: str, where: dict[str, Factor] | None = None, *, among: Names = None, most: bool = False
    ) -> str:
        """Name the strategy with the least estimate, or with the most; level ones together, "a and b".

        A strategy without the number is passed over; if none has it, the word is "none".
        """
        ranked = self._ranked(metric, where, among, most)
        if not ranked:
            return "none"
        return _listed([name for name, value in ranked if alike(value.value, ranked[0][1].value)])

    def order(
        self, metric: str, where: dict[str, Factor] | None = None, *, among: Names = None, most: bool = False
    ) -> str:
        """Name the strategies with their estimates, the least first or the most: "a: 1 %; b: 3 %"."""
        text = "; ".join(f"{name}: {value}" for name, value in self._ranked(metric, where, among, most))
        return f"{text.replace(UNIT_OF_RATES, '')}{UNIT_OF_RATES}" if is_rate(metric) and text else text

    def times(self, metric: str, first: str, second: str, where: dict[str, Factor] | None = None) -> float:
        """How many times the estimate of the second strategy that of the first is; ∞ if that is 0."""
        one, other = (self.est(metric, name, where).value for name in (first, second))
        return one / other if other else (inf if one > 0 else nan)

    def best_at_costs(
        self,
        *,
        duplicate: float = 0.0,
        loss: float = 0.0,
        stuck: float = 0.0,
        where: dict[str, Factor] | None = None,
        among: Names = None,
    ) -> str:
        """Name the strategy whose mean run costs least if these cost so much each; level ones together."""
        prices = {"duplicate": duplicate, "loss": loss, "stuck": stuck}
        cost = {
            name: sum(prices[what] * often[what] for what in prices)
            for name, often in self._costly(where, among).items()
        }
        least = min(cost.values())
        return _listed([name for name, value in cost.items() if alike(value, least)])

    def cost_switch(
        self, first: str, second: str, *, stuck: float = 0.0, where: dict[str, Factor] | None = None
    ) -> str:
        """How many times what a duplicate costs a loss must cost for two strategies to be level; or "never".

        A run that is given up costs `stuck` times as much as a duplicate.
        """
        one, other = self._lines(stuck, where, (first, second)).values()
        at = meet(one, other)
        return "never" if at is None else number(at)

    def best_by_cost_ratio(
        self, *, stuck: float = 0.0, where: dict[str, Factor] | None = None, among: Names = None
    ) -> str:
        """Name the strategy that costs least for each ratio of the cost of a loss to that of a duplicate.

        Such as "a below 0.5, b from 0.5 to 20, c above 20"; a run that is given up costs `stuck` times as
        much as a duplicate.
        """
        return _in_turn(self._lines(stuck, where, among), "at every ratio")

    def best_on_map(self, figure: str, where: dict[str, Factor] | None = None) -> str:
        """Name the strategy that costs least by a map, for each cost of a duplicate in seconds of the agent.

        Such as "a below 20, b from 20 to 500, c above 500".
        """
        return _in_turn(self.on_map(figure, self.plan.base | (where or {})), "at every cost")

    def level_on_map(
        self, figure: str, first: str, second: str, *, duplicate: float = 0.0, unit: str = ""
    ) -> str:
        """Where along a map's axis two strategies cost the same if a duplicate costs so much; or "never"."""
        shown = self._map(figure)
        axis = shown.x or ""
        cells = sorted(swept_along(self.plan, axis, shown.where), key=lambda cell: float(cell[axis] or 0))
        swept = np.array([float(cell[axis] or 0) for cell in cells])
        x = np.geomspace(swept[0], swept[-1], FINE)
        lines = [self.on_map(figure, cell) for cell in cells]
        one, other = (lines_between(x, swept, [line[name] for line in lines]) for name in (first, second))
        apart = one[0] - other[0] + duplicate * (one[1] - other[1])
        at = crossing(list(zip(x.tolist(), apart.tolist(), strict=True)), 0.0)
        return "never" if at is None else f"{number(at)} {unit}".strip()

    def on_map(self, figure: str, cell: dict[str, Factor]) -> dict[str, Line]:
        """Cost of a mean run in a cell, in seconds of the agent, as a line over what a duplicate costs."""
        shown = self._map(figure)
        found = {}
        for name in shown.strategies or self.plan.experiment.strategies:
            time, often = (self.rows(metric, name, cell).iloc[0]["estimate"] for metric in WEIGHED)
            found[name] = (time + shown.prices.get(name, 0.0), often)
        return found

    def _map(self, figure: str) -> Figure:
        """Find a map by its name."""
        maps = {shown.name: shown for shown in self.plan.experiment.figures if shown.kind == "map"}
        if figure not in maps:
            raise ValueError(f"{figure!r} is no map; {allowed_instead(figure, maps)}")
        return maps[figure]

    def _ranked(
        self, metric: str, where: dict[str, Factor] | None, among: Names, most: bool
    ) -> list[tuple[str, Number]]:
        names = among or list(self.plan.experiment.strategies)
        found = [(name, self.est(metric, name, where)) for name in names]
        known = [(name, value) for name, value in found if not isnan(value.value)]
        return sorted(known, key=lambda pair: pair[1].value, reverse=most)

    def _costly(self, where: dict[str, Factor] | None, among: Names) -> dict[str, dict[str, float]]:
        """How often what costs something comes in a run, by strategy."""
        names = among or list(self.plan.experiment.strategies)
        return {
            name: {what: self.est(metric, name, where).value for what, metric in COSTS.items()}
            for name in names
        }

    def _lines(self, stuck: float, where: dict[str, Factor] | None, among: Names) -> dict[str, Line]:
        """Cost of a mean run, in duplicates, as a line over what a loss costs in duplicates."""
        costly = self._costly(where, among)
        return {
            name: (often["duplicate"] + stuck * often["stuck"], often["loss"])
            for name, often in costly.items()
        }

    def verdicts(self, metric: str, tolerance: float) -> str:
        """In how many cells a ratio is within a tolerance of 1, is not, or cannot be told."""
        rows = self.estimates[(self.estimates["metric"] == metric) & self.estimates["estimate"].notna()]
        counts = {"within": 0, "off": 0, "open": 0}
        for _, row in rows.iterrows():
            counts[verdict(row, tolerance)] += 1
        return (
            f"right within {100 * tolerance:g} % in {counts['within']} of {len(rows)} cells and strategies, "
            f"off by more in {counts['off']}, and undecided at this precision in {counts['open']}"
        )


def answer(
    plan: Plan,
    estimates: pd.DataFrame,
    published: pd.DataFrame,
    key: Literal["answer", "finding"] = "answer",
) -> list[str]:
    """Fill in an experiment's answer from its results, or its finding, a text a paragraph.

    Raises
    ------
    InputError
        If it asks for what is not there.
    """
    try:
        return Answers(plan, estimates, published).render(getattr(plan.experiment, key))
    except ValidationError as error:
        why = "; ".join(found["msg"] for found in error.errors())
    except (
        *(TemplateError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError),
        # What is nested too deeply for Python, and a number too large for it.
        *(RecursionError, MemoryError, SyntaxError, NameError),
    ) as error:
        why = str(error) or type(error).__name__
    sentence = f"cannot be filled in: {why.rstrip('.')}."
    raise InputError([Problem(f"{EXPERIMENTS}/{plan.name}.toml", key, sentence)])


def check_answer(plan: Plan) -> None:
    """Fill in an experiment's answer and finding before there are results, as if all were 1.

    Raises
    ------
    InputError
        If it asks for what will not be there.
    """
    some = {"n": 1, "estimate": 1.0, "low": 1.0, "high": 1.0, "method": "t", "exact": 1.0}
    rows = [
        {**cell.factors, "strategy": name, "metric": metric, **some}
        for cell in plan.cells
        for name in plan.experiment.strategies
        for metric in METRICS
    ]
    published = plan.experiment.published
    compared = [
        {"strategy": name, "metric": metric, "published": 1.0, "published_n": 1, **some, "z": 1.0}
        for name, values in (published.values if published else {}).items()
        for metric in values
    ]
    with np.errstate(all="ignore"):
        for key in ("answer", "finding"):
            answer(plan, pd.DataFrame(rows), pd.DataFrame(compared), key)


def verdict(row: pd.Series, tolerance: float) -> str:
    """Say if a ratio is ``within`` a tolerance of 1, ``off`` or ``open``; by its exact value if known."""
    low, high = (row["low"], row["high"]) if isnan(row["exact"]) else (row["exact"], row["exact"])
    if 1 - tolerance <= low and high <= 1 + tolerance:
        return "within"
    return "off" if high < 1 - tolerance or low > 1 + tolerance else "open"


def _in_turn(lines: dict[str, Line], always: str) -> str:
    """Name those that cost least one after another, as what their lines are over grows."""
    steps = [(at, _listed(names)) for at, names in cheapest(lines)]
    if len(steps) == 1:
        return f"{steps[0][1]} {always}"
    ends = [number(at) for at, _ in steps]
    (_, first), *others, (_, last) = steps
    between = [f"{name} from {ends[i]} to {ends[i + 1]}" for i, (_, name) in enumerate(others, 1)]
    return ", ".join([f"{first} below {ends[1]}", *between, f"{last} above {ends[-1]}"])


def _listed(names: list[str]) -> str:
    """Write names as in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def crossing(line: list[tuple[float, float]], level: float) -> float | None:
    """Where a line passes a level: linear between points, in the logarithm of x; None if nowhere."""
    for (x0, y0), (x1, y1) in pairwise(line):
        if min(y0, y1) <= level <= max(y0, y1) and y0 != y1:
            share = (level - y0) / (y1 - y0)
            return exp(log(x0) + share * (log(x1) - log(x0)))
    return None


def swept_along(plan: Plan, axis: str, where: dict[str, Factor] | None = None) -> list[dict[str, Factor]]:
    """Cells of the sweeps that have the axis, in order; other axes at their first or as `where` says.

    Where some sweeps vary it, those that hold it at one value are about something else.
    """
    cells: list[dict[str, Factor]] = []
    sweeps = [(axes, made) for axes, made in plan.sweeps if axis in axes]
    varied = [(axes, made) for axes, made in sweeps if any(cell[axis] != made[0][axis] for cell in made)]
    for axes, made in varied or sweeps:
        others = {key: made[0][key] for key in axes if key != axis} | (where or {})
        cells += [cell for cell in made if all(cell[key] == value for key, value in others.items())]
    if not cells and where:
        raise ValueError(f"{axis!r} is not swept where {where}.")
    if not cells:
        raise ValueError(f"{axis!r} is not swept; {allowed_instead(axis, plan.base)}")
    return cells


def same(column: pd.Series, value: Factor) -> Any:
    """Which rows of a table read from a file hold a factor's value."""
    if value is None:
        return column.isna()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return np.isclose(pd.to_numeric(column, errors="coerce"), float(value), rtol=1e-5, atol=0)
    return column.astype(str) == str(value)
