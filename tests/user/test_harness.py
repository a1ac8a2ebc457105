"""Nothing is done twice, what is not needed can go, and a full disk or a failing cell costs only itself."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from sim.study import chunks, files
from sim.study.comparing import differences
from sim.study.errors import counted

pytestmark = pytest.mark.usefixtures("few_laws")

PROCESS = Path(__file__).with_name("study_process.py")
FEW = ("--jobs", 1, "--replications", 50)


def record(project):
    return json.loads((project / "results/run.json").read_text())["experiments"]


def manifest(project):
    return json.loads((project / "results/manifest.json").read_text())


def change(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.fixture
def two(project):
    """A project of two experiments, of which the second has a workload of its own."""
    folder = project / "experiments"
    text = (folder / "tiny.toml").read_text()
    (folder / "other.toml").write_text(
        text.replace('workload = "tiny"', 'workload = "own"').replace('"Tiny"', '"Other"')
    )
    workload = (folder / "workloads/tiny.toml").read_text()
    (folder / "workloads/own.toml").write_text(workload.replace("mean = 2.0", "mean = 3.0"))
    return project


# ------------------------------------------------------------------------------------------- incremental


def test_nothing_is_done_where_nothing_has_changed(savegap, project, contents, monkeypatch):
    savegap("run", *FEW)
    before = contents(project / "results")
    monkeypatch.setattr("sim.study.config.load", None)  # not even a file is understood
    code, output, _ = savegap("run", *FEW)
    assert code == 0
    assert "is up to date: 8 files from 2 chunks, nothing to do." in output
    assert contents(project / "results") == before


def test_a_result_that_was_changed_or_removed_is_made_again_without_simulating(savegap, project, contents):
    savegap("run", *FEW)
    before = contents(project / "results")
    (project / "results/tiny/writes.svg").write_text("<svg/>")
    (project / "results/tiny/estimates.csv").unlink()
    assert savegap("run", *FEW)[0] == 0
    assert record(project)["tiny"]["chunks_simulated"] == 0
    assert contents(project / "results") == before


def test_a_changed_workload_touches_what_depends_on_it_alone(savegap, two):
    savegap("run", *FEW)
    times = {file: file.stat().st_mtime_ns for file in (two / "results/tiny").iterdir()}
    change(two / "experiments/workloads/own.toml", "mean = 3.0", "mean = 4.0")
    code, output, _ = savegap("plan", *FEW[2:])
    assert code == 0
    assert re.search(r"^other +2 chunks, about 1 s: 2 cells of another scenario$", output, re.M)
    assert re.search(r"^tiny +nothing to simulate \(2 chunks kept\)$", output, re.M)
    savegap("run", *FEW)
    assert record(two)["other"]["chunks_simulated"] == 2
    assert record(two)["tiny"]["chunks_simulated"] == 0
    assert {file: file.stat().st_mtime_ns for file in (two / "results/tiny").iterdir()} == times


def test_words_are_no_reason_to_simulate(savegap, project):
    savegap("run", *FEW)
    change(project / "experiments/workloads/tiny.toml", 'title = "Tiny"', 'title = "Small"')
    change(project / "experiments/tiny.toml", "Does it work?", "Does it still work?")
    savegap("run", *FEW)
    assert record(project)["tiny"]["chunks_simulated"] == 0
    assert "Does it still work?" in (project / "results/README.md").read_text()


def test_a_changed_law_touches_what_depends_on_it_alone(savegap, two, own_law):
    law = '{ process = "renewal", law = { law = "mine", mean = 30.0 } }'
    change(two / "experiments/other.toml", '{ process = "uniform_time" }', law)
    assert savegap("run", *FEW)[0] == 0
    change(own_law, '"""Constant hazard."""', '"""Constant hazard; rather dull."""\n    # indeed')
    savegap("run", *FEW)
    assert record(two)["other"]["chunks_simulated"] == 0
    change(own_law, "t / self.mean", "t / (2 * self.mean)")
    savegap("run", *FEW)
    assert record(two)["other"]["chunks_simulated"] == 2
    assert record(two)["tiny"]["chunks_simulated"] == 0


def test_times_that_lie_elsewhere_are_inputs_too(savegap, project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "times.csv"
    elsewhere.write_text("seconds\n3\n20\n")
    law = f'{{ process = "renewal", law = {{ law = "empirical", file = "{elsewhere}" }} }}'
    change(project / "experiments/tiny.toml", '{ process = "uniform_time" }', law)
    assert savegap("run", *FEW)[0] == 0
    assert "nothing to do" in savegap("run", *FEW)[1]
    elsewhere.write_text("seconds\n3\n25\n")
    assert "nothing to do" not in savegap("run", *FEW)[1]
    assert record(project)["tiny"]["chunks_simulated"] == 2


def test_more_replications_extend_the_old_ones(savegap, project):
    block = chunks.BLOCK
    savegap("run", "--jobs", 1, "--replications", 2 * block)
    code, output, _ = savegap("plan", "--replications", 3 * block)
    assert code == 0
    assert "tiny  2 chunks, about 1 s: 2 cells with more runs" in output
    _, _, errors = savegap("run", "--jobs", 1, "--replications", 3 * block)
    assert "4 chunks kept, 2 are simulated by 1 worker." in errors
    assert record(project)["tiny"]["chunks_simulated"] == 2
    table = pd.read_csv(project / "results/tiny/estimates.csv")
    assert set(table[table.metric == "crashes"].n) == {3 * block}


def test_plan_names_the_module_that_has_changed(savegap, project):
    savegap("run", *FEW)
    file = project / "results/manifest.json"
    told = manifest(project)
    identity = told["experiments"]["tiny"]["program"]
    told["programs"]["before"] = told["programs"].pop(identity)
    told["programs"]["before"]["modules"]["sim.timeline"] = "other"
    told["experiments"]["tiny"]["program"] = "before"
    file.write_text(json.dumps(told))
    for chunk in (project / "results/.kept/chunks").iterdir():
        chunk.unlink()
    assert "the program has changed: sim.timeline" in savegap("plan", *FEW[2:])[1]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "it was not run yet"),
        (("--seed", 9), "the seed is 9 instead of 7"),
        (("--replications", 60), "2 cells with more runs"),
    ],
)
def test_plan_says_why(savegap, project, arguments, why):
    if arguments:
        savegap("run", *FEW)
    code, output, _ = savegap("plan", *arguments)
    assert code == 0
    assert why in output
    assert not arguments or "guessed" not in output


def test_clean_removes_what_nothing_refers_to(savegap, project):
    folder = project / "results/.kept/chunks"
    savegap("run", *FEW)
    before = {file.name for file in folder.iterdir()}
    savegap("run", "--jobs", 1, "--replications", 60)
    abandoned = folder / ".abc.chunk.x.half"
    abandoned.write_text("")
    os.utime(abandoned, (0, 0))
    code, output, _ = savegap("clean", "--dry-run")
    assert code == 0
    assert re.match(r"2 chunks would be removed \(0\.\d MB\), 2 stay\.", output)
    assert len(list(folder.iterdir())) == 5
    assert savegap("clean")[1].startswith("2 chunks removed")
    assert len(list(folder.iterdir())) == 2
    assert not before & {file.name for file in folder.iterdir()}
    assert "nothing to do" in savegap("run", "--jobs", 1, "--replications", 60)[1]


# ------------------------------------------------------------------------------------------- provenance


def test_the_manifest_says_what_the_numbers_come_from(savegap, project):
    savegap("run", *FEW)
    told = manifest(project)
    one = told["experiments"]["tiny"]
    assert (one["seed"], one["engine"], one["failed"]) == (7, "auto", [])
    assert [cell["n"] for cell in one["cells"]] == [50, 50]
    assert [cell["cell"] for cell in one["cells"]] == [
        {"store.write.median": 0.1},
        {"store.write.median": 0.5},
    ]
    modules = told["programs"][one["program"]]["modules"]
    assert {"sim.events.run", "sim.timeline", "sim.sums", "sim.laws.gamma"} <= set(modules)
    assert not any(name.startswith(("sim.report", "sim.cli")) for name in modules)
    # No time, machine or path, so that it is the same wherever it is made.
    assert str(project) not in json.dumps(told)


def test_versions_in_the_manifest_are_those_of_the_lock(savegap, project, request):
    savegap("run", *FEW)
    lock = (request.config.rootpath / "requirements.lock").read_text()
    locked = dict(re.findall(r"^([\w-]+)==([\w.]+)", lock, re.M))
    versions = manifest(project)["versions"]
    assert {name: locked[name] for name in versions if name != "savegap"} == {
        name: version for name, version in versions.items() if name != "savegap"
    }


def test_results_of_an_experiment_that_is_run_alone_leave_the_others_told(savegap, two):
    savegap("run", *FEW)
    before = manifest(two)
    savegap("run", "other", "--jobs", 1, "--replications", 60)
    after = manifest(two)
    assert after["experiments"]["tiny"] == before["experiments"]["tiny"]
    assert after["experiments"]["other"]["cells"][0]["n"] == 60


# --------------------------------------------------------------------------------------------- failures


def test_a_cell_that_fails_is_told_at_the_end_and_costs_no_other(savegap, project, monkeypatch, contents):
    simulate = chunks.simulate_block

    def fails(program, draws, engine, conditionally):
        if program.scenario.store.write.mean_s > 0.3 and draws.size > 17:
            raise ZeroDivisionError("of all things")
        return simulate(program, draws, engine, conditionally)

    monkeypatch.setattr(chunks, "simulate_block", fails)
    code, _, errors = savegap("run", *FEW)
    assert code == 1
    told = errors.splitlines()
    assert told[-3] == (
        "failed: tiny, store.write.median = 0.5, restart, replication 17: ZeroDivisionError: of all things"
    )
    assert told[-2] == "  see it: savegap replay tiny --strategy restart --replication 17"
    assert told[-1] == "1 cell failed; all others are in the tables."
    table = pd.read_csv(project / "results/tiny/estimates.csv")
    assert set(table["store.write.median"]) == {0.1}
    assert [cell["n"] for cell in manifest(project)["experiments"]["tiny"]["cells"]] == [50, 0]
    readme = (project / "results/README.md").read_text()
    assert "Not answered, since cells have failed" in readme
    assert "replication 17: ZeroDivisionError" in readme
    # Once that is mended, the cell alone is simulated, and all is as if nothing had been.
    monkeypatch.setattr(chunks, "simulate_block", simulate)
    assert savegap("run", *FEW)[0] == 0
    assert record(project)["tiny"] | {"process_s": 0} == {
        "chunks_kept": 1,
        "chunks_simulated": 1,
        "runs_simulated": 100,
        "process_s": 0,
        "failed": 0,
    }
    assert savegap("run", *FEW, "--out", project / "at-once")[0] == 0
    assert contents(project / "results") == contents(project / "at-once")


def test_engines_that_differ_make_a_cell_fail(savegap, project, monkeypatch):
    def differ(program, seed, size):
        return (3, "crashes is 1 here and 2 there.") if size > 3 else None

    monkeypatch.setattr(chunks, "check_engines", differ)
    code, _, errors = savegap("run", *FEW)
    assert code == 1
    assert "restart, replication 3: the engines do not agree: crashes is 1 here and 2 there." in errors
    assert errors.splitlines()[-1] == "2 cells failed; all others are in the tables."
    assert not (project / "results/tiny").exists()


def test_a_disk_that_is_full_is_one_line_and_loses_nothing(savegap, project, contents, monkeypatch):
    savegap("run", "--jobs", 1, "--replications", 5000, "--out", project / "undisturbed")
    sync = files._sync
    saves = []

    def full(path):
        saves.append(path)
        if len(saves) > 4:  # two a chunk
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        sync(path)

    monkeypatch.setattr(files, "_sync", full)
    code, _, errors = savegap("run", "--jobs", 1, "--replications", 5000)
    assert code == 2
    assert errors.splitlines()[-1] == (
        f"error: {project / 'results/.kept/chunks'}: cannot be written: No space left on device. "
        "Every chunk that was finished is kept; run again."
    )
    assert "Traceback" not in errors
    assert record(project)["tiny"]["chunks_simulated"] == 2
    names = [file.name for file in (project / "results/.kept/chunks").iterdir()]
    assert len(names) == 2
    assert all(name.endswith(".chunk") for name in names)
    monkeypatch.setattr(files, "_sync", sync)
    assert savegap("run", "--jobs", 1, "--replications", 5000)[0] == 0
    assert record(project)["tiny"]["chunks_simulated"] == 2
    assert contents(project / "results") == contents(project / "undisturbed")


@pytest.fixture
def small_disk(project):
    """A disk of 300 kB for the results; where nobody may mount one, there is none."""
    disk = project / "results"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(disk)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a file system takes rights that this process has not")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def as_a_process(project, *arguments):
    command = [sys.executable, str(PROCESS), "", "", "run", "--replications", "9000", *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_disk_that_is_really_full(project, small_disk, jobs):
    code, errors = as_a_process(project, "--jobs", jobs)
    assert code == 2
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith(f"error: {small_disk}")
    assert "No space left on device" in errors.splitlines()[-1]
    kept = [file for file in small_disk.rglob("*.chunk") if file.is_file()]
    assert kept
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    code, errors = as_a_process(project, "--jobs", jobs)
    assert code == 0, errors
    assert f"{counted(len(kept), 'chunk')} kept" in errors


def test_a_folder_that_is_read_only(project, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    code, errors = as_a_process(project)
    assert code == 2
    assert errors.splitlines() == [f"error: {small_disk}: cannot be written: Read-only file system."]


# --------------------------------------------------------------------------------------------- compare


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("t.csv", "1.23456", "1.23457", ""),
        ("t.csv", "1.23456", "1.23458", "line 1: 1.23458 instead of 1.23456"),
        ("t.csv", "9.87654", "9.87656", "line 1: 9.87656 instead of 9.87654"),
        ("t.csv", "123456", "123457", ""),
        ("t.csv", "64", "65", "line 1: 65 instead of 64"),
        ("t.csv", "1.00000e-07", "0", "line 1: 0 instead of 1.00000e-07"),
        ("t.csv", "-0.5", "0.5", "line 1: 0.5 instead of -0.5"),
        ("t.csv", "a,1", "b,1", "line 1: 'b,1' instead of 'a,1'"),
        ("t.csv", "1\n2", "1", "1 lines instead of 2"),
        ("README.md", "it is 12.3 %", "it is 12.4 %", ""),
        ("README.md", "it is 12.3 %", "it is 12.5 %", "line 1: 12.5 instead of 12.3"),
        ("README.md", "1,024 runs", "1,025 runs", "line 1: 1,025 instead of 1,024"),
        ("p.svg", 'x="10.001"', 'x="10.002"', ""),
        ("p.svg", 'x="10.0"', 'x="10.5"', "line 1: 10.5 instead of 10.0"),
        ("p.svg", "url(#p75a662dd27)", "url(#p3e44578db5)", ""),
        ("manifest.json", '"a1"', '"a2"', "line 1: '\"a2\"' instead of '\"a1\"'"),
    ],
)
def test_numbers_may_differ_by_a_unit_of_the_sixth_digit(tmp_path, file, old, new, told):
    for folder, text in (("expected", old), ("found", new)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(text)
    count, lines = differences(tmp_path / "expected", tmp_path / "found")
    assert count == 1
    assert lines == ([f"{file}: {told}"] if told else [])


def test_compare_names_what_is_missing_and_what_is_too_much(savegap, project):
    savegap("run", *FEW)
    savegap("run", *FEW, "--out", project / "again")
    folders = (project / "results", project / "again")
    assert savegap("compare", *folders)[:2] == (0, "7 files compared, 0 differences.\n")
    (project / "again/tiny/contrasts.csv").unlink()
    (project / "again/tiny/more.csv").write_text("")
    code, output, _ = savegap("compare", *folders)
    assert code == 1
    assert output.splitlines() == [
        "tiny/contrasts.csv: missing",
        "tiny/more.csv: not expected",
        "6 files compared, 2 differences.",
    ]
