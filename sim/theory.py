"""Closed forms: the metrics of a scenario as exact numbers, wherever they are known.

They check the engines, and stand beside the estimates. A program whose worker waits for every save falls
into *stages*. Stage k begins when save k becomes durable and ends when the next one does. Its *body* begins
where a recovery resumes, and is walked until it succeeds; its *tail* comes before that (an `ack`, a call
that was saved first), and is crossed once or cut short. How often each phase is begun and ended, and how
long it takes in total, follows from the crash process in one of three ways:

- memoryless crashes: products of Laplace transforms, for random durations too;
- any other law of lifetimes, renewed at each restart: a triangular chain, for constant durations;
- one crash: a sum over the phases that it can strike.

Every metric is then a sum over phases. Of crashes in calm and storm, a product of matrices gives the repeats
and the makespan. Structure is read from the unfolded program, never from a name.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, factorial, inf, isfinite, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

from sim.crashes import Bursts, NoCrash, Renewal, UniformStep, UniformTime
from sim.laws import Aged, Constant, Equilibrium, Exponential, Floats, Gamma, Law, Scaled, Weibull
from sim.program import CALL, SAVE, WORK, Phase, Program, unfold
from sim.scenario import Scenario
from sim.services import Client
from sim.validation import Model
from sim.weather import Block, Weather, expected

FOREGROUND = {"work", "tool", "prepare", "request", "response", "write", "ack"}
"""Phases that do nothing but take the worker's time."""

KNOWN = """
workload strategy crash store receiver downtime limits frozen title source work_scale steps name work
tokens tool action probability plain end cause every after_actions last key resume lane write ack prepare
request response query lag detection restart load attempts makespan gap_share law clock renew start
ages_in_downtime exposure calm_mean storm_mean calm_lasts storm_lasts group after_groups
"""
"""Fields of a scenario that these forms know; another one silences them unless it is at its default."""

Survival = Callable[[Any], Any]
"""P(T > t) for times t in seconds, of their shape."""

GIVEN_UP = 1e-9
"""Nothing is said of scenarios in which more runs than this may be given up."""


class _UnknownError(ValueError):
    """The exact value is not known."""


def exact(scenario: Scenario) -> dict[str, float]:
    """Give the exact values of a scenario's metrics, as far as they are known.

    Parameters
    ----------
    scenario : Scenario
        What would be simulated.

    Returns
    -------
    dict of str to float
        Expectations under the names of `sim.outcomes.OUTCOMES`, the chances ``p_duplicate`` and ``p_lost``,
        and ``gap_share`` and ``gap_share_after_done``, ratios of expectations. Times in seconds. A metric
        that is not known, or infinite, is missing; if none is known the result is empty.
    """
    if not scenario.converses:
        scenario = scenario.model_copy(update={"client": Client()})  # there is nothing to try again
    try:
        if _says_more(scenario) or scenario.limits.makespan is not None or scenario.limits.attempts < 2:
            return {}
        stages = _Stages.of(scenario)
        match scenario.crash:
            case NoCrash():
                walk = _one_crash(stages, [])
            case UniformStep(gap_share=share):
                walk = _one_crash(stages, list(_step_cells(stages, share)))
            case UniformTime():
                walk = _one_crash(stages, _time_cells(stages))
            case Renewal(law=law) if rate := _rate(law):
                walk = _memoryless(stages, rate)
            case Renewal(law=law, renew="crash", ages_in_downtime=False) if not law.has_atoms:
                walk = _chain(stages, law.survival, _first_survival(scenario.crash))
            case Bursts():
                return _bursts(stages, Weather.of(scenario.crash))
            case _:
                return {}
        found = _metrics(stages, walk)
        if isinstance(scenario.crash, UniformStep):
            # The step is chosen whatever its length, so what is kept has the mean of a run without crashes.
            costly = stages.where(lambda phase: phase.activity in (WORK, CALL))
            found["wasted_work_s"] = float((walk.time - stages.mean)[costly].sum())
        return found
    except _UnknownError:
        return {}


