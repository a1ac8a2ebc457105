"""The crash-free marks that `sim.schedule` unfolds are those that the events engine passes, to the tick.

Run by run, for every strategy, with random times, on a fast store and on one slower than the steps, so
that lanes back up. What the engine passes is read from its log and, for saves, from its store.
"""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from engine_scenarios import STRATEGIES, build, random_parts

from sim.events import Block
from sim.events.rehearsal import Rehearsal, rehearse
from sim.outcomes import Log
from sim.program import LANE, unfold
from sim.schedule import Marks, crash_free
from sim.streams import Streams
from sim.ticks import NEVER

RUNS = 10
SLOW = {
    "write": {"law": "lognormal", "median": 25.0, "sigma": 0.7},
    "ack": {"law": "gamma", "mean": 4.0, "shape": 2.0},
}
EXPOSURE = {"work": 0.3, "write": 3.7, "drain": 2.0, "response": 0.0, "prepare": 10.0}
STORES = {"fast store": {}, "slow store": {"store": SLOW}}


def passed(run: Rehearsal, log: Log) -> dict[str, Any]:
    """What a run passes: start, sent, done, durable of each step, makespan and exposure."""
    steps = len(run.scenario.workload.steps)
    marks: dict[str, Any] = {name: [NEVER] * steps for name in ("start", "sent", "done", "durable")}
    now = exposure = 0
    for number, end in zip(log.phases, log.ends, strict=True):
        phase = run.block.program.phases[number]
        if marks["start"][phase.step] == NEVER:
            marks["start"][phase.step] = now
        if phase.name == "request":
            marks["sent"][phase.step] = now
        if phase.done:
            marks["done"][phase.step] = end
        if phase.resume >= 0:
            marks["durable"][phase.step] = run.durable[phase.id]
        exposure += int((end - now) * EXPOSURE.get(phase.name, 1.0))
        now = end
    return marks | {"makespan": log.makespan[0], "exposure": exposure}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_engine_passes_the_marks_of_the_schedule(name: str, number: int, store: str) -> None:
    parts = random_parts(number) | STORES[store]
    weighted = {"process": "uniform_time", "exposure": EXPOSURE}
    program = unfold(build(STRATEGIES[name], parts, crash="none"))
    draws = Streams(seed=7, block=number, size=RUNS)
    acts = program.draw_acts(draws)
    marks = crash_free(program, draws, acts)
    exposure = crash_free(unfold(build(STRATEGIES[name], parts, crash=weighted)), draws, acts).exposure
    block = Block(program, draws, program.scenario.crash.plan(draws, None))
    for replication in range(RUNS):
        log = Log()
        run = Rehearsal(block, replication, log)
        run.simulate()
        # A save that the run does not wait for can end after it; then it is durable nevertheless.
        expected = passed(run, log)
        for mark in ("start", "sent", "done", "durable"):
            found = getattr(marks, mark)[:, replication].tolist()
            assert found == expected[mark], f"{name}, scenario {number}, {store}, run {replication}: {mark}"
        assert marks.makespan[replication] == expected["makespan"], (
            f"{name}, {number}, {store}, {replication}"
        )
        assert exposure[replication] == expected["exposure"], f"{name}, {number}, {store}, {replication}"
        assert marks.acts[:, replication].tolist() == acts[replication].tolist()


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_rehearsal_finds_what_the_schedule_foresees(name: str) -> None:
    program = unfold(build(STRATEGIES[name], random_parts(1), crash="none"))
    draws = Streams(seed=7, block=1, size=RUNS)
    block = Block(program, draws, program.scenario.crash.plan(draws, None))
    found, foreseen = rehearse(block), crash_free(program, draws, block.acts)
    for mark in fields(Marks):
        assert (getattr(found, mark.name) == getattr(foreseen, mark.name)).all(), f"{name}: {mark.name}"


def test_lanes_do_back_up_on_the_slow_store() -> None:
    # Else the test above would not be about backlogs.
    program = unfold(build(STRATEGIES["async"], random_parts(0) | STORES["slow store"], crash="none"))
    draws = Streams(seed=7, block=0, size=RUNS)
    marks = crash_free(program, draws, program.draw_acts(draws))
    assert any(phase.name == LANE for phase in program.phases)
    overtaken = marks.durable[:-2] > marks.done[1:-1]
    assert overtaken.mean() > 0.5, "a save should end after the next one has begun, mostly"
    assert np.all(marks.makespan >= marks.durable.max(axis=0)), "the run waits for its saves"


def test_a_step_that_does_not_pass_a_mark_never_passes_it() -> None:
    program = unfold(build(STRATEGIES["restart"], random_parts(0, probabilities=(0.5,)), crash="none"))
    draws = Streams(seed=7, block=0, size=RUNS)
    acts = program.draw_acts(draws)
    marks = crash_free(program, draws, acts)
    assert acts.any()
    assert not acts.all()
    assert ((marks.sent < NEVER) == acts.T).all()
    assert (marks.durable == NEVER).all()
    assert (marks.done < NEVER).all()
