"""How narrow is narrow enough, and how many runs that takes."""

from math import inf, nan

import pandas as pd
import pytest

from sim.estimate import Estimate
from sim.report import tables
from sim.streams import BLOCK
from sim.study.config import load
from sim.study.precision import MARGIN, PILOT_RUNS, Precision

FIVE_PERCENT = Precision(relative=0.05, absolute=1e-4)


@pytest.mark.parametrize(
    ("estimate", "low", "high", "short_by"),
    [
        (1.0, 0.96, 1.04, 0.8),
        (1.0, 0.90, 1.10, 2.0),
        (-1.0, -1.025, -0.975, 0.5),  # of the size of a negative number, too
        (0.0, 0.0, 1e-3, 5.0),  # where there is nothing to take a share of, the absolute width counts
        (1e-3, 0.92e-3, 1.08e-3, 0.8),
        (0.0, 0.0, 0.0, 0.0),
        (1.0, nan, nan, inf),
    ],
)
def test_how_many_times_an_interval_is_too_wide(estimate, low, high, short_by):
    assert FIVE_PERCENT.short_by(estimate, low, high) == pytest.approx(short_by)
    assert FIVE_PERCENT.reached(estimate, low, high) == (short_by < 1)


def test_nothing_seen_is_never_precise_to_a_share_of_itself():
    alone = Precision(relative=0.05)
    assert alone.short_by(0.0, 0.0, 1e-9) == inf
    assert alone.reached(0.0, 0.0, 0.0)


def found(half):
    return Estimate("p_duplicate", PILOT_RUNS, 1.0, 1 - half, 1 + half, "")


def test_runs_grow_with_the_square_of_what_is_missing():
    assert FIVE_PERCENT.runs([found(0.001)], 10**6) == BLOCK
    for times in (2, 3, 7.5):
        runs = FIVE_PERCENT.runs([found(0.05 * times), found(0.01)], 10**6)
        assert 0 <= runs - MARGIN * PILOT_RUNS * times**2 <= BLOCK
        assert runs % BLOCK == 0


@pytest.mark.parametrize("pilot", [found(10.0), Estimate("saves", 0, nan, nan, nan, "")])
def test_no_more_runs_than_are_allowed(pilot):
    assert FIVE_PERCENT.runs([pilot], 5000) == 5000
    assert FIVE_PERCENT.runs([found(0.001)], 100) == 100


def test_what_is_missed_is_named_as_far_as_anybody_would_read(project):
    file = project / "experiments" / "tiny.toml"
    writes = ", ".join(str(0.5 + n / 10) for n in range(5))
    text = file.read_text().replace("[0.1, 0.5]", f"[{writes}]")
    file.write_text(text.replace("seed = 7", "seed = 7\nprecision = { relative = 0.1 }"))
    plan = load(file, project)
    rows = [
        {**cell.factors, "strategy": name, "metric": metric, "n": 9, "estimate": 1.0, "low": 0.5, "high": 1.5}
        for cell in plan.cells
        for name in plan.experiment.strategies
        for metric in plan.experiment.headline
    ]
    told = tables.precision(plan, pd.DataFrame(rows))
    assert told.startswith("0 of 20 headline intervals are within ±10 % of the estimate")
    assert told.count(";") == 1 + tables.NAMED
    assert told.endswith("; and 12 more, see the tables")
