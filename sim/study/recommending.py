"""Which protection is worth it: the least cost, why, what would change that, and what is worth measuring."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log

from sim.study.agent import Costs
from sim.study.predicting import NOTHING, Predicted, Prediction, Predictions, Range

RUNS = 1000
"""Of so many runs costs are told."""

NEARLY = 0.01
"""As good as the cheapest is what costs no more besides than so large a part of what the dearest costs."""

NEAR = 1e-6
"""A price that would have to fall to a smaller part of itself is 0 but for rounding."""

PRICED = {
    "duplicate": "a duplicate",
    "loss": "a lost action",
    "stuck": "a run that waits for a person",
    "million_tokens": "a million tokens",
    "hour": "an hour",
}
"""Names of the prices in a sentence."""


@dataclass(frozen=True)
class Switch:
    """A price at which another strategy becomes the cheapest.

    Attributes
    ----------
    price : str
        One of `PRICED`.
    at, now : float
    to : str
        The strategy.
    """

    price: str
    at: float
    now: float
    to: str


@dataclass(frozen=True)
class Move:
    """What an assumption does to the advice when it is halved and doubled.

    Attributes
    ----------
    assumption : str
    costs : list of float
        Of `RUNS` runs under the advised strategy, in the order of the factors.
    instead : list of str or None
        The strategy that would then be advised, where it is another.
    """

    assumption: str
    costs: list[float]
    instead: list[str | None]


@dataclass(frozen=True)
class Advice:
    """What to do.

    Attributes
    ----------
    strategy : str
        The simplest of those that are as good as the cheapest.
    costs : dict of str to Range
        Of `RUNS` runs, by strategy.
    shares : dict of str to dict of str to float
        By strategy and price: its part of the cost.
    alike : list of str
        The others that are.
    switches : list of Switch
        The nearest first.
    moves : list of Move
        Assumptions that change the advice first, then those that move its cost most.
    """

    strategy: str
    costs: dict[str, Range]
    shares: dict[str, dict[str, float]]
    alike: list[str]
    switches: list[Switch]
    moves: list[Move]


def advise(predicted: Predicted, prices: Costs) -> Advice:
    """Weigh predictions by what they cost.

    Parameters
    ----------
    predicted : Predicted
        The simplest strategy first.
    prices : Costs
    """
    costs = {name: cost(found, prices) for name, found in predicted.given.items()}
    strategy, *alike = _level(costs)
    apart = {name: found for name, found in predicted.given.items() if name not in alike}
    return Advice(
        strategy=strategy,
        costs=costs,
        shares={
            name: {price: each.value for price, each in _parts(found, prices).items()}
            for name, found in predicted.given.items()
        },
        alike=alike,
        switches=sorted(_switches(apart, prices, strategy), key=_distance),
        moves=_moves(predicted, prices, strategy),
    )


def cost(found: Prediction, prices: Costs) -> Range:
    """Give the cost of `RUNS` runs."""
    return sum(_parts(found, prices).values(), NOTHING)


def _parts(found: Prediction, prices: Costs) -> dict[str, Range]:
    return {price: often * getattr(prices, price) for price, often in _often(found).items()}


def _often(found: Prediction) -> dict[str, Range]:
    """How often what has a price comes in `RUNS` runs."""
    return {
        "duplicate": found.duplicates_a_run * RUNS,
        "loss": found.lost_a_run * RUNS,
        "stuck": found.p_stuck * RUNS,
        "million_tokens": found.tokens * (RUNS / 1e6),
        "hour": found.lost_s * (RUNS / 3600),
    }


def _level(costs: dict[str, Range]) -> list[str]:
    """Name the strategies that are as good as the cheapest, in their order: the simplest first.

    Their intervals meet, and they spare nearly as much of what the dearest costs.
    """
    least = min(costs.values(), key=lambda each: each.value)
    most = least.value + NEARLY * max(each.value for each in costs.values())
    return [name for name, each in costs.items() if each.low <= least.high and each.value <= most]


def _switches(given: Predictions, prices: Costs, strategy: str) -> Iterator[Switch]:
    """Find for each price the nearest ones, below and above, at which another strategy is the cheapest."""
    for price in PRICED:
        now = getattr(prices, price)
        often = {name: _often(found)[price].value for name, found in given.items()}
        rest = {name: cost(found, prices).value - now * often[name] for name, found in given.items()}
        below, above = Switch(price, -inf, now, ""), Switch(price, inf, now, "")
        for name in given:
            if name == strategy or often[name] == often[strategy]:
                continue
            at = (rest[name] - rest[strategy]) / (often[strategy] - often[name])
            if often[name] < often[strategy] and now < at < above.at:
                above = Switch(price, at, now, name)
            if often[name] > often[strategy] and below.at < at < now:
                below = Switch(price, at, now, name)
        yield from (found for found in (below, above) if NEAR * now < found.at < inf)


def _distance(switch: Switch) -> float:
    return abs(log(switch.at / switch.now)) if switch.now else inf


def _moves(predicted: Predicted, prices: Costs, strategy: str) -> list[Move]:
    """Say of each assumption what moving it does: those first that matter most."""
    now = cost(predicted.given[strategy], prices).value
    moves: dict[str, list[tuple[float, str | None]]] = {}
    for (assumption, _), given in predicted.moved.items():
        costs = {name: cost(found, prices) for name, found in given.items()}
        level = _level(costs)
        worse = costs[strategy].low > costs[level[0]].high  # and not only seems so
        moved = costs[strategy].value, level[0] if worse and strategy not in level else None
        moves.setdefault(assumption, []).append(moved)
    found = [Move(name, [cost for cost, _ in each], [to for _, to in each]) for name, each in moves.items()]

    def reach(move: Move) -> tuple[bool, float]:
        factors = [abs(log(each / now)) if each > 0 and now > 0 else 0.0 for each in move.costs]
        return any(move.instead), max(factors)

    return sorted(found, key=reach, reverse=True)
