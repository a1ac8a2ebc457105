"""The command that fits laws: what it prints can be pasted, what it writes opens, mistakes are told."""

import tomllib
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from sim.fit import fit
from sim.laws import Law, parse_law
from sim.study.crash_times import read


@pytest.fixture
def crashes(project):
    """A file of 120 times of a Weibull law, watched for a day each."""
    law = parse_law({"law": "weibull", "mean": 86400.0, "shape": 0.7})
    times = law.quantile(np.random.default_rng(5).random(120))
    file = project / "crashes.csv"
    rows = [f"{min(t, 86400):.3f},{int(t > 86400)}" for t in times]
    file.write_text("\n".join(["seconds,censored", *rows, ""]))
    return file


def laws_of(output):
    """Laws in the part to paste: the one to use, and those in comments."""
    pasted = [line for line in output.splitlines() if line.removeprefix("# ").startswith("law = {")]
    return [tomllib.loads(line.removeprefix("# "))["law"] for line in pasted]


def test_the_best_law_can_be_pasted(savegap, crashes):
    code, output, errors = savegap("fit", "crashes.csv")
    assert (code, errors) == (0, "")
    data = np.loadtxt(crashes, delimiter=",", skiprows=1)
    fits = fit(data[:, 0], data[:, 1] == 1)
    alike = [found for found in fits if found.aic - fits[0].aic <= 2]
    tables = laws_of(output)
    assert [table["law"] for table in tables] == [found.law for found in alike]
    for table, found in zip(tables, alike, strict=True):
        assert isinstance(parse_law(table), Law)
        assert {key: table[key] for key in found.parameters} == pytest.approx(found.parameters, rel=5e-6)
    assert (
        tomllib.loads("\n".join(line for line in output.splitlines() if "law =" in line))["law"] == tables[0]
    )


def test_the_table_tells_all(savegap, crashes):
    output = savegap("fit", "crashes.csv")[1]
    censored = crashes.read_text().count(",1\n")
    assert f"120 times, {censored} of them censored; median by Kaplan–Meier" in output
    for told in ("exponential", "weibull", "lognormal", "gamma", "log L", "AIC", "std. error"):
        assert told in output
    assert "bootstrap" not in output


