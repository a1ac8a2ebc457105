"""The paper: what it says is collected from results, and Typst sets it.

The text stands in ``paper/paper.typ``, which takes every number and table from one file, `said.json`, that is
made here. Besides, Typst sees the fonts that it brings along, the bibliography and the figures of results.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from sim import timeline
from sim.crashes import PROCESSES
from sim.estimate import METRICS
from sim.program import unfold
from sim.report import reality, stress
from sim.report.answers import Number, number, percent
from sim.report.content import Front, Picture, Section, content
from sim.report.tables import Table, interval, read, write
from sim.strategy import PROTOCOLS, Strategy
from sim.study.chunks import CHECKED
from sim.study.config import Factor, Plan, load
from sim.study.errors import InputError, Problem
from sim.study.files import experiment_files, replacing
from sim.study.made import read as read_json
from sim.study.presets import read_toml
from sim.study.provenance import MANIFEST
from sim.study.systems import names, read_system

PAPER = Path("paper", "paper.typ")
SAID = "said.json"

MUTANTS = Path("tests", "mutants", "mutants.toml")

Said = dict[str, Any]


def write_paper(project: Path, results: Path, target: Path, jobs: int = 1) -> None:
    """Write the paper, whole or not at all; of the same results it has the same bytes.

    Parameters
    ----------
    project : Path
        Folder that holds ``experiments/`` and ``paper/``.
    results : Path
        Folder of the results that it tells of.
    target : Path
        The PDF file.
    jobs : int
        Processes that draw figures which are missing.

    Raises
    ------
    InputError
        If there is no paper or no Typst, or the text asks for what is not there.
    """
    typst = _typst()
    source = project / PAPER
    if not source.is_file():
        raise InputError(
            [Problem(str(PAPER), "", "is not there, and nothing else says what the paper says.")]
        )
    what = said(project, results, jobs)
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        for file in source.parent.iterdir():
            if file.suffix in (".typ", ".bib"):
                shutil.copy(file, stage)
        for figure in results.rglob("*.svg"):
            copy = stage / "results" / figure.relative_to(results)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(figure, copy)
        (stage / SAID).write_text(json.dumps(what, ensure_ascii=False), encoding="utf-8")
        fonts = typst.Fonts(include_system_fonts=False)
        try:
            pdf = typst.compile(stage / PAPER.name, root=stage, font_paths=fonts)
        except typst.TypstError as error:
            why = f"cannot be set: {error.message}; {'; '.join(map(str, error.hints))}".rstrip("; ")
            raise InputError([Problem(str(PAPER), "", f"{why}.")]) from None
    with replacing(target) as new:
        new.write_bytes(pdf)


def _typst() -> Any:
    try:
        import typst
    except ImportError:
        sentence = "the paper is set by Typst, which is not installed: pip install -e '.[paper]'."
        raise InputError([Problem("", "", sentence)]) from None
    return typst


def said(project: Path, results: Path, jobs: int = 1) -> Said:
    """Collect all that the text of the paper can ask for, as JSON has it.

    Parameters
    ----------
    project, results : Path
        Folders.
    jobs : int
        Processes that draw figures which are missing.

    Raises
    ------
    InputError
        If an experiment file is wrong, or an item of the checklist says nothing.
    """
    report = content(project, results, jobs)
    plans = [load(file, project) for file in experiment_files(project, [])]
    plans = [plan for plan in plans if (results / plan.name / "estimates.csv").is_file()]
    tables = {plan.name: read(results / plan.name / "estimates.csv") for plan in plans}
    return {
        "findings": [{"text": finding.text, "section": finding.section} for finding in report.findings],
        "front": [_front(front, results) for front in report.front],
        "sections": {section.name: _section(section, results) for section in report.sections},
        "estimates": {plan.name: _estimates(plan, tables[plan.name]) for plan in plans},
        "scenarios": {plan.name: plan.experiment.scenario for plan in plans},
        "protocols": [_protocol(name) for name in PROTOCOLS],
        "processes": [{"name": name, "line": _line(cls)} for name, cls in PROCESSES.items()],
        "laws": [{"name": law.exhibit.name, "line": law.exhibit.line} for law in report.laws],
        "systems": [_system(name, project) for name in names(project)],
        "facts": _facts(project, results, plans, tables),
        "stress": [
            {"title": part.title, "items": [_item(item) for item in part.items]}
            for part in stress.checklist(project, results, plans)
        ],
    }


def _front(front: Front, results: Path) -> Said:
    return {
        "title": front.title,
        "note": front.note,
        "section": front.section,
        "table": _table(front.table) if front.table else None,
        "picture": _picture(front.picture, results) if front.picture else None,
    }


def _item(item: stress.Item) -> Said:
    return {"name": item.name, "text": item.text, "table": _table(item.table) if item.table else None}


def _section(section: Section, results: Path) -> Said:
    return {
        "title": section.title,
        "question": section.question,
        "answer": section.answer,
        "given": section.given,
        "runs": section.runs,
        "pictures": [_picture(picture, results) for picture in section.pictures],
        "tables": [_table(table) for table in section.open_tables],
    }


def _picture(picture: Picture, results: Path) -> Said:
    width = _width_pt(results / picture.file)
    return {"file": picture.file, "caption": picture.caption, "width": width}


def _width_pt(figure: Path) -> float:
    """Give the width of an SVG file that matplotlib drew, in points."""
    found = re.search(r'<svg[^>]* width="([\d.]+)pt"', figure.read_text(encoding="utf-8"))
    return float(found[1]) if found else 0.0


def _table(table: Table) -> Said:
    return {"title": table.title, "heads": table.heads, "rows": table.rows}


def _estimates(plan: Plan, table: pd.DataFrame) -> dict[str, Said]:
    """Give every estimate of an experiment, written, by where it is from.

    That is the strategy, the metric, and the factors in which the cell differs from the base:
    ``restart|p_lost``, ``restart|p_lost|crash.law.mean=60``.
    """
    written = {}
    for row in table.to_dict("records"):
        apart = [
            f"{key}={_factor(row[key])}"
            for key in sorted(plan.base)
            if _factor(row[key]) != _factor(plan.base[key])
        ]
        metric = str(row["metric"])
        if metric not in METRICS or isnan(row["estimate"]):
            continue
        found = Number(metric, row["estimate"], row["low"], row["high"], row["exact"])
        written["|".join([str(row["strategy"]), metric, *apart])] = {
            "text": str(found),
            "interval": interval(metric, found.low, found.high),
            "exact": write(metric, found.exact),
            "value": found.value,
        }
    return written


def _factor(value: Factor) -> str:
    """Write a factor as Typst does; one that is not there is empty, from a file and from a plan."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, int | float) else str(value)


