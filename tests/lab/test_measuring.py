"""What is measured and judged, by hand."""

from dataclasses import replace
from math import exp
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.lab import frameworks, postgres
from sim.lab.board import BEGIN, END
from sim.lab.judging import judge
from sim.lab.measuring import Latencies, Split, latencies, measured, probes, rival, split
from sim.lab.orders import Life, Report
from sim.lab.stores import Postgres
from sim.lab.translation import runs
from sim.lab.trial import Prediction
from sim.scenario import Scenario

MS = 1_000_000


def scenario(**more):
    steps = [{"name": f"step {n}", "work": 1.0} | ({"action": {}} if n % 2 else {}) for n in range(4)]
    given = {
        "workload": {"steps": steps},
        "strategy": {"protocol": "checkpoint"},
        "store": {"write": 0.05, "ack": 0.02},
        "receiver": {"request": 0.2, "response": 0.3},
    }
    return Scenario.model_validate(given | more)


def test_latencies_are_those_of_phases_that_were_not_cut():
    made = runs(scenario(), 1, 1, 0.01, "run")
    at = {(m.step, m.name): m.id for m in made.orders[0].moves}
    life = Life(woke=-4 * MS, loaded=0, resume=0, ended=60 * MS)
    life.notes = [
        (BEGIN, at[0, "work"], 0),
        (END, at[0, "work"], 11 * MS),
        (BEGIN, at[0, "write"], 11 * MS),
        (END, at[0, "write"], 13 * MS),
        (BEGIN, at[1, "work"], 13 * MS),
        (END, at[1, "work"], 24 * MS),
        (BEGIN, at[1, "request"], 24 * MS),
        (END, at[1, "response"], 32 * MS),
        (BEGIN, at[1, "write"], 32 * MS),
        (END, at[1, "write"], 36 * MS),
        (BEGIN, at[2, "work"], 36 * MS),
        (END, at[2, "work"], 47 * MS),
        (BEGIN, at[2, "write"], 47 * MS),
    ]
    report = Report("run-0", [life], performed=[(1, 27 * MS)])
    found = latencies(made, [report])
    assert found.load.tolist() == [0.004]
    assert found.request.tolist() == [0.003]
    assert found.response.tolist() == [0.005]
    assert found.save.tolist() == [0.002, 0.004]
    # Work of 11 ms three times, where 10 ms were drawn.
    assert found.stretch == pytest.approx(1.1)


def test_a_save_is_split_by_what_the_next_attempt_finds():
    made = probes(scenario(), "save", 3, 0.002, 0.01, "split")
    orders = {order.run: order for order in made.orders}
    write = next(m for m in made.orders[0].moves if (m.step, m.name) == (1, "write"))
    assert sorted(o.timer.offset_ns for o in orders.values()) == pytest.approx(
        [0.333333e6, 1e6, 1.666667e6], rel=1e-5
    )

    def report(run, resume, *notes):
        first = Life(woke=0, loaded=0, resume=0, killed=9 * MS, notes=list(notes))
        return Report(run, [first, Life(woke=10 * MS, loaded=11 * MS, resume=resume)])

    begun, over = (BEGIN, write.id, 5 * MS), (END, write.id, 6 * MS)
    found = split(
        made,
        [
            report("split-0", 0, begun),
            report("split-1", write.resume, begun),
            report("split-2", write.resume, begun, over),
        ],
    )
    assert found == Split(cut=2, lost=1)
    assert found.share == 0.5


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_prediction_is_the_closed_form(share):
    """Each action is repeated 1/E[exp(-rate × window)] - 1 times where the window is sent to durable."""
    rate, scale = 1 / 4.0, 0.01
    crash = {"process": "renewal", "law": {"law": "exponential", "mean": 1 / rate}}
    times = Latencies(
        request=np.array([0.002, 0.004]),
        response=np.array([0.005]),
        save=np.array([0.008]),
        delta=np.array([]),
        load=np.array([0.001]),
        stretch=1.0,
    )
    fed = measured(scenario(crash=crash), times, share, scale)
    window = [(request + 0.005 + share * 0.008) / scale for request in (0.002, 0.004)]
    exact = 2 * (1 / np.mean([exp(-rate * w) for w in window]) - 1)
    found = sim.simulate(fed, 20_000, seed=3)["duplicate_actions"]
    assert found.mean() == pytest.approx(exact, abs=4 * found.std() / 20_000**0.5)
    other = sim.simulate(rival(scenario(crash=crash), times, scale), 20_000, seed=3)["duplicate_actions"]
    exact = 2 * (exp(rate * 0.008 / scale) - 1)
    assert other.mean() == pytest.approx(exact, abs=4 * other.std() / 20_000**0.5)


