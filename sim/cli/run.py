"""The commands that make results: ``run``, ``plan``, ``report``, ``clean`` and ``compare``."""

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sim.cli.options import FAILED, INTERRUPTED, folders, out_option, project_option
from sim.cli.progress import progress
from sim.study.errors import counted

if TYPE_CHECKING:
    from sim.study.config import Plan
    from sim.study.running import Failure, Job, Study
    from sim.study.workers import Workers

say = partial(click.echo, err=True)

files_argument = click.argument("files", nargs=-1, metavar="[FILE]...")
replications_option = click.option(
    "--replications",
    type=click.IntRange(min=1),
    help="Runs of each strategy in each cell, instead of as many as each experiment asks for or needs.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Seed, instead of each experiment's own."
)


@click.command()
@files_argument
@replications_option
@seed_option
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes at work. Default: one a core. Changes no digit."
)
@click.option(
    "--backend",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Who does the work: processes of this machine, or a Dask cluster. Changes no digit.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of the cluster, such as tcp://10.0.0.1:8786.")
@out_option
@project_option
def run(
    files: tuple[str, ...],
    replications: int | None,
    seed: int | None,
    jobs: int | None,
    backend: str,
    scheduler: str | None,
    out: Path | None,
    project: Path | None,
) -> None:
    """Run experiments and write their tables, figures and report.

    FILE is an experiment file, or the name of one in experiments/; all of them if none is given. Every
    file is checked before anything runs. Results of an experiment are written when it is complete.

    Work is kept in chunks beside the results (.kept/). So a run that was stopped or killed goes on where it
    was, only what has changed is run again, and more replications are added to those that there are.

    On a Dask cluster, with the extra dask installed everywhere and the same version of savegap:

    \b
      dask scheduler
      dask worker tcp://ADDRESS:8786         on each machine
      savegap run --backend dask --scheduler tcp://ADDRESS:8786
    """
    from sim.study import files as folder
    from sim.study.unchanged import inputs, note_end, nothing_to_do

    if (backend == "dask") != (scheduler is not None):
        raise click.UsageError("--backend dask and --scheduler ADDRESS go together.")
    home, target = folders(project, out)
    named = folder.experiment_files(home, list(files))
    asked = inputs(home, target, named, {"files": files, "replications": replications, "seed": seed})
    if there := nothing_to_do(target, asked):
        made = f"{counted(there['files'], 'file')} from {counted(there['chunks'], 'chunk')}"
        click.echo(f"{target} is up to date: {made}, nothing to do.")
        return
    from joblib import cpu_count

    from sim.study.kept import kept_of
    from sim.study.running import Study
    from sim.study.workers import Workers, processes_of_this_one

    plans = _loaded(home, named)
    folder.check_writable(target)
    workers = Workers(jobs or cpu_count(), scheduler)
    study = Study(_jobs(plans, replications, seed), kept_of(target), say)
    recorded = _recorded(study, target, home, workers)
    with _stopped_at_once(study, target), recorded, processes_of_this_one():
        with workers.ready() as number:
            _simulate(study, target, workers, number)
        _report(home, target, number)
    failed = [failure for job in study.jobs for failure in study.failures(job)]
    if failed:
        _tell(failed, study)
        sys.exit(FAILED)
    note_end(target, asked, (key for keys in study.used().values() for key in keys))


@click.command()
@files_argument
@replications_option
@seed_option
@out_option
@project_option
def plan(
    files: tuple[str, ...], replications: int | None, seed: int | None, out: Path | None, project: Path | None
) -> None:
    """Say what `savegap run` would do with the same options, why, and about how long it would take."""
    from joblib import cpu_count

    from sim.study import files as folder
    from sim.study.kept import kept_of
    from sim.study.planning import foresee
    from sim.study.running import Study

    home, target = folders(project, out)
    plans = _loaded(home, folder.experiment_files(home, list(files)))
    study = Study(_jobs(plans, replications, seed), kept_of(target), say)
    for line in foresee(study, target, cpu_count()):
        click.echo(line)


@click.command()
@out_option
@project_option
def report(out: Path | None, project: Path | None) -> None:
    """Draw figures and report again from the results that are there."""
    from joblib import cpu_count

    from sim.study import files as folder

    home, target = folders(project, out)
    folder.check_writable(target)
    _report(home, target, cpu_count())


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@out_option
@project_option
def clean(dry_run: bool, out: Path | None, project: Path | None) -> None:
    """Remove kept chunks that no experiment refers to any more.

    Those stay that an experiment asked for when it was run last, and those that it asks for as it is now.
    What is removed would be simulated again if an earlier version of a file came back.
    """
    from sim.study import files as folder
    from sim.study.kept import kept_of
    from sim.study.results import remove_unused
    from sim.study.running import Study

    home, target = folders(project, out)
    plans = _loaded(home, folder.experiment_files(home, []))
    study = Study(_jobs(plans, None, None), kept_of(target), say)
    stay, go, freed = remove_unused(target, study, dry_run)
    done = "would be removed" if dry_run else "removed"
    click.echo(f"{counted(go, 'chunk')} {done} ({freed / 1e6:,.1f} MB), {stay:,} stay.")


@click.command()
@click.argument("expected", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("found", type=click.Path(exists=True, file_okay=False, path_type=Path))
def compare(expected: Path, found: Path) -> None:
    """Compare two folders of results: the same files, and in them the same numbers.

    Numbers may differ by one unit of their sixth digit, as they do between platforms; so may coordinates in
    figures by as little. What was measured on a machine is left out. The exit code is 1 if something differs.
    """
    from sim.study.comparing import differences

    count, found_different = differences(expected, found)
    for line in found_different:
        click.echo(line)
    click.echo(f"{counted(count, 'file')} compared, {counted(len(found_different), 'difference')}.")
    if found_different:
        sys.exit(FAILED)


def _loaded(home: Path, named: list[Path]) -> list["Plan"]:
    """Read and check experiments, and all that the report is of.

    Raises
    ------
    InputError
        With every mistake in any of them.
    """
    from sim.report.answers import check_answer
    from sim.study import files as folder
    from sim.study.config import load
    from sim.study.errors import InputError

    every = folder.experiment_files(home, [])
    plans, problems = [], []
    for file in dict.fromkeys([*named, *every]):
        try:
            plan = load(file, home)
            check_answer(plan)
            if file in named:
                plans.append(plan)
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))  # what is wrong with a law is wrong for all of them
    for file in named:
        if file not in every:
            say(f"{file.name} is not in experiments/, so it gets tables but no place in the report.")
    return plans


