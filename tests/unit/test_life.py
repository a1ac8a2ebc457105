"""What one run lived through: worked out by hand, as the tables count it, and as it stands in the picture."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import sim
from sim.report.life import draw
from sim.report.lives import Stretch, chosen, lived
from sim.study.config import load
from sim.study.errors import InputError

PARTS = {
    "workload": {"steps": [{"name": "A", "work": 10}, {"name": "B", "work": 20, "action": {}}]},
    "store": {"write": 0.5, "ack": 0.25},
    "receiver": {"prepare": 1, "request": 2, "response": 4},
    "downtime": {"restart": 2.5, "load": 1.5},
    "crash": {"process": "at", "times": [5.0, 42.0]},
}
# The crash at 5 falls into A. From 9 on A is done again, until 19 or, with its save, until 19.75. The one at
# 42 comes before the answer to the request of 40 (or 40.75) would; the next worker goes on at 46.
KEYS = {"protocol": "checkpoint", "key": "run_step"}


def scenario(strategy, **more):
    return sim.Scenario.model_validate(PARTS | more | {"strategy": strategy})


def test_a_run_that_begins_anew_by_hand():
    life = lived(scenario({"protocol": "restart"}), 1, 0)
    assert life.stretches == [
        Stretch(0, False, 0.0, 5.0, False),
        Stretch(0, False, 9.0, 19.0, False),
        Stretch(1, True, 19.0, 42.0, False),
        Stretch(0, False, 46.0, 56.0, True),
        Stretch(1, True, 56.0, 83.0, True),
    ]
    assert life.crashes == [5.0, 42.0]
    assert (life.first, life.again, life.known, life.saved) == ([42.0], [79.0], [], [])
    assert (life.lost, life.end_s, life.finished) == ([], 83.0, True)


def test_a_run_with_saves_by_hand():
    life = lived(scenario({"protocol": "checkpoint"}), 1, 0)
    assert life.stretches == [
        Stretch(0, False, 0.0, 5.0, False),
        Stretch(0, False, 9.0, 19.75, True),
        Stretch(1, True, 19.75, 42.0, False),
        Stretch(1, True, 46.0, 73.75, True),
    ]
    assert life.saved == [19.5, 73.5]
    assert (life.first, life.again, life.known) == ([42.75], [69.0], [])


def test_a_repeat_that_its_key_gives_away():
    life = lived(scenario(KEYS), 1, 0)
    assert (life.first, life.again, life.known) == ([42.75], [], [69.0])


def test_an_action_that_is_lost():
    life = lived(scenario({"protocol": "save_first"}, crash={"process": "at", "times": [32.0]}), 1, 0)
    assert (life.first, life.lost, life.finished) == ([], [1], True)


STRATEGIES = [{"protocol": "restart"}, {"protocol": "checkpoint"}, KEYS, {"protocol": "save_first"}]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_is_the_run_that_the_tables_count(strategy):
    crash = {"process": "renewal", "law": {"law": "weibull", "mean": 30.0, "shape": 0.7}}
    given = scenario(strategy, crash=crash)
    frame = sim.simulate(given, 60, 7)
    assert frame["duplicate_actions"].sum() + frame["blocked_duplicates"].sum() + frame["lost_actions"].sum()
    for replication, row in frame.iterrows():
        life = lived(given, 7, replication)
        counts = (len(life.crashes), len(life.again), len(life.known), len(life.lost))
        names = ["crashes", "duplicate_actions", "blocked_duplicates", "lost_actions"]
        assert counts == tuple(row[names])
        assert life.end_s == row["makespan_s"]
        worked = sum(part.end_s - part.begin_s for part in life.stretches)
        assert worked == pytest.approx(row["makespan_s"] - row["downtime_s"])


def test_the_run_that_is_shown_is_the_first_that_fits(project):
    file = project / "experiments/tiny.toml"
    text = file.read_text().replace('{ process = "uniform_time" }', "{ process = 'renewal', law = 8.0 }")
    text = text.replace("law = 8.0", "law = { law = 'exponential', mean = 8.0 }")
    file.write_text(
        text.replace("\n[sweep]", '"with keys" = { protocol = "checkpoint", key = "run_step" }\n\n[sweep]')
    )
    plan = load(file, project)
    cell, replication = chosen(plan)
    assert cell is plan.cells[0]
    frames = [sim.simulate(scenario, replication + 1, 7) for scenario in cell.scenarios.values()]
    fits = np.logical_and.reduce([frame["crashes"] >= 2 for frame in frames])
    for frame, repeats in zip(frames, (True, True, False), strict=True):
        fits &= (frame["duplicate_actions"] > 0) == repeats
    assert np.flatnonzero(fits).tolist() == [replication]


def test_without_such_a_run_it_says_so(project):
    with pytest.raises(InputError, match="none repeats actions without keys only"):
        chosen(load(project / "experiments/tiny.toml", project))


def test_the_picture_says_what_happened_and_is_the_same_each_time(tmp_path):
    strategies = {"one": {"protocol": "restart"}, "other": {"protocol": "checkpoint"}, "third": KEYS}
    lives = {name: lived(scenario(strategy), 1, 0) for name, strategy in strategies.items()}
    draw(lives, "a run", tmp_path / "one.svg")
    draw(lives, "a run", tmp_path / "other.svg")
    picture = (tmp_path / "one.svg").read_bytes()
    assert picture == (tmp_path / "other.svg").read_bytes()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    texts = re.findall(r"<!-- (.*?) -->", picture.decode())
    assert {"a run", "one", "other", "third", "end: 83.0 s", "end: 73.8 s", "saved", "crash"} <= {*texts}
    assert texts.count("1 repeated") == 2
    assert {"performed again", "repeat known by its key"} <= {*texts}
    assert "never performed" not in texts


def test_what_does_not_occur_is_not_explained(tmp_path):
    quiet = lived(scenario({"protocol": "restart"}, crash={"process": "at", "times": [999.0]}), 1, 0)
    draw({"quiet": quiet}, "", tmp_path / "one.svg")
    texts = re.findall(r"<!-- (.*?) -->", (tmp_path / "one.svg").read_text())
    assert not {"saved", "crash", "thrown away by a crash", "performed again"} & {*texts}
    lost = lived(scenario({"protocol": "save_first"}, crash={"process": "at", "times": [32.0]}), 1, 0)
    draw({"lost": lost}, "", tmp_path / "two.svg")
    texts = re.findall(r"<!-- (.*?) -->", (tmp_path / "two.svg").read_text())
    assert {"never performed", "1 lost"} <= {*texts}


def test_what_others_do_after_the_end_is_shown_but_for_their_saves(tmp_path):
    stalls = {"every": {"law": "exponential", "mean": 60.0}, "lasts": 80.0}
    more = {"crash": {"process": "none"}, "supervision": {"lease": 20.0, "stalls": stalls}}
    given = scenario({"protocol": "checkpoint"}, **more)
    lives = (lived(given, 1, replication) for replication in range(500))
    life = next(life for life in lives if life.again and life.again[-1] > life.end_s)
    assert sum(at > life.end_s for at in life.again) == 1
    assert max(life.saved) <= life.end_s
    draw({"a": life}, "", tmp_path / "one.svg")
    assert "performed again" in (tmp_path / "one.svg").read_text()
