"""The events engine: a run as a SimPy simulation, told as it happens.

A *worker* walks through the phases of its program. A *crash* strikes it. A *supervisor* notices the silence
and starts it again where the *store* knows it to be; it may also take a living worker for dead, which then
goes on beside the new one. A *receiver* performs what it was asked to, in its own time, whether the caller
lives or not, and keeps the ledger that is the truth about duplicates. A *relay* performs what is in an
outbox.

The engine only writes down what happened, in a `Log`; `sim.outcomes` counts.
"""

import gc

from sim.crashes import NoCrash
from sim.events.block import Block
from sim.events.rehearsal import rehearse
from sim.events.run import Listener, Run
from sim.outcomes import Log, Tally, by_cause, count
from sim.program import Program
from sim.schedule import Marks, crash_free
from sim.streams import Streams

__all__ = ["Block", "Run", "marks", "simulate", "simulate_block"]


def marks(program: Program, draws: Streams) -> Marks | None:
    """Find what the runs of a block pass without a crash; None where it takes a rehearsal and nobody asks."""
    acts = program.draw_acts(draws)
    if program.foreseen:
        return crash_free(program, draws, acts)
    if not program.scenario.crash.needs_marks:
        return None
    return rehearse(Block(program, draws, NoCrash().plan(draws, None)))


def simulate_block(program: Program, draws: Streams, listener: Listener | None = None) -> Tally:
    """Simulate the replications of a block.

    Parameters
    ----------
    program : Program
        What the runs walk through.
    draws : Streams
        The block's random numbers; their size is the number of replications.
    listener : callable, optional
        Told (tick, actor, what, step) as it happens in the last of them.

    Returns
    -------
    Tally
        The outcomes, a row a replication.
    """
    known = marks(program, draws)
    return simulate(Block(program, draws, program.scenario.crash.plan(draws, known)), known, listener)


def simulate(block: Block, known: Marks | None = None, listener: Listener | None = None) -> Tally:
    """Simulate the runs of a block; as `simulate_block`."""
    log = Log()
    collecting = gc.isenabled()
    gc.disable()  # a run makes thousands of events and almost no cycles
    try:
        last = block.draws.size - 1
        for replication in range(last):
            Run(block, replication, log).simulate()
        Run(block, last, log, listener).simulate()
    finally:
        if collecting:
            gc.enable()
    gap = known.gap() if known is not None else None
    return count(block.program, log, block.acts, gap, by_cause(block.plan))
