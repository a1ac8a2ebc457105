"""What one run lived through, from what the events engine wrote down and told of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sim import events
from sim.events.words import AGAIN, DIES, DURABLE, PERFORMS
from sim.outcomes import Log
from sim.program import Program, unfold
from sim.scenario import Scenario
from sim.simulation import simulate_block
from sim.streams import BLOCK, Streams
from sim.study.config import Cell, Plan
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS
from sim.ticks import PER_SECOND

KNOWN = "from its key table"
"""How that ends which a receiver tells of a repeat that it knew."""

CRASHES = 2
"""So many crashes at least has a run that shows something."""

BLOCKS = 4
"""In so many blocks of runs of a cell such a one is looked for."""


class Stretch(NamedTuple):
    """Time in one step without a break: which, whether it acts, and whether the run goes on from it."""

    step: int
    acts: bool
    begin_s: float
    end_s: float
    kept: bool


@dataclass(frozen=True)
class Life:
    """One run from begin to end, times in seconds.

    Attributes
    ----------
    stretches : list of Stretch
        What the workers did; between them nobody worked.
    crashes, saved : list of float
        When a worker died, and when a save was durable before the run ended.
    first, again, known : list of float
        When an action was performed for the first time, or again, or asked for again and known by its key.
    lost : list of int
        Steps whose action was never performed although the run finished.
    end_s : float
    finished : bool
    """

    stretches: list[Stretch]
    crashes: list[float]
    saved: list[float]
    first: list[float]
    again: list[float]
    known: list[float]
    lost: list[int]
    end_s: float
    finished: bool


def lived(scenario: Scenario, seed: int, replication: int) -> Life:
    """Run one replication again, and keep what it lived through.

    Parameters
    ----------
    scenario : Scenario
    seed, replication : int
        As in a study: it is the very same run.
    """
    program, log = unfold(scenario), Log()
    number, row = divmod(replication, BLOCK)
    draws = Streams(seed, number, row + 1)
    block = events.Block(program, draws, scenario.crash.plan(draws, events.marks(program, draws)))
    told: list[tuple[float, str]] = []
    events.Run(block, row, log, lambda tick, _, what, __: told.append((tick / PER_SECOND, what))).simulate()
    steps = np.flatnonzero(block.acts[row]).tolist()
    end_s = log.makespan[0] / PER_SECOND
    performed = {step for _, step in log.performed}
    return Life(
        stretches=list(_stretches(program, log)),
        crashes=[at for at, what in told if what.startswith(DIES)],
        saved=[at for at, what in told if what == DURABLE and at <= end_s],
        first=[at for at, what in told if what.startswith(PERFORMS) and not what.startswith(AGAIN)],
        again=[at for at, what in told if what.startswith(AGAIN)],
        known=[at for at, what in told if what.endswith(KNOWN)],
        lost=[step for step in steps if step not in performed] if log.finished[0] else [],
        end_s=end_s,
        finished=log.finished[0],
    )


def _stretches(program: Program, log: Log) -> Iterator[Stretch]:
    """Join the phases of each step in each attempt; what a crash throws away apart from what is kept."""
    until = [attempt.entries for attempt in log.attempts] + [len(log.phases)]
    for attempt, (first, last) in zip(log.attempts, pairwise(until), strict=True):
        begin = attempt.begin
        now: Stretch | None = None
        for number, end in zip(log.phases[first:last], log.ends[first:last], strict=True):
            phase = program.phases[number]
            kept = attempt.planned == 0 or number < attempt.record
            here = Stretch(phase.step, phase.acts, begin / PER_SECOND, end / PER_SECOND, kept)
            if now is not None and (now.step, now.kept) == (here.step, here.kept):
                now = now._replace(end_s=here.end_s)
            else:
                if now is not None:
                    yield now
                now = here
            begin = end
        if now is not None:
            yield now


def chosen(plan: Plan) -> tuple[Cell, int]:
    """Choose the run that a report shows, by a rule that anyone can check.

    It is the first replication, in the first cell that has one, in which every strategy crashes at least
    twice, those whose actions carry no key repeat an action, and those whose actions carry one repeat none.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    (Cell, int)
        The cell, and the number of the replication.

    Raises
    ------
    InputError
        If the first blocks of no cell have one.
    """
    for cell in plan.cells:
        for number in range(BLOCKS):
            fits = np.full(BLOCK, True)
            for scenario in cell.scenarios.values():
                draws = Streams(plan.experiment.seed, number, BLOCK)
                columns = simulate_block(unfold(scenario), draws, plan.experiment.engine)
                repeats, crashes = (
                    np.asarray(columns[name], np.int64) for name in ("duplicate_actions", "crashes")
                )
                bare = scenario.strategy.key == "none"
                fits &= ((repeats > 0) == bare) & (crashes >= CRASHES)
            if fits.any():
                return cell, number * BLOCK + int(fits.argmax())
    sentence = f"of the first {BLOCKS * BLOCK:,} runs of each cell none repeats actions without keys only."
    raise InputError([Problem(f"{EXPERIMENTS}/{plan.name}.toml", "", sentence)])
