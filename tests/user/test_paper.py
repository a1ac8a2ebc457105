"""The paper: every number of it from results, the same bytes for the same results, and nothing left out."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typst_text import cited, typed_numbers

from sim.cli import cli
from sim.report import stress
from sim.report.paper import said, write_paper
from sim.study.config import load
from sim.study.errors import InputError

TEXT = """
#import "lib.typ": *
#set document(date: none)
= #prose(said.sections.tiny.title)
#est("tiny", "p_duplicate", "restart", where: ("store.write.median": 0.1)) of #fact("runs") runs @one.
#experiment("tiny")
#bibliography("refs.bib")
"""
REFERENCES = "@misc{one, title = {One}}\n"


@pytest.fixture(scope="module")
def tiny(new_project, pytestconfig):
    """A project with results and a short paper."""
    from sim.laws import LAWS

    project = new_project("paper")
    (project / "paper").mkdir()
    (project / "paper/paper.typ").write_text(TEXT)
    (project / "paper/refs.bib").write_text(REFERENCES)
    shutil.copy(pytestconfig.rootpath / "paper/lib.typ", project / "paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.report.gallery.LAWS", {"constant": LAWS["constant"]})
        cli(["run", "--jobs", "1", "--replications", "50", "--project", str(project)], standalone_mode=False)
        yield project


@pytest.fixture
def of_our_own(tiny, tmp_path):
    """A copy of it that a test may change."""
    return shutil.copytree(tiny, tmp_path / "own")


def paper_of(pytestconfig):
    return (pytestconfig.rootpath / "paper/paper.typ").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------- the text


def test_no_number_in_the_text_is_typed_by_hand(pytestconfig):
    assert typed_numbers(paper_of(pytestconfig)) == []
    assert typed_numbers((pytestconfig.rootpath / "paper/lib.typ").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "bad",
    [
        "Keys leave 0 % of them.",
        "#text(size: 8pt)[In 12 steps]",
        '#figure(image("a.svg"), caption: [All 7 agree])',
        "#for x in y { [x of 5] }",
        '#est("a", "b", "c") of 3.5',
        "// a comment\nthen 4 steps",
    ],
)
def test_a_typed_number_is_found(bad):
    assert typed_numbers(bad)


@pytest.mark.parametrize(
    "good",
    [
        "$e^2$ `3` /* 4 */ @young1974 <fig-5> // 6",
        "#set page(margin: 2cm)\n#let values = (\n  1,\n  2,\n)\nText.",
        '#est("a", "b", "c", where: ("x": 60)) of them, see https://x.org/',
    ],
)
def test_code_and_mathematics_and_citations_are_no_text(good):
    assert typed_numbers(good) == []


def test_every_reference_is_cited_and_every_citation_is_there(pytestconfig):
    text = paper_of(pytestconfig)
    references = set(re.findall(r"@\w+\{([\w-]+),", (pytestconfig.rootpath / "paper/refs.bib").read_text()))
    labels = set(re.findall(r"<([\w-]+)>", text))
    assert cited(text) - labels == references


# ------------------------------------------------------------------------------------------- the command


def test_the_same_results_give_the_same_bytes(tiny):
    pytest.importorskip("typst", reason="needs the extra paper, which every environment of make has")
    for _ in range(2):
        cli(["paper", "--project", str(tiny)], standalone_mode=False)
        made = (tiny / "paper/paper.pdf").read_bytes()
        assert made.startswith(b"%PDF")
        (tiny / "paper/paper.pdf").rename(tiny / f"{len(list(tiny.glob('*.pdf')))}.pdf")
    first, second = sorted(tiny.glob("*.pdf"))
    assert first.read_bytes() == second.read_bytes()


def test_a_changed_number_changes_what_the_paper_says(of_our_own):
    before = said(of_our_own, of_our_own / "results")
    table = of_our_own / "results/tiny/estimates.csv"
    rows = table.read_text().splitlines()
    place = next(i for i, row in enumerate(rows) if row.startswith("0.5,restart,p_duplicate,"))
    cells = rows[place].split(",")
    cells[4:7] = ["0.123", "0.1", "0.2"]
    rows[place] = ",".join(cells)
    table.write_text("\n".join(rows) + "\n")
    after = said(of_our_own, of_our_own / "results")
    assert after["sections"]["tiny"]["answer"] == ["12.3 % of the runs repeat it."]
    assert before["sections"]["tiny"]["answer"] != after["sections"]["tiny"]["answer"]
    assert after["estimates"]["tiny"]["restart|p_duplicate"]["text"] == "12.3 %"


def test_a_text_that_asks_for_what_is_not_there_leaves_the_paper_as_it_was(of_our_own):
    pytest.importorskip("typst", reason="needs the extra paper, which every environment of make has")
    target = of_our_own / "paper/paper.pdf"
    target.write_text("as it was")
    (of_our_own / "paper/paper.typ").write_text(TEXT + '#est("tiny", "p_duplicate", "nobody")')
    with pytest.raises(InputError, match=r"there is no number nobody\|p_duplicate in tiny"):
        write_paper(of_our_own, of_our_own / "results", target)
    assert target.read_text() == "as it was"
    assert sorted(file.name for file in target.parent.iterdir()) == [
        "lib.typ",
        "paper.pdf",
        "paper.typ",
        "refs.bib",
    ]


def test_without_typst_a_sentence_says_what_to_install(savegap, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    code, _, errors = savegap("paper")
    assert code == 2
    assert errors == "error: the paper is set by Typst, which is not installed: pip install -e '.[paper]'.\n"


# ------------------------------------------------------------------------------------------- the checklist


def test_every_item_of_the_checklist_is_filled_in(tiny):
    plans = [load(tiny / "experiments/tiny.toml", tiny)]
    parts = stress.checklist(tiny, tiny / "results", plans)
    assert [len(part.items) for part in parts] == [3, 9, 4, 3, 4, 1]


def test_an_item_that_says_nothing_is_refused(tiny, monkeypatch):
    monkeypatch.setitem(stress.ITEMS["Logic"], "Algorithms", lambda _: " ")
    with pytest.raises(InputError, match="Logic: Algorithms: says nothing"):
        said(tiny, tiny / "results")


def numbers_in_texts(source):
    """Texts of a Python file with a number in them, but for what it says of itself."""
    tree = ast.parse(source)
    texts = [str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    own = ast.get_docstring(tree, clean=False)
    return [text for text in texts if text != own and re.search(r"(?<![\w.-])\d.*[a-z]", text)]


def test_no_number_of_the_checklist_is_typed_by_hand():
    assert numbers_in_texts(Path(stress.__file__).read_text(encoding="utf-8")) == []
    assert numbers_in_texts('said = f"A pilot of 4,096 runs in {blocks:,.10g} blocks"')


@pytest.mark.slow
def test_the_tracked_paper_is_that_of_the_tracked_results(pytestconfig, tmp_path):
    pytest.importorskip("typst", reason="needs the extra paper, which every environment of make has")
    root = pytestconfig.rootpath
    results = shutil.copytree(root / "results", tmp_path / "results")
    command = [sys.executable, "-m", "sim.cli", "paper", "--project", str(root), "--out", str(results)]
    subprocess.run(command, check=True, cwd=root)  # apart, since others here know few laws
    assert (results / "paper.pdf").read_bytes() == (root / "paper/paper.pdf").read_bytes()
