"""The map of what is worth it: borders, bands and words are what they are by hand."""

import re
from math import nan
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from sim.report.answers import Answers, check_answer
from sim.report.figures import draw
from sim.report.look import colours
from sim.report.worth import Points
from sim.study.config import load
from sim.study.errors import InputError

NAMES = ("bare", "saved", "keyed")
MAP = """
[[figures]]
name = "map"
kind = "map"
x = "crash.law.mean"
prices = { keyed = 0.5 }
costs = [1.0, 10000.0]
caption = "c"
"""
FILE = """
title = "T"
question = "Q?"
answer = '''{{ best_on_map("map") }}'''
seed = 1
replications = 10
headline = ["duplicate_actions", "makespan_s"]
contrasts = [["bare", "saved"], ["keyed", "bare"], ["saved", "keyed"]]

[scenario]
workload = "tiny"
crash = { process = "renewal", law = { law = "exponential", mean = 100.0 } }

[strategies]
bare = { protocol = "restart" }
saved = { protocol = "checkpoint" }
keyed = { protocol = "restart", key = "run_step" }

[sweep]
"crash.law.mean" = [100.0, 10000.0]
"""

# At 100 s and at 10,000 s.
TIMES = {"bare": (12.0, 10.0), "saved": (10.0, 11.0), "keyed": (12.0, 10.0)}
OFTEN = {"bare": (0.4, 0.004), "saved": (0.1, 0.001), "keyed": (0.0, 0.0)}


@pytest.fixture
def plan(project):
    def of(figure=MAP, file=FILE):
        path = project / "experiments" / "e.toml"
        path.write_text(file + figure)
        return load(path, project)

    return of


def tables(reach=0.1, exact=nan):
    """Make up estimates, and contrasts that reach so far, s or duplicates, below and twice as far above."""
    estimates, contrasts = [], []
    for number, mean in enumerate((100.0, 10_000.0)):
        values = {
            "makespan_s": {name: line[number] for name, line in TIMES.items()},
            "duplicate_actions": {name: line[number] for name, line in OFTEN.items()},
        }
        for metric, of in values.items():
            size = reach * (0.01 if metric == "duplicate_actions" else 1.0)
            for name in NAMES:
                row = {"strategy": name, "metric": metric, "estimate": of[name], "exact": exact}
                estimates.append({"crash.law.mean": mean, **row})
            for first, second in (("bare", "saved"), ("keyed", "bare"), ("saved", "keyed")):
                apart = of[second] - of[first]
                row = {"first": first, "second": second, "metric": metric, "difference": apart}
                ends = {"low": apart - size, "high": apart + 2 * size}
                contrasts.append({"crash.law.mean": mean, **row, **ends})
    return pd.DataFrame(estimates), pd.DataFrame(contrasts)


def points(plan, reach=0.1, exact=nan):
    made = plan()
    return Points(made, made.experiment.figures[0], *tables(reach, exact))


def test_costs_are_time_and_price_and_duplicates(plan):
    cost = points(plan).costs(np.array([100.0, 1000.0, 10_000.0]), np.array([1.0, 10.0]))
    assert cost.shape == (3, 2, 3)
    assert cost[:, 0, 0].tolist() == pytest.approx([12.4, 10.1, 12.5])
    assert cost[:, 1, 0].tolist() == pytest.approx([16.0, 11.0, 12.5])
    # Half-way in the logarithm: time 11 and 10.5, a tenth of the duplicates.
    assert cost[:, 1, 1].tolist() == pytest.approx([11.4, 10.6, 11.5])
    assert cost[:, 1, 2].tolist() == pytest.approx([10.04, 11.01, 10.5])


def test_a_border_is_where_two_cost_the_same(plan):
    x, y = np.array([100.0, 10_000.0]), np.array([24.99, 25.01, 124.99, 125.01])
    best = points(plan).costs(x, y).argmin(axis=0)
    # At 100 s: 10 + 0.1 y against 12.5 is level at 25. At 10,000 s: 10 + 0.004 y against 10.5 at 125.
    assert [NAMES[number] for number in best[:, 0]] == ["saved", "keyed", "keyed", "keyed"]
    assert [NAMES[number] for number in best[:, 1]] == ["bare", "bare", "bare", "keyed"]


def test_the_band_is_where_the_interval_of_the_difference_holds_0(plan):
    made = points(plan)
    x, y = np.array([100.0]), np.array([10.0, 23.7, 23.8, 25.0, 26.5, 26.6])
    sure = made.sure(x, y, made.costs(x, y))[:, 0]
    # keyed less saved is 2.5 - 0.1 y, from 0.1 + 0.001 y lower to 0.2 + 0.002 y higher: 0 within it
    # from 2.4 / 0.101 = 23.76 to 2.7 / 0.098 = 27.55; at 10 it is surely 1.5 - 0.11.
    assert sure[0] == pytest.approx(1.39)
    assert (sure < 0).tolist() == [False, False, True, True, True, True]
    assert made.sure(x, np.array([27.5, 27.6]), made.costs(x, np.array([27.5, 27.6])))[:, 0].round(
        3
    ).tolist() == [
        pytest.approx(0.25 - 0.2 - 0.055, abs=1e-3),
        pytest.approx(0.26 - 0.2 - 0.0552, abs=1e-3),
    ]


