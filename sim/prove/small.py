"""The small scenario that is searched: few steps, fixed times, and nothing left to chance."""

from itertools import count
from typing import Any

import numpy as np

from sim.laws import Constant, Law
from sim.scenario import Scenario
from sim.services import ZERO
from sim.ticks import PER_SECOND, to_tick
from sim.validation import Key, Mistake, Model, problems

NUDGE = 1_000
"""Mean times are made longer by 1, 2, 3, ... times so many ticks, so that no two are equal."""

SLACK = 4
"""A step's time-out is at least so many times as long as the work of the longest step."""


BOUND = 'bound it: { law = "truncated", of = ..., below = ... }.'


def small(scenario: Scenario, steps: int = 3) -> Scenario:
    """Cut a scenario down to one that can be searched.

    The steps take 1, 2, 3, ... s, all shorter by one factor where a step's time-out asks for that; every
    second one acts, and begins a group. All times are their means, each longer by its own few microseconds
    so that no two are equal; what takes no time still takes none. Where work done again may reword, it does;
    where a cut write may be torn, it is. Outages are left out, and so is a limit of the makespan.

    Parameters
    ----------
    scenario : Scenario
        Its workload is replaced, and its crashes are left out.
    steps : int
        How many steps there shall be.

    Raises
    ------
    pydantic_core.ValidationError
        If a law has no finite mean that could stand for it.
    """
    found: list[Mistake] = []
    number = count(1)

    def fixed(part: Any, at: Key) -> Any:
        if isinstance(part, Law):
            if not np.isfinite(part.mean_s):
                found.append((at, f"has no finite mean that could stand for it; {BOUND}", None))
                return part
            ticks = to_tick(part.mean_s)
            return Constant(value=(ticks + NUDGE * next(number)) / PER_SECOND) if ticks else ZERO
        if isinstance(part, Model):
            fields = {name: fixed(getattr(part, name), (*at, name)) for name in type(part).model_fields}
            return part.model_copy(update=fields)
        return part

    strategy, watch = scenario.strategy, scenario.supervision
    if strategy.relay is not None and strategy.relay.life is not None:
        strategy = _with(strategy, relay=_with(strategy.relay, life=ZERO))  # a fault says when it dies
    if watch is not None and watch.stalls is not None:
        watch = _with(watch, stalls=_with(watch.stalls, every=ZERO, lasts=ZERO))  # likewise
    if strategy.steps is not None:
        strategy = _with(strategy, steps=_kept(scenario, steps))
    lost = 0.5 if scenario.client.timeout is not None else 0.0
    parts = {
        "strategy": strategy,
        "store": _with(scenario.store, torn=float(scenario.store.torn > 0)),
        "receiver": _with(scenario.receiver, outages=None, request_lost=lost, answer_lost=lost),
        "supervision": watch,
        "downtime": scenario.downtime,
    }
    parts = {name: fixed(part, (name,)) for name, part in parts.items()}
    if found:
        raise problems("Scenario", found)
    workload = {"rewords": float(scenario.workload.rewords > 0), "steps": _steps(scenario, steps)}
    limits = _with(scenario.limits, makespan=None)
    return Scenario.model_validate(
        parts | {"workload": workload, "client": scenario.client, "limits": limits}
    )


def acts(step: int, steps: int) -> bool:
    """Whether a step of the small workload acts, by its number: every second does, and one that is alone."""
    return step % 2 == 0 or steps == 1


def _with(part: Any, **changes: Any) -> Any:
    return part.model_copy(update=changes)


def _steps(scenario: Scenario, steps: int) -> list[dict[str, Any]]:
    watch = scenario.supervision
    limit = watch.step_timeout if watch is not None else None
    unit = 1.0 if limit is None else min(1.0, limit / (SLACK * steps))
    return [
        {
            "name": f"step {step}",
            "work": step * unit,
            "group": f"group {step // 2}",
            **({"action": {}} if acts(step, steps) else {}),
        }
        for step in range(1, steps + 1)
    ]


def _kept(scenario: Scenario, steps: int) -> tuple[int, ...]:
    """Steps of the small workload that are of a kind (acting or not) of which the strategy lists some."""
    listed = scenario.strategy.steps or ()
    own = enumerate(scenario.workload.steps, 1)
    of_kind = {step.acts > 0 for number, step in own if number in listed or step.name in listed}
    return tuple(step for step in range(1, steps + 1) if acts(step, steps) in of_kind)
