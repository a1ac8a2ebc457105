"""An experiment file and what it says: cells, and in each cell a scenario for every strategy.

A mistake is answered with the file, the key, what is wrong and what would be right; all mistakes of
a file at once, and nothing is run.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, pairwise, product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import ValidationError

from sim.estimate import METRICS
from sim.laws import files_in
from sim.program import unfold
from sim.scenario import Scenario
from sim.simulation import Engine, choose
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS, GALLERY
from sim.study.own_laws import load_laws
from sim.study.precision import Precision
from sim.study.presets import DEEPEST, PRESETS, dotted, read_toml, with_presets
from sim.study.systems import Tables, read_system, scenario_with
from sim.study.templates import mistakes
from sim.validation import (
    Count,
    Key,
    Mistake,
    Model,
    NonNegative,
    Positive,
    allowed_instead,
    problem,
    problems,
)

Factor = str | float | int | bool | None
Sweep = tuple[list[str], list[dict[str, Factor]]]


WEIGHED = ("makespan_s", "duplicate_actions")
"""What a map weighs: time, and what costs so much time each."""


FROM_RUNS = ("anatomy", "life")
"""Kinds of figures that show the model itself, not its estimates."""


class Reference(Model):
    """A value drawn across a figure."""

    value: float
    label: str = ""


class Figure(Model):
    """A figure of an experiment, drawn from its estimates."""

    name: str = Field(min_length=1, pattern=r"^[a-z0-9-]+$", description="file name without ending")
    kind: Literal["line", "bar", "frontier", "causes", "map", "sensitivity", "anatomy", "life"] = Field(
        default="line",
        description="line: over an axis; bar: per strategy; frontier: one metric against another; "
        "causes: duplicates per million actions by cause, a row a strategy; "
        "map: the strategy that costs least, over an axis and what a duplicate costs; "
        "sensitivity: how far swept keys move the headlines of the table of that kind; "
        "anatomy: the phases of a step that acts, and what a crash does in each; "
        "life: one run under each strategy, the first in which those without keys repeat an action",
    )
    x: str | None = Field(
        default=None,
        description="swept key: axis of a line or a map, rows of bars or of the causes of one strategy; "
        "of a frontier a metric",
    )
    y: tuple[str, ...] = Field(
        default=(), description="metrics, a panel each; of causes further rates beside the causes"
    )
    along: str | None = Field(default=None, description="swept key, of which a frontier has a point a value")
    where: dict[str, Factor] = Field(
        default={}, description="values of swept keys at which it is drawn; elsewhere at their base"
    )
    strategies: tuple[str, ...] | None = Field(default=None, description="which ones; all if absent")
    x_label: str | None = None
    y_label: str | None = Field(default=None, description="label of the value axis")
    x_scale: Literal["linear", "log"] = "log"
    y_scale: Literal["linear", "log"] = "linear"
    reference: Reference | None = None
    prices: dict[str, NonNegative] = Field(
        default={},
        description="of a map: what having a strategy costs besides what is simulated, s of the agent a run; "
        "0 if absent",
    )
    costs: tuple[Positive, Positive] = Field(
        default=(1.0, 1e6), description="of a map: least and greatest cost of a duplicate, s of the agent"
    )
    caption: str = Field(min_length=1, description="what the reader should see in it")
    front: str = Field(
        default="", description="heading under which the report shows it before its experiments"
    )


class StrategyTable(Model):
    """A table with a row a strategy, in one cell."""

    kind: Literal["strategies"]
    title: str = Field(min_length=1)
    metrics: tuple[str, ...] = Field(min_length=1, description="columns, each with its interval")
    where: dict[str, Factor] = Field(default={}, description="values of swept keys; elsewhere their base")


class Headline(Model):
    """A metric of a strategy."""

    metric: str
    strategy: str


class SensitivityTable(Model):
    """A table that ranks swept keys by how far they move some headlines from the base."""

    kind: Literal["sensitivity"]
    title: str = Field(min_length=1)
    of: tuple[Headline, ...] = Field(min_length=1, description="columns")
    labels: dict[str, str] = Field(default={}, description="swept key → what it is, in words")


class Published(Model):
    """Values that were published elsewhere, to be compared with."""

    source: str = Field(min_length=1, description="who published them, and when")
    n: Count = Field(description="runs behind each published value")
    values: dict[str, dict[str, Decimal]] = Field(
        description='strategy → metric → value as a text, "0.70": half a unit of its last digit is rounding'
    )

    @field_validator("values", mode="before")
    @classmethod
    def _texts(cls, values: Any) -> Any:
        """A number would have lost its trailing zeros, and with them how it was rounded."""
        for strategy, metrics in values.items() if isinstance(values, dict) else ():
            for metric, value in metrics.items() if isinstance(metrics, dict) else ():
                if not isinstance(value, str):
                    raise problem(f'must be a text such as "0.70", not {value!r}.', (strategy, metric))
        return values


ENOUGH = 50
"""After so many cells that are wrong no others are looked at."""

MOST_SCENARIOS = 10_000
"""How many cells an experiment may have, each strategy counted."""


class Experiment(Model):
    """A question, and the simulations that answer it."""

    title: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answer: str = Field(
        default="",
        max_length=20_000,
        description="Jinja template of the paragraphs that answer it, over the estimates",
    )
    finding: str = Field(
        default="",
        max_length=20_000,
        description="Jinja template like `answer`: what the report says of it on its first screen",
    )
    order: int = Field(default=100, description="place in the report")
    seed: Annotated[int, Field(ge=0, strict=True)]
    replications: Count = Field(description="runs of each strategy in each cell; with `precision` at most")
    precision: Precision | None = Field(
        default=None, description="how narrow the intervals of the headline shall be"
    )
    engine: Engine = Field(default="auto", description="what simulates; timeline where it can, else events")
    headline: tuple[str, ...] = Field(min_length=1, description="metrics that answer the question")
    given: str = Field(default="", description="what every number of it is given, in words")
    scenario: dict[str, Any]
    strategies: dict[str, dict[str, Any]] = Field(min_length=1)
    sweep: dict[str, list[Any]] | None = Field(
        default=None,
        description="axes of a full factorial: key of the scenario → values; keys joined by ' & ' go as one",
    )
    sweeps: tuple[dict[str, list[Any]], ...] = Field(
        default=(), description="several sweeps, each a full factorial of its own axes"
    )
    contrasts: tuple[tuple[str, str], ...] | None = Field(
        default=None, description="pairs of strategies; consecutive ones if absent"
    )
    figures: tuple[Figure, ...] = ()
    tables: tuple[Annotated[StrategyTable | SensitivityTable, Field(discriminator="kind")], ...] = Field(
        default=(), description="tables that the report shows before its experiments"
    )
    published: Published | None = None
    calculator: str | None = Field(
        default=None,
        description="strategy of which the report's calculator says how far the rule of thumb is off",
    )

    def model_post_init(self, _: Any) -> None:
        """Refuse names that are not there, and empty sweeps."""
        found = list(self._mistakes())
        if found:
            raise problems("Experiment", found)

    def _mistakes(self) -> Iterator[Mistake]:
        for key in ("answer", "finding"):
            for sentence in mistakes(getattr(self, key)):
                yield (key,), sentence, getattr(self, key)
        if self.sweep is not None and self.sweeps:
            yield ("sweep",), "say either [sweep] or [[sweeps]], not both.", None
        for place, axes in self.axes():
            if not axes:
                yield place, "a sweep needs at least one axis.", axes
            for key, items in axes.items():
                if key.split(".")[0] in ("strategy", "strategies"):
                    yield (*place, key), "strategies are not swept; list each under [strategies].", items
                if not items:
                    yield (*place, key), "an axis needs at least one value.", items
                if key.count(".") > DEEPEST:
                    yield (*place, key), f"has more than {DEEPEST} parts.", None
        scenarios = len(self.strategies) * sum(prod(map(len, axes.values())) for _, axes in self.axes())
        if scenarios > MOST_SCENARIOS:
            sentence = f"cells times strategies are {scenarios:,}; at most {MOST_SCENARIOS:,} are simulated."
            yield next((place for place, _ in self.axes()), ("strategies",)), sentence, None
        for index, metric in enumerate(self.headline):
            yield from _unknown(metric, METRICS, ("headline", index), "metric")
        for index, pair in enumerate(self.contrasts or ()):
            for name in pair:
                yield from _unknown(name, self.strategies, ("contrasts", index), "strategy")
        for index, figure in enumerate(self.figures):
            yield from self._mistakes_of(figure, ("figures", index))
        if self.calculator is not None:
            yield from _unknown(self.calculator, self.strategies, ("calculator",), "strategy")
        for index, table in enumerate(self.tables):
            yield from self._mistakes_in(table, ("tables", index))
        comparable = [name for name, metric in METRICS.items() if metric.kind in ("mean", "share")]
        for name, values in (self.published.values if self.published else {}).items():
            yield from _unknown(name, self.strategies, ("published", "values", name), "strategy")
            for metric in values:
                yield from _unknown(metric, comparable, ("published", "values", name, metric), "metric")

    def _mistakes_in(self, table: StrategyTable | SensitivityTable, at: Key) -> Iterator[Mistake]:
        swept = [key for _, axes in self.axes() for key in axes]
        if isinstance(table, StrategyTable):
            for index, metric in enumerate(table.metrics):
                yield from _unknown(metric, METRICS, (*at, "metrics", index), "metric")
            for key in table.where:
                yield from _unknown(key, swept, (*at, "where"), "swept key")
            return
        for index, headline in enumerate(table.of):
            yield from _unknown(headline.metric, METRICS, (*at, "of", index, "metric"), "metric")
            name = headline.strategy
            yield from _unknown(name, self.strategies, (*at, "of", index, "strategy"), "strategy")
        for key in table.labels:
            yield from _unknown(key, swept, (*at, "labels"), "swept key")

    def _mistakes_of(self, figure: Figure, at: Key) -> Iterator[Mistake]:
        swept = [key for _, axes in self.axes() for key in axes]
        if figure.kind in FROM_RUNS:
            for key in ("x", "y"):
                if getattr(figure, key):
                    yield (*at, key), f"a figure of kind = {figure.kind!r} has no axes to choose.", None
        elif not figure.y and figure.kind not in ("causes", "map", "sensitivity"):
            yield (*at, "y"), "must name at least one metric.", None
        for metric in figure.y:
            yield from _unknown(metric, METRICS, (*at, "y"), "metric")
        for name in figure.strategies or ():
            yield from _unknown(name, self.strategies, (*at, "strategies"), "strategy")
        for key in figure.where:
            yield from _unknown(key, swept, (*at, "where"), "swept key")
        if figure.along is not None:
            yield from _unknown(figure.along, swept, (*at, "along"), "swept key")
            if figure.kind != "frontier":
                yield (
                    (*at, "along"),
                    'only a figure of kind = "frontier" has it; others take x.',
                    figure.along,
                )
        if figure.kind == "sensitivity" and not any(table.kind == "sensitivity" for table in self.tables):
            yield (
                (*at, "kind"),
                'takes its headlines from [[tables]] with kind = "sensitivity"; add one.',
                None,
            )
        match figure.kind:
            case "frontier" if figure.x is None:
                yield (*at, "x"), "a frontier needs x, a metric.", None
            case "frontier":
                yield from _unknown(str(figure.x), METRICS, (*at, "x"), "metric")
            case "line" if figure.x is None:
                yield (*at, "x"), "a line needs x, one of the swept keys.", None
            case "line":
                yield from self._mistakes_of_axis(figure, str(figure.x), swept, (*at, "x"))
            case "map":
                yield from self._mistakes_of_map(figure, swept, at)
            case _ if figure.x is not None:
                yield from _unknown(figure.x, swept, (*at, "x"), "swept key")
        if figure.kind != "map":
            for key in ("prices", "costs"):
                if key in figure.model_fields_set:
                    yield (*at, key), 'only a figure of kind = "map" has it.', None
        if figure.kind == "causes":
            rates = [name for name, metric in METRICS.items() if metric.kind == "rate"]
            for metric in figure.y:
                yield from _unknown(metric, rates, (*at, "y"), "rate")
            if figure.x is not None and len(figure.strategies or self.strategies) > 1:
                yield (*at, "strategies"), "must name one strategy, of which each value of x is a row.", None

    def _mistakes_of_map(self, figure: Figure, swept: list[str], at: Key) -> Iterator[Mistake]:
        """Find what keeps a map from being drawn: it takes the paired contrasts of all its strategies."""
        if figure.x is None:
            yield (*at, "x"), "a map needs x, one of the swept keys.", None
        else:
            yield from self._mistakes_of_axis(figure, figure.x, swept, (*at, "x"))
        if figure.y:
            yield (*at, "y"), "a map has none: its y is what a duplicate costs; leave it out.", figure.y
        if figure.x_scale != "log":
            yield (*at, "x_scale"), "the axes of a map are logarithmic; leave it out.", figure.x_scale
        if figure.costs[0] >= figure.costs[1]:
            yield (*at, "costs"), "the least comes first, the greatest second.", figure.costs
        names = figure.strategies or tuple(self.strategies)
        for name in figure.prices:
            yield from _unknown(name, names, (*at, "prices"), "strategy of this map")
        for metric in WEIGHED:
            if metric not in self.headline:
                yield ("headline",), f"a map takes {metric}; name it here.", None
        contrasted = {frozenset(pair) for pair in self.pairs()}
        missing = [pair for pair in combinations(names, 2) if frozenset(pair) not in contrasted]
        if missing:
            pairs = ", ".join(f'["{first}", "{second}"]' for first, second in missing)
            yield ("contrasts",), f"a map takes the contrasts of all its strategies; add {pairs}.", None

    def _mistakes_of_axis(self, figure: Figure, key: str, swept: list[str], at: Key) -> Iterator[Mistake]:
        yield from _unknown(key, swept, at, "swept key")
        values = [item for _, axes in self.axes() for item in axes.get(key, [])]
        least = 0.0 if figure.x_scale == "log" else float("-inf")
        if not all(_is_number(value) and value > least for value in values):
            wanted = 'positive numbers (or x_scale = "linear")' if figure.x_scale == "log" else "numbers"
            yield at, f'a {figure.kind} needs an axis of {wanted}; kind = "bar" takes any.', key

    def axes(self) -> list[tuple[Key, dict[str, list[Any]]]]:
        """Each sweep with its place in the file."""
        if self.sweep is not None:
            return [(("sweep",), self.sweep)]
        return [(("sweeps", index), axes) for index, axes in enumerate(self.sweeps)]

    @property
    def sensitivity(self) -> SensitivityTable:
        """The first table of that kind."""
        return next(table for table in self.tables if isinstance(table, SensitivityTable))

    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of strategies that are contrasted."""
        if self.contrasts is not None:
            return list(self.contrasts)
        names = list(self.strategies)
        return list(pairwise(names))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _unknown(name: str, allowed: Iterable[str], at: Key, what: str) -> Iterator[Mistake]:
    if name not in allowed:
        yield at, f"{name!r} is no {what}; {allowed_instead(name, allowed)}", name


