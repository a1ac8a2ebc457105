"""Replications of a scenario, as a table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sim.events import simulate_block
from sim.program import unfold
from sim.scenario import Scenario
from sim.streams import BLOCK, Streams

if TYPE_CHECKING:
    import pandas as pd


def blocks(n: int) -> Iterator[tuple[int, int]]:
    """Cut n replications into blocks: (number, size) of each."""
    for number in range(-(-n // BLOCK)):
        yield number, min(BLOCK, n - number * BLOCK)


def simulate(scenario: Scenario, n: int, seed: int) -> "pd.DataFrame":
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

    Returns
    -------
    pandas.DataFrame
        A row a replication, columns as in `sim.outcomes.OUTCOMES`, times in seconds.

    Raises
    ------
    ValueError
        If n or seed is out of range.
    """
    import pandas as pd

    if n < 1 or seed < 0:
        raise ValueError(f"n must be at least 1 and seed at least 0, not {n} and {seed}.")
    program = unfold(scenario)
    parts = [simulate_block(program, Streams(seed, *block)).columns for block in blocks(n)]
    joined: dict[str, NDArray[np.generic]] = {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0]
    }
    return pd.DataFrame(joined)
