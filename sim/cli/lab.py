"""The commands ``savegap lab`` and ``savegap calibrate``: real processes, really killed."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from sim.cli.options import INTERRUPTED, home_of, project_option

if TYPE_CHECKING:
    from sim.lab.plan import Condition
    from sim.lab.trial import Advance

disk_option = click.option(
    "--disk",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder on the disk that is to be used; everything made there is removed. Default: results/.kept.",
)
workers_option = click.option(
    "--workers", type=click.IntRange(1, 64), help="Runs that go on at once. Default: as the trial says."
)
scale_option = click.option(
    "--scale",
    type=click.FloatRange(1e-6, 10.0),
    help="Factor on all times but those that a store takes. Default: as the trial says.",
)


@click.group("lab")
def lab() -> None:
    """Kill real processes, and see whether the simulation was right.

    \b
      savegap lab run                 the trial experiments/lab/reality.toml (about 11 minutes on 2 cores)
      savegap lab run --only file     its conditions with "file" in their name
      savegap lab run mine --runs 50  a trial of your own, with fewer runs
      savegap lab stores              the stores and frameworks, and what is missing here

    It needs Linux. LangGraph, DBOS and PostgreSQL are extras: make lab installs them.
    """


@lab.command("run")
@click.argument("trial", default="reality")
@click.option("--only", multiple=True, help="Only conditions with this in their name; may be repeated.")
@click.option("--runs", type=click.IntRange(2), help="At most so many runs a condition.")
@scale_option
@workers_option
@disk_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the tables. Default: results/measured/lab/NAME of the project; of a part, made with "
    "--only or --runs, .quick/lab/NAME.",
)
@project_option
def run(
    trial: str,
    only: tuple[str, ...],
    runs: int | None,
    scale: float | None,
    workers: int | None,
    disk: Path | None,
    out: Path | None,
    project: Path | None,
) -> None:
    """Predict, kill, and compare.

    TRIAL is a file of experiments/lab/ by its name, or the path of one. For each of its conditions latencies
    are measured in some runs of their own, the simulation predicts from them how many duplicates a run will
    show, and that is written down; then the runs begin that it is compared with, whose agents are killed at
    the times of the trial's crash law. What cannot be tried here is said and left out. The tables take the
    place of older ones when all is done.
    """
    from sim.lab import plan, postgres
    from sim.lab import trial as trials
    from sim.study.errors import InputError, Problem
    from sim.study.files import check_writable

    home = home_of(project)
    file = plan.find(trial, home)
    given = plan.changed(plan.read(file, home), scale, workers, runs)
    wanted = [c for c in given.conditions if not only or any(part in c.name for part in only)]
    if not wanted:
        known = ", ".join(condition.name for condition in given.conditions)
        raise InputError([Problem(given.file, "", f"no condition is named so; there are: {known}.")])
    conditions = list(_possible(wanted))
    whole = not (only or runs)
    usual = home / ("results/measured/lab" if whole else ".quick/lab") / file.stem
    place = (out or usual).absolute()
    check_writable(place.parent)
    with _telling(), ExitStack() as stack:
        disk = _disk(disk, home)
        if any(condition.given.store == "postgres" for condition in conditions):
            stack.enter_context(postgres.server(disk))
        advance = stack.enter_context(_progress(trials.most_runs(given.trial, conditions)))
        trials.carry_out(given, conditions, disk, place, advance)
    _show(place)
    into = (
        "; savegap report puts them into the report"
        if place == home / "results/measured/lab" / file.stem
        else ""
    )
    click.echo(f"tables in {place}{into}")


@lab.command("stores")
def stores() -> None:
    """List the stores and what can walk, and what is missing here."""
    from sim.lab import frameworks
    from sim.lab.stores import STORES

    width = max(map(len, [*STORES, *frameworks.WALKS]))
    click.echo("stores:")
    for name, store in STORES.items():
        click.echo(f"  {name:{width}}  {store.missing() or 'ready'}")
    click.echo("what walks:")
    for name in frameworks.WALKS:
        click.echo(f"  {name:{width}}  {frameworks.missing(name) or 'ready'}")


@click.command("calibrate")
@click.argument("store", nargs=-1)
@click.option("--trial", default="reality", show_default=True, help="Whose runs are the load, by its name.")
@scale_option
@workers_option
@disk_option
@project_option
def calibrate(
    store: tuple[str, ...],
    trial: str,
    scale: float | None,
    workers: int | None,
    disk: Path | None,
    project: Path | None,
) -> None:
    """Measure what saves take on this machine, and write that as stores that an experiment can name.

    STORE is a name of `savegap lab stores`; all that are ready if none is given. Saves are timed under the
    load of a trial's runs; then processes are killed within saves, which tells what part of one goes before
    its point of no return. An experiment takes the result by

    \b
      [scenario]
      store = "measured-sqlite-full"
    """
    from sim.lab import calibration, plan, postgres
    from sim.lab.stores import STORES
    from sim.study.errors import InputError, Problem
    from sim.validation import allowed_instead

    home = home_of(project)
    names = [name for name in STORES if name != "memory"]
    wrong = [name for name in store if name not in names]
    if wrong:
        said = [Problem(name, "", f"is no store; {allowed_instead(name, names)}") for name in wrong]
        raise InputError(said)
    given = plan.changed(plan.read(plan.find(trial, home), home), scale, workers)
    ready = []
    for name in store or names:
        if missing := STORES[name].missing():
            click.echo(f"skipped: {name} {missing}", err=True)
        else:
            ready.append(name)
    with _telling(), ExitStack() as stack:
        disk = _disk(disk, home)
        if "postgres" in ready:
            stack.enter_context(postgres.server(disk))
        advance = stack.enter_context(_progress(calibration.most_runs(given.trial, len(ready))))
        for name in ready:
            click.echo(calibration.calibrate(given, name, disk, home, advance))


def _possible(conditions: "list[Condition]") -> "Iterator[Condition]":
    """Leave out, and say so, what cannot be tried here."""
    found = 0
    for condition in conditions:
        if missing := condition.missing():
            click.echo(f"skipped: {condition.name!r} {missing}", err=True)
        else:
            found += 1
            yield condition
    if not found:
        raise click.ClickException("nothing of the trial can be tried here.")


@contextmanager
def _telling() -> Iterator[None]:
    """Tell what is wrong with the laboratory in a line, or that it was stopped."""
    from sim.lab.laboratory import LaboratoryError
    from sim.lab.processes import missing

    if why := missing():
        raise click.ClickException(why)
    try:
        yield
    except LaboratoryError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo("stopped; all processes have ended, and nothing was written.", err=True)
        sys.exit(INTERRUPTED)


def _disk(disk: Path | None, home: Path) -> Path:
    from sim.study.files import RESULTS
    from sim.study.made import KEPT

    disk = disk or home / RESULTS / KEPT
    disk.mkdir(parents=True, exist_ok=True)
    return disk.absolute()


@contextmanager
def _progress(runs: int) -> "Iterator[Advance]":
    """Show which condition is at work, and how much is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        before, begin = "", monotonic()

        def plain(what: str, _: int) -> None:
            nonlocal before
            if what != before:
                before = what
                click.echo(f"{monotonic() - begin:5.0f} s  {what}", err=True)

        yield plain
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # No thread beside this one: it would be there while processes are forked.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as display:
        task = display.add_task("", total=runs)

        def live(what: str, more: int) -> None:
            display.update(task, advance=more, description=what, refresh=True)

        yield live


def _show(place: Path) -> None:
    """Print what came out, a line a condition."""
    import pandas as pd

    table = pd.read_csv(place / "conditions.csv")
    width = table["condition"].str.len().max()
    for row in table.itertuples():
        compared = f"{row.real:.3g} a run, predicted {row.predicted:.3g}"
        lost = f", {row.lost_actions:,} lost" if row.lost_actions else ""
        blocked = f", {row.blocked_duplicates:,} absorbed" if row.blocked_duplicates else ""
        click.echo(
            f"{row.condition:{width}}  {row.kills:5,} kills, {row.duplicates:5,} duplicates ({compared})"
            f"{lost}{blocked}: {row.verdict}"
        )
