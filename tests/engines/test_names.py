"""Engines know verbs, never a strategy or a law."""

import ast
from pathlib import Path

import pytest

import sim
from sim.laws import LAWS
from sim.supervision import Downtime
from sim.strategy import PROTOCOLS, VERBS

ENGINE = ("events", "timeline", "outcomes", "program", "schedule")


def words(module: str) -> set[str]:
    """Give all names and texts of a module's code, but its docstrings."""
    tree = ast.parse((Path(sim.__file__).parent / f"{module}.py").read_text())
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            found.add(node.value)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


@pytest.mark.parametrize("module", ENGINE)
def test_no_engine_contains_the_name_of_a_strategy_or_law(module: str) -> None:
    classes = {cls.__name__ for cls in LAWS.values()} - {"Scaled"}  # work of another pace is no special case
    strategies = {*PROTOCOLS} - {*Downtime.model_fields}  # the supervisor may speak of a restart
    assert not words(module) & (strategies | {*LAWS} | classes)


def test_the_check_would_see_one() -> None:
    assert "query" in words("events") & {*VERBS}
    assert "Scaled" in words("program") & {cls.__name__ for cls in LAWS.values()}
