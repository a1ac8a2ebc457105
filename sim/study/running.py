"""Run experiments: chunks that are not kept yet are simulated, and tables made of all that they ask for.

Blocks are of fixed size, keyed by seed and number, and added up in their order, so the number of workers
changes no digit, and neither does where a study was stopped before. A block is summed up where it was
simulated, so memory does not grow with the number of runs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add

from sim.estimate import estimate
from sim.simulation import blocks
from sim.study.chunks import Chunk, program_identity, scenarios_identity
from sim.study.config import Cell, Factor, Plan, named
from sim.study.kept import Kept, encoded
from sim.study.precision import PILOT, PILOT_RUNS
from sim.study.workers import Done, Workers, keep
from sim.sums import Sums


@dataclass(frozen=True)
class Failure:
    """A cell that could not be simulated.

    Attributes
    ----------
    experiment : str
    factors : dict of str to value
        The cell.
    strategy : str
    replication : int
    why : str
    """

    experiment: str
    factors: dict[str, Factor]
    strategy: str
    replication: int
    why: str


@dataclass(frozen=True)
class Job:
    """An experiment, and how much of it shall be run.

    Attributes
    ----------
    plan : Plan
    seed : int
    asked : int or None
        Runs of each strategy in each cell; as many as the experiment asks for or needs if None.
    """

    plan: Plan
    seed: int
    asked: int | None = None

    @cached_property
    def identities(self) -> list[str]:
        """Digests of what the cells simulate."""
        return [scenarios_identity(cell.scenarios) for cell in self.plan.cells]

    @property
    def name(self) -> str:
        """The experiment's."""
        return self.plan.name

    @property
    def most(self) -> int:
        """Runs of each strategy that a cell may have."""
        return self.asked or self.plan.experiment.replications

    @property
    def pilots(self) -> list[Chunk]:
        """Chunks that tell how many runs the cells need, one a cell; none where that is known."""
        if self.asked or self.plan.experiment.precision is None or self.most <= 2 * PILOT_RUNS:
            return []  # a pilot would spare nothing
        return [self._chunk(cell, PILOT, PILOT_RUNS) for cell in range(len(self.plan.cells))]

    def sizes(self, kept: Kept) -> list[int | None]:
        """Give the runs of each strategy by cell; None where the pilot that tells is not kept."""
        pilots = self.pilots
        if not pilots:
            return [self.most] * len(self.plan.cells)
        return [self._size(kept.read(pilot.key)) for pilot in pilots]

    def _size(self, pilot: Sums | None) -> int | None:
        if pilot is None:
            return None
        experiment = self.plan.experiment
        assert experiment.precision is not None
        found = [estimate(pilot, m, name) for name in experiment.strategies for m in experiment.headline]
        return experiment.precision.runs(found, self.most)

    def chunks(self, cell: int, size: int) -> list[Chunk]:
        """Give the chunks of a cell with so many runs of each strategy."""
        return [self._chunk(cell, *block) for block in blocks(size)]

    def _chunk(self, cell: int, block: int, size: int) -> Chunk:
        scenarios, identity = self.plan.cells[cell].scenarios, self.identities[cell]
        engine = self.plan.experiment.engine
        return Chunk(scenarios, identity, program_identity(), engine, self.seed, block, size)


@dataclass(frozen=True)
class Part:
    """A chunk, and for which cell of which job it is."""

    job: Job
    cell: int
    chunk: Chunk


@dataclass
class Record:
    """What a job took.

    Attributes
    ----------
    kept, simulated : int
        Chunks that had been kept, and that were simulated.
    runs : int
        Simulated, of all strategies together.
    seconds : float
        That these took, of one process.
    failures : list of Failure
    """

    kept: int = 0
    simulated: int = 0
    runs: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)


Advance = Callable[[int, int], None]
"""Told (chunks, runs) that have been added."""


