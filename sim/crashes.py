"""Crash processes: when the worker dies, in simulated time.

A process is one source of crashes or several. A source turns a block of uniform numbers into rows of crash
times, one row a crash, one column a replication, on a clock: the exposure of an attempt (the worker's own
time, weighted by phase), the exposure of all attempts, or the wall, where a crash that finds no worker does
nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from math import nan
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from sim.laws import AnyLaw, Equilibrium, Floats, Scaled, file_of, read_times
from sim.ticks import NEVER, PER_SECOND, Ticks, to_tick, to_ticks
from sim.validation import (
    Key,
    Mistake,
    Model,
    NonNegative,
    Positive,
    Probability,
    Weight,
    allowed_instead,
    problem,
    problems,
)

if TYPE_CHECKING:
    from sim.schedule import Marks
    from sim.streams import Streams


class Exposure(Model):
    """How much likelier a second a crash is in a phase than in one of weight 1."""

    load: Weight = 1.0
    work: Weight = 1.0
    tool: Weight = 1.0
    prepare: Weight = 1.0
    request: Weight = 1.0
    response: Weight = 1.0
    write: Weight = 1.0
    ack: Weight = 1.0
    query: Weight = 1.0
    drain: Weight = 1.0
    steps: dict[str, Weight] = Field(
        default={},
        description="by the name of a step: how much likelier in it than elsewhere, in every phase",
    )

    def weight(self, phase: str, step: str = "") -> float:
        """Weight of a phase by its name and that of its step."""
        part = "response" if phase == "exchange" else phase
        return float(getattr(self, part, 1.0)) * self.steps.get(step, 1.0)


Clock = Literal["attempt", "worker", "wall"]


@dataclass(frozen=True)
class Source:
    """One source of crashes of a block of replications.

    Attributes
    ----------
    rows : iterator of ndarray of int64, shape (replications,)
        In ticks; never ends. On the clock of the attempt, row k is the exposure at which attempt k dies; of
        the worker, exposure from crash k - 1 of this source to crash k; of the wall, the instant of crash k.
    clock : str
        ``attempt``, ``worker`` or ``wall``.
    exposure : Exposure
        How much a second in a phase counts; on the wall clock as much as any other.
    cause : str
        Name of the source.
    grace : int
        How long before it dies the worker is told to stop, which it does at the end of a step. Ticks; on the
        wall clock only.
    """

    rows: Iterator[Ticks]
    clock: Clock = "attempt"
    exposure: Exposure = field(default_factory=Exposure)
    cause: str = ""
    grace: int = 0


@dataclass(frozen=True)
class Plan:
    """The crashes of a block of replications: the first that comes strikes, and the others go on."""

    sources: tuple[Source, ...]


Within = Floats | float


class CrashProcess(Model, ABC):
    """Rule that yields crash times."""

    name: ClassVar[str]
    repeats: ClassVar[bool] = True
    """Whether a run can crash more than once."""
    needs_marks: ClassVar[bool] = False
    """Whether it must know what a run passes without a crash."""

    exposure: Exposure = Exposure()
    cause: str = Field(default="", description="name of the cause; that of the process if absent")
    title: str = ""
    source: str = Field(default="", description="where the figures come from")

    @property
    def rate_per_s(self) -> float:
        """Crashes a second of exposure in the long run; NaN where there is no such rate."""
        return nan

    @abstractmethod
    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:
        """Draw the crashes of a block.

        Parameters
        ----------
        draws : Streams
            The block's uniform numbers, by key.
        marks : Marks or None
            What the block's runs pass without a crash; needed if the process `needs_marks`.
        within : float or ndarray of float, shape (replications,)
            The first crash is drawn from this least share of its law; 1 leaves it as it is. It is heeded by
            the processes of which `first_before` knows that law.
        """

    def first_before(self, draws: "Streams", marks: "Marks | None", exposure: Ticks) -> Floats | None:
        """Give the probability that the first crash comes before a worker has been exposed so long.

        Parameters
        ----------
        draws : Streams
            The block's uniform numbers, by key.
        marks : Marks
            What the block's runs pass without a crash.
        exposure : ndarray of int64, shape (..., replications)
            In ticks.

        Returns
        -------
        ndarray of float, shape (..., replications), or None
            None for a process that draws its first crash in another way than from one such law.
        """
        return None

    def exposures(self) -> Iterator[tuple[Key, Exposure]]:
        """Give the exposure of each source, and where it stands."""
        yield (), self.exposure

    def matched(self, run_s: float) -> "CrashProcess":
        """Scale the laws that shall match something in a run, which takes so long on average, in s."""
        return self

    def one(self, rows: Iterator[Ticks], clock: Clock = "attempt") -> Plan:
        """Make a plan of one source with this process's exposure and cause."""
        return Plan((Source(rows, clock, self.exposure, self.cause or self.name),))

    def refuse_exposure(self, why: str) -> None:
        """Say that this process has no exposure to weigh."""
        if self.exposure != Exposure():
            raise problem(f"{why}, so phases cannot be weighed.", ("exposure",), self.exposure)