def renewal_chain(scenario: Scenario, survival: Survival, first: Survival | None = None) -> dict[str, float]:
    """Give the exact metrics under lifetimes renewed at each restart, by a chain over the saves.

    Parameters
    ----------
    scenario : Scenario
        With constant durations and load; its crash process does not matter.
    survival : callable
        P(lifetime > t) of a continuous law, t in seconds.
    first : callable, optional
        The same of the first lifetime, such as that of an equilibrium start.

    Raises
    ------
    ValueError
        If the program does not fall into stages or a duration is not constant.
    """
    stages = _Stages.of(scenario)
    return _metrics(stages, _chain(stages, survival, first))


def async_durable_s(durations: Any, write: float, rate: float, downtime: float = 0.0) -> float:
    """Mean time until the last save is durable when saves fly behind the work.

    Parameters
    ----------
    durations : array_like of float, shape (steps,)
        Constant durations of the steps, s; each but the first at least `write`.
    write : float
        Time of a save, s; the store answers at once.
    rate : float
        Crashes a second of work, memoryless. Downtime does not crash, and nothing is loaded.
    downtime : float
        Mean time from a crash to work again, s.

    Raises
    ------
    ValueError
        If a save takes longer than the step that it flies behind.
    """
    first, *later = np.asarray(durations, np.float64)
    if later and min(later) < write:
        raise ValueError("a save must not take longer than the next step.")
    crashes = np.expm1(rate * (first + write)) + exp(rate * write) * np.expm1(rate * np.array(later)).sum()
    return float((1 / rate + downtime) * crashes)


def laplace(law: Law, rate: float, power: int = 0) -> float:
    """Expectation of T**power · exp(-rate·T): the Laplace transform, up to sign its derivatives.

    Closed for constant, exponential and gamma laws and multiples of them. Otherwise the trapezoidal rule over
    a normal variable, relative error below 1e-10.

    Parameters
    ----------
    law : Law
        Law of T, s.
    rate : float
        1/s. A negative one is possible where the form is closed; the result may be infinite.
    power : int
        At least 0.

    Raises
    ------
    ValueError
        If the error cannot be kept, as under a law with atoms.
    """
    match law:
        case Constant(value=value):
            return float(value**power * exp(-rate * value))
        case Exponential(mean=mean):
            return _laplace_gamma(1.0, mean, rate, power)
        case Gamma(mean=mean, shape=shape):
            return _laplace_gamma(shape, mean / shape, rate, power)
        case Scaled(of=of, by=by):
            return by**power * laplace(of, rate * by, power)
    if rate < 0:
        raise _UnknownError("no closed form for a negative rate.")
    weights, times = _normal_nodes(law)
    terms = weights * times**power * np.exp(-rate * times)
    fine, coarse = terms.sum(), 2 * terms[::2].sum()
    if not abs(fine - coarse) + terms[0] + terms[-1] <= 1e-10 * fine:
        raise _UnknownError("the law is too rough for the trapezoidal rule.")
    return float(fine)


def _laplace_gamma(shape: float, scale: float, rate: float, power: int) -> float:
    if 1 + rate * scale <= 0:
        return inf
    return float(special.poch(shape, power) * scale**power * (1 + rate * scale) ** -(shape + power))


@lru_cache(maxsize=64)
def _normal_nodes(law: Law) -> tuple[Floats, Floats]:
    """Weights of the trapezoidal rule in z, and the times at which the law has the chance of z."""
    z, step = np.linspace(-13.0, 13.0, 2601, retstep=True)
    weights = step * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return weights, law.inverse_hazard(-special.log_ndtr(-z))


def _rate(law: Law) -> float | None:
    """Rate of a memoryless law, 1/s."""
    match law:
        case Exponential(mean=mean) | Weibull(mean=mean, shape=1.0) | Gamma(mean=mean, shape=1.0):
            return 1 / mean
        case Scaled(of=of, by=by):
            rate = _rate(of)
            return None if rate is None else rate / by
    return None


