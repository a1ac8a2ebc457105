"""Numbers are taken apart to runs: `savegap find`, and `savegap replay`, the very run of the tables."""

import re
import shlex
from math import isnan

import pytest

import sim
from sim.outcomes import duplicates_by
from sim.streams import BLOCK
from sim.study.config import load
from sim.study.replaying import check_condition, matching, replay, replay_command
from sim.trace import LEGEND

EXACT = """
[[steps]]
name = "send"
work = 1.0
action = {}
"""


@pytest.fixture
def by_hand(project):
    """One step of a second that acts, a save of two, and a crash in the save: worked out by hand."""
    (project / "experiments/workloads/tiny.toml").write_text('title = "One"\n' + EXACT)
    file = project / "experiments/tiny.toml"
    text = file.read_text().replace('{ process = "uniform_time" }', '{ process = "at", times = [2.5] }')
    text = text.replace('{ law = "lognormal", median = 0.5, sigma = 0.5 }', "2.0").partition("[sweep]")[0]
    file.write_text(text)
    return project


def test_a_trace_worked_out_by_hand(savegap, by_hand):
    code, output, errors = savegap("replay", "tiny", "--strategy", "checkpoint", "--replication", 5)
    assert code == 0, errors
    trace, outcomes, legend = output.split("\n\n")
    assert trace.splitlines() == [
        "  0.000 s  worker 1  starts",
        "  1.000 s  worker 1  sends the request (step 1)",
        "  1.000 s  receiver  performs the action for worker 1 (step 1)",
        "  1.500 s  worker 1  is done with the step (step 1)",
        "! 2.500 s  worker 1  dies",
        "  2.500 s  worker 2  starts",
        "  3.500 s  worker 2  sends the request (step 1)",
        "# 3.500 s  receiver  performs the action AGAIN for worker 2: crash (step 1)",
        "  4.000 s  worker 2  is done with the step (step 1)",
        "  6.000 s  store     holds a save: durable (step 1)",
        "  6.000 s  worker 2  has finished the run",
    ]
    assert [tuple(line.split()[:2]) for line in outcomes.splitlines()] == [
        ("crashes", "1"),
        ("redone_steps", "1"),
        ("wasted_work_s", "1.5"),
        ("actions", "1"),
        ("duplicate_actions", "1"),
        (duplicates_by("crash"), "1"),
        ("spacing_s", "2.5"),
        ("saves", "2"),
        ("save_time_s", "3"),
        ("makespan_s", "6"),
        ("finished", "yes"),
        ("action_crashes", "1"),
        ("gap_crashes", "1"),
        ("gap_crashes_after_done", "1"),
        ("gap_s", "2.5"),
    ]
    assert outcomes.splitlines()[0].endswith("  times the worker died")
    assert legend.splitlines() == [*LEGEND]


CRASHES = [
    '{ process = "uniform_time" }',
    '{ process = "uniform_step", gap_share = 0.15 }',
    '{ process = "renewal", law = { law = "weibull", mean = 6.0, shape = 0.6 }, clock = "host" }',
]


@pytest.mark.parametrize("more", ["", "client = { timeout = 0.6 }\n", "supervision = { lease = 2.0 }\n"])
@pytest.mark.parametrize("crash", CRASHES)
def test_a_replication_is_the_row_that_the_tables_count(project, crash, more):
    file = project / "experiments/tiny.toml"
    text = file.read_text().replace('{ process = "uniform_time" }', crash)
    file.write_text(text.replace("receiver = {", f"{more}receiver = {{"))
    plan = load(file, project)
    for name, scenario in plan.cells[0].scenarios.items():
        frame = sim.simulate(scenario, 40, 7)
        for replication in (0, 1, 17, 39):
            trace, outcomes = replay(scenario, 7, replication)
            row = frame.iloc[replication]
            for column in frame.columns:
                one, other = float(row[column]), float(outcomes[column])
                assert one == pytest.approx(other, rel=1e-9, abs=0) or (isnan(one) and isnan(other)), name
            deaths = sum(event.what == "dies" for event in trace.events)
            assert deaths == row["crashes"]
            assert sum(event.again for event in trace.events) == row["duplicate_actions"]


