"""What a crash does to an action, by its instant: worked out by hand, and as it stands in the picture."""

import re
from xml.etree import ElementTree

import pytest

import sim
from sim.report.anatomy import draw
from sim.report.windows import anatomy
from sim.strategy import PROTOCOLS

A = {"name": "A", "work": 10}
B = {"name": "B", "work": 20, "action": {}}
C = {"name": "C", "work": 30}
PARTS = {
    "workload": {"steps": [A, B, C]},
    "store": {"write": 0.5, "ack": 0.25},
    "receiver": {"prepare": 1, "request": 2, "response": 4, "query": 3, "lag": 0},
    "downtime": {"detection": 5, "restart": 2.5, "load": 1.5},
}
KEYS = {"protocol": "checkpoint", "key": "run_step"}
LANE = {"verb": "save", "lane": "behind"}

# Step B begins at 0, works until 20 and prepares until 21; a save is durable after 0.5 and over after 0.75.
BY_HAND = {
    "restart": ({"protocol": "restart"}, [("twice", 21.0, 57.0, True)]),
    "checkpoint": ({"protocol": "checkpoint"}, [("twice", 21.0, 27.5, False)]),
    "keys": (KEYS, [("known", 21.0, 27.5, False)]),
    "save first": ({"protocol": "save_first"}, [("never", 20.5, 21.75, False)]),
    "at most once": ({"protocol": "at_most_once"}, [("never", 0.5, 21.75, False)]),
    "intent": ({"protocol": "intent_redo"}, [("twice", 21.75, 28.25, False)]),
    "asks": ({"protocol": "intent_query"}, []),
    "parks": ({"protocol": "intent_park"}, [("stuck", 20.5, 28.25, False)]),
    "transaction": ({"protocol": "transaction"}, []),
    "behind": ({"plain": ["work", LANE], "action": ["work", "call", LANE]}, [("twice", 21.0, 27.5, False)]),
    "own": (
        {"plain": ["work"], "action": ["work", {"verb": "save", "resume": "call"}, "call"]},
        [("twice", 21.75, 57.75, True)],
    ),
}


def scenario(strategy, **more):
    return sim.Scenario.model_validate(PARTS | more | {"strategy": strategy})


@pytest.mark.parametrize("name", BY_HAND)
def test_when_a_crash_harms_the_action_is_what_it_is_by_hand(name):
    strategy, windows = BY_HAND[name]
    assert [tuple(window) for window in anatomy(scenario(strategy)).windows] == windows


def test_phases_and_marks_by_hand():
    shown = anatomy(scenario({"protocol": "checkpoint"}))
    assert [(part.name, part.begin_s, part.end_s) for part in shown.own] == [
        ("work", 0.0, 20.0),
        ("prepare", 20.0, 21.0),
        ("request", 21.0, 23.0),
        ("response", 23.0, 27.0),
        ("write", 27.0, 27.5),
        ("ack", 27.5, 27.75),
    ]
    marks = [("sent", 21.0), ("commit", 23.0), ("done", 27.0), ("durable", 27.5)]
    assert [tuple(mark) for mark in shown.marks] == marks


def test_a_request_that_is_cancelled_with_its_sender_is_not_performed():
    receiver = PARTS["receiver"] | {"on_disconnect": "cancels"}
    windows = anatomy(scenario({"protocol": "checkpoint"}, receiver=receiver)).windows
    assert [tuple(window) for window in windows] == [("twice", 23.0, 27.5, False)]


def test_the_window_is_as_long_as_the_mean_gap_of_the_tables():
    times = {"law": "lognormal", "median": 0.3, "sigma": 0.6}
    given = scenario({"protocol": "checkpoint"}, store={"write": times}, receiver={"response": times})
    (window,) = anatomy(given).windows
    gap = sim.simulate(given, 20_000, 1)["gap_s"]
    assert abs(gap.mean() - window.length_s) < 4 * gap.sem()


def test_the_first_step_that_may_act_acts_and_others_if_they_mostly_do():
    steps = [A, B | {"action": {"probability": 0.1}}, C | {"action": {"probability": 0.4}}]
    shown = anatomy(scenario({"protocol": "checkpoint"}, workload={"steps": steps}))
    assert [tuple(window) for window in shown.windows] == [("twice", 21.0, 27.5, False)]
    assert {part.name for part in shown.parts if part.step == 2} == {"work", "write", "ack"}


def test_what_has_no_anatomy_is_refused():
    with pytest.raises(ValueError, match="no step of the workload acts"):
        anatomy(scenario({"protocol": "restart"}, workload={"steps": [A, C]}))
    heavy = {"write": {"law": "lomax", "c": 0.9, "scale": 1.0}}
    with pytest.raises(ValueError, match="finite"):
        anatomy(scenario({"protocol": "checkpoint"}, store=heavy))


def test_the_picture_says_what_was_found_and_is_the_same_each_time(tmp_path):
    rows = {name: scenario(strategy) for name, (strategy, _) in BY_HAND.items()}
    draw(rows, tmp_path / "one.svg")
    draw(rows, tmp_path / "other.svg")
    picture = (tmp_path / "one.svg").read_bytes()
    assert picture == (tmp_path / "other.svg").read_bytes()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    texts = re.findall(r"<!-- (.*?) -->", picture.decode())
    assert {*rows} <= {*texts}
    assert texts.count("a crash here repeats the action: 6.5 s") == 3
    assert "a crash here repeats the action: 36 s, to the end of the run" in texts
    assert "a crash here loses the action: 1.2 s" in texts
    assert "a crash here leaves the run stuck: 7.8 s" in texts
    assert texts.count("no crash repeats or loses the action") == 2


def test_what_comes_much_later_is_said_beside_the_row(tmp_path):
    strategy = {"protocol": "outbox", "relay": {"poll": 7.0}}
    draw({"a": scenario(strategy)}, tmp_path / "one.svg")
    # The entry is there at 20.5, sent at 27.5 and performed at 29.5; the step is over at 20.75.
    assert "… sent 6.8 s, commit 8.8 s later" in re.findall(
        r"<!-- (.*?) -->", (tmp_path / "one.svg").read_text()
    )


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_known_strategy_can_be_drawn(tmp_path, name):
    draw({name: scenario({"protocol": name})}, tmp_path / "one.svg")
    assert (tmp_path / "one.svg").stat().st_size > 1000
