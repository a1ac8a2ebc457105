"""What a study takes: time to a precision, memory, two workers against one, the start of the command."""

import os
import subprocess
import sys
from functools import reduce
from math import ceil
from operator import add
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.optimize import brentq

from benchmarks import cell
from benchmarks.scenarios import CHECKPOINT, ROOT, SEED, exponential, scenario
from sim import theory, timeline
from sim.estimate import estimate
from sim.program import unfold
from sim.simulation import blocks, simulate_block
from sim.streams import BLOCK, Streams
from sim.study.precision import PILOT, PILOT_RUNS, Precision
from sim.sums import Sums

STUDY = "A study"
RARE = 2.5e-4


def seconds(function, *arguments):
    begin = perf_counter()
    result = function(*arguments)
    return perf_counter() - begin, result


def count(program, n):
    """Count the runs with a duplicate, and keep nothing else of them."""
    draws = (Streams(SEED, *block) for block in blocks(n))
    return sum(np.count_nonzero(timeline.simulate_block(program, d)["duplicate_actions"]) for d in draws)


def conditionally(program):
    """Estimate the share of runs with a duplicate as an experiment with a precision of 5 % does."""

    def sums(number, size):
        return Sums.of({"": simulate_block(program, Streams(SEED, number, size), conditionally=True)})

    pilot = estimate(sums(PILOT, PILOT_RUNS), "p_duplicate")
    runs = Precision(relative=0.05).runs([pilot], most=1 << 30)
    return estimate(reduce(add, (sums(*block) for block in blocks(runs))), "p_duplicate")


def test_time_to_five_percent_on_a_rare_duplicate(report):
    def excess(mean_s):
        return theory.exact(scenario(CHECKPOINT, exponential(mean_s)))["p_duplicate"] / RARE - 1

    mean_s = brentq(excess, 1e3, 1e5)
    program = unfold(scenario(CHECKPOINT, exponential(mean_s)))
    n = ceil((1.96 / 0.05) ** 2 * (1 - RARE) / RARE)
    variance = RARE * (1 - RARE)

    counting, hits = seconds(count, program, n)
    assert abs(hits / n - RARE) <= 5 * (variance / n) ** 0.5
    rounds = [seconds(conditionally, program) for _ in range(5)]
    least, found = min(rounds)[0], rounds[0][1]
    error = (found.high - found.low) / 2 / 1.96
    assert abs(found.estimate - RARE) <= 5 * error

    what = f"to ±5 % of P(duplicate) = {RARE}, a crash in {mean_s:,.0f} s, `checkpoint`"
    report.row(STUDY, f"{what}: by counting {n:,} runs", f"{counting:.1f} s")
    # No fewer than the pilot and a block can be run, so the interval may be narrower than asked.
    runs = f"{PILOT_RUNS:,} runs of a pilot and {found.n:,}, to ±{1.96 * error / found.estimate:.1%}"
    conditional = f"{what}: conditionally, {runs} (least of 5)"
    report.row(STUDY, conditional, f"{least:.3f} s", 0, "≤ 2 s", least <= 2)
    report.row(
        STUDY,
        "variance of a counted run over that of a conditional one",
        f"{variance / found.n / error**2:,.0f}",
    )


STARTER = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A process begins with the peak of the one that started it, so a small one stands between."""


def peak_mb(replications):
    command = [sys.executable, "-c", STARTER, "-m", "benchmarks.cell", str(replications)]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return int(found.stdout) / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def test_memory_does_not_grow_with_the_replications(report):
    few, many = peak_mb(50_000), peak_mb(500_000)
    what = "peak memory of a cell of three strategies, one worker"
    report.row(STUDY, f"{what}, 50,000 replications", f"{few:.0f} MB", 0, "< 500 MB", few < 500)
    report.row(STUDY, f"{what}, 500,000 replications", f"{many:.0f} MB", 0, "< 500 MB", many < 500)
    report.row(STUDY, "the second over the first", f"{many / few:.2f}", 0, "≤ 1.1", many <= 1.1 * few)


def test_two_workers(report):
    plan = cell.plan()
    runs = 14 * BLOCK
    load = os.getloadavg()[0] - 1  # without this process
    cell.simulate(plan, BLOCK, 2)  # starts the workers
    rounds = [[seconds(cell.simulate, plan, runs, jobs)[0] for jobs in (1, 2)] for _ in range(2)]
    one, two = map(min, zip(*rounds, strict=True))
    what = f"seven cells of {runs:,} runs of three strategies, workers started before, least of 2:"
    report.row(STUDY, f"{what} one worker", f"{one:.1f} s")
    report.row(STUDY, f"{what} two", f"{two:.1f} s")
    busy = f"one worker's time over that of two; cores wanted by other work just before: {max(load, 0):.1f}"
    report.row(STUDY, busy, f"{one / two:.2f}", 0, "≥ 1.8", one >= 1.8 * two)


def test_start_of_the_command(report):
    command = [str(Path(sys.executable).with_name("savegap")), "--help"]

    def start():
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    start()
    least = min(seconds(start)[0] for _ in range(9))
    report.row(STUDY, "`savegap --help`, least of 9", f"{least:.2f} s", 0, "≤ 0.3 s", least <= 0.3)