PROCESSES: dict[str, type[CrashProcess]] = {}
"""The crash processes that a file can name."""

SomeProcess = TypeVar("SomeProcess", bound=type[CrashProcess])


def process(name: str) -> Callable[[SomeProcess], SomeProcess]:
    """Register a crash process under the name that files use."""

    def register(cls: SomeProcess) -> SomeProcess:
        cls.name = name
        PROCESSES[name] = cls
        return cls

    return register


def _then_never(*rows: Ticks) -> Iterator[Ticks]:
    """Crashes as given, and none after them."""
    yield from rows
    shape = rows[0].shape
    while True:
        yield np.full(shape, NEVER)


@process("none")
class NoCrash(CrashProcess):
    """No crash at all."""

    repeats = False

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        return self.one(_then_never(np.full(draws.size, NEVER)))

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure."""
        self.refuse_exposure("there is no crash")


@process("at")
class At(CrashProcess):
    """Crashes at given instants of the run; one that finds no worker does nothing."""

    times: tuple[NonNegative, ...] = Field(min_length=1, description="instants since the begin of the run, s")

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        instants = to_ticks(sorted(self.times))
        return self.one(_then_never(*(np.full(draws.size, instant) for instant in instants)), "wall")

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure."""
        self.refuse_exposure("the instants are fixed")


@process("uniform_time")
class UniformTime(CrashProcess):
    """One crash, uniform over the strategy's own crash-free run (in exposure)."""

    repeats = False
    needs_marks = True

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        assert marks is not None, "uniform over what is not known"
        instant = draws.uniforms("crash", "instant") * within * marks.exposure
        return self.one(_then_never(instant.astype(np.int64)))

    def first_before(  # noqa: D102
        self, draws: "Streams", marks: "Marks | None", exposure: Ticks
    ) -> Floats:
        assert marks is not None, "uniform over what is not known"
        return exposure / np.maximum(marks.exposure, 1)


