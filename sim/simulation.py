"""Replications of a scenario, as a table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from sim import conditional, events, timeline
from sim.program import Program, unfold
from sim.scenario import Scenario
from sim.streams import BLOCK, Streams
from sim.timeline import Columns, Timetable

if TYPE_CHECKING:
    import pandas as pd


Engine = Literal["auto", "events", "timeline"]


def blocks(n: int) -> Iterator[tuple[int, int]]:
    """Cut n replications into blocks: (number, size) of each."""
    for number in range(-(-n // BLOCK)):
        yield number, min(BLOCK, n - number * BLOCK)


def choose(engine: Engine, program: Program) -> Literal["events", "timeline"]:
    """Say which engine simulates a program.

    Parameters
    ----------
    engine : str
        ``events``; ``timeline``, which is much faster; or ``auto``: timeline if it can, else events. Both
        give the same outcomes.
    program : Program
        What the runs walk through.

    Raises
    ------
    ValueError
        If there is no such engine, or it cannot simulate the program.
    """
    if engine not in ("auto", "events", "timeline"):
        raise ValueError(f"engine must be auto, events or timeline, not {engine!r}.")
    why_not = timeline.cannot(program)
    if engine == "timeline" and why_not:
        raise ValueError(why_not)
    return "events" if engine == "events" or why_not else "timeline"


def simulate_block(
    program: Program, draws: Streams, engine: Engine = "auto", conditionally: bool = False
) -> Columns:
    """Simulate the replications of a block.

    Parameters
    ----------
    program : Program
        What the runs walk through.
    draws : Streams
        The block's random numbers; their size is the number of replications.
    engine : str
        As for `choose`.
    conditionally : bool
        Whether to add the columns of `sim.conditional` where the timeline engine simulates and they exist.

    Returns
    -------
    dict of str to ndarray, shape (replications,)
        As named in `sim.outcomes.OUTCOMES`.
    """
    if choose(engine, program) == "events":
        return events.simulate_block(program, draws).columns
    timetable = Timetable(program, draws)
    columns = timeline.simulate(timetable, timetable.plan())
    return columns | ((conditional.columns(timetable) or {}) if conditionally else {})


def disagreement(expected: Columns, found: Columns) -> tuple[int, str] | None:
    """Compare the outcomes that the events and the timeline engine give for the same runs.

    Wasted tokens are sums of fractions, and may differ in the last digits.

    Returns
    -------
    (int, str) or None
        The first run that differs, and a sentence with the column and both values; None if all agree.
    """
    differing = []
    for name, values in expected.items():
        tolerance = 1e-9 if name == "wasted_tokens" else 0
        same = np.isclose(found[name], values, rtol=tolerance, atol=0, equal_nan=True)
        if not same.all():
            row = int(same.argmin())
            sentence = (
                f"{name} is {values[row]} on the events engine and {found[name][row]} on the timeline engine."
            )
            differing.append((row, sentence))
    return min(differing, default=None)


def check_engines(program: Program, seed: int, size: int) -> tuple[int, str] | None:
    """Simulate the first replications on both engines, and say where they differ.

    Parameters
    ----------
    program : Program
        What the runs walk through.
    seed, size : int
        Seed; how many replications, at most those of a block.

    Returns
    -------
    (int, str) or None
        As `disagreement`; None too if the timeline engine cannot simulate the program.
    """
    if timeline.cannot(program):
        return None
    return disagreement(
        events.simulate_block(program, Streams(seed, 0, size)).columns,
        timeline.simulate_block(program, Streams(seed, 0, size)),
    )


def simulate(scenario: Scenario, n: int, seed: int, engine: Engine = "auto") -> "pd.DataFrame":
    """Simulate n independent replications of one agent run.

    Parameters
    ----------
    scenario : Scenario
        What to simulate.
    n : int
        Number of replications, at least 1. More replications extend fewer: the first rows stay.
    seed : int
        Seed, at least 0. Scenarios simulated with one seed share their random numbers replication by
        replication, so that differences between them are paired.
    engine : str
        ``auto``, ``events`` or ``timeline``, as `choose` says. It changes no outcome but the last digits of
        wasted tokens.

    Returns
    -------
    pandas.DataFrame
        A row a replication, columns as in `sim.outcomes.OUTCOMES`, times in seconds.

    Raises
    ------
    ValueError
        If n or seed is out of range, or the engine cannot simulate the scenario.
    """
    import pandas as pd

    if n < 1 or seed < 0:
        raise ValueError(f"n must be at least 1 and seed at least 0, not {n} and {seed}.")
    program = unfold(scenario)
    parts = [simulate_block(program, Streams(seed, *block), engine) for block in blocks(n)]
    return pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