def _protocol(name: str) -> Said:
    strategy = Strategy.model_validate({"protocol": name})
    lists = {where: getattr(strategy, where) for where in ("begin", "plain", "action", "end")}
    verbs = {where: [_verb(verb) for verb in verbs] for where, verbs in lists.items()}
    return {"name": name, **verbs}


def _verb(verb: Any) -> str:
    """Write a verb with what of it is not usual."""
    settings = [getattr(verb, key) for key in ("resume", "lane", "holds") if hasattr(verb, key)]
    unusual = [str(value) for value in settings if value not in (None, "next", "progress")]
    if getattr(verb, "delta", False):
        unusual.append("delta")
    return str(verb.verb) + (f" ({', '.join(unusual)})" if unusual else "")


def _system(name: str, project: Path) -> Said:
    system = read_system(name, project)
    return {
        "name": name,
        "title": system["title"],
        "says": system["sources"][0]["says"],
        "read": sorted({entry["read"] for entry in system["sources"]}),
    }


def _line(described: Any) -> str:
    return str(described.__doc__ or "").strip().splitlines()[0]


def _facts(
    project: Path, results: Path, plans: list[Plan], tables: dict[str, pd.DataFrame]
) -> dict[str, str]:
    """Give numbers about the study itself, written, by name."""
    facts = dict(_of_runs(plans, tables) | _against_exact(tables))
    versions = read_json(results / MANIFEST).get("versions", {})
    facts |= {f"version of {name}": version for name, version in versions.items()}
    if (project / MUTANTS).is_file():
        facts["mutants"] = str(len(read_toml(project / MUTANTS, str(MUTANTS))["mutant"]))
    for plan in plans:
        steps = plan.cells[0].scenarios[next(iter(plan.experiment.strategies))].workload.steps
        acting = [str(place) for place, step in enumerate(steps, 1) if step.acts]
        facts[f"steps of {plan.name}"] = str(len(steps))
        facts[f"acting steps of {plan.name}"] = ", ".join(acting)
        if plan.experiment.published:
            facts[f"published n of {plan.name}"] = f"{plan.experiment.published.n:,}"
            apart = read(results / plan.name / "published.csv")["z"].abs().max()
            facts[f"errors apart of {plan.name}"] = number(apart, 2)
    for trial in reality.trials(results):
        facts |= dict(_of_trial(trial))
    return facts


def _of_runs(plans: list[Plan], tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    counted = [table[table["metric"] == "crashes"] for table in tables.values()]
    programs = [unfold(each) for plan in plans for cell in plan.cells for each in cell.scenarios.values()]
    both = sum(not timeline.cannot(program) for program in programs)
    return {
        "experiments": str(len(plans)),
        "cells": f"{sum(len(plan.cells) for plan in plans):,}",
        "runs": f"{sum(int(table['n'].sum()) for table in counted):,}",
        "runs on both engines": str(CHECKED),
        "runs checked": f"{CHECKED * both:,}",
        "seeds": ", ".join(str(seed) for seed in sorted({plan.experiment.seed for plan in plans})),
        "protocols": str(len(PROTOCOLS)),
    }


def _against_exact(tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Say how many intervals have an exact value beside them, and how many of these hold it."""
    beside = held = 0
    for table in tables.values():
        known = table[table["exact"].notna() & (table["high"] > table["low"])]
        slack = 1e-5 * known["exact"].abs()  # six digits are written
        inside = (known["low"] - slack <= known["exact"]) & (known["exact"] <= known["high"] + slack)
        beside, held = beside + len(known), held + int(inside.sum())
    return {"exact beside": f"{beside:,}", "exact held": percent(held / beside if beside else float("nan"))}


def _of_trial(trial: reality.Trial) -> Iterator[tuple[str, str]]:
    name, conditions = trial.folder.name, trial.conditions
    yield f"kills of {name}", f"{trial.compared['kills'].sum():,}"
    yield f"real runs of {name}", f"{conditions['runs'].sum():,}"
    yield f"margin of {name}", f"{100 * trial.facts['margin']:g} %"
    yield f"compared of {name}", str(len(trial.compared))
    yield f"equal of {name}", str(int(trial.compared["verdict"].str.startswith("equal").sum()))
    yield f"rejected of {name}", str(int((trial.compared["rival_verdict"] == "rejected").sum()))
    yield f"machine of {name}", f"{trial.facts['processors']} processors ({trial.facts['processor']})"
    yield f"system of {name}", trial.facts["system"]
    shares = conditions["write_share"].dropna()
    yield f"write shares of {name}", f"{percent(shares.min())} to {percent(shares.max())}"