class Study:
    """Jobs on their way to tables.

    Parameters
    ----------
    jobs : list of Job
    kept : Kept
    say : callable
        Told a sentence of what is worth knowing.

    Attributes
    ----------
    records : dict of str to Record
        By the name of the experiment.
    """

    def __init__(self, jobs: list[Job], kept: Kept, say: Callable[[str], None]) -> None:
        self.jobs = jobs
        self.kept = kept
        self.say = say
        self.records = {job.name: Record() for job in jobs}
        self._sizes: dict[str, list[int | None]] = {}

    def pilots(self) -> list[Part]:
        """Give the pilots that are missing."""
        parts = [Part(job, cell, chunk) for job in self.jobs for cell, chunk in enumerate(job.pilots)]
        return self._missing(parts)

    def sizes(self, job: Job) -> list[int | None]:
        """Give the runs of each strategy by cell, once the pilots are made; None where there is none."""
        name = job.name
        if name not in self._sizes:
            self._sizes[name] = job.sizes(self.kept)
        return self._sizes[name]

    def parts(self, job: Job) -> list[Part]:
        """Give all parts of a job, once the pilots are made."""
        return [
            Part(job, cell, chunk)
            for cell, size in enumerate(self.sizes(job))
            for chunk in job.chunks(cell, size or 0)
        ]

    def missing(self) -> list[Part]:
        """Give the parts that are missing, now that the pilots are made."""
        return self._missing([part for job in self.jobs for part in self.parts(job)])

    def _missing(self, parts: list[Part]) -> list[Part]:
        missing, damaged = self.kept.missing_and_damaged(part.chunk for part in parts)
        for key in damaged:
            part = next(part for part in parts if part.chunk.key == key)
            cell = named(part.job.name, part.job.plan.cells[part.cell].factors)
            self.say(f"a chunk of {cell} is damaged ({self.kept.file(key)}); it is simulated again.")
        absent = {*missing, *damaged}
        for part in parts:
            self.records[part.job.name].kept += part.chunk.key not in absent
        return [part for part in parts if part.chunk.key in absent]

    def simulate(self, parts: list[Part], workers: Workers, advance: Advance) -> Iterator[Job]:
        """Simulate parts; give every job of which all parts are done, those first that have none."""
        waiting: dict[str, list[Part]] = {}
        for part in parts:
            waiting.setdefault(part.chunk.key, []).append(part)
        left = {id(job): sum(part.job is job for part in parts) for job in self.jobs}
        yield from (job for job in self.jobs if not left[id(job)])
        chunks = [same[0].chunk for same in waiting.values()]
        for done in workers.simulate(chunks, self.kept) if chunks else ():
            chunk = chunks[done.number]
            for part in waiting[chunk.key]:
                self._note(part, done)
                left[id(part.job)] -= 1
                advance(1, chunk.runs)
                if not left[id(part.job)]:
                    yield part.job

    def _note(self, part: Part, done: Done) -> None:
        record = self.records[part.job.name]
        if done.failure is not None:
            failed, cell = done.failure, part.job.plan.cells[part.cell]
            failure = Failure(part.job.name, cell.factors, failed.strategy, failed.replication, failed.why)
            record.failures.append(failure)
        record.simulated += 1
        record.runs += part.chunk.runs
        record.seconds += done.seconds

    def failures(self, job: Job) -> list[Failure]:
        """Give the cells of a job that failed, each with the first replication that did."""
        found: dict[str, Failure] = {}
        for failure in sorted(self.records[job.name].failures, key=lambda failure: failure.replication):
            found.setdefault(str(failure.factors), failure)
        return list(found.values())

    def _whole(self, job: Job) -> Iterator[tuple[Cell, list[Chunk]]]:
        failed = [failure.factors for failure in self.failures(job)]
        for number, (cell, size) in enumerate(zip(job.plan.cells, self.sizes(job), strict=True)):
            if size is not None and cell.factors not in failed:
                yield cell, job.chunks(number, size)

    def cells(self, job: Job) -> Iterator[tuple[Cell, Sums]]:
        """Give the cells of a job that did not fail, with the sums over their runs."""
        return ((cell, reduce(add, map(self._sums, chunks))) for cell, chunks in self._whole(job))

    def keys(self, job: Job) -> list[tuple[Cell, list[str]]]:
        """Give the cells of a job that did not fail, with the keys of their chunks."""
        return [(cell, [chunk.key for chunk in chunks]) for cell, chunks in self._whole(job)]

    def used(self) -> dict[str, list[str]]:
        """Give the keys of all chunks that the jobs ask for, pilots too, by the name of the experiment."""
        return {
            job.name: sorted({part.chunk.key for part in self.parts(job)} | {c.key for c in job.pilots})
            for job in self.jobs
        }

    def _sums(self, chunk: Chunk) -> Sums:
        sums = self.kept.read(chunk.key)
        if sums is None:  # somebody has removed it in the meantime
            sums = chunk.simulate()
            keep(self.kept, chunk.key, encoded(sums))
        return sums
