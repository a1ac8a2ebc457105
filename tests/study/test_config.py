"""Experiment files become the cells they describe: worked out by hand."""

from pathlib import Path

import pytest

from sim.crashes import Exposure
from sim.study.config import label, load
from sim.study.errors import InputError

BASE = """
title = "T"
question = "Q?"
seed = 1
replications = 10
headline = ["p_duplicate"]

[scenario]
workload = "tiny"
store = { write = { law = "lognormal", median = 0.5, sigma = 0.5 } }
crash = { process = "uniform_time", exposure = { write = 1.0 } }

[strategies]
a = { protocol = "restart" }
b = { protocol = "checkpoint" }
c = { protocol = "save_first" }
"""


@pytest.fixture
def plan(project):
    def of(more):
        file = project / "experiments" / "e.toml"
        file.write_text(BASE + more)
        return load(file, project)

    return of


def test_without_a_sweep_there_is_one_cell(plan):
    cells = plan("").cells
    assert [cell.factors for cell in cells] == [{}]
    assert list(cells[0].scenarios) == ["a", "b", "c"]


def test_a_sweep_is_the_full_factorial(plan):
    cells = plan('[sweep]\n"store.write.median" = [1.0, 2.0]\n"limits.attempts" = [3, 4]').cells
    assert [tuple(cell.factors.values()) for cell in cells] == [(1.0, 3), (1.0, 4), (2.0, 3), (2.0, 4)]
    last = cells[-1].scenarios["b"]
    assert (last.store.write.median, last.limits.attempts) == (2.0, 4)


def test_sweeps_share_their_base_cell(plan):
    found = plan(
        '[[sweeps]]\n"store.write.median" = [0.5, 2.0]\n[[sweeps]]\n"store.write.sigma" = [0.1, 0.5, 0.9]'
    )
    assert [tuple(cell.factors.values()) for cell in found.cells] == [
        (0.5, 0.5),
        (2.0, 0.5),
        (0.5, 0.1),
        (0.5, 0.9),
    ]
    assert found.base == {"store.write.median": 0.5, "store.write.sigma": 0.5}


def test_joined_keys_go_as_one(plan):
    cells = plan('[sweep]\n"crash.exposure.write & crash.exposure.response" = [1.0, 7.0]').cells
    assert len(cells) == 2
    assert cells[1].scenarios["a"].crash.exposure == Exposure(write=7.0, response=7.0)


def test_a_swept_workload_is_looked_up(plan, project):
    other = project / "experiments" / "workloads" / "other.toml"
    other.write_text('steps = ["only"]\n[default]\nwork = 2\n')
    cells = plan('[sweep]\nworkload = ["tiny", "other"]\n"workload.default.work" = [1, 5]').cells
    assert [len(cell.scenarios["a"].workload.steps) for cell in cells] == [3, 3, 1, 1]
    assert cells[3].scenarios["a"].workload.steps[0].work.mean_s == 5


def test_contrasts_are_consecutive_strategies_unless_named(plan, project):
    assert plan("").experiment.pairs() == [("a", "b"), ("b", "c")]
    file = project / "experiments" / "named.toml"
    file.write_text(BASE.replace("seed = 1", 'seed = 1\ncontrasts = [["c", "a"]]'))
    assert load(file, project).experiment.pairs() == [("c", "a")]


def test_an_unreadable_file(project):
    with pytest.raises(InputError, match=r"absent\.toml: cannot be read: No such file"):
        load(project / "experiments" / "absent.toml", project)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, 0.5),
        ("text", "text"),
        ({"law": "weibull", "mean": 300.0, "shape": 0.7}, "weibull mean 300 shape 0.7"),
        (
            {"process": "renewal", "law": {"law": "exponential", "mean": 3.0}},
            "renewal law exponential mean 3",
        ),
        ([1, 2], "1, 2"),
        (None, None),
    ],
)
def test_labels(value, shown):
    assert label(value) == shown


PRESETS = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize("file", sorted(PRESETS.glob("crashes/*.toml")), ids=lambda file: file.stem)
def test_each_crash_process_that_is_shipped_can_be_named(project, file):
    folder = project / "experiments" / "crashes"
    folder.mkdir()
    (folder / file.name).write_text(file.read_text())
    experiment = project / "experiments" / "tiny.toml"
    text = experiment.read_text().replace('{ process = "uniform_time" }', f'"{file.stem}"')
    experiment.write_text(text)
    crash = load(experiment, project).cells[0].scenarios["restart"].crash
    assert crash.source
    assert crash.title
    assert crash.rate_per_s > 0


@pytest.mark.parametrize("file", sorted(PRESETS.glob("downtimes/*.toml")), ids=lambda file: file.stem)
def test_each_downtime_that_is_shipped_can_be_named(project, file):
    folder = project / "experiments" / "downtimes"
    folder.mkdir()
    (folder / file.name).write_text(file.read_text())
    experiment = project / "experiments" / "tiny.toml"
    experiment.write_text(
        experiment.read_text().replace("[strategies]", f'downtime = "{file.stem}"\n[strategies]')
    )
    assert load(experiment, project).cells[0].scenarios["restart"].downtime.source


def test_a_crash_process_that_is_not_there(project):
    experiment = project / "experiments" / "tiny.toml"
    experiment.write_text(experiment.read_text().replace('{ process = "uniform_time" }', '"uniform_tim"'))
    with pytest.raises(
        InputError, match=r'scenario.crash: .uniform_tim. is no crash; did you mean "uniform_time"'
    ):
        load(experiment, project)


def test_all_names_that_are_not_there_are_told_at_once(project):
    experiment = project / "experiments" / "tiny.toml"
    text = experiment.read_text().replace('{ process = "uniform_time" }', '"uniform_tim"')
    experiment.write_text(text.replace('workload = "tiny"', 'workload = "tinny"'))
    with pytest.raises(InputError) as told:
        load(experiment, project)
    assert [problem.key for problem in told.value.problems] == ["scenario.workload", "scenario.crash"]
