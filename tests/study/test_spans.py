"""A trace of 40 spans, whose workload was worked out by hand."""

import json

import pytest

from sim.study.errors import InputError
from sim.study.spans import classify, read_hints, read_spans, tools_of, workload
from sim.workload import Workload

START = 1_700_000_000_000_000_000
MODEL = "gen_ai.operation.name=chat gen_ai.request.model=m"


def tool(name):
    return f"gen_ai.operation.name=execute_tool gen_ai.tool.name={name}"


# id, parent, begin and end in tenths of a second, attributes, failed. Letters are spans of models and tools.
TRACE = """
root    -     0    400  gen_ai.operation.name=invoke_agent
http1   A     0    10
A       root  0    20   {model} gen_ai.usage.input_tokens=100 gen_ai.usage.output_tokens=50
B       root  25   35   {search}
http2   B     26   34
C       root  35   55   {model} gen_ai.usage.input_tokens=200 gen_ai.usage.output_tokens=50
D       root  60   70   {send} ! error.type=timeout
E       root  75   95   {send}
http3   E     76   94
sub     E     80   90   {model} gen_ai.usage.input_tokens=9
F       root  100  120  {model}
G       root  120  160  {search}
H       root  130  150  {create}
I       root  140  170  {read}
http4   H     131  149
J       root  170  190  {model} ! gen_ai.usage.input_tokens=70
K       root  195  215  {model} gen_ai.usage.input_tokens=30
deleg   root  220  300  {delegate}
L       deleg 220  240  {model} gen_ai.usage.input_tokens=60
M       deleg 240  250  {search}
http5   M     241  249
N       deleg 255  275  {model} gen_ai.usage.input_tokens=40
O       deleg 275  295  {send}
P       root  300  320  {model} gen_ai.usage.input_tokens=80
""".format(
    model=MODEL,
    search=tool("search"),
    send=tool("send_mail"),
    create=tool("create_ticket"),
    read=tool("read_file"),
    delegate=tool("delegate"),
)
MORE = [f"idle{n} root 5 15" for n in range(16)]


def export(lines, **change):
    spans = []
    for line in lines:
        id, parent, begin, end, *words = line.split()
        attributes = [word.split("=") for word in words if "=" in word]
        values = [
            {"key": key, "value": {"intValue": value} if value.isdigit() else {"stringValue": value}}
            for key, value in attributes
        ]
        spans.append(
            {
                "traceId": "t",
                "spanId": id,
                "parentSpanId": "" if parent == "-" else parent,
                "name": id,
                "startTimeUnixNano": str(START + int(begin) * 10**8),
                "endTimeUnixNano": str(START + int(end) * 10**8),
                "attributes": values,
                "status": {"code": 2} if "!" in words else {},
            }
        )
    if change:
        spans[3] |= change
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


@pytest.fixture
def lines():
    found = [line for line in TRACE.splitlines() if line] + MORE
    assert len(found) == 40
    return found


def read(tmp_path, document):
    file = tmp_path / "spans.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return read_spans(file, "spans.json")


def test_the_workload_is_that_worked_out_by_hand(tmp_path, lines):
    spans = read(tmp_path, export(lines))
    acts = classify(tools_of(spans), ["send_*", "create_*"], [], {})
    assert acts == {
        "search": None,
        "send_mail": True,
        "create_ticket": True,
        "read_file": None,
        "delegate": None,
    }
    table = workload(spans, {tool: does is True for tool, does in acts.items()}, "Traced")
    Workload.model_validate(table)
    # Before a step: what was waited for it, and what had failed before it. Its own: what counts for it alone.
    by_hand = [
        ("chat m", 0.0, 2.0, 150, False),
        ("search", 0.5, 1.0, 0, False),
        ("chat m (2)", 0.0, 2.0, 250, False),
        ("send_mail", 0.5 + 1.0 + 0.5, 2.0, 0, True),  # D failed and was tried again as E; sub is in E
        ("chat m (3)", 0.5, 2.0, 90, False),  # tokens: mean of 150, 250, 9, 70, 30, 60, 40 and 80, about 86
        ("search (2)", 0.0, 1.0 + 1.0, 0, False),  # H acts from 13 to 15; G has 12-13 and 15-16
        ("create_ticket", 0.0, 2.0, 0, True),
        ("read_file", 0.0, 1.0, 0, False),  # I has what is left: 16-17
        ("chat m (4)", 2.0 + 0.5, 2.0, 70 + 30, False),  # J failed
        ("chat m (5)", 0.5, 2.0, 60, False),  # deleg holds L to O, and is no step
        ("search (3)", 0.0, 1.0, 0, False),
        ("chat m (6)", 0.5, 2.0, 40, False),
        ("send_mail (2)", 0.0, 2.0, 0, True),
        ("chat m (7)", 0.5, 2.0, 80, False),
    ]
    assert [step["name"] for step in table["steps"]] == [name for name, *_ in by_hand]
    assert ["action" in step for step in table["steps"]] == [acting for *_, acting in by_hand]
    tokens = [step.get("tokens", 0) for step in table["steps"]]
    assert tokens == pytest.approx([{90: 86.125}.get(count, count) for _, _, _, count, _ in by_hand])

    def pooled(name, of):
        return sorted(of(before, own) for at, before, own, *_ in by_hand if at.split(" (")[0] == name)

    def times(law):
        return sorted(law["times"]) if isinstance(law, dict) else law

    for step in table["steps"]:
        name = step["name"].split(" (")[0]
        if name == "chat m":
            assert times(step["work"]) == pytest.approx(pooled(name, lambda before, own: before + own))
        else:
            waited, own = pooled(name, lambda before, _: before), pooled(name, lambda _, own: own)
            assert times(step["tool"]) == pytest.approx(own if len({*own}) > 1 else own[0])
            expected = [max(time, 1e-9) for time in waited] if len({*waited}) > 1 else waited[0]
            assert times(step["work"]) == pytest.approx(expected)
    # All time from the first span to the last is some step's, once.
    assert sum(before + own for _, before, own, *_ in by_hand) == pytest.approx(32.0 - 0.0)


