"""The commands ``savegap find`` and ``savegap replay``: which runs are behind a number, and what happened."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sim.cli.options import home_of, project_option

if TYPE_CHECKING:
    from sim.scenario import Scenario
    from sim.study.config import Plan

NONE_FOUND = 1
"""Exit code if no replication matches."""

experiment_argument = click.argument("experiment")
cell_option = click.option(
    "--cell",
    multiple=True,
    metavar="KEY=VALUE",
    help="Value of a swept key, as in the tables. Repeat it for several; others stand at their base.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Seed, instead of the experiment's own."
)


@click.command()
@experiment_argument
@cell_option
@click.option("--strategy", help="Name of the strategy; may be left out where there is one.")
@click.option("--replication", type=click.IntRange(min=0), required=True, help="Number of the run, from 0.")
@seed_option
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="SVG file for a picture of the run: a lane for each strategy, or one for that of --strategy.",
)
@project_option
def replay(
    experiment: str,
    cell: tuple[str, ...],
    strategy: str | None,
    replication: int,
    seed: int | None,
    plot: Path | None,
    project: Path | None,
) -> None:
    """Run one replication of an experiment again and tell what happens, a line an event.

    It is the very run that the tables count, so any number in them can be taken apart to runs. `savegap find`
    lists runs that are worth it. With --plot and without --strategy it is drawn under every strategy of the
    experiment, with the same random numbers.

    \b
      savegap replay article --strategy checkpoint --replication 17
      savegap replay crash-rate --cell crash.law.mean=60 --strategy restart --replication 3
      savegap replay crash-rate --cell crash.law.mean=60 --replication 119 --plot run.svg
    """
    from sim.outcomes import OUTCOMES
    from sim.study.errors import InputError, Problem
    from sim.study.replaying import LAST, choose_cell, choose_strategies, written
    from sim.study.replaying import replay as run_again
    from sim.trace import LEGEND

    plan = _plan(experiment, project)
    chosen = choose_cell(plan, list(cell))
    strategies = choose_strategies(plan, strategy)
    if len(strategies) > 1 and plot is None:
        sentence = f"say which one: {', '.join(strategies)}."
        raise InputError([Problem("--strategy", "", sentence)])
    if replication > LAST:
        raise InputError([Problem("--replication", "", f"there are none beyond {LAST:,}.")])
    if plot is not None:
        _check_plot(plot)
        scenarios = {name: chosen.scenarios[name] for name in strategies}
        at = ", ".join([plan.name, *(f"{key} = {written(value)}" for key, value in chosen.factors.items())])
        _draw(f"{at}, replication {replication:,}", scenarios, _seed(plan, seed), replication, plot)
        click.echo(f"wrote {plot}")
        if len(strategies) > 1:
            return
        click.echo()
    trace, outcomes = run_again(chosen.scenarios[strategies[0]], _seed(plan, seed), replication)
    for line in trace.lines():
        click.echo(line)
    click.echo()
    told = {name: value for name, value in outcomes.items() if value and value == value}  # neither 0 nor NaN
    width = max(map(len, told), default=0)
    for name, value in told.items():
        meaning = OUTCOMES.get(name, "crashes of this cause")
        click.echo(f"{name:{width}}  {_number(value):>10}  {meaning}")
    click.echo("\n" + "\n".join(LEGEND))


@click.command()
@experiment_argument
@click.option("--where", required=True, help='Condition over outcomes, such as "duplicate_actions > 1".')
@cell_option
@click.option("--strategy", help="Name of a strategy; all of them if absent.")
@click.option(
    "--replications",
    type=click.IntRange(min=1),
    help="How many runs to look at. Default: as many as the experiment has at most.",
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Matches to list.")
@seed_option
@project_option
def find(
    experiment: str,
    where: str,
    cell: tuple[str, ...],
    strategy: str | None,
    replications: int | None,
    limit: int,
    seed: int | None,
    project: Path | None,
) -> None:
    """List the replications of a cell in which something happened, to replay them.

    The condition is over the columns that `sim.simulate` gives: crashes, duplicate_actions, lost_actions,
    makespan_s and so on, with numbers, comparisons, + - * /, and, or, not.

    \b
      savegap find article --where "duplicate_actions > 0"
      savegap find crash-rate --cell crash.law.mean=60 --where "makespan_s > 600 and crashes < 3"
    """
    from sim.study.replaying import check_condition, choose_cell, choose_strategies, matching, replay_command

    columns = check_condition(where)
    plan = _plan(experiment, project)
    chosen = choose_cell(plan, list(cell))
    strategies = choose_strategies(plan, strategy)
    number = min(replications or plan.experiment.replications, MOST)

    def matches() -> Iterator[tuple[str, int, list[str]]]:
        for name in strategies:
            blocks = matching(
                chosen.scenarios[name], _seed(plan, seed), plan.experiment.engine, number, where
            )
            for table in blocks:
                for replication, *values in table[columns].itertuples():
                    yield name, replication, [_number(value) for value in values]

    found = list(islice(matches(), limit))
    if not found:
        click.echo(f"none of {number * len(strategies):,} runs matches.")
        sys.exit(NONE_FOUND)
    rows = [["strategy", "replication", *columns]]
    rows += [[name, str(replication), *values] for name, replication, values in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = [text.rjust(width) for text, width in zip(rest, widths[1:], strict=True)]
        click.echo("  ".join([first.ljust(widths[0]), *cells]))
    of = f"{len(found)} of {number * len(strategies):,} runs match."
    click.echo("\n" + (of if len(found) < limit else f"The first {limit} that match; --limit asks for more."))
    click.echo("What happens in the first:")
    command = replay_command(experiment, plan.base, chosen.factors, *found[0][:2])
    click.echo(f"  {command}" + (f" --seed {seed}" if seed is not None else ""))


def _check_plot(plot: Path) -> None:
    """Refuse a picture that could not be written, before anything is simulated for it."""
    from sim.study.errors import InputError, Problem
    from sim.study.files import check_writable

    folder = plot.absolute().parent
    if plot.suffix.lower() != ".svg":
        raise InputError(
            [Problem("--plot", str(plot), "the picture is an SVG file; its name must end in .svg.")]
        )
    if plot.is_dir():
        raise InputError([Problem("--plot", str(plot), "is a folder; name a file.")])
    if not folder.is_dir():
        raise InputError([Problem("--plot", str(plot), f"there is no folder {folder}.")])
    check_writable(folder)


def _draw(title: str, scenarios: dict[str, "Scenario"], seed: int, replication: int, plot: Path) -> None:
    """Draw one run under several strategies."""
    from sim.report.life import draw
    from sim.report.lives import lived

    draw({name: lived(scenario, seed, replication) for name, scenario in scenarios.items()}, title, plot)


MOST = 10**9
"""At most so many runs are looked at."""


def _plan(experiment: str, project: Path | None) -> "Plan":
    from sim.study.config import load
    from sim.study.files import experiment_files

    home = home_of(project)
    return load(experiment_files(home, [experiment])[0], home)


def _seed(plan: "Plan", seed: int | None) -> int:
    return plan.experiment.seed if seed is None else seed


def _number(value: Any) -> str:
    """Write an outcome: whole numbers and yes or no as they are, others with six digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
