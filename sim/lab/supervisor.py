"""The supervisor: it forks an agent, kills it when its time has come, and starts it again.

A process of its own that has loaded little, so that it forks quickly. It signals nothing but its own
children, and those by descriptor (pidfd): a number may be another process's by now, a descriptor never.
"""

import gc
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path

from sim.lab.agent import Stuck
from sim.lab.board import BEGIN, END, LOADED, OVER, Board
from sim.lab.frameworks import walker
from sim.lab.orders import Life, Order, Report, Source
from sim.lab.processes import die_with_parent, punctual
from sim.lab.receiver import Client
from sim.lab.relay import PATIENCE_S, relay, settle
from sim.lab.site import Site

FINISHED, FAILED, STUCK = 0, 3, 4
"""Exit statuses of an agent."""

NEVER_NS = 1 << 62


class Clock:
    """What is left of a source's times in one run; as `sim.lifetimes.SourceState`, for a real one."""

    def __init__(self, source: Source) -> None:
        self.kind = source.clock
        self.times = iter(source.times_ns)
        self.left = 0
        self.used_up = True

    def begin(self, now: int) -> int:
        """An attempt begins so long after the run; give how long it has, in ns."""
        while self.used_up or (self.kind == "wall" and self.left < now):
            self.left = next(self.times, NEVER_NS)
            self.used_up = False
        return self.left - now if self.kind == "wall" else self.left

    def end(self, age: int, fired: bool) -> None:
        """The attempt has ended at this age, of this source or not."""
        self.used_up = fired or self.kind == "attempt"
        if self.kind == "worker":
            self.left = max(self.left - age, 0)


