"""The events engine against outcomes worked out by hand: a crash at, a tick before and after every mark.

For every strategy, `by_hand.md` lists the marks of a three-step run and what a crash between two of them
costs. Counts change at marks only, and between them times stand still or grow with the time of the crash;
so a crash at each mark, one tick to either side of it and half way to the next one covers every case.
"""

from itertools import pairwise

import pytest
from by_hand import CHECKPOINT, SURROUNDINGS, Table, differences, in_ticks, outcome, scenario, tables, tick

from sim.events import Block, Run
from sim.events.worker import Worker
from sim.outcomes import OUTCOMES, Log
from sim.program import Phase, unfold
from sim.streams import Streams

TABLES = tables()
FIRST_CRASHES = [name for name, table in TABLES.items() if not table.before]


def check(table: Table, cases: list[tuple[int, int]]) -> None:
    """Fail for every case (number of the row, tick of the crash) that is not as the table says."""
    wrong = []
    for number, crash in cases:
        row = table.rows[number]
        crashes = [*map(tick, table.before), crash]
        found = differences(outcome(table.strategy, crashes, **table.changes), table.expected(row, crash))
        if found:
            wrong.append(f"{table.name}, crash at {crash} ns, {row.why}: {found}")
    assert not wrong, "\n".join(wrong)


MARKS = [(name, number) for name, table in TABLES.items() for number in range(len(table.rows))]


@pytest.mark.parametrize(
    ("name", "number"), MARKS, ids=[f"{name}: {TABLES[name].rows[n].cells['mark']}" for name, n in MARKS]
)
def test_a_crash_around_a_mark_costs_what_was_worked_out(name: str, number: int) -> None:
    table = TABLES[name]
    mark = table.rows[number].mark
    cases = [(number, mark), (number, mark + 1)]
    if number:
        cases.append((number - 1, mark - 1))
    check(table, cases)


