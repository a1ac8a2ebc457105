"""Every defect in `mutants.toml` is caught by every test that the table names for it.

The defect is put into a copy of the package, and the named tests run on the copy. A test counts as having
caught it if it ran and what it asserts did not hold, or the accounts of a run did not balance: code that
merely breaks would fail any test, and say nothing of this one.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

REPOSITORY = Path(__file__).parents[2]
CAUGHT = ("AssertionError", "assert ", "Failed: DID NOT RAISE", "sim.outcomes.AccountsError")

# A plugin of the inner pytest: the tests must see the copy, not the package beside them.
SEES_THE_COPY = """
from pathlib import Path
import sim

def pytest_sessionstart():
    assert Path(sim.__file__).parents[1] == Path(__file__).parent, f"not the copy: {sim.__file__}"
"""


class Mutant(NamedTuple):
    """A deliberate defect, and the tests that catch it."""

    name: str
    file: str
    old: str
    new: str
    caught_by: list[str]


MUTANTS = [
    Mutant(**entry)
    for entry in tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))["mutant"]
]
each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])


def run(tests: list[str], folder: Path) -> tuple[int, dict[str, str], str]:
    """Run tests on the package in a folder.

    Returns
    -------
    tuple
        Exit code of pytest; by test what it failed with, nothing if it passed; all that pytest said.
    """
    (folder / "sees_the_copy.py").write_text(SEES_THE_COPY)
    # The folder comes first on the path: as PYTHONPATH, and as what `python -m` is called from.
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-n", "0", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "sees_the_copy"]
    call = [sys.executable, "-m", "pytest", *options, "--junitxml=found.xml"]
    ended = subprocess.run(
        [*call, *(str(REPOSITORY / test) for test in tests)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    report = folder / "found.xml"
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        wrong = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
        key = f"{case.get('classname')}::{case.get('name')}"
        found[key] = "" if wrong is None else f"{wrong.tag}: {wrong.get('message')}"
    return ended.returncode, found, ended.stdout + ended.stderr


def copy_of_the_package(folder: Path) -> None:
    shutil.copytree(REPOSITORY / "sim", folder / "sim", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.mark.slow
@each_mutant
def test_a_defect_is_caught_by_each_test_that_is_named_for_it(mutant: Mutant, tmp_path: Path) -> None:
    copy_of_the_package(tmp_path)
    path = tmp_path / mutant.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")

    # Not stopped at the first failure, since each must fail.
    code, found, said = run(mutant.caught_by, tmp_path)
    assert code == 1, f"pytest ended with {code}, not with failed tests:\n{said}"
    assert len(found) == len(mutant.caught_by), f"these ran: {list(found)}"
    missed = [test for test, wrong in found.items() if not wrong]
    assert not missed, f"not caught by {missed}"
    broken = {
        test: wrong for test, wrong in found.items() if not wrong.removeprefix("failure: ").startswith(CAUGHT)
    }
    assert not broken, f"failed, but of something else than what is asserted: {broken}"


@pytest.mark.slow
def test_without_a_defect_the_same_tests_pass(tmp_path: Path) -> None:
    # All that the table names, at once: none of them fails because of how it is run here.
    copy_of_the_package(tmp_path)
    tests = list(dict.fromkeys(test for mutant in MUTANTS for test in mutant.caught_by))
    code, found, said = run(tests, tmp_path)
    assert code == 0, said
    assert len(found) == len(tests)
    assert not any(found.values())


@each_mutant
def test_the_text_of_a_defect_stands_in_its_file_once(mutant: Mutant) -> None:
    text = (REPOSITORY / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.file} has it {text.count(mutant.old)} times"
    assert mutant.new != mutant.old


@each_mutant
def test_the_tests_that_are_named_for_a_defect_stand_in_their_files(mutant: Mutant) -> None:
    assert mutant.caught_by
    for test in mutant.caught_by:
        file, function = test.partition("[")[0].split("::")
        assert f"def {function}(" in (REPOSITORY / file).read_text(encoding="utf-8"), test


def test_no_two_defects_share_a_name_or_a_text() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
