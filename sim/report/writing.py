"""The report: ``README.md`` for the repository, ``report.html`` in one file, one content for both."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from joblib import Parallel, delayed

from sim.estimate import Estimate
from sim.report import gallery, reality, tables
from sim.report.answers import answer
from sim.report.figures import draw
from sim.report.look import Colours, colours
from sim.report.tables import Table
from sim.study.config import Figure, Plan, load
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS, experiment_files, write_text
from sim.study.identity import code, content, digest, of_file, versions
from sim.study.made import Made
from sim.study.provenance import failures

DRAWN_WITH = ("matplotlib", "seaborn", "pandas")
"""Packages whose versions may change a picture, besides those that may change a digit."""

UNANSWERED = "Not answered, since cells have failed; the tables hold the others."


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
    """What the report says of one experiment or trial; without pictures if some of its cells failed.

    Attributes
    ----------
    name, folder : str
        Anchor; folder of the tables, beside the report.
    again : str
        The command that makes it again.
    """

    name: str
    folder: str
    again: str
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
    plans = [load(file, project) for file in experiment_files(project, [])]
    plans = [plan for plan in plans if (results / plan.name / "estimates.csv").is_file()]
    plans.sort(key=lambda plan: (plan.experiment.order, plan.name))
    for plan in plans:
        _check_tables(plan, results)
    failed = failures(results)
    laws = gallery.exhibits(project)
    trials = reality.trials(results)
    _draw_all([plan for plan in plans if plan.name not in failed], laws, trials, results, jobs)
    gallery.clear(laws, results)
    shown = [Shown(exhibit, _picture_of_law(exhibit, results)) for exhibit in laws]
    sections = [_section(plan, results, failed.get(plan.name, [])) for plan in plans]
    sections += [_section_of_trial(trial, results) for trial in trials]
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


def _draw_all(
    plans: list[Plan],
    laws: list[gallery.Exhibit],
    trials: list[reality.Trial],
    results: Path,
    jobs: int,
) -> None:
    """Draw the figures of experiments and trials and the pictures of laws that are not as they should be."""
    palette = colours(plans)
    program = [_program("sim.report.figures"), {name: version(name) for name in DRAWN_WITH}]
    made = Made(results)
    todo: dict[Path, tuple[str, Any]] = {}
    for plan in plans:
        tables = [of_file(results / plan.name / f"{name}.csv") for name in ("estimates", "published")]
        axes = [plan.base, [cell.factors for cell in plan.cells], plan.sweeps]
        for figure in plan.experiment.figures:
            colour = {name: palette[name] for name in plan.experiment.strategies}
            source = digest(content([program, tables, axes, figure, plan.experiment.published, colour]))
            target = results / plan.name / f"{figure.name}.svg"
            todo[target] = source, delayed(_draw)(plan, figure, palette, results / plan.name)
    for exhibit in laws:
        picture = delayed(gallery.draw)(exhibit, results)
        source = digest([program, code("sim.laws"), versions(), content(exhibit.law), exhibit.name])
        todo[results / exhibit.file] = source, picture
    for trial in trials:
        tables = [of_file(file) for file in sorted(trial.folder.glob("*.csv"))]
        for name in reality.figures(trial):
            source = digest([_program("sim.report.reality"), program[1], tables, name])
            todo[trial.folder / f"{name}.svg"] = source, delayed(reality.draw)(trial, name)
    todo = {target: what for target, what in todo.items() if not made.fresh(target, what[0])}
    Parallel(n_jobs=jobs if len(todo) > 1 else 1)(drawing for _, drawing in todo.values())
    for target, (source, _) in todo.items():
        made.note(target, source)
    made.save()


def _program(module: str) -> dict[str, str]:
    """Give the part of the program that turns numbers into pictures."""
    return {name: of for name, of in code(module).items() if name.startswith("sim.report")}


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


def _section(plan: Plan, results: Path, failed: list[str]) -> Section:
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
        folder=plan.name,
        again=f"savegap run {plan.name}",
        title=experiment.title,
        question=" ".join(experiment.question.split()),
        answer=[UNANSWERED, *failed] if failed else answer(plan, estimates, published),
        given=experiment.given,
        runs=f"{tables.runs(estimates)} runs of each strategy in each cell",
        precision=tables.precision(plan, estimates),
        pictures=[] if failed else [_picture(plan, figure, folder) for figure in experiment.figures],
        open_tables=opened,
        folded_tables=folded,
    )


def _section_of_trial(trial: reality.Trial, results: Path) -> Section:
    folder = trial.folder.relative_to(results).as_posix()
    shown, *folded = reality.tables(trial)
    return Section(
        name=f"lab-{trial.folder.name}",
        folder=folder,
        again=f"savegap lab run {trial.folder.name}",
        title=trial.facts["title"],
        question=trial.facts["question"],
        answer=reality.answer(trial),
        given=reality.given(trial),
        runs=f"{trial.conditions['runs'].sum():,} real runs, {trial.conditions['kills'].sum():,} kills",
        precision="",
        pictures=[
            Picture(f"{folder}/{name}.svg", caption, _data(trial.folder / f"{name}.svg"))
            for name, caption in reality.figures(trial).items()
        ],
        open_tables=[shown],
        folded_tables=folded,
    )


def _picture(plan: Plan, figure: Figure, folder: Path) -> Picture:
    target = folder / f"{figure.name}.svg"
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