def _says_more(value: Any) -> bool:
    """Whether a part of a scenario says something that these forms do not know."""
    if isinstance(value, tuple):
        return any(map(_says_more, value))
    if not isinstance(value, Model) or isinstance(value, Law):
        return False
    return any(
        _says_more(getattr(value, name))
        or (name not in KNOWN.split() and getattr(value, name) != field.default)
        for name, field in type(value).model_fields.items()
    )


@dataclass(frozen=True)
class _Stages:
    """The path of every run of a scenario, cut into stages; arrays have an entry a phase of the path."""

    scenario: Scenario
    program: Program
    path: list[Phase]
    cuts: list[tuple[int, int, int]]  # first phase of each stage's tail, of its body, and end of both
    body: NDArray[np.bool_]  # whether the phase is in a body
    resume: NDArray[np.intp]  # where a recovery resumes after a crash in it
    finish: NDArray[np.intp]  # at whose end the time spent is not lost: the first of ◆done and ◆durable
    repeats: NDArray[np.bool_]  # whether a crash in the phase makes an action happen again
    loses: NDArray[np.bool_]  # whether it makes an action never happen

    @classmethod
    def of(cls, scenario: Scenario) -> "_Stages":
        """Cut the path of a scenario.

        Raises
        ------
        ValueError
            If the path differs from run to run, or a save does not lead on to a later phase.
        """
        steps = scenario.workload.steps
        if any(0 < step.acts < 1 for step in steps) or scenario.strategy.key not in ("none", "run_step"):
            raise _UnknownError("a step acts in some runs only, or the keys are of another kind.")
        program = unfold(scenario)
        path = program.path(np.array([step.acts == 1 for step in steps]))
        if any(phase.name not in FOREGROUND for phase in path):
            raise _UnknownError("the worker does more than walk and wait.")
        numbers, cuts, tail, body = [phase.id for phase in path], [], 0, 0
        for index, phase in enumerate(path):
            target = bisect_left(numbers, phase.resume)
            if target > body:
                if target <= index or index < body:
                    raise _UnknownError("a recovery repeats or misses a save.")
                cuts.append((tail, body, index + 1))
                tail, body = index + 1, target
        cuts.append((tail, body, len(path)))

        in_body, repeats, loses = (np.zeros(len(path), np.bool_) for _ in range(3))
        resume, finish = (np.zeros(len(path), np.intp) for _ in range(2))
        done = {phase.step: index for index, phase in enumerate(path) if phase.done}
        for tail, body, end in cuts:
            in_body[body:end] = True
            resume[tail:end] = body
            sent = [index for index in range(tail, end) if path[index].name == "request"]
            loses[tail : max((index for index in sent if index < body), default=tail)] = True
            repeats[min((index for index in sent if index >= body), default=end) : end] = True
            for index in range(tail, end):
                finish[index] = min(done[path[index].step], end - 1)
        return cls(scenario, program, path, cuts, in_body, resume, finish, repeats, loses)

    def where(self, condition: Callable[[Phase], bool]) -> NDArray[np.bool_]:
        """Which phases of the path fulfil a condition."""
        return np.array([condition(phase) for phase in self.path], np.bool_)

    @property
    def mean(self) -> Floats:
        """Mean time of each phase, s."""
        return np.array([phase.law.mean_s for phase in self.path])

    @property
    def gap_s(self) -> float:
        """Mean time from sending an action to the save that records it, over all actions, s."""
        return sum(
            float(self.mean[index:end].sum())
            for _, body, end in self.cuts
            for index in range(body, end)
            if self.path[index].name == "request"
        )

    @property
    def down(self) -> float:
        """Mean of detection and restart together, s."""
        return self.scenario.downtime.detection.mean_s + self.scenario.downtime.restart.mean_s


