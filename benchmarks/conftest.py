"""What all benchmarks share: the report, and rounds that alternate with the peer's."""

from pathlib import Path
from time import process_time

import pytest

from benchmarks.peers import tutorial
from benchmarks.report import Report, Timing
from benchmarks.scenarios import SEED, mean_life_s
from sim.study.files import write_text

TUTORIAL = "tutorial"
TUTORIAL_RUNS = {1: 300, 12: 150, 100: 20}
"""In a round, by steps."""


def pytest_addoption(parser):
    parser.addoption("--table", type=Path, help="Markdown file to write what was measured to.")


@pytest.fixture(scope="session")
def report(request):
    """Collect what is measured; written at the end if everything was and is right."""
    found = Report()
    yield found
    target = request.config.getoption("--table")
    if target and not request.session.testsfailed:
        write_text(target, found.markdown())


@pytest.fixture
def timed(benchmark):
    """Time a model that simulates so many runs, in rounds between those of the tutorial model.

    The other model is timed where the round is set up, so that pytest-benchmark sees this one alone.
    """

    def timing(model, runs, steps, lives, rounds):
        theirs = []
        n = TUTORIAL_RUNS[steps]

        def tutorial_round():
            begin = process_time()
            tutorial.simulate(n, SEED, mean_life_s(steps, lives), steps=steps)
            theirs.append((process_time() - begin) / n)

        benchmark.pedantic(model, setup=tutorial_round, rounds=rounds, warmup_rounds=1)
        ours = [seconds / runs for seconds in benchmark.stats.stats.data]
        theirs = theirs[-len(ours) :]
        return {TUTORIAL: Timing.of(theirs, theirs), "": Timing.of(ours, theirs)}

    return timing
