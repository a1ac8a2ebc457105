"""Which protection is worth it: the least cost, why, what would change that, and what is worth measuring."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, log

from sim.study.agent import Costs
from sim.study.predicting import NOTHING, Predicted, Prediction, Predictions, Range

RUNS = 1000
"""Of so many runs costs are told."""

NEARLY = 0.01
"""As good as the cheapest is what costs no more besides than so large a part of what the dearest costs."""

TENTHS = 60
"""Prices are looked at by tenths of a decade, so many down and up."""

SMALL = 1e-3
"""Where those begin of what has no price."""

PRICED = {
    "duplicate": ("a duplicate", "duplicates"),
    "loss": ("a lost action", "lost actions"),
    "stuck": ("a run that is given up", "runs that are given up"),
    "million_tokens": ("a million tokens", "tokens"),
    "hour": ("an hour", "time"),
}
"""What has a price, in a sentence: one of it, and all of it."""


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
    strategy : str
        The advised one, or if its cost is not told to move the one whose cost moves most.
    costs : list of Range
        Of `RUNS` runs under it, in the order of the factors.
    instead : list of str or None
        The strategy that would then be advised, where it is another.
    """

    assumption: str
    strategy: str
    costs: list[Range]
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
    strategy, *alike = _level({name: each.value for name, each in costs.items()})
    return Advice(
        strategy=strategy,
        costs=costs,
        shares={
            name: {price: each.value for price, each in _parts(found, prices).items()}
            for name, found in predicted.given.items()
        },
        alike=alike,
        switches=sorted(_switches(predicted.given, prices, strategy), key=_distance),
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


def _level(costs: dict[str, float]) -> list[str]:
    """Name the strategies that are as good as the cheapest, in their order: the simplest first."""
    most = min(costs.values()) + NEARLY * max(costs.values())
    return [name for name, each in costs.items() if each <= most]


def _switches(given: Predictions, prices: Costs, strategy: str) -> Iterator[Switch]:
    """Find for each price the nearest ones, below and above, from which on another strategy is better."""
    for price in PRICED:
        now = getattr(prices, price)
        often = {name: _often(found)[price].value for name, found in given.items()}
        rest = {name: cost(found, prices).value - now * often[name] for name, found in given.items()}

        def better(at: float, often: dict[str, float] = often, rest: dict[str, float] = rest) -> str | None:
            level = _level({name: rest[name] + at * often[name] for name in often})
            return None if strategy in level else level[0]

        for way in (-1, 1) if now else (1,):
            last = now
            for tenths in range(1, TENTHS + 1):
                at = (now or SMALL) * 10 ** (way * tenths / 10)
                if better(at):
                    at = _border(last, at, better)
                    yield Switch(price, at, now, better(at) or "")
                    break
                last = at


def _border(inside: float, outside: float, better: Callable[[float], str | None]) -> float:
    """Give the price between two at which another strategy becomes better."""
    for _ in range(50):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if better(middle) else (middle, outside)
    return outside


def _distance(switch: Switch) -> float:
    return abs(log(switch.at / switch.now)) if switch.now else inf


def _moves(predicted: Predicted, prices: Costs, strategy: str) -> list[Move]:
    """Say of each assumption what moving it does: those first that matter most."""
    now = {name: cost(found, prices) for name, found in predicted.given.items()}
    moved: dict[str, list[dict[str, Range]]] = {}
    for (assumption, _), given in predicted.moved.items():
        moved.setdefault(assumption, []).append({name: cost(found, prices) for name, found in given.items()})
    ranked = []
    for assumption, cases in moved.items():
        instead = [_instead(costs, strategy) for costs in cases]
        reach = {name: max(_reach(costs[name], now[name]) for costs in cases) for name in now}
        shown = strategy if reach[strategy] else max(reach, key=lambda name: reach[name])
        if reach[shown]:
            rank = any(instead), reach[strategy], reach[shown]
            ranked.append((rank, Move(assumption, shown, [costs[shown] for costs in cases], instead)))
    return [move for _, move in sorted(ranked, key=lambda pair: pair[0], reverse=True)]


def _instead(costs: dict[str, Range], strategy: str) -> str | None:
    """Name what is better than a strategy, and not only seems so."""
    level = _level({name: each.value for name, each in costs.items()})
    worse = costs[strategy].low > costs[level[0]].high
    return level[0] if worse and strategy not in level else None


def _reach(moved: Range, now: Range) -> float:
    """Absolute logarithm of a factor of change; 0 where the intervals meet."""
    if (moved.low <= now.high and now.low <= moved.high) or not (moved.value > 0 and now.value > 0):
        return 0.0
    return abs(log(moved.value / now.value))
