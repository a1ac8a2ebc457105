"""Assumptions are ranked by how far they move a number, and what intervals do not tell apart is no move."""

from math import nan

import pandas as pd
import pytest

from sim.report import sensitivity
from sim.study.config import load

FILE = """
[[sweeps]]
"store.write.median" = [0.25, 0.5, 1.0]
[[sweeps]]
"receiver.response" = [0.25, 0.5]
[[sweeps]]
"crash.law" = [{ law = "exponential", mean = 30.0 }, { law = "weibull", mean = 30.0, shape = 0.5 }]
[[tables]]
kind = "sensitivity"
title = "Moves"
of = [{ metric = "p_duplicate", strategy = "restart" }, { metric = "makespan_s", strategy = "checkpoint" }]
labels = { "store.write.median" = "median write, s" }
[[figures]]
name = "moves"
kind = "sensitivity"
caption = "c"
"""


@pytest.fixture
def plan(project):
    file = project / "experiments" / "tiny.toml"
    text = file.read_text()
    text = text.replace(
        '{ process = "uniform_time" }', '{ process = "renewal", law = { law = "exponential", mean = 30.0 } }'
    )
    file.write_text(text[: text.index("[sweep]")] + FILE)
    return load(file, project)


def table(plan, values):
    """Estimates ± 1 %: 0.1 and 100.0 but for what is given by (key, value, metric)."""
    rows = []
    for cell in plan.cells:
        for strategy in ("restart", "checkpoint"):
            for metric, at_base in (("p_duplicate", 0.1), ("makespan_s", 100.0)):
                found = next(
                    (
                        value
                        for (key, at, of), value in values.items()
                        if str(cell.factors[key]) == at and of == metric
                    ),
                    at_base,
                )
                ends = {"low": 0.99 * found, "high": 1.01 * found}
                row = {"strategy": strategy, "metric": metric, "n": 9, "estimate": found, **ends}
                rows.append({**cell.factors, **row, "method": "t", "exact": nan})
    return pd.DataFrame(rows)


def test_the_farthest_move_comes_first_and_what_is_not_told_is_none(plan):
    estimates = table(
        plan,
        {
            ("store.write.median", "0.25", "p_duplicate"): 0.05,
            ("store.write.median", "1.0", "p_duplicate"): 0.2,
            ("store.write.median", "1.0", "makespan_s"): 101.0,
            ("crash.law", "weibull mean 30 shape 0.5", "p_duplicate"): 0.3,
        },
    )
    found = sensitivity.table(plan, plan.experiment.tables[0], estimates)
    assert found.heads[3:] == ["runs with a duplicate action: restart", "makespan, s: checkpoint"]
    assert found.rows == [
        ["crash.law", "exponential mean 30", "weibull mean 30 shape 0.5", "1 to × 3.00", "≈ 1"],
        ["median write, s", "0.5", "0.25, 1", "× 0.500 to × 2.00", "≈ 1"],
        ["receiver.response", "0.5", "0.25", "≈ 1", "≈ 1"],
    ]
    kinds = [
        [move.kind for move in each.moves[0]]
        for each in sensitivity.assumptions(plan, plan.experiment.tables[0], estimates)
    ]
    assert kinds == [[sensitivity.OTHER], [sensitivity.LESS, sensitivity.MORE], [sensitivity.LESS]]


def test_nothing_at_the_base_is_moved_without_bound(plan):
    estimates = table(plan, {("crash.law", "exponential mean 30", "p_duplicate"): 0.0})
    first = sensitivity.assumptions(plan, plan.experiment.tables[0], estimates)[0]
    assert first.name == "crash.law"
    assert sensitivity.table(plan, plan.experiment.tables[0], estimates).rows[0][3] == "1 to × ∞"


def test_the_figure_shows_what_the_table_says(plan):
    canvas = sensitivity.drawn(
        plan, plan.experiment.sensitivity, table(plan, {("store.write.median", "1.0", "p_duplicate"): 0.25})
    )
    first, second = canvas.axes
    assert first.get_yticklabels()[0].get_text() == "median write, s"
    points = {tuple(line.get_xydata()[0]) for line in first.lines if len(line.get_xdata()) == 1}
    assert any(point == pytest.approx((2.5, 0.0)) for point in points)
    assert all(line.get_xdata()[-1] == pytest.approx(1.0, abs=0.02) for line in second.lines)


def test_such_a_figure_needs_such_a_table(plan, project):
    file = project / "experiments" / "tiny.toml"
    text = file.read_text()
    file.write_text(text[: text.index("[[tables]]")] + text[text.index("[[figures]]") :])
    with pytest.raises(Exception, match="takes its headlines from"):
        load(file, project)
