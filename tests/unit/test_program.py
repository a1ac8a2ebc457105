"""Programs. Deterministic: the verbs of a strategy unfold to the phases written down here by hand.

A line is a phase: its number, its step (with ! where the step acts), its name; then ◆ where the step is done
at its end, → and the number at which a recovery resumes once it is durable, (a lane), and gap or late gap
where a crash falls into [sent, durable) or, of that, into [done, durable).
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from sim import Scenario
from sim.laws import Constant, Law, Lognormal
from sim.program import CALL, QUERY, SAVE, WORK, Phase, Program, unfold
from sim.streams import BLOCK, Streams

READ = {"name": "read", "work": 10}
SEND = {"name": "send", "work": 20, "action": {}}
FILE = {"name": "file", "work": 30}
SLOW: dict[str, Any] = {
    "store": {"write": 0.5, "ack": 0.25},
    "receiver": {"prepare": 1, "request": 2, "response": 4, "query": 3},
}


def unfolded(strategy: dict[str, Any], *steps: dict[str, Any], **more: Any) -> Program:
    workload = {"steps": steps or (READ, SEND, FILE)} | more.pop("workload", {})
    return unfold(Scenario.model_validate({"workload": workload, "strategy": strategy} | more))


def line(program: Program, phase: Phase) -> str:
    text = f"{phase.id} {phase.step + 1}{'!' * phase.acts} {phase.name}"
    text += f" ({phase.lane})" * bool(phase.lane)
    text += " ◆" * phase.done
    text += f" →{phase.resume}" * (phase.resume >= 0)
    if program.gap_after_done[phase.id]:
        return text + " late gap"
    return text + " gap" * bool(program.gap[phase.id])


def lines(program: Program) -> list[str]:
    return [line(program, phase) for phase in program.phases]


def written(text: str) -> list[str]:
    return [row.strip() for row in text.strip().splitlines()]


# ------------------------------------------------------------------------------------------- strategies

RESTART = """
    0 1 work ◆
    1 2! work
    2 2! prepare
    3 2! request
    4 2! response ◆
    5 3 work ◆
"""
CHECKPOINT = """
    0 1 work ◆
    1 1 write →3
    2 1 ack
    3 2! work
    4 2! prepare
    5 2! request gap
    6 2! response ◆ gap
    7 2! write →9 late gap
    8 2! ack
    9 3 work ◆
    10 3 write →12
    11 3 ack
"""
SAVE_FIRST = """
    0 1 work ◆
    1 1 write →3
    2 1 ack
    3 2! work
    4 2! write →9
    5 2! ack
    6 2! prepare
    7 2! request
    8 2! response ◆
    9 3 work ◆
    10 3 write →12
    11 3 ack
"""
ASYNC = """
    0 1 work ◆
    1 1 lane (background) →2
    2 2! work
    3 2! prepare
    4 2! request
    5 2! response ◆
    6 2! lane (background) →7
    7 3 work ◆
    8 3 lane (background) →10
    9 3 drain
"""
INTENT_QUERY = """
    0 1 work ◆
    1 1 write →3
    2 1 ack
    3 2! work
    4 2! write →6
    5 2! ack
    6 2! query
    7 2! prepare
    8 2! request gap
    9 2! response ◆ gap
    10 2! write →12 late gap
    11 2! ack
    12 3 work ◆
    13 3 write →15
    14 3 ack
