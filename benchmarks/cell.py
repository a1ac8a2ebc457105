"""Cells of a study; as a program, ``python -m benchmarks.cell 50000``, one cell with so many replications."""

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.scenarios import ROOT, SEED
from sim.study.config import Plan, load
from sim.study.kept import Kept
from sim.study.results import tables_of
from sim.study.running import Job
from sim.study.workers import Workers


def plan() -> Plan:
    """Read a shipped experiment: seven crash rates, three strategies."""
    return load(ROOT / "experiments" / "crash-rate.toml", ROOT)


def simulate(some: Plan, replications: int, jobs: int) -> None:
    """Simulate all cells of a plan, and keep their chunks for so long."""
    with TemporaryDirectory() as folder:
        tables_of(Job(some, SEED, replications), Kept(Path(folder)), Workers(jobs))


if __name__ == "__main__":
    whole = plan()
    middle = whole.cells[len(whole.cells) // 2]
    simulate(replace(whole, cells=[middle]), int(sys.argv[1]), jobs=1)
