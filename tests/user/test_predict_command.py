"""The command ``savegap predict``: from a file, from names, from a trace; and what it says of wrong input."""

import csv
import json

import pytest

MS = 1_000_000
LIGHT = '[strategies]\nrestart = { protocol = "restart" }\ncheckpoint = { protocol = "checkpoint" }\n'


def span(number, operation, name, begin_ms, end_ms, **more):
    kind = {"chat": "gen_ai.request.model", "execute_tool": "gen_ai.tool.name"}[operation]
    attributes = {"gen_ai.operation.name": operation, kind: name}
    return {
        "traceId": "t",
        "spanId": f"s{number}",
        "name": f"{operation} {name}",
        "startTimeUnixNano": str((1000 + begin_ms) * MS),
        "endTimeUnixNano": str((1000 + end_ms) * MS),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        **more,
    }


def export(*spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


TRACE = (
    span(1, "chat", "m", 0, 2000),
    span(2, "execute_tool", "get_mail", 2000, 2500),
    span(3, "execute_tool", "send_mail", 2500, 3500),
    span(4, "execute_tool", "log", 3500, 4000),
)


@pytest.fixture
def light(project):
    """A file that compares two strategies only, which is faster."""
    file = project / "agent.toml"
    file.write_text(f"[deploys]\na_day = 0\n[costs]\nduplicate = 5.0\n{LIGHT}")
    return file


def test_a_file_to_begin_with_is_written_once_and_predicts(savegap, project):
    assert savegap("init")[0] == 0
    code, _, errors = savegap("init")
    assert (code, "my-agent.toml: is there already" in errors) == (2, True)
    text = (project / "my-agent.toml").read_text().replace('workload = "support-agent"', 'workload = "tiny"')
    (project / "my-agent.toml").write_text(text)
    code, output, errors = savegap("predict", "my-agent.toml", "--jobs", 1, "--csv", "table.csv")
    assert code == 0, errors
    assert "My agent: 3 steps, of which 1.00 act;" in output
    assert "Assumed" not in output
    for line in ("checkpoint: crash ", "Take “checkpoint + keys”: it costs ", "Worth measuring next: "):
        assert line in output
    rows = list(csv.DictReader((project / "table.csv").open()))
    by = {(row["strategy"], row["number"]): row for row in rows}
    assert len(by) == len(rows) == 7 * 7
    twice = by["restart", "duplicates per million actions"]
    assert 0 < float(twice["low"]) <= float(twice["value"]) <= float(twice["high"])


def test_names_stand_for_a_file_and_what_is_assumed_is_told(savegap, light):
    code, output, errors = savegap("predict", light, "--workload", "tiny", "--deploys", 4, "--jobs", 1)
    assert code == 0, errors
    assert "4 deploys a day, killed at once." in output
    assert "Assumed, since nobody said: crash, store, receiver, downtime, deploys.grace, costs." in output
    code, _, errors = savegap("predict", light, "--workload", "tinny", "--system", "x", "--jobs", 1)
    assert code == 2
    assert "system: 'x' is no system" in errors
    code, _, errors = savegap("predict", light, "--workload", "tinny")
    assert code == 2
    assert "scenario.workload: 'tinny' is no workload; " in errors


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        (
            "[costs]\nduplicate = 5.0\n",
            "receiver, downtime, deploys, costs.currency, costs.million_tokens, costs.loss, costs.stuck",
        ),
        ("[deploys]\na_day = 0\n", "said: crash, store, receiver, downtime, deploys.grace, costs ("),
        (
            "[costs]\nmillion_tokens = 0\nduplicate = 0\nloss = 0\nstuck = 0\nhour = 0\n",
            "Nothing has a price, so nothing is advised",
        ),
        ("[deploys]\na_day = 2\ngrace = 9\n", "2 deploys a day, 9 s from being told to being killed."),
        ('[scenario.crash]\nprocess = "renewal"\nlaw = { law = "exponential", mean = 1e300 }\n', "Take “"),
        pytest.param(
            '[scenario.crash]\nprocess = "renewal"\nlaw = { law = "exponential", mean = 0.5 }\n',
            "Take “",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "[deploys]\na_day = 50_000\n",
            "50000 deploys a day, killed at once.",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_whatever_is_said_or_not_there_is_an_answer(savegap, project, tables, told):
    (project / "agent.toml").write_text(tables + LIGHT)
    code, output, errors = savegap("predict", "agent.toml", "--workload", "tiny", "--jobs", 1)
    assert code == 0, errors
    assert told in output


def test_names_are_shown_as_they_are(savegap, project):
    named = LIGHT.replace("restart =", '"[/x]" =')
    (project / "agent.toml").write_text(f'[deploys]\na_day = 0\n[costs]\ncurrency = "[/]"\n{named}')
    code, output, errors = savegap("predict", "agent.toml", "--workload", "tiny", "--jobs", 1)
    assert code == 0, errors
    assert "[/x]" in output
    assert "[/]" in output


def test_tools_that_nobody_told_of_make_every_number_a_range(savegap, light, project):
    (project / "spans.json").write_text(export(*TRACE))
    trace = ["predict", light, "--from-trace", "spans.json", "--jobs", 1]
    code, output, errors = savegap(*trace, "--actions", "send_*")
    assert code == 0, errors
    assert "4 steps, of which 3.00 act" in output  # in the worst case
    assert "Not known to act: get_mail, log." in output
    assert "If none of them acts: Take " in output
    assert "If all of them act: Take " in output
    assert " to " in next(line for line in output.splitlines() if "restart" in line)
    (project / "tools.json").write_text(
        json.dumps({"tools": [{"name": "get_mail", "annotations": {"readOnlyHint": True}}]})
    )
    code, output, errors = savegap(
        *trace, "--actions", "send_*", "--tools", "tools.json", "--harmless", "log"
    )
    assert code == 0, errors
    assert "4 steps, of which 1.00 act; 4.00 s without a crash." in output
    assert "Not known" not in output


def test_a_span_that_was_exported_twice_is_one_and_two_traces_are_two_runs(savegap, light, project):
    again = [{**each, "traceId": "u"} for each in TRACE]
    (project / "spans.json").write_text(f"{export(*TRACE)}\n{export(*TRACE)}\n{export(*again)}\n")
    code, output, errors = savegap(
        "predict", light, "--from-trace", "spans.json", "--actions", "*", "--jobs", 1
    )
    assert code == 0, errors
    assert "2 traces: the steps are those of one with the median number, times are of all." in output
    assert "4 steps, of which 3.00 act; 4.00 s without a crash." in output


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("spans", "spans.json: is not JSON"),
        ("{}", "spans.json: holds no span of a model or a tool"),
        (export({**TRACE[0], "endTimeUnixNano": "5"}), "ends 1 s before it begins"),
        (export({key: value for key, value in TRACE[0].items() if key[:5] != "start"}), "is missing"),
        (export({**TRACE[0], "startTimeUnixNano": "-5"}), "is no instant: '-5'"),
        (export({**TRACE[0], "endTimeUnixNano": "9" * 400}), "is no instant: '999"),
        (
            export({**TRACE[0], "attributes": [{"key": [], "value": {}}]}),
            "holds no span of a model or a tool",
        ),
        (export({**TRACE[0], "status": {"code": 2}}), "failed spans of models and tools only"),
        (None, "spans.json: cannot be read: No such file or directory."),
        ("100 MB", "spans.json: is 100 MB; at most 50 MB are read. Export fewer traces."),
    ],
)
def test_a_broken_export_is_told_in_one_line(savegap, light, project, content, told):
    file = project / "spans.json"
    if content == "100 MB":
        with file.open("wb") as out:
            out.truncate(100_000_000)
    elif content is not None:
        file.write_text(content)
    code, output, errors = savegap("predict", light, "--from-trace", "spans.json")
    assert (code, output) == (2, "")
    [line] = errors.splitlines()
    assert line.startswith("error: ")
    assert told in line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--actions", "send_*"],
            "--tools tell of the tools in --from-trace FILE.",
        ),
        (["--from-trace", "spans.json", "--actions", "post_*"], "post_*: fits no tool of the trace"),
        (["--from-trace", "spans.json", "--tools", "no.json"], "no.json: cannot be read"),
        (["--from-trace", "spans.json", "--workload", "tiny"], "both tell of the workload"),
        (["nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory."),
        (["--precision", "nan"], "--precision must be a number."),
        (["--precision", "0.9"], "0.9 is not in the range"),
    ],
)
def test_wrong_arguments_are_told(savegap, project, arguments, told):
    (project / "spans.json").write_text(export(*TRACE))
    code, _, errors = savegap("predict", *arguments)
    assert code == 2
    assert told in errors