class Supervisor:
    """Runs what it is asked to, one run at a time.

    Parameters
    ----------
    site : Site
        Where.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.board = Board()
        self.receiver = Client(site.port)
        self.failure = site.folder / "failure.txt"
        self.begin = 0

    def run(self, order: Order) -> Report:
        """Let an agent live and die until the run is over."""
        self.board.clear()
        report = Report(order.run)
        clocks = [Clock(source) for source in order.sources]
        pauses = cycle(order.restart_ns)
        with self.relaying(order):
            for attempt in range(order.attempts):
                status = self.attempt(order, attempt, clocks, report)
                if status is not None:
                    report.finished = status == FINISHED
                    break
                time.sleep(next(pauses) / 1e9)
            if order.relay is not None and not settle(order, self.site):
                report.wrong = f"the relay has not performed all entries within {PATIENCE_S:g} s."
        self.account(order, report)
        return report

    def attempt(self, order: Order, attempt: int, clocks: list[Clock], report: Report) -> int | None:
        """Let an agent live once; give its exit status, None if it was killed."""
        agent = walker(order.walks)
        agent.preload(self.site.store)
        gc.freeze()  # or a collection in the child would copy what the parent has loaded
        woke = time.monotonic_ns()
        with self.child(lambda: agent(order, attempt, self.board, self.site).live()) as pidfd:
            # The run begins once the first agent has loaded; later agents are at risk while they load.
            waits = attempt == 0 or order.spares_load
            over = waits and self.wait(pidfd, NEVER_NS, ready=True)
            since = time.monotonic_ns() if waits else woke
            if not attempt:
                self.begin = since
            left = [clock.begin(since - self.begin) for clock in clocks] or [NEVER_NS]
            killed = None
            if not over and not self.wait(pidfd, since + min(left) - time.monotonic_ns()):
                killed = time.monotonic_ns()
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            result = os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
        assert result is not None, "a child that was not waited for can be"
        life = Life(woke=woke, ended=time.monotonic_ns(), killed=killed)
        self.read(life)
        report.lives.append(life)
        for number, clock in enumerate(clocks):
            clock.end(
                (killed or life.ended) - since,
                fired=killed is not None and left[number] == min(left),
            )
        if self.has_finished(order, life):
            life.killed = None  # what falls on the same tick as the end has come too late
            return FINISHED
        if result.si_code == os.CLD_EXITED:
            if result.si_status == FAILED:
                report.wrong = self.failure.read_text()
            return result.si_status
        if killed is None:
            life.killed = died_itself(order, life)
        return None

    @contextmanager
    def child(self, do: Callable[[], None]) -> Iterator[int]:
        """Fork a process that does something; give its pidfd, and leave no process behind."""
        self.drain()
        pid = os.fork()
        if pid == 0:
            self.be_child(do)
        pidfd = os.pidfd_open(pid)
        try:
            yield pidfd
        finally:
            try:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                os.waitid(os.P_PIDFD, pidfd, os.WEXITED)
            except (ProcessLookupError, ChildProcessError):
                pass  # it was waited for
            os.close(pidfd)

    def be_child(self, do: Callable[[], None]) -> None:
        """Do something as a child, and end."""
        status = FAILED
        try:
            die_with_parent(os.getppid())
            do()
            status = FINISHED
        except Stuck:
            status = STUCK
        except BaseException:
            self.failure.write_text(traceback.format_exc())
        finally:
            os._exit(status)

    def wait(self, pidfd: int, time_ns: int, ready: bool = False) -> bool:
        """Wait until a child has died, or so long, or until it is ready; True if it has died."""
        timeout = None if time_ns >= NEVER_NS // 2 else max(time_ns, 0) / 1e9
        watched = [pidfd, self.site.signal] if ready else [pidfd]
        return pidfd in select.select(watched, [], [], timeout)[0]

    def drain(self) -> None:
        """Forget that an earlier agent was ready."""
        if select.select([self.site.signal], [], [], 0)[0]:
            os.eventfd_read(self.site.signal)

    @contextmanager
    def relaying(self, order: Order) -> Iterator[None]:
        """Let a relay work beside the agents, if the strategy has one."""
        if order.relay is None:
            yield
        else:
            with self.child(lambda: relay(order, self.site)):
                yield

    def read(self, life: Life) -> None:
        """Read what an agent has noted."""
        for what, which, instant in self.board.notes(since=self.board.read):
            if what == LOADED:
                life.loaded, life.resume = instant, which
            else:
                life.notes.append((what, which, instant))
        self.board.read = self.board.size

    def has_finished(self, order: Order, life: Life) -> bool:
        """Whether an agent came to the end of the run: what happens as it ends comes too late."""
        last = next(move.id for move in reversed(order.moves) if move.name != "ack")
        return any(what == OVER or (what == END and which == last) for what, which, _ in life.notes)

    def account(self, order: Order, report: Report) -> None:
        """Ask what the run had performed, once all that is under way has come to an end."""
        self.receiver.send("account", order.run)
        account = self.receiver.wait()
        if any(move.holds == "effect" for move in order.moves):
            store = self.site.open(order.run)
            account["performed"] += store.performed()
            store.close()
        for table in ("performed", "blocked"):
            rows = [(step, instant - self.begin) for step, instant in account[table]]
            setattr(report, table, sorted(rows, key=lambda row: row[1]))
        for life in report.lives:
            life.shift(self.begin)


def died_itself(order: Order, life: Life) -> int:
    """When an agent died that nobody killed: at its timer, or where it was told to."""
    if order.timer is not None:
        for what, which, instant in life.notes:
            if (what, which) == (BEGIN, order.timer.phase):
                return min(instant + order.timer.offset_ns, life.ended)
    return life.notes[-1][2] if life.notes else life.ended


def serve(connection: Connection, site: Site) -> None:
    """Run what comes, until nothing comes any more."""
    supervisor = Supervisor(site)
    while True:
        try:
            order = connection.recv()
        except EOFError:
            return
        try:
            report = supervisor.run(order)
        except Exception:
            report = Report(order.run, wrong=traceback.format_exc())
        connection.send(report)


if __name__ == "__main__":
    die_with_parent()
    punctual()
    descriptor, folder, store, port = sys.argv[1:]
    serve(Connection(int(descriptor)), Site(Path(folder), store, int(port)))
