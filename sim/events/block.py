"""What the runs of a block share: their random numbers, turned into times."""

from collections import Counter

import numpy as np

from sim.crashes import Plan
from sim.program import Phase, Program
from sim.schedule import source_weights
from sim.services import ZERO
from sim.streams import Streams
from sim.ticks import must_end


class Block:
    """The random numbers of a block of runs.

    Parameters
    ----------
    program : Program
        The phases.
    draws : Streams
        The block's random numbers.
    plan : Plan
        The crashes.

    Attributes
    ----------
    acts : ndarray of bool, shape (replications, steps)
        Which steps act in each run.
    """

    def __init__(self, program: Program, draws: Streams, plan: Plan) -> None:
        self.program = program
        self.draws = draws
        self.acts = program.draw_acts(draws)
        self.plan = plan
        self.weights = [source_weights(program, source) for source in self.plan.sources]
        scenario, saves = program.scenario, program.saves
        self.replays = scenario.downtime.replay != ZERO
        # Whether a record is all that a save changes.
        self.saves_plainly = not (
            any(phase.delta or phase.holds != "progress" for phase in saves)
            or scenario.workload.rewords
            or scenario.strategy.run_id == "made"
        )
        self.drains = any(source.grace for source in self.plan.sources)
        weighs = any(weight != 1 for weights in self.weights for weight in weights)
        self.plain = not weighs and not self.drains
        self._crashes: list[list[list[int]]] = [[] for _ in self.plan.sources]
        self._asked: Counter[tuple[int, int]] = Counter()
        table = [draws.times(phase.law, *phase.key, 0) for phase in program.phases]
        self.first_times: list[list[int]] = np.stack(table, axis=1).tolist()

    def crashes(self, source: int, k: int) -> list[int]:
        """Row k of a source of crashes, drawn when it is first needed."""
        rows = self._crashes[source]
        must_end(k, "crashes")
        while len(rows) <= k:
            rows.append(next(self.plan.sources[source].rows).tolist())
        return rows[k]

    def again(self, phase: Phase, n: int, replication: int) -> int:
        """Time of a phase that was begun n times before, in ticks."""
        if self.program.scenario.frozen:
            return self.first_times[replication][phase.id]
        self._asked[phase.id, n] += 1
        if self._asked[phase.id, n] == 1 + self.draws.size // 256:
            self.draws.times(phase.law, *phase.key, n)  # asked often: cheaper as a whole row from here on
        return self.draws.time(phase.law, replication, *phase.key, n)
