"""The report: ``README.md`` for the repository, ``report.html`` in one file, one content for both."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from joblib import Parallel, delayed

from sim.estimate import Estimate
from sim.report import gallery, tables
from sim.report.answers import answer
from sim.report.figures import draw
from sim.report.look import Colours, colours
from sim.report.tables import Table
from sim.study.config import Figure, Plan, load
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS, experiment_files, write_text


@dataclass(frozen=True)
class Picture:
    """A figure: its file beside the report, its caption, and the file as a data address."""

    file: str
    caption: str
    data: str


@dataclass(frozen=True)
class Shown:
    """A law of the gallery and its picture."""

    exhibit: gallery.Exhibit
    picture: Picture


@dataclass(frozen=True)
class Section:
    """What the report says of one experiment."""

    name: str
    title: str
    question: str
    answer: list[str]
    given: str
    runs: str
    precision: str
    pictures: list[Picture]
    open_tables: list[Table]
    folded_tables: list[Table]


def write_report(project: Path, results: Path, jobs: int = 1) -> Iterator[Path]:
    """Write the report of all experiments of a project that have results, and of the laws that it knows.

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
        Each file once it is written.

    Raises
    ------
    InputError
        If an experiment file is wrong, or its answer asks for what is not there.
    """
    plans = [load(file, project) for file in experiment_files(project, [])]
    plans = [plan for plan in plans if (results / plan.name / "estimates.csv").is_file()]
    plans.sort(key=lambda plan: (plan.experiment.order, plan.name))
    for plan in plans:
        _check_tables(plan, results)
    palette = colours(plans)
    drawings = [
        (plan, figure, palette, results / plan.name) for plan in plans for figure in plan.experiment.figures
    ]
    laws = gallery.exhibits(project)
    Parallel(n_jobs=jobs)(
        [delayed(_draw)(*drawing) for drawing in drawings]
        + [delayed(gallery.draw)(exhibit, results) for exhibit in laws]
    )
    gallery.clear(laws, results)
    shown = [Shown(exhibit, _picture_of_law(exhibit, results)) for exhibit in laws]
    sections = [_section(plan, results) for plan in plans]
    environment = Environment(
        loader=PackageLoader("sim.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
    )
    for file, template in (("README.md", "README.md.j2"), ("report.html", "report.html.j2")):
        write_text(results / file, environment.get_template(template).render(sections=sections, laws=shown))
        yield results / file


def _check_tables(plan: Plan, results: Path) -> None:
    """Refuse tables of another version of the experiment file."""
    table = _read(results / plan.name / "estimates.csv")
    swept = [name for name in table.columns if name not in [field.name for field in fields(Estimate)]]
    if swept != [*plan.base, "strategy", "exact"] or set(table["strategy"]) != set(
        plan.experiment.strategies
    ):
        sentence = f"its results are of another version of the file; run: savegap run {plan.name}"
        raise InputError([Problem(f"{EXPERIMENTS}/{plan.name}.toml", "", sentence)])


def _draw(plan: Plan, figure: Figure, palette: Colours, folder: Path) -> None:
    tables = (_read(folder / f"{name}.csv") for name in ("estimates", "published"))
    estimates, published = tables
    draw(plan, figure, estimates, published, palette, folder / f"{figure.name}.svg")


def _section(plan: Plan, results: Path) -> Section:
    experiment = plan.experiment
    folder = results / plan.name
    estimates = _read(folder / "estimates.csv")
    contrasts = _read(folder / "contrasts.csv")
    published = _read(folder / "published.csv")
    opened = [tables.published(plan, published)] if len(published) else []
    folded = [tables.headline(plan, estimates)]
    if len(contrasts):
        folded.append(tables.contrasts(plan, contrasts))
    return Section(
        name=plan.name,
        title=experiment.title,
        question=" ".join(experiment.question.split()),
        answer=answer(plan, estimates, published),
        given=experiment.given,
        runs=tables.runs(estimates),
        precision=tables.precision(plan, estimates),
        pictures=[_picture(plan, figure, folder / f"{figure.name}.svg") for figure in experiment.figures],
        open_tables=opened,
        folded_tables=folded,
    )


def _picture(plan: Plan, figure: Figure, target: Path) -> Picture:
    return Picture(f"{plan.name}/{target.name}", figure.caption, _data(target))


def _picture_of_law(exhibit: gallery.Exhibit, results: Path) -> Picture:
    caption = f"Density and hazard of the law {exhibit.name} with a mean of {exhibit.mean}"
    return Picture(exhibit.file, caption, _data(results / exhibit.file))


def _data(target: Path) -> str:
    """Give an SVG file as a data address."""
    return f"data:image/svg+xml;base64,{base64.b64encode(target.read_bytes()).decode()}"


def _read(file: Path) -> pd.DataFrame:
    """Read a table of results; an absent one is empty, and only an empty field is missing."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""]) if file.is_file() else pd.DataFrame()