@dataclass(frozen=True)
class Cell:
    """One point of a sweep.

    Attributes
    ----------
    factors : dict of str to value
        Label of each swept key's value here; all cells of an experiment have the same keys.
    scenarios : dict of str to Scenario
        By strategy.
    """

    factors: dict[str, Factor]
    scenarios: dict[str, Scenario]


def named(experiment: str, factors: dict[str, Factor]) -> str:
    """Name a cell in a sentence, such as ``tiny, store.write.median = 0.1``."""
    return ", ".join([experiment, *(f"{key} = {value}" for key, value in factors.items())])


@dataclass(frozen=True)
class Plan:
    """An experiment, read and checked.

    Attributes
    ----------
    name : str
        The file's name without its ending.
    experiment : Experiment
    cells : list of Cell
        At least one.
    base : dict of str to value
        Label of each swept key outside the sweep that sweeps it.
    sweeps : list of (list of str, list of dict)
        Axes of each sweep, and the factors of its cells in the order of the file.
    """

    name: str
    experiment: Experiment
    cells: list[Cell]
    base: dict[str, Factor]
    sweeps: list[Sweep]


def load(file: Path, project: Path) -> Plan:
    """Read and check an experiment file.

    Parameters
    ----------
    file : Path
        The TOML file.
    project : Path
        Folder that holds ``experiments/``, where presets and own laws are looked up.

    Raises
    ------
    InputError
        With every mistake found.
    """
    load_laws(project)
    shown = str(file.relative_to(project)) if file.is_relative_to(project) else str(file)
    if file.stem == GALLERY:
        raise InputError(
            [Problem(shown, "", "is the name of the folder of the laws' pictures; take another.")]
        )
    data = read_toml(file, shown)
    found: list[Problem] = []
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as error:
        found = [Problem(shown, dotted(e["loc"]), e["msg"]) for e in error.errors()]
        found.extend(_mistakes_in_scenarios(data, project, shown))
        raise InputError(list(dict.fromkeys(found))) from None
    plan = plan_of(experiment, file.stem, project, shown)
    cells, base = plan.cells, plan.base
    for index, figure in enumerate(experiment.figures):
        if not any(figure.where.items() <= cell.factors.items() for cell in cells):
            found.append(Problem(shown, f"figures.{index}.where", "no cell of the sweeps has these values."))
    for index, table in enumerate(experiment.tables):
        where = table.where if isinstance(table, StrategyTable) else {}
        if base | where not in [cell.factors for cell in cells]:
            sentence = "is of a cell that no sweep has; each swept key's base must be among its values."
            found.append(Problem(shown, f"tables.{index}", sentence))
    if found:
        raise InputError(found)
    return plan


