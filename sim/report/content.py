"""What a report says: one content, of which pages and the paper are renderings.

All of it is computed from the tables of results; what an experiment file adds are questions and templates.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from sim.estimate import Estimate
from sim.report import comparison, gallery, reality, sensitivity, tables
from sim.report.answers import answer
from sim.report.checks import checks
from sim.report.drawing import draw_all
from sim.report.rule import Rule, rule
from sim.report.tables import Table, read
from sim.study.chunks import CHECKED
from sim.study.config import Figure, Plan, StrategyTable, load
from sim.study.errors import InputError, Problem
from sim.study.files import EXPERIMENTS, experiment_files
from sim.study.provenance import failures, sizes

OF_LAWS = (
    "Every law of times that an experiment file can name, drawn with the first of its examples; "
    "parameters of time are in seconds. Where the shortest and longest times lie decades apart, their"
    " axis is logarithmic. Where some times have a probability of their own, their shares stand in "
    "the place of density and hazard: of all times, and of those that are not shorter."
)
OF_NUMBERS = (
    "Every number comes from the tables in the folders beside this page, which hold all metrics of "
    "all cells. Estimates carry 95 % intervals, whose method also says which estimator made the "
    "number. Conditional: the first crash of each run is integrated out exactly and later ones are "
    "simulated. All others count what simulated runs did: t means, Wilson shares (Clopper-Pearson "
    "where none or all were counted), delta ratios of sums, gamma rates, order statistics quantiles. "
    "Exact values are computed without simulation. Intervals of contrasts hold all together with 95 %"
    f" (Bonferroni). The first {CHECKED} runs of every strategy in every cell are simulated by both "
    "engines where both can, and a cell in which they differ fails."
)
UNANSWERED = "Not answered, since cells have failed; the tables hold the others."


@dataclass(frozen=True)
class Picture:
    """A figure: its file beside the report, its caption, and the file as a data address."""

    file: str
    caption: str
    data: str

    @property
    def alt(self) -> str:
        """What stands in the picture's place; brackets would end it in Markdown."""
        return self.caption.translate(str.maketrans("[]", "()"))


@dataclass(frozen=True)
class Shown:
    """A law of the gallery and its picture."""

    exhibit: gallery.Exhibit
    picture: Picture


@dataclass(frozen=True)
class Finding:
    """A sentence or two for the first screen, and the section that they are from."""

    text: str
    section: str


@dataclass(frozen=True)
class Front:
    """A table or a picture that stands before the experiments.

    Attributes
    ----------
    title, anchor : str
    note : str
        What it is given.
    section, of : str
        Anchor and title of the section that it is from.
    """

    title: str
    anchor: str
    note: str
    section: str
    of: str
    table: Table | None = None
    picture: Picture | None = None


@dataclass(frozen=True)
class Section:
    """What the report says of one experiment or trial; without pictures if some of its cells failed.

    Attributes
    ----------
    name, folder : str
        Anchor; folder of the tables, beside the report.
    again : str
        The command that makes it again.
    answer : list of str
        Paragraphs.
    checks : list of str
        What was held against exact values and the other engine, and what precision was not reached.
    pictures : list of Picture
        The first is the one made for its question.
    """

    name: str
    folder: str
    again: str
    title: str
    question: str
    answer: list[str]
    given: str
    runs: str
    checks: list[str]
    pictures: list[Picture]
    open_tables: list[Table]
    folded_tables: list[Table]


@dataclass(frozen=True)
class Content:
    """What a report says, in its order."""

    findings: list[Finding]
    front: list[Front]
    sections: list[Section]
    rule: Rule | None
    laws: list[Shown]
    of_laws: str = OF_LAWS
    of_numbers: str = OF_NUMBERS