def test_a_replication_beyond_the_first_block(project):
    plan = load(project / "experiments/tiny.toml", project)
    scenario = plan.cells[0].scenarios["restart"]
    _, outcomes = replay(scenario, 7, BLOCK + 3)
    assert outcomes["makespan_s"] == sim.simulate(scenario, BLOCK + 4, 7)["makespan_s"].iloc[-1]


def test_find_lists_what_replay_then_shows(savegap, project):
    arguments = ("tiny", "--cell", "store.write.median=0.1", "--replications", 5000)
    code, output, errors = savegap("find", *arguments, "--where", "duplicate_actions > 0 and crashes == 1")
    assert code == 0, errors
    lines = output.splitlines()
    assert lines[0].split() == ["strategy", "replication", "duplicate_actions", "crashes"]
    assert len(lines) == 25
    assert lines[22] == "The first 20 that match; --limit asks for more."
    command = shlex.split(lines[-1])
    assert command[:2] == ["savegap", "replay"]
    assert command[-1] == lines[1].split()[1]
    code, output, errors = savegap(*command[1:])
    assert code == 0, errors
    assert "performs the action AGAIN" in output
    plan = load(project / "experiments/tiny.toml", project)
    frame = sim.simulate(plan.cells[0].scenarios["restart"], 5000, 7)
    expected = frame.index[(frame.duplicate_actions > 0)][:20]
    assert [int(line.split()[1]) for line in lines[1:21]] == expected.tolist()


def test_find_counts_all_blocks(project):
    plan = load(project / "experiments/tiny.toml", project)
    scenario = plan.cells[0].scenarios["restart"]
    tables = list(matching(scenario, 7, "auto", BLOCK + 50, "2 * crashes - 1 > 0 or not finished"))
    assert [len(table) for table in tables] == [BLOCK, 50]
    assert tables[1].index[0] == BLOCK


@pytest.mark.parametrize(
    "where", ["finished", "not stuck", "not not (crashes == 1)", "0 < crashes <= 1", "-crashes < 0"]
)
def test_conditions_that_hold_of_every_run(project, where):
    check_condition(where)
    scenario = load(project / "experiments/tiny.toml", project).cells[0].scenarios["restart"]
    assert [len(table) for table in matching(scenario, 7, "auto", 30, where)] == [30]


def test_find_says_that_nothing_matches(savegap):
    code, output, _ = savegap("find", "tiny", "--where", "crashes > 99", "--replications", 10)
    assert (code, output) == (1, "none of 20 runs matches.\n")


def test_find_takes_the_seed_along(savegap):
    _, output, _ = savegap("find", "tiny", "--where", "crashes > 0", "--limit", 1, "--seed", 3)
    assert output.splitlines()[-1].endswith(" --replication 0 --seed 3")


def test_the_command_can_be_pasted():
    base = {"crash.law": "exponential mean 300", "x": 1.0, "y": 2}
    factors = base | {"crash.law": "weibull mean 300 shape 0.7"}
    command = replay_command("laws", base, factors, "intent, then redo", 7)
    assert shlex.split(command) == [
        "savegap",
        "replay",
        "laws",
        "--cell=crash.law=weibull mean 300 shape 0.7",
        "--strategy",
        "intent, then redo",
        "--replication",
        "7",
    ]


WHERE = {
    "nothing": ("", "is no condition"),
    "not closed": ("crashes > (1", "is no condition"),
    "no outcome": ("crushes > 1", "'crushes' is no outcome; did you mean \"crashes\"?"),
    "no comparison": ("crashes + 1", "must compare an outcome with something"),
    "a number": ("1 < 2", "must compare an outcome with something"),
    "a call": ("crashes.sum() > 1", "may be made of outcomes"),
    "an import": ("__import__('os') == 1", "may be made of outcomes"),
    "a text": ("crashes == 'x'", "may be made of outcomes"),
    "an index": ("crashes[0] > 1", "may be made of outcomes"),
    "a power": ("crashes ** 99999 > 1", "may be made of outcomes"),
    "a number that holds": ("not crashes", "'crashes' is a number; compare it"),
    "a number beside": ("stuck or crashes", "'crashes' is a number; compare it"),
    "far too long": ("-" * 100_000 + "crashes > 1", "is no condition"),
    "a null": ("crashes > 1\0", "is no condition"),
}


