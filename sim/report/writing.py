"""The pages of a report: ``README.md`` for the repository, ``report.html`` in one file."""

from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from sim.report.content import content
from sim.study.files import write_text

PAGES = {"README.md": "README.md.j2", "report.html": "report.html.j2"}


def write_report(project: Path, results: Path, jobs: int = 1) -> Iterator[Path]:
    """Write the report of all experiments of a project that have results, and of the laws that it knows.

    Figures that were drawn from the same are left as they are.

    Parameters
    ----------
    project : Path
        Folder that holds ``experiments/``.
    results : Path
        Folder with a folder of tables for each experiment; the report and the laws' pictures are put there.
    jobs : int
        Processes that draw.

    Yields
    ------
    Path
        Each page once it is written.

    Raises
    ------
    InputError
        If an experiment file is wrong, or its answer asks for what is not there.
    """
    said = content(project, results, jobs)
    environment = Environment(
        loader=PackageLoader("sim.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
    )
    for file, template in PAGES.items():
        write_text(results / file, environment.get_template(template).render(said=said))
        yield results / file