def plan_of(experiment: Experiment, name: str, project: Path, shown: str) -> Plan:
    """Build the scenarios of every cell of an experiment.

    Parameters
    ----------
    experiment : Experiment
    name : str
    project : Path
        Folder that holds ``experiments/``, where presets are looked up.
    shown : str
        What the file is called where something is wrong with it.

    Raises
    ------
    InputError
        With every mistake found in them.
    """
    # What has no finite value is told of; numpy need not warn of it besides.
    with files_in(project / EXPERIMENTS), np.errstate(all="ignore"):
        return Plan(name, experiment, *_cells(experiment, project, shown))


def _mistakes_in_scenarios(data: dict[str, Any], project: Path, shown: str) -> list[Problem]:
    """Look at the scenarios of a file that is wrong elsewhere, as far as it is well-formed."""
    parts = {key: data[key] for key in ("scenario", "strategies", "sweep", "sweeps") if key in data}
    whole = {"title": "-", "question": "-", "seed": 0, "replications": 1, "headline": list(METRICS)[:1]}
    try:
        plan_of(Experiment.model_validate(whole | parts), "", project, shown)
    except InputError as error:
        return error.problems
    except ValidationError:
        pass
    return []


def _cells(
    experiment: Experiment, project: Path, shown: str
) -> tuple[list[Cell], dict[str, Factor], list[Sweep]]:
    """Build the scenarios of every cell, or raise all mistakes found in them."""
    scenario, systems = _named(experiment, project, shown)
    swept = list(dict.fromkeys(key for _, axes in experiment.axes() for key in axes))
    base = {key: label(_get(experiment.scenario, key) or _get(scenario, key)) for key in swept}
    found: dict[Problem, None] = {}
    cells: dict[tuple[Factor, ...], Cell] = {}
    sweeps: dict[Key, Sweep] = {}
    wrong_cells = 0
    for place, values, labels in _points(experiment):
        factors = base | labels
        identity = tuple(factors.values())
        sweeps.setdefault(place, (list(values), []))[1].append(factors)
        if identity in cells:
            continue
        names = {key: value for key, value in values.items() if key in PRESETS}
        named = with_presets(names, project, shown)
        problems: list[Problem] = []
        scenarios = {}
        for name, strategy in experiment.strategies.items():
            here = deepcopy(scenario)
            if name in systems:
                own = {key: value for key, value in strategy.items() if key != "system"}
                here = _keep(scenario, swept, scenario_with(here, deepcopy(systems[name]), own))
            else:
                here["strategy"] = strategy
            here |= deepcopy(named)
            problems += [
                Problem(shown, dotted((*place, key)), wrong)
                for key, value in values.items()
                if key not in PRESETS and (wrong := _set(here, key, value))
            ]
            try:
                scenarios[name] = Scenario.model_validate(here)
                choose(experiment.engine, unfold(scenarios[name]))
            except ValidationError as error:
                for e in error.errors():
                    key, before = _origin(e["loc"], name, place, values, strategy, systems.get(name))
                    problems.append(Problem(shown, key, f"{before}{e['msg']}"))
            except ValueError as error:
                problems.append(Problem(shown, "engine", f"{name}: {error}"))
        found.update(dict.fromkeys(problems))
        wrong_cells += bool(problems)
        if wrong_cells == ENOUGH:
            break
        cells[identity] = Cell(factors, scenarios)
    if found:
        raise InputError(list(found))
    return list(cells.values()), base, list(sweeps.values())