@pytest.mark.parametrize("kind", WHERE)
def test_a_condition_that_is_none(savegap, kind):
    where, told = WHERE[kind]
    code, _, errors = savegap("find", "tiny", "--where", where)
    assert code == 2
    assert "Traceback" not in errors
    assert errors.startswith("error: --where: ")
    assert told in errors


def test_a_cell_is_not_guessed(savegap, project):
    file = project / "experiments/tiny.toml"
    file.write_text(file.read_text().replace("[0.1, 0.5]", "[0.1, 0.2]"))
    code, _, errors = savegap("replay", "tiny", "--strategy", "restart", "--replication", 0)
    assert code == 2
    assert "there are 2 such cells; say store.write.median too: 0.1, 0.2." in errors


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--cell", "store.writ=1"), 'did you mean "store.write.median"?'),
        (("--cell", "store.write.median=0.3"), "'0.3' is no value of it; did you mean"),
        (("--cell", "store.write.median"), "store.write.median: is no KEY=VALUE, such as crash.law.mean=60."),
        (("--strategy", "chekpoint"), 'did you mean "checkpoint"?'),
        ((), "--strategy: say which one: restart, checkpoint."),
        (("--strategy", "restart", "--replication", 10**30), "there are none beyond"),
        (("--strategy", "restart", "--replication", -1), "x>=0"),
        (("--strategy", "restart", "--seed", -1), "x>=0"),
    ],
)
def test_what_cannot_be_replayed(savegap, arguments, told):
    more = () if "--replication" in arguments else ("--replication", 0)
    code, _, errors = savegap("replay", "tiny", *arguments, *more)
    assert code == 2
    assert "Traceback" not in errors
    assert told in errors


def test_an_experiment_that_is_not_there(savegap):
    code, _, errors = savegap("replay", "tinny", "--replication", 0)
    assert code == 2
    assert "is no file and no experiment; there are: tiny." in errors


def test_a_run_is_drawn_under_every_strategy_or_under_one(savegap, project):
    code, output, errors = savegap("replay", "tiny", "--replication", 3, "--plot", "all.svg")
    assert (code, output, errors) == (0, "wrote all.svg\n", "")
    texts = re.findall(r"<!-- (.*?) -->", (project / "all.svg").read_text())
    assert {"restart", "checkpoint"} <= {*texts}
    assert "tiny, store.write.median = 0.5, replication 3" in texts
    told = savegap("replay", "tiny", "--replication", 3, "--strategy", "restart")[1]
    alone = savegap("replay", "tiny", "--replication", 3, "--strategy", "restart", "--plot", "one.svg")[1]
    assert alone == f"wrote one.svg\n\n{told}"
    assert "checkpoint" not in (project / "one.svg").read_text()
    assert savegap("replay", "tiny", "--replication", 3, "--plot", "again.svg")[0] == 0
    assert (project / "again.svg").read_bytes() == (project / "all.svg").read_bytes()
    savegap("replay", "tiny", "--replication", 3, "--seed", 8, "--plot", "again.svg")
    assert (project / "again.svg").read_bytes() != (project / "all.svg").read_bytes()


@pytest.mark.parametrize(
    ("plot", "told"),
    [
        ("run.png", "error: --plot: run.png: the picture is an SVG file; its name must end in .svg.\n"),
        ("run", "error: --plot: run: the picture is an SVG file; its name must end in .svg.\n"),
        ("folder.svg", "error: --plot: folder.svg: is a folder; name a file.\n"),
        ("nowhere/run.svg", "error: --plot: nowhere/run.svg: there is no folder "),
    ],
)
def test_a_picture_that_cannot_be_drawn(savegap, project, plot, told):
    (project / "folder.svg").mkdir()
    code, output, errors = savegap("replay", "tiny", "--replication", 0, "--plot", plot)
    assert (code, output) == (2, "")
    assert errors.startswith(told)
    assert errors.count("\n") == 1
    assert not (project / "nowhere").exists()
