"""The command ``savegap paper``: the paper, set from the results that are there."""

from pathlib import Path

import click

from sim.cli.options import folders, out_option, project_option


@click.command()
@out_option
@project_option
def paper(out: Path | None, project: Path | None) -> None:
    """Set paper/paper.typ into a PDF, every number and table of it from results.

    It is written to paper/paper.pdf; with --out to paper.pdf in that folder, of the results there. It takes
    the extra paper (Typst).
    """
    from joblib import cpu_count

    from sim.report.paper import PAPER, write_paper
    from sim.study.files import check_writable

    home, results = folders(project, out)
    target = results / f"{PAPER.stem}.pdf" if out else home / PAPER.with_suffix(".pdf")
    check_writable(target.parent)
    write_paper(home, results, target, cpu_count())
    click.echo(f"wrote {target}")
