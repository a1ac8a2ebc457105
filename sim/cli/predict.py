"""The commands ``savegap predict`` and ``savegap init``: what a crash costs an agent of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sim.cli.options import home_of, project_option
from sim.cli.progress import progress

if TYPE_CHECKING:
    from sim.report.tables import Table
    from sim.study.agent import Agent
    from sim.study.predicting import Predicted

NAME = "my-agent.toml"
MOST_COLUMNS = 140


@click.command()
@click.argument("file", default=NAME, type=click.Path(dir_okay=False, path_type=Path))
def init(file: Path) -> None:
    """Write a commented file to tell `savegap predict` of your agent in. Default: my-agent.toml."""
    from sim.study.agent import TEMPLATE
    from sim.study.errors import InputError, Problem

    if file.exists():
        raise InputError([Problem(str(file), "", "is there already; name another file, or remove it.")])
    _write(file, TEMPLATE.read_text(encoding="utf-8"))
    click.echo(f"wrote {file}; fill it in, then: savegap predict {file}")


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--workload", metavar="NAME", help="A file of experiments/workloads/.")
@click.option("--crash", metavar="NAME", help="A file of experiments/crashes/.")
@click.option("--store", metavar="NAME", help="A file of experiments/stores/.")
@click.option("--receiver", metavar="NAME", help="A file of experiments/receivers/.")
@click.option("--downtime", metavar="NAME", help="A file of experiments/downtimes/.")
@click.option("--system", metavar="NAME", help="What it runs on now, as `savegap systems` lists them.")
@click.option("--deploys", type=click.FloatRange(min=0), help="Deploys a day; each stops the worker.")
@click.option("--grace", type=click.FloatRange(min=0), help="Seconds from being told to stop to the kill.")
@click.option(
    "--from-trace",
    type=click.Path(path_type=Path),
    help="OpenTelemetry export (OTLP JSON) whose spans of models and tools are the workload.",
)
@click.option("--actions", metavar="PATTERNS", help='Tools of the trace that act: "send_*,create_*".')
@click.option("--harmless", metavar="PATTERNS", help='Tools of the trace that may be repeated: "get_*".')
@click.option(
    "--tools",
    type=click.Path(path_type=Path),
    help="Tools of an MCP server (the answer to tools/list), whose hints say which may be repeated.",
)
@click.option(
    "--precision",
    type=click.FloatRange(min=0.01, max=0.5),
    default=0.1,
    show_default=True,
    help="Half the width of the intervals of duplicates and losses, as a share of the estimate.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at work. Default: one a core.")
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), help="CSV file for the table.")
@project_option
def predict(
    file: Path | None,
    system: str | None,
    deploys: float | None,
    grace: float | None,
    from_trace: Path | None,
    actions: str | None,
    harmless: str | None,
    tools: Path | None,
    precision: float,
    jobs: int | None,
    csv: Path | None,
    project: Path | None,
    **parts: str | None,
) -> None:
    """Say what crashes and deploys cost your agent under each protection, and which to take.

    FILE tells of the agent; `savegap init` writes one to begin with. Options win over it, and what neither
    says is assumed and told.

    \b
      savegap init && savegap predict my-agent.toml
      savegap predict --workload coding-agent --crash spot-aws-v100 --system temporal
      savegap predict --from-trace spans.json --actions "send_*,create_*" --harmless "get_*"

    A trace is one run, its spans named by the semantic conventions for generative AI 1.41. Spans of models
    and tools are steps, in the order in which they begin. Time in which several run counts once: for the tool
    that acts, if one is among them, else for the span that began first. What failed is work of the step that
    follows. A tool that neither a pattern nor a hint tells of makes every number a range, from none such
    acting to all.
    """
    from joblib import cpu_count

    from sim.report import predicted as words
    from sim.study.agent import read_agent
    from sim.study.predicting import predict as simulate
    from sim.study.workers import Workers, processes_of_this_one

    if precision != precision:
        raise click.UsageError("--precision must be a number.")
    home = home_of(project)
    told: dict[str, Any] = {key: name for key, name in parts.items() if name is not None}
    stops = {key: value for key, value in {"a_day": deploys, "grace": grace}.items() if value is not None}
    cases = {"": told}
    unknown: list[str] = []
    if from_trace is not None:
        workloads, unknown = _workloads(from_trace, actions, harmless, tools)
        cases = {label: told | {"workload": workload} for label, workload in workloads.items()}
        if "workload" in told:
            raise click.UsageError("--workload and --from-trace both tell of the workload; give one of them.")
    elif actions or harmless or tools:
        raise click.UsageError("--actions, --harmless and --tools tell of the tools in --from-trace FILE.")
    agents = [read_agent(file, case, system, stops, home) for case in cases.values()]
    with processes_of_this_one():
        found = [simulate(agent, precision, Workers(jobs or cpu_count()), progress) for agent in agents]
    by_case = dict(zip(cases, found, strict=True))
    _show(agents, by_case, unknown, precision)
    if csv is not None:
        _write(csv, words.as_csv(agents[-1], {case: each.given for case, each in by_case.items()}))
        click.echo(f"wrote {csv}")


def _show(agents: list["Agent"], found: dict[str, "Predicted"], unknown: list[str], precision: float) -> None:
    """Say what is predicted: of the one case, or from the best to the worst."""
    from sim.report import predicted as words
    from sim.study.recommending import advise

    agent, given = agents[-1], [each.given for each in found.values()]
    click.echo("\n".join(words.told(agent)))
    if unknown:
        click.echo(f"Not known to act: {', '.join(unknown)}. Numbers go from none of them acting to all.")
    _print(words.table(agent, given))
    click.echo("Below a number is its 95 % interval, unless that is no wider than the number is written.")
    click.echo("Lost time: saves, downtime, and work that is thrown away or done again.\n")
    for line in filter(None, (words.missed(each, precision) for each in given)):
        click.echo(f"{line}\n")
    if lines := words.causes(agent, given):
        click.echo("Duplicates per million actions by cause:")
        click.echo("\n".join(f"  {line}" for line in lines) + "\n")
    for label, each in found.items():
        advice = words.recommendation(agent, advise(each, agent.costs))
        click.echo("\n".join(label + paragraph for paragraph in advice) + "\n")
    if unknown:
        click.echo("Say first which of them act, by --actions, --harmless or --tools.")


def _workloads(
    file: Path, actions: str | None, harmless: str | None, tools: Path | None
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Build the workload of a trace; or those of the best and the worst case, and name the tools in doubt."""
    from sim.study.spans import classify, read_hints, read_spans, tools_of, workload

    spans = read_spans(file, str(file))
    hints = read_hints(tools, str(tools)) if tools else {}
    acts = classify(tools_of(spans), _patterns(actions), _patterns(harmless), hints)
    unknown = [tool for tool, does in acts.items() if does is None]
    cases = {"If none of them acts: ": False, "If all of them act: ": True} if unknown else {"": False}
    traces = len({span.trace for span in spans})
    if traces > 1:
        click.echo(f"{traces:,} traces: the steps are those of one with the median number, times are of all.")
    workloads = {}
    for label, worst in cases.items():
        so = {tool: worst if does is None else does for tool, does in acts.items()}
        workloads[label] = workload(spans, so, str(file))
    return workloads, unknown


def _patterns(told: str | None) -> list[str]:
    return [pattern.strip() for pattern in (told or "").split(",") if pattern.strip()]


def _print(shown: "Table") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(shown.heads):
        table.add_column(Text(head), justify="right" if place else "left", vertical="top")
    for row in shown.rows:
        table.add_row(*map(Text, row))
    console = Console()
    Console(width=console.width if console.is_terminal else MOST_COLUMNS).print(table)


def _write(file: Path, text: str) -> None:
    from sim.study.errors import InputError, Problem
    from sim.study.files import write_text

    try:
        write_text(file, text)
    except OSError as error:
        raise InputError([Problem(str(file), "", f"cannot be written: {error.strerror}.")]) from None