def _named(experiment: Experiment, project: Path, shown: str) -> tuple[Tables, dict[str, Tables]]:
    """Read what the scenario and the strategies name, or raise all mistakes found in it.

    Returns
    -------
    tuple
        The scenario, and the systems by the names of their strategies.
    """
    found: list[Problem] = []
    scenario, systems = {}, {}
    try:
        scenario = with_presets(experiment.scenario, project, shown)
    except InputError as error:
        found += error.problems
    for name, strategy in experiment.strategies.items():
        if "system" not in strategy:
            continue
        asked = Problem(shown, dotted(("strategies", name, "system")), "")
        try:
            systems[name] = read_system(strategy["system"], project, asked)
        except InputError as error:
            found += error.problems
    if found:
        raise InputError(list(dict.fromkeys(found)))
    return scenario, systems


def _keep(scenario: Tables, swept: list[str], tables: Tables) -> Tables:
    """Put back what the experiment sweeps, in this cell or in another: it is what the cell is named by."""
    for single in (single for key in swept for single in key.split(TOGETHER)):
        value = _get(scenario, single)
        if value is not None:
            _set(tables, single, deepcopy(value))
    return tables


def _points(experiment: Experiment) -> Iterator[tuple[Key, dict[str, Any], dict[str, Factor]]]:
    """Every point of every sweep: the sweep's place in the file, the values, and their labels."""
    if not experiment.axes():
        yield ("scenario",), {}, {}
    for place, axes in experiment.axes():
        labelled = [[(value, label(value)) for value in values] for values in axes.values()]
        for point in product(*labelled):
            values, labels = zip(*point, strict=True)
            yield place, dict(zip(axes, values, strict=True)), dict(zip(axes, labels, strict=True))


