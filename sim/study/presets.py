"""Parts of a scenario that can be named: files of experiments/ with a workload, a receiver and so on."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_core import ValidationError

from sim.crashes import PROCESSES, parse_process
from sim.services import Outages, Receiver, Store
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS
from sim.supervision import Downtime
from sim.validation import Key, allowed_instead
from sim.workload import Workload

PRESETS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "workload": ("workloads", Workload.model_validate),
    "crash": ("crashes", parse_process),
    "store": ("stores", Store.model_validate),
    "receiver": ("receivers", Receiver.model_validate),
    "provider": ("providers", Outages.model_validate),
    "downtime": ("downtimes", Downtime.model_validate),
}
"""Parts of a scenario that may be named: their folder in experiments/, and what checks a file of it."""

DEEPEST = 50
"""How many tables and lists of a file may stand in one another."""


def read_toml(file: Path, shown: str) -> dict[str, Any]:
    """Read a TOML file; what is wrong with it becomes an `InputError`."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        if _depth(tables) <= DEEPEST:
            return tables
        wrong = f"is nested too deeply: at most {DEEPEST} tables and lists in one another."
    except OSError as error:
        wrong = f"cannot be read: {error.strerror}."
    except UnicodeDecodeError:
        wrong = "is not UTF-8 text."
    except RecursionError:
        wrong = f"is nested too deeply: at most {DEEPEST} tables and lists in one another."
    except ValueError as error:  # also of a number of thousands of digits
        wrong = f"is not TOML: {error}."
    raise InputError([Problem(shown, "", wrong)])


def _depth(value: Any) -> int:
    """How many tables and lists stand in one another."""
    depth, level = 0, [value]
    while level := [part for part in level if isinstance(part, (dict, list))]:
        depth += 1
        level = [part for above in level for part in (above.values() if isinstance(above, dict) else above)]
    return depth


def dotted(key: Key) -> str:
    """Show a key as TOML writes it."""
    return ".".join(f'"{part}"' if "." in str(part) or " " in str(part) else str(part) for part in key)


def with_presets(
    scenario: dict[str, Any], project: Path, shown: str, below: Key = ("scenario",)
) -> dict[str, Any]:
    """Put the files of named parts in the place of their names.

    Parameters
    ----------
    scenario : dict
        Tables of a scenario; a text stands for a file.
    project : Path
        Folder that holds ``experiments/``.
    shown : str
        The file that names them, for what is told of mistakes.
    below : tuple of str
        Key in that file that holds the tables.

    Raises
    ------
    InputError
        With every name that is not there and every mistake in the files.
    """
    scenario = dict(scenario)
    found: list[Problem] = []
    for key, (folder, check) in PRESETS.items():
        name = scenario.get(key)
        if isinstance(name, str) and not (key == "crash" and name in PROCESSES):
            try:
                at = dotted((*below, key))
                scenario[key] = _preset(key, name, project / EXPERIMENTS / folder, check, shown, at)
            except InputError as error:
                found.extend(error.problems)
    if found:
        raise InputError(found)
    return scenario


def _preset(
    key: str, name: str, folder: Path, check: Callable[[Any], Any], shown: str, at: str
) -> dict[str, Any]:
    """Read and check a preset by its name."""
    known = sorted(file.stem for file in folder.glob("*.toml"))
    if name not in known:
        allowed = [*known, *PROCESSES] if key == "crash" else known
        sentence = f"{name!r} is no {key}; {allowed_instead(name, allowed)}"
        raise InputError([Problem(shown, at, sentence)])
    file = f"{EXPERIMENTS}/{folder.name}/{name}.toml"
    data = read_toml(folder / f"{name}.toml", file)
    try:
        check(data)
    except ValidationError as error:
        raise InputError([Problem(file, dotted(e["loc"]), e["msg"]) for e in error.errors()]) from None
    return data
