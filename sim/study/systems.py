"""Whole systems as presets: what LangGraph, Temporal and others save, try again and watch over.

A file of experiments/systems/ holds the tables of a scenario that the system decides, and for each key where
that is known from.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic_core import ValidationError

from sim.laws import files_in
from sim.scenario import Scenario
from sim.strategy import PROTOCOLS
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS
from sim.study.own_laws import load_laws
from sim.study.presets import dotted, read_toml, with_presets
from sim.validation import Key, Mistake, Model, allowed_instead, problems

FOLDER = "systems"
Tables = dict[str, Any]
Read = Literal["source", "documentation", "kill test", "estimate"]

WHOLE = ("law", "process")
"""A table with one of these keys is replaced as a whole: half of one law and half of another is none."""

FORM = ("plain", "action", "begin", "end", "lanes", "relay", "memory_only", "protocol")
"""Keys of a strategy that belong together: another protocol leaves none of them behind."""

PROBE = {"steps": [{"name": "think", "work": 1.0}, {"name": "act", "work": 1.0, "action": {}}]}
"""The smallest workload on which a file's tables can be checked."""


class Cited(Model):
    """What is known of some keys of a system, and where from."""

    key: str | tuple[str, ...] = Field(description="dotted keys; one covers what is below it")
    says: str = Field(min_length=1, description="what the system does there, one sentence")
    where: str = Field(min_length=1, description="name and version of the document, source file or test")
    read: Read = Field(description="how it is known")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, one or several."""
        return (self.key,) if isinstance(self.key, str) else self.key


class System(Model):
    """A file of experiments/systems/."""

    title: str = Field(min_length=1)
    source: str = Field(min_length=1, description="which system, as far as the tables need to be understood")
    strategy: Any = Field(description="tables of a scenario from here on, checked as such")
    store: Any = None
    client: Any = None
    receiver: Any = None
    supervision: Any = None
    downtime: Any = None
    limits: Any = None
    sources: tuple[Cited, ...] = Field(min_length=1, description="first the one that says what it does")

    def model_post_init(self, _: Any) -> None:
        """Refuse keys without a source, or with several, and sources of nothing."""
        found = list(self._mistakes())
        if found:
            raise problems("System", found)

    @property
    def tables(self) -> Tables:
        """The tables of a scenario that the file sets."""
        return {name: given for name in TABLES if (given := getattr(self, name)) is not None}

    def _mistakes(self) -> Iterator[Mistake]:
        leaves = [dotted(leaf) for leaf in _leaves(self.tables)]
        cited = [(index, key) for index, entry in enumerate(self.sources) for key in entry.keys]
        for leaf in leaves:
            covering = [key for _, key in cited if _covers(key, leaf)]
            if not covering:
                sentence = f'has no source; add [[sources]] with key = "{leaf}", says, where and read.'
                yield tuple(leaf.split(".")), sentence, None
            elif len(covering) > 1:
                sentence = f"has several sources ({', '.join(covering)}); leave one."
                yield tuple(leaf.split(".")), sentence, None
        for index, key in cited:
            if not any(_covers(key, leaf) for leaf in leaves):
                sentence = f"{key!r} is not set here; {allowed_instead(key, leaves)}"
                yield ("sources", index, "key"), sentence, key


TABLES = tuple(name for name in System.model_fields if name not in ("title", "source", "sources"))
"""Tables of a scenario that a system may set."""


def _leaves(table: Mapping[str, Any], at: Key = ()) -> Iterator[Key]:
    """Keys of all values that are no tables; a list is one value."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*at, key))
        else:
            yield (*at, key)


def _covers(key: str, leaf: str) -> bool:
    return leaf == key or leaf.startswith(f"{key}.")


def names(project: Path) -> list[str]:
    """Names of the systems of a project, sorted."""
    return sorted(file.stem for file in (project / EXPERIMENTS / FOLDER).glob("*.toml"))


def read_system(name_or_path: str | Path, project: Path, asked: Problem | None = None) -> dict[str, Any]:
    """Read and check the file of a system.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a file in ``experiments/systems/``, or path of one, ending in ``.toml``; a relative one is
        looked up from `project`.
    project : Path
        Folder that holds ``experiments/``.
    asked : Problem, optional
        Who asks for it: file and key that a name which is not there is told with.

    Returns
    -------
    dict
        The file's content, with the files of named parts in the place of their names.

    Raises
    ------
    InputError
        With every mistake found.
    """
    load_laws(project)
    with files_in(project / EXPERIMENTS):
        return _read(name_or_path, project, asked)


