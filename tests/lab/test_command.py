"""`savegap lab` and `savegap calibrate` as a person uses them."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from sim.lab import frameworks
from sim.report import gallery
from sim.study.config import load

REPOSITORY = Path(__file__).parents[2]

TRIAL = """
title = "Small"
question = "Does it work?"
seed = 3
scale = 0.002
calibration = 4
offsets = 8
replications = 500

[scenario]
workload = "tiny"
crash = { process = "renewal", law = { law = "exponential", mean = 10.0 } }
receiver = { request = 0.5, response = 1.0 }

[conditions.plain]
strategy = { protocol = "checkpoint" }
store = "file"
runs = 12

[conditions."with keys"]
strategy = { protocol = "checkpoint", key = "run_step" }
store = "sqlite-normal"
runs = 6
claim = "no duplicate"

[conditions.framework]
strategy = { protocol = "two_part" }
walks = "langgraph:sync"
store = "sqlite-full"
runs = 2
"""


@pytest.fixture
def trial(project):
    (project / "experiments/lab").mkdir()
    (project / "experiments/lab/small.toml").write_text(TRIAL)
    return project


def test_a_trial_predicts_kills_and_reports(savegap, trial, monkeypatch):
    monkeypatch.setattr(frameworks, "_is_there", lambda package: False)
    code, output, errors = savegap("lab", "run", "small")
    assert code == 0, errors
    assert "skipped: 'framework' needs langgraph and langgraph.checkpoint.sqlite: make lab." in errors
    assert [line.split("  ")[0] for line in output.splitlines()[:2]] == ["plain", "with keys"]
    folder = trial / "results/measured/lab/small"
    conditions = pd.read_csv(folder / "conditions.csv").set_index("condition")
    runs = pd.read_csv(folder / "runs.csv").groupby("condition").sum()
    predictions = pd.read_csv(folder / "predictions.csv").set_index("condition")
    assert list(conditions.index) == ["plain", "with keys"]
    for name, row in conditions.iterrows():
        assert row["kills"] == runs.loc[name, "crashes"]
        assert row["duplicates"] == runs.loc[name, "duplicate_actions"]
        assert row["predicted"] == predictions.loc[name, "duplicates_per_run"]
    assert conditions.loc["with keys", "duplicates"] == 0
    facts = json.loads((folder / "machine.json").read_text())
    assert facts["scale"] == 0.002
    assert not list((trial / "results").rglob(".savegap*"))
    # The report shows it, with its figures, and nothing of them differs when they are drawn again.
    monkeypatch.setattr(gallery, "exhibits", lambda project: [])
    assert savegap("report")[0] == 0
    page = (trial / "results/README.md").read_text()
    assert "## Small" in page
    assert "savegap lab run small" in page
    drawn = (folder / "compared.svg").read_bytes()
    shutil.rmtree(trial / "results/.kept")
    (folder / "compared.svg").unlink()
    assert savegap("report")[0] == 0
    assert (folder / "compared.svg").read_bytes() == drawn


def test_only_some_conditions_and_fewer_runs(savegap, trial):
    out = trial / "elsewhere"
    code, output, _ = savegap("lab", "run", "small", "--only", "plain", "--runs", "2", "--out", str(out))
    assert code == 0
    assert len(output.splitlines()) == 2
    assert len(pd.read_csv(out / "runs.csv")) == 2
    assert savegap("lab", "run", "small", "--runs", "2", "--only", "plain")[0] == 0
    assert (trial / ".quick/lab/small/conditions.csv").exists()
    assert not (trial / "results/measured").exists()  # a part does not take the place of the whole
    code, _, errors = savegap("lab", "run", "small", "--only", "nothing")
    assert code == 2
    assert "no condition is named so; there are: plain, with keys, framework." in errors


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'store = "file"',
            'store = "fil"',
            "conditions.plain.store: 'fil' is no store; did you mean \"file\"?",
        ),
        ("langgraph:sync", "langgraf", "conditions.framework.walks: 'langgraf' is nothing that walks;"),
        (
            '"checkpoint" }',
            '"async" }',
            "conditions.plain.strategy: the laboratory has no saves behind the work",
        ),
        ('"checkpoint" }', '"transaction" }', "conditions.plain.store: 'file' can save no action together"),
        ('protocol = "checkpoint" }', 'protocol = "chekpoint" }', "'chekpoint' is no protocol"),
        ("mean = 10.0", "mean = -1", "crash.law.mean: "),
        ("scale = 0.002", "scale = 0", "scale: "),
        (
            '"exponential", mean = 10.0 }',
            '"exponential", mean = 10.0 }, exposure = { work = 2 }',
            "crash.exposure: the laboratory has no phases in which",
        ),
        ("[conditions.plain]", "[conditions.plain", "is not TOML"),
        ('workload = "tiny"', 'workload = "tinny"', "'tinny' is no workload"),
    ],
)
def test_a_wrong_trial_is_told_in_a_line_and_nothing_is_run(savegap, trial, old, new, said):
    file = trial / "experiments/lab/small.toml"
    file.write_text(TRIAL.replace(old, new))
    code, output, errors = savegap("lab", "run", "small")
    assert code == 2
    assert said in errors, errors
    assert errors.startswith("error: experiments/lab/small.toml: ")
    assert output == ""
    assert not (trial / "results/measured").exists()


def test_a_trial_that_is_not_there(savegap, trial):
    code, _, errors = savegap("lab", "run", "smal")
    assert code == 2
    assert errors == "error: smal: is no file and no trial of experiments/lab/; there are: small.\n"


def test_calibrate_writes_stores_that_an_experiment_can_name(savegap, trial):
    code, output, errors = savegap("calibrate", "file", "--trial", "small", "--workers", "1")
    assert code == 0, errors
    assert output.startswith("measured-file: a save takes ")
    experiment = trial / "experiments/own.toml"
    experiment.write_text(
        """
