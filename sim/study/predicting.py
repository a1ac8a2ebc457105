"""What a crash costs one agent: simulated under every strategy, as it is and with each assumption moved.

Deploys are rare beside runs, so they are not waited for. They are simulated by themselves, one in `STRETCH`
mean runs with a crash, and count for as much as they are rarer than that. What a deploy and another crash do
to one and the same run is left out. Where deploys are as frequent as that, both are simulated together.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import exp, isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd

from sim.crashes import AnyOf, Bursts, CrashProcess, NoCrash, Periodic, Renewal
from sim.estimate import BY_CAUSE
from sim.laws import Constant, Law, Scaled
from sim.program import unfold
from sim.scenario import Scenario
from sim.simulation import choose
from sim.study.agent import MOST_RUNS, Agent
from sim.study.chunks import CHECKED
from sim.study.config import Cell, Plan
from sim.study.errors import InputError, Problem
from sim.study.kept import Kept
from sim.study.precision import Precision
from sim.study.running import Advance, Job, Study
from sim.study.tabulating import tabulate
from sim.study.workers import Workers

DAY_S = 86_400.0

STRETCH = 4.0
"""Mean runs with a crash from one deploy to the next, where deploys are simulated by themselves."""

OFTEN = 0.1
"""Crashes in a run that is begun anew once, from which on deploys and crashes meet too often to part them."""

DEPLOY = "deploy"
"""Cause of the duplicates that deploys make."""

MOVES = (0.5, 2.0)
"""Factors by which an assumption is moved."""

ENOUGH_PER_MILLION = 1.0
"""Half the width of an interval, per million actions, that is narrow enough whatever the estimate."""

MOVED_RUNS = 1024
"""Runs of each strategy where an assumption is moved: what is asked is only how far it moves the answer."""

MOST_PHASES = 4e7
"""So many phases are gone through at most where ±10 % are asked for, so that it takes seconds."""

LEAST_RUNS = 8

SLOWER = 100
"""How many times as long the events engine takes for a phase."""

HOPELESS, MOST_ATTEMPTS = 2.0, 1000.0
"""From so many crashes in the time of a run on, runs may take as many attempts as they are allowed."""

Scenarios = dict[str, Scenario]
Progress = Callable[[int, int], AbstractContextManager[Advance]]
"""Told how many chunks and runs there are; gives a context with what is told of those that are done."""


@dataclass(frozen=True)
class Range:
    """A number with its 95 % interval. Of a sum half-widths are added up, so that its interval is wider."""

    value: float
    low: float
    high: float

    def __add__(self, other: "Range") -> "Range":
        """Add a number, and its half-widths."""
        return Range(self.value + other.value, self.low + other.low, self.high + other.high)

    def __mul__(self, factor: float) -> "Range":
        """Multiply by a number that is not negative."""
        return Range(factor * self.value, factor * self.low, factor * self.high)


NOTHING = Range(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Prediction:
    """What is to be expected of one strategy.

    Attributes
    ----------
    duplicates, lost : Range
        Per million actions.
    causes : dict of str to Range
        Duplicates per million actions by cause.
    p_duplicate, p_stuck : Range
        Shares of runs: with a duplicate, given up.
    duplicates_a_run, lost_a_run : Range
    tokens, lost_s : Range
        Means of a run: tokens that are wasted, and time that goes to saves, downtime and work done again.
    """

    duplicates: Range
    lost: Range
    causes: dict[str, Range]
    p_duplicate: Range
    p_stuck: Range
    duplicates_a_run: Range
    lost_a_run: Range
    tokens: Range
    lost_s: Range


Predictions = dict[str, Prediction]
"""By strategy."""


@dataclass(frozen=True)
class Predicted:
    """Predictions as given, and with one assumption moved by a factor, by both."""

    given: Predictions
    moved: dict[tuple[str, float], Predictions]


class Part(NamedTuple):
    """Scenarios of which the outcomes count so much."""

    what: str
    scenarios: Scenarios
    weight: float


def predict(agent: Agent, relative: float, workers: Workers, progress: Progress) -> Predicted:
    """Simulate an agent.

    Parameters
    ----------
    agent : Agent
    relative : float
        Half the width of the intervals of duplicates and losses, as a share of the estimate.
    workers : Workers
    progress : callable
        As `Progress`.

    Raises
    ------
    InputError
        If a run cannot be simulated, or deploys do not go with such crashes.
    """
    parts = _parts(agent.scenarios, agent)
    moves = {move: _parts(scenarios, agent) for move, scenarios in _moved(agent.scenarios)}
    jobs = [
        _job(agent, part.what, {"": part.scenarios}, Precision(relative=relative, absolute=enough))
        for part in parts
        for enough in [ENOUGH_PER_MILLION / part.weight]
    ]
    kinds = list(dict.fromkeys(part.what for moved in moves.values() for part in moved))
    for kind in kinds:
        moved = {str(move): part.scenarios for move, of in moves.items() for part in of if part.what == kind}
        jobs.append(_job(agent, f"{kind}, moved", moved, None))
    tables = _simulated(agent, jobs, workers, progress)
    given, moved_tables = tables[: len(parts)], dict(zip(kinds, tables[len(parts) :], strict=True))
    return Predicted(
        _predictions(agent, list(zip(given, parts, strict=True))),
        {
            move: _predictions(agent, [(_case(moved_tables[part.what], str(move)), part) for part in of])
            for move, of in moves.items()
        },
    )


def _case(table: pd.DataFrame, case: str) -> pd.DataFrame:
    return table[table["case"] == case]


def _job(agent: Agent, name: str, cells: dict[str, Scenarios], precision: Precision | None) -> Job:
    """Make a job of cases, all of the same strategies."""
    if precision:
        most = min(_affordable(cells, MOST_PHASES), MOST_RUNS) * (0.1 / precision.relative) ** 2
    else:
        most = min(_affordable(cells, MOST_PHASES / len(cells)), MOVED_RUNS)
    strategies = {strategy: agent.experiment.strategies[strategy] for strategy in next(iter(cells.values()))}
    asked = {"precision": precision, "replications": max(int(most), LEAST_RUNS), "strategies": strategies}
    experiment = agent.experiment.model_copy(update=asked)
    made = [Cell({"case": case}, scenarios) for case, scenarios in cells.items()]
    return Job(Plan(name, experiment, made, {"case": ""}, []), experiment.seed)


def _affordable(cells: dict[str, Scenarios], most: float) -> float:
    """How many runs of each strategy go through so many phases in a cell; the first go so on both engines."""
    fast, slow = max(map(_phases, cells.values()), key=sum)
    runs = (most - CHECKED * SLOWER * fast) / (fast + slow)
    return runs if runs >= CHECKED else most / (fast + slow + SLOWER * fast)


def _phases(scenarios: Scenarios) -> tuple[float, float]:
    """About how many phases runs go through under every strategy, on the fast engine and on the other.

    Those of the other count for as many as the fast one goes through in the time.
    """
    fast = slow = 0.0
    for scenario in scenarios.values():
        program = unfold(scenario)
        struck = _rate_per_s(scenario) * scenario.workload.mean_s(scenario.receiver)
        phases = len(program.phases) * (MOST_ATTEMPTS if _hopeless(scenario) else exp(struck))
        if choose("auto", program) == "events":
            slow += SLOWER * phases
        else:
            fast += phases
    return fast, slow


def _simulated(agent: Agent, jobs: list[Job], workers: Workers, progress: Progress) -> list[pd.DataFrame]:
    """Simulate jobs and give their estimates."""
    with TemporaryDirectory(prefix="savegap-") as folder:
        study = Study(jobs, Kept(Path(folder)), lambda _: None)
        for parts_of in (study.pilots, study.missing):
            parts = parts_of()
            with progress(len(parts), sum(part.chunk.runs for part in parts)) as advance:
                for _ in study.simulate(parts, workers, advance):
                    pass
            if failures := [failure for job in jobs for failure in study.failures(job)]:
                first = failures[0]
                sentence = f"{first.strategy}, replication {first.replication}: {first.why}"
                raise InputError([Problem(agent.shown, "", sentence)])
        return [tabulate(job.plan, study.cells(job)).estimates for job in jobs]


def _parts(scenarios: Scenarios, agent: Agent) -> list[Part]:
    """Part what strikes into crashes and deploys where they add up, or put it together."""
    deploys = agent.deploys
    quiet = {name: scenario for name, scenario in scenarios.items() if _only_crashes(scenario)}
    others = {name: scenario for name, scenario in scenarios.items() if name not in quiet}
    if not deploys.a_day:
        return [Part(what, of, 1.0) for what, of in (("crashes", quiet), ("all", others)) if of]
    period_s = DAY_S / deploys.a_day
    apart_s = STRETCH * max(map(_run_s, scenarios.values()))
    crashes = max(_rate_per_s(scenario) * _run_s(scenario) for scenario in scenarios.values())
    parts = []
    if quiet and (period_s <= apart_s or crashes > OFTEN):
        parts.append(Part("crashes and deploys", _struck_by(quiet, _with_deploys(agent, period_s)), 1.0))
    elif quiet:
        alone = Periodic(period=apart_s, grace=deploys.grace)
        parts.append(Part("crashes", quiet, 1.0))
        parts.append(Part("deploys", _struck_by(quiet, lambda _: alone), apart_s / period_s))
    if others:
        parts.append(Part("all", _struck_by(others, _with_deploys(agent, period_s)), 1.0))
    return parts


def _only_crashes(scenario: Scenario) -> bool:
    """Whether nothing but crashes harms a run, so that those of several sources add up."""
    return scenario.provider is None and choose("auto", unfold(scenario)) == "timeline"


def _rate_per_s(scenario: Scenario) -> float:
    """Crashes a second in the long run; 0 where there is no such rate, as of one crash a run."""
    rate = scenario.crash.rate_per_s
    return 0.0 if isnan(rate) else rate


def _hopeless(scenario: Scenario) -> bool:
    """Whether runs may take as many attempts as they are allowed."""
    if _rate_per_s(scenario) * scenario.workload.mean_s(scenario.receiver) > HOPELESS:
        return True
    crash = scenario.crash
    periods = [
        each.period
        for each in (crash.of if isinstance(crash, AnyOf) else (crash,))
        if isinstance(each, Periodic)
    ]
    scale = scenario.workload.work_scale
    longest_s = max((scale * step.work.mean_s for step in scenario.workload.steps), default=0.0)
    return bool(periods) and min(periods) < 2 * longest_s


def _run_s(scenario: Scenario) -> float:
    """Mean length of a run that is begun anew once, s."""
    downtime = scenario.downtime
    down_s = downtime.detection.mean_s + downtime.restart.mean_s + downtime.load.mean_s
    return 2 * scenario.workload.mean_s(scenario.receiver) + down_s


def _struck_by(scenarios: Scenarios, crash: Callable[[CrashProcess], CrashProcess]) -> Scenarios:
    return {
        name: scenario.model_copy(update={"crash": crash(scenario.crash)})
        for name, scenario in scenarios.items()
    }


def _with_deploys(agent: Agent, period_s: float) -> Callable[[CrashProcess], CrashProcess]:
    """Let deploys come besides other crashes."""
    stops = Periodic(period=period_s, grace=agent.deploys.grace, cause=DEPLOY)

    def both(crash: CrashProcess) -> CrashProcess:
        if isinstance(crash, NoCrash):
            return stops
        if not crash.repeats:
            sentence = f"come so often that a run meets them and crashes, but {crash.name} is one a run."
            raise InputError([Problem(agent.shown, "deploys.a_day", sentence)])
        return AnyOf(of=(*(crash.of if isinstance(crash, AnyOf) else (crash,)), stops))

    return both


def _predictions(agent: Agent, parts: list[tuple[pd.DataFrame, Part]]) -> Predictions:
    found = {}
    for name, scenario in agent.scenarios.items():
        acts = sum(step.acts for step in scenario.workload.steps)
        own = [(_of(table, name), part) for table, part in parts if name in part.scenarios]
        found[name] = _prediction(own, acts)
        if not found[name].p_stuck.value and not _may_be_stuck(scenario):
            found[name] = replace(found[name], p_stuck=NOTHING)
        if not acts:
            found[name] = replace(found[name], p_duplicate=NOTHING)
    return found


def _may_be_stuck(scenario: Scenario) -> bool:
    """Whether runs may be given up before they meet their limit of attempts."""
    strategy = scenario.strategy
    parks = any(verb.verb == "park" for verb in (*strategy.plain, *strategy.action))
    return (
        parks or strategy.if_nothing == "stuck" or scenario.limits.makespan is not None or scenario.converses
    )


def _of(table: pd.DataFrame, strategy: str) -> dict[str, Range]:
    """Give the estimates of a strategy by metric; exact values where they are known."""
    rows = table[table["strategy"] == strategy]
    return {row.metric: _range(row.estimate, row.low, row.high, row.exact) for row in rows.itertuples()}


def _range(estimate: float, low: float, high: float, exact: float | None) -> Range:
    if exact is not None and not isnan(exact):
        return Range(exact, exact, exact)
    if isnan(estimate):  # there is nothing that it could be of, such as an action
        return NOTHING
    return Range(estimate, *(estimate if isnan(end) else end for end in (low, high)))


def _prediction(parts: list[tuple[dict[str, Range], Part]], acts: float) -> Prediction:
    """Add up what strikes; `acts` is how many actions a run has."""

    def total(*metrics: str) -> Range:
        return sum((found[metric] * part.weight for found, part in parts for metric in metrics), NOTHING)

    (crashes, _), *deploys = parts
    causes = {cause: crashes[metric] for cause, metric in BY_CAUSE.items() if crashes[metric].value}
    if len(causes) == 1:  # of the sum more is known: it may be exact
        causes = dict.fromkeys(causes, crashes["duplicates_per_million"])
    for found, part in deploys:
        causes[DEPLOY] = found["duplicates_per_million"] * part.weight
    return Prediction(
        duplicates=total("duplicates_per_million"),
        lost=total("lost_per_million"),
        causes=causes,
        p_duplicate=total("p_duplicate"),
        p_stuck=total("p_stuck"),
        # Where none was seen a rate has an upper bound, and a mean has none.
        duplicates_a_run=total("duplicates_per_million") * (acts / 1e6),
        lost_a_run=total("lost_per_million") * (acts / 1e6),
        tokens=total("wasted_tokens"),
        # What saves take is no matter of crashes, so it counts once.
        lost_s=crashes["save_time_s"] + total("downtime_s", "wasted_work_s"),
    )


def _moved(scenarios: Scenarios) -> Iterator[tuple[tuple[str, float], Scenarios]]:
    """Move each assumption that a scenario has, by each factor."""
    for name, move in ASSUMPTIONS.items():
        for by in MOVES:
            moved = {strategy: move(scenario, by) for strategy, scenario in scenarios.items()}
            if moved != scenarios:
                yield (name, by), moved


def _crash(scenario: Scenario, by: float) -> Scenario:
    return scenario.model_copy(update={"crash": _rarer(scenario.crash, by)})


def _rarer(crash: CrashProcess, by: float) -> CrashProcess:
    """Let crashes come so many times as far apart."""
    match crash:
        case Renewal():
            return crash.model_copy(update={"law": _scaled(crash.law, by)})
        case Bursts():
            means = {"calm_mean": by * crash.calm_mean, "storm_mean": by * crash.storm_mean}
            return crash.model_copy(update=means)
        case Periodic():
            return crash.model_copy(update={"period": by * crash.period, "jitter": by * crash.jitter})
        case AnyOf():
            return crash.model_copy(update={"of": tuple(_rarer(source, by) for source in crash.of)})
        case _:
            return crash


def _answers(scenario: Scenario, by: float) -> Scenario:
    response = _scaled(scenario.receiver.response, by)
    return scenario.model_copy(
        update={"receiver": scenario.receiver.model_copy(update={"response": response})}
    )


def _writes(scenario: Scenario, by: float) -> Scenario:
    write = _scaled(scenario.store.write, by)
    return scenario.model_copy(update={"store": scenario.store.model_copy(update={"write": write})})


def _work(scenario: Scenario, by: float) -> Scenario:
    workload = scenario.workload
    scaled = workload.model_copy(update={"work_scale": by * workload.work_scale})
    return scenario.model_copy(update={"workload": scaled})


def _scaled(law: Law, by: float) -> Law:
    return law if isinstance(law, Constant) and law.mean_s == 0 else Scaled(of=law, by=by)


ASSUMPTIONS: dict[str, Callable[[Scenario, float], Scenario]] = {
    "the time between crashes": _crash,
    "the time that the receiver takes to answer": _answers,
    "the time that a save takes": _writes,
    "the time that the work of a step takes": _work,
}
"""What is moved, and how."""