@pytest.mark.parametrize("name", TABLES)
def test_a_crash_half_way_between_marks_costs_what_was_worked_out(name: str) -> None:
    table = TABLES[name]
    half_way = [(a.mark + b.mark) // 2 for a, b in pairwise(table.rows)]
    check(table, list(enumerate(half_way)))


@pytest.mark.parametrize("name", FIRST_CRASHES)
def test_without_a_crash_the_run_has_what_is_usual(name: str) -> None:
    table = TABLES[name]
    end = table.rows[-1]
    found = differences(outcome(table.strategy, [], **table.changes), table.expected(end, end.mark))
    assert not found, f"{name}, no crash: {found}"


@pytest.mark.parametrize("name", TABLES)
def test_the_gap_is_as_long_as_was_worked_out_whether_or_not_a_crash_is_in_it(name: str) -> None:
    table = TABLES[name]
    for crashes in [], [tick(32.75)]:
        found = outcome(table.strategy, crashes, **table.changes)
        assert tick(found["gap_s"]) == tick(table.gap_s), f"{name}, crashes at {crashes} ns"


@pytest.mark.parametrize("name", FIRST_CRASHES)
def test_no_mark_of_a_run_without_a_crash_is_missing_from_its_table(name: str) -> None:
    table = TABLES[name]
    passed: list[int] = []

    class Watched(Run):
        def keep(self, worker: Worker, phase: Phase, base: int) -> bool:
            passed.append(self.env.now)
            return super().keep(worker, phase, base)

    log, draws = Log(), Streams(0, 0, 1)
    program = unfold(scenario(table.strategy, [], **table.changes))
    run = Watched(Block(program, draws, program.scenario.crash.plan(draws, None)), 0, log)
    run.saves_plainly = False
    run.simulate()
    forgotten = {*log.ends, *passed} - {row.mark for row in table.rows}
    assert log.makespan == [table.rows[-1].mark], f"{name}: the last row is not the end of the run"
    assert not forgotten, f"{name}: no row for the marks at {sorted(forgotten)} ns"


def test_every_outcome_that_depends_on_a_crash_is_in_the_book() -> None:
    table = TABLES["Restart"]
    assert {*table.expected(table.rows[0], 0)} == {*OUTCOMES} - {"gap_s", "rule_duplicates", "spacing_s"}


def test_steps_to_save_after_are_known_by_name_and_by_number() -> None:
    table = TABLES["Checkpoint, after listed steps"]
    for row in table.rows:
        found = differences(
            outcome({"protocol": "checkpoint", "steps": [1]}, [row.mark]), table.expected(row, row.mark)
        )
        assert not found, f"steps = [1], crash at {row.mark} ns, {row.why}: {found}"


# The request flies for 30 s and is performed at 62.5. The end of the query, of the load or of the restart, or
# all of them with the crash, fall on that very tick, or one tick before.
ON_THE_TICK = {
    "the query ends": (50.5, {"detection": 5, "restart": 2.5, "load": 1.5}, 3),
    "the load ends, and the query takes no time": (53.5, {"detection": 5, "restart": 2.5, "load": 1.5}, 0),
    "the restart ends, and load and query take no time": (55, {"detection": 5, "restart": 2.5, "load": 0}, 0),
    "the worker dies, is replaced and asks": (62.5, {"detection": 0, "restart": 0, "load": 0}, 0),
}


@pytest.mark.parametrize("early", [0, 1])
@pytest.mark.parametrize("what", ON_THE_TICK)
def test_a_query_sees_what_is_performed_on_the_tick_it_ends(what: str, early: int) -> None:
    crash, downtime, query = ON_THE_TICK[what]
    receiver = SURROUNDINGS["receiver"] | {"request": 30, "query": query}
    found = outcome({"protocol": "intent_query"}, [tick(crash) - early], receiver=receiver, downtime=downtime)
    assert found["duplicate_actions"] == early, f"{what} {early} tick before the action is performed"


def test_an_action_in_flight_when_the_run_ends_is_performed_after_it() -> None:
    # Save first: sent at 32.5, in flight until 132.5; the crash at 40 skips B; C from 49 on, until 79.75.
    receiver = SURROUNDINGS["receiver"] | {"request": 100}
    found = outcome({"protocol": "save_first"}, [tick(40)], receiver=receiver)
    assert not differences(found, in_ticks(makespan_s=79.75, lost_actions=0, skipped_steps=1))


@pytest.mark.parametrize("crash", [32, 35, 37.3, 37.6, 50])
def test_no_crash_is_in_the_gap_after_done_of_an_action_that_is_saved_before_it_is_done(crash: float) -> None:
    # A works 0-10; B works -30, is sent at 31, performed at 33, answered at 37, durable at 37.5, and done at
    # 57.75, after more work.
    strategy = {"plain": ["work"], "action": ["work", "call", "save", "work"]}
    found = outcome(strategy, [tick(crash)])
    expected = in_ticks(action_crashes=1, gap_crashes=int(crash < 37.5), gap_crashes_after_done=0)
    assert not differences(found, expected), f"crash at {crash} s"


def test_two_crashes_on_one_tick_kill_one_worker() -> None:
    found = outcome(CHECKPOINT, [tick(20), tick(20)])
    assert not differences(found, in_ticks(crashes=1, makespan_s=87.5, downtime_s=9))


def test_two_crashes_on_one_tick_kill_the_worker_that_is_replaced_on_it_too() -> None:
    # B from 20 on: 58.5 s.
    found = outcome(CHECKPOINT, [tick(20), tick(20)], downtime={})
    assert not differences(found, in_ticks(crashes=2, makespan_s=78.5, downtime_s=0))


def test_the_order_in_which_crashes_are_given_does_not_matter() -> None:
    found = outcome(CHECKPOINT, [tick(60), tick(20)])
    # 20: B from 29 on, C from 56.75 on; 60: C from 69 on.
    assert not differences(found, in_ticks(crashes=2, makespan_s=99.75, lost_work_s=12.5, action_crashes=1))