def columns(duplicates, lost=0):
    n = len(duplicates)
    return {
        "duplicate_actions": np.array(duplicates),
        "lost_actions": np.array([lost] + [0] * (n - 1)),
        "crashes": np.full(n, 2),
    }


def prediction(mean, rival):
    return Prediction(scenario(), mean, 0.0, rival, 0.0)


def test_equal_takes_the_whole_interval_within_the_margin():
    # 1,000 runs, half with one duplicate: mean 0.5, standard error 0.0158; at seven conditions z is 2.69.
    half = columns([0, 1] * 500)
    found = judge("duplicates", half, prediction(0.5, 0.05), 0.25, 7)
    assert found.verdict == "equal within 25 %"
    assert found.rival_verdict == "rejected"
    assert (found.ratio_low, found.ratio_high) == pytest.approx((0.9184, 1.0889), abs=2e-4)
    assert judge("duplicates", half, prediction(0.41, 0.48), 0.25, 7).verdict == "undecided"
    assert judge("duplicates", half, prediction(0.3, 0.48), 0.25, 7).verdict == "not equal within 25 %"
    assert judge("duplicates", half, prediction(0.3, 0.48), 0.25, 7).rival_verdict == "not rejected"


def test_none_seen_is_an_upper_bound():
    none = columns([0] * 100)
    assert judge("no duplicate", none, prediction(0, 0), 0.25, 1).verdict == "none, at most 1.8 % of kills"
    assert judge("no duplicate", columns([0, 2]), prediction(0, 0), 0.25, 1).verdict == "2 seen"
    assert judge("no harm", columns([0, 0], lost=3), prediction(0, 0), 0.25, 1).verdict == "3 seen"
    assert judge("no duplicate", columns([0, 0], lost=3), prediction(0, 0), 0.25, 1).verdict.startswith(
        "none"
    )


def test_what_is_missing_is_told_with_how_to_get_it(monkeypatch):
    monkeypatch.setattr(frameworks, "_is_there", lambda package: False)
    assert (
        frameworks.missing("langgraph:sync") == "needs langgraph and langgraph.checkpoint.sqlite: make lab."
    )
    assert frameworks.missing("verbs") is None
    monkeypatch.setattr(postgres, "binaries", lambda: None)
    monkeypatch.delenv(postgres.ADDRESS, raising=False)
    missing = Postgres.missing()
    assert "make lab" in missing or "apt install postgresql" in missing


def test_orders_are_what_the_simulator_would_draw(tmp_path: Path):
    crash = {"process": "renewal", "clock": "host", "law": {"law": "exponential", "mean": 3.0}}
    made = runs(scenario(crash=crash), 3, seed=5, scale=0.01, name="run")
    moves = made.orders[1].moves
    assert [m.name for m in moves[:6]] == ["work", "write", "ack", "work", "request", "response"]
    assert moves[0].times_ns == (10_000_000,) * 8
    assert moves[4].times_ns[0] == 2_000_000
    (source,) = made.orders[1].sources
    twice = runs(scenario(crash=crash), 3, seed=5, scale=0.02, name="run").orders[1].sources[0]
    assert source.clock == "worker"
    assert np.allclose(np.array(twice.times_ns), 2 * np.array(source.times_ns), atol=2)
    assert replace(source, times_ns=()) != source
