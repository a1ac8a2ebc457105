"""Numbers taken apart: which replications are behind one, and what happened in each, event by event."""

import ast
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from sim import events
from sim.outcomes import OUTCOMES
from sim.program import unfold
from sim.scenario import Scenario
from sim.simulation import Engine, blocks, simulate_block
from sim.streams import BLOCK, Streams
from sim.study.config import Cell, Factor, Plan
from sim.study.errors import InputError, Problem
from sim.study.precision import PILOT
from sim.trace import Event, Trace, event
from sim.validation import allowed_instead

LAST = PILOT * BLOCK - 1
"""The last replication that there can be."""

Outcomes = dict[str, Any]

PARTS = (
    (ast.Expression, ast.Name, ast.Load, ast.Constant),
    (ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    (ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div),
    (ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)
"""What a condition may be made of."""


TRUTHS = ("finished", "stuck")
"""Outcomes that hold of a run or do not; all others are numbers."""


def choose_cell(plan: Plan, given: list[str]) -> Cell:
    """Find a cell of an experiment.

    Parameters
    ----------
    plan : Plan
    given : list of str
        ``KEY=VALUE`` as in the tables; keys that are not given stand where the sweep does not move them.

    Raises
    ------
    InputError
        If there is no such cell, with what there is.
    """
    said: dict[str, Factor] = {}
    for text in given:
        key, said_value, value = text.partition("=")
        if not said_value:
            raise InputError([Problem("--cell", text, "is no KEY=VALUE, such as crash.law.mean=60.")])
        if key not in plan.base:
            sentence = f"{key!r} is no swept key of {plan.name}; {allowed_instead(key, plan.base)}"
            raise InputError([Problem("--cell", text, sentence)])
        there = {written(cell.factors[key]): cell.factors[key] for cell in plan.cells}
        if value not in there:
            sentence = f"{value!r} is no value of it; {allowed_instead(value, there)}"
            raise InputError([Problem("--cell", key, sentence)])
        said[key] = there[value]
    wanted = [cell for cell in plan.cells if cell.factors == plan.base | said]
    wanted = wanted or [cell for cell in plan.cells if said.items() <= cell.factors.items()]
    if len(wanted) == 1:
        return wanted[0]
    if not wanted:
        raise InputError([Problem("--cell", "", f"no cell of {plan.name} has these values together.")])
    left = [key for key in plan.base if len({written(cell.factors[key]) for cell in wanted}) > 1]
    values = dict.fromkeys(written(cell.factors[left[0]]) for cell in wanted)
    sentence = f"there are {len(wanted)} such cells; say {left[0]} too: {', '.join(values)}."
    raise InputError([Problem("--cell", "", sentence)])


def choose_strategies(plan: Plan, name: str | None) -> list[str]:
    """Give the strategy that was named, or all.

    Raises
    ------
    InputError
        If there is no such strategy.
    """
    names = list(plan.experiment.strategies)
    if name is not None and name not in names:
        sentence = f"{name!r} is no strategy of {plan.name}; {allowed_instead(name, names)}"
        raise InputError([Problem("--strategy", "", sentence)])
    return names if name is None else [name]


def written(value: Factor) -> str:
    """Write the value of a swept key as tables do."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def replay(scenario: Scenario, seed: int, replication: int) -> tuple[Trace, Outcomes]:
    """Run one replication again on the events engine.

    Parameters
    ----------
    scenario : Scenario
    seed, replication : int
        As in a study: it is the very same run.

    Returns
    -------
    (Trace, dict of str to value)
        What happened, and its outcomes as named in `sim.outcomes.OUTCOMES`.
    """
    block, row = divmod(replication, BLOCK)
    told: list[Event] = []
    tally = events.simulate_block(
        unfold(scenario), Streams(seed, block, row + 1), lambda *what: told.append(event(*what))
    )
    return Trace(tuple(told)), {name: values[-1].item() for name, values in tally.columns.items()}


def replay_command(
    experiment: str, base: dict[str, Factor], factors: dict[str, Factor], strategy: str, replication: int
) -> str:
    """Write the command that replays a replication, fit to be pasted.

    Parameters
    ----------
    experiment : str
    base, factors : dict of str to value
        The cell outside the sweeps, and the one that is meant; what they share is left out.
    strategy : str
    replication : int
    """
    apart = [f"--cell={key}={written(value)}" for key, value in factors.items() if base[key] != value]
    words = [
        "savegap",
        "replay",
        experiment,
        *apart,
        "--strategy",
        strategy,
        "--replication",
        str(replication),
    ]
    return shlex.join(words)


def matching(scenario: Scenario, seed: int, engine: Engine, n: int, condition: str) -> Iterator[pd.DataFrame]:
    """Search the replications of a scenario.

    Parameters
    ----------
    scenario : Scenario
    seed, n : int
        Seed, and how many replications to look at.
    engine : str
    condition : str
        As `check_condition` lets pass.

    Yields
    ------
    DataFrame
        Of each block the replications that match: the outcomes, with the number of the replication as index.
    """
    program = unfold(scenario)
    for block, size in blocks(n):
        columns = simulate_block(program, Streams(seed, block, size), engine)
        first = block * BLOCK
        table = pd.DataFrame({name: columns[name] for name in OUTCOMES if name in columns})
        table.index = pd.RangeIndex(first, first + size)
        chosen = np.broadcast_to(np.asarray(table.eval(condition, engine="python"), bool), (size,))
        yield table[chosen]


def check_condition(condition: str) -> list[str]:
    """Give the columns that a condition is over.

    Raises
    ------
    InputError
        If it is made of anything but outcomes, numbers, comparisons, sums, products, and, or, not.
    """
    try:
        tree = ast.parse(condition.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise InputError([Problem("--where", condition, f"is no condition: {reason}.")]) from None
    allowed = tuple(kind for kinds in PARTS for kind in kinds)
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in OUTCOMES:
            sentence = f"{node.id!r} is no outcome; {allowed_instead(node.id, OUTCOMES)}"
            raise InputError([Problem("--where", condition, sentence)])
        if not isinstance(node, allowed) or not _is_number(node):
            sentence = (
                "may be made of outcomes, numbers, < <= == != >= >, + - * /, and, or, not and brackets."
            )
            raise InputError([Problem("--where", condition, sentence)])
        names += [node.id] if isinstance(node, ast.Name) else []
        for part in _parts_that_hold_or_not(node):
            if not _holds_or_not(part):
                sentence = f"{ast.unparse(part)!r} is a number; compare it with something, such as > 1."
                raise InputError([Problem("--where", condition, sentence)])
    if not names or not _holds_or_not(tree.body):
        sentence = 'must compare an outcome with something, such as "duplicate_actions > 1".'
        raise InputError([Problem("--where", condition, sentence)])
    return list(dict.fromkeys(names))


def _parts_that_hold_or_not(node: ast.AST) -> list[ast.expr]:
    """Give the parts of `and`, `or` and `not`."""
    if isinstance(node, ast.BoolOp):
        return node.values
    return [node.operand] if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else []


def _holds_or_not(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in TRUTHS
    return isinstance(node, (ast.Compare, ast.BoolOp)) or bool(_parts_that_hold_or_not(node))


def _is_number(node: ast.AST) -> bool:
    return not isinstance(node, ast.Constant) or (
        isinstance(node.value, (int, float)) and abs(node.value) < 1e300
    )
