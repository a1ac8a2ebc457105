"""Figures show what the tables say, where nothing was seen too, and names do not cover each other."""

from dataclasses import replace
from itertools import combinations
from math import nan
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.font_manager import findfont, fontManager
from matplotlib.text import Text

from sim.estimate import BY_CAUSE
from sim.report import causes, frontier, look
from sim.report.figures import draw
from sim.study.config import load
from sim.study.errors import InputError

NAMES = [f"a system with quite a long name, number {number}" for number in range(13)]
TOTAL = "duplicates_per_million"

FIGURES = {
    "frontier": """kind = "frontier"\nx = "save_time_s"\ny = ["duplicates_per_million", "p_stuck"]
y_scale = "log"
""",
    "linear": 'kind = "frontier"\nx = "save_time_s"\nx_scale = "linear"\ny = ["duplicates_per_million"]',
    "along": f"""kind = "frontier"\nx = "save_time_s"\ny = ["duplicates_per_million"]\ny_scale = "log"
along = "store.write.median"\nstrategies = ["{NAMES[0]}", "{NAMES[1]}"]""",
    "causes": 'kind = "causes"\ny = ["lost_per_million"]\nwhere = { "store.write.median" = 0.1 }',
    "causes-of-one": f'kind = "causes"\nx = "store.write.median"\nstrategies = ["{NAMES[0]}"]',
    "plain-causes": 'kind = "causes"\nx_scale = "linear"',
    "bars": 'kind = "bar"\ny = ["p_stuck", "duplicates_per_million"]',
    "bars-over": 'kind = "bar"\nx = "store.write.median"\ny = ["p_stuck"]',
    "lines": 'x = "store.write.median"\ny = ["duplicates_per_million"]\ny_scale = "log"',
}


@pytest.fixture
def plan(project):
    def of(figures, names=NAMES):
        file = project / "experiments" / "tiny.toml"
        text = file.read_text().replace("'restart'", f"'{names[0]}'")
        begin, end = text.index("restart = {"), text.index("[sweep]")
        strategies = "".join(f'"{name}" = {{ protocol = "checkpoint" }}\n' for name in names)
        text = text[:begin] + strategies + "\n" + text[end : text.index("[[figures]]")]
        for name, keys in figures.items():
            text += f'[[figures]]\nname = "{name}"\ncaption = "c"\n{keys}\n'
        file.write_text(text)
        return load(file, project)

    return of