def _origin(
    at: Key,
    name: str,
    place: Key,
    values: dict[str, Any],
    strategy: Tables,
    system: Tables | None,
) -> tuple[str, str]:
    """Say where in the file the key of a scenario comes from; if from a system, also which key of it."""
    its = dotted(("strategies", name, "system")), f"{dotted(at)}: "
    if at[:1] == ("strategy",):
        if system and (len(at) == 1 or at[1] not in strategy):
            return its
        return dotted(("strategies", name, *at[1:])), ""
    key = ".".join(map(str, at))
    for axis in values:
        for single in axis.split(TOGETHER):
            if key == single or key.startswith(f"{single}.") or single.startswith(f"{key}."):
                return dotted((*place, axis)), ""
    if system and _get(system, key) is not None:
        return its
    return dotted(("scenario", *at)), ""


TOGETHER = " & "
"""Joins keys of one axis that take each value together."""


def _get(table: Any, key: str) -> Any:
    for part in key.split(TOGETHER)[0].split("."):
        if not isinstance(table, dict) or part not in table:
            return None
        table = table[part]
    return table


def _set(table: dict[str, Any], key: str, value: Any) -> str:
    """Set a dotted key, or several; give a sentence if it cannot be."""
    if TOGETHER in key:
        return "".join(_set(table, single, value) for single in key.split(TOGETHER))
    *parents, last = key.split(".")
    for depth, part in enumerate(parents):
        below = table.setdefault(part, {})
        if not isinstance(below, dict):
            above = ".".join(parents[: depth + 1])
            return f"{above} is {below!r} in the scenario, not a table that could hold {last!r}."
        table = below
    table[last] = value
    return ""


def label(value: Any) -> Factor:
    """Name a swept value in tables: itself, or its parts if it is a table."""
    if isinstance(value, dict):
        name = next((key for key in ("process", "law", "title") if isinstance(value.get(key), str)), None)
        parts = {key: label(part) for key, part in value.items() if key != name}
        rest = [f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in parts.items()]
        return " ".join([value[name], *rest] if name else rest)
    if isinstance(value, list):
        return ", ".join(str(label(item)) for item in value)
    return value if isinstance(value, (str, float, int, bool)) else None
