"""What a machine takes: latencies under the laboratory's own load, and where a save becomes durable.

A process cannot see the point of no return inside a commit. Kills can: one that comes at a uniform offset
from the begin of a save finds it durable or not, and the share of those that do not is the part of the save
that goes before that point.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from sim.crashes import NoCrash
from sim.intervals import Interval, share_interval
from sim.lab.board import BEGIN, END
from sim.lab.orders import Move, Order, Report, Timer
from sim.lab.translation import Runs, runs
from sim.laws import Constant, Empirical, Law, longer
from sim.scenario import Scenario
from sim.services import ZERO, Store
from sim.strategy import Save, Strategy
from sim.workload import Workload

Seconds = NDArray[np.float64]


@dataclass(frozen=True)
class Latencies:
    """What was measured, in seconds of the machine.

    Attributes
    ----------
    request, response, save, delta, load : ndarray of float
        From sending until the receiver has performed; from there until the answer; of whole saves; of those
        that hold what is new only; from the fork of an agent until it knows where to go on.
    stretch : float
        How much longer than drawn the work took, with what lies between it and the phase before.
    """

    request: Seconds
    response: Seconds
    save: Seconds
    delta: Seconds
    load: Seconds
    stretch: float

    def named(self) -> dict[str, Seconds]:
        """Give what there is, by name."""
        times = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "stretch"}
        return {name: found for name, found in times.items() if found.size}


def latencies(made: Runs, reports: Iterable[Report]) -> Latencies:
    """Measure the phases that were not cut off.

    Of phases that kills cut off more long ones are missing: with exponential kills a mean is too small by
    their rate times the variance, about a hundredth where a kill comes in every seventh window.
    """
    times: dict[str, list[int]] = {name: [] for name in ("request", "response", "save", "delta", "load")}
    drawn = spent = 0
    orders = {order.run: order for order in made.orders}
    for report in reports:
        moves = {move.id: move for move in orders[report.run].moves}
        begins: Counter[int] = Counter()
        for life in report.lives:
            if life.loaded is None:
                continue
            times["load"].append(life.loaded - life.woke)
            begun: dict[int, int] = {}
            since = life.loaded
            for what, which, when in life.notes:
                move = moves.get(which)
                if what == BEGIN:
                    begun[which] = when
                    begins[which] += 1
                elif what == END and move is not None:
                    if move.saves and which in begun:
                        times["delta" if move.delta else "save"].append(when - begun[which])
                    elif move.name == "response" and (sent := begun.get(which - 1)) is not None:
                        if (at := report.performed_in(move.step, sent, when)) is not None:
                            times["request"].append(at - sent)
                            times["response"].append(when - at)
                    elif move.name in WORK:
                        spent += when - since
                        drawn += move.time_ns(begins[which] - 1)
                    if move.name != "lane":  # what is saved behind the work ends beside it
                        since = when
    seconds = {name: np.array(found) / 1e9 for name, found in times.items()}
    return Latencies(**seconds, stretch=spent / drawn if drawn else 1.0)


WORK = ("work", "tool", "prepare")
"""Phases that an agent sleeps through."""


@dataclass(frozen=True)
class Split:
    """Where within a save it becomes durable.

    Attributes
    ----------
    cut, lost : int
        Kills that came during a save; of these, those after which it was not durable.
    """

    cut: int
    lost: int

    @property
    def share(self) -> float:
        """Mean part of a save that goes before the point of no return."""
        return self.lost / self.cut if self.cut else 1.0

    def interval(self, level: float = 0.95) -> Interval:
        """Interval of the share."""
        return share_interval(self.lost, self.cut, level)


PROBE = Workload.model_validate(
    {
        "steps": [
            {"name": "warm up", "work": 0.001},
            {"name": "act", "work": 0.001, "action": {}},
            {"name": "think", "work": 1.0},
        ]
    }
)
"""A run that can be killed right after its action was sent, or while it is saved.

