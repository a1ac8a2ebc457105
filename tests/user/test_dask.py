"""A cluster of two workers gives the same digits as one process, also when one of them dies midway."""

import os
import re
import signal
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_laws")]
pytest.importorskip("distributed", reason="needs the extra dask, which `make test-all` installs")


def dask(*arguments, cwd):
    command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
    return subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def cluster(tmp_path_factory):
    """Give the address of a scheduler on this machine, and its two workers."""
    cwd = tmp_path_factory.mktemp("cluster")
    scheduler = dask(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0", cwd=cwd
    )
    address = None
    while address is None:
        line = scheduler.stderr.readline()
        assert line, "the scheduler has not started"
        found = re.search(r"tcp://127\.0\.0\.1:\d+", line)
        address = found[0] if found else None
    options = ("--nthreads", "1", "--no-dashboard", "--no-nanny")
    workers = [dask("dask_worker", address, *options, cwd=cwd) for _ in range(2)]
    from distributed import Client

    with Client(address) as client:
        client.wait_for_workers(2, timeout=60)
    yield address, workers
    for process in [*workers, scheduler]:
        process.kill()
        process.wait()


@pytest.fixture
def long_project(project, own_law):
    """The project with several chunks, and with a law that a worker elsewhere has no file of."""
    assert own_law.is_file()
    file = project / "experiments/tiny.toml"
    text = file.read_text().replace("replications = 1500", "replications = 40_000")
    law = '{ process = "renewal", law = { law = "mine", mean = 30.0 } }'
    file.write_text(text.replace('{ process = "uniform_time" }', law))
    return project


def test_a_cluster_gives_the_same_digits(savegap, long_project, cluster, contents):
    address, _ = cluster
    here, there = long_project / "here", long_project / "there"
    code, _, errors = savegap("run", "--backend", "dask", "--scheduler", address, "--out", there)
    assert code == 0, errors
    assert savegap("run", "--jobs", 1, "--out", here)[0] == 0
    assert contents(there) == contents(here)


def test_a_worker_that_dies_midway_is_survived(savegap, long_project, cluster, contents, monkeypatch):
    address, workers = cluster
    from sim.study.kept import Kept

    write, saved = Kept.write, []

    def and_kill(kept, key, data):
        saved.append(key)
        if len(saved) == 3:
            workers[0].send_signal(signal.SIGKILL)
        write(kept, key, data)

    monkeypatch.setattr(Kept, "write", and_kill)
    there = long_project / "there"
    code, _, errors = savegap("run", "--backend", "dask", "--scheduler", address, "--out", there)
    assert code == 0, errors
    assert workers[0].wait(timeout=5) == -signal.SIGKILL
    monkeypatch.setattr(Kept, "write", write)
    assert savegap("run", "--jobs", 1, "--out", long_project / "here")[0] == 0
    assert contents(there) == contents(long_project / "here")


def test_no_cluster_and_no_worker_are_one_line(savegap, tmp_path):
    code, _, errors = savegap("run", "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9")
    assert code == 2
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith(
        "error: --scheduler: no Dask scheduler answers at tcp://127.0.0.1:9"
    )
    code, _, errors = savegap("run", "--backend", "dask", "--scheduler", "what is this")
    assert code == 2
    assert errors.splitlines()[-1].startswith("error: --scheduler: no Dask scheduler answers at what is this")


def test_another_version_on_a_worker_is_refused(savegap, project, cluster, monkeypatch):
    monkeypatch.setattr("sim.study.workers.program_identity", lambda: str(os.getpid()))
    code, _, errors = savegap("run", "--backend", "dask", "--scheduler", cluster[0])
    assert code == 2
    assert "another version of savegap or of numpy is at work on tcp://127.0.0.1:" in errors
