"""1.10: lifetimes renewed at each restart, of a law whose hazard falls or rises, from any age."""

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import CHECKPOINT, RESTART, SAVE_FIRST, every, fixture, poisson

from sim.theory import exact

WEIBULL = {"process": "renewal", "law": {"law": "weibull", "mean": 1000.0, "shape": 0.7}}
DOWNTIME = {"detection": 30.0}
METRICS = ("redone_steps", "p_duplicate", "makespan_s")
ENGINES = [("timeline", 200_000), pytest.param("events", 20_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("engine", "n"), ENGINES)
@pytest.mark.parametrize(
    ("strategy", "start", "row"),
    [
        (RESTART, "fresh", (4.2552, 0.3394, 641.18)),
        (CHECKPOINT, "fresh", (0.036754, 0.015257, 520.72)),
        (CHECKPOINT, "equilibrium", (0.022907, 0.010389, 505.40)),
    ],
)
def test_falling_hazard(strategy, start, row, engine, n):
    case = fixture(strategy=strategy, crash=WEIBULL | {"start": start}, downtime=DOWNTIME)
    theory = exact(case)
    assert [theory[metric] for metric in METRICS] == pytest.approx(row, rel=5e-5)
    judge(sample(case, n, engine=engine), theory)


@pytest.mark.parametrize("engine", ["timeline", pytest.param("events", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("law", "start"),
    [
        ({"law": "weibull", "mean": 400.0, "shape": 1.6}, 700.0),
        ({"law": "weibull", "mean": 400.0, "shape": 0.6}, 700.0),
        ({"law": "lognormal", "median": 200.0, "sigma": 1.0}, "equilibrium"),
        ({"law": "gamma", "mean": 300.0, "shape": 3.0}, 250.0),
        ({"law": "uniform", "low": 50.0, "high": 900.0}, "equilibrium"),
    ],
)
@pytest.mark.parametrize("strategy", [every(3), SAVE_FIRST])
def test_starts(strategy, law, start, engine):
    """Only the first life is another: those after it are whole, through loads and saves."""
    case = fixture(
        strategy=strategy,
        crash={"process": "renewal", "clock": "host", "law": law, "start": start},
        store={"write": 20.0, "ack": 15.0},
        receiver={"prepare": 8.0, "request": 3.0},
        downtime={"detection": 10.0, "load": 60.0},
    )
    theory = exact(case)
    assert theory["makespan_s"] != pytest.approx(exact(_fresh(case))["makespan_s"], rel=1e-2)
    judge(sample(case, 5_000 if engine == "events" else 20_000, engine=engine), theory)


def _fresh(case):
    return case.model_copy(update={"crash": case.crash.model_copy(update={"start": "fresh"})})


def test_no_age_is_fresh():
    fresh, new = (
        exact(fixture(strategy=every(3), crash=WEIBULL | {"start": start})) for start in ("fresh", 0.0)
    )
    assert new == pytest.approx(fresh, rel=1e-12)


@pytest.mark.parametrize("start", ["equilibrium", 500.0])
@pytest.mark.parametrize(
    "ages", [{}, {"clock": "host", "renew": "never"}, {"clock": "host", "ages_in_downtime": True}]
)
def test_memoryless_lives_have_no_age(start, ages):
    fresh, old = (
        exact(fixture(strategy=CHECKPOINT, crash=poisson(500.0) | clock))
        for clock in (ages, ages | {"start": start})
    )
    assert fresh
    assert old == fresh


@pytest.mark.parametrize(
    "crash",
    [
        {"clock": "host", "renew": "never", "start": 500.0},
        {"clock": "host", "ages_in_downtime": True, "start": "equilibrium"},
        {"exposure": {"write": 2.0}, "start": 500.0},
        {"law": {"law": "uniform", "low": 1.0, "high": 50.0}},
        {"law": {"law": "uniform", "low": 1.0, "high": 50.0}, "start": "equilibrium"},
        {"law": 5000.0, "start": "equilibrium"},
    ],
)
def test_silence(crash):
    assert exact(fixture(strategy=CHECKPOINT, crash=WEIBULL | crash)) == {}