def test_the_picture_is_an_svg_with_every_law(savegap, project, crashes):
    output = savegap("fit", "crashes.csv")[1]
    assert output.splitlines()[-1] == "wrote crashes-fit.svg"
    root = ElementTree.parse(project / "crashes-fit.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = (project / "crashes-fit.svg").read_text()
    for told in ("Kaplan", "weibull", "gamma", "lognormal", "exponential"):
        assert f"<!-- {told}" in text.replace("observed (", "")


def test_the_same_file_gives_the_same_bytes_and_replaces_its_own_picture(savegap, project, crashes):
    savegap("fit", "crashes.csv", "--bootstrap", "5")
    first = {name: (project / name).read_bytes() for name in ("crashes-fit.svg", "crashes-fit.toml")}
    assert savegap("fit", "crashes.csv", "--bootstrap", "5")[0] == 0
    assert first == {name: (project / name).read_bytes() for name in first}


@pytest.mark.parametrize(
    ("name", "options", "what"), [("mine.svg", [], "picture"), ("mine.toml", ["--bootstrap", "3"], "list")]
)
def test_a_file_of_another_origin_is_left_alone(savegap, project, crashes, name, options, what):
    (project / name).write_text("<svg/>")
    code, output, errors = savegap("fit", "crashes.csv", "--out", "mine.svg", *options)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: {name}: is there already and is not a {what} that `savegap fit` wrote")
    assert (project / name).read_text() == "<svg/>"


def test_out_names_the_picture(savegap, project, crashes):
    assert savegap("fit", "crashes.csv", "--out", project / "new" / "a.svg")[0] == 0
    assert (project / "new" / "a.svg").is_file()
    assert not (project / "crashes-fit.svg").exists()


def test_out_must_be_svg(savegap, project, crashes):
    before = crashes.read_text()
    code, _, errors = savegap("fit", "crashes.csv", "--out", "crashes.csv")
    assert (code, crashes.read_text()) == (2, before)
    assert errors.strip() == "error: crashes.csv: the picture is an SVG file, so --out must end in .svg."


def test_out_in_a_place_that_cannot_be_written(savegap, project, crashes):
    code, _, errors = savegap("fit", "crashes.csv", "--out", "crashes.csv/a.svg")
    assert code == 2
    assert "cannot be written" in errors


def test_an_experiment_carries_the_bootstrapped_laws(savegap, project, crashes):
    _, output, _ = savegap("fit", "crashes.csv", "--bootstrap", "3", "--seed", "2")
    assert "95 % by" in output
    axis = (project / "crashes-fit.toml").read_text()
    laws = tomllib.loads(axis)["crash.law"]
    assert len(laws) == 1 + 3
    assert laws[0] == laws_of(output)[0]
    assert {law["law"] for law in laws} == {laws_of(output)[0]["law"]}
    file = project / "experiments/tiny.toml"
    text = file.read_text().split("[[figures]]")[0]
    law = next(line for line in output.splitlines() if line.startswith("law = "))
    crash = f'crash = {{ process = "renewal", {law} }}'
    text = text.replace('crash = { process = "uniform_time" }', crash)
    file.write_text(text.replace('"store.write.median" = [0.1, 0.5]', axis))
    code, _, errors = savegap("run", "tiny", "--jobs", "1", "--replications", "5")
    assert code == 0, errors
    table = (project / "results/tiny/estimates.csv").read_text()
    assert all(f"{law['law']} mean {law['mean']:g} shape {law['shape']:g}" in table for law in laws)


def test_seeds_differ(savegap, project, crashes):
    axes = []
    for seed in (1, 2):
        savegap("fit", "crashes.csv", "--bootstrap", "3", "--seed", seed)
        axes.append(tomllib.loads((project / "crashes-fit.toml").read_text()))
    assert axes[0] != axes[1]


def test_a_law_without_a_maximum_is_named(savegap, project):
    (project / "same.csv").write_text("5\n5\n5\n5\n")
    code, output, _ = savegap("fit", "same.csv", "--bootstrap", "3")
    assert code == 0
    assert "weibull: left out, since its likelihood has no maximum for these times." in output
    assert laws_of(output) == [{"law": "exponential", "mean": 5.0}]


def test_a_median_that_is_not_reached(savegap, project):
    (project / "long.csv").write_text("seconds,censored\n1,0\n2,0\n3,0\n" + "9,1\n" * 9)
    assert "there is no median by Kaplan–Meier" in savegap("fit", "long.csv")[1]


@pytest.mark.parametrize(
    "text",
    [
        "10\n20\n40\n",
        "seconds\n10\n20\n40\n",
        "\ufeffseconds\r\n10\r\n20\r\n\r\n40\r\n",
        "time between crashes\n10\n20\n40\n",
        "censored,seconds\nfalse,10\nFalse,20\n0,40\n",
        'Seconds, Censored\n"10", 0\n20, 0\n40, 0',
    ],
)
def test_ways_to_write_the_same_times(project, text):
    (project / "a.csv").write_text(text, encoding="utf-8", newline="")
    times, censored = read(project / "a.csv")
    assert times.tolist() == [10, 20, 40]
    assert not censored.any()


WRONG = {
    "empty": ("", ": is empty; it must hold a time per line"),
    "blank lines only": ("\n\n", ": is empty"),
    "header only": ("seconds,censored\n", ": has names of columns, but no time below them."),
    "not a number": ("seconds\n1\n2\nfast\n3\n", ": line 4: seconds is 'fast'; it must be a number above 0"),
    "no number": ("seconds,censored\n1,0\n,0\n3,0\n4,0", ": line 3: seconds is missing; it must be a number"),
    "negative": ("seconds\n1\n-2\n3\n4\n", ": line 3: seconds is -2; it must be above 0"),
    "zero": ("1\n0\n3\n4\n", ": line 2: seconds is 0; it must be above 0"),
    "not finite": ("1\nnan\n3\n4\n", ": line 2: seconds is nan; it must be finite"),
    "endless": ("1\ninf\n3\n4\n", ": line 2: seconds is inf; it must be finite"),
    "not a flag": (
        "seconds,censored\n1,maybe\n",
        ": line 2: censored is 'maybe'; allowed: 0, 1, false, true.",
    ),
    "all censored": ("seconds,censored\n1,1\n2,true\n3,1\n", ": every time is censored"),
    "too few": ("seconds,censored\n1,0\n2,0\n3,1\n", ": only 2 times ended in a crash; at least 3"),
    "one": ("7\n", ": only 1 time ended in a crash; at least 3"),
    "unknown column": (
        "secnds,censored\n1,0\n",
        ": line 1: unknown column 'secnds'; did you mean \"seconds\"? Allowed: seconds, censored.",
    ),
    "a column too many": (
        "seconds,host\n1,a\n",
        ": line 1: unknown column 'host'; Allowed: seconds, censored.",
    ),
    "a column twice": ("seconds,seconds\n1,2\n", ": line 1: names a column twice."),
    "only flags": ("censored\n1\n0\n", ": line 1: there is no column 'seconds', which holds the times."),
    "two columns without names": (
        "1,0\n2,0\n",
        ': has 2 columns without names; begin the file with "seconds,',
    ),
    "a value too many": ("seconds\n1\n2,0\n3\n", ": line 3: has 2 values, but there is 1 column."),
    "a value too few": ("seconds,censored\n1\n", ": line 2: has 1 value, but there are 2 columns."),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_answer_names_file_line_and_remedy(savegap, project, case):
    text, told = WRONG[case]
    (project / "a.csv").write_text(text)
    code, output, errors = savegap("fit", "a.csv")
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: a.csv{told}"), errors
    assert "Traceback" not in errors
    assert not (project / "a-fit.svg").exists()


def test_all_mistakes_at_once_but_not_without_end(savegap, project):
    (project / "a.csv").write_text("seconds\n" + "-1\n" * 14)
    code, _, errors = savegap("fit", "a.csv")
    lines = errors.splitlines()
    assert (code, len(lines)) == (2, 11)
    assert lines[1].startswith("error: a.csv: line 3: ")
    assert lines[-1] == "error: a.csv: and 4 more lines are wrong."


def test_a_file_that_cannot_be_read(savegap, project):
    assert savegap("fit", "absent.csv")[2].strip() == "error: absent.csv: there is no such file."
    assert savegap("fit", "experiments")[2].startswith("error: experiments: is a folder")
    (project / "a.csv").write_bytes(b"\xff\xfe1\x00")
    assert savegap("fit", "a.csv")[2].strip() == "error: a.csv: is not UTF-8 text."


@pytest.mark.parametrize(
    ("option", "value"), [("--bootstrap", "1"), ("--bootstrap", "many"), ("--seed", "-1")]
)
def test_an_option_out_of_range(savegap, crashes, option, value):
    code, _, errors = savegap("fit", "crashes.csv", option, value)
    assert code == 2
    assert option in errors


def test_help_teaches(savegap):
    code, output, _ = savegap("fit", "--help")
    assert code == 0
    for told in ("seconds", "censored", "--bootstrap", "--out"):
        assert told in output
