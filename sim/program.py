"""A strategy's verbs for each step of a workload, unfolded to phases: what a worker walks through.

Phases are numbered through the whole workload, step by step, first those of a step that does not act, then
those of the same step acting; a run takes one of the two. Numbers grow along every run, so a resume point
is a number too: whatever is below it has been kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.laws import Law, longer
from sim.scenario import Scenario
from sim.services import ZERO
from sim.strategy import Call, Drain, Park, Query, Save, Verb, Work
from sim.streams import Key, Streams

WORK, CALL, SAVE, QUERY = range(4)
"""Activities of a phase, in the order of the accounts."""

LANE = "lane"
"""Name of the phase in which a save is put in a lane: it takes the worker no time."""

SPECIAL = ("request", "exchange", LANE, "query", "park", "drain")
"""Names of phases whose begin does more than let time pass."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One timed part of a verb.

    Attributes
    ----------
    id : int
        Number in the program, growing along every run.
    step : int
        Index of the step, from 0.
    acts : bool
        Whether the phase belongs to the acting form of the step.
    name : str
        ``work, tool, prepare, request, response, exchange, write, ack, lane, query, park`` or ``drain``. An
        exchange is request and response together, where they may take several tries.
    law : Law
        Law of its time; of a lane's phase the law of the write.
    key : tuple
        What its draws decide: step, verb, occurrence and phase.
    activity : int
        WORK, CALL, SAVE or QUERY.
    done : bool
        Whether ◆done is passed at its end.
    resume : int
        The phase at which a recovery resumes once this save is durable; -1 for other phases.
    lane : str
        Name of the lane; empty for a phase for which the worker waits.
    ack : Law
        Law of the time from ◆durable of a save in a lane until its lane is free.
    delta : bool
        Whether this save is usable only with the one before it that is no delta.
    holds : str
        What becomes durable with this save: ``progress``, ``effect`` or ``entry``.
    weight : float
        How much likelier a second a crash is in it.
    special : bool
        Whether its begin does more than let time pass: request, exchange, lane, query, park, drain.
    saves : bool
        Whether ◆durable is passed at its end: write.
    """

    id: int
    step: int
    acts: bool
    name: str
    law: Law
    key: Key
    activity: int
    done: bool = False
    resume: int = -1
    lane: str = ""
    ack: Law = ZERO
    delta: bool = False
    holds: str = "progress"
    weight: float = 1.0
    special: bool = False
    saves: bool = False


class Drawn(NamedTuple):
    """A time that is drawn whenever a phase begins."""

    phase: int
    law: Law
    key: Key


@dataclass(frozen=True)
class Program:
    """All phases of a scenario, with the tables that accounts and schedules need.

    Attributes
    ----------
    phases : list of Phase
        By number.
    first : ndarray of int, shape (steps + 1,)
        Number of each step's first phase; the last entry is the end of the run.
    gap : ndarray of bool, shape (phases,)
        Whether a crash in the phase falls into [◆sent, ◆durable) of an action.
    gap_after_done : ndarray of bool, shape (phases,)
        The same for [◆done, ◆durable).
    has_gap : bool
        Whether each action step has its own foreground save after the call, so that the shares exist.
    """

    scenario: Scenario
    phases: list[Phase]
    first: NDArray[np.intp]
    gap: NDArray[np.bool_]
    gap_after_done: NDArray[np.bool_]
    has_gap: bool
    _paths: dict[bytes, list[Phase]] = field(default_factory=dict)

    @cached_property
    def step(self) -> NDArray[np.intp]:
        """Step of each phase."""
        return np.array([phase.step for phase in self.phases], np.intp)

    @cached_property
    def acts(self) -> NDArray[np.bool_]:
        """Whether each phase belongs to an acting step."""
        return np.array([phase.acts for phase in self.phases], np.bool_)

    @cached_property
    def after_done(self) -> NDArray[np.bool_]:
        """Whether each phase comes after its step's ◆done."""
        done = {(phase.step, phase.acts): phase.id for phase in self.phases if phase.done}
        return np.array([phase.id > done[phase.step, phase.acts] for phase in self.phases], np.bool_)

    @cached_property
    def drawn(self) -> list[Drawn]:
        """What is drawn when phases begin: first the time of each, then acks of lanes and lags of queries."""
        receiver = self.scenario.receiver
        times = [Drawn(phase.id, phase.law, phase.key) for phase in self.phases]
        for phase in self.phases:
            if phase.name == LANE:
                times.append(Drawn(phase.id, phase.ack, (*phase.key[:-1], "ack")))
            elif phase.name == "query":
                times.append(Drawn(phase.id, receiver.lag, (*phase.key, "lag")))
        return times

    @cached_property
    def laws(self) -> tuple[list[Law], NDArray[np.intp]]:
        """The laws of what is drawn, each once, and which of them each of `drawn` has."""
        number: dict[Law, int] = {}
        of_drawn = [number.setdefault(drawn.law, len(number)) for drawn in self.drawn]
        return list(number), np.array(of_drawn, np.intp)

    @cached_property
    def beside(self) -> dict[int, int]:
        """By lane's phase and by query: which of `drawn` is its ack or lag."""
        count = len(self.phases)
        return {drawn.phase: row for row, drawn in enumerate(self.drawn[count:], count)}

    @cached_property
    def saves(self) -> list[Phase]:
        """The phases that begin a save."""
        return [phase for phase in self.phases if phase.resume >= 0]

    @cached_property
    def unforeseen(self) -> dict[str, bool]:
        """What the way of a run without crashes may depend on besides drawn times, and whether it does."""
        scenario = self.scenario
        return {
            "answers that depend on more than drawn times": scenario.converses,
            "a living worker that is taken for dead": scenario.supervision is not None,
            "outages of a provider": scenario.provider is not None,
            "lanes that write in batches": any(lane.batch > 1 for lane in scenario.strategy.lanes.values()),
        }

    @property
    def foreseen(self) -> bool:
        """Whether the way of a run without crashes follows from drawn times alone."""
        return not any(self.unforeseen.values())

    @cached_property
    def certain(self) -> bool:
        """Whether all runs take the same phases."""
        return all(step.acts in (0.0, 1.0) for step in self.scenario.workload.steps)

    def steps_before(self, phase: int) -> int:
        """How many whole steps come before a phase."""
        return int(np.searchsorted(self.first[1:], phase, side="right"))

    def taken(self, acts: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which phases the runs of a block take.

        Parameters
        ----------
        acts : ndarray of bool, shape (runs, steps)
            Which steps act in each run.

        Returns
        -------
        ndarray of bool, shape (phases, runs)
            One column if all runs take the same.
        """
        if self.certain:
            acts = acts[:1]
        return np.asarray(acts.T[self.step] == self.acts[:, np.newaxis])

    def path(self, acts: NDArray[np.bool_]) -> list[Phase]:
        """Give the phases of one run, in order.

        Parameters
        ----------
        acts : ndarray of bool, shape (steps,)
            Which steps act in it.
        """
        key = acts.tobytes()
        path = self._paths.get(key)
        if path is None:
            path = [phase for phase in self.phases if phase.acts == acts[phase.step]]
            self._paths[key] = path
        return path

    def draw_acts(self, draws: Streams) -> NDArray[np.bool_]:
        """Decide which steps act in each run of a block, shape (replications, steps)."""
        steps = self.scenario.workload.steps
        return np.column_stack(
            [draws.uniforms("acts", index) < step.acts for index, step in enumerate(steps)]
        )


def unfold(scenario: Scenario) -> Program:
    """Unfold the verbs of every step to phases.

    Parameters
    ----------
    scenario : Scenario
        What to simulate.
    """
    phases: list[Phase] = []
    first = [0]
    gaps: list[range | None] = []
    for index, step in enumerate(scenario.workload.steps):
        forms = [acts for acts in (False, True) if step.acts != (0.0 if acts else 1.0)]
        parts = [list(_parts(scenario, index, acts)) for acts in forms]
        following = len(phases) + sum(map(len, parts))
        for acts, form in zip(forms, parts, strict=True):
            numbered = _number(scenario, index, acts, form, len(phases), following)
            phases.extend(numbered)
            if acts:
                gaps.append(_gap(numbered, following))
        first.append(following)
    gap = np.zeros(len(phases), np.bool_)
    after_done = np.zeros(len(phases), np.bool_)
    for span in filter(None, gaps):
        for number in span:
            gap[number] = True
            after_done[number] = any(phase.done for phase in phases[span.start : number])
    return Program(
        scenario=scenario,
        phases=phases,
        first=np.array(first, np.intp),
        gap=gap,
        gap_after_done=after_done,
        has_gap=bool(gaps) and None not in gaps,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A phase before it has a number: the verb it belongs to, and what it is."""

    verb: Verb
    position: int
    name: str
    law: Law
    activity: int

    @property
    def acts(self) -> bool:
        """Whether the action is performed, or ordered, by its end."""
        return self.name == "write" and isinstance(self.verb, Save) and self.verb.acts


def _parts(scenario: Scenario, index: int, acts: bool) -> Iterator[_Part]:
    """Timed parts of one form of a step; parts that take no time and mark nothing are left out."""
    workload, store, receiver = scenario.workload, scenario.store, scenario.receiver
    step = workload.steps[index]
    strategy = scenario.strategy
    last = index + 1 == len(workload.steps)
    ends_group = last or step.group != workload.steps[index + 1].group
    kept = strategy.saves_after(index + 1, step.name, acts, len(workload.steps), ends_group)
    body = strategy.action if acts else strategy.plain
    verbs = (strategy.begin if index == 0 else ()) + body + (strategy.end if last else ())
    for position, verb in enumerate(verbs):
        timed: list[tuple[str, Law, int]] = []
        match verb:
            case Work():
                timed = [("work", longer(step.work, workload.work_scale), WORK)]
                if step.tool is not None and not acts:
                    timed.append(("tool", step.tool, WORK))
            case Call() if scenario.converses:
                timed = [("prepare", receiver.prepare, CALL), ("exchange", receiver.request, CALL)]
            case Call():
                timed = [
                    ("prepare", receiver.prepare, CALL),
                    ("request", receiver.request, CALL),
                    ("response", step.tool or receiver.response, CALL),
                ]
            case Save(resume="next", holds="progress") if not kept:
                pass
            case Save():
                write = longer(store.write, verb.scale * (1 + store.growth * index))
                if verb.lane is None:
                    timed = [("write", write, SAVE), ("ack", longer(store.ack, verb.scale), SAVE)]
                else:
                    timed = [(LANE, write, SAVE)]
            case Query():
                timed = [("query", receiver.query, QUERY)]
            case Park():
                timed = [("park", ZERO, QUERY)]
            case Drain():
                timed = [("drain", ZERO, SAVE)]
        for name, law, activity in timed:
            if name in ("prepare", "ack") and law == ZERO:
                continue
            yield _Part(verb, position, name, law, activity)


def _number(
    scenario: Scenario, index: int, acts: bool, parts: list[_Part], begin: int, following: int
) -> list[Phase]:
    """Give the parts of one form of a step their numbers, marks and resume points."""
    done = max(i for i, part in enumerate(parts) if part.activity in (WORK, CALL) or part.acts)
    body = begin + sum(part.position < len(scenario.strategy.begin) for part in parts) * (index == 0)

    def resume(at: int) -> int:
        save = parts[at].verb
        if not isinstance(save, Save) or parts[at].name not in ("write", LANE):
            return -1
        match save.resume:
            case "next":
                return following
            case "here":
                return body
            case target:
                later = (i for i in range(at, len(parts)) if parts[i].verb.verb == target)
                return begin + next(later)

    phases = []
    for at, part in enumerate(parts):
        save = part.verb if isinstance(part.verb, Save) else Save()
        same = {p.position for p in parts[:at] if p.verb.key == part.verb.key} - {part.position}
        # A save has the same latency whether the worker waits for it or not.
        phase_name = {LANE: "write", "exchange": "request"}.get(part.name, part.name)
        phases.append(
            Phase(
                id=begin + at,
                step=index,
                acts=acts,
                name=part.name,
                law=part.law,
                key=("step", index, part.verb.key, len(same), phase_name),
                activity=part.activity,
                done=at == done,
                resume=resume(at),
                lane=save.lane or "",
                ack=longer(scenario.store.ack, save.scale),
                delta=save.delta,
                holds=save.holds,
                special=part.name in SPECIAL,
                saves=part.name == "write",
                weight=scenario.crash.exposure.weight(part.name, scenario.workload.steps[index].name),
            )
        )
    return phases


def _gap(phases: list[Phase], following: int) -> range | None:
    """Phases of an acting step in [◆sent, ◆durable); nothing if no foreground save ends it."""
    sent = next((phase.id for phase in phases if phase.name in ("request", "exchange")), None)
    for phase in phases:
        if sent is not None and phase.saves and phase.id > sent and phase.resume == following:
            return range(sent, phase.id + 1)
    return None
