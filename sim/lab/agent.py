"""An agent as a real process: it walks through the phases that the simulated worker walks through."""

import os
import signal
import time
from collections import Counter

from sim.lab.board import BEGIN, END, LOADED, OVER, Board
from sim.lab.orders import Move, Order
from sim.lab.receiver import Client
from sim.lab.site import Site
from sim.lab.stores import STORES, Store

POINTS = {
    "before_send": ("prepare", "within"),
    "after_send": ("request", "within"),
    "after_ack": ("response", "end"),
    "save_done": ("ack", "end"),
}
"""Points that an agent passes, and where a simulated crash has passed the same marks: in which phase of the
step, within it or at its end."""


class Stuck(Exception):
    """The run cannot go on without a person."""


class Agent:
    """One attempt of a run.

    Parameters
    ----------
    order : Order
        The run.
    attempt : int
        Its number, from 0.
    board : Board
        Where it notes what it comes to.
    site : Site
        Where its store is, and where the receiver listens.
    """

    def __init__(self, order: Order, attempt: int, board: Board, site: Site) -> None:
        self.order = order
        self.attempt = attempt
        self.board = board
        self.site = site
        self.step = -1
        self.halts_at = order.halt if attempt == 0 else None
        self.timer = order.timer if attempt == 0 else None
        self.begun: Counter[int] = board.begun()
        self.receiver = Client(site.port)

    @classmethod
    def preload(cls, store: str) -> None:
        """Load before the first fork what every agent with a store would load."""
        STORES[store].preload()

    def halt(self, point: str, step: int | None = None) -> None:
        """Die here, if this is where the run is to be killed; the step is that at work unless it is said."""
        if self.halts_at == (self.step if step is None else step, point):
            os.kill(os.getpid(), signal.SIGKILL)

    def live(self) -> None:
        """Load what was saved, then walk through the phases that follow it."""
        store = self.site.open(self.order.run, self.halt)
        resume = store.load()
        self.board.note(LOADED, resume)
        self.site.ready()
        asks = self.attempt > 0
        performed = False
        for move in self.order.moves:
            if move.id < resume:
                continue
            self.step = move.step
            if move.name in ("query", "park"):
                if not (asks and move.id == resume):
                    continue
                if move.name == "park":
                    raise Stuck
                performed = self.ask(move)
            elif performed and move.name in ("prepare", "request", "response"):
                self.begin(move)
                self.board.note(END, move.id)
                performed = move.name != "response"
            else:
                self.go(move, store)
        self.board.note(OVER)

    def begin(self, move: Move) -> int:
        """Begin a phase; give how long it is to last, in ns."""
        self.board.note(BEGIN, move.id)
        if move.name != "request":
            self.arm(move)
        self.begun[move.id] += 1
        return move.time_ns(self.begun[move.id] - 1)

    def arm(self, move: Move) -> None:
        """Set the timer if it is to run from the begin of this phase."""
        if self.timer is not None and self.timer.phase == move.id:
            signal.setitimer(signal.ITIMER_REAL, max(self.timer.offset_ns, 1000) / 1e9)
            self.timer = None

    def go(self, move: Move, store: Store | None = None) -> None:
        """Walk through one phase."""
        match move.name:
            case "request":
                self.halt("before_send")
                request_ns = self.begin(move)
                self.send(move, request_ns)
                self.arm(move)  # what is noted as its begin is a moment before it is sent
                self.halt("after_send")
            case "response":
                # The answer ends both phases of a call; the receiver knows where one passed into the other.
                self.begun[move.id] += 1
                self.receiver.wait()
                self.board.note(END, move.id)
                self.halt("after_ack")
            case "write":
                assert store is not None, "who has no store saves in another way"
                self.begin(move)
                store.save(move.resume, move.step, move.holds)
                self.board.note(END, move.id)
                self.halt("save_done")
            case "ack":
                pass
            case _:
                time.sleep(self.begin(move) / 1e9)
                self.board.note(END, move.id)

    def send(self, move: Move, request_ns: int) -> None:
        """Send the step's action."""
        response = next(m for m in self.order.moves if m.name == "response" and m.step == move.step)
        self.receiver.send(
            "perform",
            self.order.run,
            step=move.step,
            key=self.key(move.step, self.begun[move.id]),
            request_ns=request_ns,
            response_ns=response.time_ns(self.begun[response.id]),
        )

    def ask(self, move: Move) -> bool:
        """Ask the receiver whether the step's action was performed."""
        query_ns = self.begin(move)
        self.receiver.send("query", self.order.run, step=move.step, query_ns=query_ns)
        performed = bool(self.receiver.wait()["performed"])
        self.board.note(END, move.id)
        return performed

    def key(self, step: int, send: int) -> str | None:
        """By what the receiver knows a repeat; None if by nothing."""
        of_step = f"{self.order.run}/{step}"
        return {
            "none": None,
            "run_step": of_step,
            "arguments": of_step,  # a real agent's work done again gives the same arguments here
            "per_attempt": f"{of_step}/attempt {self.attempt}",
            "per_send": f"{of_step}/send {send}",
        }[self.order.key]
