"""The conditional estimator: the first crash of a run is integrated out, later ones are simulated.

Rare crashes make counting slow: of a million runs, a few hundred tell anything. But a run's way without a
crash is known, and so is, for each piece of it between two marks, how likely the first crash falls there and
what it does if no other follows: the *verdict*. Their products sum to what one crash does, exactly. What
further crashes change is simulated: the run is played with its first crash made to come, counts for as much
as that was probable, and is compared with its verdict. So

    E[outcome] = E[expected verdict + probability × (outcome − verdict)],

whatever the verdict: only the variance depends on how good it is (conditional Monte Carlo; Asmussen & Glynn
2007, Stochastic Simulation, V.4; the comparison is a control variate, V.2).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim import timeline
from sim.ledger import LASTING
from sim.outcomes import duplicates_by
from sim.schedule import exposed
from sim.ticks import Ticks, later
from sim.timeline import Columns, Numbers, Timetable

Floats = NDArray[np.float64]

COUNTS = (
    "redone_steps",
    "duplicate_actions",
    "lost_actions",
    "action_crashes",
    "gap_crashes",
    "gap_crashes_after_done",
)
"""The outcomes that are estimated in this way."""

SHARES = ("duplicate_actions", "lost_actions")
"""Of these, the ones of which the share of runs with at least one is estimated too."""


def some(outcome: str) -> str:
    """Name the column that says whether a run has at least one of an outcome."""
    return f"{outcome} > 0"


def value(outcome: str) -> str:
    """Name the column of a run's conditional value of an outcome."""
    return f"{outcome}, conditional"


def control(outcome: str) -> str:
    """Name the column of a run's control: of mean 0, the verdict on the first crash minus its expectation."""
    return f"{outcome}, control"


CORRECTION = "largest correction"
"""Name of the column that says what a run counts for in which further crashes changed a verdict by one."""


class Pieces(NamedTuple):
    """The way of each run, cut where what a crash does may change; shapes (pieces, runs), but for the last.

    Attributes
    ----------
    begin : ndarray of int64
        When each piece begins, in ticks.
    at, record : ndarray of int
        The phase that a crash in it cuts short, and where the recovery resumes.
    exposure : ndarray of int64, shape (pieces + 1, runs)
        How long the worker has been exposed at the begin of each, and at the end of the last. Ticks.
    """

    begin: Ticks
    at: Numbers
    record: Numbers
    exposure: Ticks


def cut(timetable: Timetable) -> Pieces:
    """Cut the ways of runs at the end of each phase, where a save is durable, and where a query would see."""
    tables, path = timetable.tables, timetable.path
    phases, runs = path.spent.shape
    seen = np.array([seen for _, seen in sights(timetable)], np.int64).reshape(-1, runs)
    ends = np.concatenate([path.passed[1:], path.durable, seen])
    np.clip(ends, 0, path.passed[-1], out=ends)
    order = np.argsort(ends, axis=0, kind="stable")

    passes = np.zeros((len(ends), 1), np.int32)
    passes[:phases] = 1
    resume = np.zeros((len(ends), timetable.taken.shape[1]), np.int32)
    resume[phases : phases + len(tables.saves)] = tables.resume * timetable.taken[tables.saves]
    begin, at, record = np.zeros((3, len(ends), runs), np.int64)
    begin[1:] = np.take_along_axis(ends, order, axis=0)[:-1]
    at[1:] = np.cumsum(np.take_along_axis(passes, order, axis=0), axis=0)[:-1]
    record[1:] = np.maximum.accumulate(np.take_along_axis(resume, order, axis=0), axis=0)[:-1]
    return Pieces(begin, at, record, _exposure(timetable, begin, at))


def _exposure(timetable: Timetable, begin: Ticks, at: Numbers) -> Ticks:
    """Exposure at the begin of each piece, and at the end of the last."""
    path, marks = timetable.path, timetable.marks
    end = marks.exposure[np.newaxis]
    weight = np.array([phase.weight for phase in timetable.program.phases] + [1.0])
    if np.all(weight == 1):
        return np.concatenate([begin, end])
    before = np.zeros_like(path.passed)
    for number, spent in enumerate(path.spent):
        later(before[number], exposed(spent, weight[number]), out=before[number + 1])
    within = (begin - np.take_along_axis(path.passed, at, axis=0)) * weight[at]
    return np.concatenate([np.take_along_axis(before, at, axis=0) + within.astype(np.int64), end])


def sights(timetable: Timetable) -> Iterator[tuple[timeline.Query, Ticks]]:
    """Give each query, and since when a crash lets it see the call made before; shape (runs,), in ticks."""
    program, draws, times = timetable.program, timetable.draws, timetable.times
    down = program.scenario.downtime
    absent = draws.times(down.detection, "downtime", "detection", 1)
    absent = absent + draws.times(down.restart, "downtime", "restart", 1)
    absent += draws.times(down.load, "downtime", "load", 2)
    for query in timetable.tables.queries:
        asks = absent + times[query.number] - times[program.beside[query.number]]
        yield query, timetable.path.passed[query.request + 1] - asks