@dataclass(frozen=True)
class _Walk:
    """What is expected to happen to each phase of the path (arrays), and to the run. Times in seconds."""

    begins: Floats  # how often it begins
    ends: Floats  # how often it ends
    time: Floats  # time spent in it
    fraction: Floats  # sum of the shares of it that were walked, cut off or whole
    passed: Floats  # time spent in it in attempts that reach its `finish`
    crashes: float
    downtime: float
    duplicate: float  # chance that an action is repeated, if nobody blocks it
    lost: float  # chance that an action is lost


def _metrics(stages: _Stages, walk: _Walk) -> dict[str, float]:
    body, where = stages.body, stages.where
    done = where(lambda phase: phase.done)
    sent = where(lambda phase: phase.name == "request")
    costly = where(lambda phase: phase.activity in (WORK, CALL))
    steps = stages.scenario.workload.steps
    tokens = np.array([steps[phase.step].tokens * (phase.name == "work") for phase in stages.path])
    struck = walk.begins - walk.ends
    repeats = (walk.begins - 1)[sent & body].sum()
    keyed = stages.scenario.strategy.key != "none"
    found = {
        "crashes": walk.crashes,
        "redone_steps": (walk.ends - 1)[done & body].sum(),
        "skipped_steps": (1 - walk.ends)[done & ~body].sum(),
        "lost_work_s": (walk.time - walk.passed)[costly & body].sum(),
        "wasted_tokens": (tokens * (walk.fraction - 1))[(tokens > 0) & body].sum(),
        "actions": sent.sum(),
        "duplicate_actions": 0.0 if keyed else repeats,
        "blocked_duplicates": repeats if keyed else 0.0,
        "lost_actions": (1 - walk.begins)[sent & ~body].sum(),
        "p_duplicate": 0.0 if keyed else walk.duplicate,
        "p_lost": walk.lost,
        "saves": walk.begins[where(lambda phase: phase.name == "write")].sum(),
        "save_time_s": walk.time[where(lambda phase: phase.activity == SAVE)].sum(),
        "downtime_s": walk.downtime,
        "makespan_s": walk.time.sum() + walk.downtime,
        "gap_s": stages.gap_s,
    }
    rule = stages.gap_s * stages.scenario.crash.rate_per_s
    if rule > 0:
        found["rule_ratio"] = found["p_duplicate"] / rule
    on_action = struck[where(lambda phase: phase.acts)].sum()
    if stages.program.has_gap and on_action > 0:
        number = [phase.id for phase in stages.path]
        found["gap_share"] = struck[stages.program.gap[number]].sum() / on_action
        found["gap_share_after_done"] = struck[stages.program.gap_after_done[number]].sum() / on_action
    return {name: float(value) for name, value in found.items() if isfinite(value)}


def _memoryless(stages: _Stages, rate: float) -> _Walk:
    """Crashes at a constant rate: an attempt succeeds or not whatever was before it.

    A body is begun until it succeeds: a phase of it ends as often as 1 / P(the rest of the body survives),
    or, if durations are frozen, as the mean of that over the durations.
    """
    _refuse_exposure(stages)
    laws, frozen = [phase.law for phase in stages.path], stages.scenario.frozen
    survives = np.array([laplace(law, rate) for law in laws])
    tries = np.array([laplace(law, -rate) for law in laws]) if frozen else 1 / survives
    load = laplace(stages.scenario.downtime.load, rate)
    begins, ends, crashes = np.zeros(len(laws)), np.zeros(len(laws)), 0.0
    for tail, body, end in stages.cuts:
        reach = np.cumprod([1.0, *survives[tail:body]])
        begins[tail:body], ends[tail:body] = reach[:-1], reach[1:]
        need = np.cumprod([1.0, *tries[body:end][::-1]])[::-1]
        begins[body:end], ends[body:end] = need[:-1], need[1:]
        crashes += (need[0] - reach[-1]) / load

    def inverse_moment(stage: int, j: int) -> float:
        chosen = slice(*stages.cuts[stage][1:])
        need = [laplace(law, -j * rate) for law in laws[chosen]] if frozen else tries[chosen] ** j
        return float(prod(need) / load**j)

    _refuse_giving_up(stages, inverse_moment)
    if frozen:
        given_survival = stages.mean
        walked = np.array([_mean_transform(law, -rate) for law in laws])
    else:
        given_survival = np.array([laplace(law, rate, 1) for law in laws]) / survives
        walked = np.array([_mean_transform(law, rate) for law in laws]) / survives
    return _Walk(
        begins=begins,
        ends=ends,
        time=(begins - ends) / rate,
        fraction=ends * walked,
        passed=ends[stages.finish] * given_survival,
        crashes=crashes,
        downtime=crashes * (stages.down + (1 - load) / rate),
        duplicate=1 - prod(survives[stages.repeats]),
        lost=1 - prod(survives[stages.loses]),
    )


