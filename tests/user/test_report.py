"""The report says what the tables say: change one number there, and every page follows."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from sim.report.writing import BEGIN, END

FIRST = """seed = 7
finding = "{{ with_interval(est('p_duplicate', 'restart')) }} with a write of 0.5 s."
calculator = "restart"
"""
TABLES = """
[[tables]]
kind = "strategies"
title = "All strategies"
metrics = ["p_duplicate", "makespan_s"]
[[tables]]
kind = "sensitivity"
title = "What moves it"
of = [{ metric = "p_duplicate", strategy = "checkpoint" }]
labels = { "store.write.median" = "median write, s" }
"""

CRASH = '{ process = "renewal", law = { law = "exponential", mean = 30.0 } }'

pytestmark = pytest.mark.usefixtures("few_laws")


@pytest.fixture
def reported(project, savegap):
    """The tiny project with a finding and tables for the first page, run and reported."""
    file = project / "experiments" / "tiny.toml"
    text = file.read_text().replace("seed = 7\n", FIRST).replace("headline = [", 'headline = ["rule_ratio", ')
    text = text.replace('{ process = "uniform_time" }', CRASH)
    file.write_text(text + TABLES)
    (project / "README.md").write_text(f"# Mine\n\n{BEGIN}\n{END}\n\nMore.\n")
    code, _, errors = savegap("run", "--jobs", 1)
    assert code == 0, errors
    return project


class Page(HTMLParser):
    """What a page refers to, and what can be referred to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.images = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.links += [told[key] for key in ("href", "src", "data", "action") if key in told]
        self.anchors += [told["id"]] if "id" in told else []
        self.images += [told] if tag == "img" else []


def test_one_changed_number_changes_every_page(reported, savegap):
    pages = [reported / "README.md", reported / "results/README.md", reported / "results/report.html"]
    before = [page.read_text() for page in pages]
    file = reported / "results/tiny/estimates.csv"
    table = pd.read_csv(file)
    row = (table["store.write.median"] == 0.5) & (table["strategy"] == "restart")
    row &= table["metric"] == "p_duplicate"
    table.loc[row, ["estimate", "low", "high"]] = [0.12321, 0.11811, 0.12929]
    table.to_csv(file, index=False)
    assert savegap("report")[0] == 0
    for page, old in zip(pages, before, strict=True):
        assert "12.3 % (11.8 % to 12.9 %) with a write of 0.5 s." not in old
        assert "12.3 % (11.8 % to 12.9 %) with a write of 0.5 s." in page.read_text().replace("\u00a0", " ")
    assert "12.32 %" not in before[1] + before[2]  # in the tables, with a digit more
    assert "12.32 %" in pages[1].read_text()
    assert "12.32 %" in pages[2].read_text()


def test_a_readme_keeps_what_is_its_own(reported, savegap):
    readme = reported / "README.md"
    told = readme.read_text()
    assert re.fullmatch(rf"# Mine\n\n{BEGIN}\n- \d[^\n]*\n{END}\n\nMore\.\n", told)
    readme.write_text("# Mine\n")  # no place for findings
    assert savegap("report")[0] == 0
    assert readme.read_text() == "# Mine\n"
    readme.write_text(told)
    assert savegap("report", "--out", reported / "elsewhere")[0] == 0
    assert readme.read_text() == told  # which speaks of the project's own results only


def test_the_page_stands_alone(reported):
    page = Page((reported / "results/report.html").read_text())
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert len(inside) > 8
    assert set(inside) <= set(page.anchors)
    assert len(page.anchors) == len(set(page.anchors))
    others = [link for link in page.links if not link.startswith("#")]
    for link in others:
        assert link.startswith("data:image/svg+xml;base64,") or (reported / "results" / link).is_file(), link
    assert {link for link in others if link.endswith(".csv")} == {"tiny/estimates.csv", "tiny/contrasts.csv"}
    assert len(page.images) == 3  # a figure, and two laws
    assert all(len(image["alt"]) > 20 for image in page.images)


def test_the_first_page_has_its_tables(reported):
    text = (reported / "results/README.md").read_text()
    first = text[: text.index("## Contents")]
    table = pd.read_csv(reported / "results/tiny/estimates.csv").set_index(
        ["store.write.median", "strategy", "metric"]
    )
    restart = table.loc[(0.5, "restart", "p_duplicate"), "estimate"]
    row = next(line for line in first.splitlines() if line.startswith("| restart |"))
    assert f"{100 * restart:.3g} %" in row
    ends = [table.loc[(write, "checkpoint", "p_duplicate"), "estimate"] for write in (0.1, 0.5)]
    row = next(line for line in first.splitlines() if line.startswith("| median write, s |"))
    assert [part.strip() for part in row.strip("| ").split("|")] == [
        "median write, s",
        "0.5",
        "0.1",
        f"× {ends[0] / ends[1]:.3f} to 1",
    ]


def test_what_is_held_against_what_is_said(reported):
    text = (reported / "results/README.md").read_text()
    table = pd.read_csv(reported / "results/tiny/estimates.csv")
    known = table[table["metric"].isin(["rule_ratio", "p_duplicate", "makespan_s"])].dropna(subset=["exact"])
    inside = ((known["low"] <= known["exact"]) & (known["exact"] <= known["high"])).sum()
    assert len(known) >= 8
    assert f"- {inside} of {len(known)} exact values of the headline lie within" in text
    assert (
        "- Both engines simulated 256 of the runs, and agreed on each." in text
    )  # 2 cells, 2 strategies, 64


def test_results_without_a_metric_still_give_a_page(reported, savegap):
    file = reported / "results/tiny/estimates.csv"
    table = pd.read_csv(file)
    table[~table["metric"].isin(["makespan_s", "rule_ratio"])].to_csv(file, index=False)
    code, _, errors = savegap("report")
    assert code == 0, errors
    first = (reported / "results/README.md").read_text().partition("## Contents")[0]
    assert "| does not exist |" in first
    assert "calculator" not in Page((reported / "results/report.html").read_text()).anchors


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('metrics = ["p_duplicate"', 'metrics = ["p_duplicates"', "tables.0.metrics.0: 'p_duplicates' is no"),
        ('strategy = "checkpoint" }]', 'strategy = "check" }]', "tables.1.of.0.strategy: 'check' is no str"),
        ('labels = { "store', 'labels = { "stored', "tables.1.labels: 'stored.write.median' is no swept key"),
        ('calculator = "restart"', 'calculator = "r"', "calculator: 'r' is no strategy"),
        (
            "'restart')) }} with",
            "'r')) }} with",
            "finding: cannot be filled in: there is no 'p_duplicate' of 'r'",
        ),
        ('kind = "sensitivity"', 'kind = "rank"', "tables.1: "),
        (
            '"store.write.median" = [0.1, 0.5]',
            '"store.write.median" = [0.1, 0.2]',
            "tables.0: is of a cell that",
        ),
    ],
)
def test_mistakes_in_what_the_report_shows_are_told(reported, savegap, old, new, told):
    file = reported / "experiments" / "tiny.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    code, _, errors = savegap("report")
    assert code == 2
    assert f"experiments/tiny.toml: {told}" in errors


def test_a_study_without_findings_has_no_empty_places(project, savegap):
    assert savegap("run", "--jobs", 1, "--replications", 50)[0] == 0
    page = Page((project / "results/report.html").read_text())
    assert page.anchors == ["tiny", "gallery", "numbers"]
    assert '<ul class="findings">' not in (project / "results/report.html").read_text()
