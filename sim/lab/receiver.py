"""The receiver of actions: a process of its own, with a ledger on disk that is the truth about duplicates.

It listens on loopback. What it was asked to do it does in its own time, whether the caller still lives or
not.
"""

import asyncio
import json
import socket
import sqlite3
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from sim.lab.processes import die_with_parent


class Ledger:
    """Actions performed, and repeats answered from the keys."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute(
            "CREATE TABLE performed (run TEXT, step INTEGER, key TEXT UNIQUE, instant INTEGER)"
        )
        self.connection.execute("CREATE TABLE blocked (run TEXT, step INTEGER, instant INTEGER)")
        for table in ("performed", "blocked"):
            self.connection.execute(f"CREATE INDEX {table}_by_run ON {table} (run)")

    def perform(self, run: str, step: int, key: str | None) -> None:
        """Perform an action once, or note that its key is known; no key is known by nothing."""
        execute = self.connection.execute
        execute("BEGIN")
        row = (run, step, key, time.monotonic_ns())
        if not execute("INSERT OR IGNORE INTO performed VALUES (?, ?, ?, ?)", row).rowcount:
            execute("INSERT INTO blocked VALUES (?, ?, ?)", (run, step, time.monotonic_ns()))
        execute("COMMIT")

    def has(self, run: str, step: int) -> bool:
        """Whether an action was performed."""
        found = self.connection.execute("SELECT 1 FROM performed WHERE run = ? AND step = ?", (run, step))
        return found.fetchone() is not None

    def of(self, run: str) -> dict[str, list[tuple[int, int]]]:
        """Give (step, instant) of what a run had performed, and blocked."""
        execute = self.connection.execute
        return {
            table: execute(
                f"SELECT step, instant FROM {table} WHERE run = ? ORDER BY instant", (run,)
            ).fetchall()
            for table in ("performed", "blocked")
        }


class Receiver:
    """Answers requests, a line of JSON each, with a line of JSON."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.under_way: defaultdict[str, int] = defaultdict(int)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends."""
        with suppress(ConnectionError):
            while line := await reader.readline():
                answer = await self.answer(json.loads(line))
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        writer.close()

    async def answer(self, request: dict[str, Any]) -> Any:
        """Answer one request."""
        run = request["run"]
        match request["wants"]:
            case "perform":
                self.under_way[run] += 1
                await asyncio.sleep(request["request_ns"] / 1e9)
                self.ledger.perform(run, request["step"], request["key"])
                self.under_way[run] -= 1
                await asyncio.sleep(request["response_ns"] / 1e9)
                return {"ok": True}
            case "query":
                await asyncio.sleep(request["query_ns"] / 1e9)
                return {"performed": self.ledger.has(run, request["step"])}
            case _:
                while self.under_way[run]:
                    await asyncio.sleep(0.0005)
                return self.ledger.of(run)


class Client:
    """A connection to the receiver."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile("rb")

    def send(self, wants: str, run: str, **more: Any) -> None:
        """Send a request."""
        self.socket.sendall(json.dumps({"wants": wants, "run": run, **more}).encode() + b"\n")

    def wait(self) -> Any:
        """Wait for the answer."""
        line = self.answers.readline()
        if not line:
            raise ConnectionError("the receiver has gone.")
        return json.loads(line)

    def close(self) -> None:
        """End the connection."""
        self.answers.close()
        self.socket.close()


async def main(folder: Path) -> None:
    """Listen on a free port of loopback, and say which."""
    receiver = Receiver(Ledger(folder / "ledger.db"))
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(main(Path(sys.argv[1])))
