"""An agent of one's own: what is told of it in a file or by options, and the scenarios that follow."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_core import ValidationError

from sim.laws import files_in
from sim.scenario import Scenario
from sim.strategy import Strategy
from sim.study.config import Experiment, plan_of
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS
from sim.study.own_laws import load_laws
from sim.study.presets import dotted, read_toml, with_presets
from sim.study.systems import laid_over, read_system, strategy_of
from sim.validation import Model, NonNegative, problem
from sim.workload import Workload

TEMPLATE = Path(__file__).with_name("agent.toml")
"""A commented file to begin with; what a file of one's own leaves out is as here."""

ASSUMED = ("deploys", "costs")
"""Tables besides the scenario that are as in the template where nobody tells them."""

WITH_KEYS = " + keys"
"""End of the name of a system whose actions carry keys besides."""

HEADLINE = ("duplicates_per_million", "lost_per_million")
"""What shall be precise."""

MOST_RUNS = 100_000
"""Of each strategy, where ±10 % are asked for: a prediction takes seconds."""


class Deploys(Model):
    """Stops of the worker, whatever it does."""

    a_day: NonNegative = Field(default=0.0, le=86_400, description="how many a day")
    grace: NonNegative = Field(default=0.0, description="from being told to stop to being killed, s")


Price = Annotated[NonNegative, Field(le=1e12)]


class Costs(Model):
    """What things cost, in a currency."""

    currency: str = Field(default="USD", min_length=1, max_length=12)
    million_tokens: Price = Field(default=0.0, description="a million tokens spent in vain")
    duplicate: Price = Field(default=0.0, description="an action that happens once more")
    loss: Price = Field(default=0.0, description="an action that never happens")
    stuck: Price = Field(default=0.0, description="a run that is given up or waits for a person")
    hour: Price = Field(default=0.0, description="an hour of saves, downtime and work done again")


class AgentFile(Model):
    """A file of ``savegap predict``."""

    title: str = Field(default="My agent", min_length=1)
    system: str | None = Field(default=None, description="what it runs on now, one of experiments/systems/")
    scenario: dict[str, Any] = Field(default={}, description="as in an experiment")
    deploys: Deploys
    costs: Costs
    strategies: dict[str, dict[str, Any]] = Field(description="what to compare, the simplest first")
    seed: int = Field(default=24, ge=0)

    @field_validator("strategies")
    @classmethod
    def _some(cls, strategies: dict[str, Any]) -> dict[str, Any]:
        if not strategies:
            raise problem("names none; leave it out to compare the usual ones.", ())
        return strategies


@dataclass(frozen=True)
class Agent:
    """An agent, checked.

    Attributes
    ----------
    shown : str
        The file that told of it, or what stands for it.
    experiment : Experiment
        Its strategies side by side; no precision is asked for yet.
    scenarios : dict of str to Scenario
        By strategy, the simplest first; what it runs on now before all.
    now : str or None
        Strategy that it has now.
    deploys : Deploys
    costs : Costs
    assumed : list of str
        What nobody told, and is as in the template.
    """

    shown: str
    experiment: Experiment
    scenarios: dict[str, Scenario]
    now: str | None
    deploys: Deploys
    costs: Costs
    assumed: list[str]


def read_agent(
    file: Path | None, told: dict[str, Any], system: str | None, deploys: dict[str, float], project: Path
) -> Agent:
    """Read what is told of an agent.

    Parameters
    ----------
    file : Path or None
        Its file; the template if None.
    told : dict
        Parts of the scenario, or their names, that win over the file's.
    system : str or None
        What it runs on now; wins over the file's.
    deploys : dict
        Keys of `Deploys` that win over the file's.
    project : Path
        Folder that holds ``experiments/``.

    Raises
    ------
    InputError
        With every mistake found.
    """
    load_laws(project)
    template = read_toml(TEMPLATE, TEMPLATE.name)
    shown = "the agent" if file is None else str(file)
    data = {"title": "An agent"} if file is None else read_toml(file, shown)
    given = laid_over(data, {"deploys": deploys}) if deploys else data
    whole = {"strategies": template["strategies"]} | given
    for key in ASSUMED:
        own: Any = given.get(key, {})
        whole[key] = template[key] | own if isinstance(own, dict) else own
    try:
        said = AgentFile.model_validate(whole)
    except ValidationError as error:
        raise InputError([Problem(shown, dotted(e["loc"]), e["msg"]) for e in error.errors()]) from None
    scenario = {**template["scenario"], **said.scenario, **told}
    named = system or said.system
    strategies = said.strategies
    if named is not None:
        strategies = {**dict(_of_system(named, project, shown)), **strategies}
    if not _acts(scenario, project, shown):
        strategies = {
            name: {key: value for key, value in of.items() if key != "key"} for name, of in strategies.items()
        }
    experiment = Experiment(
        title=said.title,
        question="What does a crash cost?",
        seed=said.seed,
        replications=MOST_RUNS,
        headline=HEADLINE,
        scenario=scenario,
        strategies=strategies,
        contrasts=(),
    )
    [cell] = plan_of(experiment, "agent", project, shown).cells
    return Agent(
        shown=shown,
        experiment=experiment,
        scenarios=cell.scenarios,
        now=named,
        deploys=said.deploys,
        costs=said.costs,
        assumed=list(_assumed(template, {**said.scenario, **told}, given)),
    )


def _assumed(template: dict[str, Any], scenario: dict[str, Any], given: dict[str, Any]) -> Iterator[str]:
    """Name what is as in the template since nobody told: parts of the scenario, tables, and keys of these."""
    yield from (part for part in template["scenario"] if part not in scenario)
    for key in ASSUMED:
        if key not in given:
            yield key
        else:
            yield from (f"{key}.{part}" for part in template[key] if part not in given[key])


def _acts(scenario: dict[str, Any], project: Path, shown: str) -> bool:
    """Whether any step acts; if none does, nothing carries a key. What is wrong is told elsewhere."""
    with files_in(project / EXPERIMENTS), suppress(InputError, ValidationError):
        workload = with_presets({"workload": scenario["workload"]}, project, shown)["workload"]
        return any(step.acts for step in Workload.model_validate(workload).steps)
    return True


def _of_system(name: str, project: Path, shown: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give what a system does, and with keys besides where its actions can carry some and do not."""
    system = read_system(name, project, Problem(shown, "system", ""))
    yield name, {"system": name}
    keyed = strategy_of(system, {"key": "run_step"})
    try:
        if Strategy.model_validate(strategy_of(system, {})).key != "run_step":
            Strategy.model_validate(keyed)
            yield f"{name}{WITH_KEYS}", {"system": name, "key": "run_step"}
    except ValidationError:  # its actions go to no receiver that could know a key
        return
