"""What does a crash cost an AI agent, and which protection removes which part of it?

The whole library in one call::

    import sim

    scenario = sim.Scenario.model_validate({"workload": {...}, "strategy": {"protocol": "checkpoint"}, ...})
    frame = sim.simulate(scenario, n=10_000, seed=24)  # a row a replication
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.scenario import Scenario
    from sim.simulation import simulate

__all__ = ["Scenario", "simulate"]


def __getattr__(name: str) -> Any:
    """Load what is asked for only then, since numpy and scipy are slow to load and help needs neither."""
    if name == "Scenario":
        from sim.scenario import Scenario

        return Scenario
    if name == "simulate":
        from sim.simulation import simulate

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
