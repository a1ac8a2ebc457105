"""The commands ``savegap run`` and ``savegap report``."""

import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sim.cli.options import INTERRUPTED, home_of, out_option, project_option
from sim.cli.progress import progress

if TYPE_CHECKING:
    from sim.study.config import Plan


@click.command()
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

    home = home_of(project)
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


@click.command()
@out_option
@project_option
def report(out: Path | None, project: Path | None) -> None:
    """Draw figures and report again from the results that are there."""
    from joblib import cpu_count

    from sim.study import files as folder

    home = home_of(project)
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
    with progress(cells, runs) as advance:
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


def _interrupt(_signal: int, _frame: object) -> None:
    """Stop; the executor's own thread may find its tasks gone, and must not speak of it."""
    threading.excepthook = lambda _: None
    raise KeyboardInterrupt


def _stop_workers() -> None:
    from joblib.externals.loky import get_reusable_executor

    # The one that is there, whatever it was made with: to make another would shut this one down under a lock
    # that its own thread may be waiting for.
    get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
