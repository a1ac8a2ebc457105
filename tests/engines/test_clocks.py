"""The clocks on which workers die, worked out by hand: exposure by phase, hosts, one crash a run.

Where a law is random, the numbers that decide the crashes are told. The workload is that of `by_hand.md`,
the strategy checkpoint, so that a worker needs 10.75 s for A, 27.75 for B (20 of work, 7 for the call) and
30.75 for C, after 9 s of downtime of which 1.5 are spent loading.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from by_hand import CHECKPOINT, differences, in_ticks, outcome, scenario
from engine_scenarios import on_both

from sim.program import unfold
from sim.streams import Streams


class Told(Streams):
    """Random numbers of one replication of which those that decide crashes are told."""

    def __init__(self, tell: Callable[[Any], float]) -> None:
        super().__init__(seed=0, block=0, size=1)
        self.tell = tell

    def uniforms(self, *key: str | int) -> np.ndarray:
        return np.array([self.tell(key[1])]) if key[0] == "crash" else super().uniforms(*key)


def told(
    tell: Callable[[Any], float], crash: dict[str, Any], strategy: dict[str, Any] = CHECKPOINT, **more: Any
) -> dict[str, Any]:
    columns = on_both(unfold(scenario(strategy, [], crash=crash, **more)), lambda: Told(tell))
    return {name: column[0] for name, column in columns.items()}


def lives(*hazards: float) -> Callable[[Any], float]:
    """Lives by the cumulative hazard that each uses up, such as multiples of an exponential law's mean."""
    return lambda k: -np.expm1(-hazards[k]) if k < len(hazards) else 1 - 1e-9


# ---------------------------------------------------------------------------------------- exposure by phase


def test_a_phase_weighs_on_the_clock_of_the_crash() -> None:
    # A worker lives 45 s of exposure; a second of write counts 10, of load 4.
    # First: A 10 + 5 + 0.25, B 27, which leaves 2.75 for B's write at 37.75: crash 0.275 s later, at 38.025.
    # Second: load 6, B 27 + 5 + 0.25, C 6.75: crash 34.5 s after it began to work at 47.025, at 81.525.
    # Third: load 6, C 30 + 5 + 0.25 < 45; it began to work at 90.525.
    crash = {"process": "renewal", "law": 45, "exposure": {"write": 10, "load": 4}}
    expected = in_ticks(
        crashes=2,
        redone_steps=1,
        duplicate_actions=1,
        lost_work_s=6.75,
        saves=4,
        save_time_s=2.525,
        downtime_s=18,
        makespan_s=90.525 + 30.75,
        action_crashes=1,
        gap_crashes=1,
        gap_crashes_after_done=1,
    )
    assert not differences(outcome(CHECKPOINT, [], crash=crash), expected)


def test_no_crash_strikes_a_phase_without_weight() -> None:
    # A worker lives 8 s of exposure; work and load count nothing.
    # First: A 0.75, B's call 7, and 0.25 s into B's write: crash at 38.
    # Second: B's call 7 and its save 0.75, and 0.25 s into C's write: crash 58 s after 47, at 105.
    # Third: C's save 0.75; it began to work at 114.
    crash = {"process": "renewal", "law": 8, "exposure": {"work": 0, "load": 0}}
    expected = in_ticks(
        crashes=2,
        redone_steps=2,
        duplicate_actions=1,
        lost_work_s=0,
        saves=5,
        save_time_s=2.75,
        downtime_s=18,
        makespan_s=114 + 30.75,
        action_crashes=1,
        gap_crashes=1,
        gap_crashes_after_done=1,
    )
    assert not differences(outcome(CHECKPOINT, [], crash=crash), expected)


def test_a_life_that_is_used_up_at_the_end_of_a_phase_ends_in_the_next_one_that_has_weight() -> None:
    # A worker lives 1 s of exposure; write and prepare count twice, work, load and ack nothing. The first has
    # used it up when A is durable, at 10.5, and dies when B prepares, at 30.75. The others die 0.5 s into B's
    # preparation, 20.5 s after the load.
    exposure = {"write": 2, "prepare": 2, "work": 0, "load": 0, "ack": 0}
    crash = {"process": "renewal", "law": 1, "exposure": exposure}
    expected = in_ticks(
        crashes=3,
        action_crashes=3,
        gap_crashes=0,
        saves=1,
        makespan_s=30.75 + 2 * (9 + 20.5),
        lost_work_s=20 + 2 * 20.5,
        stuck=True,
    )
    assert not differences(outcome(CHECKPOINT, [], crash=crash, limits={"attempts": 3}), expected)


