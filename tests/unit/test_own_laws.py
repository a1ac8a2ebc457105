"""Own laws of a project: loaded from `experiments/laws/`, held to the contract, refused in words."""

from pathlib import Path

import pytest
from conftest import REPOSITORY

from sim.contract import examine
from sim.laws import LAWS
from sim.study import own_laws
from sim.study.config import load
from sim.study.errors import InputError
from sim.study.files import write_csv
from sim.study.kept import Kept
from sim.study.own_laws import load_laws, origin
from sim.study.results import tables_of
from sim.study.running import Job
from sim.study.workers import Workers

SHIPPED = sorted(
    file for file in own_laws.folder_of(REPOSITORY).glob("*.py") if not file.name.startswith("_")
)

MINE = '''
"""Times of mine."""
from typing import ClassVar
import numpy as np
from sim.laws import Law, law
from sim.validation import Positive

@law("mine")
class Mine(Law):
    """As an exponential law, by its hazard alone."""

    examples: ClassVar = ({"mean": 3.0},)
    mean: Positive

    def cumulative_hazard(self, t):
        return np.asarray(t) / self.mean
'''

CLOSED = """
    def inverse_hazard(self, h):
        return np.asarray(h) * self.mean

    @property
    def mean_s(self):
        return self.mean
"""


@pytest.fixture(autouse=True)
def _no_trace():
    yield
    for file in [*own_laws._loaded]:
        own_laws.forget(file)


@pytest.fixture
def folder(project) -> Path:
    folder = own_laws.folder_of(project)
    folder.mkdir()
    return folder


def refused(project: Path) -> list[str]:
    with pytest.raises(InputError) as error:
        load_laws(project)
    assert "mine" not in LAWS
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_the_laws_of_this_project_keep_their_contract(file: Path) -> None:
    load_laws(REPOSITORY)
    laws = [cls for name, cls in LAWS.items() if origin(name) == file]
    assert laws
    for cls in laws:
        assert [str(finding) for finding in examine(cls)] == []


def test_a_law_is_known_as_long_as_its_project_is(project, folder) -> None:
    (folder / "mine.py").write_text(MINE)
    (folder / "_draft.py").write_text("this is no law yet")
    load_laws(project)
    known = LAWS["mine"]
    assert origin("mine") == (folder / "mine.py").resolve()
    assert origin("weibull") is None
    load_laws(project)
    assert LAWS["mine"] is known  # nothing changed
    (folder / "mine.py").write_text(MINE + CLOSED)
    load_laws(project)
    assert LAWS["mine"] is not known
    (folder / "mine.py").unlink()
    load_laws(project)
    assert "mine" not in LAWS


def test_a_law_may_say_no_more_than_its_hazard(project, folder) -> None:
    (folder / "mine.py").write_text(MINE)
    load_laws(project)
    assert LAWS["mine"](mean=5.0).mean_s == pytest.approx(5.0)
    assert examine(LAWS["mine"]) == []


