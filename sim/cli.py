"""The command ``savegap``."""

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from sim.fit_command import fit_command
from sim.law_commands import laws
from sim.prove_command import prove
from sim.system_commands import systems

if TYPE_CHECKING:
    from sim.study.config import Plan

ENGINES_DIFFER = 1
INPUT_ERROR = 2
INTERRUPTED = 130

Advance = Callable[[int, int], None]

project_option = click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder that holds experiments/. Default: the nearest from here upward.",
)
out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the results. Default: results/ of the project.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="savegap")
def cli() -> None:
    """What does a crash cost an AI agent, and which protection removes which part of it?

    A study is a folder with experiments/*.toml, a question each. `savegap run` simulates them and writes
    tables, figures and a report:

    \b
      savegap run                        the whole study, into results/
      savegap run article --jobs 1       one experiment, by its name, on one core
      savegap run mine.toml --replications 500 --out /tmp/try
      savegap report                     draw the report again, without simulating
      savegap laws                       the laws that times can have, and how to add one
      savegap systems                    LangGraph, Temporal and others as presets, with sources
      savegap prove temporal             every placement of two faults in a small run
      savegap fit crashes.csv            laws for your own times between crashes
    """


cli.add_command(laws)
cli.add_command(fit_command)
cli.add_command(systems)
cli.add_command(prove)


@cli.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--replications",
    type=click.IntRange(min=1),
    help="Runs of each strategy in each cell, instead of as many as each experiment asks for or needs.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed, instead of each experiment's own.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes at work. Default: one a core. Changes no digit."
)
@out_option
@project_option
def run(
    files: tuple[str, ...],
    replications: int | None,
    seed: int | None,
    jobs: int | None,
    out: Path | None,
    project: Path | None,
) -> None:
    """Run experiments and write their tables, figures and report.

    FILE is an experiment file, or the name of one in experiments/; all of them if none is given. Every
    file is checked before anything runs. Results of an experiment are written when it is complete.
    """
    from joblib import cpu_count

    from sim.report.answers import check_answer
    from sim.study import files as folder
    from sim.study.config import load
    from sim.study.errors import InputError

    home = project.resolve() if project else folder.find_project(Path.cwd())
    target = out or home / "results"
    plans: list[Plan] = []
    problems = []
    named = folder.experiment_files(home, list(files))
    every = folder.experiment_files(home, [])
    for file in dict.fromkeys([*named, *every]):  # the report is of all experiments, so all must be right
        try:
            plan = load(file, home)
            check_answer(plan)
            if file in named:
                plans.append(plan)
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))  # what is wrong with a law is wrong for all of them
    folder.check_writable(target)
    for file in named:
        if file not in every:
            click.echo(
                f"{file.name} is not in experiments/, so it gets tables but no place in the report.", err=True
            )
    kept: list[str] = []
    workers = jobs or cpu_count()
    # What is stopped is said in one line: that workers die of it is no surprise.
    warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
    signal.signal(signal.SIGINT, _interrupt)
    try:
        _run(plans, replications, seed, workers, target, kept)
        _report(home, target, workers)
        _stop_workers()  # here, where it can be interrupted, and not when the interpreter ends
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _stop_workers()
        was_kept = f"kept: {', '.join(kept)}" if kept else "no experiment was complete, nothing is kept"
        click.echo(f"stopped; {was_kept} ({target}).", err=True)
        sys.exit(INTERRUPTED)


@cli.command()
@out_option
@project_option
def report(out: Path | None, project: Path | None) -> None:
    """Draw figures and report again from the results that are there."""
    from joblib import cpu_count

    from sim.study import files as folder

    home = project.resolve() if project else folder.find_project(Path.cwd())
    target = out or home / "results"
    folder.check_writable(target)
    _report(home, target, cpu_count())


def _run(
    plans: list["Plan"], replications: int | None, seed: int | None, jobs: int, target: Path, kept: list[str]
) -> None:
    from sim.study import files as folder
    from sim.study.running import needed
    from sim.study.running import run as run_plan

    def seed_of(plan: "Plan") -> int:
        return plan.experiment.seed if seed is None else seed

    sizes: dict[str, list[int]] = {}
    if replications is None and any(plan.experiment.precision for plan in plans):
        click.echo("a pilot of each cell shows how many runs it needs ...", err=True)
    for plan in plans:
        if replications is None:
            sizes[plan.name] = needed(plan, plan.experiment.replications, seed_of(plan), jobs)
        else:
            sizes[plan.name] = [replications] * len(plan.cells)
    cells = sum(len(plan.cells) for plan in plans)
    runs = sum(sum(sizes[plan.name]) * len(plan.experiment.strategies) for plan in plans)
    with _progress(cells, runs) as advance:
        for plan in plans:
            tables = run_plan(plan, sizes[plan.name], seed_of(plan), jobs, advance)
            for name in ("estimates", "contrasts", "published"):
                table = getattr(tables, name)
                file = target / plan.name / f"{name}.csv"
                if len(table):
                    folder.write_csv(file, table)
                else:
                    file.unlink(missing_ok=True)
            kept.append(plan.name)


def _report(home: Path, target: Path, jobs: int) -> None:
    from sim.report.writing import write_report

    for written in write_report(home, target, jobs):
        click.echo(f"wrote {written}")


@contextmanager
def _progress(cells: int, runs: int) -> Iterator[Advance]:
    """Show cells done, runs a second and time left: live on a terminal, else as plain lines."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    done = {"cells": 0, "runs": 0}
    begin = last = monotonic()

    def status() -> str:
        pace = done["runs"] / max(monotonic() - begin, 1e-9)
        return f"{done['cells']}/{cells} cells, {done['runs']:,}/{runs:,} runs, {pace:,.0f} runs/s"

    if not console.is_terminal:

        def plain(more_cells: int, more_runs: int) -> None:
            nonlocal last
            done["cells"] += more_cells
            done["runs"] += more_runs
            finished = done["cells"] == cells
            if monotonic() - last >= 5 or finished:
                last = monotonic()
                left = (last - begin) * (runs - done["runs"]) / max(done["runs"], 1)
                click.echo(f"{status()}, {left:.0f} s left", err=True)

        yield plain
        return

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task(status(), total=runs)

        def live(more_cells: int, more_runs: int) -> None:
            done["cells"] += more_cells
            done["runs"] += more_runs
            display.update(task, advance=more_runs, description=status())

        yield live
    click.echo(f"{status()}, {monotonic() - begin:.0f} s", err=True)


def _interrupt(_signal: int, _frame: object) -> None:
    """Stop; the executor's own thread may find its tasks gone, and must not speak of it."""
    threading.excepthook = lambda _: None
    raise KeyboardInterrupt


def _stop_workers() -> None:
    from joblib.externals.loky import get_reusable_executor

    # The one that is there, whatever it was made with: to make another would shut this one down under a lock
    # that its own thread may be waiting for.
    get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def main() -> None:
    """Run the command; wrong input is answered in lines, without a traceback, with exit code 2."""
    from sim.study.errors import EnginesDifferError, InputError

    try:
        cli(standalone_mode=True)
    except InputError as error:
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        sys.exit(INPUT_ERROR)
    except EnginesDifferError as error:
        click.echo(f"error: the engines do not agree: {error}", err=True)
        sys.exit(ENGINES_DIFFER)


if __name__ == "__main__":
    main()
