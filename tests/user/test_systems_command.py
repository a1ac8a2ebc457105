"""`savegap systems` as a person uses it: which there are, what one does, and where that is known from."""

import shutil
from pathlib import Path

import pytest

from sim.cli.systems import in_words
from sim.strategy import PROTOCOLS, Strategy
from sim.study.systems import names

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def shipped(project):
    shutil.copytree(REPOSITORY / "experiments/systems", project / "experiments/systems")
    return project


def test_the_list_has_every_system_with_title_and_what_it_does(savegap, shipped):
    code, output, _ = savegap("systems")
    assert code == 0
    lines = output.splitlines()
    assert [line.split()[0] for line in lines[::2]] == names(shipped)
    assert all(line.startswith(" ") and line.endswith(".") for line in lines[1::2])
    assert any(line.startswith("temporal ") and line.endswith(" Temporal activities") for line in lines)


@pytest.mark.parametrize("name", names(REPOSITORY))
def test_each_system_is_shown_with_its_sources(savegap, shipped, name):
    code, output, errors = savegap("systems", name)
    assert (code, errors) == (0, "")
    assert "\na step: " in output
    assert "Where this is known from:\n  " in output
    assert "None" not in output
    text = (shipped / f"experiments/systems/{name}.toml").read_text()
    assert output.count("]\n") >= text.count("[[sources]]")


def test_a_system_in_words(savegap, shipped):
    output = savegap("systems", "langgraph-sync")[1]
    assert (
        "a step: work; save what is new since the last whole save in 0.6 times the store's time, " in output
    )
    assert "a recovery that finds nothing saved: gives the run up" in output
    output = savegap("systems", "outbox-relay")[1]
    assert "a step that acts: work; save, and put the action in the outbox\n" in output
    assert 'strategy.relay.life = { law = "exponential", mean = 86400.0 }\n' in output
    output = savegap("systems", "temporal")[1]
    assert 'client.retries = [{ first = 1.0, factor = 2.0, most = 100.0, tries = "forever" }]\n' in output


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_can_be_said(protocol):
    lines = list(in_words(Strategy.model_validate({"protocol": protocol})))
    assert lines[-1].startswith("a recovery that finds nothing saved: ")


@pytest.mark.parametrize(
    ("placed", "said"),
    [
        ({"after_groups": True}, "after the last step of each group only"),
        ({"after_actions": True}, "after steps that act only"),
        ({"every": 3}, "after every 3 steps only"),
        ({"steps": ["pay", 2]}, "after these steps only: pay, 2"),
    ],
)
def test_placement_is_said(placed, said):
    lines = list(in_words(Strategy.model_validate({"protocol": "checkpoint"} | placed)))
    assert f"saves that end a step: {said}" in lines


def test_a_system_by_its_path(savegap, shipped):
    (shipped / "experiments/systems/temporal.toml").rename(shipped / "mine.toml")
    assert savegap("systems", "mine.toml")[1].startswith("Temporal activities\n")


def test_a_system_that_is_not_there(savegap, shipped):
    code, output, errors = savegap("systems", "temporla")
    assert (code, output) == (2, "")
    assert errors.startswith(
        "error: experiments/systems: 'temporla' is no system; did you mean \"temporal\"?"
    )


def test_a_project_without_systems(savegap):
    assert savegap("systems") == (0, "experiments/systems/ holds none.\n", "")
