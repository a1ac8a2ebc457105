"""Crash processes. Functionality: the times that a process yields follow its rule, whatever the strategy.
Deterministic: marks told by hand and the rows that follow. Extreme: shares of 0 and 1, crashes that never
come.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import isnan
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sim import Scenario
from sim.crashes import CrashProcess, parse_process
from sim.program import unfold
from sim.schedule import Marks, crash_free
from sim.streams import BLOCK, Streams
from sim.ticks import NEVER

SECOND = 10**9
N = 20 * BLOCK

# One run of four steps, by hand, in seconds. The second and third act; the third is not saved for itself.
STEPS = {
    "start": [0, 12, 30, 40],
    "sent": [NEVER, 20, 35, NEVER],
    "done": [10, 25, 40, 60],
    "durable": [12, 30, NEVER, 61],
    "recorded": [12, 30, 61, 61],
}
ACTS = [False, True, True, False]
MAKESPAN, EXPOSURE = 61, 100


def ticks(seconds: float) -> int:
    return NEVER if seconds == NEVER else round(seconds * SECOND)


def told(size: int) -> Marks:
    """The marks of that run, for as many replications."""

    def column(values: Any) -> NDArray[Any]:
        return np.repeat(np.array(values)[:, None], size, axis=1)

    marks = {name: column([ticks(x) for x in instants]) for name, instants in STEPS.items()}
    makespan, exposure = np.full(size, MAKESPAN * SECOND), np.full(size, EXPOSURE * SECOND)
    return Marks(acts=column(ACTS), makespan=makespan, exposure=exposure, **marks)


def process(**table: Any) -> CrashProcess:
    made = parse_process(table)
    assert isinstance(made, CrashProcess)
    return made


def rows(crash: CrashProcess, count: int, n: int = N) -> NDArray[np.int64]:
    """The first rows of plans of n replications with the marks told above, shape (count, n)."""
    blocks = [crash.plan(Streams(24, block), told(BLOCK)) for block in range(n // BLOCK)]
    return np.concatenate([list(islice(plan.sources[0].rows, count)) for plan in blocks], axis=1)


def wall(crash: CrashProcess) -> bool:
    return crash.plan(Streams(24, 0), told(BLOCK)).sources[0].clock == "wall"


def follows(sample: NDArray[Any], law: Any) -> bool:
    return bool(stats.kstest(sample, law.cdf).pvalue > 1e-6)


# ------------------------------------------------------------------------------------------ given instants


def test_no_crash() -> None:
    assert np.all(rows(process(process="none"), 3, BLOCK) == NEVER)


def test_given_instants_come_in_order_and_then_none() -> None:
    crash = process(process="at", times=[30, 10.5, 20, 10.5, 0])
    assert rows(crash, 7, BLOCK)[:, 5].tolist() == [
        0,
        10_500_000_000,
        10_500_000_000,
        20 * SECOND,
        30 * SECOND,
        NEVER,
        NEVER,
    ]
    assert wall(crash)


# -------------------------------------------------------------------------------------- one crash in time


def test_uniform_time_is_uniform_in_exposure_and_comes_once() -> None:
    crash = process(process="uniform_time")
    first, *later = rows(crash, 3)
    assert first.min() >= 0
    assert first.max() < EXPOSURE * SECOND
    assert follows(first / SECOND, stats.uniform(0, EXPOSURE))
    assert np.all(np.equal(later, NEVER))
    assert not wall(crash)


def test_uniform_time_falls_within_each_run_s_own_exposure() -> None:
    exposure = np.arange(1, BLOCK + 1)  # so short that every tick counts
    plan = process(process="uniform_time").plan(Streams(24, 0), replace(told(BLOCK), exposure=exposure))
    first = next(plan.sources[0].rows)
    assert np.all((first >= 0) & (first < exposure))
    assert np.any(first == exposure - 1)


# -------------------------------------------------------------------------------- one crash, step by step


def landed(gap_share: float) -> dict[str, NDArray[np.float64]]:
    """Where crashes of uniform_step land, in seconds, by the only places where they may."""
    crash = process(process="uniform_step", gap_share=gap_share)
    first, *later = rows(crash, 3) / SECOND
    assert np.all(np.equal(later, NEVER / SECOND))
    assert wall(crash)
    places = {
        "step 1": first[first < 10],
        "step 2": first[(first >= 12) & (first < 20)],
        "gap of step 2": first[(first >= 25) & (first < 30)],
        "step 3": first[(first >= 30) & (first < 35)],
        "done of step 3": first[first == 40],
        "step 4": first[(first > 40) & (first < 60)],
    }
    assert sum(map(len, places.values())) == N, "somewhere else"
    return places


def test_uniform_step_takes_every_step_alike() -> None:
    places = {name: len(instants) for name, instants in landed(0.15).items()}
    struck = [
        places["step 1"],
        places["step 2"] + places["gap of step 2"],
        places["step 3"] + places["done of step 3"],
        places["step 4"],
    ]
    assert stats.chisquare(struck).pvalue > 1e-6


@pytest.mark.parametrize("share", [0.15, 0.4])
def test_uniform_step_puts_its_share_of_the_crashes_on_actions_in_the_gap(share: float) -> None:
    places = {name: len(instants) for name, instants in landed(share).items()}
    for ordinary, gap in (("step 2", "gap of step 2"), ("step 3", "done of step 3")):
        assert stats.binomtest(places[gap], places[gap] + places[ordinary], share).pvalue > 1e-6


def test_uniform_step_is_uniform_where_it_lands() -> None:
    places = landed(0.3)
    for name, begin, end in (
        ("step 1", 0, 10),
        ("step 2", 12, 20),
        ("gap of step 2", 25, 30),
        ("step 3", 30, 35),
        ("step 4", 40, 60),
    ):
        assert follows(places[name], stats.uniform(begin, end - begin)), name


def test_uniform_step_without_or_with_nothing_but_a_gap() -> None:
    never = landed(0)
    assert not len(never["gap of step 2"])
    assert not len(never["done of step 3"])
    assert len(never["step 2"])
    always = landed(1)
    assert not len(always["step 2"])
    assert not len(always["step 3"])
    assert len(always["step 1"])


def test_uniform_step_lands_at_done_where_the_save_comes_first() -> None:
    marks = told(BLOCK)
    before = replace(marks, durable=marks.sent)  # saved at the instant at which it is sent
    first = next(process(process="uniform_step", gap_share=1).plan(Streams(24, 0), before).sources[0].rows)
    on_actions = first[(first > 10 * SECOND) & (first <= 40 * SECOND)]
    assert set(on_actions.tolist()) == {25 * SECOND, 40 * SECOND}


# ---------------------------------------------------------------------------------------------- renewals

WEIBULL = {"law": "weibull", "mean": 10.0, "shape": 0.7}
OF_SCIPY = stats.weibull_min(c=0.7, scale=10 / 1.2658235060572833)  # Γ(1 + 1/0.7)
HOST = {"process": "renewal", "law": WEIBULL, "clock": "host"}


def hazard(instants: NDArray[Any]) -> NDArray[np.float64]:
    """Cumulative hazard of WEIBULL at instants in ticks, by scipy."""
    return np.asarray(-OF_SCIPY.logsf(instants / SECOND))


@pytest.mark.parametrize("clock", ["process", "host"])
def test_each_life_follows_the_law_by_itself(clock: str) -> None:
    crash = process(process="renewal", law=WEIBULL, clock=clock)
    lives = rows(crash, 4)
    for life in lives:
        assert follows(life / SECOND, OF_SCIPY)
    correlated = np.corrcoef(np.log(lives + 1.0)) - np.eye(4)
    assert np.abs(correlated).max() < 5 / np.sqrt(N)
    assert not wall(crash)
    assert crash.rate_per_s == pytest.approx(0.1)


def test_minimal_repair_leaves_the_machine_as_old_as_it_was() -> None:
    crash = process(**HOST, renew="never")
    lives = rows(crash, 6)
    instants = lives.cumsum(axis=0)
    used_up = np.diff(hazard(instants), axis=0, prepend=0)
    for k, each in enumerate(used_up):
        assert follows(each, stats.expon), f"hazard between crashes {k} and {k + 1}"
    assert np.abs(np.corrcoef(used_up) - np.eye(6)).max() < 5 / np.sqrt(N)
    # A law whose hazard falls: later lives are longer than a new one's. So a fresh life would show.
    assert not follows(lives[3] / SECOND, OF_SCIPY)
    assert not wall(crash)
    assert isnan(crash.rate_per_s)


@pytest.mark.parametrize("seconds", [0.5, 5, 20])
def test_minimal_repair_crashes_as_often_as_the_cumulative_hazard_says(seconds: float) -> None:
    instants = rows(process(**HOST, renew="never"), 30).cumsum(axis=0)
    assert np.all(instants[-1] > seconds * SECOND), "more rows are needed"
    counts = (instants <= seconds * SECOND).sum(axis=0)
    mean = float(-OF_SCIPY.logsf(seconds))
    assert abs(counts.mean() - mean) < 5 * np.sqrt(mean / N)
    # A Poisson count: the variance of its sample variance is about mean/n + 2 mean²/n.
    assert abs(counts.var() - mean) < 5 * np.sqrt((mean + 2 * mean**2) / N)


@pytest.mark.parametrize("renew", ["crash", "never"])
def test_a_host_that_ages_in_downtime_runs_on_the_wall(renew: str) -> None:
    crash = process(**HOST, renew=renew, ages_in_downtime=True)
    instants = rows(crash, 6)
    assert wall(crash)
    assert np.all(np.diff(instants, axis=0) >= 0)
    standing_still = rows(process(**HOST, renew=renew), 6)
    assert np.array_equal(instants, standing_still.cumsum(axis=0))


def test_both_clocks_renew_to_the_same_lives() -> None:
    lives = rows(process(process="renewal", law=WEIBULL), 4, BLOCK)
    assert np.array_equal(lives, rows(process(**HOST), 4, BLOCK))


def test_instants_beyond_all_time_stay_there() -> None:
    crash = process(process="renewal", law=3e9, clock="host", ages_in_downtime=True)
    assert rows(crash, 5, BLOCK)[:, 0].tolist() == [3 * 10**18, NEVER, NEVER, NEVER, NEVER]


def test_a_constant_life() -> None:
    assert rows(process(process="renewal", law=45), 3, BLOCK)[:, 0].tolist() == [45 * SECOND] * 3
    assert process(process="renewal", law=45).rate_per_s == pytest.approx(1 / 45)
    assert isnan(process(process="uniform_time").rate_per_s)


# ------------------------------------------------------------------------------- the same for all strategies

WORKLOAD = {
    "default": {"work": {"law": "gamma", "shape": 4, "mean": 3.0}},
    "steps": [
        "read",
        {"name": "send", "action": {}},
        {"name": "charge", "action": {"probability": 0.5}},
        "file",
    ],
}
STRATEGIES = [
    {"protocol": "restart"},
    {"protocol": "checkpoint"},
    {"protocol": "checkpoint", "every": 2, "key": "run_step"},
    {"protocol": "save_first"},
    {"protocol": "async"},
    {"protocol": "intent_query"},
]


def planned(strategy: dict[str, Any], crash: dict[str, Any]) -> tuple[Iterator[NDArray[np.int64]], Marks]:
    scenario = Scenario.model_validate(
        {
            "workload": WORKLOAD,
            "strategy": strategy,
            "crash": crash,
            "store": {"write": 0.5, "ack": 0.25},
            "receiver": {"prepare": 0.1, "request": 0.2, "response": 0.4},
        }
    )
    program, draws = unfold(scenario), Streams(24, 0)
    marks = crash_free(program, draws, program.draw_acts(draws))
    return scenario.crash.plan(draws, marks).sources[0].rows, marks


@pytest.mark.parametrize(
    "crash", [HOST, HOST | {"renew": "never"}, {"process": "at", "times": [1, 2]}], ids=str
)
def test_lives_are_shared_by_all_strategies(crash: dict[str, Any]) -> None:
    first, *others = ([*islice(planned(strategy, crash)[0], 3)] for strategy in STRATEGIES)
    for other in others:
        assert np.array_equal(first, other)


def test_uniform_time_strikes_all_strategies_at_the_same_share_of_their_runs() -> None:
    shares = []
    for strategy in STRATEGIES:
        instants, marks = planned(strategy, {"process": "uniform_time"})
        shares.append(next(instants) / marks.exposure)
    assert np.abs(np.diff(shares, axis=0)).max() < 1e-9
    assert np.std(shares[0]) > 0.25


def test_uniform_step_strikes_all_strategies_in_the_same_step() -> None:
    struck = []
    for strategy in STRATEGIES:
        instants, marks = planned(strategy, {"process": "uniform_step", "gap_share": 0.0})
        struck.append((marks.start <= next(instants)).sum(axis=0))
    assert np.ptp(struck, axis=0).max() == 0
    assert np.bincount(struck[0], minlength=5)[1:].min() > BLOCK / 8