def _read(name_or_path: str | Path, project: Path, asked: Problem | None) -> dict[str, Any]:
    if str(name_or_path).endswith(".toml"):
        file = project / name_or_path
    else:
        file = project / EXPERIMENTS / FOLDER / f"{name_or_path}.toml"
        known = names(project)
        if name_or_path not in known:
            sentence = f"{str(name_or_path)!r} is no system; {allowed_instead(name_or_path, known)}"
            file_and_key = (asked.file, asked.key) if asked else (f"{EXPERIMENTS}/{FOLDER}", "")
            raise InputError([Problem(*file_and_key, sentence)])
    shown = str(file.relative_to(project)) if file.is_relative_to(project) else str(file)
    data = read_toml(file, shown)
    found: list[Problem] = []
    try:
        System.model_validate(data)
    except ValidationError as error:
        found += [Problem(shown, dotted(e["loc"]), e["msg"]) for e in error.errors()]
    tables = {name: data[name] for name in TABLES if name in data}
    try:
        tables = with_presets(tables, project, shown, below=())
    except InputError as error:
        found += error.problems
        tables = {name: table for name, table in tables.items() if not isinstance(table, str)}
    if "strategy" in tables:
        try:
            Scenario.model_validate({"workload": PROBE} | tables)
        except ValidationError as error:
            found += [Problem(shown, dotted(e["loc"]), e["msg"]) for e in error.errors()]
    if found:
        raise InputError(list(dict.fromkeys(found)))
    return data | tables


def laid_over(below: Tables, above: Tables) -> Tables:
    """Lay tables over others: key by key, but laws and crash processes as a whole."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, dict) and isinstance(under, dict) and not {*WHOLE} & {*value, *under}:
            value = laid_over(under, value)
        merged[key] = value
    return merged


def strategy_of(system: Tables, own: Tables) -> Tables:
    """Give the strategy of a system with keys of one's own, which win.

    Parameters
    ----------
    system : dict
        What `read_system` gave.
    own : dict
        Keys of a strategy. A protocol takes the place of all the system's lists of verbs; a single list takes
        the place of its namesake.
    """
    given: Tables = system["strategy"]
    if "protocol" in own:
        return {key: value for key, value in given.items() if key not in FORM} | own
    if "protocol" in given:
        rest = {key: value for key, value in given.items() if key != "protocol"}
        given = PROTOCOLS[given["protocol"]] | rest
    return given | own


def scenario_with(base: Tables, system: Tables, own: Tables | None = None) -> Tables:
    """Lay the tables of a system over those of a scenario.

    Parameters
    ----------
    base : dict
        Tables of a scenario, without names of files.
    system : dict
        What `read_system` gave.
    own : dict, optional
        Keys of a strategy that win over the system's.
    """
    tables = {name: system[name] for name in TABLES if name in system and name != "strategy"}
    return laid_over(base, tables) | {"strategy": strategy_of(system, own or {})}


def build(
    system: str | Path, project: Path, scenario: Tables, strategy: Tables | None = None, **tables: Any
) -> Scenario:
    """Build the scenario of a system.

    Parameters
    ----------
    system : str or Path
        As for `read_system`.
    project : Path
        Folder that holds ``experiments/``.
    scenario : dict
        What the system works in, as in ``[scenario]`` of an experiment: a workload, a crash process and so
        on, or their names. The system's own tables win over it.
    strategy : dict, optional
        Keys of a strategy that win over the system's.
    **tables
        Parts of a scenario that win over the system's, such as ``receiver="stripe-v1"``.

    Raises
    ------
    InputError
        With every mistake found.
    """
    data = read_system(system, project)
    with files_in(project / EXPERIMENTS):
        base = with_presets(scenario, project, "scenario", below=())
        above = with_presets(tables, project, "scenario", below=())
        try:
            return Scenario.model_validate(laid_over(scenario_with(base, data, strategy), above))
        except ValidationError as error:
            raise InputError(
                [Problem(str(system), dotted(e["loc"]), e["msg"]) for e in error.errors()]
            ) from None
