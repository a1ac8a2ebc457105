"""`savegap laws` as a person uses it: look, begin, check, and what is answered to mistakes."""

import pytest

from sim.laws import LAWS
from sim.study import own_laws


@pytest.fixture(autouse=True)
def _no_trace():
    yield
    for file in [*own_laws._loaded]:
        own_laws.forget(file)


def test_the_list_has_every_law_and_marks_ones_own(savegap):
    assert savegap("laws", "new", "my_law")[0] == 0
    code, output, _ = savegap("laws")
    assert code == 0
    lines = {line.split()[0]: line for line in output.splitlines() if line.strip()}
    assert {*LAWS} <= {*lines}
    assert "my_law *" in lines["my_law"]
    assert "mean, shape" in lines["weibull"]
    assert "24 h" in lines["weibull"]
    assert "by its scipy name" in output


def test_a_new_law_passes_its_check_and_is_not_written_over(savegap, project):
    code, output, _ = savegap("laws", "new", "my_law")
    assert (code, output.splitlines()[0]) == (0, "wrote experiments/laws/my_law.py")
    for named in ("my_law", "experiments/laws/my_law.py", project / "experiments/laws/my_law.py"):
        code, output, errors = savegap("laws", "check", named)
        assert (code, output, errors) == (0, "my_law: keeps all 11 clauses with 2 examples\n", "")
    file = project / "experiments/laws/my_law.py"
    file.write_text(file.read_text() + "\n# changed\n")
    code, _, errors = savegap("laws", "new", "my_law")
    assert (code, errors) == (
        2,
        "error: experiments/laws/my_law.py: is there already; nothing was written.\n",
    )
    assert file.read_text().endswith("# changed\n")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My-law", "must begin with a lower-case letter and hold only such, digits and underscores."),
        ("weibull", "is a law already; take another name."),
        ("fisk", "is a law of scipy.stats; take another name."),
    ],
)
def test_no_other_name_will_do(savegap, project, name, told):
    code, _, errors = savegap("laws", "new", name)
    assert (code, errors) == (2, f"error: {name}: {told}\n")
    assert not (project / "experiments/laws").exists()


def test_a_failed_check_says_what_failed(savegap, project):
    savegap("laws", "new", "my_law")
    file = project / "experiments/laws/my_law.py"
    file.write_text(
        file.read_text().replace("return self.scale * np.power", "return 1.01 * self.scale * np.power")
    )
    code, output, errors = savegap("laws", "check", "my_law")
    assert (code, errors) == (1, "")
    lines = output.splitlines()
    assert lines[0] == "my_law: does not keep the contract of a law"
    inverse = next(line for line in lines if line.startswith("  inverse, with scale = "))
    assert inverse.endswith("the inverse is not the inverse.")
    assert any("said to be 4756.7 s, but the times have a mean of 4804.27 s" in line for line in lines)
    assert any(", with scale = 3600.0, shape = 2.5: " in line for line in lines)


def test_a_wrong_law_does_not_keep_others_from_being_looked_at(savegap, project):
    for name in ("my_law", "other"):
        savegap("laws", "new", name)
    (project / "experiments/laws/other.py").write_text("this is no law")
    for arguments in ([], ["show", "my_law"], ["check", "my_law"], ["new", "third"]):
        code, output, errors = savegap("laws", *arguments)
        assert (code, "my_law" in output or "third" in output) == (0, True)
        if arguments[:1] != ["check"]:
            assert errors == "left out: experiments/laws/other.py: is no Python: line 1: invalid syntax.\n"
    assert savegap("laws", "check", "other")[2] == (
        "error: experiments/laws/other.py: is no Python: line 1: invalid syntax.\n"
    )


def test_the_project_may_be_named_anywhere(savegap, project, tmp_path_factory, monkeypatch):
    savegap("laws", "new", "my_law")
    for arguments in (["--project", project, "check", "my_law"], ["check", "my_law", "--project", project]):
        assert savegap("laws", *arguments)[0] == 0


def test_a_check_says_what_it_leaves_out(savegap, project):
    folder = project / "experiments/laws"
    folder.mkdir()
    (folder / "always.py").write_text(
        "from sim.laws import Constant, law\n\n@law('always')\nclass Always(Constant):\n    '''Always.'''\n"
    )
    code, output, _ = savegap("laws", "check", "always")
    assert code == 0
    assert "residual life is not sampled: some times have a probability of their own" in output


def test_a_check_of_no_file(savegap):
    savegap("laws", "new", "my_law")
    code, _, errors = savegap("laws", "check", "me_law")
    assert (code, errors) == (2, "error: me_law: is no file and no law of the project; there are: my_law.\n")


def test_a_law_in_words(savegap):
    code, output, _ = savegap("laws", "show", "weibull", "mean=7200", "shape=0.7")
    assert code == 0
    assert "mean = 7200  (mean, s)" in output
    assert "mean 120 min" in output
    assert "50 % 56.2 min" in output
    code, output, _ = savegap("laws", "show", "aged", "of={law='exponential', mean=3.0}", "age=9")
    assert (code, "mean 3 s" in output) == (0, True)
    code, output, _ = savegap("laws", "show", "fisk", "c=2.0", "scale=30.0")
    assert (code, "a law of scipy.stats" in output, "50 % 30 s" in output) == (0, True, True)


@pytest.mark.parametrize("law", ["preemptible", "empirical"])
def test_a_law_as_a_picture(savegap, project, law):
    code, output, errors = savegap("laws", "show", law, "--out", "law.svg")
    assert code == 0, errors
    assert output.endswith("wrote law.svg\n")
    first = (project / "law.svg").read_bytes()
    assert first.startswith(b"<?xml")
    if law == "empirical":
        savegap("laws", "show", law, "--out", "law.svg")
        assert (project / "law.svg").read_bytes() == first


def test_a_picture_of_pixels(savegap, project):
    assert savegap("laws", "show", "constant", "--out", "law.png")[0] == 0
    assert (project / "law.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["weibul"], "weibul: law: 'weibul' is no law; did you mean \"weibull\"?"),
        (["weibull", "mean=3"], "weibull: shape: this key is missing."),
        (["weibull", "mean=3", "shape=much"], "weibull: shape: must be a valid number, not 'much'."),
        (["weibull", "mean=3", "shpae=1.0"], 'weibull: shpae: unknown key; did you mean "shape"?'),
        (["weibull", "mean"], "mean: must be KEY=VALUE, such as mean=3600."),
        (["weibull", "--out", "law.pdf"], "--out: must end with .svg or .png, not 'law.pdf'."),
        (["fisk"], "fisk: c: this key is missing: scipy's fisk takes c, loc, scale."),
    ],
)
def test_mistakes_are_answered_in_sentences(savegap, arguments, told):
    code, _, errors = savegap("laws", "show", *arguments)
    assert code == 2
    assert f"error: {told}" in errors


def test_help_teaches(savegap):
    for arguments in (["laws"], ["laws", "show"], ["laws", "new"], ["laws", "check"]):
        code, output, _ = savegap(*arguments, "--help")
        assert code == 0
        assert "savegap laws" in output
    assert "savegap laws new my_law" in savegap("laws", "--help")[1]
