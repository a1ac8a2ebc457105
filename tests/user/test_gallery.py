"""The gallery of a report: every law has its picture there, the project's own too, and no other law has."""

import re

import pandas as pd
import pytest

from sim.laws import LAWS
from sim.report.gallery import Exhibit, exhibits
from sim.report.writing import write_report
from sim.study import own_laws

SWEPT = '{ process = "renewal", law = { law = "exponential", mean = 30.0 } }'


@pytest.fixture(autouse=True)
def _no_trace():
    yield
    for file in [*own_laws._loaded]:
        own_laws.forget(file)


@pytest.fixture
def with_own_law(savegap, project):
    """The tiny project, its crashes by an exponential law and by one of its own."""
    assert savegap("laws", "new", "mine")[0] == 0
    file = project / "experiments" / "tiny.toml"
    text = file.read_text().replace('{ process = "uniform_time" }', SWEPT)
    text = re.sub(
        r"\[sweep\]\n.*\n",
        '[sweep]\n"crash.law" = [{ law = "exponential", mean = 30.0 }, '
        '{ law = "mine", scale = 20.0, shape = 2.5 }]\n',
        text,
    )
    file.write_text(
        text.replace("store.write.median", "crash.law").replace('y = ["p', 'kind = "bar"\ny = ["p')
    )
    return project


def test_a_law_in_one_file_is_in_the_tables_and_in_the_gallery(savegap, with_own_law, contents):
    results = with_own_law / "results"
    code, _, errors = savegap("run", "--jobs", 2, "--replications", 50)
    assert code == 0, errors
    assert "mine scale 20 shape 2.5" in set(pd.read_csv(results / "tiny/estimates.csv")["crash.law"])
    assert {file.stem for file in (results / "gallery").iterdir()} == {*LAWS}
    assert all(b"<svg" in file.read_bytes() for file in (results / "gallery").iterdir())
    readme = (results / "README.md").read_text()
    assert "**`mine`** (the project's own): Hazard that rises and then falls (log-logistic)" in readme
    assert "*scale = 3,600, shape = 2.5; mean 79.3 min.*" in readme
    for name in LAWS:
        assert f"](gallery/{name}.svg)" in readme
    assert readme.count("(the project's own)") == 1
    page = (results / "report.html").read_text()
    assert page.count('alt="Density and hazard of the law ') == len(LAWS)
    first = contents(results)
    assert savegap("report")[0] == 0
    assert contents(results) == first


@pytest.mark.usefixtures("few_laws")
def test_a_law_that_is_gone_leaves_no_picture(project, monkeypatch):
    gallery = project / "results" / "gallery"
    list(write_report(project, project / "results"))
    assert sorted(file.name for file in gallery.iterdir()) == ["constant.svg", "weibull.svg"]
    (gallery / "sketch.svg").write_text("<svg/>")
    monkeypatch.setattr("sim.report.gallery.LAWS", {"uniform": LAWS["uniform"]})
    list(write_report(project, project / "results"))
    assert sorted(file.name for file in gallery.iterdir()) == ["sketch.svg", "uniform.svg"]
    assert "weibull" not in (project / "results/README.md").read_text()


def test_names_make_files_that_differ():
    names = ["memory_leak", "Memory_leak", "a b", "a-b", "a/b", "../a", "é"]
    files = {Exhibit(name, LAWS["weibull"], False, "", "", "", "").file for name in names}
    assert len({file.lower() for file in files}) == len(names)
    assert all(re.fullmatch(r"gallery/[a-z0-9_-]+\.svg", file) for file in files)
    assert "gallery/memory_leak.svg" in files


def test_laws_within_laws_and_lists_are_in_words(project):
    shown = {exhibit.name: exhibit for exhibit in exhibits(project)}
    assert (
        shown["truncated"].parameters == "of = weibull (mean = 3,600, shape = 0.7), above = 0, below = 86,400"
    )
    assert shown["empirical"].parameters == "times = 30, 45, 45, 80, 200, 400"
    assert shown["weibull"].source.startswith("LANL05")


def test_no_experiment_has_the_name_of_the_gallery(savegap, project):
    (project / "experiments/tiny.toml").rename(project / "experiments/gallery.toml")
    code, _, errors = savegap("run", "--jobs", 1)
    assert (code, errors) == (
        2,
        "error: experiments/gallery.toml: is the name of the folder of the laws' pictures; take another.\n",
    )
    assert not (project / "results").exists()
