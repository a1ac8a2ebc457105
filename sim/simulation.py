"""Replications of a scenario, as a table."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from sim import events, timeline
from sim.program import Program, unfold
from sim.scenario import Scenario
from sim.streams import BLOCK, Streams

if TYPE_CHECKING:
    import pandas as pd


Engine = Literal["auto", "events", "timeline"]
Columns = dict[str, NDArray[np.generic]]


def blocks(n: int) -> Iterator[tuple[int, int]]:
    """Cut n replications into blocks: (number, size) of each."""
    for number in range(-(-n // BLOCK)):
        yield number, min(BLOCK, n - number * BLOCK)


def choose(engine: Engine, program: Program) -> Callable[[Program, Streams], Columns]:
    """Give the engine that simulates the blocks of a program.

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
    if engine == "events" or why_not:
        return lambda program, draws: events.simulate_block(program, draws).columns
    return timeline.simulate_block


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
    simulate_block = choose(engine, program)
    parts = [simulate_block(program, Streams(seed, *block)) for block in blocks(n)]
    return pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
