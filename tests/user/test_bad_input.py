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
    "tables within tables": (
        EXPERIMENT,
        "[sweep]",
        f"[scenario{'.a' * 3000}]\n[sweep]",
        ["is nested too deeply", "at most 50"],
    ),
    "lists within lists": (
        EXPERIMENT,
        "seed = 7",
        f"seed = {'[' * 5000}{']' * 5000}",
        ["is nested too deeply", "at most 50"],
    ),
    "a number of thousands of digits": (EXPERIMENT, "seed = 7", f"seed = {'9' * 5000}", ["is not TOML"]),
    "more cells than can be": (
        EXPERIMENT,
        "[0.1, 0.5]",
        f"{[0.1, 0.5] * 50}\n" + "\n".join(f'"a.{k}" = {list(range(1000))}' for k in range(9)),
        ["sweep", "200,000,000,000,000,000,000,000,000,000", "at most 10,000"],
    ),
    "swept key of many parts": (
        EXPERIMENT,
        '"store.write.median" = [',
        f'"store{".a" * 3000}" = [',
        ["sweep", "more than 50 parts"],
    ),
    "laws within laws": (
        EXPERIMENT,
        "response = 0.5",
        "response = " + '{ law = "scaled", by = 2.0, of = ' * 9 + "1.0" + " }" * 9,
        ["scenario.receiver.response", "more than 8 laws in one another"],
    ),
    "equilibrium of an equilibrium": (
        EXPERIMENT,
        "response = 0.5",
        'response = { law = "equilibrium", of = { law = "equilibrium", of = 1.0 } }',
        ["scenario.receiver.response.of", "must not have an equilibrium in it"],
    ),
    "times from a device": (
        EXPERIMENT,
        "response = 0.5",
        'response = { law = "empirical", file = "/dev/zero" }',
        ["scenario.receiver.response.file", "/dev/zero is no file"],
    ),
    "times from a file of no name": (
        EXPERIMENT,
        "response = 0.5",
        'response = { law = "empirical", file = "\\u0000" }',
        ["scenario.receiver.response.file", "cannot be read"],
    ),
    "a law without a finite mean": (
        WORKLOAD,
        'law = "gamma", shape = 2, mean = 2.0',
        'law = "equilibrium", of = { law = "lognormal", median = 1.0, sigma = 1e300 }',
        ["default.work.of", "must have a finite mean"],
    ),
    "more attempts than can be": (
        EXPERIMENT,
        "[strategies]",
        "limits = { attempts = 1000000000 }\n[strategies]",
        ["scenario.limits.attempts", "100000"],
    ),
    "more runs than can be": (EXPERIMENT, "1500", "1" + "0" * 30, ["replications", "1000000000"]),
    "more verbs than can be": (
        EXPERIMENT,
        '"checkpoint" }',
        f'"checkpoint", end = {["save"] * 101} }}',
        ["strategies.checkpoint.end", "at most 100 items"],
    ),
    "more tokens than a float counts": (
        WORKLOAD,
        "tokens = 100",
        "tokens = 1e308",
        ["default.tokens", "1000000000000"],
    ),
    "broken template": (EXPERIMENT, "est('p_duplicate', 'restart')", "est('p_dup')", ["answer", "p_dup"]),
}

TOO_MUCH = {
    "{% for i in [1] %}{% for j in [2] %}{% endfor %}{% endfor %}": "a loop in a loop",
    "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}": "a loop in a loop",
    "{% for i in range(1000000000) %}{% endfor %}": "'range' is undefined",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "a macro",
    "{{ 10 ** 10 ** 10 }}": "a power",
    "{{ 'x' * 10000000000 }}": "* stands between numbers",
    "{{ '%d' % 1 }}": "a remainder",
    "{{ '%999999999d' | format(1) }}": "too many places",
    "{{ '{:>999999999}'.format(1) }}": "is unsafe",
    "{{ 'x'.center(999999999) }}": "is unsafe",
    "{{ 'x' | center(999999999) }}": "No filter named 'center'",
    "{{ ''.__class__ }}": "is unsafe",
    "{% include 'x' %}": "another template",
    "{{ 1 / 0 }}": "division by zero",
    "{{ number(1e999) }}": "inf",
    "{{ mean({'law': 'absent'}) }}": "'absent' is no law",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}": "nested too deeply",
    "{{ " + "-" * 5000 + "1 }}": "nested too deeply",
    "{{ est('p_duplicate') }}" * 1000: "at most 20000 characters",
}


