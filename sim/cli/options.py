"""What several commands share: their options, and how they end."""

from pathlib import Path

import click

FAILED = 1
"""Exit code where the study itself went wrong: engines that differ, a cell that failed."""

INPUT_ERROR = 2
INTERRUPTED = 130


def _given_or_of_the_group(context: click.Context, _: click.Parameter, project: Path | None) -> Path | None:
    inherited: Path | None = context.obj
    return project or inherited


project_option = click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    callback=_given_or_of_the_group,
    help="Folder that holds experiments/. Default: the nearest from here upward.",
)

out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the results. Default: results/ of the project.",
)


def folders(project: Path | None, out: Path | None) -> tuple[Path, Path]:
    """Give the project, and the folder of its results or the one that was named."""
    from sim.study.files import RESULTS

    home = home_of(project)
    return home, (out or home / RESULTS).absolute()


def home_of(project: Path | None) -> Path:
    """Give the project that was named, or that this folder is in."""
    from sim.study.files import find_project

    return project.resolve() if project else find_project(Path.cwd())
