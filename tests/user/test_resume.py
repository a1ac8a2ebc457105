"""A study survives what it is about: killed at any moment, it goes on and ends with the very same files."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WAY_TO_GO = Path(__file__).with_name("study_process.py")

PRECISE = "replications = 60_000\nprecision = { relative = 0.008 }"


def start(project, *arguments, die="", pages=""):
    """Start a study as a process of its own, which dies by itself where it shall."""
    command = [sys.executable, str(WAY_TO_GO), die, pages, "run", *arguments]
    return subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(project, *arguments, pages=""):
    """Run a study to its end; gives what it said."""
    process = start(project, *arguments, pages=pages)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output + errors


def kept(project):
    return {file.name for file in (project / "results/.kept/chunks").glob("*.chunk")}


def simulated(project):
    record = json.loads((project / "results/run.json").read_text())
    return sum(one["chunks_simulated"] for one in record["experiments"].values())


def lengthen(project):
    """Let the tiny experiment have a pilot and several chunks a cell."""
    file = project / "experiments/tiny.toml"
    file.write_text(file.read_text().replace("replications = 1500", PRECISE))


@pytest.fixture(scope="module")
def undisturbed(new_project, contents):
    """Tables and manifest of a study that nothing disturbed, and the names of its chunks."""
    project = new_project("undisturbed")
    lengthen(project)
    finish(project, "--jobs", "1")
    return contents(project / "results"), kept(project)


@pytest.fixture
def long_project(project):
    lengthen(project)
    return project


POINTS = [
    "half written 4",
    *(pytest.param(at, marks=pytest.mark.slow) for at in ("begin 2", "written 3", "in place 5")),
]
"""Around the save of the n-th chunk."""


@pytest.mark.parametrize("point", POINTS)
def test_killed_around_the_save_of_a_chunk(long_project, contents, undisturbed, point):
    process = start(long_project, "--jobs", "1", die=point)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    there = kept(long_project)
    number = int(point.split()[-1])
    assert len(there) == (number if point.startswith("in place") else number - 1)
    said = finish(long_project, "--jobs", "1")
    assert "damaged" not in said
    files, chunks = undisturbed
    assert contents(long_project / "results") == files
    assert kept(long_project) == chunks
    assert simulated(long_project) == len(chunks - there)  # nothing twice but what was in hand


def kill_at_random(project, contents, undisturbed, seed, kills):
    """Kill a study of two processes at random moments, and go on; what is said and kept must be right."""
    files, chunks = undisturbed
    moments = random.Random(seed)
    for _ in range(kills):
        process = start(project, "--jobs", "2")
        time.sleep(moments.uniform(0.5, 4.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        time.sleep(0.7)  # by now its workers have noticed
    there = kept(project)
    finish(project, "--jobs", "2")
    assert contents(project / "results") == files
    assert kept(project) == chunks
    assert simulated(project) == len(chunks - there)


def test_killed_at_a_random_moment(long_project, contents, undisturbed):
    kill_at_random(long_project, contents, undisturbed, 1, kills=1)


@pytest.mark.slow
def test_pages_and_figures_too_are_those_of_an_undisturbed_study(long_project, new_project, contents):
    other = new_project("other")
    lengthen(other)
    finish(other, pages="pages")
    process = start(long_project, "--jobs", "1", die="written 3")
    process.communicate(timeout=120)
    finish(long_project, pages="pages")
    assert contents(long_project / "results") == contents(other / "results")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_killed_ten_times_at_random_moments(long_project, contents, undisturbed, seed):
    kill_at_random(long_project, contents, undisturbed, 100 + seed, kills=10)


def test_workers_end_with_the_study_that_was_killed(long_project):
    file = long_project / "experiments/tiny.toml"
    file.write_text(file.read_text().replace("60_000", "100_000_000").replace("0.008", "0.00001"))
    process = start(long_project, "--jobs", "2")
    while len(kept(long_project)) < 4:
        assert process.poll() is None
        time.sleep(0.05)
    kill_and_see_workers_end(process)


def test_workers_end_too_that_have_nothing_to_do(long_project):
    file = long_project / "experiments/tiny.toml"
    text = file.read_text().partition("[sweep]")[0].replace(PRECISE, 'replications = 4096\nengine = "events"')
    file.write_text(text)
    process = start(long_project, "--jobs", "2", pages="pages")
    while len(children(process.pid)) < 3:
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(2.5)  # one has the only chunk now, the other none
    kill_and_see_workers_end(process)


def kill_and_see_workers_end(process):
    assert process.poll() is None
    workers = children(process.pid)
    assert len(workers) >= 3  # two, and who tracks what they share
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{worker}") for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_two_studies_at_once_do_no_harm(long_project, contents, undisturbed):
    processes = [start(long_project, "--jobs", "1") for _ in range(2)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    files, chunks = undisturbed
    assert contents(long_project / "results") == files
    assert kept(long_project) == chunks


# ------------------------------------------------------------------------------------------------- damage

DAMAGE = {
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-9]),
    "empty": lambda file: file.write_bytes(b""),
    "a bit flipped": lambda file: file.write_bytes(flipped(file.read_bytes())),
    "another chunk": lambda file: file.write_bytes(other(file).read_bytes()),
}


def flipped(data):
    return data[:700] + bytes([data[700] ^ 4]) + data[701:]


def other(file):
    return next(each for each in sorted(file.parent.glob("*.chunk")) if each != file)


@pytest.mark.usefixtures("few_laws")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_chunk_is_said_and_made_again(savegap, project, contents, damage):
    savegap("run", "--jobs", 1, "--replications", 5000)
    before, there = contents(project / "results"), kept(project)
    assert len(there) == 4
    file = project / "results/.kept/chunks" / sorted(there)[0]
    whole = file.read_bytes()
    DAMAGE[damage](file)
    code, _, errors = savegap("run", "--jobs", 1, "--replications", 5000)
    assert code == 0
    assert f"is damaged ({file}); it is simulated again." in errors
    assert simulated(project) == 1
    assert file.read_bytes() == whole
    assert contents(project / "results") == before


@pytest.mark.usefixtures("few_laws")
def test_a_chunk_that_goes_while_tables_are_made_is_made_again(savegap, project, contents, monkeypatch):
    savegap("run", "--jobs", 1, "--replications", 5000)
    before = contents(project / "results")
    from sim.study.running import Study

    cells = Study.cells

    def and_lose_them(study, job):
        for file in study.kept.folder.glob("*.chunk"):
            file.unlink()
        return cells(study, job)

    monkeypatch.setattr(Study, "cells", and_lose_them)
    (project / "results/tiny/estimates.csv").unlink()
    assert savegap("run", "--jobs", 1, "--replications", 5000)[0] == 0
    assert contents(project / "results") == before
    assert len(kept(project)) == 4