BROKEN = {
    "not JSON": ("{", "spans.json: is not JSON: "),
    "a list": ("[1]", "spans.json: holds no span of a model or a tool: none of its 0 spans has a gen_ai."),
    "no spans": ('{"resourceSpans": []}', "spans.json: holds no span of a model or a tool"),
    "deep": ("[" * 100_000, "spans.json: is not JSON: nested too deeply."),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_export_is_told_in_a_line(tmp_path, what):
    text, said = BROKEN[what]
    with pytest.raises(InputError) as told:
        read(tmp_path, text)
    assert str(told.value).startswith(said)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"endTimeUnixNano": str(START)}, "].spans[3]: span 'B' ends 2.5 s before it begins."),
        ({"startTimeUnixNano": None}, "].spans[3].startTimeUnixNano: is missing; a span needs"),
        ({"startTimeUnixNano": "-5"}, "].spans[3].startTimeUnixNano: is no instant: '-5'; a span needs"),
        ({"endTimeUnixNano": "soon"}, "].spans[3].endTimeUnixNano: is no instant: 'soon'; a span needs"),
        ({"endTimeUnixNano": [1]}, "].spans[3].endTimeUnixNano: is no instant: [1]; a span needs"),
    ],
)
def test_a_wrong_time_is_told_with_its_place(tmp_path, lines, change, said):
    with pytest.raises(InputError) as told:
        read(tmp_path, export(lines, **change))
    assert said in str(told.value)
    assert len(told.value.problems) == 1


def test_an_export_that_is_too_large_is_not_read(tmp_path):
    file = tmp_path / "spans.json"
    with open(file, "wb") as large:
        large.truncate(100_000_000)
    with pytest.raises(InputError, match=r"spans.json: is 100 MB; at most 50 MB are read"):
        read_spans(file, "spans.json")


def test_a_line_a_document(tmp_path, lines):
    whole = read(tmp_path, export(lines))
    apart = read(tmp_path, "\n".join(json.dumps(export(part)) for part in (lines[:20], lines[20:])))
    assert apart == whole


def test_several_traces_are_pooled_and_the_middle_one_gives_the_steps(tmp_path):
    def run(trace, *durations):
        spans = []
        for n, duration in enumerate(durations):
            begin = START + n * 10**10
            spans.append(
                {
                    "traceId": trace,
                    "spanId": f"{trace}{n}",
                    "startTimeUnixNano": str(begin),
                    "endTimeUnixNano": str(begin + duration * 10**9),
                    "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
                }
            )
        return spans

    spans = [*run("a", 10), *run("b", 10, 2), *run("c", 10, 3, 4)]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    table = workload(read(tmp_path, document), {}, "Pooled")
    assert [step["name"] for step in table["steps"]] == ["chat", "chat (2)"]
    assert table["steps"][0]["work"]["times"] == [2.0, 3.0, 10.0, 10.0, 10.0, 11.0]


def test_what_a_list_of_tools_says(tmp_path):
    file = tmp_path / "tools.json"
    tools = [
        {"name": "search", "annotations": {"readOnlyHint": True}},
        {"name": "set_flag", "annotations": {"readOnlyHint": False, "idempotentHint": True}},
        {"name": "pay", "annotations": {"title": "Pay"}},
        {"name": "mystery"},
    ]
    file.write_text(json.dumps({"jsonrpc": "2.0", "result": {"tools": tools}}))
    hints = read_hints(file, "tools.json")
    assert hints == {"search": False, "set_flag": False, "pay": True}
    tools = ["search", "pay", "mystery", "send_mail", "get_mail"]
    found = classify(tools, ["send_*"], ["get_*"], hints)
    assert found == {"search": False, "pay": True, "mystery": None, "send_mail": True, "get_mail": False}
    with pytest.raises(InputError, match="post_\\*: fits no tool of the trace; there are: search, pay"):
        classify(tools, ["post_*"], [], hints)
    with pytest.raises(InputError, match="tools: send_mail: is said to act and to be harmless"):
        classify(tools, ["send_*"], ["*_mail"], hints)
    file.write_text("[]")
    with pytest.raises(InputError, match=r"tools.json: tools: holds no tools"):
        read_hints(file, "tools.json")
