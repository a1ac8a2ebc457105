"""The workload of an agent from its traces: an OpenTelemetry export with spans of models and tools.

Spans are understood by the semantic conventions for generative AI, version 1.41: ``gen_ai.operation.name``
tells what a span is, ``gen_ai.tool.name`` which tool, ``gen_ai.usage.*_tokens`` what it cost. One trace is
one run. How its spans become steps:

- A span of a model or of a tool is a step, in the order in which they begin; all other spans are no steps.
- A span with such spans below it only holds them, unless it is a tool that acts: then they belong to it.
- Time in which several spans run counts once: for the tool that acts, if one is among them, else for the span
  that began first. Time in which none runs counts as work of the step that begins next.
- A span that failed is no step: its time and tokens are work of the step that follows, or of the last one.
- Where a span of a model has no token counts it has the mean of its namesakes, or of all models.

Times are empirical laws over all spans of a name, of all traces; the steps are those of the trace that has
the median number of them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from sim.study.errors import InputError, Problem

CONVENTIONS = "1.41"
"""Version of the semantic conventions whose names are looked for."""

MODELS = ("chat", "generate_content", "text_completion", "embeddings")
"""Operations of a model."""

TOOL = "execute_tool"
"""Operation of a tool."""

MOST_BYTES = 50_000_000
"""Larger exports are refused: they hold traces enough for many workloads."""

FAILED = 2
"""Status code of a span that failed."""


class Span(NamedTuple):
    """A span of an export.

    Attributes
    ----------
    trace, id, parent : str
        Which run; which span; below which, "" for the topmost.
    name : str
        Of the tool, or the operation and the model; "" for a span that is of neither.
    tool : bool
        Whether a tool was executed.
    begin, end : int
        ns since the epoch.
    tokens : float or None
        Of a model, input and output; None if they are not told.
    failed : bool
    """

    trace: str
    id: str
    parent: str
    name: str
    tool: bool
    begin: int
    end: int
    tokens: float | None
    failed: bool


@dataclass
class _Step:
    """A step in the making: times in ns."""

    span: Span
    acts: bool
    before: int = 0
    own: int = 0
    tokens: float = 0.0


def read_spans(file: Path, shown: str) -> list[Span]:
    """Read the spans of an OTLP JSON export, one document or one a line.

    Parameters
    ----------
    file : Path
        The export.
    shown : str
        What it is called where something is wrong with it.

    Raises
    ------
    InputError
        If it is no such export, too large, or a time is missing or runs backwards.
    """
    try:
        if (size := file.stat().st_size) > MOST_BYTES:
            most = f"at most {MOST_BYTES / 1e6:,.0f} MB are read"
            sentence = f"is {size / 1e6:,.0f} MB; {most}. Export fewer traces."
            raise InputError([Problem(shown, "", sentence)])
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError([Problem(shown, "", f"cannot be read: {error.strerror}.")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(shown, "", "is not UTF-8 text.")]) from None
    found = (_span(raw, at, shown) for document in _documents(text, shown) for at, raw in _raw(document))
    # A span that was exported twice is one.
    spans = list({(span.trace, span.id or number): span for number, span in enumerate(found)}.values())
    if not any(span.name for span in spans):
        sentence = (
            f"holds no span of a model or a tool: none of its {len(spans):,} spans has a "
            f"gen_ai.operation.name that is one of {', '.join((*MODELS, TOOL))}."
        )
        raise InputError([Problem(shown, "", sentence)])
    return spans


def _documents(text: str, shown: str) -> Iterator[Any]:
    """Give the documents of a file."""
    try:
        yield json.loads(text)
        return
    except (ValueError, RecursionError) as error:
        whole = error
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        documents = [json.loads(line) for line in lines] if len(lines) > 1 else []
    except (ValueError, RecursionError):
        documents = []
    if not documents:
        reason = "nested too deeply" if isinstance(whole, RecursionError) else f"{whole}"
        raise InputError([Problem(shown, "", f"is not JSON: {reason}.")])
    yield from documents


def _raw(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the spans of a document as they are, and where they stand."""
    for r, resource in enumerate(_list(document, "resourceSpans")):
        for s, scope in enumerate(_list(resource, "scopeSpans")):
            for n, raw in enumerate(_list(scope, "spans")):
                if isinstance(raw, dict):
                    yield f"resourceSpans[{r}].scopeSpans[{s}].spans[{n}]", raw


def _list(table: Any, key: str) -> list[Any]:
    found = table.get(key) if isinstance(table, dict) else None
    return found if isinstance(found, list) else []


