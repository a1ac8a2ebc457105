"""The command as a person uses it: what it writes, and that no circumstance changes a digit."""

import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

pytestmark = pytest.mark.usefixtures("few_laws")


def test_run_writes_tables_figures_and_report(savegap, project, contents):
    code, output, errors = savegap("run", "--jobs", "1")
    assert code == 0, errors
    assert set(contents(project / "results")) == {
        "README.md",
        "manifest.json",
        "gallery/constant.svg",
        "gallery/weibull.svg",
        "report.html",
        "tiny/contrasts.csv",
        "tiny/estimates.csv",
        "tiny/writes.svg",
    }
    estimates = pd.read_csv(project / "results/tiny/estimates.csv")
    expected = ["store.write.median", "strategy", "metric", "n", "estimate", "low", "high", "method", "exact"]
    assert list(estimates.columns) == expected
    row = estimates[(estimates.metric == "p_duplicate") & (estimates.strategy == "restart")].iloc[1]
    readme = (project / "results/README.md").read_text()
    assert f"**Answer.** {100 * row.estimate:.3g} % of the runs repeat it." in readme
    assert "2/2 chunks, 6,000/6,000 runs" in errors
    assert "wrote" in output


def test_the_report_needs_no_other_file(savegap, project):
    savegap("run", "--jobs", "1", "--replications", "50")
    page = (project / "results/report.html").read_text()
    assert "data:image/svg+xml;base64," in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_number_of_jobs_changes_no_byte(savegap, project, contents):
    for jobs in (1, 2):
        assert savegap("run", "--jobs", jobs, "--out", project / f"with-{jobs}")[0] == 0
    assert contents(project / "with-1") == contents(project / "with-2")


def test_a_second_run_changes_no_byte(savegap, project, contents):
    savegap("run", "--jobs", "1")
    first = contents(project / "results")
    savegap("run", "--jobs", "1")
    assert contents(project / "results") == first


def test_a_new_strategy_leaves_every_digit_of_the_others(savegap, project):
    savegap("run", "--jobs", "1", "--out", project / "before")
    file = project / "experiments/tiny.toml"
    text = file.read_text().replace("[strategies]\n", '[strategies]\nfirst = { protocol = "intent_query" }\n')
    file.write_text(text)
    savegap("run", "--jobs", "1", "--out", project / "after")
    before, after = (pd.read_csv(project / out / "tiny/estimates.csv") for out in ("before", "after"))
    assert set(after.strategy) == {"first", "restart", "checkpoint"}
    kept = after[after.strategy != "first"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, before, check_exact=True)


def test_a_table_that_became_empty_goes(savegap, project):
    savegap("run", "--jobs", "1", "--replications", "20")
    assert "Paired contrasts" in (project / "results/README.md").read_text()
    file = project / "experiments/tiny.toml"
    file.write_text(file.read_text().replace("seed = 7", "seed = 7\ncontrasts = []"))
    savegap("run", "--jobs", "1", "--replications", "20")
    assert not (project / "results/tiny/contrasts.csv").exists()
    assert "Paired contrasts" not in (project / "results/README.md").read_text()


def test_seed_and_replications_are_heeded(savegap, project):
    savegap("run", "--jobs", "1", "--replications", "70", "--seed", "1", "--out", project / "a")
    savegap("run", "--jobs", "1", "--replications", "70", "--seed", "2", "--out", project / "b")
    a, b = (pd.read_csv(project / out / "tiny/estimates.csv") for out in ("a", "b"))
    assert a[a.metric == "makespan_s"].n.unique().tolist() == [70]
    assert (a[a.metric == "makespan_s"].estimate != b[b.metric == "makespan_s"].estimate).all()


def test_the_project_is_the_nearest_folder_upward(savegap, project, monkeypatch):
    below = project / "notes" / "deep"
    below.mkdir(parents=True)
    monkeypatch.setattr("os.getcwd", lambda: str(below))
    assert savegap("run", "tiny", "--jobs", "1", "--replications", "20")[0] == 0
    assert (project / "results/tiny/estimates.csv").is_file()


def test_report_draws_again_without_simulating(savegap, project, monkeypatch, contents):
    savegap("run", "--jobs", "1", "--replications", "60")
    before = contents(project / "results")
    (project / "results/tiny/writes.svg").unlink()
    monkeypatch.setattr("sim.study.chunks.simulate_block", None)
    assert savegap("report")[0] == 0
    assert contents(project / "results") == before


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_ctrl_c_stops_within_two_seconds_and_says_what_is_kept(project, jobs):
    text = (project / "experiments/tiny.toml").read_text()
    many = text.replace("replications = 1500", "replications = 100_000_000")
    (project / "experiments/tiny-2.toml").write_text(many)
    command = [sys.executable, "-m", "sim.cli", "run", "tiny", "tiny-2", "--jobs", str(jobs)]
    process = subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True)
    last_written = project / "results/tiny/contrasts.csv"
    while not last_written.exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)  # the second experiment, of 400 million runs, is at work
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begin < 2
    assert process.returncode == 130
    said = rf"stopped; \d+ chunks are kept \({project / 'results'}\). The same command goes on from there."
    assert re.fullmatch(said, errors.splitlines()[-1])
    assert "Traceback" not in errors
    assert not (project / "results/tiny-2").exists()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["report", "--help"], ["--version"]])
def test_help_teaches(savegap, arguments):
    code, output, _ = savegap(*arguments)
    assert code == 0
    assert "savegap" in output.lower()


def test_results_without_the_newest_metrics_still_give_a_report(savegap, project):
    file = project / "experiments/tiny.toml"
    file.write_text(
        file.read_text() + '[[figures]]\nname = "causes"\nkind = "causes"\ncaption = "By cause."\n'
    )
    savegap("run", "--jobs", "1", "--replications", "60")
    table = project / "results/tiny/estimates.csv"
    rows = table.read_text().splitlines(keepends=True)
    table.write_text("".join(row for row in rows if "_per_million" not in row))
    (project / "results/tiny/causes.svg").unlink()
    code, _, errors = savegap("report")
    assert code == 0, errors
    assert (project / "results/tiny/causes.svg").is_file()
