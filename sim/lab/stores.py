"""Real stores of progress: a file, SQLite, PostgreSQL, and memory, which a crash empties.

All have the same few methods. A store passes *points* on its way, at which a test lets its process die; what
it has passed by then decides whether the save counts.
"""

import json
import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

Halt = Callable[[str], None]
"""Told of every point that is passed."""


class Store(ABC):
    """Progress of the runs of one supervisor.

    Parameters
    ----------
    folder : Path
        Where its files are; no other supervisor uses it.
    run : str
        The run.
    halt : callable
        Told of the points of a save.
    """

    title: ClassVar[str]
    points: ClassVar[dict[str, tuple[str, str]]] = {}
    """What a save passes, and where a simulated crash has passed the same; as `sim.lab.agent.POINTS`."""
    transactional: ClassVar[bool] = False
    """Whether an action, or an entry of an outbox, can be saved together with the progress."""

    def __init__(self, folder: Path, run: str, halt: Halt) -> None:
        self.folder, self.run, self.halt = folder, run, halt

    @classmethod  # noqa: B027
    def prepare(cls, folder: Path) -> None:
        """Make what all runs of a supervisor share."""

    @classmethod  # noqa: B027
    def remove(cls, folder: Path) -> None:
        """Remove what it has made outside its folder."""

    @classmethod  # noqa: B027
    def preload(cls) -> None:
        """Load before the first fork what every agent would load."""

    @staticmethod
    def missing() -> str | None:
        """Say what is needed to use it and how to get it; None if nothing is missing."""
        return None

    @abstractmethod
    def load(self) -> int:
        """Give the phase at which the run resumes; 0 if nothing was saved."""

    @abstractmethod
    def save(self, resume: int, step: int, holds: str) -> None:
        """Make a resume point durable, with the step's action or an entry for it if it holds one."""

    def performed(self) -> list[tuple[int, int]]:
        """(step, instant) of the run's actions that were performed in the store itself."""
        return []

    def entries(self) -> list[tuple[int, int]]:
        """Give (number, step) of the run's entries of an outbox that nothing has marked."""
        return []

    def mark(self, number: int) -> None:  # noqa: B027
        """Mark an entry as sent."""

    def close(self) -> None:  # noqa: B027
        """Let go of what is open."""


class Memory(Store):
    """Nothing outlives the process."""

    title = "memory"

    def load(self) -> int:  # noqa: D102
        return 0

    def save(self, resume: int, step: int, holds: str) -> None:  # noqa: D102
        pass


class File(Store):
    """A file that is written beside, made durable, and put in place; then the folder is made durable."""

    title = "file"
    points: ClassVar[dict[str, tuple[str, str]]] = {
        "save_written": ("write", "within"),
        "save_fsynced": ("write", "within"),
        "save_renamed": ("write", "end"),
    }

    @property
    def path(self) -> Path:
        """The run's file."""
        return self.folder / f"{self.run}.json"

    def load(self) -> int:  # noqa: D102
        try:
            return int(json.loads(self.path.read_bytes())["resume"])
        except FileNotFoundError:
            return 0

    def save(self, resume: int, step: int, holds: str) -> None:  # noqa: D102
        beside = self.path.with_suffix(".new")
        with open(beside, "wb") as file:
            file.write(json.dumps({"run": self.run, "resume": resume}).encode())
            file.flush()
            self.halt("save_written")
            os.fsync(file.fileno())
        self.halt("save_fsynced")
        beside.rename(self.path)
        self.halt("save_renamed")
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class Sql(Store):
    """A database: progress, the actions performed in it, and an outbox."""

    points: ClassVar[dict[str, tuple[str, str]]] = {
        "save_written": ("write", "within"),
        "save_committed": ("write", "end"),
    }
    transactional = True
    tables: ClassVar[tuple[str, ...]] = (
        "CREATE TABLE progress (run TEXT PRIMARY KEY, resume INTEGER NOT NULL)",
        "CREATE TABLE actions (run TEXT, step INTEGER, instant BIGINT)",
        "CREATE TABLE outbox (number {serial} PRIMARY KEY, run TEXT, step INTEGER, marked INTEGER DEFAULT 0)",
        "CREATE INDEX outbox_by_run ON outbox (run, marked)",
    )
    value: ClassVar[str] = "?"
    """What stands for a value in a statement."""

    def __init__(self, folder: Path, run: str, halt: Halt) -> None:
        super().__init__(folder, run, halt)
        self.connection = self.connect(folder)

    @staticmethod
    @abstractmethod
    def connect(folder: Path) -> Any:
        """Open the database."""

    def execute(self, statement: str, *values: Any) -> Any:
        """Execute a statement in which ``?`` stands for values."""
        return self.connection.execute(statement.replace("?", self.value), values)

    def load(self) -> int:  # noqa: D102
        row = self.execute("SELECT resume FROM progress WHERE run = ?", self.run).fetchone()
        return row[0] if row else 0

    def save(self, resume: int, step: int, holds: str) -> None:  # noqa: D102
        self.execute("BEGIN")
        self.execute(
            "INSERT INTO progress VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET resume = excluded.resume",
            self.run,
            resume,
        )
        if holds == "effect":
            now = time.monotonic_ns()
            self.execute("INSERT INTO actions VALUES (?, ?, ?)", self.run, step, now)
        elif holds == "entry":
            self.execute("INSERT INTO outbox (run, step) VALUES (?, ?)", self.run, step)
        self.halt("save_written")
        self.execute("COMMIT")
        self.halt("save_committed")

    def performed(self) -> list[tuple[int, int]]:  # noqa: D102
        rows = self.execute("SELECT step, instant FROM actions WHERE run = ?", self.run)
        return list(map(tuple, rows.fetchall()))

    def entries(self) -> list[tuple[int, int]]:  # noqa: D102
        rows = self.execute(
            "SELECT number, step FROM outbox WHERE run = ? AND marked = 0 ORDER BY number", self.run
        )
        return list(map(tuple, rows.fetchall()))

    def mark(self, number: int) -> None:  # noqa: D102
        self.execute("UPDATE outbox SET marked = 1 WHERE number = ?", number)

    def close(self) -> None:  # noqa: D102
        self.connection.close()