def _span(raw: dict[str, Any], at: str, shown: str) -> Span:
    attributes = {
        entry["key"]: next(iter(entry["value"].values()), None)
        for entry in _list(raw, "attributes")
        if isinstance(entry, dict)
        and isinstance(entry.get("value"), dict)
        and isinstance(entry.get("key"), str)
    }
    operation = attributes.get("gen_ai.operation.name")
    tool, model = operation == TOOL, operation in MODELS
    title = str(raw.get("name", ""))
    name = ""
    if tool:
        name = str(attributes.get("gen_ai.tool.name") or title.removeprefix(f"{TOOL} ") or "tool")
    elif model:
        name = f"{operation} {attributes.get('gen_ai.request.model', '')}".strip()
    begin, end = (_instant(raw, key, at, shown) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    if end < begin:
        sentence = f"span {title!r} ends {(begin - end) / 1e9:g} s before it begins."
        raise InputError([Problem(shown, at, sentence)])
    counts = [_count(attributes.get(f"gen_ai.usage.{what}_tokens")) for what in ("input", "output")]
    known = [count for count in counts if count is not None]
    status = raw.get("status")
    return Span(
        trace=str(raw.get("traceId", "")),
        id=str(raw.get("spanId", "")),
        parent=str(raw.get("parentSpanId") or ""),
        name=name,
        tool=tool,
        begin=begin,
        end=end,
        tokens=sum(known) if known and not tool else None,
        failed="error.type" in attributes
        or (isinstance(status, dict) and status.get("code") in (FAILED, "STATUS_CODE_ERROR")),
    )


def _instant(raw: dict[str, Any], key: str, at: str, shown: str) -> int:
    """Read an instant, which JSON gives as a text since it is too large for a number."""
    value = raw.get(key)
    try:
        instant = int(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else 0
    except ValueError:
        instant = 0
    if not 0 < instant < 1 << 63:
        told = "is missing" if value is None else f"is no instant: {value!r}"
        sentence = f"{told}; a span needs whole nanoseconds since 1970, above 0."
        raise InputError([Problem(shown, f"{at}.{key}", sentence)])
    return instant


def _count(value: Any) -> float | None:
    try:
        count = float(value)
    except (TypeError, ValueError):
        return None
    return count if 0 <= count <= 1e12 else None


def tools_of(spans: Iterable[Span]) -> list[str]:
    """Name the tools, each once, in the order in which they begin first."""
    ordered = sorted(spans, key=lambda span: span.begin)
    return list(dict.fromkeys(span.name for span in ordered if span.tool))


def classify(
    tools: Iterable[str], acting: list[str], harmless: list[str], hints: dict[str, bool]
) -> dict[str, bool | None]:
    """Say which tools act on the outside world in a way that must not happen twice.

    Parameters
    ----------
    tools : iterable of str
        Names.
    acting, harmless : list of str
        Names, with ``*`` and ``?``, of tools that act, and of those that may be repeated; hints lose to them.
    hints : dict of str to bool
        What a list of tools says, as `read_hints` gives it.

    Returns
    -------
    dict of str to bool or None
        None where nothing is known.

    Raises
    ------
    InputError
        If a tool is said to act and not to, or a pattern fits no tool.
    """
    tools = list(tools)
    for pattern in (*acting, *harmless):
        if not any(fnmatchcase(tool, pattern) for tool in tools):
            sentence = f"fits no tool of the trace; there are: {', '.join(tools) or 'none'}."
            raise InputError([Problem("tools", pattern, sentence)])
    found: dict[str, bool | None] = {}
    for tool in tools:
        acts, may_repeat = (any(fnmatchcase(tool, one) for one in some) for some in (acting, harmless))
        if acts and may_repeat:
            raise InputError([Problem("tools", tool, "is said to act and to be harmless.")])
        if acts or may_repeat:
            found[tool] = acts
        elif tool in hints:
            found[tool] = hints[tool]
        else:
            found[tool] = None
    return found


def read_hints(file: Path, shown: str) -> dict[str, bool]:
    """Read a list of tools of the Model Context Protocol: which of them act, as far as it says.

    ``readOnlyHint`` and ``idempotentHint`` say that a repeat does no harm. A tool with annotations that say
    neither acts; one without annotations is left out.

    Raises
    ------
    InputError
        If it is no such list.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError([Problem(shown, "", f"cannot be read: {error.strerror}.")]) from None
    except (ValueError, RecursionError):
        raise InputError([Problem(shown, "", "is not JSON.")]) from None
    data = data.get("result", data) if isinstance(data, dict) else data
    tools = data if isinstance(data, list) else _list(data, "tools")
    found = {}
    for tool in tools:
        if isinstance(tool, dict) and isinstance(hints := tool.get("annotations"), dict):
            harmless = hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True
            found[str(tool.get("name"))] = not harmless
    if not tools:
        raise InputError([Problem(shown, "tools", "holds no tools; it is to be the answer to tools/list.")])
    return found


def workload(spans: list[Span], acts: Mapping[str, bool], title: str) -> dict[str, Any]:
    """Build the table of a workload.

    Parameters
    ----------
    spans : list of Span
        Of one or several traces.
    acts : dict of str to bool
        Whether a tool acts, by its name.
    title : str
        Title of the workload.

    Returns
    -------
    dict
        As in a file of ``experiments/workloads/``.
    """
    traces: defaultdict[str, list[Span]] = defaultdict(list)
    for span in _complete(spans):
        traces[span.trace].append(span)
    runs = [steps for of in traces.values() if (steps := _steps(of, acts))]
    if not runs:
        raise InputError([Problem(title, "", "holds failed spans of models and tools only.")])
    shape = sorted(runs, key=len)[(len(runs) - 1) // 2]
    before: defaultdict[str, list[int]] = defaultdict(list)
    own: defaultdict[str, list[int]] = defaultdict(list)
    for step in (step for run in runs for step in run):
        before[step.span.name].append(step.before)
        own[step.span.name].append(step.own)
    times_used: defaultdict[str, int] = defaultdict(int)
    table = []
    for step in shape:
        name = step.span.name
        times_used[name] += 1
        row: dict[str, Any] = {"name": name if times_used[name] == 1 else f"{name} ({times_used[name]})"}
        if step.span.tool:
            row |= {"work": _law(before[name]), "tool": _law(own[name])}
        else:
            row["work"] = _law([a + b for a, b in zip(before[name], own[name], strict=True)])
        if step.acts:
            row["action"] = {}
        if step.tokens:
            row["tokens"] = step.tokens
        table.append(row)
    return {"title": title, "steps": table}


def _complete(spans: list[Span]) -> list[Span]:
    """Fill in token counts that are missing."""
    known: defaultdict[str, list[float]] = defaultdict(list)
    for span in spans:
        if span.tokens is not None:
            known[span.name].append(span.tokens)
    every = [count for counts in known.values() for count in counts]
    found = []
    for span in spans:
        if span.name and not span.tool and span.tokens is None:
            counts = known[span.name] or every
            span = span._replace(tokens=fmean(counts) if counts else 0.0)
        found.append(span)
    return found


def _steps(trace: list[Span], acts: Mapping[str, bool]) -> list[_Step]:
    """Turn the spans of a run into its steps."""
    by_id = {span.id: span for span in trace if span.id}

    def above(span: Span) -> Iterator[Span]:
        seen = {span.id}
        while (span := by_id.get(span.parent, span)).id not in seen:
            seen.add(span.id)
            yield span

    def is_action(span: Span) -> bool:
        return span.tool and not span.failed and acts[span.name]

    named = [span for span in trace if span.name]
    own = [span for span in named if not any(is_action(other) for other in above(span))]
    holding = {other.id for span in own for other in above(span)}
    leaves = [span for span in own if is_action(span) or span.id not in holding]
    leaves.sort(key=lambda span: (span.begin, span.end))
    made = [_Step(span, is_action(span), tokens=span.tokens or 0.0) for span in leaves]
    _share_time(made)
    return _without_failed(made)


def _share_time(steps: list[_Step]) -> None:
    """Give each part of the run's time to one step; steps are in the order in which they begin."""
    begins = [step.span.begin for step in steps]
    edges = sorted({edge for step in steps for edge in (step.span.begin, step.span.end)})
    begun = 0
    at_work: list[_Step] = []
    for begin, end in pairwise(edges):
        at_work = [step for step in at_work if step.span.end >= end]
        while begun < len(steps) and begins[begun] <= begin:
            if steps[begun].span.end >= end:
                at_work.append(steps[begun])
            begun += 1
        if at_work:
            next((step for step in at_work if step.acts), at_work[0]).own += end - begin
        else:
            steps[begun].before += end - begin


def _without_failed(steps: list[_Step]) -> list[_Step]:
    """Let what failed be work of the step that follows, or of the last one."""
    kept: list[_Step] = []
    time, tokens = 0, 0.0
    for step in steps:
        if step.span.failed:
            time += step.before + step.own
            tokens += step.tokens
        else:
            step.before += time
            step.tokens += tokens
            time, tokens = 0, 0.0
            kept.append(step)
    if kept:
        kept[-1].before += time
        kept[-1].tokens += tokens
    return kept


def _law(times_ns: list[int]) -> dict[str, Any] | float:
    """Give the law of times that were seen: themselves, or one number if there is no other."""
    times = sorted(time / 1e9 for time in times_ns)
    if times[0] == times[-1]:
        return times[0]
    return {"law": "empirical", "times": [max(time, 1e-9) for time in times]}