def verdicts(timetable: Timetable, pieces: Pieces) -> dict[str, NDArray[np.int64]]:
    """Say what a run yields if the only crash falls into a piece.

    Parameters
    ----------
    timetable : Timetable
        The runs.
    pieces : Pieces
        Their ways, cut.

    Returns
    -------
    dict of str to ndarray of int64, shape (pieces, runs)
        By outcome, of those in `COUNTS`.
    """
    tables, at, record = timetable.tables, pieces.at, pieces.record
    scenario = timetable.program.scenario
    if scenario.strategy.memory_only:
        record = np.zeros_like(record)
    if scenario.store.slots == 1:
        torn = timetable.draws.uniforms("torn", 1) < scenario.store.torn
        record = np.where(tables.writes[at] & torn, 0, record)
    requests = np.zeros((len(timetable.path.passed) + 1, timetable.taken.shape[1]), np.int64)
    requests[1 + np.array(tables.requests, np.intp)] = timetable.taken[tables.requests]
    np.cumsum(requests, axis=0, out=requests)

    def sent_before(phase: Numbers) -> NDArray[np.int64]:
        if requests.shape[1] == 1:
            return np.asarray(requests[:, 0][phase])
        return np.take_along_axis(requests, phase, axis=0)

    goes_on = scenario.receiver.on_disconnect == "continues"
    sent, forgotten = sent_before(np.minimum(at + goes_on, len(requests) - 1)), sent_before(record)
    duplicates = np.maximum(sent - forgotten, 0)
    for query, seen in sights(timetable):
        asks = (record >= query.first) & (record <= query.number) & timetable.taken[query.number]
        duplicates -= asks & (at >= query.request) & (pieces.begin >= seen)
    keyed = scenario.strategy.key in LASTING and scenario.strategy.run_id == "given"
    stuck = (record == 0) & (scenario.strategy.if_nothing == "stuck")
    for park in tables.parks:
        stuck |= (record >= park.first) & (record <= park.number) & timetable.taken[park.number]
    done = tables.steps_done
    struck = {name: phases.astype(np.int64)[at] for name, phases in tables.struck.items()}
    return {
        "redone_steps": np.maximum(done[at] - done[record], 0) * ~stuck,
        "duplicate_actions": duplicates * (not keyed) * ~stuck,
        "lost_actions": np.maximum(forgotten - sent, 0) * ~stuck,
    } | struck


def knows_one_crash(timetable: Timetable) -> bool:
    """Whether the verdict is what one crash does, and not only what it does as a rule."""
    scenario = timetable.program.scenario
    strategy, keys = scenario.strategy, scenario.receiver.keys
    return strategy.key not in LASTING or (
        keys.ttl is None and strategy.key != "arguments" and strategy.run_id == "given"
    )


def columns(timetable: Timetable) -> Columns | None:
    """Give the conditional values of the runs of a timetable.

    Parameters
    ----------
    timetable : Timetable
        The runs.

    Returns
    -------
    dict of str to ndarray of float, shape (replications,), or None
        `value` and `control` of each outcome in `COUNTS`, of `some` in `SHARES`, and of the duplicates by
        their cause; besides `CORRECTION`. None if the first crash is not drawn from one law.
    """
    marks, crash = timetable.marks, timetable.program.scenario.crash
    pieces = cut(timetable)
    before = crash.first_before(timetable.draws, marks, pieces.exposure)
    if before is None:
        return None
    probability = before[-1]
    falls_into = np.diff(before, axis=0)
    verdict = verdicts(timetable, pieces)
    simulated = timeline.simulate(timetable, timetable.plan(within=probability))
    first = next(timetable.plan(within=probability).sources[0].rows)
    piece = (pieces.exposure[1:] <= first).sum(axis=0)
    struck = piece < len(falls_into)
    place = np.minimum(piece, len(falls_into) - 1)[np.newaxis]

    found: Columns = {CORRECTION: probability * (crash.repeats or not knows_one_crash(timetable))}

    def compare(name: str, outcome: NDArray[Any], verdict: NDArray[np.int64]) -> None:
        expected = np.einsum("pr,pr->r", falls_into, verdict)
        judged = np.take_along_axis(verdict, place, axis=0)[0] * struck
        found[value(name)] = expected + probability * (outcome - judged)
        found[control(name)] = probability * judged - expected

    for name in COUNTS:
        compare(name, simulated[name], verdict[name])
    for name in SHARES:
        compare(some(name), np.sign(simulated[name]), np.sign(verdict[name]))
    by_cause = {
        "crash": verdict["duplicate_actions"],
        "expired_key": np.zeros_like(verdict["duplicate_actions"]),
    }
    for cause, judged in by_cause.items():
        compare(duplicates_by(cause), simulated[duplicates_by(cause)], judged)
    return found
