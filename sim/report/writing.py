"""The pages of a report: ``README.md`` for the repository, ``report.html`` in one file."""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from jinja2 import Environment, PackageLoader, StrictUndefined

from sim.report.content import Finding, content
from sim.study.files import RESULTS, write_text

PAGES = {"README.md": "README.md.j2", "report.html": "report.html.j2"}

BEGIN, END = "<!-- findings of results/: savegap report -->", "<!-- end of findings -->"
"""Between these lines a project's own README.md has what was found."""


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
        Each page once it is written; the last is the project's own README.md if it has a place for findings,
        and the results are the project's own.

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
    environment.filters["together"] = _together
    for file, template in PAGES.items():
        write_text(results / file, environment.get_template(template).render(said=said))
        yield results / file
    readme = project / "README.md"
    if results.resolve() == (project / RESULTS).resolve() and readme.is_file():
        text = readme.read_text(encoding="utf-8")
        if (told := _told(text, said.findings)) != text:
            write_text(readme, told)
            yield readme


def _together(text: str) -> str:
    """Keep numbers and their units on one line."""
    return re.sub(r"(?<=\d) (?=(?:%|s|min|h|d)(?!\w))", "\u00a0", text)


def _told(text: str, findings: list[Finding]) -> str:
    """Put findings into a README where it has a place for them."""
    before, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not end:
        return text
    lines = "".join(fill(f"- {finding.text}", 118, subsequent_indent="  ") + "\n" for finding in findings)
    return f"{before}{begin}{lines}{end}{after}"