title = "With the measured store"
question = "Does it load?"
seed = 1
replications = 10
headline = ["p_duplicate"]

[scenario]
workload = "tiny"
store = "measured-file"

[strategies]
checkpoint = { protocol = "checkpoint" }
"""
    )
    plan = load(experiment, trial)
    scenario = next(iter(plan.cells[0].scenarios.values()))
    times = pd.read_csv(trial / "experiments/stores/measured-file.csv")["seconds"]
    mean = scenario.store.write.mean_s + scenario.store.ack.mean_s
    assert mean == pytest.approx(times.mean(), rel=1e-3)
    code, _, errors = savegap("calibrate", "fil")
    assert code == 2
    assert "fil: is no store; did you mean" in errors


def test_stores_are_listed_with_what_is_missing(savegap):
    code, output, _ = savegap("lab", "stores")
    assert code == 0
    assert ["sqlite-full", "ready"] in [line.split() for line in output.splitlines()]


def test_the_shipped_trial_is_right():
    from sim.lab.plan import find, read

    plan = read(find("reality", REPOSITORY), REPOSITORY)
    judged = [c.name for c in plan.conditions if c.given.claim == "duplicates"]
    assert judged == [
        "restart",
        "checkpoint, file",
        "checkpoint, SQLite FULL",
        "checkpoint, SQLite NORMAL",
        "LangGraph, sync",
        "LangGraph, async",
        "LangGraph, exit",
    ]


def test_ctrl_c_leaves_nothing_and_says_so(trial):
    command = [sys.executable, "-m", "sim.cli", "lab", "run", "small", "--only", "plain"]
    text = (trial / "experiments/lab/small.toml").read_text().replace("runs = 12", "runs = 3_000")
    (trial / "experiments/lab/small.toml").write_text(text)
    study = subprocess.Popen(command, cwd=trial, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "plain\n" not in study.stderr.readline():
        assert study.poll() is None
    study.send_signal(signal.SIGINT)
    output, errors = study.communicate(timeout=60)
    assert study.returncode == 130
    assert errors == "stopped; all processes have ended, and nothing was written.\n"
    assert output == ""
    assert not list((trial / "results").rglob("*.csv"))
    assert not list((trial / "results/.kept").iterdir())
