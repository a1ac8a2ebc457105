"""What does a crash cost an AI agent, and which protection removes which part of it?

The whole library in one call::

    import sim

    frame = sim.simulate(scenario, n=10_000, seed=24)   # a row a replication
"""

from sim.scenario import Scenario
from sim.simulation import simulate

__all__ = ["Scenario", "simulate"]
