"""What a crash does to an action, by the instant at which it comes: found by trying each in the model.

A run is taken with every time at its mean. Between two instants on which something happens in it a crash does
the same wherever it comes, so one crash is placed in the middle of each such piece.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from sim.crashes import Plan, Source
from sim.events import Block, Run
from sim.events.words import DURABLE, PERFORMS, SENDS
from sim.laws import Constant, Law
from sim.outcomes import Log
from sim.program import Program, unfold
from sim.scenario import Scenario
from sim.streams import Streams
from sim.ticks import NEVER, PER_SECOND, Ticks
from sim.validation import Model
from sim.workload import Action

TWICE, NEVER_DONE, STUCK, KNOWN = "twice", "never", "stuck", "known"
"""What a crash may do to an action: it is performed again; it never is; the run is given up; it is sent
again, and the receiver knows it by its key."""


class Part(NamedTuple):
    """A phase of the run without a crash: its name, activity and step, and from when to when."""

    name: str
    activity: int
    step: int
    begin_s: float
    end_s: float


class Mark(NamedTuple):
    """A mark that the step passes, and when."""

    name: str
    at_s: float


class Window(NamedTuple):
    """From when to when a crash harms the action, and how; `to_the_end`: until the run ends."""

    harm: str
    begin_s: float
    end_s: float
    to_the_end: bool

    @property
    def length_s(self) -> float:
        """How long it is open."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Anatomy:
    """One action step of a run in which every time is at its mean. Time 0 is when the step begins.

    Attributes
    ----------
    step : int
        Its index.
    parts : list of Part
        From its begin to the end of the run.
    marks : list of Mark
        Those of the step, in order.
    windows : list of Window
        Those that open before the next step begins, in order.
    """

    step: int
    parts: list[Part]
    marks: list[Mark]
    windows: list[Window]

    @property
    def own(self) -> list[Part]:
        """The phases of the step itself."""
        return [part for part in self.parts if part.step == self.step]


def anatomy(scenario: Scenario) -> Anatomy:
    """Take the first step apart that acts, or may act.

    Parameters
    ----------
    scenario : Scenario
        Its crashes are left out.

    Raises
    ------
    ValueError
        If no step does, or a time has no finite mean.
    """
    acting = [index for index, own in enumerate(scenario.workload.steps) if own.acts]
    if not acting:
        raise ValueError("no step of the workload acts.")
    step = acting[0]
    program = unfold(at_means(scenario, step))
    told: list[tuple[int, str]] = []
    log = Log()

    def listen(tick: int, _: str, what: str, of: int) -> None:
        if of == step:
            told.append((tick, what))

    Run(_block(program, np.array([NEVER])), 0, log, listen).simulate()
    ends = [0, *log.ends]
    parts = [
        (program.phases[number], begin, end)
        for number, (begin, end) in zip(log.phases, pairwise(ends), strict=True)
    ]
    zero = next(begin for phase, begin, _ in parts if phase.step == step)
    marks = [(name, tick) for tick, what in told if (name := _mark(what))]
    marks += [("done", end) for phase, _, end in parts if phase.step == step and phase.done]
    happens = sorted({tick for tick in (*ends, *(tick for tick, _ in told)) if zero <= tick <= ends[-1]})
    leaves = max(end for phase, _, end in parts if phase.step == step)

    def since(tick: int) -> float:
        return (tick - zero) / PER_SECOND

    order = list(_MARKS)
    return Anatomy(
        step,
        [
            Part(phase.name, phase.activity, phase.step, since(begin), since(end))
            for phase, begin, end in parts
            if begin >= zero and end > begin
        ],
        [Mark(name, since(tick)) for name, tick in sorted(marks, key=lambda m: (m[1], order.index(m[0])))],
        [
            Window(harm, since(begin), since(end), end == ends[-1])
            for harm, begin, end in _windows(program, step, happens)
            if begin < leaves  # later ones are about other actions
        ],
    )


_MARKS = {"sent": SENDS, "commit": PERFORMS, "done": "", "durable": DURABLE}
"""Marks in order, and how that begins which is told of them; ◆done is the end of a phase."""


def _mark(what: str) -> str:
    """Give the mark that is told of; "" if it is none."""
    return next((name for name, begin in _MARKS.items() if begin and what.startswith(begin)), "")


def at_means(scenario: Scenario, acting: int) -> Scenario:
    """Put every time at its mean, and leave out what comes by chance.

    The step `acting` acts; of the others those that do in most runs.
    """
    watch = scenario.supervision
    steps = tuple(
        step.model_copy(update={"action": Action() if index == acting or step.acts >= 0.5 else None})
        for index, step in enumerate(scenario.workload.steps)
    )
    parts = {
        "workload": scenario.workload.model_copy(update={"steps": steps}),
        "store": scenario.store,
        "receiver": scenario.receiver.model_copy(update={"outages": None}),
        "downtime": scenario.downtime,
    }
    calm = {"supervision": watch and watch.model_copy(update={"stalls": None}), "provider": None}
    return scenario.model_copy(update={name: _fixed(part) for name, part in parts.items()} | calm)


def _fixed(part: Any) -> Any:
    """Put all laws within a part of a scenario at their means."""
    if isinstance(part, Law):
        return Constant(value=part.mean_s)
    if isinstance(part, tuple):
        return tuple(map(_fixed, part))
    if isinstance(part, Model):
        return part.model_copy(update={name: _fixed(getattr(part, name)) for name in type(part).model_fields})
    return part


def _block(program: Program, instants: Ticks) -> Block:
    """Make a block with a run for each instant, which crashes then and at no other time."""

    def rows() -> Iterator[Ticks]:
        yield instants
        while True:
            yield np.full(instants.shape, NEVER)

    return Block(program, Streams(0, 0, len(instants)), Plan((Source(rows(), "wall"),)))


def _windows(program: Program, step: int, happens: list[int]) -> Iterator[tuple[str, int, int]]:
    """Crash once in each piece between instants, and join those alike that harm the action of a step."""
    pieces = list(pairwise(happens))
    log = Log()
    block = _block(program, np.array([(begin + end) // 2 for begin, end in pieces]))
    for run in range(len(pieces)):
        Run(block, run, log).simulate()
    harms = [
        _harm(log.performed.count((run, step)), log.finished[run], (run, step) in log.blocked)
        for run in range(len(pieces))
    ]
    for harm, alike in groupby(zip(harms, pieces, strict=True), key=lambda pair: pair[0]):
        joined = [piece for _, piece in alike]
        if harm:
            yield harm, joined[0][0], joined[-1][1]


def _harm(performed: int, finished: bool, blocked: bool) -> str:
    """Say what became of an action; "" if it was performed once and nobody asked for it again."""
    if performed > 1:
        return TWICE
    if not finished:
        return STUCK
    if not performed:
        return NEVER_DONE
    return KNOWN if blocked else ""
