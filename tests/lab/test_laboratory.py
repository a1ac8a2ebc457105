"""The laboratory's processes: they die when they shall, and none is left."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sim.lab.board import BEGIN, END, Board
from sim.lab.laboratory import Laboratory, LaboratoryError
from sim.lab.orders import Move, Order, Source
from sim.lab.supervisor import NEVER_NS, Clock

MS = 1_000_000
REPOSITORY = Path(__file__).parents[2]


def sleeper(run, *sources, sleeps_ms=(30, 30), attempts=5):
    moves = tuple(Move(n, n, "work", -1, "progress", False, (ms * MS,)) for n, ms in enumerate(sleeps_ms))
    return Order(run, moves, sources=sources, attempts=attempts)


def ms(*times):
    return tuple(round(t * MS) for t in times)


@pytest.mark.parametrize(
    ("kind", "times", "lives", "expected"),
    [
        # An attempt's clock begins anew; a worker's goes on after another source has killed it.
        ("attempt", (50, 20, 70), [(0, 50, True), (60, 20, True), (90, 10, False)], [50, 20, 70]),
        (
            "worker",
            (50, 20),
            [(0, 30, False), (40, 20, True), (70, 5, False), (80, 15, True)],
            [50, 20, 20, 15],
        ),
        # The wall's is an instant; one that falls into a downtime kills nobody.
        (
            "wall",
            (50, 55, 90),
            [(0, 50, True), (60, 30, True), (100, 5, False)],
            [50, 30, NEVER_NS / MS - 100],
        ),
    ],
)
def test_clocks(kind, times, lives, expected):
    clock = Clock(Source(kind, ms(*times)))
    found = []
    for begin, age, fired in lives:
        found.append(clock.begin(begin * MS))
        clock.end(age * MS, fired)
    assert found == [pytest.approx(left * MS) for left in expected]


def test_a_kill_comes_at_its_time_and_the_last_attempt_is_the_last(tmp_path):
    order = sleeper("run", Source("attempt", ms(40, 20, 20, 20, 20)), sleeps_ms=[30, 20_000])
    with Laboratory("memory", 1, tmp_path) as laboratory:
        (report,) = laboratory.run([order])
    assert not report.finished
    assert len(report.lives) == 5
    first, *later = report.lives
    assert 40 * MS <= first.killed < 5_000 * MS
    for life in later:
        assert 20 * MS <= life.killed - life.woke < 5_000 * MS
    noted = [(what, which) for what, which, _ in first.notes]
    assert noted == [(BEGIN, 0), (END, 0), (BEGIN, 1)]


def test_a_load_can_be_spared(tmp_path):
    order = sleeper("run", Source("attempt", ms(1, 1, 1)), sleeps_ms=[20_000], attempts=3)
    with Laboratory("memory", 1, tmp_path) as laboratory:
        reports = list(laboratory.run([replace(order, run=name, spares_load=name == "b") for name in "ab"]))
    spared = next(report for report in reports if report.run == "b")
    assert all(life.loaded is not None for life in spared.lives)
    assert all(life.killed >= life.loaded + MS * 0.9 for life in spared.lives)


def test_an_agent_that_fails_of_itself_is_told(tmp_path):
    order = replace(sleeper("run"), walks="nothing")
    with (
        Laboratory("memory", 1, tmp_path) as laboratory,
        pytest.raises(LaboratoryError, match=r"run failed: (.|\n)*KeyError: 'nothing'"),
    ):
        list(laboratory.run([order]))
    assert not list(tmp_path.iterdir())


def test_only_loopback_listens(tmp_path):
    with Laboratory("memory", 1, tmp_path):
        pids = (next(tmp_path.iterdir()) / "pids").read_text().split()
        table = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        inodes = {
            os.readlink(link)[8:-1]
            for pid in pids
            for link in Path(f"/proc/{pid}/fd").iterdir()
            if os.readlink(link).startswith("socket:[")
        }
        listening = [row[1].partition(":")[0] for row in table if row[3] == "0A" and row[9] in inodes]
    assert listening == ["0100007F"]


def left_of(folder):
    """Processes that know a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in command and int(process.name) != os.getpid():
            found.append(command)
    return found


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_nothing_is_left_of_a_laboratory_that_is_killed(sent, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_laboratory import sleeper
from sim.lab.laboratory import Laboratory
with Laboratory("sqlite-full", 2, Path({str(disk)!r})) as laboratory:
    print("at work", flush=True)
    list(laboratory.run([sleeper(str(n), sleeps_ms=[60_000]) for n in range(4)]))
"""
    study = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert study.stdout.readline() == b"at work\n"
    time.sleep(0.5)
    assert len(left_of(disk)) >= 4  # a janitor, a receiver, two supervisors; their agents
    assert list(disk.iterdir())
    study.send_signal(sent)
    study.wait()
    study.stdout.close()
    deadline = time.monotonic() + 10
    while (left_of(disk) or list(disk.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_of(disk) == []
    assert list(disk.iterdir()) == []


def test_what_is_forked_for_every_attempt_is_lean():
    program = (
        "import sys, sim.lab.supervisor; print(*{'numpy', 'scipy', 'pydantic', 'click'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "\n"


def test_a_note_that_was_begun_does_not_count():
    board = Board()
    board.note(BEGIN, 3)
    board.note(END, 3)
    assert [(what, which) for what, which, _ in board.notes()] == [(BEGIN, 3), (END, 3)]
    assert board.begun() == {3: 1}
    board.clear()
    assert board.notes() == []
    board.close()