@process("uniform_step")
class UniformStep(CrashProcess):
    """One crash at a uniformly chosen step: the article's rule.

    On a step that acts, a share of the crashes lands between result and save, by assumption.
    """

    repeats = False
    needs_marks = True

    gap_share: Probability = Field(
        description="share of the crashes on a step that acts that land in [done, durable)"
    )

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        assert marks is not None, "a step of what is not known"
        steps, replications = marks.done.shape
        step = (draws.uniforms("crash", "step") * steps).astype(np.intp)
        struck = (step, np.arange(replications))
        done = marks.done[struck]
        acts = marks.acts[struck]
        durable = marks.durable[struck]
        saved_after = (durable > done) & (durable < NEVER)
        in_gap = acts & (draws.uniforms("crash", "gap") < self.gap_share)
        begin = np.where(in_gap, done, marks.start[struck])
        end = np.where(
            in_gap,
            np.where(saved_after, durable, done),
            np.where(acts, marks.sent[struck], done),
        )
        later = (draws.uniforms("crash", "within") * (end - begin)).astype(np.int64)
        return self.one(_then_never(begin + later), "wall")

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure."""
        self.refuse_exposure("the step is chosen, not the instant")


class Match(Model):
    """What a law is scaled to, so that a heavier tail is not mixed up with more crashes."""

    by: Literal["mtbf", "p_crash"] = Field(
        description="mtbf: mean time between crashes, s; p_crash: chance of a crash in the mean time of a "
        "run without crashes and saves"
    )
    value: Positive = Field(description="seconds, or a chance below 1")

    def model_post_init(self, _: Any) -> None:
        """Refuse a chance that is none."""
        if self.by == "p_crash" and self.value >= 1:
            raise problem("must be below 1.", ("value",), self.value)


@process("renewal")
class Renewal(CrashProcess):
    """Lifetimes of a law, one after the other, as often as they come.

    ``process``: the clock is the worker's, new in each attempt. ``host``: the machine's clock goes on
    through restarts. It stands still in downtime unless ``ages_in_downtime``, and a crash renews it unless
    ``renew = "never"`` (minimal repair: the machine is as old after a crash as before).
    """

    law: AnyLaw = Field(description="law of the lifetime")
    clock: Literal["process", "host"] = "process"
    renew: Literal["crash", "never"] = "crash"
    start: Literal["fresh", "equilibrium"] | NonNegative = Field(
        default="fresh",
        description="age of the first lifetime when the run begins, s: fresh is 0, equilibrium that of a "
        "worker or host met at a random time",
    )
    ages_in_downtime: bool = Field(default=False, strict=True)
    match: Match | None = Field(default=None, description="what the law is scaled to")

    def matched(self, run_s: float) -> "Renewal":  # noqa: D102
        if self.match is None:
            return self
        wanted = self.match.value if self.match.by == "mtbf" else run_s
        law = Scaled(of=self.law, by=wanted / self._matching_s(self.match))
        return self.model_copy(update={"law": law, "match": None})

    def _matching_s(self, match: Match) -> float:
        """What of the law is scaled: its mean, or the time within which it crashes with the chance. s."""
        if match.by == "mtbf":
            return self.law.mean_s
        first = Equilibrium(of=self.law) if self.start == "equilibrium" else self.law
        return float(first.quantile(match.value))

    @property
    def rate_per_s(self) -> float:  # noqa: D102
        return 1 / self.law.mean_s if self.law.mean_s and self.renew == "crash" else nan

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        lives = self._lives(draws, within)
        if self.ages_in_downtime:
            return self.one(self._instants(lives, draws.size), "wall")
        return self.one(lives, "worker" if self.clock == "host" else "attempt")

    def first_before(  # noqa: D102
        self, draws: "Streams", marks: "Marks | None", exposure: Ticks
    ) -> Floats:
        # A time is rounded to a tick: before tick k is what lies below k - 1/2.
        time, age = np.maximum(exposure - 0.5, 0) / PER_SECOND, self._age(draws)
        return -np.expm1(self.law.cumulative_hazard(age) - self.law.cumulative_hazard(age + time))

    def _age(self, draws: "Streams") -> Floats:
        """Age of the first lifetime when the run begins, s."""
        if self.start == "equilibrium":
            # Of a renewal process met at a random time, age and residual life have the same law.
            return Equilibrium(of=self.law).quantile(draws.uniforms("crash", "age"))
        return np.full(draws.size, 0.0 if self.start == "fresh" else self.start)

    def _lives(self, draws: "Streams", within: Within) -> Iterator[Ticks]:
        """Exposures from one crash to the next.

        The residual life at age a is H⁻¹(H(a) + X) − a with X ~ Exp(1); drawing a fresh life instead
        is the commonest error of such simulators.
        """
        drawn = (draws.uniforms("crash", k) * (1.0 if k else within) for k in count())
        age = self._age(draws)
        passed, before = self.law.cumulative_hazard(age), to_ticks(age)
        if self.renew == "crash":
            if self.start != "fresh":
                passed = passed - np.log1p(-next(drawn))
                yield np.maximum(to_ticks(self.law.inverse_hazard(passed)) - before, 0)
            for uniforms in drawn:
                yield to_ticks(self.law.quantile(uniforms))
        for uniforms in drawn:
            passed = passed - np.log1p(-uniforms)
            instant = to_ticks(self.law.inverse_hazard(passed))
            yield instant - before
            before = instant

    @staticmethod
    def _instants(lives: Iterator[Ticks], replications: int) -> Iterator[Ticks]:
        now = np.zeros(replications, np.int64)
        for life in lives:
            now = np.minimum(now + life, NEVER)
            yield now

    def model_post_init(self, _: Any) -> None:
        """Refuse what means nothing."""
        if self.clock == "process" and (self.renew == "never" or self.ages_in_downtime):
            wrong = "renew" if self.renew == "never" else "ages_in_downtime"
            raise problem(
                'needs clock = "host": a worker\'s own clock begins anew with each attempt.',
                (wrong,),
            )
        if self.renew == "never" and np.isfinite(self.law.inverse_hazard(np.inf)):
            raise problem(
                "is bounded: a host that is never renewed outlives it and then dies at once, ever after.",
                ("law",),
            )
        if self.start == "equilibrium" and not 0 < self.law.mean_s < np.inf:
            raise problem("has no mean above 0, so there is no equilibrium.", ("law",))
        if not isinstance(self.start, str) and not np.isfinite(self.law.cumulative_hazard(self.start)):
            raise problem("is an age that no lifetime of the law reaches.", ("start",), self.start)
        if self.match and not isinstance(self.start, str):
            raise problem('goes with start = "fresh" or "equilibrium", not an age.', ("match",))
        if self.match and not 0 < self._matching_s(self.match) < np.inf:
            raise problem("has no finite time above 0 that could be scaled to match.", ("law",))
        if self.ages_in_downtime and not self.law.mean_s > 0:
            raise problem("must have a mean above 0 on the wall clock.", ("law",))
        if self.ages_in_downtime:
            self.refuse_exposure("a host that ages in downtime runs on the wall clock")


@process("periodic")
class Periodic(CrashProcess):
    """A stop every so often on the wall clock, whatever happened before: a deploy, a platform's daily cycle.

    With a grace time the worker is told to stop so long before it is killed: it stops at the end of the step
    at work if that comes in time, and loses nothing of it.
    """

    period: Positive = Field(description="time between two stops, s")
    jitter: NonNegative = Field(default=0.0, description="each comes later by up to so much, s")
    first: NonNegative | None = Field(
        default=None, description="when the first comes, s; if absent, anywhere in a period"
    )
    grace: NonNegative = Field(default=0.0, description="from being told to stop to being killed, s")

    @property
    def rate_per_s(self) -> float:  # noqa: D102
        return 1 / self.period

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        plan = self.one(self._instants(draws), "wall")
        return Plan((replace(plan.sources[0], grace=to_tick(self.grace)),))

    def _instants(self, draws: "Streams") -> Iterator[Ticks]:
        first = draws.uniforms("crash", "first") * self.period if self.first is None else self.first
        for k in count():
            late = draws.uniforms("crash", k) * self.jitter
            yield to_ticks(first + k * self.period + late)

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure, and stops out of order."""
        self.refuse_exposure("stops come on the wall clock")
        if self.jitter > self.period:
            raise problem(f"must be at most the period ({self.period:g}).", ("jitter",), self.jitter)


