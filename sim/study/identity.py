"""What determines an outcome, as a digest: a result is kept under the digest of all that it follows from.

Of the program that is the syntax of the modules that have a part in it, so that a comment changes nothing; of
a scenario what it says, without titles and sources. A project's own law goes in with the syntax of its file.
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel

PACKAGE = "sim"
ROOT = Path(__file__).parents[1]

PROSE = ("title", "source")
"""Fields that tell a reader something, and an outcome nothing."""

NUMERICAL = ("numpy", "scipy", "simpy")
"""Packages whose versions may change the last digits of an outcome."""


def digest(what: Any) -> str:
    """Give the digest of something that JSON can hold."""
    text = json.dumps(what, separators=(",", ":"), sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def of_file(file: Path) -> str:
    """Give the digest of a file's content; "" if it is not there."""
    return blake2b(file.read_bytes(), digest_size=16).hexdigest() if file.is_file() else ""


def content(part: Any) -> Any:
    """Say what a part of a scenario is, as something that JSON can hold.

    Models are told with their classes: two laws may have the same parameters.
    """
    if isinstance(part, BaseModel):
        fields = {name: content(getattr(part, name)) for name in type(part).model_fields if name not in PROSE}
        return [type(part).__name__, fields, *_own_files(type(part))]
    if isinstance(part, dict):
        return {str(key): content(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [content(item) for item in part]
    return part if part is None or isinstance(part, (str, int, float, bool)) else str(part)


def _own_files(cls: type) -> list[str]:
    """Give the syntax of the files outside the package that a class comes from, as digests."""
    modules = {base.__module__ for base in cls.__mro__}
    own = sorted(
        inspect.getfile(sys.modules[name]) for name in modules if name.startswith("experiments.laws")
    )
    beside = [helper for file in own for helper in sorted(Path(file).parent.glob("_*.py"))]
    return [_syntax(file, Path(file).stat().st_mtime_ns) for file in map(str, [*own, *beside])]


@cache
def code(*roots: str) -> dict[str, str]:
    """Give the syntax of modules of the package and of all that they import from it, as digests by module.

    Parameters
    ----------
    *roots : str
        Names of modules, such as ``sim.simulation``.
    """
    found: dict[str, str] = {}
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in found:
            file = str(_file_of(name))
            found[name] = _syntax(file, 0)
            todo.extend(_imported(ast.parse(Path(file).read_bytes())))
    return dict(sorted(found.items()))


@cache
def versions() -> dict[str, str]:
    """Give the versions of the packages that have a part in the digits of outcomes."""
    return {name: metadata.version(name) for name in NUMERICAL}


def _file_of(module: str) -> Path | None:
    """Give the file of a module of the package; None if there is no such module."""
    place = ROOT.parent.joinpath(*module.split("."))
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Name the modules of the package that a module imports when it runs; not the package as a whole."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            yield from _imported(node)
            continue
        yield from (name for name in names if name.startswith(f"{PACKAGE}.") and _file_of(name))


@cache
def _syntax(file: str, _changed: int) -> str:
    return digest(_dumped(ast.parse(Path(file).read_bytes())))


def _dumped(node: Any) -> Any:
    """Write a syntax tree without places, docstrings and what differs between versions of Python."""
    if isinstance(node, list):
        return [_dumped(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: _dumped(value) for name, value in ast.iter_fields(node) if value not in (None, [])}
    fields.pop("ctx", None)
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
        fields["body"] = fields["body"][1:]
    return [type(node).__name__, fields]