@lru_cache(maxsize=256)
def _mean_transform(law: Law, rate: float) -> float:
    """Mean of the Laplace transform over the rates from 0 to `rate`: E (1 - exp(-rate·T)) / (rate·T)."""
    if isinstance(law, Constant):
        return float(special.exprel(-rate * law.value))
    return _integral(lambda x: laplace(law, x * rate), 0.0, 1.0)


def _chain(stages: _Stages, survival: Survival, first: Survival | None = None) -> _Walk:
    """Lifetimes renewed at each restart, constant durations: a triangular chain over the saves.

    Row 0 is the first attempt; row k of the others an attempt that loads and begins with body k.
    """
    _refuse_exposure(stages)
    load_law, n, states = stages.scenario.downtime.load, len(stages.path), len(stages.cuts)
    if not all(isinstance(law, Constant) for law in (load_law, *(phase.law for phase in stages.path))):
        raise _UnknownError("durations are not constant.")
    load, lasts = load_law.mean_s, stages.mean
    start = np.concatenate([[0.0], np.cumsum(lasts)])
    reach, leave, time = (np.zeros((1 + states, n)) for _ in range(3))
    lives = [(first or survival, 0, 0.0), *((survival, body, load) for _, body, _ in stages.cuts)]
    for row, (law, begin, age) in enumerate(lives):
        ages = age + start[begin:] - start[begin]
        reach[row, begin:], leave[row, begin:] = law(ages)[:-1], law(ages)[1:]
        time[row, begin:] = [_integral(law, *span) for span in pairwise(ages)]

    # A crash in stage j leads to row 1 + j, whatever row it ends.
    stage = np.eye(states)[np.repeat(range(states), [end - tail for tail, _, end in stages.cuts])]
    moves = (reach - leave) @ stage
    moves[1:] += (1 - survival(load)) * np.eye(states)
    _refuse_giving_up(stages, lambda k, j: np.maximum(1 - moves[1 + k, k], 0.0) ** -j)
    visits = np.concatenate([[1.0], np.linalg.solve(np.eye(states) - moves[1:].T, moves[0])])

    def chance(harm: NDArray[np.bool_]) -> float:
        """Chance that a run has a crash in a phase of harm."""
        bad = (reach - leave) * harm
        good = moves - bad @ stage
        later = np.linalg.solve(np.eye(states) - good[1:], bad[1:].sum(axis=1))
        return float(bad[0].sum() + good[0] @ later)

    begins, ends, total = visits @ reach, visits @ leave, visits @ time
    crashes = visits.sum() - 1
    return _Walk(
        begins=begins,
        ends=ends,
        time=total,
        fraction=np.divide(total, lasts, out=ends.copy(), where=lasts > 0),
        passed=ends[stages.finish] * lasts,
        crashes=crashes,
        downtime=crashes * (stages.down + _integral(survival, 0.0, load)),
        duplicate=chance(stages.repeats),
        lost=chance(stages.loses),
    )


def _first_survival(crash: Renewal) -> Survival | None:
    """Survival of the first lifetime, if it is of another law than the later ones."""
    if crash.start == "fresh":
        return None
    try:
        if crash.start == "equilibrium":
            return Equilibrium(of=crash.law).survival
        return Aged(of=crash.law, age=crash.start).survival
    except ValueError as error:
        raise _UnknownError("no life of the law is met at a random time, or reaches the age.") from error