@pytest.mark.parametrize("template", TOO_MUCH)
def test_a_template_that_asks_for_too_much(savegap, project, template):
    text = (project / EXPERIMENT).read_text()
    (project / EXPERIMENT).write_text(
        text.replace("{{ est('p_duplicate', 'restart') }}", template.replace('"', "'"))
    )
    code, _, errors = savegap("run", "--jobs", "1", "--replications", "5")
    assert code == 2
    assert errors.startswith(f"error: {EXPERIMENT}: answer: ")
    assert TOO_MUCH[template] in errors
    assert errors.endswith(".\n")
    assert not (project / "results").exists()


ENDLESS = {
    "crashes": 'crash = { process = "periodic", period = 1e-9 }\ndowntime = { restart = 9.0 }',
    "outages": "provider = { up = 1e-12, down = 1e-12 }",
    "stalls": "supervision = { lease = 1.0, stalls = { every = 0, lasts = 0 } }",
    "events": "supervision = { lease = 1.0, stalls = { every = 1e-6, lasts = 0, freezes = false } }",
    "clock": 'downtime = { restart = 4e9, detection = 4e9 }\ncrash = { process = "renewal", law = 0.1 }',
}


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=[pytest.mark.slow] * (what == "events")) for what in ENDLESS]
)
def test_a_run_that_does_not_end(savegap, project, monkeypatch, what):
    monkeypatch.setattr("sim.ticks.MOST", 5_000 if what != "events" else 10**9)
    monkeypatch.setattr("sim.events.run.MOST_EVENTS", 5_000 if what == "events" else 10**9)
    text = (project / EXPERIMENT).read_text().replace('crash = { process = "uniform_time" }\n', "")
    (project / EXPERIMENT).write_text(text.replace("[strategies]", f"{ENDLESS[what]}\n[strategies]"))
    code, _, errors = savegap("run", "--jobs", 1, "--replications", "2")
    assert code == 1
    told = [line for line in errors.splitlines() if line.startswith("failed: ")]
    assert told[0].startswith("failed: tiny, store.write.median = 0.1, restart, replication 0: ")
    assert f" {what}" in told[0]
    assert "limits.makespan" in errors
    assert not (project / "results/tiny").exists()


def test_more_steps_than_can_be(savegap, project):
    names = "\n".join(f"  'step {k}'," for k in range(7_000))
    (project / WORKLOAD).write_text(f"steps = [\n{names}\n]\n[default]\nwork = 1.0")
    code, _, errors = savegap("run")
    assert code == 2
    told = "scenario.workload.steps: 7,000 steps are 21,000 verbs of the strategy; at most 20,000."
    assert told in errors


def test_more_mistakes_than_anybody_reads(savegap, project):
    (project / WORKLOAD).write_text("[[steps]]\nname = 1\n" * 1_000)
    code, _, errors = savegap("run")
    assert code == 2
    assert len(errors.splitlines()) == 101
    assert errors.splitlines()[-1] == "error: and 1,900 more."


def test_a_long_value_is_shown_in_short(savegap, project):
    text = (project / EXPERIMENT).read_text()
    (project / EXPERIMENT).write_text(text.replace("seed = 7", f'seed = "{"long " * 100_000}"'))
    code, _, errors = savegap("run")
    assert code == 2
    assert "seed: must be a valid integer" in errors
    assert len(errors) < 3000


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
