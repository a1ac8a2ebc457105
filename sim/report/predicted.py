"""A prediction for people: a table of all strategies, and what to do, in sentences.

Where it is not known which tools act there are two predictions, and every number is a range from the best
case to the worst.
"""

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from sim.report.answers import number, percent
from sim.report.tables import CAUSE_LABELS, Table
from sim.study.agent import Agent
from sim.study.predicting import MOVES, Prediction, Predictions, Range
from sim.study.recommending import NEARLY, PRICED, RUNS, Advice, cost

PERCENT = " %"

SHOWN = 3
"""So many prices are told of at which the advice changes."""

Columns = dict[str, tuple[Callable[[Prediction], Range], Callable[..., str]]]
"""By head: what stands in a column, and how it is written."""

COLUMNS: Columns = {
    "duplicates\nper million actions": (lambda found: found.duplicates, number),
    "lost\nper million actions": (lambda found: found.lost, number),
    "runs with\na duplicate": (lambda found: found.p_duplicate, percent),
    "runs\ngiven up": (lambda found: found.p_stuck, percent),
    f"wasted tokens\nin {RUNS:,} runs": (lambda found: found.tokens * RUNS, number),
    "lost time\na run, s": (lambda found: found.lost_s, number),
}


def table(agent: Agent, cases: Sequence[Predictions]) -> Table:
    """Put all strategies beside each other.

    Parameters
    ----------
    agent : Agent
    cases : sequence of dict
        One prediction, or that of the best case and that of the worst.
    """
    columns = _columns(agent)
    rows = [
        [
            f"{name} (now)" if name == agent.now else name,
            *(_written([what(case[name]) for case in cases], write) for what, write in columns.values()),
        ]
        for name in agent.scenarios
    ]
    return Table("Predicted", ["strategy", *columns], rows)


def _columns(agent: Agent) -> Columns:
    head = f"cost of {RUNS:,}\nruns, {agent.costs.currency}"
    return {**COLUMNS, head: (lambda found: cost(found, agent.costs), number)}


def _written(found: list[Range], write: Callable[..., str]) -> str:
    """Write a number with its interval below it; a range from the best case to the worst if these differ."""
    values = [write(value) for value in sorted(each.value for each in found)]
    value = values[0].removesuffix(PERCENT) + f" to {values[-1]}" if values[0] != values[-1] else values[0]
    low, high = min(each.low for each in found), max(each.high for each in found)
    if (write(low), write(high)) == (values[0], values[-1]):
        return value
    if values[-1] == write(0.0):
        return f"0\n(at most {write(high, 2)})"
    return f"{value}\n({write(low).removesuffix(PERCENT)} to {write(high)})"


def causes(agent: Agent, cases: Sequence[Predictions]) -> list[str]:
    """Say what makes actions happen twice, per million actions; a line a strategy under which some do."""
    lines = []
    for name in agent.scenarios:
        parts = []
        for cause in cases[-1][name].causes:
            values = [case[name].causes[cause].value for case in cases]
            if values[-1]:
                written = dict.fromkeys(number(value) for value in values)
                parts.append(f"{CAUSE_LABELS.get(cause, cause)} {' to '.join(written)}")
        if parts:
            lines.append(f"{name}: {', '.join(parts)}")
    return lines


def missed(given: Predictions, relative: float) -> str:
    """Name what is not as precise as was asked for; "" if all is."""
    duplicates = {name: found.duplicates for name, found in given.items()}
    wide = [name for name, each in duplicates.items() if each.high - each.low > 2 * relative * each.value > 0]
    return f"Duplicates of {_listed(wide)} are not known to ±{100 * relative:g} %." if wide else ""