def _bursts(stages: _Stages, weather: Weather) -> dict[str, float]:
    """Crashes in calm and storm, constant times, a save after each step: a product of matrices."""
    downtime, path = stages.scenario.downtime, stages.path
    laws = [downtime.detection, downtime.restart, downtime.load, *(phase.law for phase in path)]
    if not all(isinstance(law, Constant) for law in laws):
        raise _UnknownError("durations are not constant.")
    if any(len({phase.step for phase in path[body:end]}) > 1 for _, body, end in stages.cuts):
        raise _UnknownError("a crash may take more than a step.")
    blocks = []
    for tail, body, end in stages.cuts:
        reach = np.concatenate([[0.0], np.cumsum(stages.mean[body:end])])
        sent = tuple(float(reach[i - body]) for i in range(body, end) if path[i].name == "request")
        blocks.append(Block(float(stages.mean[tail:body].sum()), float(reach[-1]), sent))
    load = downtime.load.mean_s
    success = np.array([weather.least_success(block, load) for block in blocks])
    _refuse_giving_up(stages, lambda k, j: success[k] ** -j)
    found = expected(weather, blocks, stages.down, load)
    keyed = stages.scenario.strategy.key != "none"
    return {
        "p_duplicate": 0.0 if keyed else found.p_repeated,
        "duplicate_actions": 0.0 if keyed else found.repeats,
        "makespan_s": found.makespan,
    }


def _integral(function: Callable[[float], Any], low: float, high: float) -> float:
    return float(integrate.quad(function, low, high, epsabs=1e-12, epsrel=1e-11)[0])


def _refuse_exposure(stages: _Stages) -> None:
    weights = [phase.weight for phase in stages.path]
    if any(weight != 1 for weight in (*weights, stages.scenario.crash.exposure.load)):
        raise _UnknownError("phases are weighed.")


