"""The words of an answer say what the table says, and the cost words what the costs say, by hand."""

from math import nan

import pandas as pd
import pytest

from sim.report.answers import Answers, check_answer, swept_along
from sim.report.costs import cheapest, meet
from sim.study.config import load
from sim.study.errors import InputError

STRATEGIES = """
again = { protocol = "restart" }
saves = { protocol = "checkpoint" }
"saves first" = { protocol = "save_first" }
keys = { protocol = "checkpoint", key = "run_step" }
"""

VALUES = {
    "duplicate_actions": [0.5, 0.02, 0.0, 0.0],
    "lost_actions": [0.0, 0.0, 0.01, 0.002],
    "p_stuck": [0.1, 0.0, 0.0, 0.0],
    "p_duplicate": [0.4, 0.02, 0.0, 0.0],
    "duplicates_per_million": [123_456.7, 1_234.5, 0.0, 0.0],
    "spacing_s_p50": [30.0, 4.0, nan, nan],
}


@pytest.fixture
def plan(project):
    file = project / "experiments" / "tiny.toml"
    text = file.read_text().replace("'restart'", "'again'")
    begin, end = text.index("restart = {"), text.index("[sweep]")
    file.write_text(text[:begin] + STRATEGIES + text[end:])
    return lambda answer: load_with(file, project, answer)


def load_with(file, project, answer):
    lines = [
        f"answer = '''{answer}'''" if line.startswith("answer = ") else line
        for line in file.read_text().splitlines()
    ]
    file.write_text("\n".join(lines))
    return load(file, project)


@pytest.fixture
def say(plan):
    """Fill in a template from the made-up values; in the other cell all are three times as large."""

    def filled(template):
        made = plan(template)
        check_answer(made)
        rows = [
            {"store.write.median": write, "strategy": name, "metric": metric, "n": 10, "estimate": value * k}
            for write, k in ((0.5, 1), (0.1, 3))
            for metric, values in VALUES.items()
            for name, value in zip(made.experiment.strategies, values, strict=True)
        ]
        table = pd.DataFrame(rows).assign(low=0.0, high=12.0, method="t", exact=nan)
        return " ".join(Answers(made, table, pd.DataFrame()).render(made.experiment.answer))

    return filled


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ best('p_duplicate') }}", "saves first and keys"),
        ("{{ best('duplicate_actions', among=['again', 'saves']) }}", "saves"),
        ("{{ best('duplicate_actions', most=true) }}", "again"),
        ("{{ best('spacing_s_p50') }}", "saves"),
        ("{{ best('spacing_s_p50', among=['keys']) }}", "none"),
        (
            "{{ order('p_stuck', among=['again', 'saves'], most=true) }}",
            "again: 10.0 %; saves: 0 % (at most 1,200 %)",
        ),
        (
            "{{ order('duplicates_per_million') }}",
            "saves first: 0 (at most 12); keys: 0 (at most 12); saves: 1,230; again: 123,000 per million",
        ),
        ("{{ order('spacing_s_p50') }}", "saves: 4.00; again: 30.0"),
        ("{{ number(times('p_duplicate', 'again', 'saves')) }}", "20.0"),
        ("{{ number(times('p_duplicate', 'again', 'keys')) }}", "∞"),
        ("{{ number(times('p_duplicate', 'saves first', 'keys')) }}", "unknown"),
        ("{{ est('duplicates_per_million', 'saves') }}", "1,230 per million"),
        ("{{ est('duplicates_per_million', 'keys') }}", "0 per million (at most 12)"),
        ("{{ per_million(est('duplicates_per_million', 'saves'), 5) }}", "1,234.5 per million"),
        (
            "{{ span('duplicates_per_million', 'saves', along='store.write.median') }}",
            "1,230 to 3,700 per million",
        ),
        (
            "{{ est('duplicates_per_million', 'saves', {'store.write.median': 0.1}) }}",
            "3,700 per million",
        ),
        ("{{ least_at('p_duplicate', 'saves', along='store.write.median') }}", "0.5"),
        ("{{ least_at('p_duplicate', 'saves', along='store.write.median', most=true) }}", "0.1"),
        ("{{ least_at('p_duplicate', 'keys', along='store.write.median') }}", "0.1"),
        ("{{ least_at('spacing_s_p50', 'keys', along='store.write.median') }}", "None"),
        ("{{ best_at_costs(duplicate=1) }}", "saves first and keys"),
        ("{{ best_at_costs(duplicate=1, loss=8) }}", "keys"),
        ("{{ best_at_costs(duplicate=1, loss=11) }}", "saves"),
        ("{{ best_at_costs(loss=1, stuck=1) }}", "saves"),
        ("{{ best_at_costs(loss=1, stuck=0) }}", "again and saves"),
        ("{{ cost_switch('saves', 'keys') }}", "10.0"),
        ("{{ cost_switch('again', 'keys') }}", "250"),
        ("{{ cost_switch('again', 'keys', stuck=5) }}", "500"),
        ("{{ cost_switch('again', 'saves') }}", "never"),
        ("{{ cost_switch('keys', 'saves first') }}", "never"),
        ("{{ best_by_cost_ratio() }}", "keys below 10.0, saves above 10.0"),
        (
            "{{ best_by_cost_ratio(among=['again', 'saves first']) }}",
            "saves first below 50.0, again above 50.0",
        ),
        ("{{ best_by_cost_ratio(among=['saves first', 'keys']) }}", "keys at every ratio"),
    ],
)
def test_words(say, template, said):
    assert say(template) == said


