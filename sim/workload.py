"""What an agent does: a list of steps, a few of which act on the outside world."""

from typing import Any, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from pydantic_core import ValidationError

from sim.laws import AnyLaw
from sim.services import Receiver
from sim.validation import Key, Model, NonNegative, Positive, Probability, problem, problems


class Action(Model):
    """What a step does to the outside world: an e-mail sent, a ticket opened, a card charged."""

    probability: Probability = Field(
        default=1.0, description="chance that the step acts in a run, drawn once a run"
    )


class Step(Model):
    """One step of an agent run."""

    name: str = Field(min_length=1, description="what the step does, unique in its workload")
    work: AnyLaw = Field(description="time until the step's call, or until its end, s")
    tokens: NonNegative = Field(default=0.0, le=1e12, description="tokens bought, evenly over the work")
    tool: AnyLaw | None = Field(
        default=None,
        description="time of the step's tool call, s; where the call acts, the answer takes this time "
        "instead of the receiver's",
    )
    group: str = Field(default="", description="name of the task it belongs to, with the steps beside it")
    action: Action | None = Field(default=None, description="what it does outside; nothing if absent")

    @property
    def acts(self) -> float:
        """Probability that the step acts in a run."""
        return self.action.probability if self.action else 0.0


class Workload(Model):
    """The steps of an agent run, in order.

    In a file, ``default`` holds what every step has unless it says otherwise, and a text alone stands for
    a step with that name.
    """

    title: str = ""
    source: str = Field(default="", description="where the figures come from")
    work_scale: Positive = Field(default=1.0, description="factor on the work time of every step")
    rewords: Probability = Field(
        default=0.0, description="chance that work done again gives the action other arguments"
    )
    steps: tuple[Step, ...] = Field(max_length=10_000)

    shorthand = ("default",)

    @model_validator(mode="wrap")
    @classmethod
    def _spread_default(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Complete each step from ``default``; a mistake made there is reported there, once."""
        if not isinstance(data, dict) or not isinstance(steps := data.get("steps"), (list, tuple)):
            return handler(data)
        default = data.get("default", {})
        if not isinstance(default, dict):
            raise problem("must be a table of what every step has.", ("default",), default)
        own = [{"name": step} if isinstance(step, str) else step for step in steps]
        whole = [default | step if isinstance(step, dict) else step for step in own]
        rest = {key: value for key, value in data.items() if key != "default"}
        try:
            return handler(rest | {"steps": whole})
        except ValidationError as error:

            def place(key: Key) -> Key:
                match key:
                    case ("steps", int(index), str(name), *below) if isinstance(own[index], dict):
                        if name in default and name not in own[index]:
                            return ("default", name, *below)
                return key

            found = {(place(e["loc"]), e["msg"]): e["input"] for e in error.errors()}
            raise problems(
                cls.__name__, [(key, text, value) for (key, text), value in found.items()]
            ) from None

    def mean_s(self, receiver: Receiver) -> float:
        """Mean time of a run without crashes and saves, in s, infinite if a step's is."""
        called = receiver.prepare.mean_s + receiver.request.mean_s
        total = 0.0
        for step in self.steps:
            tool = step.tool.mean_s if step.tool else 0.0
            answer = step.tool or receiver.response
            total += step.work.mean_s * self.work_scale
            total += step.acts * (called + answer.mean_s) + (1 - step.acts) * tool
        return total

    def model_post_init(self, _: Any) -> None:
        """Refuse no step, and two of one name: strategies and reports refer to steps by name."""
        if not self.steps:
            raise problem("a workload needs at least one step.", ("steps",), self.steps)
        names = [step.name for step in self.steps]
        first = {name: index for index, name in reversed([*enumerate(names)])}
        twice = [index for index, name in enumerate(names) if first[name] < index]
        if twice:
            raise problems(
                "Workload",
                [(("steps", i, "name"), f"two steps are named {names[i]!r}.", names[i]) for i in twice],
            )