def content(project: Path, results: Path, jobs: int = 1) -> Content:
    """Say all that results tell of experiments, and of the laws that a project knows; draw what is missing.

    Parameters
    ----------
    project : Path
        Folder that holds ``experiments/``.
    results : Path
        Folder with a folder of tables for each experiment; figures are put there.
    jobs : int
        Processes that draw.

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
    whole = [plan for plan in plans if plan.name not in failed]
    laws = gallery.exhibits(project)
    trials = reality.trials(results)
    draw_all(whole, laws, trials, results, jobs)
    gallery.clear(laws, results)
    return Content(
        findings=[*_findings(whole, results), *_findings_of(trials)],
        front=[front for plan in whole for front in _front(plan, results)],
        sections=[_section(plan, results, failed.get(plan.name, [])) for plan in plans]
        + [_section_of_trial(trial, results) for trial in trials],
        rule=rule(whole, results),
        laws=[Shown(exhibit, _picture_of_law(exhibit, results)) for exhibit in laws],
    )


def _findings(plans: list[Plan], results: Path) -> list[Finding]:
    return [
        Finding(text, plan.name)
        for plan in plans
        for text in answer(plan, *_estimated(plan, results), key="finding")
    ]


def _findings_of(trials: list[reality.Trial]) -> list[Finding]:
    return [Finding(reality.answer(trial)[0], _anchor(trial)) for trial in trials if len(trial.compared)]


def _front(plan: Plan, results: Path) -> Iterator[Front]:
    """Give what of an experiment stands before all: tables first."""
    estimates = read(results / plan.name / "estimates.csv")
    note = f"Given: {plan.experiment.given}." if plan.experiment.given else ""
    of = note, plan.name, plan.experiment.title
    for index, wanted in enumerate(plan.experiment.tables, 1):
        if isinstance(wanted, StrategyTable):
            made = comparison.table(plan, wanted, estimates)
        else:
            made = sensitivity.table(plan, wanted, estimates)
        yield Front(made.title, f"{plan.name}-table-{index}", *of, table=made)
    for figure in plan.experiment.figures:
        if figure.front:
            picture = _picture(plan, figure, results / plan.name)
            yield Front(figure.front, f"{plan.name}-{figure.name}", *of, picture=picture)


def _estimated(plan: Plan, results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the estimates of an experiment, and what was published."""
    folder = results / plan.name
    return read(folder / "estimates.csv"), read(folder / "published.csv")


def _check_tables(plan: Plan, results: Path) -> None:
    """Refuse tables of another version of the experiment file."""
    table = read(results / plan.name / "estimates.csv")
    swept = [name for name in table.columns if name not in [field.name for field in fields(Estimate)]]
    if swept != [*plan.base, "strategy", "exact"] or set(table["strategy"]) != set(
        plan.experiment.strategies
    ):
        sentence = f"its results are of another version of the file; run: savegap run {plan.name}"
        raise InputError([Problem(f"{EXPERIMENTS}/{plan.name}.toml", "", sentence)])


def _section(plan: Plan, results: Path, failed: list[str]) -> Section:
    experiment = plan.experiment
    folder = results / plan.name
    estimates, published = _estimated(plan, results)
    contrasts = read(folder / "contrasts.csv")
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
        checks=checks(plan, estimates, sizes(results, plan.name)),
        pictures=[]
        if failed
        else [_picture(plan, figure, folder) for figure in experiment.figures if not figure.front],
        open_tables=opened,
        folded_tables=folded,
    )


def _section_of_trial(trial: reality.Trial, results: Path) -> Section:
    folder = trial.folder.relative_to(results).as_posix()
    shown, *folded = reality.tables(trial)
    return Section(
        name=_anchor(trial),
        folder=folder,
        again=f"savegap lab run {trial.folder.name}",
        title=trial.facts["title"],
        question=trial.facts["question"],
        answer=reality.answer(trial),
        given=reality.given(trial),
        runs=f"{trial.conditions['runs'].sum():,} real runs, {trial.conditions['kills'].sum():,} kills",
        checks=[],
        pictures=[
            Picture(f"{folder}/{name}.svg", caption, _data(trial.folder / f"{name}.svg"))
            for name, caption in reality.figures(trial).items()
        ],
        open_tables=[shown],
        folded_tables=folded,
    )


def _anchor(trial: reality.Trial) -> str:
    return f"lab-{trial.folder.name}"


def _picture(plan: Plan, figure: Figure, folder: Path) -> Picture:
    target = folder / f"{figure.name}.svg"
    return Picture(f"{plan.name}/{target.name}", figure.caption, _data(target))


def _picture_of_law(exhibit: gallery.Exhibit, results: Path) -> Picture:
    caption = f"Density and hazard of the law {exhibit.name} with a mean of {exhibit.mean}"
    return Picture(exhibit.file, caption, _data(results / exhibit.file))


def _data(target: Path) -> str:
    """Give an SVG file as a data address."""
    return f"data:image/svg+xml;base64,{base64.b64encode(target.read_bytes()).decode()}"
