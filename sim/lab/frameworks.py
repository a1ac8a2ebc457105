"""Frameworks that walk in the place of the verbs: which there are, and what they need."""

from importlib import import_module
from importlib.util import find_spec

from sim.lab.agent import Agent

WALKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "verbs": ("sim.lab.agent", ()),
    **{
        f"langgraph:{mode}": ("sim.lab.langgraph_agent", ("langgraph", "langgraph.checkpoint.sqlite"))
        for mode in ("sync", "async", "exit")
    },
    "dbos": ("sim.lab.dbos_agent", ("dbos",)),
}
"""What walks: the module whose ``Agent`` does it, and the packages that it needs."""

STORES = ("sqlite-full", "sqlite-normal", "postgres")
"""Stores that frameworks can save in; DBOS has settings of its own for SQLite."""


def missing(walks: str) -> str | None:
    """Say what is needed for it and how to get it; None if nothing is missing."""
    lacking = [package for package in WALKS[walks][1] if not _is_there(package)]
    return f"needs {' and '.join(lacking)}: make lab." if lacking else None


def walker(walks: str) -> type[Agent]:
    """Give what walks, loaded before the first fork."""
    walks_in: type[Agent] = import_module(WALKS[walks][0]).Agent
    return walks_in


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
