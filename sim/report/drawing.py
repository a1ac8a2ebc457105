"""All pictures of a report, of which those are drawn that are not as tables and program would have them."""

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from sim.report import anatomy, gallery, life, reality
from sim.report.figures import draw
from sim.report.lives import chosen, lived
from sim.report.look import Colours, colours, strategies
from sim.report.tables import read
from sim.study.chunks import program_identity
from sim.study.config import FROM_RUNS, Cell, Figure, Plan, named
from sim.study.identity import code, content, digest, of_file, versions
from sim.study.made import Made
from sim.study.results import TABLES

DRAWN_WITH = ("matplotlib", "seaborn", "pandas")
"""Packages whose versions may change a picture, besides those that may change a digit."""


def draw_all(
    plans: list[Plan],
    laws: list[gallery.Exhibit],
    trials: list[reality.Trial],
    results: Path,
    jobs: int,
) -> None:
    """Draw the figures of experiments and trials and the pictures of laws that are not as they should be.

    Parameters
    ----------
    plans : list of Plan
        Experiments with results; a strategy has its colour in all of their figures.
    laws, trials : list
        Of the gallery, and of the laboratory.
    results : Path
        Where tables are, and figures are put.
    jobs : int
        Processes that draw.
    """
    palette = colours(plans)
    program = [_program("sim.report.figures"), {name: version(name) for name in DRAWN_WITH}]
    made = Made(results)
    todo: dict[Path, tuple[str, Any]] = {}
    for plan in plans:
        tables = [of_file(results / plan.name / f"{name}.csv") for name in TABLES]
        axes = [plan.base, [cell.factors for cell in plan.cells], plan.sweeps]
        for figure in plan.experiment.figures:
            colour = palette[plan.name]
            drawn = [figure, plan.experiment.published, colour, _model(plan, figure)]
            source = digest(content([program, tables, axes, *drawn]))
            target = results / plan.name / f"{figure.name}.svg"
            todo[target] = source, delayed(_draw)(plan, figure, colour, results / plan.name)
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


def _model(plan: Plan, figure: Figure) -> object:
    """Give what a figure is drawn from besides tables: the model itself, where it shows that."""
    if figure.kind not in FROM_RUNS:
        return None
    scenarios = [cell.scenarios for cell in _shown(plan, figure).cells]
    return [_program("sim.report.drawing"), program_identity(), plan.experiment.seed, content(scenarios)]


def _shown(plan: Plan, figure: Figure) -> Plan:
    """Leave of an experiment the cells and strategies that a figure shows."""
    cells = [
        Cell(cell.factors, {name: cell.scenarios[name] for name in strategies(plan, figure)})
        for cell in plan.cells
        if figure.where.items() <= cell.factors.items()
    ]
    return replace(plan, cells=cells)


def _draw(plan: Plan, figure: Figure, colour: Colours, folder: Path) -> None:
    target = folder / f"{figure.name}.svg"
    match figure.kind:
        case "anatomy":
            anatomy.draw(_shown(plan, figure).cells[0].scenarios, target)
        case "life":
            cell, replication = chosen(_shown(plan, figure))
            seed = plan.experiment.seed
            lives = {name: lived(scenario, seed, replication) for name, scenario in cell.scenarios.items()}
            life.draw(lives, f"{named(plan.name, cell.factors)}, replication {replication:,}", target)
        case _:
            _draw_tables(plan, figure, colour, folder, target)


def _draw_tables(plan: Plan, figure: Figure, colour: Colours, folder: Path, target: Path) -> None:
    tables = {name: read(folder / f"{name}.csv") for name in TABLES}
    draw(plan, figure, **tables, colour=colour, target=target)