The first save of a process may take longer than the others, so it comes before.
"""

ACTS, THINKS = 1, 2
"""Steps of the probe."""


def probes(
    scenario: Scenario, within: str, n: int, span_s: float, scale: float, name: str, walks: str = "verbs"
) -> Runs:
    """Make runs that are killed at offsets spread evenly over a span; the receiver takes its mean times.

    Parameters
    ----------
    scenario : Scenario
        Whose receiver and strategy are taken.
    within : str
        ``gap`` for offsets from *sent* on, ``save`` for offsets from the begin of the save on.
    n, span_s : int, float
        How many; over how much time, s.
    scale, name, walks
        As of `sim.lab.translation.runs`.
    """
    calls = scenario.receiver
    steady = {name: Constant(value=getattr(calls, name).mean_s) for name in ("request", "response")}
    small = scenario.model_copy(
        update={"workload": PROBE, "crash": NoCrash(), "receiver": calls.model_copy(update=steady)}
    )
    made = runs(small, n, 0, scale, name, walks)
    orders = []
    for number, order in enumerate(made.orders):
        at = first_save(order) if within == "save" else sent(order)
        rest_ns = round(3 * span_s * 1e9)
        moves = tuple(
            replace(move, times_ns=(rest_ns, 0)) if (move.step, move.name) == (THINKS, "work") else move
            for move in order.moves
        )
        offset = round((number + 0.5) / n * span_s * 1e9)
        orders.append(replace(order, moves=moves, timer=Timer(at.id, offset)))
    # The order of offsets is mixed, so that a slow minute of the machine falls on all alike.
    mixed = np.random.default_rng(0).permutation(n)
    return replace(made, orders=[orders[number] for number in mixed])


def split(made: Runs, reports: Iterable[Report]) -> Split:
    """See which saves were durable that kills cut off."""
    cut = lost = 0
    orders = {order.run: order for order in made.orders}
    for report in reports:
        order, life = orders[report.run], report.lives[0]
        save = first_save(order)
        noted = {(what, which) for what, which, _ in life.notes}
        if life.killed is None or (BEGIN, save.id) not in noted or (END, save.id) in noted:
            continue
        cut += 1
        lost += next(other.resume for other in report.lives[1:] if other.loaded is not None) < save.resume
    return Split(cut, lost)


def sent(order: Order) -> Move:
    """Give the request of the probe's action."""
    return next(move for move in order.moves if move.name == "request")


def first_save(order: Order) -> Move:
    """Give the save that records the probe's action the soonest."""
    return next(move for move in order.moves if move.step == ACTS and move.saves)


def offsets(made: Runs, reports: Iterable[Report]) -> Iterator[tuple[float, bool]]:
    """Give the offset of each kill, in s, and whether the action was performed twice."""
    by_run = {order.run: order for order in made.orders}
    for report in reports:
        timer = by_run[report.run].timer
        if timer is not None and report.lives[0].killed is not None:
            yield timer.offset_ns / 1e9, len(report.performed) > 1


def measured(scenario: Scenario, found: Latencies, share: float, scale: float) -> Scenario:
    """Put what was measured in the place of assumed latencies, in the scenario's own time.

    Parameters
    ----------
    scenario : Scenario
        What is to be predicted.
    found : Latencies
        What was measured.
    share : float
        Part of a save that goes before its point of no return.
    scale : float
        The laboratory's; what was measured is divided by it.
    """

    def law(times: Seconds) -> Law:
        return Empirical(times=tuple((times / scale).tolist())) if times.size else ZERO

    save = law(found.save)
    store = Store(
        write=longer(save, share) if share else ZERO, ack=longer(save, 1 - share) if share < 1 else ZERO
    )
    strategy = scenario.strategy
    if found.delta.size:
        by = float(found.delta.mean() / found.save.mean())
        strategy = with_deltas(strategy, by)
    calls = {"request": law(found.request), "response": law(found.response)}
    receiver = scenario.receiver.model_copy(update=calls)
    workload = scenario.workload
    return scenario.model_copy(
        update={
            "store": store,
            "strategy": strategy,
            "receiver": receiver,
            "downtime": scenario.downtime.model_copy(update={"load": law(found.load)}),
            "workload": workload.model_copy(update={"work_scale": workload.work_scale * found.stretch}),
        }
    )


def with_deltas(strategy: Strategy, by: float) -> Strategy:
    """Let saves of what is new take so many times a whole one's time."""
    lists = {
        name: tuple(
            verb.model_copy(update={"scale": by}) if isinstance(verb, Save) and verb.delta else verb
            for verb in getattr(strategy, name)
        )
        for name in ("begin", "plain", "action", "end")
    }
    return strategy.model_copy(update=lists)


def rival(scenario: Scenario, found: Latencies, scale: float) -> Scenario:
    """Give the model by which only a crash between the answer and the end of the save repeats an action."""
    fed = measured(scenario, found, 1.0, scale)
    receiver = fed.receiver
    calls = receiver.model_copy(update={"prepare": receiver.request, "request": ZERO, "response": ZERO})
    return fed.model_copy(update={"receiver": calls})
