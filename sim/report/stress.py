"""The STRESS-DES checklist (Monks and others 2019), filled in from code, experiment files and results.

No number is typed here, and an item that says nothing is refused.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path
from textwrap import shorten
from types import ModuleType
from typing import Any

from sim import conditional, events, outcomes, streams, ticks, timeline
from sim.crashes import PROCESSES
from sim.estimate import METRICS
from sim.report import reality
from sim.report.answers import number
from sim.report.tables import LABELS, Table
from sim.scenario import Limits
from sim.strategy import PROTOCOLS, VERBS
from sim.streams import BLOCK
from sim.study.chunks import CHECKED
from sim.study.config import Factor, Plan
from sim.study.errors import InputError, Problem
from sim.study.made import read
from sim.study.precision import MARGIN, PILOT_RUNS
from sim.study.presets import PRESETS, read_toml
from sim.study.provenance import MANIFEST
from sim.study.systems import names
from sim.ticks import PER_SECOND

CITATION = "CITATION.cff"

SENTENCE = re.compile(r"(?<=[.:]) (?=[A-Z][a-z])")
"""Where another sentence begins."""

SHOWN = 90
"""Characters of the values of a factor that are shown."""


@dataclass(frozen=True)
class Item:
    """An item of the checklist: its name, and what is to be said, with a table perhaps."""

    name: str
    text: str
    table: Table | None = None


@dataclass(frozen=True)
class Part:
    """A part of the checklist."""

    title: str
    items: list[Item]


@dataclass(frozen=True)
class Study:
    """What is told of: a project, its results, and the experiments in them."""

    project: Path
    results: Path
    plans: list[Plan]


def checklist(project: Path, results: Path, plans: list[Plan]) -> list[Part]:
    """Fill in all items, in the order of the guidelines.

    Parameters
    ----------
    project, results : Path
        Folders.
    plans : list of Plan
        Experiments that have results.

    Raises
    ------
    InputError
        Naming every item that says nothing.
    """
    study = Study(project, results, plans)
    parts = [
        Part(title, [_filled(name, fill(study)) for name, fill in items.items()])
        for title, items in ITEMS.items()
    ]
    refuse_empty(parts)
    return parts


def refuse_empty(parts: list[Part]) -> None:
    """Refuse items that say nothing.

    Raises
    ------
    InputError
        Naming all of them.
    """
    empty = [f"{part.title}: {item.name}" for part in parts for item in part.items if not item.text.strip()]
    if empty:
        sentence = "says nothing, and every item of the checklist is to be filled in."
        raise InputError([Problem("STRESS-DES", name, sentence) for name in empty])


def _filled(name: str, said: str | tuple[str, Table]) -> Item:
    text, table = said if isinstance(said, tuple) else (said, None)
    return Item(name, " ".join(text.split()), table)


def _purpose(study: Study) -> str:
    asked = " ".join(f"({_plain(plan.experiment.question)})" for plan in study.plans[:2])
    return (
        "To say what a crash costs a run of an AI agent, in repeated and lost actions, redone work, tokens "
        "and time, and which protection removes which part of it, under stated crash laws. The experiments "
        f"ask {len(study.plans)} questions, such as: {asked}"
    )


def _outputs(study: Study) -> str:
    asked = list(dict.fromkeys(metric for plan in study.plans for metric in plan.experiment.headline))
    said = "; ".join(f"{LABELS.get(metric, metric)} ({METRICS[metric].description})" for metric in asked)
    return (
        f"The unit of analysis is a run. {len(METRICS)} metrics are estimated in every cell; those that "
        f"answer a question are: {said}. {_paragraph(outcomes, 1)}"
    )


def _aims(study: Study) -> tuple[str, Table]:
    rows = [row for plan in study.plans for row in _factors(plan)]
    table = Table("Factors of the experiments", ["experiment", "factor", "base", "values"], rows)
    compared = "; ".join(f"{plan.name}: {', '.join(plan.experiment.strategies)}" for plan in study.plans)
    return (
        "Strategies are compared with one another on common random numbers, over the factors below; "
        "nothing is optimised but the time between saves, which is compared with its exact optimum. "
        f"Strategies of the experiments: {compared}.",
        table,
    )


def _diagram(_: Study) -> str:
    return (
        "The anatomy of a step that acts is the first figure of this paper: its phases, the marks between "
        "them, and where a crash leads back to. The base model is the strategy that acts and then saves."
    )


def _logic(_: Study) -> str:
    return f"{_opening(events)} {_paragraph(events, 1)}"


def _scenarios(study: Study) -> str:
    return (
        "A strategy differs from another by its lists of verbs, for a plain step and for one that acts, "
        f"and by where a save lets a recovery resume. Those with a name are {', '.join(PROTOCOLS)}; the "
        "table of strategies has their lists. Systems are scenarios too: "
        f"{', '.join(names(study.project)) or 'none'}."
    )


def _algorithms(_: Study) -> str:
    return (
        "After a crash the supervisor notices the silence, starts a worker again, and the worker loads "
        "what is durable and resumes at the verb that the last durable save names. A key is made of run "
        "and step, or of what the strategy says, and the receiver answers a known key without acting. A "
        "call is tried again by the client's layers of retries, which multiply. A run is given up after "
        f"{Limits().attempts:,} attempts, or {Limits().tries:,} tries of one call, and counts as stuck. "
        f"{_paragraph(timeline, 1)}"
    )


def _entities(_: Study) -> str:
    return (
        "A run, with its steps (work, tokens, group, and whether it acts); a worker, one an attempt; a "
        "request, with its key and arguments; a save, with what it makes durable."
    )


def _activities(_: Study) -> str:
    verbs = " ".join(f"{name.capitalize()}: {_lowered(_line(cls))}" for name, cls in VERBS.items())
    return f"What a worker does, by verb. {verbs} Downtime: detection, restart and load."


def _resources(_: Study) -> str:
    return (
        "The store of progress, the receiver of actions with its ledger and its table of keys, and what "
        "does the work, which may have outages. None is shared between runs, so a run never waits for "
        "another one: capacity is taken to be large enough."
    )


def _queues(_: Study) -> str:
    return (
        "Saves behind the work wait in lanes, first in, first out, with a bound or in batches where a "
        "strategy says so; entries of an outbox wait for the relay's next look. There is no other queue."
    )


def _entry(_: Study) -> str:
    return (
        "A run enters with its first step and leaves when its last step and its last save are done, or "
        "when it is given up. A receiver settles what was sent before its actions are counted as lost."
    )


def _sources(study: Study) -> tuple[str, Table]:
    rows = []
    for folder, _ in PRESETS.values():
        for file in sorted((study.project / "experiments" / folder).glob("*.toml")):
            said = _plain(str(read_toml(file, file.name).get("source", "")))
            if said:
                rows.append([f"{folder}/{file.stem}", SENTENCE.split(said)[0].rstrip(".")])
    return (
        "What parameters come from, and what of them is assumed, stands in their files. The table has the "
        "beginning of what each file says.",
        Table("Sources", ["file", "source"], rows),
    )


def _processing(study: Study) -> str:
    trials = [trial.facts["title"] for trial in reality.trials(study.results)]
    return (
        "Traces become laws by maximum likelihood with censoring (savegap fit), ranked by AIC; published "
        "fits are taken as they are published. Latencies of stores are measured while as many runs are at "
        f"work as later ({', '.join(trials) or 'no trial is in these results'})."
    )


def _parameters(study: Study) -> tuple[str, Table]:
    rows = [[plan.name, "; ".join(_settings(plan.experiment.scenario))] for plan in study.plans]
    return (
        "Base values of each experiment, in seconds; ranges are in the table of factors above. What is not "
        "set stands at the value that its field says, which for times is none.",
        Table("Base values", ["experiment", "scenario"], rows),
    )


def _assumptions(_: Study) -> str:
    processes = ", ".join(PROCESSES)
    return (
        "A worker stops at once when it crashes and does nothing wrong before. What is durable stays so; "
        "where a save has one slot, one that a crash cuts short leaves nothing. Marks take no time. When a "
        "crash and a mark fall on the same tick, the mark has happened. A step that is done again takes a "
        "time of its own. Runs are independent of one another. What a key table has forgotten it does not "
        f"know. Crashes come by one of the processes {processes}, which the table of crash processes tells "
        "of."
    )


def _initial(_: Study) -> str:
    return (
        "A run begins at its first step with nothing saved and ends by itself, so it has no steady state "
        "and no warm-up. The age of the crash clock when it begins is a parameter of the crash process: "
        "fresh, in equilibrium, or given."
    )


def _length(_: Study) -> str:
    return (
        f"A run ends when it is finished or given up ({Limits().attempts:,} attempts, unless an experiment "
        "says otherwise). Runs that were given up are counted, and left out of the makespan alone."
    )


def _estimation(study: Study) -> str:
    asked = [plan.experiment.precision for plan in study.plans if plan.experiment.precision]
    relative = sorted({goal.relative for goal in asked})
    shares = ", ".join(f"{100 * each:g} %" for each in relative)
    said = f" ({shares} of the estimate)" if shares else ""
    return (
        f"A pilot of {PILOT_RUNS:,} runs, which are not used again, tells how many a cell needs for the "
        f"precision that its experiment asks for{said}; {number(MARGIN)} times as many are run, in blocks "
        f"of {BLOCK:,}, and no interval is looked at in between. {_opening(conditional)} Contrasts are "
        "paired, and their intervals hold together (Bonferroni)."
    )


def _software(study: Study) -> str:
    known = read(study.results / MANIFEST).get("versions", {})
    said = ", ".join(f"{name} {version}" for name, version in known.items())
    return (
        f"Python and SimPy; the results were made with {said or 'versions that no manifest names'}. A lock "
        "of all versions with their digests comes with the source."
    )


def _random(study: Study) -> str:
    seeds = ", ".join(str(seed) for seed in sorted({plan.experiment.seed for plan in study.plans}))
    return (
        f"{_opening(streams)} {_paragraph(streams, 1)} Every time is drawn by inversion of its law, from "
        f"one uniform number. Seeds: {seeds or 'none'}."
    )


def _execution(_: Study) -> str:
    return (
        f"The model of record is process interaction in SimPy; time is {PER_SECOND:,} whole ticks a second. "
        f"{_opening(ticks)} The same runs are simulated as arrays as well, and the first {CHECKED} of every "
        "strategy in every cell by both engines where both can, which must agree on every outcome. Blocks of "
        "replications run in parallel; neither their number nor their order changes a digit."
    )


def _system(study: Study) -> str:
    facts = [trial.facts for trial in reality.trials(study.results)]
    machines = "; ".join(
        f"{each['processors']} processors ({each['processor']}), {each['system']}, Python {each['python']}"
        for each in facts
    )
    return (
        "The digits of the simulation do not depend on the machine. What was measured on real processes "
        f"was measured on: {machines or 'no machine, since no trial is in these results'}."
    )


def _sharing(study: Study) -> str:
    file = study.project / CITATION
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    known = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith((" ", "-")))
    said = ", ".join(f"{key} {known[key]}" for key in ("license", "version") if key in known)
    return (
        f"Model, experiments, results and this text are one source tree ({said or 'none'}). “make "
        "reproduce” makes the results again, but for what was measured, and “make paper” this text."
    )


ITEMS: dict[str, dict[str, Callable[[Study], str | tuple[str, Table]]]] = {
    "Objectives": {
        "Purpose of the model": _purpose,
        "Model outputs": _outputs,
        "Experimentation aims": _aims,
    },
    "Logic": {
        "Base model overview diagram": _diagram,
        "Base model logic": _logic,
        "Scenario logic": _scenarios,
        "Algorithms": _algorithms,
        "Components: entities": _entities,
        "Components: activities": _activities,
        "Components: resources": _resources,
        "Components: queues": _queues,
        "Components: entry and exit points": _entry,
    },
    "Data": {
        "Data sources": _sources,
        "Pre-processing": _processing,
        "Input parameters": _parameters,
        "Assumptions": _assumptions,
    },
    "Experimentation": {
        "Initialisation": _initial,
        "Run length": _length,
        "Estimation approach": _estimation,
    },
    "Implementation": {
        "Software or programming language": _software,
        "Random sampling": _random,
        "Model execution": _execution,
        "System specification": _system,
    },
    "Code access": {"Computer model sharing statement": _sharing},
}
"""The items of STRESS-DES, in their order, and what fills each in."""


def _opening(module: ModuleType) -> str:
    return _paragraph(module, 0)


def _paragraph(module: ModuleType, place: int) -> str:
    """Give a paragraph of what a module says of itself."""
    return _plain((getdoc(module) or "").split("\n\n")[place])


def _line(described: object) -> str:
    """Give the first line of what something says of itself."""
    return _plain((getdoc(described) or "").split("\n")[0])


def _plain(text: str) -> str:
    """Leave out what marks words, and breaks of lines."""
    return " ".join(text.replace("`", "").replace("*", "").split())


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _factors(plan: Plan) -> Iterator[list[str]]:
    """Give a row for each factor that an experiment varies."""
    for key, base in plan.base.items():
        values = list(dict.fromkeys(cell.factors[key] for cell in plan.cells))
        if len(values) > 1:
            yield [plan.name, key, _written(base), _span(values)]


def _span(values: list[Factor]) -> str:
    """Write all values, or the least and the greatest of many numbers."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    known = [value for value in values if value is not None]
    if len(numbers) == len(known) and len(numbers) > 2:
        return f"{_written(min(numbers))} to {_written(max(numbers))} ({len(numbers)} values)"
    return shorten(", ".join(map(_written, known)), SHOWN, placeholder=" …")


def _written(value: Factor) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.10g}"


def _settings(scenario: dict[str, Any], at: str = "") -> Iterator[str]:
    """Write the values of a scenario, a law of times as one of them."""
    for key, value in scenario.items():
        if isinstance(value, dict) and "law" not in value:
            yield from _settings(value, f"{at}{key}.")
        else:
            yield f"{at}{key} = {_in_a_row(value)}"


NAMING = ("law", "process")
"""Keys whose value is the name of what a table describes."""


def _in_a_row(value: Any) -> str:
    if isinstance(value, dict):
        parts = ((key, _in_a_row(part)) for key, part in value.items())
        return ", ".join(part if key in NAMING else f"{key} {part}" for key, part in parts)
    if isinstance(value, list):
        return ", ".join(map(_in_a_row, value))
    return _written(value)
