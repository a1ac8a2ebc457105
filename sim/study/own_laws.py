"""A project's own laws: `experiments/laws/*.py`, each with classes decorated by `@law("name")`.

They are loaded with the experiments, held to the quick part of their contract, and then known by name like
the laws that come along. Files whose names begin with an underscore are left alone.
"""

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any

from sim.contract import examine
from sim.laws import LAWS, Law
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS

FOLDER = "laws"
SHOWN_AT_LOAD = 3
"""Findings of a law that are told when experiments are loaded; `savegap laws check` tells all."""


@dataclass(frozen=True)
class Loaded:
    """A file of laws as it was when it was loaded."""

    state: tuple[int, int]
    names: tuple[str, ...]


_loaded: dict[Path, Loaded] = {}


def folder_of(project: Path) -> Path:
    """Folder of a project's own laws."""
    return project / EXPERIMENTS / FOLDER


def origin(name: str) -> Path | None:
    """File that a law was loaded from; None for one that comes along."""
    return next((file for file, loaded in _loaded.items() if name in loaded.names), None)


def load_laws(project: Path, but: Path | None = None) -> None:
    """Make a project's own laws known by name, and forget those of any other project.

    A file that was loaded and has not changed since is left as it is.

    Parameters
    ----------
    project : Path
        Folder that holds ``experiments/``.
    but : Path, optional
        A file of it that shall not be loaded.

    Raises
    ------
    InputError
        With a problem for every file that cannot be loaded and every law that does not keep its contract.
    """
    folder = folder_of(project).resolve()
    files = [file for file in sorted(folder.glob("*.py")) if not file.name.startswith("_") and file != but]
    for file in [*_loaded]:
        if file not in files or _loaded[file].state != _state(file):
            forget(file)
    problems: list[Problem] = []
    for file in files:
        if file in _loaded:
            continue
        shown = f"{EXPERIMENTS}/{FOLDER}/{file.name}"
        try:
            laws = load_file(file, shown)
        except InputError as error:
            problems += error.problems
            continue
        found = [
            Problem(shown, cls.name, f"{finding} See: savegap laws check {shown}")
            for cls in laws
            for finding in examine(cls, quick=True)[:SHOWN_AT_LOAD]
        ]
        if found:
            forget(file)
        problems += found
    if problems:
        raise InputError(problems)


def load_file(file: Path, shown: str) -> list[type[Law]]:
    """Load a file of laws, without a check of their contract.

    Returns
    -------
    list of type
        The laws that it registered, at least one.

    Raises
    ------
    InputError
        If it does not import, or registers nothing; it then leaves no trace.
    """
    name = f"{EXPERIMENTS}.{FOLDER}.{file.stem}"
    known = {*LAWS}
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        state = _state(file)
        spec.loader.exec_module(module)
        names = tuple(law for law in LAWS if law not in known)
        if not names:
            raise InputError([Problem(shown, "", 'holds no law; decorate a class with @law("name").')])
    except BaseException as error:
        for law in {*LAWS} - known:
            del LAWS[law]
        del sys.modules[name]
        if isinstance(error, Exception) and not isinstance(error, InputError):
            raise InputError([Problem(shown, "", _in_words(error, file))]) from None
        raise
    # Another process has no such module: what is sent there takes the class along.
    _pickler().register_pickle_by_value(module)
    _loaded[file] = Loaded(state, names)
    return [LAWS[law] for law in names]


def _pickler() -> Any:
    """What joblib sends things to other processes with: a part of it, or beside it since its version 1.6."""
    try:
        return importlib.import_module("joblib.externals.cloudpickle")
    except ImportError:
        return importlib.import_module("cloudpickle")


def forget(file: Path) -> None:
    """Let the laws of a file be unknown again."""
    loaded = _loaded.pop(file, None)
    for law in loaded.names if loaded else ():
        del LAWS[law]


def _state(file: Path) -> tuple[int, int]:
    """What differs once a file was changed."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _in_words(error: Exception, file: Path) -> str:
    """Say where and why a file does not import."""
    if isinstance(error, SyntaxError):
        return f"is no Python: line {error.lineno}: {error.msg}."
    if isinstance(error, OSError) and error.filename == str(file):
        return f"cannot be read: {error.strerror}."
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
    line = f"line {lines[-1]}: " if lines else ""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return f"cannot be imported: {line}{kind}{str(error).rstrip('.')}."
