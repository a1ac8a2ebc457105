"""The file of a trial: which strategies are tried on which stores, and how often they are killed."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import ValidationError

from sim.lab import frameworks
from sim.lab.stores import STORES
from sim.lab.translation import mistakes
from sim.laws import files_in
from sim.scenario import Scenario
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS
from sim.study.own_laws import load_laws
from sim.study.presets import dotted, read_toml, with_presets
from sim.study.systems import laid_over
from sim.validation import Count, Model, Positive, allowed_instead, problem

FOLDER = "lab"
DEFAULT = "reality"

LOAD = {"protocol": "checkpoint"}
"""Strategy of runs whose saves are timed: one save a step."""

Tables = dict[str, Any]


class Given(Model):
    """A condition as the file gives it: tables of a scenario besides what is said here."""

    store: str = Field(description="name of a store of `savegap lab stores`")
    strategy: Tables = Field(description="as in an experiment")
    runs: Count = Field(description="how many runs are made and killed")
    walks: str = Field(default="verbs", description="what walks: verbs, or a framework and its mode")
    claim: Literal["duplicates", "no duplicate", "no harm", "nothing"] = Field(
        default="duplicates",
        description="what is judged: that duplicates are as predicted; that there are none; that there are "
        "neither duplicates nor lost actions; nothing",
    )
    calibration: Count | None = Field(
        default=None, description="runs by which latencies are measured, if not as many as of the others"
    )
    workers: Annotated[int, Field(ge=1, le=64)] | None = Field(
        default=None, description="runs that go on at once, if not as many as of the other conditions"
    )
    probes: bool = Field(
        default=True,
        strict=True,
        description="whether kills within saves find their point of no return; else it is their end",
    )
    scenario: Tables = Field(default={}, description="tables of a scenario that are its own")

    def model_post_init(self, _: Any) -> None:
        """Refuse names that nothing has."""
        if self.store not in STORES:
            raise problem(f"{self.store!r} is no store; {allowed_instead(self.store, STORES)}", ("store",))
        if self.walks not in frameworks.WALKS:
            hint = allowed_instead(self.walks, frameworks.WALKS)
            raise problem(f"{self.walks!r} is nothing that walks; {hint}", ("walks",))


class Trial(Model):
    """A file of experiments/lab/."""

    title: str
    question: str = ""
    seed: int = Field(ge=0)
    scale: Positive = Field(default=0.01, description="factor on all times but those that a store takes")
    workers: Annotated[int, Field(ge=1, le=64)] = Field(default=2, description="runs that go on at once")
    margin: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.25, description="how far from the prediction counts as equal"
    )
    calibration: Count = Field(default=60, description="runs by which latencies are measured beforehand")
    offsets: Count = Field(default=400, description="kills by which the point of no return is found")
    replications: Count = Field(default=20_000, description="simulated runs behind a prediction")
    scenario: Tables = Field(description="tables of a scenario, as in an experiment")
    conditions: dict[str, Given] = Field(min_length=1)


@dataclass(frozen=True)
class Condition:
    """One strategy on one store.

    Attributes
    ----------
    name : str
    given : Given
        As the file says.
    scenario : Scenario
        What its runs are, in unscaled time.
    """

    name: str
    given: Given
    scenario: Scenario

    def missing(self) -> str | None:
        """Say what it needs that is not here, and how to get it; None if nothing."""
        return frameworks.missing(self.given.walks) or STORES[self.given.store].missing()


@dataclass(frozen=True)
class Plan:
    """A trial, checked.

    Attributes
    ----------
    file : str
    trial : Trial
        As the file says.
    conditions : list of Condition
    load : Scenario
        Runs with a save a step, without a crash: what latencies are measured under.
    """

    file: str
    trial: Trial
    conditions: list[Condition]
    load: Scenario


def find(name: str, project: Path) -> Path:
    """Find the file of a trial by its name or path.

    Raises
    ------
    InputError
    """
    folder = project / EXPERIMENTS / FOLDER
    candidates = [Path(name).absolute(), folder / f"{name}.toml"]
    for file in candidates:
        if file.is_file():
            return file
    known = ", ".join(sorted(file.stem for file in folder.glob("*.toml"))) or "none"
    sentence = f"is no file and no trial of {EXPERIMENTS}/{FOLDER}/; there are: {known}."
    raise InputError([Problem(name, "", sentence)])


def read(file: Path, project: Path) -> Plan:
    """Read and check the file of a trial.

    Raises
    ------
    InputError
        With every mistake found.
    """
    load_laws(project)
    shown = str(file.relative_to(project)) if file.is_relative_to(project) else str(file)
    data = read_toml(file, shown)
    with files_in(project / EXPERIMENTS):
        try:
            trial = Trial.model_validate(data)
        except ValidationError as error:
            raise InputError([Problem(shown, dotted(e["loc"]), e["msg"]) for e in error.errors()]) from None
        found: list[Problem] = []
        conditions = []
        load = None
        try:
            calm = trial.scenario | {"crash": {"process": "none"}}
            load = _scenario(calm, {}, LOAD, project, shown, ("scenario",))
        except InputError as error:
            found += error.problems
        for name, given in trial.conditions.items():
            try:
                conditions.append(_condition(name, given, trial, project, shown))
            except InputError as error:
                found += error.problems
    if found or load is None:
        raise InputError(list(dict.fromkeys(found)))
    return Plan(shown, trial, conditions, load)


def changed(
    plan: Plan, scale: float | None = None, workers: int | None = None, runs: int | None = None
) -> Plan:
    """Give a plan with another scale, other workers, and at most so many runs a condition."""
    conditions = []
    for condition in plan.conditions:
        given = condition.given
        own = {
            "runs": given.runs if runs is None else min(runs, given.runs),
            "workers": given.workers if workers is None else workers,
        }
        conditions.append(replace(condition, given=given.model_copy(update=own)))
    changes = {key: value for key, value in (("scale", scale), ("workers", workers)) if value is not None}
    return replace(plan, trial=plan.trial.model_copy(update=changes), conditions=conditions)


def _condition(name: str, given: Given, trial: Trial, project: Path, shown: str) -> Condition:
    at = ("conditions", name)
    scenario = _scenario(trial.scenario, given.scenario, given.strategy, project, shown, at)
    verbs = given.walks == "verbs"
    wrong = mistakes(scenario, given.walks)
    if not verbs and given.store not in frameworks.STORES:
        hint = allowed_instead(given.store, frameworks.STORES)
        wrong.append((("store",), f"a framework saves in a database; {hint}", None))
    holds = {getattr(verb, "holds", "progress") for verb in scenario.strategy.verbs}
    if holds != {"progress"} and not STORES[given.store].transactional:
        wrong.append((("store",), f"{given.store!r} can save no action together with progress.", None))
    if wrong:
        raise InputError([Problem(shown, dotted((*at, *key)), sentence) for key, sentence, _ in wrong])
    return Condition(name, given, scenario)


def _scenario(
    base: Tables, own: Tables, strategy: Tables, project: Path, shown: str, at: tuple[str, ...]
) -> Scenario:
    """Lay a condition's tables over those of all; mistakes are told at the condition."""
    base = with_presets(base, project, shown)
    own = with_presets(own, project, shown, below=(*at, "scenario"))
    try:
        return Scenario.model_validate(laid_over(base, own) | {"strategy": strategy})
    except ValidationError as error:
        found = [Problem(shown, dotted((*at, *e["loc"])), e["msg"]) for e in error.errors()]
        raise InputError(found) from None
