"""Conditional values: the first crash integrated out, later ones simulated.

Their mean must be that of counting, whatever the scenario. This is checked run by run: where no second crash
can follow, what one crash does is exactly the verdict; where a crash is put on every tick, the mean of the
outcomes is exactly the expected verdict. What later crashes add is checked against exact values and against
counting.
"""

from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest
from engine_scenarios import STRATEGIES, build, random_parts
from hypothesis import assume, given, settings
from hypothesis import strategies as any_of
from scipy import stats
from test_agree import scenarios

import sim
from sim import Scenario, conditional, theory, timeline
from sim.conditional import CORRECTION, COUNTS, SHARES, control, some, value
from sim.crashes import Plan, Source, UniformTime
from sim.estimate import estimate
from sim.program import unfold
from sim.simulation import blocks, simulate_block
from sim.streams import BLOCK, Streams
from sim.sums import Sums
from sim.ticks import NEVER
from sim.timeline import Columns, Timetable

RARE = {"process": "renewal", "law": {"law": "exponential", "mean": 20_000.0}}


def timetable(scenario: Scenario, size: int = BLOCK, block: int = 0) -> Timetable:
    return Timetable(unfold(scenario), Streams(7, block, size))


def values(scenario: Scenario, size: int = BLOCK, block: int = 0) -> Columns:
    found = conditional.columns(timetable(scenario, size, block))
    assert found is not None
    return found


def sums(scenario: Scenario, n: int, conditionally: bool) -> Sums:
    program = unfold(scenario)
    whole = None
    for block in blocks(n):
        part = Sums.of({"": simulate_block(program, Streams(24, *block), conditionally=conditionally)})
        whole = part if whole is None else whole + part
    assert whole is not None
    return whole


# ------------------------------------------------------------------------------------------- run by run


def check_verdicts(scenario: Scenario, block: int) -> None:
    runs = timetable(scenario, 64, block)
    pieces = conditional.cut(runs)
    outcomes = timeline.simulate(runs, runs.plan())
    crash = next(runs.plan().sources[0].rows)
    piece = (pieces.exposure[1:] <= crash).sum(axis=0)
    struck = np.flatnonzero(piece < len(pieces.begin))
    assert set(struck) == set(np.flatnonzero(outcomes["crashes"]))
    for name, verdict in conditional.verdicts(runs, pieces).items():
        if not np.isnan(outcomes[name]).all():
            assert verdict[piece[struck], struck].tolist() == outcomes[name][struck].tolist(), name


@settings(derandomize=True, deadline=None, max_examples=100)
@given(scenarios(), any_of.integers(0, 10**6))
def test_the_verdict_is_what_one_crash_does(scenario: Scenario, block: int) -> None:
    one = UniformTime(exposure=scenario.crash.exposure)
    struck_once = scenario.model_copy(update={"crash": one, "limits": sim.scenario.Limits()})
    assume(conditional.knows_one_crash(timetable(struck_once, 1)))
    check_verdicts(struck_once, block)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_verdict_is_what_one_crash_does_under_every_strategy(strategy: str, number: int) -> None:
    exposure = {"work": 0.4, "write": 5.0, "response": 0.0, "drain": 2.5} if number % 2 else {}
    crash = {"process": "uniform_time", "exposure": exposure}
    check_verdicts(build(STRATEGIES[strategy], random_parts(number), crash=crash), number)


@pytest.mark.parametrize(
    ("protocol", "receiver"), [("intent_park", {}), ("checkpoint", {"on_disconnect": "cancels"})]
)
def test_the_verdict_knows_who_waits_for_a_person_and_who_hangs_up(
    protocol: str, receiver: dict[str, Any]
) -> None:
    parts = random_parts(4)
    parts["receiver"] |= receiver
    check_verdicts(build({"protocol": protocol}, parts, crash="uniform_time"), 4)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_mean_over_crashes_on_every_tick_is_what_is_expected(strategy: str) -> None:
    parts = random_parts(list(STRATEGIES).index(strategy), second=1e-9)  # a few ticks a phase
    scenario = build(STRATEGIES[strategy], parts, crash="uniform_time")
    runs = timetable(scenario, 16)
    length = runs.marks.makespan
    by_tick = []
    for tick in range(length.max()):
        plan = Plan((Source(chain([np.full(16, tick)], repeat(np.full(16, NEVER)))),))
        by_tick.append(timeline.simulate(runs, plan))
    found = values(scenario, 16)
    for name in COUNTS:
        outcomes = np.array([outcome[name] for outcome in by_tick], float)
        assert found[value(name)] == pytest.approx(outcomes.sum(axis=0) / length, nan_ok=True), name
    for name in SHARES:
        shares = np.mean([np.sign(outcome[name]) for outcome in by_tick], axis=0) * len(by_tick) / length
        assert found[value(some(name))] == pytest.approx(shares), name


