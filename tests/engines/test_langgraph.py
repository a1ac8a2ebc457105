"""LangGraph's shipped presets against kill tests of LangGraph itself.

A graph a → b → c → d was killed at chosen points and resumed, and wrote down which actions were performed:
``ab|bcd`` says that a and b were before the kill, and b (again), c and d after it; ``abc|`` that it could not
be resumed, because nothing was saved. Here the same graph is killed at instants worked out by hand.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from engine_scenarios import simulate_on_both

from sim import Scenario
from sim.events import Block, Run
from sim.events.words import DIES
from sim.outcomes import Log
from sim.program import unfold
from sim.streams import Streams
from sim.study.systems import build

REPOSITORY = Path(__file__).parents[2]


class Kill(NamedTuple):
    """A kill: of which mode, how long its store takes for a checkpoint, when, and what is performed then.

    A node works 0.3 s, performs its action and goes on for 0.15 s; pending writes take 0.6 of a checkpoint.
    """

    mode: str
    store: float
    at: float
    performed: str
    why: str


# Sync, store of 1 s: input checkpoints 0-1-2; a performs at 2.3 and ends at 2.45, its pending writes take
# until 3.05, its checkpoint until 3.45; b performs at 3.75, ends at 3.9, pending writes until 4.5, checkpoint
# until 4.9; c performs at 5.2. Store of 0.01 s: inputs until 0.02; a until 0.47, 0.48; b until 0.93, 0.94; c
# performs at 1.24. Store of 2 s: inputs until 4; a until 4.45, 6.45; b until 6.9, 8.9; c performs at 9.2.
#
# Async, store of 1 s: nothing waits, so that a performs at 0.3, b at 0.75, c at 1.2, d at 1.65, and d ends at
# 1.8. Checkpoints stand in line: inputs 0-1-2, a's until 3, b's until 4, c's until 5, d's until 6. Pending
# writes are written at 1.05 (a), 1.65 (b), 2.25 (c) and 2.85 (d), but each is of use only when the checkpoint
# before it is durable: a's from 2 on (the second input), b's from 3 on (a's), c's from 4 on (b's). Store of
# 0.01 s: all of b is durable at 0.91, and c performs at 1.2.
#
# Exit: as async without any save, then one from 1.8 to 2.8.
KILLS = {
    "while b's checkpoint is saved, its pending writes are there": [
        Kill("sync", 1, 4.7, "ab|cd", "either makes b durable"),
        Kill("async", 1, 3.5, "abcd|cd", "c and d had run ahead"),
        Kill("exit", 1, 3.5, "abcd", "the run was over"),
    ],
    "before b's pending writes are there": [
        Kill("sync", 1, 4.2, "ab|bcd", "a is durable, b is not"),
        Kill("async", 1, 1.1, "ab|abcd", "a's pending writes rest on an input that is not durable"),
    ],
    "in c, after its action": [
        Kill("sync", 0.01, 1.3, "abc|cd", "b is durable"),
        Kill("async", 0.01, 1.3, "abc|cd", "b is durable, since the store is quick"),
        Kill("exit", 0.01, 1.3, "abc|", "nothing is saved"),
    ],
    "in c, after its action, with a slow store": [
        Kill("sync", 2, 9.3, "abc|cd", "b is durable, or c had not begun"),
        Kill("async", 2, 1.3, "abc|", "not even the input is durable, but at 2"),
        Kill("exit", 2, 1.3, "abc|", "nothing is saved"),
    ],
    "between what the kill tests tell": [
        Kill("async", 1, 0.999_999_999, "ab|", "a tick before the first input is durable"),
        Kill("async", 1, 1, "ab|abcd", "the first input is durable"),
        Kill("async", 1, 1.999_999_999, "abcd|abcd", "a tick before a's pending writes are of use"),
        Kill("async", 1, 2, "abcd|bcd", "the second input is durable, and with it a"),
        Kill("async", 1, 4, "abcd|d", "b's checkpoint is durable, and with it c's pending writes"),
        Kill("sync", 1, 0.5, "|", "nothing has happened, and nothing is saved"),
        Kill("exit", 1, 2.5, "abcd|", "all has happened, and nothing is saved"),
        Kill("exit", 1, 2.8, "abcd", "the run is over"),
    ],
}
EACH = [(where, kill) for where, kills in KILLS.items() for kill in kills]
each_kill = pytest.mark.parametrize(
    "kill", [kill for _, kill in EACH], ids=[f"{kill.mode}, {where}, at {kill.at}" for where, kill in EACH]
)


def graph(kill: Kill, **strategy: Any) -> Scenario:
    parts: dict[str, Any] = {
        "workload": {"steps": [{"name": node, "work": 0.3, "action": {}} for node in "abcd"]},
        "store": {"write": kill.store},
        "receiver": {"response": 0.15},
        "downtime": {"restart": 60},
        "crash": {"process": "at", "times": [kill.at]},
    }
    return build(f"langgraph-{kill.mode}", REPOSITORY, parts, strategy)


def performed(scenario: Scenario) -> tuple[str, bool]:
    """What is performed before and after the kill, and whether the run finishes."""
    program, draws, log = unfold(scenario), Streams(0, 0, 1), Log()
    told = []

    def listen(_tick: int, actor: str, what: str, step: int) -> None:
        if what.startswith("performs"):
            told.append("abcd"[step])
        elif actor.startswith("worker") and what == DIES:
            told.append("|")

    Run(Block(program, draws, scenario.crash.plan(draws, None)), 0, log, listen).simulate()
    return "".join(told), log.finished[0]


@each_kill
def test_what_is_performed_is_as_in_the_kill_test(kill: Kill) -> None:
    found, finished = performed(graph(kill))
    assert found == kill.performed, kill.why
    assert finished == (not kill.performed.endswith("|"))


@each_kill
def test_both_engines_count_so(kill: Kill) -> None:
    row = simulate_on_both(graph(kill), n=1, seed=0).iloc[0]
    told = kill.performed.replace("|", "")
    assert row["duplicate_actions"] == len(told) - len(set(told))
    assert row["stuck"] == kill.performed.endswith("|")
    assert row["crashes"] == kill.performed.count("|")


@each_kill
def test_started_again_it_does_all_again_where_nothing_was_saved(kill: Kill) -> None:
    found, finished = performed(graph(kill, if_nothing="restart"))
    assert found == kill.performed + "abcd" * kill.performed.endswith("|"), kill.why
    assert finished