@pytest.mark.parametrize(("weight", "died"), [(1.0, 37.75), (0.999999, 37.750005), (1.000001, 37.749995)])
def test_a_life_ends_where_its_weighted_exposure_is_used_up(weight: float, died: float) -> None:
    # A worker lives 37.75 s, that is until B is done. 5 s of B's call weigh a millionth more, so that it dies
    # 5 us before that, or less, so that it dies 5 us after that, in B's save; give or take a tick.
    crash = {"process": "renewal", "law": 37.75, "exposure": {"prepare": weight, "response": weight}}
    found = outcome(CHECKPOINT, [], crash=crash, limits={"attempts": 1})
    assert found["gap_crashes_after_done"] == (died >= 37.75)
    assert found["makespan_s"] == pytest.approx(died, abs=1.5e-9, rel=0)


# ------------------------------------------------------------------------------------------- lives of workers


def test_a_process_clock_begins_anew_with_each_worker_and_load_ages_it() -> None:
    # A worker lives 36 s. First: A, and 25.25 s of B, sent at 31.75 (lost); crash at 36. Second, from 43.5:
    # load 1.5, B 27.75, 6.75 s of C (lost); crash at 79.5. Third: load 1.5, C 30.75 < 36, until 119.25.
    expected = in_ticks(
        crashes=2,
        duplicate_actions=1,
        redone_steps=0,
        lost_work_s=32,
        makespan_s=119.25,
        downtime_s=18,
        action_crashes=1,
        gap_crashes=1,
    )
    assert not differences(outcome(CHECKPOINT, [], crash={"process": "renewal", "law": 36}), expected)


# H(t) = sqrt(t / 8): the hazards 1, 2, 3, 4 are reached at an age of 8, 32, 72, 128 s.
INFANT = {"law": "weibull", "shape": 0.5, "mean": 16.0}


def test_a_host_that_no_crash_renews_ages_on_through_restarts() -> None:
    # Crash at 8 (lost 8). Up at 15.5 for 24 s: load 1.5, A 10.75, B 11.75 (lost); crash at 39.5. Up at 47 for
    # 40 s: load 1.5, B 27.75, C 10.75 (lost); crash at 87. Up at 94.5 for 56 s: load 1.5, C until 126.75.
    crash = {"process": "renewal", "clock": "host", "renew": "never", "law": INFANT}
    expected = in_ticks(
        crashes=3, lost_work_s=30.5, redone_steps=0, downtime_s=27, makespan_s=126.75, action_crashes=1
    )
    assert not differences(told(lives(1, 1, 1, 1), crash), expected)


@pytest.mark.parametrize("clock", ["host", "process"])
def test_a_host_that_a_crash_renews_is_as_young_again_as_a_new_worker(clock: str) -> None:
    # 8 s each: crash at 8 (lost 8); up at 15.5, load 1.5, A 6.5 (lost), crash at 23.5; up at 31, crash at 39.
    crash = {"process": "renewal", "clock": clock, "law": INFANT}
    expected = in_ticks(crashes=3, lost_work_s=21, makespan_s=39, stuck=True)
    assert not differences(told(lives(1, 1, 1), crash, limits={"attempts": 3}), expected)


EXPONENTIAL = {"law": "exponential", "mean": 10.0}


@pytest.mark.parametrize("renew", ["crash", "never"])
def test_a_host_that_ages_in_downtime_can_fail_while_nobody_works(renew: str) -> None:
    # Lives of 20, 5 and 15.25 s. At 20: B, after 9.25 s. At 25: nobody works before 27.5. At 40.25: B, which
    # began at 29, after 11.25 s. B from 49.25 on: 58.5 s.
    crash = {
        "process": "renewal",
        "clock": "host",
        "ages_in_downtime": True,
        "renew": renew,
        "law": EXPONENTIAL,
    }
    expected = in_ticks(crashes=2, lost_work_s=20.5, downtime_s=18, makespan_s=107.75, action_crashes=2)
    assert not differences(told(lives(2, 0.5, 1.525), crash), expected)


@pytest.mark.parametrize("renew", ["crash", "never"])
def test_a_host_that_stands_still_in_downtime_fails_only_while_somebody_works(renew: str) -> None:
    # The same lives. At 20: B, after 9.25 s. Up at 27.5 for 5 s: load 1.5, B 3.5; crash at 32.5. Up at 40 for
    # 15.25 s: load 1.5, B 13.75; crash at 55.25. B from 64.25 on: 58.5 s.
    crash = {"process": "renewal", "clock": "host", "renew": renew, "law": EXPONENTIAL}
    expected = in_ticks(crashes=3, lost_work_s=26.5, downtime_s=27, makespan_s=122.75, action_crashes=3)
    assert not differences(told(lives(2, 0.5, 1.525), crash), expected)


def test_a_host_that_fails_on_the_tick_at_which_a_worker_is_there_again_kills_it() -> None:
    # Lives of 20, 7.5 and 40 s: at 20, at 27.5 while loading for 0 s, at 67.5. B from 36.5 on, C from 64.25,
    # 3.25 s of it lost, and from 76.5 on.
    crash = {"process": "renewal", "clock": "host", "ages_in_downtime": True, "law": EXPONENTIAL}
    expected = in_ticks(
        crashes=3, lost_work_s=12.5, downtime_s=7.5 + 9 + 9, makespan_s=107.25, action_crashes=1
    )
    assert not differences(told(lives(2, 0.75, 4), crash), expected)