def table(plan, seed=1):
    """Make up estimates: from 0.1 to 100,000 per million, or none seen, or none for certain."""
    rng = np.random.default_rng(seed)
    rows = []
    for cell in plan.cells:
        for name in plan.experiment.strategies:
            rate, cause = 10 ** rng.uniform(-1, 5), list(BY_CAUSE)[rng.integers(3)]
            values = {
                TOTAL: rng.choice([rate, 0.0], p=[0.7, 0.3]),
                "lost_per_million": 0.0,
                "save_time_s": rng.uniform(0.1, 3.0),
                "p_stuck": rng.uniform(0, 0.1),
            }
            values |= {metric: values[TOTAL] * (of == cause) for of, metric in BY_CAUSE.items()}
            for metric, value in values.items():
                high = 1.2 * value if value else float(rng.choice([3.7, 0.0]))
                ends = {"low": 0.8 * value, "high": high}
                row = {"strategy": name, "metric": metric, "n": 9, "estimate": value, **ends}
                rows.append({**cell.factors, **row, "method": "gamma", "exact": nan})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_to_the_same_bytes_again_and_whatever_is_missing(plan, tmp_path, name):
    made = plan(FIGURES)
    figure = next(figure for figure in made.experiment.figures if figure.name == name)
    whole = table(made)
    nothing = whole[whole["metric"] == "crashes"]
    for case, estimates in {"whole": whole, "again": whole, "nothing": nothing}.items():
        colours = look.colours([made])[made.name]
        draw(made, figure, estimates, pd.DataFrame(), colours, tmp_path / f"{case}.svg")
    assert (tmp_path / "whole.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    assert (tmp_path / "nothing.svg").exists()


def drawn(made, estimates):
    figure = made.experiment.figures[0]
    if figure.kind == "causes":
        return causes.drawn(made, figure, estimates)
    return frontier.drawn(made, figure, estimates, look.colours([made])[made.name])


def written(canvas):
    """Give all texts of a figure, each as one line."""
    return [text.get_text().replace("\n", " ") for text in canvas.findobj(Text) if text.get_text()]


@pytest.mark.parametrize("seed", range(3))
def test_each_name_of_a_frontier_is_read_once_and_covers_no_other(plan, seed):
    made = plan({"f": FIGURES["frontier"]})
    canvas = drawn(made, table(made, seed))
    in_legend = [text.get_text() for text in canvas.legends[0].get_texts()]
    for axes in canvas.axes:
        beside = [text.get_text().replace("\n", " ") for text in axes.texts]
        assert set(NAMES) <= {*beside, *in_legend}
        assert len(beside) == len(set(beside)) > 9
        canvas.draw_without_rendering()
        boxes = [Text.get_window_extent(text) for text in axes.texts]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def of_four(plan, keys, values):
    """Draw four strategies, of (x, y) each."""
    made = plan({"f": keys}, ["a", "b", "c", "d"])
    rows = [
        {**cell.factors, "strategy": name, "metric": metric, "estimate": value, "low": value, "high": high}
        for cell in made.cells
        for name, (x, y, bound) in zip("abcd", values, strict=True)
        for metric, value, high in (("save_time_s", x, x), (TOTAL, y, bound))
    ]
    return drawn(made, pd.DataFrame(rows))


def test_the_front_joins_what_no_other_beats(plan):
    values = [(1.0, 50.0, 60.0), (2.0, 5.0, 6.0), (3.0, 20.0, 30.0), (4.0, 0.0, 3.0)]
    canvas = of_four(plan, FIGURES["linear"], values)
    front = next(line for line in canvas.axes[0].lines if line.get_label() == look.BEATEN_BY_NONE)
    assert front.get_xdata().tolist() == [1.0, 2.0, 4.0]
    assert front.get_ydata().tolist() == [50.0, 5.0, 0.0]


def test_on_a_logarithmic_axis_nothing_seen_stands_at_its_bound_and_nothing_at_all_at_the_end(plan):
    keys = FIGURES["linear"] + '\ny_scale = "log"'
    canvas = of_four(plan, keys, [(1.0, 50.0, 60.0), (2.0, 5.0, 6.0), (3.0, 0.0, 3.7), (4.0, 0.0, 0.0)])
    axes = canvas.axes[0]
    at = {
        float(line.get_xdata()[0]): float(line.get_ydata()[0])
        for line in axes.lines
        if len(line.get_xdata()) == 1
    }
    assert at == {1.0: 50.0, 2.0: 5.0, 3.0: 3.7, 4.0: axes.get_ylim()[0]}
    assert {look.UNSEEN, look.AT_THE_EDGE} <= {*written(canvas)}


def test_causes_that_occur_have_a_column_with_numbers(plan):
    made = plan({"f": 'kind = "causes"'}, ["a", "b"])
    values = {TOTAL: (1234.0, 0.0), BY_CAUSE["race"]: (1234.0, 0.0), BY_CAUSE["crash"]: (0.0, 0.0)}
    rows = [
        {
            **cell.factors,
            "strategy": name,
            "metric": metric,
            "estimate": value,
            "low": 0.9 * value,
            "high": high,
        }
        for cell in made.cells
        for metric, pair in values.items()
        for name, value, high in zip("ab", pair, (1300.0, 3.7), strict=True)
    ]
    canvas = drawn(made, pd.DataFrame(rows))
    assert [axes.get_title(loc="left") for axes in canvas.axes] == ["all duplicates", "race"]
    assert written(canvas).count("1,200") == 2
    assert {"a", "b", look.UNSEEN, "per million actions"} <= {*written(canvas)}
    assert [axes.get_xlim() for axes in canvas.axes] == [(1.0, 10_000.0)] * 2


def test_strategies_of_a_figure_differ_in_colour_or_marker(plan):
    made = plan({"f": FIGURES["lines"]}, [f"s{number}" for number in range(30)])
    colours = look.colours([made])[made.name]
    assert len({to_hex(colour) for colour in colours.values()}) == 30
    assert len(look.MARKERS) == len(set(look.MARKERS))
    first = [to_hex(colour) for colour in list(colours.values())[:2]]
    assert first == ["#0173b2", "#de8f05"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('kind = "frontier"\ny = ["p_stuck"]', "figures.0.x: a frontier needs x, a metric"),
        ('kind = "frontier"\nx = "store.write.median"\ny = ["p_stuck"]', "is no metric"),
        ('kind = "frontier"\nx = "saves"', "figures.0.y: must name at least one metric"),
        ('kind = "frontier"\nx = "saves"\ny = ["p_stuck"]\nalong = "store.ack"', "is no swept key"),
        ('kind = "bar"\ny = ["p_stuck"]\nalong = "store.write.median"', 'only a figure of kind = "frontier"'),
        ('kind = "causes"\ny = ["p_stuck"]', "'p_stuck' is no rate"),
        ('kind = "causes"\nx = "store.write.median"', "must name one strategy"),
        ('kind = "causes"\nwhere = { "store.ack" = 1.0 }', "is no swept key"),
        ('kind = "causes"\nwhere = { "store.write.median" = 7.0 }', "figures.0.where: no cell"),
        ("x = 'store.write.median'", "figures.0.y: must name at least one metric"),
    ],
)
def test_mistakes_in_figures_are_told(plan, keys, told):
    with pytest.raises(InputError) as error:
        plan({"f": keys})
    assert any(told in f"{problem.key}: {problem.sentence}" for problem in error.value.problems)


def test_letters_are_those_that_come_along_whatever_the_machine_has():
    assert Path(findfont("DejaVu Sans")).is_relative_to(mpl.get_data_path())
    assert all(Path(font.fname).is_relative_to(mpl.get_data_path()) for font in fontManager.ttflist)


def test_a_strategy_has_its_colour_under_any_name(plan, project):
    made = plan({"f": FIGURES["lines"]}, ["nothing", "save", "step by step"])
    file = project / "experiments" / "tiny.toml"
    text = file.read_text()
    nothing = '"nothing" = { protocol = "%s" }'
    file.write_text(text.replace(nothing % "checkpoint", nothing % "restart"))
    made = load(file, project)
    file.write_text(file.read_text().replace('"save"', '"each step"').replace('"step by step"', '"again"'))
    other = replace(load(file, project), name="other")
    colours = look.colours([other, made])
    assert colours["other"]["each step"] == colours[made.name]["save"]
    assert colours["other"]["again"] == colours[made.name]["step by step"]
    assert len({*colours["other"].values()}) == 3