def _refuse_giving_up(stages: _Stages, inverse_moment: Callable[[int, int], Any]) -> None:
    """Refuse a scenario whose runs may reach the limit of attempts.

    In one stage then at least m = attempts / stages attempts fail, each with chance 1 - q, and
    (1 - q)^(m - 1) <= exp(-q (m - 1)) <= j! / (q (m - 1))^j for every j. Given is E q^-j of (stage, j).
    """
    fail = max(stages.scenario.limits.attempts // len(stages.cuts) - 1, 1)
    with np.errstate(over="ignore", divide="ignore"):
        chance = sum(
            min(factorial(j) * inverse_moment(stage, j) / fail**j for j in range(60))
            for stage in range(len(stages.cuts))
        )
    if not chance <= GIVEN_UP:
        raise _UnknownError("too many runs are given up.")


class _Cell(NamedTuple):
    """A crash in one phase."""

    phase: int  # index in the path
    share: float  # mean share of the phase that has passed
    chance: float
    times: Floats  # mean of each phase's first duration times the indicator of this cell, s
    apart: bool = True  # whether the above holds of this phase, and not only summed over several


def _one_crash(stages: _Stages, cells: list[_Cell]) -> _Walk:
    """At most one crash: a sum over the places in which it can strike."""
    mean, index = stages.mean, np.arange(len(stages.path))
    chance = sum(cell.chance for cell in cells)
    none = 1 - chance if cells else 1.0
    begins, ends, fraction = (np.full(len(mean), none) for _ in range(3))
    time, passed = none * mean, none * mean
    for cell in cells:
        p, before = cell.chance, 1.0 * (index < cell.phase)
        here = 1.0 * (index == cell.phase)
        again = index >= stages.resume[cell.phase]
        redrawn = (index <= cell.phase) & (not stages.scenario.frozen)
        second = again * np.where(redrawn, p * mean, cell.times)
        begins += p * (before + here + again)
        ends += p * (before + again)
        fraction += p * (before + cell.share * here + again)
        if not cell.apart:
            fraction[cell.phase] = np.nan
        time += cell.times * (before + cell.share * here) + second
        passed += cell.times * (stages.finish < cell.phase) + second
    return _Walk(
        begins=begins,
        ends=ends,
        time=time,
        fraction=fraction,
        passed=passed,
        crashes=chance,
        downtime=chance * (stages.down + stages.scenario.downtime.load.mean_s),
        duplicate=sum(cell.chance for cell in cells if stages.repeats[cell.phase]),
        lost=sum(cell.chance for cell in cells if stages.loses[cell.phase]),
    )


def _step_cells(stages: _Stages, gap_share: float) -> Iterator[_Cell]:
    """Cells of one crash at a uniform step, for steps whose only save ends them.

    An ordinary crash is uniform over [start, sent) or [start, done). How such a time divides into several
    random phases does not matter to anything but tokens, so means may stand for the phases.
    """
    mean, path = stages.mean, stages.path
    steps = len(stages.scenario.workload.steps)
    for step in range(steps):
        own = [index for index, phase in enumerate(path) if phase.step == step]
        done = next(index for index in own if path[index].done)
        sent = next((index for index in own if path[index].name == "request"), None)
        ordinary = [index for index in own if index < (done + 1 if sent is None else sent)]
        after = [path[index].name for index in own if index > done]
        total = mean[ordinary].sum()
        saved_before = any(path[index].activity == SAVE for index in own if index <= done)
        if saved_before or after not in ([], ["write"], ["write", "ack"]) or not 0 < total < inf:
            raise _UnknownError("a save within the step, or nothing that the crash can strike.")
        in_gap = gap_share / steps if sent is not None else 0.0
        apart = len(ordinary) == 1 or all(isinstance(path[index].law, Constant) for index in ordinary)
        for index in ordinary:
            p = (1 / steps - in_gap) * mean[index] / total
            yield _Cell(index, 0.5, p, p * mean, apart)
        # Where nothing is saved, the crash finds the worker about to begin the next step, if there is one.
        if in_gap and done + 1 < len(path):
            if not mean[done + 1] > 0:
                raise _UnknownError("a phase takes no time, so that the crash strikes a later one.")
            yield _Cell(done + 1, 0.5 if after else 0.0, in_gap, in_gap * mean)


def _time_cells(stages: _Stages) -> list[_Cell]:
    """Cells of one crash uniform over the crash-free run, for any laws.

    With d the durations, w the weights and T = sum w·d, the chance of phase j is E w_j d_j / T, and
    E X / T is the integral of E X exp(-t T) over t > 0: a product of Laplace transforms.
    """
    weight = np.array([phase.weight for phase in stages.path])
    pairs = [(phase.law, phase.weight) for phase in stages.path]
    distinct = list(dict.fromkeys(pairs))
    of = np.array([distinct.index(pair) for pair in pairs])
    total, n = float(weight @ stages.mean), len(pairs)
    if not 0 < total < inf:
        raise _UnknownError("the run takes no time, or an infinite time.")

    def integrand(x: float) -> Floats:
        rows = [[laplace(law, x / total * w, power) for power in range(3)] for law, w in distinct]
        table = np.array(rows)[of]
        alive = float(table[:, 0].prod())
        if alive == 0:
            return np.zeros((n + 1, n))
        first, second = table[:, 1] / table[:, 0], table[:, 2] / table[:, 0]
        together = np.outer(first, first)
        np.fill_diagonal(together, second)
        return np.asarray(alive / total * weight * np.vstack([first, together]))

    whole, _, info = integrate.quad_vec(
        integrand, 0, inf, epsabs=1e-13, epsrel=1e-11, limit=100, full_output=True
    )
    if not info.success:
        raise _UnknownError("the integral does not settle: a law is all but constant.")
    chances, times = whole[0], whole[1:]
    if not np.allclose([chances.sum(), *times.sum(axis=1)], [1, *stages.mean], rtol=1e-8, atol=1e-12):
        raise _UnknownError("the integral is not exact enough.")
    return [_Cell(j, 0.5, chances[j], times[:, j]) for j in range(n) if chances[j] > 0]