def _jobs(plans: list["Plan"], replications: int | None, seed: int | None) -> list["Job"]:
    from sim.study.running import Job

    return [Job(plan, plan.experiment.seed if seed is None else seed, replications) for plan in plans]


def _simulate(study: "Study", target: Path, workers: "Workers", number: int) -> None:
    """Simulate what is missing, and write tables as they become complete."""
    from sim.study.made import Made
    from sim.study.provenance import section, write_manifest
    from sim.study.results import note_used, write_tables

    pilots = study.pilots()
    if pilots:
        say("a pilot of each cell shows how many runs it needs ...")
        with progress(len(pilots), sum(part.chunk.runs for part in pilots)) as advance:
            for _ in study.simulate(pilots, workers, advance):
                pass
    parts = study.missing()
    note_used(study, target)
    kept = sum(record.kept for record in study.records.values())
    if kept:
        work = f"{len(parts):,} are simulated by {counted(number, 'worker')}" if parts else "none is missing"
        say(f"{counted(kept, 'chunk')} kept, {work}.")
    made = Made(target)
    with progress(len(parts), sum(part.chunk.runs for part in parts)) as advance:
        for job in study.simulate(parts, workers, advance):
            write_tables(study, job, target, made)
            write_manifest(target, job.name, section(study, job))


def _report(home: Path, target: Path, jobs: int) -> None:
    from sim.report.writing import write_report

    say("writing the report; figures are drawn whose tables have changed ...")
    for written in write_report(home, target, jobs):
        click.echo(f"wrote {written}")


def _tell(failed: list["Failure"], study: "Study") -> None:
    """Report cells that failed: where, why, and how to see it again."""
    from sim.study.config import named
    from sim.study.replaying import replay_command

    bases = {job.name: job.plan.base for job in study.jobs}
    for failure in failed:
        cell = named(failure.experiment, failure.factors)
        say(f"failed: {cell}, {failure.strategy}, replication {failure.replication}: {failure.why}")
        base, at = bases[failure.experiment], (failure.strategy, failure.replication)
        say(f"  see it: {replay_command(failure.experiment, base, failure.factors, *at)}")
    say(f"{counted(len(failed), 'cell')} failed; all others are in the tables.")


@contextmanager
def _recorded(study: "Study", target: Path, home: Path, workers: "Workers") -> Iterator[None]:
    """Write down what a run took, however it ends."""
    from sim.study.provenance import write_record

    began = datetime.now(UTC)
    finished = False
    try:
        yield
        finished = True
    finally:
        with suppress(OSError):  # a disk that is full must not hide what went wrong before
            write_record(target, home, study.records, workers, began, finished)


@contextmanager
def _stopped_at_once(study: "Study", target: Path) -> Iterator[None]:
    """Let an error or Ctrl-C stop the work at once; of the latter say in one line what is kept."""
    # That workers die of it is no surprise.
    warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
        _stop_workers()  # here, where it can be interrupted, and not when the interpreter ends
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _stop_workers()
        if not isinstance(error, KeyboardInterrupt):
            raise
        number = len(study.kept.keys())
        say(f"stopped; {number:,} chunks are kept ({target}). The same command goes on from there.")
        sys.exit(INTERRUPTED)


def _interrupt(_signal: int, _frame: object) -> None:
    """Stop; the executor's own thread may find its tasks gone, and must not speak of it."""
    threading.excepthook = lambda _: None
    raise KeyboardInterrupt


def _stop_workers() -> None:
    from joblib.externals.loky import get_reusable_executor

    # The one that is there, whatever it was made with: to make another would shut this one down under a lock
    # that its own thread may be waiting for.
    get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