@process("schedule")
class Schedule(CrashProcess):
    """Crashes at the instants of a file, such as last month's incidents, on the wall clock."""

    file: str = Field(min_length=1, description="CSV file in experiments/ with a column seconds")
    length: Positive | None = Field(
        default=None, description="length of the schedule, s; to its last crash if absent"
    )
    start: Literal["begin", "random"] = Field(
        default="begin",
        description="where in the schedule a run begins: at its begin, or anywhere, and then it goes round",
    )
    times: tuple[NonNegative, ...] = Field(default=(), description="filled in from the file")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("file"), str):
            return data
        if "times" in data:
            sentence = 'are read from the file; for times of your own: process = "at".'
            raise problem(sentence, ("times",), data["times"])
        times, _ = read_times(file_of(data["file"]))
        return data | {"times": tuple(sorted(times))}

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        return self.one(self._instants(draws), "wall")

    def _instants(self, draws: "Streams") -> Iterator[Ticks]:
        times = np.array(self.times)
        if self.start == "begin":
            yield from _then_never(*(np.full(draws.size, instant) for instant in to_ticks(times)))
        length = self.length or self.times[-1]
        begin = draws.uniforms("crash", "begin") * length
        passed = np.searchsorted(times, begin)
        for k in count():
            rounds, place = np.divmod(passed + k, len(times))
            yield to_ticks(times[place] + rounds * length - begin)

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure, an empty file, and crashes beyond the end."""
        self.refuse_exposure("the instants are fixed")
        if not self.times:
            raise problem("has no times.", ("file",), self.file)
        if self.length is not None and self.length < self.times[-1]:
            raise problem(f"must be at least the last time ({self.times[-1]:g}).", ("length",), self.length)
        if self.start == "random" and not (self.length or self.times[-1]) > 0:
            raise problem("must have a time above 0 to begin anywhere.", ("file",), self.file)


@process("bursts")
class Bursts(CrashProcess):
    """Calm and storm in turn, on the wall clock: in each, crashes at a constant rate (a two-state MMPP).

    Neither restarts nor downtime end a storm. It begins calm or stormy as often as it is so in the long run.
    """

    calm_mean: Positive = Field(description="mean time between crashes in the calm, s")
    storm_mean: Positive = Field(description="mean time between crashes in a storm, s")
    calm_lasts: Positive = Field(description="mean length of a calm, s")
    storm_lasts: Positive = Field(description="mean length of a storm, s")

    @property
    def rate_per_s(self) -> float:  # noqa: D102
        calm, storm = self.calm_lasts, self.storm_lasts
        return (calm / self.calm_mean + storm / self.storm_mean) / (calm + storm)

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        return self.one(self._instants(draws), "wall")

    def _instants(self, draws: "Streams") -> Iterator[Ticks]:
        """Crash after crash; each event of a run is a crash or a change of the weather."""
        crash = 1 / np.array([self.calm_mean, self.storm_mean])
        either = crash + 1 / np.array([self.calm_lasts, self.storm_lasts])
        stormy = self.storm_lasts / (self.calm_lasts + self.storm_lasts)
        storm = (draws.uniforms("crash", "begins stormy") < stormy).astype(np.intp)
        now, found = np.zeros(draws.size), np.zeros(draws.size, np.intp)
        instants = np.empty((0, draws.size), np.int64)
        events = count()
        for k in count():
            while found.min() <= k:
                event = next(events)
                now = now - np.log1p(-draws.uniforms("crash", "event", event)) / either[storm]
                crashes = draws.uniforms("crash", "kind", event) < (crash / either)[storm]
                if found.max() == len(instants):
                    instants = np.vstack([instants, np.full((len(instants) + 1, draws.size), NEVER)])
                struck = np.flatnonzero(crashes)
                instants[found[struck], struck] = to_ticks(now[struck])
                found[struck] += 1
                storm = np.where(crashes, storm, 1 - storm)
            yield instants[k]

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure."""
        self.refuse_exposure("the weather is that of the wall clock")


