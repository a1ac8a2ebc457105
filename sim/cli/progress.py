"""Progress of long work: live on a terminal, else as plain lines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import click

Advance = Callable[[int, int], None]
"""Told (chunks, runs) that have been added."""


@contextmanager
def progress(chunks: int, runs: int) -> Iterator[Advance]:
    """Show chunks done, runs a second and time left: live on a terminal, else as plain lines."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    done = {"chunks": 0, "runs": 0}
    begin = last = monotonic()

    def status() -> str:
        pace = done["runs"] / max(monotonic() - begin, 1e-9)
        return f"{done['chunks']}/{chunks} chunks, {done['runs']:,}/{runs:,} runs, {pace:,.0f} runs/s"

    if not console.is_terminal:

        def plain(more_chunks: int, more_runs: int) -> None:
            nonlocal last
            done["chunks"] += more_chunks
            done["runs"] += more_runs
            finished = done["chunks"] == chunks
            if monotonic() - last >= 5 or finished:
                last = monotonic()
                left = (last - begin) * (runs - done["runs"]) / max(done["runs"], 1)
                click.echo(f"{status()}, {left:.0f} s left", err=True)

        yield plain
        return

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task(status(), total=runs)

        def live(more_chunks: int, more_runs: int) -> None:
            done["chunks"] += more_chunks
            done["runs"] += more_runs
            display.update(task, advance=more_runs, description=status())

        yield live
    if chunks:
        click.echo(f"{status()}, {monotonic() - begin:.0f} s", err=True)
