"""What runs pass if nothing crashes, found by letting them go, where drawn times alone do not tell.

Time-outs, stalls and outages come as they do in the run itself.
"""

import numpy as np

from sim.events.block import Block
from sim.events.run import Run
from sim.events.worker import Worker
from sim.outcomes import Log
from sim.program import Phase
from sim.schedule import Marks
from sim.ticks import NEVER


class Rehearsal(Run):
    """A run that remembers when what it saved was durable.

    Attributes
    ----------
    durable : dict of int to int
        By the phase that begins the save: when, in ticks.
    """

    def __init__(self, block: Block, replication: int, log: Log) -> None:
        super().__init__(block, replication, log)
        self.durable: dict[int, int] = {}
        self.saves_plainly = False

    def keep(self, worker: Worker, phase: Phase, base: int) -> bool:
        """Remember when."""
        self.durable.setdefault(phase.id, self.env.now)
        return super().keep(worker, phase, base)


def rehearse(block: Block) -> Marks:
    """Let the runs of a block go whose plan has no crashes.

    Parameters
    ----------
    block : Block
        The runs.
    """
    program, acts = block.program, block.acts
    shape = acts.T.shape
    start, sent, done, durable, recorded = (np.full(shape, NEVER) for _ in range(5))
    makespan, exposure = np.zeros((2, shape[1]), np.int64)
    for replication in range(shape[1]):
        log = Log()
        run = Rehearsal(block, replication, log)
        run.simulate()
        makespan[replication] = log.makespan[0]
        now = 0
        for number, end in zip(log.phases, log.ends, strict=True):
            phase = program.phases[number]
            here = (phase.step, replication)
            start[here] = min(start[here], now)
            if phase.name in ("request", "exchange"):
                sent[here] = min(sent[here], now)
            if phase.done:
                done[here] = min(done[here], end)
            exposure[replication] += int((end - now) * phase.weight)
            now = end
        for number, instant in run.durable.items():
            phase = program.phases[number]
            durable[phase.step, replication] = instant
            steps = program.steps_before(phase.resume)
            if steps and not program.scenario.strategy.memory_only:
                recorded[steps - 1, replication] = min(recorded[steps - 1, replication], instant)
    recorded = np.minimum.accumulate(recorded[::-1], axis=0)[::-1]
    return Marks(acts.T, start, sent, done, durable, recorded, makespan, exposure)
