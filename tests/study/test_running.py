"""From cells to tables: what is in them, how it is corrected, how it is rounded."""

import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import sim
from sim import timeline
from sim.estimate import METRICS, contrast
from sim.program import unfold
from sim.simulation import blocks, simulate_block
from sim.streams import BLOCK, Streams
from sim.study.config import load
from sim.study.files import replacing, write_csv
from sim.study.kept import Kept
from sim.study.precision import PILOT
from sim.study.results import tables_of
from sim.study.running import Job, Study
from sim.study.workers import Workers
from sim.sums import Sums

N = BLOCK + 100


@pytest.fixture
def plan(project):
    return load(project / "experiments" / "tiny.toml", project)


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path / "chunks")


@pytest.fixture
def tables(kept):
    """Give the tables of an experiment, at seed 7, on one core."""
    return lambda plan, n=None: tables_of(Job(plan, 7, n), kept, Workers(1))


@pytest.fixture
def sizes(kept):
    """Give the runs by cell that an experiment gets."""

    def asked(plan):
        study = Study([Job(plan, 7)], kept, print)
        assert list(study.simulate(study.pilots(), Workers(1), lambda *_: None)) == study.jobs
        return study.sizes(study.jobs[0])

    return asked


def test_the_runs_of_a_cell_are_those_of_simulate(plan, tables):
    table = tables(plan, N).estimates
    for cell in plan.cells:
        frames = {name: sim.simulate(scenario, N, 7) for name, scenario in cell.scenarios.items()}
        here = table[table["store.write.median"] == cell.factors["store.write.median"]]
        for name, frame in frames.items():
            row = here[(here.strategy == name) & (here.metric == "makespan_s")].iloc[0]
            assert (row["n"], row["estimate"]) == (N, pytest.approx(frame["makespan_s"].mean(), rel=1e-12))
            row = here[(here.strategy == name) & (here.metric == "makespan_s_p95")].iloc[0]
            assert row["estimate"] == frame["makespan_s"].quantile(0.95, "inverted_cdf")


def test_one_crash_is_estimated_conditionally(plan, tables):
    table = tables(plan, N).estimates
    shares = table[table.metric == "p_duplicate"]
    assert shares.method.tolist() == ["conditional"] * 4
    assert shares.n.tolist() == [N] * 4
    assert ((shares.estimate - shares.exact).abs() < (shares.high - shares.low) * 5 / 4).all()
    assert (table[table.metric == "wasted_tokens"].method == "t").all()


def test_tables(plan, tables):
    found = tables(plan, 300)
    assert len(found.estimates) == 2 * 2 * len(METRICS)
    assert len(found.contrasts) == 2 * 1 * 2
    # one pair of strategies, two headline metrics, two cells: four intervals hold together
    assert found.contrasts["level"].unique() == [pytest.approx(1 - 0.05 / 4)]
    frames = {name: sim.simulate(scenario, 300, 7) for name, scenario in plan.cells[1].scenarios.items()}
    ours = contrast(Sums.of(frames), "makespan_s", "restart", "checkpoint", 1 - 0.05 / 4)
    row = found.contrasts.iloc[3]
    assert (row["first"], row["second"], row["metric"]) == ("restart", "checkpoint", "makespan_s")
    assert tuple(row[["difference", "low", "high"]]) == pytest.approx((ours.difference, ours.low, ours.high))
    assert len(found.published) == 0


def test_published_values_are_compared_beyond_their_rounding(project, tables):
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
    base = next(cell for cell in plan.cells if cell.factors == plan.base)
    assert base is not plan.cells[0]
    frame = sim.simulate(base.scenarios["restart"], 500, 7)
    table = tables(plan, 500).published.set_index("metric")
    assert plan.experiment.published.values["restart"]["p_duplicate"] == Decimal("0.5")
    duplicates = frame["duplicate_actions"] > 0
    ours = table.loc["p_duplicate"]
    target = ours["exact"] if pd.notna(ours["exact"]) else duplicates.mean()
    beyond = max(abs(0.5 - target) - 0.05, 0)
    assert abs(ours["z"]) == pytest.approx(beyond / (duplicates.std(ddof=0) / 10))
    assert table.loc["crashes", "z"] == float("inf")  # every run has one crash: 1.2 is not that


# ------------------------------------------------------------------------------------- engines, precision


def asking(project, text, replications="1500"):
    """Give the tiny experiment with more top-level keys."""
    file = project / "experiments" / "tiny.toml"
    whole = file.read_text().replace("seed = 7\n", f"seed = 7\n{text}\n")
    file.write_text(whole.replace("replications = 1500", f"replications = {replications}"))
    return load(file, project)


def test_the_engine_that_is_asked_for_simulates(project, tables):
    plan = asking(project, 'engine = "events"')
    table = tables(plan, 200).estimates
    assert set(table[table.metric == "p_duplicate"].method) <= {"Wilson", "Clopper-Pearson"}
    other = tables(load_other(project), 200).estimates
    makespans = [t[t.metric == "makespan_s"].estimate.tolist() for t in (table, other)]
    assert makespans[0] == makespans[1]


def load_other(project):
    file = project / "experiments" / "tiny.toml"
    file.write_text(file.read_text().replace('engine = "events"', 'engine = "timeline"'))
    return load(file, project)


def test_engines_that_differ_make_a_cell_fail_at_the_replication(plan, kept, monkeypatch):
    simulate = timeline.simulate

    def wrong(timetable, crashes):
        columns = simulate(timetable, crashes)
        columns["redone_steps"] = columns["redone_steps"] + (np.arange(timetable.draws.size) == 41)
        return columns

    monkeypatch.setattr(timeline, "simulate", wrong)
    study = Study([Job(plan, 7, 100)], kept, print)
    assert list(study.simulate(study.missing(), Workers(1), lambda *_: None)) == study.jobs
    failures = study.failures(study.jobs[0])
    assert [failure.factors for failure in failures] == [cell.factors for cell in plan.cells]
    assert {(failure.strategy, failure.replication) for failure in failures} == {("restart", 41)}
    assert failures[0].why.startswith("the engines do not agree: redone_steps is ")
    assert list(study.cells(study.jobs[0])) == []


def test_without_a_precision_every_cell_gets_all_replications(plan, sizes):
    assert sizes(plan) == [1500, 1500]


def test_a_pilot_says_how_many_replications_a_precision_takes(project, sizes, tables):
    plan = asking(project, "precision = { relative = 0.01, absolute = 1e-5 }", "1_000_000_000")
    assert all(BLOCK <= size < 10**7 and size % BLOCK == 0 for size in sizes(plan))
    table = tables(plan).estimates
    for _, row in table[table.metric.isin(plan.experiment.headline)].iterrows():
        assert plan.experiment.precision.reached(row["estimate"], row["low"], row["high"])


def test_replications_are_a_cap_on_what_a_precision_takes(project, sizes):
    plan = asking(project, "precision = { relative = 1e-4 }", "9000")
    assert sizes(plan) == [9000, 9000]


def test_the_pilot_shares_no_run_with_the_study(plan):
    program = unfold(plan.cells[0].scenarios["checkpoint"])
    pilot = simulate_block(program, Streams(7, PILOT, 100))["makespan_s"]
    for block, size in blocks(3 * BLOCK):
        assert not np.isin(pilot, simulate_block(program, Streams(7, block, size))["makespan_s"]).any()


# ------------------------------------------------------------------------------------------------ files


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
