"""Between the simulated and the real: a scenario as orders to agents, and what became of them as a log.

Agents walk through the phases of `sim.program` for the times, and die at the times, that the simulator would
draw; what they come to is written into the same log and counted by the same `sim.outcomes`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from sim.crashes import Exposure
from sim.events import marks
from sim.lab import orders
from sim.lab.board import BEGIN, END
from sim.lab.orders import Life, Order, Report
from sim.outcomes import NOTHING, Attempt, Log, Tally, count
from sim.program import LANE, Phase, Program, unfold
from sim.scenario import Scenario
from sim.services import Client
from sim.streams import Streams
from sim.supervision import Downtime
from sim.ticks import NEVER, Ticks
from sim.validation import Key, Mistake, problems

ROUNDS = 8
"""How many times are drawn for a phase that is begun again; then the first comes again."""

CRASHES = 64
"""How many crash times are drawn for a run."""

TIMED = ("work", "tool", "prepare", "request", "response", "query")
"""Phases for which an agent, or the receiver, sleeps; saves take as long as they take."""


def mistakes(scenario: Scenario, walks: str = "verbs") -> list[Mistake]:
    """Find what real processes do not do here, as problems of the scenario.

    Parameters
    ----------
    scenario : Scenario
        What is to be tried.
    walks : str
        What walks; a framework has verbs of its own.
    """
    strategy, found = scenario.strategy, list[Mistake]()

    def refuse(at: Key, what: str) -> None:
        found.append((at, f"the laboratory has no {what}.", None))

    lanes = any(verb.verb == "drain" or getattr(verb, "lane", None) for verb in strategy.verbs)
    if walks == "verbs" and lanes:
        refuse(("strategy",), "saves behind the work; a framework's are tried with the framework")
    if strategy.relay is not None and strategy.relay.life is not None:
        refuse(("strategy", "relay", "life"), "relay that dies")
    if strategy.run_id != "given":
        refuse(("strategy", "run_id"), "runs that name themselves")
    if scenario.supervision is not None:
        refuse(("supervision",), "leases")
    if scenario.provider is not None:
        refuse(("provider",), "outages")
    if scenario.client != Client() or scenario.converses:
        refuse(("client",), "time-outs, errors or tries")
    if scenario.downtime.backoff is not None:
        refuse(("downtime", "backoff"), "backoff")
    if scenario.workload.rewords:
        refuse(("workload", "rewords"), "model that words an action anew")
    uneven = "phases in which kills are likelier; only a load can be spared"
    for at, exposure in scenario.crash.exposures():
        if exposure.load not in (0, 1) or exposure != Exposure(load=exposure.load):
            refuse(("crash", *at, "exposure"), uneven)
    if getattr(scenario.crash, "grace", 0):
        refuse(("crash", "grace"), "notice before a kill")
    return found


@dataclass(frozen=True)
class Runs:
    """Runs of a scenario to be made for real.

    Attributes
    ----------
    program : Program
        What they walk through.
    acts : ndarray of bool, shape (runs, steps)
        Which steps act in each.
    orders : list of Order
        What is asked of a supervisor, a run each.
    """

    program: Program
    acts: NDArray[np.bool_]
    orders: list[Order]

    def tally(self, reports: Iterable[Report]) -> Tally:
        """Count the outcomes of the reports that came, a row a run, in the order of the orders.

        Tokens of work that was cut off are not among the wasted ones.
        """
        numbers = {order.run: number for number, order in enumerate(self.orders)}
        log = Log()
        rows: list[int] = []
        for report in sorted(reports, key=lambda report: numbers[report.run]):
            number = numbers[report.run]
            path = self.program.path(self.acts[number])
            write(log, len(rows), path, report, self.program.scenario)
            rows.append(number)
        return count(self.program, log, self.acts[rows], None)


def runs(scenario: Scenario, n: int, seed: int, scale: float, name: str, walks: str = "verbs") -> Runs:
    """Draw runs.

    Parameters
    ----------
    scenario : Scenario
        What they are.
    n, seed : int
        How many; the seed of their random numbers.
    scale : float
        Factor on all times but those that a store takes.
    name : str
        What the names of the runs begin with; no two sets of runs of a laboratory share it.
    walks : str
        As of `Order`.

    Raises
    ------
    ValidationError
        With all that real processes do not do.
    """
    if found := mistakes(scenario, walks):
        raise problems("Scenario", found)
    program = unfold(scenario)
    draws = Streams(seed, 0, n)
    acts = program.draw_acts(draws)
    plan = scenario.crash.plan(draws, marks(program, draws))

    times = [
        _by_run((draws.times(phase.law, *phase.key, k) for k in range(ROUNDS)), scale)
        if phase.name in TIMED
        else [()] * n
        for phase in program.phases
    ]
    kills = [_by_run(islice(source.rows, CRASHES), scale) for source in plan.sources]
    pauses = _by_run(_pauses(scenario.downtime, draws), scale)
    made = []
    for run in range(n):
        moves = tuple(
            orders.Move(
                phase.id,
                phase.step,
                phase.name,
                phase.resume,
                phase.holds,
                phase.delta,
                times[phase.id][run],
            )
            for phase in program.path(acts[run])
        )
        made.append(
            Order(
                run=f"{name}-{run}",
                moves=moves,
                key=scenario.strategy.key,
                walks=walks,
                if_nothing=scenario.strategy.if_nothing,
                sources=tuple(
                    orders.Source(source.clock, rows[run])
                    for source, rows in zip(plan.sources, kills, strict=True)
                ),
                spares_load=any(source.exposure.load == 0 for source in plan.sources),
                restart_ns=pauses[run],
                attempts=scenario.limits.attempts,
                relay=_relay(scenario, scale, seed + run),
            )
        )
    return Runs(program, acts, made)


def _pauses(downtime: Downtime, draws: Streams) -> Iterator[Ticks]:
    """Draw how long no agent is there after each death, in ticks, a row a death."""
    for k in range(1, ROUNDS + 1):
        detection, restart = (
            draws.times(getattr(downtime, part), "downtime", part, k) for part in ("detection", "restart")
        )
        yield detection + restart


def _by_run(rows: Iterable[Ticks], scale: float) -> list[tuple[int, ...]]:
    """Turn rows of times, a column a run, into the scaled times of each run; what never comes never does."""
    table = np.stack(list(rows), axis=1)
    scaled = np.where(table >= NEVER, NEVER, (np.minimum(table, NEVER) * scale).astype(np.int64))
    return [tuple(row) for row in scaled.tolist()]


def _relay(scenario: Scenario, scale: float, seed: int) -> orders.Relay | None:
    """Draw the times of the relay of a run."""
    settings = scenario.strategy.relay
    if settings is None:
        return None
    draws = Streams(seed, 0, ROUNDS)
    laws = {
        "poll": settings.poll,
        "request": scenario.receiver.request,
        "response": scenario.receiver.response,
        "mark": settings.mark,
    }
    drawn = {name: draws.times(law, "relay", name) for name, law in laws.items()}
    times = {f"{name}_ns": tuple((ticks * scale).astype(int).tolist()) for name, ticks in drawn.items()}
    return orders.Relay(**times)


def write(log: Log, run: int, path: list[Phase], report: Report, scenario: Scenario) -> None:
    """Write down what became of a run."""
    first = report.lives[0].loaded or 0
    down, before, record = 0, first, 0
    for number, life in enumerate(report.lives):
        later = (other.resume for other in report.lives[number + 1 :] if other.loaded is not None)
        record = max(record, next(later, 0))
        end = max([life.killed or 0, life.loaded or 0, *(when for _, _, when in life.notes)])
        begin = end if life.loaded is None else life.loaded
        down += begin - before
        entries = len(log.phases)
        walk = path[bisect_left(path, life.resume, key=lambda phase: phase.id) :] if life.resume >= 0 else []
        for phase, when in passed(life, walk, report, record, end):
            log.phases.append(phase)
            log.ends.append(when)
        rest = walk[len(log.phases) - entries :]
        if rest:
            log.phases.append(rest[0].id)
            log.ends.append(end)
        planned = NEVER if rest else 0
        end = log.ends[-1] if walk else begin
        cause = 0 if life.killed is not None else NOTHING
        log.attempts.append(Attempt(run, entries, begin, planned, record, cause))
        before = end
    log.down.append(down)
    log.finished.append(report.finished)
    log.makespan.append(before - first)
    log.zombie.append(0)
    again = "relay" if scenario.strategy.relay is not None else "crash"
    seen: set[int] = set()
    for step, when in report.performed:
        log.performed.append((run, step))
        log.instants.append(when)
        log.causes.append(again if step in seen else "")
        seen.add(step)
    log.blocked.extend((run, step) for step, _ in report.blocked)


def passed(life: Life, walk: list[Phase], report: Report, record: int, end: int) -> Iterator[tuple[int, int]]:
    """Find the phases that an attempt came to the end of, with the instant.

    What an agent cannot note is known from elsewhere: when a request was performed, from the receiver;
    whether a save that was cut off had become durable, from where the next attempt resumed.
    """
    begun = {which: when for what, which, when in life.notes if what == BEGIN}
    ended = {which: when for what, which, when in life.notes if what == END}
    over = report.finished and life is report.lives[-1]
    next_begun: dict[int, int] = {}
    later = max(ended.values(), default=end) if over else None
    for phase in reversed(walk):
        if later is not None:
            next_begun[phase.id] = later
        later = begun.get(phase.id, later)
    now, before = life.loaded or 0, -1
    for phase, following in zip_longest(walk, walk[1:]):
        when = ended.get(phase.id)
        if following is not None and following.name == "request":
            when = begun.get(following.id)  # what goes before a request lasts until it is sent
        elif phase.name == "request" and phase.id in begun and when is None:
            answered = ended.get(following.id)
            until = end if answered is None else answered
            when = report.performed_in(phase.step, begun[phase.id], until) or answered
        elif phase.name == "write" and phase.id in begun and when is None:
            when = end if record >= phase.resume else None
        elif phase.name == "ack":
            when = ended.get(before)  # a save that was cut off may have been durable, but did not come back
        if phase.id in next_begun and (when is None or phase.name == LANE):
            when = next_begun[phase.id]
        if when is None:
            return
        now, before = max(now, when), phase.id
        yield phase.id, now