"""


@pytest.mark.parametrize(
    ("protocol", "phases", "has_gap"),
    [
        ("restart", RESTART, False),
        ("checkpoint", CHECKPOINT, True),
        ("save_first", SAVE_FIRST, False),
        ("async", ASYNC, False),
        ("intent_query", INTENT_QUERY, True),
    ],
)
def test_protocol(protocol: str, phases: str, has_gap: bool) -> None:
    program = unfolded({"protocol": protocol}, **SLOW)
    assert lines(program) == written(phases)
    assert program.has_gap == has_gap


OWN: dict[str, Any] = {
    "plain": ["work", {"verb": "save", "resume": "here"}, "work", "save"],
    "action": ["work", {"verb": "save", "resume": "call"}, "call", {"verb": "save", "lane": "b"}, "save"],
    "end": ["save"],
}


def test_own_lists() -> None:
    assert lines(unfolded(OWN, **SLOW)) == written("""
        0 1 work
        1 1 write →0
        2 1 ack
        3 1 work ◆
        4 1 write →6
        5 1 ack
        6 2! work
        7 2! write →9
        8 2! ack
        9 2! prepare
        10 2! request gap
        11 2! response ◆ gap
        12 2! lane (b) →15 late gap
        13 2! write →15 late gap
        14 2! ack
        15 3 work
        16 3 write →15
        17 3 ack
        18 3 work ◆
        19 3 write →23
        20 3 ack
        21 3 write →23
        22 3 ack
    """)


HERE = {"verb": "save", "resume": "here"}


def test_a_save_that_repeats_the_call_does_not_close_the_gap() -> None:
    program = unfolded({"plain": ["work"], "action": ["work", "call", HERE, "save"]}, SEND)
    assert lines(program) == written("""
        0 1! work
        1 1! request gap
        2 1! response ◆ gap
        3 1! write →0 late gap
        4 1! write →5 late gap
    """)
    assert not unfolded({"plain": ["work"], "action": ["work", "call", HERE]}, SEND).has_gap


def test_work_after_the_call_is_before_done() -> None:
    program = unfolded({"plain": ["work"], "action": ["call", "work", "save"]}, SEND)
    assert lines(program) == written("""
        0 1! request gap
        1 1! response gap
        2 1! work ◆ gap
        3 1! write →4 late gap
    """)


def test_what_takes_no_time_and_marks_nothing_is_left_out() -> None:
    # Request, response and write stay, as marks are passed there; so does a prepare that may take no time.
    program = unfolded({"protocol": "checkpoint"}, SEND, store={"write": 0, "ack": 0})
    assert lines(program) == written("""
        0 1! work
        1 1! request gap
        2 1! response ◆ gap
        3 1! write →4 late gap
    """)
    receiver = {"prepare": {"law": "uniform", "high": 1e-12}}
    assert "1 1! prepare" in lines(unfolded({"protocol": "checkpoint"}, SEND, receiver=receiver))
    resumed_at_the_call = unfolded(OWN, SEND)
    assert lines(resumed_at_the_call)[1:3] == ["1 1! write →2", "2 1! request gap"]


def test_first_phases_and_what_comes_after_done() -> None:
    program = unfolded({"protocol": "checkpoint"}, **SLOW)
    assert program.first.tolist() == [0, 3, 9, 12]
    assert program.step.tolist() == [0] * 3 + [1] * 6 + [2] * 3
    assert program.acts.tolist() == [False] * 3 + [True] * 6 + [False] * 3
    assert np.flatnonzero(program.after_done).tolist() == [1, 2, 7, 8, 10, 11]


# -------------------------------------------------------------------------------------------- placement

FIVE = [
    {"name": "a", "work": 1},
    {"name": "b", "work": 1, "action": {}},
    {"name": "c", "work": 1},
    {"name": "d", "work": 1, "action": {}},
    {"name": "e", "work": 1},
]


@pytest.mark.parametrize(
    ("placement", "saved", "has_gap"),
    [
        ({}, [1, 2, 3, 4, 5], True),
        ({"last": False}, [1, 2, 3, 4], True),
        ({"every": 1}, [1, 2, 3, 4, 5], True),
        ({"every": 2}, [2, 4, 5], True),
        ({"every": 2, "last": False}, [2, 4], True),
        ({"every": 3}, [3, 5], False),
        ({"every": 3, "last": False}, [3], False),
        ({"every": 6}, [5], False),
        ({"every": 6, "last": False}, [], False),
        ({"after_actions": True}, [2, 4, 5], True),
        ({"after_actions": True, "last": False}, [2, 4], True),
        ({"steps": ["a", "d"]}, [1, 4, 5], False),
        ({"steps": [2, 4], "last": False}, [2, 4], True),
        ({"steps": ["b", 4, "d"], "last": False}, [2, 4], True),
        ({"steps": []}, [5], False),
        ({"steps": [], "last": False}, [], False),
    ],
    ids=str,
)
def test_placement(placement: dict[str, Any], saved: list[int], has_gap: bool) -> None:
    program = unfolded({"protocol": "checkpoint"} | placement, *FIVE)
    assert [phase.step + 1 for phase in program.phases if phase.name == "write"] == saved
    assert program.has_gap == has_gap


def test_placement_leaves_saves_within_a_step() -> None:
    program = unfolded({"protocol": "intent_query", "every": 3}, *FIVE)
    assert lines(program) == written("""
        0 1 work ◆
        1 2! work
        2 2! write →3
        3 2! query
        4 2! request
        5 2! response ◆
        6 3 work ◆
        7 3 write →8
        8 4! work
        9 4! write →10
        10 4! query
        11 4! request
        12 4! response ◆
        13 5 work ◆
        14 5 write →15
    """)


def test_placement_of_saves_in_a_lane_and_before_the_call() -> None:
    behind = unfolded({"protocol": "async", "every": 4, "last": False}, *FIVE)
    assert [phase.step + 1 for phase in behind.phases if phase.name == "lane"] == [4]
    before = unfolded({"protocol": "save_first", "steps": ["b"], "last": False}, *FIVE)
    assert [phase.step + 1 for phase in before.phases if phase.name == "write"] == [2]


# ------------------------------------------------------------------------------- steps that act in some runs

SOME = {"name": "look", "work": 20, "tool": 7, "action": {"probability": 0.5}}


def test_a_step_that_acts_in_some_runs_has_both_forms() -> None:
    program = unfolded({"protocol": "checkpoint"}, READ, SOME, FILE)
    assert lines(program) == written("""
        0 1 work ◆
        1 1 write →2
        2 2 work
        3 2 tool ◆
        4 2 write →9
        5 2! work
        6 2! request gap
        7 2! response ◆ gap
        8 2! write →9 late gap
        9 3 work ◆
        10 3 write →11
    """)
    assert program.first.tolist() == [0, 2, 9, 11]
    paths = {acts: program.path(np.array([False, acts, False])) for acts in (False, True)}
    assert [phase.id for phase in paths[False]] == [0, 1, 2, 3, 4, 9, 10]
    assert [phase.id for phase in paths[True]] == [0, 1, 5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize(("probability", "acts"), [(0, [False]), (1, [True]), (1e-9, [False, True])])
def test_a_form_that_never_comes_is_left_out(probability: float, acts: list[bool]) -> None:
    step = SOME | {"action": {"probability": probability}}
    program = unfolded({"protocol": "checkpoint"}, step)
    assert sorted({phase.acts for phase in program.phases}) == acts
    assert program.has_gap == (True in acts)


def test_saved_after_actions_only_where_the_step_acts_in_the_run() -> None:
    program = unfolded({"protocol": "checkpoint", "after_actions": True, "last": False}, READ, SOME, FILE)
    assert [phase.acts for phase in program.phases if phase.name == "write"] == [True]
    assert program.has_gap


def test_which_runs_act() -> None:
    program = unfolded({"protocol": "checkpoint"}, READ, SEND, SOME, SOME | {"name": "charge"})
    acts = program.draw_acts(Streams(24, 0))
    assert acts.shape == (BLOCK, 4)
    assert not acts[:, 0].any()
    assert acts[:, 1].all()
    for step in (2, 3):
        assert stats.binomtest(int(acts[:, step].sum()), BLOCK, 0.5).pvalue > 1e-6
    assert abs(np.corrcoef(acts[:, 2], acts[:, 3])[0, 1]) < 5 / np.sqrt(BLOCK)


# --------------------------------------------------------------------------------- times, weights, keys


def times(program: Program) -> dict[str, Law]:
    return {f"{phase.step + 1}{'!' * phase.acts} {phase.name}": phase.law for phase in program.phases}


def test_laws_of_the_phases() -> None:
    laws = times(unfolded({"protocol": "intent_query"}, READ, SEND, SOME, **SLOW))
    seconds = {name: law.mean_s for name, law in laws.items()}
    assert seconds == {
        "1 work": 10,
        "1 write": 0.5,
        "1 ack": 0.25,
        "2! work": 20,
        "2! write": 0.5,
        "2! ack": 0.25,
        "2! query": 3,
        "2! prepare": 1,
        "2! request": 2,
        "2! response": 4,
        "3 work": 20,
        "3 tool": 7,
        "3 write": 0.5,
        "3 ack": 0.25,
        "3! work": 20,
        "3! write": 0.5,
        "3! ack": 0.25,
        "3! query": 3,
        "3! prepare": 1,
        "3! request": 2,
        "3! response": 7,  # the tool's own time, where it is the tool that acts
    }


def test_scale_of_the_work() -> None:
    random = READ | {"work": {"law": "lognormal", "median": 4.0, "sigma": 0.5}}
    laws = times(unfolded({"protocol": "checkpoint"}, random, SOME, workload={"work_scale": 2.5}, **SLOW))
    assert float(laws["1 work"].quantile(0.5)) == pytest.approx(10)
    assert float(laws["1 work"].survival(10)) == pytest.approx(0.5)
    means = {name: law.mean_s for name, law in laws.items() if name.startswith("2")}
    assert means == {
        "2 work": 50,
        "2 tool": 7,
        "2 write": 0.5,
        "2 ack": 0.25,
        "2! work": 50,
        "2! prepare": 1,
        "2! request": 2,
        "2! response": 7,
        "2! write": 0.5,
        "2! ack": 0.25,
    }


def test_a_lane_takes_the_time_of_a_write_and_a_drain_none_of_its_own() -> None:
    laws = times(
        unfolded({"protocol": "async"}, store={"write": {"law": "lognormal", "median": 1, "sigma": 1}})
    )
    assert laws["1 lane"] == Lognormal(median=1.0, sigma=1.0)
    assert laws["3 drain"] == Constant(value=0.0)


def test_weights_of_the_phases() -> None:
    exposure = {"write": 10, "work": 0, "tool": 0.5, "drain": 3, "query": 7}
    crash = {"process": "uniform_time", "exposure": exposure}
    for protocol in ("intent_query", "async"):
        program = unfolded({"protocol": protocol}, READ, SEND, SOME, crash=crash, **SLOW)
        for phase in program.phases:
            assert phase.weight == exposure.get(phase.name, 1), phase.name
    assert {phase.name for phase in program.phases} >= {"work", "tool", "drain", "lane", "request"}


def test_activities_and_special_phases() -> None:
    activities, special, saves = {}, set(), set()
    for protocol in ("intent_query", "async"):
        for phase in unfolded({"protocol": protocol}, READ, SEND, SOME, **SLOW).phases:
            activities[phase.name] = phase.activity
            special |= {phase.name} if phase.special else set()
            saves |= {phase.name} if phase.saves else set()
    assert activities == {
        "work": WORK,
        "tool": WORK,
        "prepare": CALL,
        "request": CALL,
        "response": CALL,
        "write": SAVE,
        "ack": SAVE,
        "lane": SAVE,
        "drain": SAVE,
        "query": QUERY,
    }
    assert special == {"request", "lane", "query", "drain"}
    assert saves == {"write"}


def test_keys_say_what_is_decided() -> None:
    program = unfolded(OWN, **SLOW)
    keys = {phase.id: phase.key for phase in program.phases}
    assert keys[0] == ("step", 0, "work", 0, "work")
    assert keys[1] == ("step", 0, "save:here", 0, "write")
    assert keys[3] == ("step", 0, "work", 1, "work")  # the second of its kind
    assert keys[4] == ("step", 0, "save:next", 0, "write")
    assert keys[5] == ("step", 0, "save:next", 0, "ack")
    assert keys[7] == ("step", 1, "save:call", 0, "write")
    assert keys[10] == ("step", 1, "call", 0, "request")
    assert keys[12] == ("step", 1, "save:next", 0, "write")  # the lane does not matter
    assert keys[13] == ("step", 1, "save:next", 1, "write")
    assert keys[21] == ("step", 2, "save:next", 1, "write")
    assert len(set(keys.values())) == len(keys)


def test_strategies_share_the_keys_of_what_they_share() -> None:
    protocols = ("restart", "checkpoint", "save_first", "async", "intent_query")
    programs = [unfolded({"protocol": protocol}, READ, SEND, SOME, **SLOW) for protocol in protocols]
    shared: dict[tuple[int, bool, str], set[Any]] = {}
    for program in programs:
        for phase in program.phases:
            if phase.activity in (WORK, CALL):
                shared.setdefault((phase.step, phase.acts, phase.name), set()).add(phase.key)
    assert len(shared) == 1 + 4 + 2 + 4  # read, send, and look in its two forms
    assert all(len(keys) == 1 for keys in shared.values())
    # Both forms of a step do the same work.
    assert shared[2, False, "work"] == shared[2, True, "work"]