# ------------------------------------------------------------------------------------------- one crash a run


def test_a_crash_that_is_uniform_in_time_is_uniform_in_exposure() -> None:
    # Exposure of the run: work 60, call 7, acks 0.75, and writes of 1.5 s that count 10: 82.75, of which half
    # is 41.375, that is A's 15.25, B's work 20 and 6.125 s of its call: at 36.875. B from 45.875 on: 58.5 s.
    crash = {"process": "uniform_time", "exposure": {"write": 10}}
    expected = in_ticks(crashes=1, duplicate_actions=1, gap_crashes=1, makespan_s=104.375)
    assert not differences(told(lambda _: 0.5, crash), expected)


@pytest.mark.parametrize(
    ("strategy", "end"), [("restart", 67), ("checkpoint", 69.25), ("async", 67.75), ("intent_query", 70)]
)
def test_a_crash_that_is_uniform_in_time_comes_in_every_run_before_its_end(strategy: str, end: float) -> None:
    found = told(lambda _: 1 - 2**-53, {"process": "uniform_time"}, {"protocol": strategy})
    first = told(lambda _: 0.0, {"process": "uniform_time"}, {"protocol": strategy})
    assert found["crashes"] == 1, "on the last tick of the run"
    # The crash comes at the last tick, 9 s of downtime, and the rest; at the first tick everything remains.
    assert not differences(first, in_ticks(crashes=1, makespan_s=9 + end))


# The uniforms told: which step, whether in the gap (below the share of 1/2), where within.
UNIFORM_STEP = {
    "half way in A, [0, 10)": ((0.0, 0.0, 0.5), in_ticks(lost_work_s=5, makespan_s=5 + 9 + 69.25)),
    "half way to B's sending, [10.75, 31.75)": (
        (0.5, 0.5, 0.5),
        in_ticks(lost_work_s=10.5, action_crashes=1, gap_crashes=0, makespan_s=21.25 + 9 + 58.5),
    ),
    "half way in B's gap after done, [37.75, 38.25)": (
        (0.5, 0.25, 0.5),
        in_ticks(
            redone_steps=1,
            duplicate_actions=1,
            lost_work_s=0,
            gap_crashes_after_done=1,
            makespan_s=38 + 9 + 58.5,
        ),
    ),
    "the first tick of B's gap": (
        (0.5, 0.25, 0.0),
        in_ticks(redone_steps=1, duplicate_actions=1, gap_crashes_after_done=1, makespan_s=37.75 + 9 + 58.5),
    ),
    "half way in C, [38.5, 68.5)": ((0.9, 0.0, 0.5), in_ticks(lost_work_s=15, makespan_s=53.5 + 9 + 30.75)),
}


def uniform_step(step: float, gap: float, within: float, strategy: dict[str, Any]) -> dict[str, Any]:
    told_numbers = {"step": step, "gap": gap, "within": within}
    return told(lambda name: told_numbers[name], {"process": "uniform_step", "gap_share": 0.5}, strategy)


@pytest.mark.parametrize("where", UNIFORM_STEP)
def test_the_crash_at_a_uniform_step_comes_where_it_should(where: str) -> None:
    numbers, expected = UNIFORM_STEP[where]
    wrong = differences(uniform_step(*numbers, CHECKPOINT), expected | {"crashes": 1})
    assert not wrong, f"{where}: {wrong}"


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        # Restart: B is done at 37; A and B again, nothing is lost.
        ("restart", in_ticks(redone_steps=2, duplicate_actions=1, lost_work_s=0, makespan_s=37 + 9 + 67)),
        # Save first: B is done at 38.5, and durable long since: nothing is redone.
        (
            "save_first",
            in_ticks(redone_steps=0, duplicate_actions=0, lost_work_s=0, makespan_s=38.5 + 9 + 30.75),
        ),
    ],
)
def test_without_a_save_after_the_action_the_crash_in_the_gap_comes_when_it_is_done(
    strategy: str, expected: dict[str, Any]
) -> None:
    found = uniform_step(0.5, 0.0, 0.9, {"protocol": strategy})
    assert not differences(found, expected | {"crashes": 1})


def test_a_save_behind_the_work_has_the_gap_of_a_crash_at_a_uniform_step_too() -> None:
    # Async: B is done at 37 and durable at 37.5; half way C has worked for 0.25 s. B from 46.25 on: 57.75 s.
    found = uniform_step(0.5, 0.0, 0.5, {"protocol": "async"})
    assert not differences(
        found, in_ticks(redone_steps=1, duplicate_actions=1, lost_work_s=0.25, makespan_s=46.25 + 57.75)
    )