def test_what_theory_says_is_the_same_is_not_open(plan):
    made = points(plan, exact=1.0)
    x, y = np.array([100.0]), np.array([10.0, 24.9])
    assert made.sure(x, y, made.costs(x, y))[:, 0].tolist() == pytest.approx([1.5, 0.01])


@pytest.mark.parametrize("reach", [0.0, 0.1, 100.0])
def test_it_is_drawn_to_the_same_bytes_again_with_every_name_once(plan, tmp_path, reach):
    made = plan()
    estimates, contrasts = tables(reach)
    for name in ("one.svg", "other.svg"):
        figure = made.experiment.figures[0]
        draw(made, figure, estimates, pd.DataFrame(), colours([made])[made.name], tmp_path / name, contrasts)
    picture = (tmp_path / "one.svg").read_bytes()
    assert picture == (tmp_path / "other.svg").read_bytes()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    texts = re.findall(r"<!-- (.*?) -->", picture.decode())
    assert [texts.count(name) for name in NAMES] == [1, 1, 1]
    assert any("leave open" in text for text in texts) == (reach > 0)


def test_a_strategy_that_is_never_cheapest_is_not_on_it(plan, tmp_path):
    made = plan(MAP.replace("keyed = 0.5", "keyed = 0.5, saved = 9.0"))
    estimates, contrasts = tables()
    draw(
        made,
        made.experiment.figures[0],
        estimates,
        pd.DataFrame(),
        colours([made])[made.name],
        tmp_path / "a.svg",
        contrasts,
    )
    texts = re.findall(r"<!-- (.*?) -->", (tmp_path / "a.svg").read_text())
    assert [texts.count(name) for name in NAMES] == [1, 0, 1]


WORDS = {
    "best_on_map('map')": "saved below 25.0, keyed above 25.0",
    "best_on_map('map', {'crash.law.mean': 10000})": "bare below 125, keyed above 125",
    # 2 s dearer at 100 s and 1 s cheaper at 10,000 s: level two thirds of the way in the logarithm.
    "level_on_map('map', 'bare', 'saved', unit='s')": "2,150 s",
    # 40 s / x duplicates a run, at 10 s each, are worth the 0.5 s of keys up to x = 800 s.
    "level_on_map('map', 'bare', 'keyed', duplicate=10)": "800",
    "level_on_map('map', 'bare', 'keyed', duplicate=1000)": "never",
}


@pytest.mark.parametrize("asked", WORDS)
def test_words_by_hand(plan, asked):
    made = plan(file=FILE.replace('best_on_map("map")', asked))
    check_answer(made)
    assert Answers(made, tables()[0], pd.DataFrame()).render(made.experiment.answer) == [WORDS[asked]]


WRONG = {
    "no x": (MAP.replace('x = "crash.law.mean"\n', ""), "figures.0.x: a map needs x, one of the swept keys."),
    "no swept key": (MAP.replace("crash.law.mean", "crash.law.median"), "'crash.law.median' is no swept key"),
    "metrics": (MAP + 'y = ["p_duplicate"]\n', "figures.0.y: a map has none"),
    "turned costs": (MAP.replace("[1.0, 10000.0]", "[5.0, 5.0]"), "figures.0.costs: the least comes first"),
    "costs of 0": (MAP.replace("[1.0,", "[0.0,"), "figures.0.costs.0: "),
    "a price below 0": (MAP.replace("0.5", "-0.5"), "figures.0.prices.keyed: "),
    "a price of none": (MAP.replace("keyed =", "kyed ="), "'kyed' is no strategy of this map; did you mean"),
    "linear": (MAP + 'x_scale = "linear"\n', "figures.0.x_scale: the axes of a map are logarithmic"),
    "prices of a line": (
        MAP.replace('"map"\nx', '"line"\ny = ["makespan_s"]\nx'),
        'figures.0.prices: only a figure of kind = "map" has it.',
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_map_that_is_none(plan, kind):
    figure, told = WRONG[kind]
    with pytest.raises(InputError) as error:
        plan(figure)
    assert told in str(error.value)


def test_a_map_takes_what_it_weighs_and_all_contrasts(plan):
    file = FILE.replace(', "makespan_s"]', "]").replace(', ["saved", "keyed"]', "")
    with pytest.raises(InputError) as error:
        plan(file=file)
    assert "headline: a map takes makespan_s; name it here." in str(error.value)
    assert 'contrasts: a map takes the contrasts of all its strategies; add ["saved", "keyed"].' in str(
        error.value
    )


def test_no_other_map_is_taken_for_it(plan):
    with pytest.raises(InputError, match="'mapp' is no map; did you mean \"map\""):
        check_answer(plan(file=FILE.replace('best_on_map("map")', 'best_on_map("mapp")')))
