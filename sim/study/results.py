"""The tables of experiments in the folder of results, and what of the work kept there they stand on."""

import time
from pathlib import Path

from sim.study.files import HALF, write_csv
from sim.study.identity import code, content, digest
from sim.study.kept import Kept, kept_of
from sim.study.made import KEPT, Made, read, update
from sim.study.running import Job, Study
from sim.study.tabulating import Tables, tabulate
from sim.study.workers import Workers

TABLES = ("estimates", "contrasts", "published")

ABANDONED_S = 3600.0
"""A file that has been half written for so long is nobody's any more."""


def tables_of(job: Job, kept: Kept, workers: Workers) -> Tables:
    """Run an experiment as far as it is not kept; give its tables, without cells that fail."""
    study = Study([job], kept, lambda _: None)
    for parts in (study.pilots, study.missing):
        for _ in study.simulate(parts(), workers, lambda *_: None):
            pass
    return tabulate(job.plan, study.cells(job))


def write_tables(study: Study, job: Job, results: Path, made: Made) -> None:
    """Write the tables of an experiment; a table without rows goes.

    Tables that were made from the same are left as they are.
    """
    plan = job.plan
    experiment = plan.experiment
    source = digest(
        [
            [(cell.factors, chunks) for cell, chunks in study.keys(job)],
            [plan.base, experiment.headline, experiment.pairs(), content(experiment.published)],
            code("sim.study.results"),
        ]
    )
    files = [results / plan.name / f"{name}.csv" for name in TABLES]
    if all(made.fresh(file, source) for file in files):
        return
    tables = tabulate(plan, study.cells(job))
    for name, file in zip(TABLES, files, strict=True):
        table = getattr(tables, name)
        if len(table):
            write_csv(file, table)
        else:
            file.unlink(missing_ok=True)
        made.note(file, source)
    made.save()


def note_used(study: Study, results: Path) -> None:
    """Note which chunks each experiment asks for, so that they are not removed."""
    update(results, _used(results), lambda known: known | study.used())


def remove_unused(results: Path, study: Study, dry: bool) -> tuple[int, int, int]:
    """Remove chunks that no experiment has asked for when it was run last, nor asks for now.

    Parameters
    ----------
    results : Path
        The folder.
    study : Study
        All experiments that there are.
    dry : bool
        Whether to count only.

    Returns
    -------
    (int, int, int)
        Chunks that stay, chunks that go, and bytes that are freed.
    """
    kept = kept_of(results)
    used = read(_used(results))
    wanted = {key for name, now in study.used().items() for key in [*now, *used.get(name, ())]}
    unused = [kept.file(key) for key in kept.keys() - wanted]
    begun = [file for file in kept.folder.glob(f".*{HALF}") if _age_s(file) > ABANDONED_S]
    freed = sum(file.stat().st_size for file in [*unused, *begun])
    if not dry:
        for file in [*unused, *begun]:
            file.unlink(missing_ok=True)
    return len(kept.keys() & wanted), len(unused), freed


def _used(results: Path) -> Path:
    return results / KEPT / "used.json"


def _age_s(file: Path) -> float:
    return time.time() - file.stat().st_mtime