class SqliteFull(Sql):
    """SQLite with a write-ahead log that every commit flushes to the disk."""

    title = "SQLite FULL"
    synchronous: ClassVar[str] = "FULL"

    @classmethod
    def prepare(cls, folder: Path) -> None:  # noqa: D102
        connection = cls.connect(folder)
        connection.execute("PRAGMA journal_mode = WAL")
        for table in cls.tables:
            connection.execute(table.format(serial="INTEGER"))
        connection.close()

    @classmethod
    def connect(cls, folder: Path) -> Any:  # noqa: D102
        connection = sqlite3.connect(folder / "progress.db", isolation_level=None, timeout=30)
        connection.execute(f"PRAGMA synchronous = {cls.synchronous}")
        return connection


class SqliteNormal(SqliteFull):
    """SQLite with a write-ahead log that is flushed to the disk now and then only."""

    title = "SQLite NORMAL"
    synchronous = "NORMAL"


class Postgres(Sql):
    """PostgreSQL, as the environment variable SAVEGAP_POSTGRES names it, or started by the laboratory."""

    title = "PostgreSQL"
    value = "%s"

    @staticmethod
    def missing() -> str | None:  # noqa: D102
        try:
            import psycopg  # noqa: F401
        except ImportError:
            return "needs psycopg: make lab."
        from sim.lab.postgres import ADDRESS, binaries

        if os.environ.get(ADDRESS) or binaries():
            return None
        return (
            f"needs a server: name one in {ADDRESS} (such as postgresql://user@127.0.0.1/test), or install "
            "PostgreSQL (Debian: apt install postgresql), and the laboratory starts one of its own."
        )

    @classmethod
    def prepare(cls, folder: Path) -> None:  # noqa: D102
        connection = cls.connect(folder)
        connection.execute(f"CREATE SCHEMA {schema_of(folder)}")
        for table in cls.tables:
            connection.execute(table.format(serial="SERIAL"))
        connection.close()

    @classmethod
    def preload(cls) -> None:  # noqa: D102
        import psycopg  # noqa: F401

    @classmethod
    def remove(cls, folder: Path) -> None:  # noqa: D102
        connection = cls.connect(folder)
        connection.execute(f"DROP SCHEMA IF EXISTS {schema_of(folder)} CASCADE")
        connection.close()

    @staticmethod
    def connect(folder: Path) -> Any:  # noqa: D102
        import psycopg

        return psycopg.connect(
            os.environ["SAVEGAP_POSTGRES"], autocommit=True, options=f"-c search_path={schema_of(folder)}"
        )


def schema_of(folder: Path) -> str:
    """Name the part of a PostgreSQL database that holds the tables of a supervisor."""
    name = f"{folder.parent.name}_{folder.name}".lower()
    return "savegap_" + "".join(c if c.isalnum() else "_" for c in name)


STORES: dict[str, type[Store]] = {
    "memory": Memory,
    "file": File,
    "sqlite-full": SqliteFull,
    "sqlite-normal": SqliteNormal,
    "postgres": Postgres,
}
"""The stores by the names that options and files use."""
