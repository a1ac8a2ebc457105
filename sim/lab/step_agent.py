"""What agents have in common whose saves are a framework's: it calls the steps, and they do the work."""

from functools import cached_property
from itertools import groupby

from sim.lab import agent
from sim.lab.board import LOADED
from sim.lab.orders import Move


class StepAgent(agent.Agent):
    """One attempt of a run whose steps a framework calls."""

    loaded = False

    @cached_property
    def steps(self) -> dict[int, list[Move]]:
        """The moves of each step, in order."""
        return {step: list(moves) for step, moves in groupby(self.order.moves, key=lambda move: move.step)}

    @property
    def end(self) -> int:
        """The resume point of a run that is over."""
        return self.order.moves[-1].id + 1

    def load(self, resume: int) -> None:
        """Note where the run goes on, once that is known: at the first step that is called."""
        if not self.loaded:
            self.loaded = True
            self.board.note(LOADED, resume)
            self.site.ready()

    def do(self, step: int) -> None:
        """Do a step's work, and its call if it acts; then its saves begin."""
        body = [m for m in self.steps[step] if not m.saves and m.name not in ("ack", "drain")]
        self.step = step
        self.load(body[0].id)
        for move in body:
            self.go(move)
        for move in self.saves(step):
            self.begin(move)
        self.halt("step_done")

    def saves(self, step: int) -> list[Move]:
        """Saves after a step: of what it has written, and of everything; on exit, one after the last."""
        moves = self.steps[step]
        last = max((at for at, move in enumerate(moves) if move.name in ("work", "response")), default=-1)
        return [move for move in moves[last:] if move.saves]
