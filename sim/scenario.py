"""The frozen, validated input of one simulation."""

from collections.abc import Iterator
from typing import Any, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator

from sim.crashes import AnyCrash, NoCrash
from sim.services import Downtime, Receiver, Store
from sim.strategy import Strategy
from sim.ticks import PER_SECOND
from sim.validation import Count, Mistake, Model, Positive, allowed_instead, problems
from sim.workload import Workload


class Limits(Model):
    """When a run is given up, and counted as stuck."""

    attempts: Count = Field(default=1000, description="attempts a run may take")
    makespan: Positive | None = Field(default=None, description="time a run may take, s")


class Scenario(Model):
    """Everything that one simulation needs besides its seed."""

    workload: Workload
    strategy: Strategy
    crash: AnyCrash = NoCrash()
    store: Store = Store()
    receiver: Receiver = Receiver()
    downtime: Downtime = Downtime()
    limits: Limits = Limits()
    frozen: bool = Field(
        default=False,
        strict=True,
        description="whether a step that is executed again takes the same time again",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _match(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Scale the laws of crashes to what they shall match, which takes the workload."""
        scenario = handler(data)
        run_s = scenario.workload.mean_s(scenario.receiver)
        return scenario.model_copy(update={"crash": scenario.crash.matched(run_s)})

    def model_post_init(self, _: Any) -> None:
        """Refuse what does not go together."""
        found = list(self._mistakes())
        if found:
            raise problems("Scenario", found)

    def _mistakes(self) -> Iterator[Mistake]:
        names = [step.name for step in self.workload.steps]
        for index, step in enumerate(self.strategy.steps or ()):
            if step not in names and step not in range(1, len(names) + 1):
                hint = f"{allowed_instead(step, names)} Or a number from 1 to {len(names)}."
                yield ("strategy", "steps", index), f"{step!r} is no step of the workload; {hint}", step
        for at, exposure in self.crash.exposures():
            for name in set(exposure.steps) - set(names):
                sentence = f"{name!r} is no step of the workload; {allowed_instead(name, names)}"
                yield ("crash", *at, "exposure", "steps", name), sentence, name
        limit = self.limits.makespan
        if limit is not None and limit * PER_SECOND < 1:
            yield ("limits", "makespan"), "must be at least a nanosecond.", limit
