"""The command ``savegap fit``: laws of crash times, from times that were observed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sim.fit import Fit, KaplanMeier, Parameters

MOST_COLUMNS = 160
"""The table takes what it needs, mostly fewer than 80: to a narrower terminal a number is never cut."""
HEAD = "# savegap fit"
"""Begin of a file of bootstrapped laws."""

Sets = Mapping[str, Sequence["Parameters"]]


@click.command("fit")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="SVG file of the picture. Default: FILE's name with -fit.svg, beside FILE.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=2),
    metavar="N",
    help="Fit N resamples too: 95 % intervals in the table, and their laws as a sweep axis in a TOML file.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the resamples.")
def fit(file: Path, out: Path | None, bootstrap: int | None, seed: int) -> None:
    """Fit laws to times between crashes.

    FILE is a CSV file with a column `seconds` and, if some lives were still going on when last seen, a
    column `censored` (0/1 or true/false). A single column needs no name.

    Prints the laws by AIC, the least (best) first, and the law to paste into an experiment; draws the
    survival curves. A resample draws lives with replacement, each with its censoring. Pictures and lists
    that this command wrote before are replaced; any other file is left alone.
    """
    from sim import fit as statistics
    from sim.report import survival
    from sim.study.crash_times import read
    from sim.study.files import write_text

    picture = out or file.with_name(f"{file.stem}-fit.svg")
    axis = picture.with_suffix(".toml")
    times, censored = read(file)
    _check_target(picture, survival.CREATOR, "a picture")
    if bootstrap:
        _check_target(axis, HEAD, "a list")
    fits = statistics.fit(times, censored)
    curve = statistics.kaplan_meier(times, censored)
    sets: Sets = {}
    if bootstrap:
        sets = statistics.bootstrap(times, censored, fits, bootstrap, seed)
    lives = f"{len(times):,} times, {censored.sum():,} of them censored"
    click.echo(f"{file.name}: {lives}; {_median(curve)}")
    _print_table(fits, sets)
    missing = {candidate.law for candidate in statistics.CANDIDATES} - {found.law for found in fits}
    for law in sorted(missing):
        click.echo(f"{law}: left out, since its likelihood has no maximum for these times.")
    for found in fits:
        if bootstrap and (failed := bootstrap - len(sets[found.law])):
            click.echo(f"{found.law}: no maximum for {failed} of {bootstrap} resamples; the rest are used.")
    _print_toml(fits)
    survival.draw(curve, fits, picture)
    click.echo(f"wrote {picture}")
    if bootstrap:
        best = fits[0]
        write_text(axis, _axis(best, sets[best.law], f"{file.name}: {lives}", bootstrap, seed))
        click.echo(f"wrote {axis}: this law and {len(sets[best.law])} of resamples, to paste below [sweep]")


def _check_target(target: Path, mark: str, what: str) -> None:
    """Refuse to replace a file that this command has not written, and a folder that cannot be written."""
    from sim.study.errors import InputError, Problem
    from sim.study.files import check_writable

    if what == "a picture" and target.suffix.lower() != ".svg":
        raise InputError([Problem(str(target), "", "the picture is an SVG file, so --out must end in .svg.")])
    if target.is_file() and mark.encode() not in target.read_bytes()[:2000]:
        sentence = f"is there already and is not {what} that `savegap fit` wrote, so it is not replaced."
        raise InputError([Problem(str(target), "", f"{sentence} Name another with --out.")])
    check_writable(target.parent)


def _median(curve: "KaplanMeier") -> str:
    """Say the median that needs no law."""
    from math import isinf

    from sim.report.answers import number

    if isinf(curve.median):
        return "more than half outlast every time seen, so there is no median by Kaplan–Meier"
    low, high = curve.median_interval
    top = "beyond all times" if isinf(high) else f"{number(high, 4)} s"
    return f"median by Kaplan–Meier {number(curve.median, 4)} s (95 %: {number(low, 4)} s to {top})"


def _print_table(fits: Sequence["Fit"], sets: Sets) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from sim.fit import interval
    from sim.report.answers import number

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("law")
    table.add_column("")
    resampled = ["95 % by\nbootstrap"] if sets else []
    for head in ("estimate ±\nstd. error", *resampled, "log L", "AIC", "above\nleast"):
        table.add_column(head, justify="right", no_wrap=True)
    for found in fits:
        ranges = interval(sets.get(found.law, ()))
        cells = [
            found.law,
            "\n".join(found.parameters),
            "\n".join(
                f"{number(value, 4)} ± {number(found.errors[key], 2)}"
                for key, value in found.parameters.items()
            ),
        ]
        if sets:
            both = (ranges.get(key) for key in found.parameters)
            cells.append("\n".join(f"{number(r[0], 4)} to {number(r[1], 4)}" if r else "" for r in both))
        difference = found.aic - fits[0].aic
        table.add_row(*cells, f"{found.log_likelihood:.1f}", f"{found.aic:.1f}", f"{difference:.1f}")
    Console(width=MOST_COLUMNS).print(table)


def _print_toml(fits: Sequence["Fit"]) -> None:
    """Print the best law, and as comments those that the times support about as well."""
    from sim.fit import ALIKE

    click.echo(f"law = {fits[0].toml}")
    alike = [found for found in fits[1:] if found.aic - fits[0].aic <= ALIKE]
    if alike:
        click.echo(f"# about as good, AIC within {ALIKE:g} of the least:")
    for found in alike:
        click.echo(f"# law = {found.toml}")
    click.echo("")


def _axis(best: "Fit", sets: Sequence["Parameters"], source: str, n: int, seed: int) -> str:
    """Write an axis of a sweep: the fitted law, as the scenario may have it, and the bootstrapped ones."""
    from sim.fit import as_toml

    lines = "".join(f"    {as_toml(best.law, one)},\n" for one in (best.parameters, *sets))
    head = f"{HEAD} of {source}; the fitted law, then {n} resamples with seed {seed}."
    return f'{head}\n"crash.law" = [\n{lines}]\n'
