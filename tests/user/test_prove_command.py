"""`savegap prove` as a person uses it: what is proven, what is shown, and what is refused."""

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sim.study.systems import names

REPOSITORY = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def shipped(project):
    shutil.copytree(REPOSITORY / "experiments/systems", project / "experiments/systems")
    return project


def test_what_no_placement_harms_is_said_to_be_proven_within_bounds(savegap, shipped):
    code, output, errors = savegap("prove", "dbos-transaction")
    assert (code, errors) == (0, "")
    assert output.startswith(
        "DBOS transactions\n  no duplicate, no loss, no stuck run with up to 2 faults (526 placements).\n"
    )
    assert "  Faults: a worker dies.\n" in output
    assert "What this shows is bounded: a small run, every time at its mean" in output


def test_what_a_placement_harms_is_shown_event_by_event(savegap, shipped):
    code, output, _ = savegap("prove", "temporal", "--strict")
    assert code == 1
    assert "  no loss, no stuck run with up to 2 faults (" in output
    assert re.search(r"  DUPLICATE: an action is performed twice with 1 fault \(\d+ of \d+ such plac", output)
    assert '    worker 1 dies at 3.070006 s\n    as an experiment\'s crash = { process = "at",' in output
    assert "    !  3.070 s  worker 1  dies\n" in output
    assert "    # 66.340 s  receiver  performs the action AGAIN for worker 2: crash (step 2)\n" in output


def test_without_strict_it_ends_well_whatever_is_found(savegap, shipped):
    assert savegap("prove", "temporal", "--crashes", 1)[0] == 0
    assert savegap("prove", "dbos-transaction", "--strict")[0] == 0


@pytest.mark.parametrize("name", names(REPOSITORY))
def test_every_shipped_system_can_be_searched(savegap, shipped, name):
    code, output, errors = savegap("prove", name, "--faults", 1, "--steps", 2)
    assert (code, errors) == (0, "")
    assert "does damage without any fault" not in output


def test_an_experiment_has_each_of_its_strategies_searched_or_the_one_that_is_named(savegap, project):
    output = savegap("prove", "tiny")[1]
    assert re.findall(r"^\w+$", output, re.MULTILINE) == ["restart", "checkpoint"]
    output = savegap("prove", "experiments/tiny.toml", "--strategy", "checkpoint")[1]
    assert output.startswith("checkpoint\n")
    assert "restart" not in output


def test_a_system_by_its_path(savegap, shipped):
    (shipped / "experiments/systems/dbos-step.toml").rename(shipped / "mine.toml")
    assert savegap("prove", "mine.toml", "--crashes", 1)[1].startswith("DBOS steps\n")


def test_more_steps_act_more_often(savegap, shipped):
    output = savegap("prove", "dbos-step", "--steps", 5, "--crashes", 1)[1]
    assert "performs the action for worker 2 (step 4)\n" in output


def test_the_picture_is_whole_and_the_same_each_time(savegap, shipped):
    code, output, _ = savegap("prove", "temporal", "--crashes", 1, "--picture", "twice.svg")
    assert code == 0
    assert "wrote twice.svg\n" in output
    picture = (shipped / "twice.svg").read_text()
    assert ElementTree.fromstring(picture).tag == f"{SVG}svg"
    comments = re.findall(r"<!-- (.*?) -->", picture)
    for told in ("worker 1", "worker 2", "store", "receiver", "3.070 s", "worker 1 dies"):
        assert told in comments
    assert "receiver performs the action AGAIN for worker 2: crash (step 2)" in comments
    assert "Temporal activities: an action is performed twice" in comments
    savegap("prove", "temporal", "--crashes", 1, "--picture", "again.svg")
    assert (shipped / "again.svg").read_text() == picture
    assert not list(shipped.glob(".*.svg*"))


def test_without_damage_there_is_no_picture(savegap, shipped):
    output = savegap("prove", "dbos-transaction", "--crashes", 1, "--picture", "none.svg")[1]
    assert "no schedule does damage, so none.svg is not drawn.\n" in output
    assert not (shipped / "none.svg").exists()


REFUSED = {
    "an unknown name": (
        ["temporla"],
        "error: temporla: is no system, no experiment and no file; did you mean",
    ),
    "an unknown strategy": (
        ["tiny", "--strategy", "chekpoint"],
        "error: --strategy: 'chekpoint' is no strategy of tiny.toml; did you mean \"checkpoint\"?",
    ),
    "a strategy of a system": (
        ["temporal", "--strategy", "a"],
        "error: --strategy: 'temporal' is a system, which is one strategy; leave this out.",
    ),
    "a picture of several": (
        ["tiny", "--picture", "a.svg"],
        "error: --picture: is of one strategy; say which by --strategy: restart, checkpoint.",
    ),
    "no faults": (["temporal", "--crashes", "0"], "0 is not in the range 1<=x<=4."),
    "no steps": (["temporal", "--steps", "0"], "0 is not in the range 1<=x<=12."),
    "words for numbers": (["temporal", "--steps", "two"], "'two' is not a valid integer range."),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_input_is_answered_in_a_sentence(savegap, shipped, what):
    arguments, sentence = REFUSED[what]
    code, output, errors = savegap("prove", *arguments)
    assert (code, output) == (2, "")
    assert sentence in errors
    assert "Traceback" not in errors


def test_a_law_without_a_mean_is_named(savegap, project):
    file = project / "experiments/tiny.toml"
    heavy = 'receiver = { response = { law = "fisk", c = 0.9, scale = 1.0 } }'
    file.write_text(file.read_text().replace("receiver = { response = 0.5 }", heavy))
    code, _, errors = savegap("prove", "tiny", "--strategy", "restart")
    assert code == 2
    assert errors.startswith("error: restart: receiver.response: has no finite mean that could stand for it;")


def test_a_picture_that_cannot_be_written_is_refused_before_the_search(savegap, shipped):
    (shipped / "file").write_text("")
    code, output, errors = savegap("prove", "temporal", "--picture", "file/a.svg")
    assert (code, output) == (2, "")
    assert "cannot be written" in errors


def test_a_run_that_does_damage_without_a_fault_says_so(savegap, project):
    file = project / "experiments/tiny.toml"
    hasty = "receiver = { response = 0.5 }\nclient = { timeout = 0.1, retries = [{ tries = 2 }] }"
    file.write_text(file.read_text().replace("receiver = { response = 0.5 }", hasty))
    output = savegap("prove", "tiny", "--strategy", "restart")[1]
    assert "The run does damage without any fault, so none was placed" in output
    assert "STUCK: the run is stuck without any fault (1 of 1 such placements)" in output
