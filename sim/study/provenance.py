"""Where results come from: a manifest that belongs to them, and a record of the run that made them."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from re import match
from typing import Any

from sim.study.chunks import program_identity
from sim.study.config import named
from sim.study.identity import code, content, digest, versions
from sim.study.made import read, update
from sim.study.running import Job, Record, Study
from sim.study.workers import Workers

MANIFEST = "manifest.json"
RECORD = "run.json"

Section = dict[str, Any]


def program() -> Section:
    """Give what of the program determines outcomes: digests of the syntax of modules, and versions."""
    return {"modules": code("sim.study.chunks"), "versions": versions()}


def section(study: Study, job: Job) -> Section:
    """Say what the tables of an experiment come from; the same wherever they are made."""
    plan = job.plan
    cells = zip(plan.cells, job.identities, study.sizes(job), strict=True)
    failed = study.failures(job)
    missing = [failure.factors for failure in failed]
    return {
        "file": digest(content(plan.experiment)),
        "program": program_identity(),
        "seed": job.seed,
        "engine": plan.experiment.engine,
        "cells": [
            {"cell": cell.factors, "scenarios": identity, "n": 0 if cell.factors in missing else n}
            for cell, identity, n in cells
        ],
        "failed": [
            {
                "cell": each.factors,
                "strategy": each.strategy,
                "replication": each.replication,
                "why": each.why,
            }
            for each in failed
        ],
    }


def write_manifest(results: Path, experiment: str, new: Section) -> None:
    """Write into the manifest of all results what those of an experiment come from.

    Parameters
    ----------
    results : Path
        The folder; what the manifest tells of experiments that have no tables in it goes.
    experiment : str
        Its name.
    new : dict
        As `section` gives it.
    """

    def change(known: dict[str, Any]) -> dict[str, Any]:
        told = known.get("experiments", {}) | {experiment: new}
        experiments = {name: told[name] for name in sorted(told) if (results / name).is_dir()}
        used = {each["program"] for each in experiments.values()}
        programs = {**known.get("programs", {}), program_identity(): program()}
        return {
            "versions": _installed(),
            "programs": {name: programs[name] for name in sorted(used) if name in programs},
            "experiments": experiments,
        }

    update(results, results / MANIFEST, change)


def failures(results: Path) -> dict[str, list[str]]:
    """Give the cells that failed when the tables were made, by experiment, in words."""
    found = {}
    for name, section in read(results / MANIFEST).get("experiments", {}).items():
        if section["failed"]:
            found[name] = [_in_words(name, one) for one in section["failed"]]
    return found


def sizes(results: Path, experiment: str) -> list[int]:
    """Give how many runs of every strategy each cell of an experiment has; 0 for one that failed."""
    sections = read(results / MANIFEST).get("experiments", {})
    return [cell["n"] for cell in sections[experiment]["cells"]] if experiment in sections else []


def _in_words(name: str, one: Section) -> str:
    return f"{named(name, one['cell'])}, {one['strategy']}, replication {one['replication']}: {one['why']}"


def _installed() -> dict[str, str]:
    """Give the versions of this program and of all that it asks for, as they are installed (by the lock)."""
    asked = [found for line in metadata.requires("savegap") or () if (found := match(r"[\w.-]+", line))]
    wanted = [each[0] for each in asked if "extra ==" not in each.string]
    return {name: metadata.version(name) for name in ["savegap", *sorted(wanted)]}


def write_record(
    results: Path, home: Path, records: dict[str, Record], workers: Workers, began: datetime, finished: bool
) -> None:
    """Write down how results came to be here: machine, times, commit, and what each experiment took.

    Parameters
    ----------
    results, home : Path
        Folders of the results and of the project.
    records : dict of str to Record
        By experiment.
    workers : Workers
    began : datetime
    finished : bool
        Whether it came to its end.
    """

    def change(known: dict[str, Any]) -> dict[str, Any]:
        paces = {name: one.seconds / one.runs for name, one in records.items() if one.runs}
        return {
            "began": began.isoformat(timespec="seconds"),
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "finished": finished,
            "machine": {
                "system": platform.platform(),
                "processor": platform.machine(),
                "cores": os.cpu_count(),
                "python": platform.python_version(),
            },
            "workers": {"jobs": workers.jobs, "scheduler": workers.scheduler},
            "commit": _commit(home),
            "experiments": {
                name: {
                    "chunks_kept": one.kept,
                    "chunks_simulated": one.simulated,
                    "runs_simulated": one.runs,
                    "process_s": round(one.seconds, 3),
                    "failed": len(one.failures),
                }
                for name, one in records.items()
            },
            "seconds_per_run": known.get("seconds_per_run", {}) | paces,
        }

    update(results, results / RECORD, change)


def _commit(home: Path) -> str | None:
    """Name the commit of the project, and say if something was changed since; None if it has none."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(home), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        changed = " and changes" if git("status", "--porcelain") else ""
        return git("rev-parse", "HEAD") + changed
    except (OSError, subprocess.SubprocessError):
        return None