@process("any_of")
class AnyOf(CrashProcess):
    """Several sources of crashes: the first that comes strikes, and the others go on as if nothing happened.

    A host that was not struck keeps its age, since only the source that fired is renewed.
    """

    of: tuple["AnyCrash", ...] = Field(min_length=2, description="the sources, each a crash process")

    @property
    def rate_per_s(self) -> float:  # noqa: D102
        return sum(source.rate_per_s for source in self.of)

    def plan(self, draws: "Streams", marks: "Marks | None", within: Within = 1.0) -> Plan:  # noqa: D102
        plans = (crash.plan(draws.under(f"source {k}"), marks) for k, crash in enumerate(self.of))
        return Plan(
            tuple(
                replace(source, cause=name)
                for plan, name in zip(plans, self.causes, strict=True)
                for source in plan.sources
            )
        )

    def matched(self, run_s: float) -> "AnyOf":  # noqa: D102
        return self.model_copy(update={"of": tuple(crash.matched(run_s) for crash in self.of)})

    def exposures(self) -> Iterator[tuple[Key, Exposure]]:  # noqa: D102
        for index, crash in enumerate(self.of):
            yield ("of", index), crash.exposure

    @property
    def causes(self) -> list[str]:
        """Names of the sources, in their order."""
        return [crash.cause or crash.name for crash in self.of]

    def model_post_init(self, _: Any) -> None:
        """Refuse what cannot go on after another's crash, and two causes of one name."""
        self.refuse_exposure("each source has its own exposure")
        found: list[Mistake] = []
        for index, crash in enumerate(self.of):
            if not crash.repeats or isinstance(crash, AnyOf):
                sentence = f"{crash.name} cannot be one of several sources."
                found.append((("of", index), sentence, crash.name))
            if self.causes[index] in self.causes[:index]:
                sentence = f"two sources are called {self.causes[index]!r}; give one of them another cause."
                found.append((("of", index, "cause"), sentence, crash.cause))
        if found:
            raise problems("AnyOf", found)


def parse_process(value: Any) -> Any:
    """Turn a table with the key ``process``, or the name of a process, into a crash process."""
    if isinstance(value, CrashProcess):
        return value
    if isinstance(value, str):
        value = {"process": value}
    if not isinstance(value, dict) or "process" not in value:
        raise problem(
            'must be a table such as { process = "uniform_time" }. ' + allowed_instead("", PROCESSES)
        )
    name = value["process"]
    if not isinstance(name, str) or name not in PROCESSES:
        raise problem(f"{name!r} is no crash process; {allowed_instead(name, PROCESSES)}", ("process",), name)
    return PROCESSES[name].model_validate({k: v for k, v in value.items() if k != "process"})


AnyCrash = Annotated[CrashProcess, BeforeValidator(parse_process)]
"""Field type: a crash process, given as a table."""

AnyOf.model_rebuild()
