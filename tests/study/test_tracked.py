"""Tracked results are those of this program and these experiment files; to tell takes no simulation."""

from pathlib import Path

import pytest

from sim.study.chunks import program_identity, scenarios_identity
from sim.study.config import load
from sim.study.files import experiment_files
from sim.study.identity import content, digest
from sim.study.made import read
from sim.study.provenance import MANIFEST, program

REPOSITORY = Path(__file__).parents[2]
FILES = experiment_files(REPOSITORY, [])
MADE = read(REPOSITORY / "results" / MANIFEST)


def test_all_are_there_and_of_one_program_and_these_versions():
    assert set(MADE["experiments"]) == {file.stem for file in FILES}
    assert set(MADE["programs"]) == {program_identity()}
    assert MADE["programs"][program_identity()] == program()


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_each_is_of_its_file(file):
    plan = load(file, REPOSITORY)
    made = MADE["experiments"][plan.name]
    assert made["file"] == digest(content(plan.experiment))
    assert (made["seed"], made["engine"]) == (plan.experiment.seed, plan.experiment.engine)
    assert made["failed"] == []
    assert [cell["cell"] for cell in made["cells"]] == [cell.factors for cell in plan.cells]
    assert [cell["scenarios"] for cell in made["cells"]] == [
        scenarios_identity(cell.scenarios) for cell in plan.cells
    ]
    assert all(0 < cell["n"] <= plan.experiment.replications for cell in made["cells"])
