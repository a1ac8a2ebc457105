"""From cells to tables: what is in them, how it is corrected, how it is rounded."""

import io
from decimal import Decimal

import pandas as pd
import pytest

import sim
from sim.estimate import METRICS, contrast
from sim.study.config import load
from sim.study.files import replacing, write_csv
from sim.study.running import run, simulate_cells


@pytest.fixture
def plan(project):
    return load(project / "experiments" / "tiny.toml", project)


def test_the_runs_of_a_cell_are_those_of_simulate(plan):
    counted = []
    (first, runs), (second, _) = simulate_cells(plan.cells, 1100, 7, 1, counted.append)
    assert [first, second] == plan.cells
    assert sum(counted) == 2 * 2 * 1100
    for name, frame in runs.items():
        pd.testing.assert_frame_equal(frame, sim.simulate(first.scenarios[name], 1100, 7))


def test_tables(plan):
    tables = run(plan, 300, 7, 1, lambda cells, runs: None)
    assert len(tables.estimates) == 2 * 2 * len(METRICS)
    assert len(tables.contrasts) == 2 * 1 * 2
    # one pair of strategies, two headline metrics, two cells: four intervals hold together
    assert tables.contrasts["level"].unique() == [pytest.approx(1 - 0.05 / 4)]
    a, b = (sim.simulate(plan.cells[1].scenarios[name], 300, 7) for name in ("restart", "checkpoint"))
    ours = contrast(a, b, "makespan_s", 1 - 0.05 / 4)
    row = tables.contrasts.iloc[3]
    assert (row["first"], row["second"], row["metric"]) == ("restart", "checkpoint", "makespan_s")
    assert (row["difference"], row["low"], row["high"]) == (ours.difference, ours.low, ours.high)
    assert len(tables.published) == 0


def test_published_values_are_compared_beyond_their_rounding(project):
    file = project / "experiments" / "tiny.toml"
    published = """
[published]
source = "s"
n = 100
[published.values]
restart = { crashes = "1.2", p_duplicate = "0.5" }
"""
    file.write_text(file.read_text() + published)
    plan = load(file, project)
    frame = sim.simulate(plan.cells[0].scenarios["restart"], 500, 7)
    table = run(plan, 500, 7, 1, lambda cells, runs: None).published.set_index("metric")
    assert plan.experiment.published.values["restart"]["p_duplicate"] == Decimal("0.5")
    duplicates = frame["duplicate_actions"] > 0
    ours = table.loc["p_duplicate"]
    target = ours["exact"] if pd.notna(ours["exact"]) else duplicates.mean()
    beyond = max(abs(0.5 - target) - 0.05, 0)
    assert abs(ours["z"]) == pytest.approx(beyond / (duplicates.std() / 10))
    assert table.loc["crashes", "z"] == float("inf")  # every run has one crash: 1.2 is not that


def test_six_significant_digits_and_no_negative_zero(tmp_path):
    table = pd.DataFrame({"n": [3], "a": [1234567.0], "b": [-0.0], "c": [float("nan")], "d": [1 / 3]})
    write_csv(tmp_path / "t.csv", table)
    assert (tmp_path / "t.csv").read_text() == "n,a,b,c,d\n3,1.23457e+06,0,,0.333333\n"
    assert pd.read_csv(io.StringIO((tmp_path / "t.csv").read_text())).n.tolist() == [3]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "t"
    target.write_text("before")

    def fail():
        with replacing(target) as new:
            new.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
