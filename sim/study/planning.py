"""What a run would do, why, and about how long it would take."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.program import unfold
from sim.simulation import choose
from sim.study.chunks import program_identity
from sim.study.errors import counted
from sim.study.made import read
from sim.study.provenance import MANIFEST, RECORD, program
from sim.study.running import Job, Part, Study

GUESSED_S = {"timeline": 6e-6, "events": 250e-6}
"""About how long a run takes a process, by engine; used until an experiment has been measured here."""


def foresee(study: Study, results: Path, processes: int) -> Iterator[str]:
    """Say of each job what is missing and why, and how long it would take.

    Parameters
    ----------
    study : Study
    results : Path
        Folder of the results, whose manifest tells what they were made from.
    processes : int
        How many would be at work.
    """
    manifest, paces = read(results / MANIFEST), read(results / RECORD).get("seconds_per_run", {})
    pilots, parts = study.pilots(), study.missing()
    total = guessed = 0.0
    width = max((len(job.name) for job in study.jobs), default=0)
    for job in study.jobs:
        name = job.name
        todo = [part for part in [*pilots, *parts] if part.job is job]
        unknown = sum(size is None for size in study.sizes(job))
        if not todo:
            yield f"{name:{width}}  nothing to simulate ({counted(study.records[name].kept, 'chunk')} kept)"
            continue
        runs = sum(part.chunk.runs for part in todo)
        if unknown:  # each cell that has no pilot yet may ask for all that it may have
            runs += unknown * job.most * len(job.plan.experiment.strategies)
        seconds = runs * paces.get(name, _guess(job)) / processes
        total += seconds
        guessed += 0 if name in paces else seconds
        cells = counted(unknown, "cell")
        most = f", and at most {job.most:,} runs of each strategy in {cells}" if unknown else ""
        what = f"{counted(len(todo), 'chunk')}{most}, {'at most ' if unknown else ''}about {_time(seconds)}"
        yield f"{name:{width}}  {what}: {'; '.join(_reasons(job, study, manifest, todo))}"
    how = " (in part guessed: not all was run on this machine before)" if guessed else ""
    if total:
        at_work = f"with {counted(processes, 'worker')}{how}"
        yield f"In all about {_time(total)} {at_work}; then tables, figures and report."
    else:
        yield "In all nothing to simulate; tables, figures and report follow where something has changed."


def _reasons(job: Job, study: Study, manifest: dict[str, Any], todo: list[Part]) -> list[str]:
    """Say why chunks of a job are missing."""
    told = manifest.get("experiments", {}).get(job.name)
    if told is None:
        return ["it was not run yet"]
    if told["program"] != program_identity():
        return [_changed(manifest.get("programs", {}).get(told["program"]))]
    if told["seed"] != job.seed:
        return [f"the seed is {job.seed} instead of {told['seed']}"]
    if told["engine"] != job.plan.experiment.engine:
        return [f"the engine is {job.plan.experiment.engine} instead of {told['engine']}"]
    before = {str(cell["cell"]): cell for cell in told["cells"]}
    counts = dict.fromkeys(
        ("new", "of another scenario", "with more runs", "of which chunks are not kept here"), 0
    )
    for number in sorted({part.cell for part in todo}):
        known = before.get(str(job.plan.cells[number].factors))
        size = study.sizes(job)[number]
        if known is None:
            counts["new"] += 1
        elif known["scenarios"] != job.identities[number]:
            counts["of another scenario"] += 1
        elif size is not None and size > known["n"]:
            counts["with more runs"] += 1
        else:
            counts["of which chunks are not kept here"] += 1
    return [f"{counted(count, 'cell')} {what}" for what, count in counts.items() if count]


def _changed(before: dict[str, Any] | None) -> str:
    """Say what of the program has changed."""
    if before is None:
        return "the program has changed"
    now = program()
    names = [
        name
        for kind in ("modules", "versions")
        for name in sorted({*before[kind], *now[kind]})
        if before[kind].get(name) != now[kind].get(name)
    ]
    return f"the program has changed: {', '.join(names)}"


def _guess(job: Job) -> float:
    """About how long a run of a job takes, in seconds."""
    scenarios = job.plan.cells[0].scenarios.values()
    engines = [choose(job.plan.experiment.engine, unfold(scenario)) for scenario in scenarios]
    return sum(GUESSED_S[engine] for engine in engines) / len(engines)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
