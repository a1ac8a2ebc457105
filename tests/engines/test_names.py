"""Engines know verbs, never a strategy or a law."""

import ast
from pathlib import Path

import pytest

import sim
from sim.laws import LAWS
from sim.strategy import PROTOCOLS, VERBS
from sim.supervision import Downtime

ENGINE = ("timeline", "outcomes", "program", "schedule")
PICTURES = ("report/anatomy", "report/life", "report/lives", "report/windows", "report/worth")
EVENTS = [f"events/{file.stem}" for file in sorted((Path(sim.__file__).parent / "events").glob("*.py"))]


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


@pytest.mark.parametrize("module", [*ENGINE, *EVENTS])
def test_no_engine_contains_the_name_of_a_strategy_or_law(module: str) -> None:
    classes = {cls.__name__ for cls in LAWS.values()} - {"Equilibrium"}  # of whatever law
    strategies = {*PROTOCOLS} - {*Downtime.model_fields}  # the supervisor may speak of a restart
    assert not words(module) & (strategies | {*LAWS} | classes)


@pytest.mark.parametrize("module", PICTURES)
def test_no_picture_of_what_strategies_do_contains_the_name_of_one(module: str) -> None:
    assert not words(module) & {*PROTOCOLS}


def test_the_check_would_see_one() -> None:
    assert "query" in words("events/worker") & {*VERBS}
    assert "Equilibrium" in words("events/outage") & {cls.__name__ for cls in LAWS.values()}
