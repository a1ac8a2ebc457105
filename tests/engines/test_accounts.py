"""Accounts, activity × fate: right on cases worked out by hand, and balanced on random ones.

The cases are on the workload of `by_hand.md`, whose tables say when things happen.
"""

from typing import Any

import numpy as np
import pytest
from by_hand import CHECKPOINT, scenario, tick
from engine_scenarios import STRATEGIES, build, random_parts

import sim.events
from sim.events import simulate_block
from sim.outcomes import KEPT, LOST, REDONE, AccountsError, Log, Tally
from sim.program import CALL, QUERY, SAVE, WORK, unfold
from sim.streams import Streams

SLOW = {"store": {"write": 25, "ack": 5}}
# Strategy, crashes, changes; seconds by activity and fate; downtime.
CASES: dict[str, tuple[dict[str, Any], list[float], dict[str, Any], dict[tuple[int, int], float], float]] = {
    "checkpoint, in B's save: B is redone, and so is what was written of the save": (
        CHECKPOINT,
        [38],
        {},
        {(WORK, KEPT): 60, (CALL, KEPT): 7, (SAVE, KEPT): 2.25}
        | {(WORK, REDONE): 20, (CALL, REDONE): 7, (SAVE, REDONE): 0.25},
        9,
    ),
    "checkpoint, in B's ack: all is kept": (
        CHECKPOINT,
        [38.375],
        {},
        {(WORK, KEPT): 60, (CALL, KEPT): 7, (SAVE, KEPT): 2.125},
        9,
    ),
    "restart, in C: A and B are redone, C is lost": (
        {"protocol": "restart"},
        [40],
        {},
        {(WORK, KEPT): 60, (CALL, KEPT): 7, (WORK, REDONE): 30, (CALL, REDONE): 7, (WORK, LOST): 3},
        9,
    ),
    "query, in the answer and in the query: the call is lost, and the query": (
        {"protocol": "intent_query"},
        [35, 46],
        {},
        {(WORK, KEPT): 60, (CALL, LOST): 3.5, (SAVE, KEPT): 3, (QUERY, LOST): 2, (QUERY, KEPT): 3},
        18,
    ),
    "query, in B's save: the call is redone, and the save, but not the work": (
        {"protocol": "intent_query"},
        [38.75],
        {},
        {(WORK, KEPT): 60, (CALL, REDONE): 7, (SAVE, KEPT): 3, (SAVE, REDONE): 0.25, (QUERY, KEPT): 3},
        9,
    ),
    "save first, in B's save: its work is lost, and so is what was written": (
        {"protocol": "save_first"},
        [31],
        {},
        {(WORK, KEPT): 60, (WORK, LOST): 20, (CALL, KEPT): 7, (SAVE, KEPT): 2.25, (SAVE, LOST): 0.25},
        9,
    ),
    "save first, in B's request: what is saved is kept, though it was cut off": (
        {"protocol": "save_first"},
        [33],
        {},
        {(WORK, KEPT): 60, (CALL, KEPT): 1.5, (SAVE, KEPT): 2.25},
        9,
    ),
    "async, slow store, A durable while B is called: B is lost": (
        {"protocol": "async"},
        [36],
        SLOW,
        {(WORK, KEPT): 60, (WORK, LOST): 20, (CALL, KEPT): 7, (CALL, LOST): 6, (SAVE, KEPT): 30},
        9,
    ),
    "async, slow store, B in the lane while C works: B is redone, C is lost": (
        {"protocol": "async"},
        [50],
        SLOW,
        {(WORK, KEPT): 60, (WORK, REDONE): 20, (WORK, LOST): 13}
        | {(CALL, KEPT): 7, (CALL, REDONE): 7, (SAVE, KEPT): 30},
        9,
    ),
    "async, slow store, C in the lane while the run waits: C is redone, and the wait": (
        {"protocol": "async"},
        [80],
        SLOW,
        {(WORK, KEPT): 60, (WORK, REDONE): 30, (CALL, KEPT): 7, (SAVE, KEPT): 30, (SAVE, REDONE): 13},
        9,
    ),
    "checkpoint, while loading: what it had loaded is downtime": (
        CHECKPOINT,
        [20, 28.5],
        {},
        {(WORK, KEPT): 60, (WORK, LOST): 9.25, (CALL, KEPT): 7, (SAVE, KEPT): 2.25},
        17.5,
    ),
    "checkpoint, given up in B: as if it had crashed": (
        CHECKPOINT,
        [20],
        {"limits": {"makespan": 40}},
        {(WORK, KEPT): 10, (WORK, LOST): 20.25, (SAVE, KEPT): 0.75},
        9,
    ),
    "checkpoint, given up in detection": (
        CHECKPOINT,
        [20],
        {"limits": {"makespan": 24}},
        {(WORK, KEPT): 10, (WORK, LOST): 9.25, (SAVE, KEPT): 0.75},
        4,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_tick_has_the_activity_and_the_fate_that_were_worked_out(name: str) -> None:
    strategy, crashes, changes, cells, down = CASES[name]
    program = unfold(scenario(strategy, [tick(crash) for crash in crashes], **changes))
    accounts = simulate_block(program, Streams(0, 0, 1)).accounts
    expected = np.zeros((4, 3), np.int64)
    for cell, seconds in cells.items():
        expected[cell] = tick(seconds)
    assert accounts.spent[0].tolist() == expected.tolist(), (
        f"{name}: work, call, save, query × kept, redone, lost"
    )
    assert accounts.down.tolist() == [tick(down)], f"{name}: downtime"


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("name", STRATEGIES)
def test_accounts_sum_to_the_makespan_and_agree_with_the_outcomes(name: str, number: int) -> None:
    tally = simulate_block(unfold(build(STRATEGIES[name], random_parts(number))), Streams(3, 0, 24))
    spent, down = tally.accounts.spent, tally.accounts.down

    def ticks(column: str) -> list[int]:
        return np.rint(tally.columns[column] * 1e9).astype(np.int64).tolist()

    assert (spent >= 0).all(), f"{name}, scenario {number}: a cell is negative"
    assert (down >= 0).all(), f"{name}, scenario {number}: downtime is negative"
    assert (spent.sum(axis=(1, 2)) + down).tolist() == ticks("makespan_s")
    assert down.tolist() == ticks("downtime_s")
    assert spent[:, SAVE].sum(axis=1).tolist() == ticks("save_time_s")
    assert spent[:, [WORK, CALL], LOST].sum(axis=1).tolist() == ticks("lost_work_s")
    crashed = tally.columns["crashes"] > 0
    assert crashed.any()
    assert not spent[~crashed][:, :, [REDONE, LOST]].any(), f"{name}, scenario {number}: lost without a crash"


def test_a_log_whose_activities_do_not_sum_to_the_makespan_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = sim.events.count

    def tampered(program: Any, log: Log, *rest: Any) -> Tally:
        log.makespan[1] += 1
        return count(program, log, *rest)

    monkeypatch.setattr(sim.events, "count", tampered)
    with pytest.raises(AccountsError, match="run 1 "):
        simulate_block(unfold(scenario(CHECKPOINT, [tick(20)])), Streams(0, 0, 3))
