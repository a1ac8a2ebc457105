"""Runs that are given up: after so many attempts, or after so much time; worked out by hand.

Checkpoint on the workload of `by_hand.md`; in each case the exact makespan, downtime and lost work.
"""

import pytest
from by_hand import CHECKPOINT, differences, in_ticks, outcome, tick

# Crashes at 20 and 45: B works 10.75-20 and 29-45, then from 54 on; the end at 112.5.
AFTER_ATTEMPTS = {
    1: in_ticks(crashes=1, makespan_s=20, downtime_s=0, lost_work_s=9.25, saves=1, stuck=True),
    2: in_ticks(crashes=2, makespan_s=45, downtime_s=9, lost_work_s=25.25, saves=1, stuck=True),
    3: in_ticks(crashes=2, makespan_s=112.5, downtime_s=18, lost_work_s=25.25, saves=3, stuck=False),
}


@pytest.mark.parametrize("attempts", AFTER_ATTEMPTS)
def test_a_run_that_needs_more_attempts_is_given_up_at_the_crash(attempts: int) -> None:
    found = outcome(CHECKPOINT, [tick(20), tick(45)], limits={"attempts": attempts})
    wrong = differences(found, AFTER_ATTEMPTS[attempts])
    assert not wrong, f"at most {attempts} attempts: {wrong}"
    assert found["finished"] == (not found["stuck"])


# A crash at 20: detection until 25, restart until 27.5, load until 29; B works until 49, prepares until 50
# (sent), is performed at 52, done at 56, durable at 56.5; C from 56.75 on, the end at 87.5.
AT = {
    1e-9: ("the first tick of A", in_ticks(crashes=0, makespan_s=1e-9, downtime_s=0, lost_work_s=1e-9)),
    10.25: (
        "A's save: A is done, and will not be redone",
        in_ticks(crashes=0, makespan_s=10.25, saves=1, save_time_s=0.25, redone_steps=0, lost_work_s=0),
    ),
    15: ("B's first execution", in_ticks(crashes=0, makespan_s=15, downtime_s=0, lost_work_s=4.25)),
    20: (
        "the tick of the crash: the end of the run has come before it",
        in_ticks(crashes=0, makespan_s=20, downtime_s=0, lost_work_s=9.25, action_crashes=0),
    ),
    20.000000001: (
        "the tick after the crash",
        in_ticks(crashes=1, makespan_s=20.000000001, downtime_s=1e-9, lost_work_s=9.25, action_crashes=1),
    ),
    24: ("detection", in_ticks(crashes=1, makespan_s=24, downtime_s=4, lost_work_s=9.25)),
    26: ("restart", in_ticks(crashes=1, makespan_s=26, downtime_s=6, lost_work_s=9.25)),
    27.5: ("the end of the restart", in_ticks(crashes=1, makespan_s=27.5, downtime_s=7.5)),
    28: ("load", in_ticks(crashes=1, makespan_s=28, downtime_s=8, lost_work_s=9.25)),
    29: ("the end of the load", in_ticks(crashes=1, makespan_s=29, downtime_s=9, lost_work_s=9.25)),
    40: ("B's second execution", in_ticks(crashes=1, makespan_s=40, downtime_s=9, lost_work_s=20.25)),
    51: (
        "the request, which is performed after the run is given up",
        in_ticks(crashes=1, makespan_s=51, downtime_s=9, duplicate_actions=0, lost_work_s=31.25),
    ),
    56.25: (
        "B's save",
        in_ticks(makespan_s=56.25, saves=2, save_time_s=1, redone_steps=0, lost_work_s=9.25, gap_crashes=0),
    ),
    87.499999999: ("the last tick, one too early", in_ticks(crashes=1, makespan_s=87.499999999, saves=3)),
}


@pytest.mark.parametrize("limit", AT)
def test_a_run_is_given_up_when_its_time_is_over(limit: float) -> None:
    where, expected = AT[limit]
    found = outcome(CHECKPOINT, [tick(20)], limits={"makespan": limit})
    wrong = differences(
        found, expected | {"stuck": True, "finished": False, "lost_actions": 0, "skipped_steps": 0}
    )
    assert not wrong, f"given up at {limit} s, in {where}: {wrong}"


@pytest.mark.parametrize("limit", [87.5, 87.500000001, 1000])
def test_a_run_that_ends_in_time_has_finished(limit: float) -> None:
    expected = in_ticks(crashes=1, makespan_s=87.5, downtime_s=9, lost_work_s=9.25, finished=True)
    wrong = differences(outcome(CHECKPOINT, [tick(20)], limits={"makespan": limit}), expected)
    assert not wrong, f"given up at {limit} s: {wrong}"


def test_a_request_of_a_run_that_is_given_up_in_detection_is_performed_once() -> None:
    # Restart: sent at 31, the crash at 32, given up at 32.5; performed at 33.
    found = outcome({"protocol": "restart"}, [tick(32)], limits={"makespan": 32.5})
    expected = in_ticks(makespan_s=32.5, downtime_s=0.5, duplicate_actions=0, lost_actions=0, stuck=True)
    assert not differences(found, expected)


def test_a_request_that_is_performed_after_a_run_was_given_up_counts() -> None:
    # Restart, in flight for 60 s: sent at 31 and, after a crash at 32, at 72; performed at 91 and 132, while
    # the run is given up at 80.
    receiver = {"prepare": 1, "request": 60, "response": 4}
    found = outcome({"protocol": "restart"}, [tick(32)], limits={"makespan": 80}, receiver=receiver)
    assert not differences(found, in_ticks(makespan_s=80, duplicate_actions=1, lost_actions=0, stuck=True))


def test_a_worker_that_waits_for_its_lanes_can_be_given_up() -> None:
    # Async on a store slower than the steps: the run waits for its last saves from 67 to 100.
    found = outcome({"protocol": "async"}, [], limits={"makespan": 80}, store={"write": 25, "ack": 5})
    assert not differences(found, in_ticks(makespan_s=80, save_time_s=13, saves=3, crashes=0, stuck=True))


def test_a_run_of_steps_that_never_end_is_given_up() -> None:
    # Each step takes longer than all time that fits a tick, and several of them are no shorter.
    never = {"steps": [{"name": name, "work": 5e9} for name in "ABC"]}
    found = outcome(CHECKPOINT, [], workload=never, limits={"makespan": 80})
    assert not differences(
        found, in_ticks(makespan_s=80, lost_work_s=80, redone_steps=0, saves=0, stuck=True)
    )


def test_a_run_that_never_gets_anywhere_is_given_up_after_the_usual_number_of_attempts() -> None:
    # Every worker dies after 1 s: in the first, of A's work; in all others while loading, for 1.5 s.
    found = outcome(CHECKPOINT, [], crash={"process": "renewal", "law": 1})
    expected = in_ticks(
        crashes=1000, lost_work_s=1, downtime_s=999 * 8.5, makespan_s=1 + 999 * 8.5, stuck=True
    )
    assert not differences(found, expected)
