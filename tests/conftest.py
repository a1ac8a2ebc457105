"""What several kinds of test share: the project's own files, and a tiny project in a temporary folder."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

WORKLOAD = """
title = "Tiny"

[default]
work = { law = "gamma", shape = 2, mean = 2.0 }
tokens = 100

[[steps]]
name = "think"
[[steps]]
name = "send"
action = {}
[[steps]]
name = "report"
"""

OWN_LAW = '''
"""A law of the project."""

from typing import ClassVar

from sim.laws import Law, law
from sim.validation import Positive


@law("mine")
class Mine(Law):
    """Constant hazard."""

    examples: ClassVar = ({"mean": 30.0},)
    mean: Positive

    def cumulative_hazard(self, t):
        return t / self.mean
'''

EXPERIMENT = """
title = "Tiny"
question = "Does it work?"
given = "one crash a run"
answer = "{{ est('p_duplicate', 'restart') }} of the runs repeat it."
seed = 7
replications = 1500
headline = ["p_duplicate", "makespan_s"]

[scenario]
workload = "tiny"
crash = { process = "uniform_time" }
store = { write = { law = "lognormal", median = 0.5, sigma = 0.5 } }
receiver = { response = 0.5 }

[strategies]
restart = { protocol = "restart" }
checkpoint = { protocol = "checkpoint" }

[sweep]
"store.write.median" = [0.1, 0.5]

[[figures]]
name = "writes"
x = "store.write.median"
y = ["p_duplicate"]
caption = "Duplicates against the write latency."
"""


def write_project(folder):
    """Write a project of one small experiment, called tiny."""
    workloads = folder / "experiments" / "workloads"
    workloads.mkdir(parents=True)
    (workloads / "tiny.toml").write_text(WORKLOAD)
    (folder / "experiments" / "tiny.toml").write_text(EXPERIMENT)
    return folder


@pytest.fixture
def project(tmp_path):
    """A project of one small experiment, called tiny."""
    return write_project(tmp_path)


@pytest.fixture
def own_law(project):
    """File of a law of the project, called mine."""
    file = project / "experiments" / "laws" / "mine.py"
    file.parent.mkdir()
    file.write_text(OWN_LAW)
    return file


@pytest.fixture(scope="session")
def new_project(tmp_path_factory):
    """Make further such projects."""
    return lambda name: write_project(tmp_path_factory.mktemp(name))


@pytest.fixture(scope="session")
def contents():
    """Read a folder of results, but for what is kept there to go on from: a file's bytes by its name."""

    def read(folder):
        files = (file.relative_to(folder) for file in sorted(folder.rglob("*")) if file.is_file())
        return {
            str(file): (folder / file).read_bytes()
            for file in files
            if file.parts[0] not in (".kept", "run.json")
        }

    return read


@pytest.fixture
def few_laws(monkeypatch):
    """Let a report's gallery show two laws only, which is faster."""
    from sim.laws import LAWS

    monkeypatch.setattr("sim.report.gallery.LAWS", {name: LAWS[name] for name in ("constant", "weibull")})


@pytest.fixture
def savegap(project, monkeypatch, capsys):
    """Run the command in the tiny project: (exit code, output, errors)."""
    from sim.cli import main

    def command(*arguments):
        monkeypatch.chdir(project)
        monkeypatch.setattr("sys.argv", ["savegap", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return command