def told(agent: Agent) -> Iterator[str]:
    """Say what is predicted, and what was assumed."""
    scenario = next(iter(agent.scenarios.values()))
    steps = scenario.workload.steps
    acting = sum(step.acts for step in steps)
    yield (
        f"{agent.experiment.title}: {len(steps)} steps, of which {number(acting)} act; "
        f"{number(scenario.workload.mean_s(scenario.receiver))} s without a crash."
    )
    deploys = agent.deploys
    lanes = [getattr(verb, "lane", None) for each in agent.scenarios.values() for verb in each.strategy.verbs]
    grace = f", {deploys.grace:g} s from being told to being killed" if deploys.grace else ", killed at once"
    yield f"{deploys.a_day:g} deploys a day{grace}." if deploys.a_day else "No deploys."
    if deploys.a_day and deploys.grace and any(lanes):
        yield "A worker told to stop ends its step, and does not wait for saves behind the work."
    if agent.assumed:
        assumed = ", ".join(agent.assumed)
        yield f"Assumed, since nobody said: {assumed} (savegap init writes a file to say it in)."


def recommendation(agent: Agent, advice: Advice) -> Iterator[str]:
    """Say what to do, why, what would change it, and what is worth measuring next; a text a paragraph."""
    prices = agent.costs
    if not any(getattr(prices, price) for price in PRICED):
        yield "Nothing has a price, so nothing is advised; say in [costs] what things cost."
        return
    best, currency = advice.strategy, prices.currency
    costs = f"{_money(advice.costs[best])} {currency} in {RUNS:,} runs, {_why(advice.shares[best])}"
    near = f"No dearer, or by less than {100 * NEARLY:g} % of what the dearest costs"
    alike = f" {near}: {_listed(advice.alike)}." if advice.alike else ""
    yield f"Take “{best}”: it costs {costs}.{alike}"
    others = [agent.now] if agent.now not in (None, best) else []
    dearest = max(advice.costs, key=lambda name: advice.costs[name].value)
    for name in dict.fromkeys([*others, dearest]):
        if name is not None and name != best and name not in advice.alike:
            costs = _money(advice.costs[name])
            now = ", as it is now," if name == agent.now else ""
            yield f"“{name}”{now} costs {costs}, {_why(advice.shares[name])}."
    changes = [
        f"if {PRICED[each.price][0]} cost {'more' if each.at > each.now else 'less'} than {number(each.at)} "
        f"{currency} instead of {number(each.now)}, “{each.to}”"
        for each in advice.switches[:SHOWN]
    ]
    for move in advice.moves:
        for by, instead in zip(MOVES, move.instead, strict=True):
            if instead:
                changes.append(f"if {move.assumption} were {by:g} times as long, “{instead}”")
    if changes:
        yield f"What would change it: {'; '.join(changes)}."
    else:
        yield "No price by itself would change it, nor would half or double of any time that was tried."
    if advice.moves:
        first = advice.moves[0]
        low, high = sorted(first.costs, key=lambda each: each.value)
        better = ", and another is better" if any(first.instead) else ""
        costs = f"{_money(low)} or {_money(high)} {currency}"
        yield (
            f"Worth measuring next: {first.assumption}. "
            f"With half or double of it “{first.strategy}” costs {costs}{better}."
        )


def _why(shares: dict[str, float]) -> str:
    """Say what the greatest part of a cost is for."""
    whole = sum(shares.values())
    what, most = max(shares.items(), key=lambda pair: pair[1])
    if not whole:
        return "for nothing that has a price"
    return f"{percent(most / whole, 2)} of it for {PRICED[what][1]}"


def _money(found: Range) -> str:
    return f"{number(found.value)} ({number(found.low)} to {number(found.high)})"


def _listed(names: list[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def as_csv(agent: Agent, cases: dict[str, Predictions]) -> str:
    """Give the table as text of a CSV file: a row a case, strategy and number, with its interval."""
    columns = _columns(agent)
    rows = []
    for case, predictions in cases.items():
        for name, prediction in predictions.items():
            for head, (what, _) in columns.items():
                found = what(prediction)
                told = {"case": case.strip(": "), "strategy": name, "number": head.replace("\n", " ")}
                rows.append({**told, "value": found.value, "low": found.low, "high": found.high})
    text: str = pd.DataFrame(rows).to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return text
