"""The laboratory: its processes, started together and ended together."""

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from socket import socketpair
from types import TracebackType
from typing import Any, Self

from sim.lab.orders import Order, Report
from sim.lab.stores import STORES


class LaboratoryError(Exception):
    """The laboratory cannot work; the message says why."""


class Laboratory:
    """A receiver and supervisors that run what they are asked to; a context manager.

    Parameters
    ----------
    store : str
        Name of the store, of `sim.lab.stores.STORES`.
    workers : int
        How many runs go on at once.
    disk : Path
        An existing folder on the disk that is to be used; in it the laboratory makes a folder of its own, and
        removes it at the end.

    Notes
    -----
    All other processes end with this one, whatever ends it. A janitor then removes the files.
    """

    def __init__(self, store: str, workers: int, disk: Path) -> None:
        self.store, self.workers, self.disk = store, workers, disk

    def __enter__(self) -> Self:
        """Start all processes."""
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix=".savegap-lab-", dir=self.disk))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(start_janitor(folder, self.store))
            receiver = _start("receiver", folder, stdout=subprocess.PIPE)
            stack.callback(end, receiver)
            port = int(receiver.stdout.readline() or 0) if receiver.stdout else 0
            if not port:
                raise LaboratoryError("the receiver of the laboratory did not start.")
            self.connections = []
            pids = [receiver.pid]
            for number in range(self.workers):
                place = folder / f"worker-{number}"
                place.mkdir()
                STORES[self.store].prepare(place)
                ours, theirs = socketpair()
                with theirs:
                    process = _start(
                        "supervisor", theirs.fileno(), place, self.store, port, pass_fds=[theirs.fileno()]
                    )
                stack.callback(end, process)
                connection = Connection(ours.detach())
                stack.callback(connection.close)
                self.connections.append(connection)
                pids.append(process.pid)
            (folder / "pids").write_text(" ".join(map(str, pids)))
            self.stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all processes and remove the files."""
        self.stack.close()

    def run(self, orders: Iterable[Order]) -> Iterator[Report]:
        """Have runs made; reports come as runs are over.

        Raises
        ------
        LaboratoryError
            If something went wrong that no kill explains.
        """
        orders = iter(orders)
        busy: set[Connection] = set()
        idle = list(self.connections)
        while True:
            while idle and (order := next(orders, None)) is not None:
                connection = idle.pop()
                connection.send(order)
                busy.add(connection)
            if not busy:
                return
            ready = wait(busy)
            for connection in [each for each in busy if each in ready]:
                try:
                    report = connection.recv()
                except EOFError:
                    raise LaboratoryError("a supervisor of the laboratory has died.") from None
                if report.wrong:
                    raise LaboratoryError(f"run {report.run} failed: {report.wrong.strip()}")
                busy.remove(connection)
                idle.append(connection)
                yield report


def _start(module: str, *arguments: Any, **how: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"sim.lab.{module}", *map(str, arguments)]
    return subprocess.Popen(command, **how)


def end(process: subprocess.Popen[bytes], by: signal.Signals = signal.SIGKILL) -> None:
    """End a child and wait for it; the number of one that was not waited for is still its own."""
    process.send_signal(by)
    process.wait()
    if process.stdout:
        process.stdout.close()


@contextmanager
def start_janitor(folder: Path, store: str) -> Iterator[None]:
    """Have a janitor who removes a folder when the context, or this process, has ended."""
    janitor = _start("janitor", folder, store, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        assert janitor.stdin is not None, "it was started with a pipe"
        with suppress(OSError):
            janitor.stdin.close()
        janitor.wait()
