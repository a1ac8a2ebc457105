"""Wrong input is answered by file, key, what is wrong and what is allowed; and nothing is written."""

import pytest

pytestmark = pytest.mark.usefixtures("few_laws")

EXPERIMENT = "experiments/tiny.toml"
WORKLOAD = "experiments/workloads/tiny.toml"

WRONG = {
    "unknown key": (EXPERIMENT, 'title = "Tiny"', 'titel = "Tiny"', ["titel", 'did you mean "title"?']),
    "missing key": (EXPERIMENT, "seed = 7\n", "", ["seed", "missing"]),
    "wrong type": (EXPERIMENT, "seed = 7", 'seed = "seven"', ["seed", "must be a valid integer"]),
    "no such metric in the answer": (
        EXPERIMENT,
        "p_duplicate', 'restart'",
        "p_duplicates', 'restart'",
        ["answer", "there is no 'p_duplicates' of 'restart'"],
    ),
    "no such engine": (EXPERIMENT, "seed = 7", 'seed = 7\nengine = "fast"', ["engine", "events"]),
    "a precision of everything": (
        EXPERIMENT,
        "seed = 7",
        "seed = 7\nprecision = { relative = 1.0 }",
        ["precision.relative", "less than 1"],
    ),
    "no replications": (EXPERIMENT, "1500", "0", ["replications", "greater than or equal to 1"]),
    "negative time": (
        EXPERIMENT,
        "response = 0.5",
        "response = -0.5",
        ["scenario.receiver.response", "-0.5"],
    ),
    "time not a number": (EXPERIMENT, "response = 0.5", "response = nan", ["receiver.response", "finite"]),
    "unknown law": (EXPERIMENT, '"lognormal"', '"lognormla"', ["store.write", 'did you mean "lognormal"?']),
    "unknown parameter": (EXPERIMENT, "sigma = 0.5", "sgima = 0.5", ["store.write.sgima", '"sigma"']),
    "unknown process": (EXPERIMENT, '"uniform_time"', '"uniform_tim"', ["crash.process", '"uniform_time"']),
    "unknown protocol": (
        EXPERIMENT,
        '"restart" }',
        '"restrat" }',
        ["strategies.restart.protocol", '"restart"'],
    ),
    "no strategy": (EXPERIMENT, 'restart = { protocol = "restart" }\ncheckpoint', "a.b", ["strategies.a"]),
    "step that is not there": (
        EXPERIMENT,
        '"checkpoint" }',
        '"checkpoint", steps = ["sned"] }',
        ["strategies.checkpoint.steps.0", 'did you mean "send"?'],
    ),
    "unknown workload": (
        EXPERIMENT,
        'workload = "tiny"',
        'workload = "tinny"',
        ["scenario.workload", '"tiny"'],
    ),
    "unknown metric": (
        EXPERIMENT,
        '["p_duplicate", "m',
        '["p_duplicat", "m',
        ["headline.0", '"p_duplicate"'],
    ),
    "empty axis": (EXPERIMENT, "[0.1, 0.5]", "[]", ['sweep."store.write.median"', "at least one value"]),
    "empty sweep": (EXPERIMENT, '"store.write.median" = [0.1, 0.5]', "", ["sweep", "at least one axis"]),
    "swept value": (EXPERIMENT, "[0.1, 0.5]", "[0.1, -2.0]", ['sweep."store.write.median"', "-2"]),
    "swept key": (EXPERIMENT, '"store.write.median" =', '"store.wirte.median" =', ["wirte", '"write"']),
    "sweep below a number": (
        EXPERIMENT,
        '"store.write.median" =',
        '"receiver.response.median" =',
        ["receiver.response is 0.5", "median"],
    ),
    "swept strategy": (
        EXPERIMENT,
        '"store.write.median" = [',
        '"strategy.every" = [',
        ["strategies are not swept"],
    ),
    "line over words": (EXPERIMENT, "[0.1, 0.5]", '["0.1", 0.5]', ["figures.0.x", "positive numbers"]),
    "figure of what is not swept": (
        EXPERIMENT,
        'x = "store.write.median"',
        'x = "store.ack"',
        ["figures.0.x", "store.write.median"],
    ),
    "broken TOML": (EXPERIMENT, "[scenario]", "[scenario", ["is not TOML", "line"]),
    "mistake in a workload": (WORKLOAD, "mean = 2.0", "mean = -2.0", ["default.work.mean", "-2"]),
    "template that is none": (
        EXPERIMENT,
        "'restart') }}",
        "'restart') }",
        ["answer", "is no Jinja template"],
    ),
    "broken template": (EXPERIMENT, "est('p_duplicate', 'restart')", "est('p_dup')", ["answer", "p_dup"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_answer_names_file_key_and_remedy(savegap, project, case):
    file, right, wrong, told = WRONG[case]
    text = (project / file).read_text()
    assert right in text
    (project / file).write_text(text.replace(right, wrong))
    code, _, errors = savegap("run", "--jobs", "1", "--replications", "5")
    assert code == 2
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert any(line.startswith(f"error: {file}") and all(t in line for t in told) for line in lines), errors
    assert "Traceback" not in errors
    assert not (project / "results").exists()


def test_all_mistakes_of_all_files_at_once(savegap, project):
    text = (project / EXPERIMENT).read_text()
    text = text.replace("seed = 7", "seed = -7").replace('"uniform_time"', '"uniform"')
    (project / EXPERIMENT).write_text(text.replace("response = 0.5", 'response = "fast"'))
    (project / "experiments/other.toml").write_text("title = 3")
    code, _, errors = savegap("run")
    assert code == 2
    for told in ("seed", "scenario.crash.process", "scenario.receiver.response", "other.toml: title"):
        assert told in errors


def test_results_of_before_are_not_touched(savegap, project, contents):
    savegap("run", "--jobs", "1", "--replications", "20")
    before = contents(project / "results")
    text = (project / EXPERIMENT).read_text()
    (project / EXPERIMENT).write_text(text.replace("sigma = 0.5", "sigma = 0"))
    assert savegap("run")[0] == 2
    assert contents(project / "results") == before


def test_a_report_of_results_of_another_version_is_refused(savegap, project):
    savegap("run", "--jobs", "1", "--replications", "20")
    text = (project / EXPERIMENT).read_text()
    (project / EXPERIMENT).write_text(
        text.replace("restart = {", '"start again" = {').replace("'restart'", "''")
    )
    code, _, errors = savegap("report")
    assert code == 2
    assert errors.strip().endswith("results are of another version of the file; run: savegap run tiny")


def test_a_file_that_cannot_be_read(savegap, project):
    (project / EXPERIMENT).write_bytes(b'title = "\xff"')
    code, _, errors = savegap("run")
    assert (code, errors.strip()) == (2, f"error: {EXPERIMENT}: is not UTF-8 text.")


def test_a_file_that_is_not_there(savegap, project):
    code, _, errors = savegap("run", "absent.toml")
    assert code == 2
    assert errors.strip() == "error: absent.toml: is no file and no experiment; there are: tiny."


def test_a_folder_that_cannot_be_written(savegap, project):
    (project / "occupied").write_text("a file")
    code, _, errors = savegap("run", "--out", project / "occupied" / "results")
    assert code == 2
    assert "occupied/results: cannot be written" in errors


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--jobs", "0", "x>=1"),
        ("--replications", "0", "x>=1"),
        ("--seed", "-1", "x>=0"),
        ("--jobs", "two", "int"),
    ],
)
def test_an_option_out_of_range(savegap, option, value, told):
    code, _, errors = savegap("run", option, value)
    assert code == 2
    assert option in errors
    assert told in errors


def test_no_project(savegap, tmp_path_factory, monkeypatch):
    nowhere = tmp_path_factory.mktemp("nowhere")
    code, _, errors = savegap("run", "--project", nowhere)
    assert code == 2
    assert "holds no experiment" in errors
