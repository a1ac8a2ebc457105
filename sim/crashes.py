"""Crash processes: when the worker dies, in simulated time.

A process turns a block of uniform numbers into rows of crash times, one row a crash, one column a
replication. A row counts either from the begin of the attempt, in exposure (the worker's own time, weighted
by phase), or on the wall clock, where a crash that finds no worker does nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from math import nan
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field

from sim.laws import AnyLaw, Floats
from sim.ticks import NEVER, PER_SECOND, Ticks, to_ticks
from sim.validation import Model, NonNegative, Probability, Weight, allowed_instead, problem

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

    def weight(self, phase: str) -> float:
        """Weight of a phase by its name."""
        return float(getattr(self, phase, 1.0))


@dataclass(frozen=True)
class Plan:
    """The crashes of a block of replications.

    Attributes
    ----------
    rows : iterator of ndarray of int64, shape (replications,)
        Without `wall`, row k is the exposure at which attempt k dies; with it, the instant of crash k.
        Never ends.
    wall : bool
        Whether rows are instants of the run, increasing, instead of exposures of an attempt.
    """

    rows: Iterator[Ticks]
    wall: bool = False


Within = Floats | float


class CrashProcess(Model, ABC):
    """Rule that yields crash times."""

    name: ClassVar[str]
    repeats: ClassVar[bool] = True
    """Whether a run can crash more than once."""

    exposure: Exposure = Exposure()

    @property
    def rate_per_s(self) -> float:
        """Crashes a second of exposure in the long run; NaN where there is no such rate."""
        return nan

    @abstractmethod
    def plan(self, draws: "Streams", marks: "Marks", within: Within = 1.0) -> Plan:
        """Draw the crashes of a block.

        Parameters
        ----------
        draws : Streams
            The block's uniform numbers, by key.
        marks : Marks
            What the block's runs pass without a crash.
        within : float or ndarray of float, shape (replications,)
            The first crash is drawn from this least share of its law; 1 leaves it as it is.
        """

    def first_before(self, exposure: Ticks, marks: "Marks") -> Floats | None:
        """Give the probability that the first crash comes before a worker has been exposed so long.

        Parameters
        ----------
        exposure : ndarray of int64, shape (..., replications)
            In ticks.
        marks : Marks
            What the block's runs pass without a crash.

        Returns
        -------
        ndarray of float, shape (..., replications), or None
            None for a process that draws its first crash in another way than from one such law.
        """
        return None

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

    def plan(self, draws: "Streams", marks: "Marks", within: Within = 1.0) -> Plan:  # noqa: D102
        return Plan(_then_never(np.full(draws.size, NEVER)))

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure."""
        self.refuse_exposure("there is no crash")


@process("at")
class At(CrashProcess):
    """Crashes at given instants of the run; one that finds no worker does nothing."""

    times: tuple[NonNegative, ...] = Field(min_length=1, description="instants since the begin of the run, s")

    def plan(self, draws: "Streams", marks: "Marks", within: Within = 1.0) -> Plan:  # noqa: D102
        instants = to_ticks(sorted(self.times))
        return Plan(_then_never(*(np.full(draws.size, instant) for instant in instants)), wall=True)

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure."""
        self.refuse_exposure("the instants are fixed")


@process("uniform_time")
class UniformTime(CrashProcess):
    """One crash, uniform over the strategy's own crash-free run (in exposure)."""

    repeats = False

    def plan(self, draws: "Streams", marks: "Marks", within: Within = 1.0) -> Plan:  # noqa: D102
        instant = draws.uniforms("crash", "instant") * within * marks.exposure
        return Plan(_then_never(instant.astype(np.int64)))

    def first_before(self, exposure: Ticks, marks: "Marks") -> Floats:  # noqa: D102
        return exposure / np.maximum(marks.exposure, 1)


@process("uniform_step")
class UniformStep(CrashProcess):
    """One crash at a uniformly chosen step: the article's rule.

    On a step that acts, a share of the crashes lands between result and save, by assumption.
    """

    repeats = False

    gap_share: Probability = Field(
        description="share of the crashes on a step that acts that land in [done, durable)"
    )

    def plan(self, draws: "Streams", marks: "Marks", within: Within = 1.0) -> Plan:  # noqa: D102
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
        within = (draws.uniforms("crash", "within") * (end - begin)).astype(np.int64)
        return Plan(_then_never(begin + within), wall=True)

    def model_post_init(self, _: Any) -> None:
        """Refuse an exposure."""
        self.refuse_exposure("the step is chosen, not the instant")


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
    ages_in_downtime: bool = Field(default=False, strict=True)

    @property
    def rate_per_s(self) -> float:  # noqa: D102
        return 1 / self.law.mean_s if self.law.mean_s and self.renew == "crash" else nan

    def plan(self, draws: "Streams", marks: "Marks", within: Within = 1.0) -> Plan:  # noqa: D102
        minimal_repair = self.renew == "never"
        lives = self._lives(draws, minimal_repair, within)
        return Plan(self._instants(lives, draws.size), wall=True) if self.ages_in_downtime else Plan(lives)

    def first_before(self, exposure: Ticks, marks: "Marks") -> Floats:  # noqa: D102
        # A time is rounded to a tick: before tick k is what lies below k - 1/2.
        return -np.expm1(-self.law.cumulative_hazard(np.maximum(exposure - 0.5, 0) / PER_SECOND))

    def _lives(self, draws: "Streams", minimal_repair: bool, within: Within) -> Iterator[Ticks]:
        """Exposures from one crash to the next.

        The residual life at age a is H⁻¹(H(a) + X) − a with X ~ Exp(1); drawing a fresh life instead
        is the commonest error of such simulators.
        """
        drawn = (draws.uniforms("crash", k) * (1.0 if k else within) for k in count())
        if not minimal_repair:
            for uniforms in drawn:
                yield to_ticks(self.law.quantile(uniforms))
        passed = np.zeros(draws.size)
        before = np.zeros(draws.size, np.int64)
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
        if self.ages_in_downtime and not self.law.mean_s > 0:
            raise problem("must have a mean above 0 on the wall clock.", ("law",))
        if self.ages_in_downtime:
            self.refuse_exposure("a host that ages in downtime runs on the wall clock")


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