WRONG = {
    "no Python": ('@law("mine")\nclass', ["experiments/laws/mine.py: is no Python: line 2: invalid syntax."]),
    "no such module": (
        "import numpee\n",
        [
            "experiments/laws/mine.py: cannot be imported: line 1: ModuleNotFoundError: "
            "No module named 'numpee'."
        ],
    ),
    "no law": ("x = 1\n", ['experiments/laws/mine.py: holds no law; decorate a class with @law("name").']),
    "a name that is taken": (
        MINE.replace('law("mine")', 'law("weibull")'),
        [
            'experiments/laws/mine.py: cannot be imported: line 8: there is a law "weibull" already '
            "(sim.laws.closed); give this one another name."
        ],
    ),
    "no examples": (
        MINE.replace('({"mean": 3.0},)', "()"),
        [
            'experiments/laws/mine.py: cannot be imported: line 8: the law "mine" has no examples; say with '
            "what parameters it shall be checked and shown: examples: ClassVar = ({...},)."
        ],
    ),
    "an example that is not allowed": (
        MINE.replace('"mean": 3.0', '"mean": -3.0'),
        [
            "experiments/laws/mine.py: mine: examples, with mean = -3.0: mean: must be greater than 0, "
            "not -3.0. See: savegap laws check experiments/laws/mine.py"
        ],
    ),
    "an inverse that is not the inverse": (
        MINE + CLOSED.replace("np.asarray(h) * self.mean", "np.asarray(h) * self.mean * 1.05"),
        [
            "off by a factor of 1.05; the inverse is not the inverse.",
            "mine: mean, with mean = 3.0: the mean is said to be 3 s, but the times have a mean of 3.15 s.",
        ],
    ),
    "a survival that grows": (
        MINE.replace("/ self.mean", "/ self.mean * (2 + np.cos(np.asarray(t)))"),
        ["the survival grows from"],
    ),
    "not a number": (MINE.replace("np.asarray(t) / self.mean", "np.asarray(t) * np.nan"), ["is nan"]),
    "an error of its own": (MINE.replace("/ self.mean", "/ self.maen"), ["the law raises AttributeError"]),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_told(project, folder, text: str, told: list[str]) -> None:
    (folder / "mine.py").write_text(text)
    lines = refused(project)
    assert all(line.startswith("experiments/laws/mine.py: ") for line in lines)
    for sentence in told:
        assert any(sentence in line for line in lines), lines


def test_two_files_with_one_name_are_told(project, folder) -> None:
    (folder / "one.py").write_text(MINE)
    (folder / "other.py").write_text(MINE)
    with pytest.raises(InputError) as error:
        load_laws(project)
    assert str(error.value) == (
        'experiments/laws/other.py: cannot be imported: line 8: there is a law "mine" already '
        "(experiments.laws.one); give this one another name."
    )


# ------------------------------------------------------------------------------------------ in a study

LAW = '{ law = "mine", mean = 30.0 }'


def with_crashes(project: Path, law: str) -> None:
    file = project / "experiments" / "tiny.toml"
    text = file.read_text()
    begin = text.index("crash = ")
    end = text.index("\n", begin)
    text = f'{text[:begin]}crash = {{ process = "renewal", law = {law} }}{text[end:]}'
    file.write_text(text.partition("[sweep]")[0])


def contrasts(project: Path) -> str:
    """Contrasts of the tiny experiment on one core, as a file has them."""
    plan = load(project / "experiments" / "tiny.toml", project)
    job = Job(plan, plan.experiment.seed, 200)
    table = tables_of(job, Kept(project / "chunks"), Workers(1)).contrasts
    write_csv(project / "contrasts.csv", table)
    return (project / "contrasts.csv").read_text()


@pytest.mark.usefixtures("few_laws")
def test_a_study_with_a_law_of_its_own_on_two_cores(savegap, project, folder) -> None:
    (folder / "mine.py").write_text(MINE + CLOSED)
    with_crashes(project, LAW)
    code, _, errors = savegap("run", "--jobs", 2, "--replications", 200)
    assert code == 0, errors
    # The law is exponential, so the estimates must be those of the exponential law, digit by digit.
    with_crashes(project, LAW.replace("mine", "exponential"))
    assert (project / "results" / "tiny" / "contrasts.csv").read_text() == contrasts(project)


def test_a_study_with_a_wrong_law_says_so_once_and_writes_nothing(savegap, project, folder) -> None:
    (folder / "mine.py").write_text(MINE + CLOSED.replace("return self.mean", "return 2 * self.mean"))
    (project / "experiments" / "second.toml").write_text((project / "experiments" / "tiny.toml").read_text())
    code, _, errors = savegap("run", "--jobs", 1)
    assert code == 2
    assert errors.splitlines() == [
        "error: experiments/laws/mine.py: mine: mean, with mean = 3.0: the mean is said to be 6 s, but the "
        "times have a mean of 3 s. See: savegap laws check experiments/laws/mine.py"
    ]
    assert not (project / "results").exists()


def test_times_from_a_file_beside_the_experiment(savegap, project) -> None:
    (project / "experiments" / "lives.csv").write_text("seconds,censored\n20,0\n30,0\n90,1\n")
    with_crashes(project, '{ law = "empirical", file = "lives.csv" }')
    assert contrasts(project)
    (project / "experiments" / "lives.csv").unlink()
    code, _, errors = savegap("run", "--jobs", 1, "--replications", 200)
    assert code == 2
    assert "error: experiments/tiny.toml: scenario.crash.law.file: " in errors
    assert "cannot be read: No such file or directory." in errors
