"""The command ``savegap prove``: no placement of faults does damage in a small run, or the plainest does."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sim.cli.options import home_of, project_option

if TYPE_CHECKING:
    from sim.prove import Schedule, Verdict
    from sim.prove.searching import Advance
    from sim.scenario import Scenario

FOUND = 1
"""Exit code of --strict if a schedule does damage."""

SURROUNDINGS: dict[str, Any] = {
    "workload": {"steps": [{"name": "act", "work": 1.0, "action": {}}]},
    "store": {"write": 0.04, "ack": 0.01},
    "receiver": {"prepare": 0.02, "request": 0.05, "response": 0.3, "query": 0.1},
    "downtime": {"restart": 1.0, "load": 0.2},
}
"""What a system works in that is not part of an experiment: every part of a run takes some time."""

SAID = {
    "duplicate": ("no duplicate", "an action is performed twice"),
    "loss": ("no loss", "the run finishes without an action"),
    "stuck": ("no stuck run", "the run is stuck"),
}
"""Of each kind of damage: that it was not found, and that it was."""


@click.command("prove")
@click.argument("name", metavar="SYSTEM|FILE")
@click.option(
    "--crashes",
    "--faults",
    "faults",
    type=click.IntRange(1, 4),
    default=2,
    show_default=True,
    help="At most so many faults, of all kinds together.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, 12),
    default=3,
    show_default=True,
    help="Steps of the run; every second one acts.",
)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    help="SVG file for a picture of the first schedule that does damage.",
)
@click.option("--strategy", help="Name of a strategy of the experiment; all of them if absent.")
@click.option("--strict", is_flag=True, help="End with exit code 1 if a schedule does damage.")
@project_option
def prove(
    name: str,
    faults: int,
    steps: int,
    picture: Path | None,
    strategy: str | None,
    strict: bool,
    project: Path | None,
) -> None:
    """Try every placement of a few faults in a small run.

    SYSTEM|FILE is a system (a name in experiments/systems/) or an experiment (a name in experiments/), or the
    path of a file of either kind. Of an experiment its strategies are tried as [scenario] has them.

    The answer is that no placement repeats an action, loses one or leaves the run stuck, or for each of these
    the schedule that does it with the fewest faults, told event by event. It holds for this small run, with
    every time at its mean. The exit code is 0 whatever is found, unless --strict asks for another.

    \b
      savegap prove temporal
      savegap prove mine.toml --strategy checkpoint --picture duplicate.svg
    """
    from pydantic_core import ValidationError

    from sim.prove import search, small
    from sim.study.errors import InputError, Problem
    from sim.study.files import check_writable
    from sim.study.presets import dotted

    home = home_of(project)
    cases = _cases(name, strategy, home)
    if picture is not None and len(cases) > 1:
        sentence = f"is of one strategy; say which by --strategy: {', '.join(cases)}."
        raise InputError([Problem("--picture", "", sentence)])
    if picture is not None:
        check_writable(picture.absolute().parent)
    scenarios, problems = {}, []
    for title, scenario in cases.items():
        try:
            scenarios[title] = small(scenario, steps)
        except ValidationError as error:
            problems += [Problem(title, dotted(e["loc"]), e["msg"]) for e in error.errors()]
    if problems:
        raise InputError(problems)
    harmful = False
    for title, scenario in scenarios.items():
        with _progress(title) as advance:
            verdict = search(scenario, faults, advance)
        click.echo("\n".join(report(title, cases[title], verdict, faults)) + "\n")
        harmful |= bool(verdict.found)
        if picture is not None:
            _draw(title, verdict, picture)
    click.echo("\n".join(CAVEATS))
    if harmful and strict:
        sys.exit(FOUND)


def _cases(name: str, strategy: str | None, home: Path) -> dict[str, "Scenario"]:
    """Find what is to be searched: scenarios by their titles."""
    from sim.study.config import load
    from sim.study.errors import InputError, Problem
    from sim.study.files import EXPERIMENTS
    from sim.study.presets import read_toml
    from sim.study.systems import build, names, read_system
    from sim.validation import allowed_instead

    systems = names(home)
    experiments = sorted(file.stem for file in (home / EXPERIMENTS).glob("*.toml"))
    path = Path(name).absolute()
    if name in systems or (path.is_file() and "strategies" not in read_toml(path, name)):
        if strategy is not None:
            sentence = f"{name!r} is a system, which is one strategy; leave this out."
            raise InputError([Problem("--strategy", "", sentence)])
        system = name if name in systems else path
        return {read_system(system, home)["title"]: build(system, home, SURROUNDINGS)}
    if name in experiments:
        path = home / EXPERIMENTS / f"{name}.toml"
    elif not path.is_file():
        hint = allowed_instead(name, [*systems, *experiments])
        raise InputError([Problem(name, "", f"is no system, no experiment and no file; {hint}")])
    plan = load(path, home)
    base = next((cell for cell in plan.cells if cell.factors == plan.base), plan.cells[0]).scenarios
    if strategy is not None and strategy not in base:
        sentence = f"{strategy!r} is no strategy of {path.name}; {allowed_instead(strategy, base)}"
        raise InputError([Problem("--strategy", "", sentence)])
    return base if strategy is None else {strategy: base[strategy]}


def report(title: str, given: "Scenario", verdict: "Verdict", faults: int) -> Iterator[str]:
    """Write what a search has found, a line at a time.

    Parameters
    ----------
    title : str
        Of the system or strategy.
    given : Scenario
        As it was before it was cut down.
    verdict : Verdict
    faults : int
        How many were placed at most.
    """
    from sim.prove import KINDS

    runs = sum(verdict.placements)
    up_to = f"up to {faults} faults" if faults > 1 else "one fault"
    yield title
    absent = [said for damage, (said, _) in SAID.items() if damage not in verdict.found]
    if () in verdict.found.values():
        yield "  The run does damage without any fault, so none was placed: its times do not go together."
    elif absent:
        yield f"  {', '.join(absent)} with {up_to} ({runs:,} placements)."
    yield f"  Faults: {'; '.join(KINDS[kind] for kind in verdict.kinds)}."
    if "request lost" not in verdict.kinds:
        yield "  No message is lost: without client.timeout a worker would wait for its answer for ever."
    if given.provider or given.receiver.outages:
        yield "  Outages are left out."
    for damage, schedule in verdict.found.items():
        yield from _counterexample(damage, schedule, verdict)


def _counterexample(damage: str, schedule: "Schedule", verdict: "Verdict") -> Iterator[str]:
    from sim.prove import replay, trace
    from sim.trace import LEGEND

    number = len(schedule)
    with_faults = f"with {number} fault{'s' * (number > 1)}" if schedule else "without any fault"
    yield ""
    share = f"{verdict.harmful[damage][number]:,} of {verdict.placements[number]:,} such placements"
    yield f"  {damage.upper()}: {SAID[damage][1]} {with_faults} ({share})"
    yield from (f"    {fault.says}" for fault in schedule)
    again = replay(verdict.scenario, schedule)
    if again is not None and schedule:
        times = ", ".join(f"{fault.at / 1e9:.9f}".rstrip("0").rstrip(".") for fault in schedule)
        yield f'    as an experiment\'s crash = {{ process = "at", times = [{times}] }}'
    yield ""
    lines = list(trace(verdict.scenario, schedule).lines())
    yield from (f"    {line}" for line in lines)
    yield ""
    yield from (f"    {line}" for line in LEGEND)


CAVEATS = (
    "What this shows is bounded: a small run, every time at its mean, so many faults where the run lets them",
    "begin. A longer run, other times or one more fault may do damage; a schedule that is shown does.",
)


def _draw(title: str, verdict: "Verdict", picture: Path) -> None:
    if not verdict.found:
        click.echo(f"no schedule does damage, so {picture} is not drawn.\n")
        return
    from sim.prove import trace
    from sim.report.trace_picture import draw

    damage, schedule = min(verdict.found.items(), key=lambda item: list(SAID).index(item[0]))
    draw(trace(verdict.scenario, schedule), f"{title}: {SAID[damage][1]}", picture)
    click.echo(f"wrote {picture}\n")


@contextmanager
def _progress(title: str) -> Iterator["Advance"]:
    """Show on a terminal how many placements have been tried."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:
        task = display.add_task(title)

        def advance(faults: int, done: int, runs: int) -> None:
            of = f"{done:,}/{runs:,} placements of {faults} fault{'s' * (faults != 1)}"
            display.update(task, total=runs, completed=done, description=f"{title}: {of}")

        yield advance
