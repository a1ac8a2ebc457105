"""Saves behind the work: they take no time, and the risk stays, unless they are slower than the work."""

import numpy as np
import pytest
from oracle_judge import judge, sample
from oracle_scenarios import CHECKPOINT, fixture, poisson

from sim.theory import exact

ASYNC = {"protocol": "async"}


def pair(write, mean, n):
    """The same runs with saves waited for, and behind the work: the numbers behind both are the same."""
    parts = {"crash": poisson(mean), "store": {"write": write}}
    return [sample(fixture(strategy=strategy, **parts), n) for strategy in (CHECKPOINT, ASYNC)]


@pytest.mark.parametrize(("write", "mean"), [(2.0, 1000.0), (10.0, 300.0)])
def test_a_save_that_is_no_longer_than_the_next_step_leaves_the_risk_as_it_is(write, mean):
    """From ◆sent to ◆durable it is as long whether somebody waits or works: 10 s is the shortest step."""
    blocking, behind = pair(write, mean, 50_000)
    expected = exact(fixture(strategy=CHECKPOINT, crash=poisson(mean), store={"write": write}))["p_duplicate"]
    judge(behind, {"p_duplicate": expected})
    judge(blocking, {"p_duplicate": expected})
    assert (behind["save_time_s"] < blocking["save_time_s"]).all()
    assert behind["makespan_s"].mean() < blocking["makespan_s"].mean()


def test_a_backlog_is_a_longer_gap():
    """Saves of 60 s behind steps of 38 queue up, and what waits in the queue is not durable."""
    blocking, behind = pair(60.0, 1000.0, 20_000)
    more = (behind["duplicate_actions"] > 0).astype(int) - (blocking["duplicate_actions"] > 0)
    assert more.mean() > 5 * more.std() / np.sqrt(len(more))
    # Nor is any other work: without a backlog no more than the save's own time is.
    assert behind["redone_steps"].mean() > blocking["redone_steps"].mean()
