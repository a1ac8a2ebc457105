"""An agent whose steps are the nodes of a LangGraph graph, and whose saves are LangGraph's own.

A recovery resumes bare, with the thread and no new input, whenever a checkpoint exists; what `get_state` says
is next is empty after some crashes although work remains.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

os.environ["LANGSMITH_TRACING"] = "false"  # nothing but loopback is used

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from sim.lab.agent import Stuck
from sim.lab.board import END, OVER
from sim.lab.step_agent import StepAgent
from sim.lab.stores import Postgres, SqliteFull, SqliteNormal


class State(TypedDict):
    """State of the graph: the step that was done last."""

    step: int


class Telling:
    """What a saver of LangGraph's does, and that it tells when it has saved."""

    agent: "Agent"

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Save a checkpoint; that after the first node has number 1."""
        step = metadata["step"] - 1
        since, slow_ns = self.agent.order.slow
        if step >= since and self.agent.attempt == 0:
            time.sleep(slow_ns / 1e9)
        done = super().put(config, checkpoint, metadata, new_versions)  # type: ignore[misc]
        self.agent.saved(step, delta=False)
        return done

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        """Save what a node has written."""
        super().put_writes(config, writes, task_id, task_path)  # type: ignore[misc]
        for channel, value in writes:
            if channel == "step":
                self.agent.saved(value, delta=True)


class TellingSqlite(Telling, SqliteSaver):
    """LangGraph's saver in SQLite."""


def saver(store: str, folder: Path) -> Any:
    """Give LangGraph's saver for a store, connected."""
    if store == "postgres":
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row

        class TellingPostgres(Telling, PostgresSaver):
            """LangGraph's saver in PostgreSQL."""

        connection = Postgres.connect(folder)
        connection.row_factory = dict_row
        connection.prepare_threshold = 0
        return TellingPostgres(connection)
    connection = sqlite3.connect(folder / "progress.db", check_same_thread=False, timeout=30)
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS[store]}")
    return TellingSqlite(connection)


SYNCHRONOUS = {"sqlite-full": SqliteFull.synchronous, "sqlite-normal": SqliteNormal.synchronous}


class Agent(StepAgent):
    """One attempt of a run."""

    @classmethod
    def preload(cls, store: str) -> None:
        """Load a saver."""
        super().preload(store)
        if store == "postgres":
            import langgraph.checkpoint.postgres  # noqa: F401

    def live(self) -> None:
        """Run the graph from where it was saved."""
        keeper = saver(self.site.store, self.site.folder)
        keeper.agent = self
        keeper.setup()
        graph: Any = StateGraph(State)
        before = START
        for step in self.steps:
            graph.add_node(f"step {step}", self.node(step))
            graph.add_edge(before, f"step {step}")
            before = f"step {step}"
        app = graph.compile(checkpointer=keeper)
        config = {"configurable": {"thread_id": self.order.run}, "recursion_limit": 100_000}
        known = app.get_state(config).created_at is not None
        if self.attempt and not known and self.order.if_nothing == "stuck":
            raise Stuck
        mode = self.order.walks.partition(":")[2]
        app.invoke(None if known else {"step": -1}, config, durability=mode)
        self.load(self.end)
        self.board.note(OVER)

    def node(self, step: int) -> Callable[[State], State]:
        """Give what a node does."""

        def work(state: State) -> State:
            self.do(step)
            return {"step": step}

        return work

    def saved(self, step: int, delta: bool) -> None:
        """Note that a save after a step has come back; before the first step input is saved, not progress."""
        if step < 0:
            return
        for move in self.saves(step):
            if move.delta == delta:
                self.board.note(END, move.id)
        self.halt("writes_saved" if delta else "checkpoint_saved", step)