def test_sweeps_that_hold_an_axis_at_one_value_are_not_along_it(project):
    file = project / "experiments" / "tiny.toml"
    sweep = """[[sweeps]]
"store.ack" = [0.3, 0.4]
"store.write.median" = [0.1]
[[sweeps]]
"store.write.median" = [0.2, 0.4]
"store.ack" = [0.1, 0.2]
[[sweeps]]
"store.write.median" = [0.8]
"""
    text = file.read_text()
    begin, end = text.index("[sweep]"), text.index("[[figures]]")
    file.write_text(text[:begin] + sweep + text[end:])
    made = load(file, project)
    shown = [
        (cell["store.write.median"], cell["store.ack"]) for cell in swept_along(made, "store.write.median")
    ]
    assert shown == [(0.2, 0.1), (0.4, 0.1)]
    assert [cell["store.ack"] for cell in swept_along(made, "store.ack")] == [0.3, 0.4, 0.1, 0.2]


@pytest.mark.parametrize(
    "template", ["{{ best('p_dup') }}", "{{ times('p_duplicate', 'again', 'nobody') }}", "{{ order() }}"]
)
def test_what_is_not_there_is_refused_before_anything_runs(plan, template):
    with pytest.raises(InputError, match="cannot be filled in"):
        check_answer(plan(template))


def test_the_lowest_of_lines():
    # At 0 a and d are lowest, and of these d from there on; c passes below it at 2, b below c at 4.
    lines = {"a": (0.0, 5.0), "b": (10.0, 0.0), "c": (6.0, 1.0), "d": (0.0, 4.0), "e": (9.0, 1.0)}
    assert cheapest(lines) == [(0.0, ["d"]), (2.0, ["c"]), (4.0, ["b"])]
    for ratio in (0.5, 1.9, 2.1, 3.9, 4.1, 1000.0):
        best = min(lines, key=lambda name: lines[name][0] + ratio * lines[name][1])
        assert [names for at, names in cheapest(lines) if at <= ratio][-1] == [best]
    assert cheapest({"a": (1.0, 0.1 + 0.2), "b": (1.0, 0.3)}) == [(0.0, ["a", "b"])]
    assert meet((1.0, 0.0), (0.0, 2.0)) == meet((0.0, 2.0), (1.0, 0.0)) == 0.5
    assert meet((1.0, 1.0), (0.0, 0.0)) is meet((1.0, 1.0), (2.0, 1.0)) is None
