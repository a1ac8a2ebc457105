"""A chunk of work: a block of replications of one cell, and the digest of all that determines its outcome."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim.program import unfold
from sim.scenario import Scenario
from sim.simulation import Engine, check_engines, simulate_block
from sim.streams import BLOCK, Streams
from sim.study.identity import code, content, digest, versions
from sim.sums import Sums
from sim.ticks import EndlessError
from sim.timeline import Columns

CHECKED = 64
"""How many runs of each strategy in each cell are simulated on both engines."""


class ReplicationError(Exception):
    """A replication could not be simulated, or the engines do not agree on it."""

    def __init__(self, strategy: str, replication: int, why: str) -> None:
        super().__init__(strategy, replication, why)
        self.strategy = strategy
        self.replication = replication
        self.why = why


def program_identity() -> str:
    """Give the digest of the program that simulates chunks."""
    return digest([code("sim.study.chunks"), versions()])


def scenarios_identity(scenarios: dict[str, Scenario]) -> str:
    """Give the digest of what a cell simulates under which names."""
    return digest([[name, content(scenario)] for name, scenario in scenarios.items()])


@dataclass(frozen=True)
class Chunk:
    """A block of runs of a cell under every strategy: what one process does at a time.

    Attributes
    ----------
    scenarios : dict of str to Scenario
        By strategy.
    identity : str
        Their digest.
    program : str
        Digest of the program that simulates them.
    engine : str
    seed, block, size : int
    """

    scenarios: dict[str, Scenario]
    identity: str
    program: str
    engine: Engine
    seed: int
    block: int
    size: int

    @cached_property
    def key(self) -> str:
        """What it is kept under."""
        return digest([self.identity, self.program, self.engine, self.seed, self.block, self.size])

    @property
    def runs(self) -> int:
        """Of all strategies together."""
        return self.size * len(self.scenarios)

    def simulate(self) -> Sums:
        """Simulate the runs, on common random numbers.

        Raises
        ------
        ReplicationError
            If a replication cannot be simulated, or the engines do not agree on one of the cell's first runs.
        """
        draws = Streams(self.seed, self.block, self.size)
        with np.errstate(all="ignore"):  # what does not exist is NaN, and no surprise
            return Sums.of(self._tables(draws))

    def _tables(self, draws: Streams) -> dict[str, Columns]:
        tables = {}
        for name, scenario in self.scenarios.items():
            try:
                tables[name] = self._columns(scenario, draws)
            except Exception as error:
                raise ReplicationError(name, self._first_failing(scenario), _in_words(error)) from None
        return tables

    def _columns(self, scenario: Scenario, draws: Streams) -> Columns:
        program = unfold(scenario)
        if self.block == 0 and (wrong := check_engines(program, self.seed, min(draws.size, CHECKED))):
            raise ValueError(f"the engines do not agree: {wrong[1]}")
        return simulate_block(program, draws, self.engine, conditionally=True)

    def _first_failing(self, scenario: Scenario) -> int:
        """Find the replication that fails: the last one of the fewest that fail together."""

        def fails(size: int) -> bool:
            try:
                self._columns(scenario, Streams(self.seed, self.block, size))
            except Exception:
                return True
            return False

        good, bad = 0, 1  # a run that fails by not ending takes long, and mostly the first one does
        while bad < self.size and not fails(bad):
            good, bad = bad, min(2 * bad, self.size)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (good, middle) if fails(middle) else (middle, bad)
        return self.block * BLOCK + bad - 1


def _in_words(error: Exception) -> str:
    """Say why a replication failed."""
    if isinstance(error, OverflowError):
        return "its times do not fit the clock, which ends after 146 years; set limits.makespan."
    if isinstance(error, (EndlessError, ValueError)):
        return str(error)
    return f"{type(error).__name__}: {error}"