@pytest.mark.parametrize(
    "law",
    [
        {"law": "exponential", "mean": 60.0},
        {"law": "weibull", "mean": 300.0, "shape": 0.5},
        {"law": "lognormal", "median": 30.0, "sigma": 1.0},
        {"law": "fisk", "c": 2.0, "scale": 40.0},
        30.0,
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "clock", [{}, {"clock": "host", "renew": "crash", "ages_in_downtime": True}], ids=str
)
def test_a_first_crash_is_made_to_come_within_the_run_and_no_other_is_moved(law: Any, clock: Any) -> None:
    scenario = build(
        STRATEGIES["checkpoint"], random_parts(3), crash={"process": "renewal", "law": law} | clock
    )
    runs = timetable(scenario)
    probability = values(scenario)[CORRECTION]
    free, made = (plan.sources[0].rows for plan in (runs.plan(), runs.plan(within=probability)))
    first = next(free) if not clock else np.array(next(free))
    natural = stats.binomtest(int((first < runs.marks.makespan).sum()), BLOCK, probability.mean())
    assert natural.pvalue > 1e-6
    assert (next(made) < runs.marks.makespan)[probability > 0].all()
    if not clock:
        assert np.array_equal(next(free), next(made))


# ---------------------------------------------------------------------------------------- no bias, less noise


CRASHES: dict[str, dict[str, Any]] = {
    "often": {"process": "renewal", "law": {"law": "exponential", "mean": 40.0}},
    "young workers": {"process": "renewal", "law": {"law": "weibull", "mean": 200.0, "shape": 0.5}},
    "an old host": {
        "process": "renewal",
        "law": {"law": "weibull", "mean": 150.0, "shape": 2.0},
        "clock": "host",
        "renew": "never",
    },
    "the wall clock": {
        "process": "renewal",
        "law": {"law": "lognormal", "median": 60.0, "sigma": 0.8},
        "clock": "host",
        "ages_in_downtime": True,
    },
    "weighed": {
        "process": "renewal",
        "law": {"law": "gamma", "mean": 60.0, "shape": 2.0},
        "exposure": {"write": 6.0, "work": 0.5, "load": 0.0},
    },
}
KNOWN: dict[str, Any] = {
    "workload": {
        "default": {"work": {"law": "gamma", "mean": 3.0, "shape": 4}},
        "steps": ["a", {"name": "b", "action": {}}, "c", {"name": "d", "action": {}}, "e"],
    },
    "store": {"write": {"law": "lognormal", "median": 0.2, "sigma": 0.6}},
    "receiver": {"response": {"law": "lognormal", "median": 0.3, "sigma": 0.6}},
    "downtime": {"detection": 5.0, "load": 0.5},
}
"""A scenario of which exact values are known."""

JUDGED = ("p_duplicate", "p_lost", "redone_steps", "duplicate_actions", "lost_actions")


STRUCK = ("restart", "checkpoint every 2nd", "save first", "two lanes", "intent query")


@pytest.mark.parametrize(
    ("strategy", "crash"),
    [(name, list(CRASHES)[(k + shift) % len(CRASHES)]) for shift in (0, 2) for k, name in enumerate(STRUCK)],
)
def test_the_mean_is_that_of_counting(strategy: str, crash: str) -> None:
    scenario = build(STRATEGIES[strategy], random_parts(5), crash=CRASHES[crash])
    counting, ours = (sums(scenario, 2 * BLOCK, conditionally) for conditionally in (False, True))
    for metric in JUDGED:
        counted, conditioned = estimate(counting, metric, level=0.9), estimate(ours, metric, level=0.9)
        assert conditioned.method == "conditional"
        errors = [(e.high - e.low) / 2 / 1.645 for e in (counted, conditioned)]
        if counted.estimate and counted.method in ("t", "Wilson") and counted.estimate * counting.n > 20:
            assert abs(conditioned.estimate - counted.estimate) < 5 * np.hypot(*errors), metric


@pytest.mark.parametrize("mean", [60.0, 3000.0, 1e6])
@pytest.mark.parametrize("protocol", ["restart", "checkpoint"])
def test_the_mean_is_the_exact_value(protocol: str, mean: float) -> None:
    crash = {"process": "renewal", "law": {"law": "exponential", "mean": mean}}
    scenario = build({"protocol": protocol}, KNOWN, crash=crash)
    exact = theory.exact(scenario)
    found = sums(scenario, 4 * BLOCK, conditionally=True)
    for metric in ("p_duplicate", "redone_steps", "duplicate_actions"):
        ours = estimate(found, metric, level=0.9)
        assert exact[metric] > 0
        assert abs(ours.estimate - exact[metric]) < 5 * (ours.high - ours.low) / 2 / 1.645, metric
        assert (ours.high - ours.low) / 2 < 0.05 * exact[metric], metric


def test_rare_crashes_need_hundreds_of_times_fewer_runs() -> None:
    scenario = build(STRATEGIES["checkpoint"], random_parts(2), crash=RARE)
    whole = sums(scenario, 2 * BLOCK, conditionally=True)
    share = estimate(whole, "p_duplicate")
    counting = share.estimate * (1 - share.estimate) / whole.n
    assert 5e-5 < share.estimate < 5e-3
    assert counting / ((share.high - share.low) / 2 / 1.96) ** 2 > 300


@pytest.mark.parametrize("strategy", ["restart", "two lanes"])
def test_a_control_has_mean_zero(strategy: str) -> None:
    found = [
        values(build(STRATEGIES[strategy], random_parts(5), crash=CRASHES["often"]), block=b)
        for b in range(4)
    ]
    for name in COUNTS:
        controls = np.concatenate([part[control(name)] for part in found])
        assert abs(controls.mean()) <= 5 * controls.std() / np.sqrt(len(controls)), name


@pytest.mark.parametrize(
    ("key", "cause"), [({}, "crash"), ({"key": "per_attempt"}, "crash"), ({"key": "run_step"}, "expired_key")]
)
def test_duplicates_by_cause_are_as_well_known_as_all_of_them(key: dict[str, str], cause: str) -> None:
    parts = random_parts(2)
    parts["receiver"] = parts.get("receiver", {}) | {"keys": {"ttl": 1.0}}
    scenario = build(
        STRATEGIES["checkpoint"] | key, parts, crash=RARE | {"law": {"law": "exponential", "mean": 300.0}}
    )
    found = sums(scenario, BLOCK, conditionally=True)
    every, ours = (estimate(found, f"{of}duplicates_per_million") for of in ("", f"{cause}_"))
    assert every.estimate > 0
    assert (ours.estimate, ours.low, ours.high) == (every.estimate, every.low, every.high)
    other = {"crash": "expired_key", "expired_key": "crash"}[cause]
    assert estimate(found, f"{other}_duplicates_per_million").estimate == 0


# -------------------------------------------------------------------------------------------- extremes


@pytest.mark.parametrize(
    "crash",
    ["none", {"process": "at", "times": [3.0]}, {"process": "uniform_step", "gap_share": 0.1}],
    ids=str,
)
def test_a_first_crash_that_has_no_law_is_counted(crash: Any) -> None:
    scenario = build(STRATEGIES["checkpoint"], random_parts(2), crash=crash)
    assert conditional.columns(timetable(scenario)) is None
    assert estimate(sums(scenario, 500, conditionally=True), "p_duplicate").method in (
        "Wilson",
        "Clopper-Pearson",
    )


def test_what_keys_make_impossible_is_zero_and_nearly_known_to_be() -> None:
    scenario = build(STRATEGIES["checkpoint"] | {"key": "run_step"}, random_parts(2), crash=RARE)
    share = estimate(sums(scenario, BLOCK, conditionally=True), "p_duplicate")
    assert (share.estimate, share.low) == (0.0, 0.0)
    assert 0 < share.high < 1e-4  # counting knows of 9e-4


def test_runs_that_cannot_crash_are_known_exactly() -> None:
    crash = {"process": "renewal", "law": {"law": "uniform", "low": 1e6, "high": 2e6}}
    found = sums(build(STRATEGIES["restart"], random_parts(2), crash=crash), 100, conditionally=True)
    share = estimate(found, "p_duplicate")
    assert (share.estimate, share.low, share.high) == pytest.approx((0.0, 0.0, 0.0))


def test_a_run_that_is_given_up_at_the_first_crash_repeats_nothing() -> None:
    # The verdict does not know of the limit; what is simulated corrects it.
    limits = {"attempts": 1}
    scenario = build(STRATEGIES["restart"], random_parts(2), crash=CRASHES["often"], limits=limits)
    share = estimate(sums(scenario, 4 * BLOCK, conditionally=True), "p_duplicate")
    assert share.low == 0.0
    assert share.high < 0.02
