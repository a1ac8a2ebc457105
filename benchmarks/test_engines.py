"""Time of a run on both engines, beside a plain SimPy model and a compiled loop of the same phases."""

import statistics
from time import perf_counter, process_time

import pytest

import sim
from benchmarks.conftest import TUTORIAL
from benchmarks.peers import numba_loop, tutorial
from benchmarks.scenarios import (
    CHECKPOINT,
    LANE,
    ONE_CRASH,
    SEED,
    WITH_LANES,
    WITHOUT_LANES,
    exponential,
    mean_life_s,
    scenario,
)
from sim import events, timeline
from sim.program import unfold
from sim.simulation import simulate_block
from sim.streams import BLOCK, Streams
from sim.study.chunks import Chunk

pytestmark = pytest.mark.benchmark(timer=process_time)  # other work on the machine counts less

STUDY = "A run of each strategy, of three that share their random numbers"


@pytest.fixture(scope="module", autouse=True)
def compiled(report):
    begin = perf_counter()
    numba_loop.simulate(1, SEED, mean_life_s(12, 1))
    report.compiled_s = perf_counter() - begin


@pytest.mark.parametrize("peer", [tutorial, numba_loop])
def test_the_peers_have_the_same_outcomes(peer):
    n, mean_life = 4096, mean_life_s(12, 2)
    ours = sim.simulate(scenario(CHECKPOINT, exponential(mean_life)), n, SEED)
    theirs = peer.simulate(n, SEED, mean_life)
    for name in numba_loop.OUTCOMES:
        other = theirs[name] if peer is numba_loop else [float(getattr(result, name)) for result in theirs]
        error = ((ours[name].var() + statistics.variance(other)) / n) ** 0.5
        assert abs(ours[name].mean() - statistics.fmean(other)) <= 5 * error, name


@pytest.mark.parametrize("crash", ["uniform_time", "exponential"])
@pytest.mark.parametrize("work", ["lognormal", "gamma"])
@pytest.mark.parametrize("lanes", ["without lanes", "with lanes"])
def test_time_of_a_run_in_a_study(timed, report, lanes, work, crash):
    strategies, aim_us = (WITHOUT_LANES, 3) if lanes == "without lanes" else (WITH_LANES, 6)
    process = ONE_CRASH if crash == "uniform_time" else exponential(mean_life_s(12, 1))
    scenarios = [scenario(strategy, process, lognormal=work == "lognormal") for strategy in strategies]

    def block():
        draws = Streams(SEED, 0)
        for one in scenarios:
            simulate_block(unfold(one), draws)

    found = timed(block, 3 * BLOCK, steps=12, lives=1, rounds=15)[""]
    report.row(
        STUDY,
        f"timeline, 12 steps, one crash ({crash}), {work} work, {lanes}",
        f"{found.us:.2f} µs",
        found.ratio,
        f"≤ {aim_us} µs",
        found.us <= aim_us,
    )


@pytest.mark.parametrize("crash", ["uniform_time", "exponential"])
def test_time_of_a_run_with_all_that_a_study_does(timed, report, crash):
    process = ONE_CRASH if crash == "uniform_time" else exponential(mean_life_s(12, 1))
    scenarios = {str(number): scenario(strategy, process) for number, strategy in enumerate(WITHOUT_LANES)}
    chunk = Chunk(scenarios, "", "", "auto", SEED, block=1, size=BLOCK)
    found = timed(chunk.simulate, 3 * BLOCK, steps=12, lives=1, rounds=9)[""]
    what = f"the same ({crash}, gamma work, without lanes) with conditional values and sums, as `savegap run`"
    report.row(STUDY, what, f"{found.us:.2f} µs", found.ratio)


def fresh(engine, strategy, runs):
    """Let an engine draw and simulate runs."""

    def model(steps, lives):
        program = unfold(scenario(strategy, exponential(mean_life_s(steps, lives)), steps=steps))
        n = runs[steps]
        return lambda: engine.simulate_block(program, Streams(SEED, 0, n)), n

    return model


def drawn(engine, strategy, runs):
    """Let an engine simulate runs whose random numbers are drawn already."""

    def model(steps, lives):
        program = unfold(scenario(strategy, exponential(mean_life_s(steps, lives)), steps=steps))
        draws = Streams(SEED, 0, runs[steps])
        return lambda: engine.simulate_block(program, draws), draws.size

    return model


def compiled_loop(steps, lives):
    n = 100_000 // steps
    return lambda: numba_loop.simulate(n, SEED, mean_life_s(steps, lives), steps=steps), n


STEPS = (1, 12, 100)
EVENTS_RUNS = {1: 300, 12: 1000, 100: 250}  # so many that drawing them as arrays pays
BLOCKS = dict.fromkeys(STEPS, BLOCK)
MODELS = {
    "events": fresh(events, CHECKPOINT, EVENTS_RUNS),
    "events, drawn already": drawn(events, CHECKPOINT, EVENTS_RUNS),
    "timeline": fresh(timeline, CHECKPOINT, BLOCKS),
    "timeline, drawn already": drawn(timeline, CHECKPOINT, BLOCKS),
    "timeline, `async`": fresh(timeline, LANE, BLOCKS),
    "numba": compiled_loop,
}


@pytest.mark.parametrize("lives", [1, 2, 5])
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", MODELS)
def test_time_of_a_run(timed, report, name, steps, lives):
    model, runs = MODELS[name](steps, lives)
    found = timed(model, runs, steps, lives, rounds=7)
    crashes = numba_loop.simulate(20_000, SEED, mean_life_s(steps, lives), steps=steps)["crashes"].mean()
    report.grid.setdefault((steps, crashes), {TUTORIAL: found[TUTORIAL]})[name] = found[""]


def test_what_follows_from_the_times(report):
    section = "The engines beside each other, under `checkpoint` with one crash"
    short, long = (next(report.grid[key] for key in sorted(report.grid) if key[0] == n) for n in (12, 100))
    for name in ("events", "timeline", "timeline, `async`"):
        growth = (long[name].us / 100) / (short[name].us / 12)
        what = f"{name}: time of a step, of 100 over of 12"
        report.row(section, what, f"{growth:.2f}", 0, "≤ 1.1", growth <= 1.1)
    ratio = short["events"].ratio
    report.row(
        section, "events, 12 steps", f"{short['events'].us:.0f} µs", ratio, "≥ 1.8 times", ratio >= 1.8
    )
    for name in ("timeline", "numba"):
        report.row(section, f"{name}, 12 steps", f"{short[name].us:.2f} µs", short[name].ratio)
