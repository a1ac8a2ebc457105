"""Strategies of protection as data: what the worker does in a plain step and in an action step.

A strategy is two short lists of verbs. A save names the verb at which a recovery resumes: a checkpoint is
a program counter made durable. Engines know the verbs, never a strategy.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictInt, model_validator

from sim.validation import Count, Mistake, Model, allowed_instead, problem, problems


class Verb(Model):
    """One thing the worker does."""

    verb: ClassVar[str]

    @property
    def key(self) -> str:
        """What the verb's draws are keyed by."""
        return self.verb


class Work(Verb):
    """Do the step's work; done again after a crash."""

    verb = "work"


class Call(Verb):
    """Send the action to the receiver and wait for the answer: prepare, ◆sent, request, ◆commit, response."""

    verb = "call"


class Save(Verb):
    """Make progress durable: write, ◆durable, ack."""

    verb = "save"
    resume: Literal["next", "here", "call", "query"] = Field(
        default="next",
        description="where a recovery resumes: the next step, this step, or this step's call or query",
    )
    lane: str | None = Field(
        default=None,
        min_length=1,
        description="name of a first-in-first-out lane behind the work; absent: wait",
    )

    @property
    def key(self) -> str:
        """Saves for different resume points are different decisions; the lane does not matter."""
        return f"save:{self.resume}"


class Query(Verb):
    """In an attempt that resumes here: ask the receiver, and skip the call if it was performed."""

    verb = "query"


class Drain(Verb):
    """Wait until the lanes are empty."""

    verb = "drain"


VERBS: dict[str, type[Verb]] = {cls.verb: cls for cls in (Work, Call, Save, Query, Drain)}


def parse_verb(value: Any) -> Any:
    """Turn a verb's name, or a table with the key ``verb``, into a verb."""
    if isinstance(value, Verb):
        return value
    if isinstance(value, str):
        value = {"verb": value}
    if not isinstance(value, dict) or "verb" not in value:
        raise problem('must be a verb such as "work" or { verb = "save", resume = "call" }.')
    name = value["verb"]
    if not isinstance(name, str) or name not in VERBS:
        raise problem(f"{name!r} is no verb; {allowed_instead(name, VERBS)}", ("verb",), name)
    return VERBS[name].model_validate({k: v for k, v in value.items() if k != "verb"})


Verbs = tuple[Annotated[Verb, BeforeValidator(parse_verb)], ...]

_LANE = {"verb": "save", "lane": "background"}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "restart": {"plain": ["work"], "action": ["work", "call"]},
    "checkpoint": {"plain": ["work", "save"], "action": ["work", "call", "save"]},
    "save_first": {"plain": ["work", "save"], "action": ["work", "save", "call"]},
    "async": {"plain": ["work", _LANE], "action": ["work", "call", _LANE], "end": ["drain"]},
    "intent_query": {
        "plain": ["work", "save"],
        "action": ["work", {"verb": "save", "resume": "query"}, "query", "call", "save"],
    },
}
"""Strategies by name; a file can also spell out its own lists."""


class Strategy(Model):
    """How progress is protected, and whether actions carry a key.

    Either ``protocol`` names the lists, or ``plain``, ``action`` and ``end`` spell them out.
    """

    plain: Verbs = Field(description="what is done in a step that does not act")
    action: Verbs = Field(description="what is done in a step that acts")
    end: Verbs = Field(default=(), description="what is done after the last step")
    every: Count | None = Field(default=None, description="save after every k-th step only")
    after_actions: bool = Field(default=False, strict=True, description="save after steps that act only")
    steps: tuple[str | StrictInt, ...] | None = Field(
        default=None, description="save after these steps only (names or numbers from 1)"
    )
    last: bool = Field(
        default=True, strict=True, description="save after the last step, whatever is said above"
    )
    key: Literal["none", "run_step"] = Field(
        default="none",
        description="run_step: the receiver answers a repeat of the same run's step from its table",
    )

    shorthand = ("protocol",)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        """Put a protocol's lists in the place of its name."""
        if not isinstance(data, dict):
            return data
        own = [key for key in ("plain", "action", "end") if key in data]
        if "protocol" not in data:
            if own:
                return data
            known = [*cls.shorthand, *cls.model_fields]
            found: list[Mistake] = [
                ((key,), f"unknown key; {allowed_instead(key, known)}", data[key])
                for key in data
                if key not in known
            ]
            missing = f"this key is missing. {allowed_instead('', PROTOCOLS)} Or lists of verbs."
            raise problems("Strategy", [*found, (("protocol",), missing, None)])
        name = data["protocol"]
        if not isinstance(name, str) or name not in PROTOCOLS:
            hint = allowed_instead(name, PROTOCOLS)
            raise problem(f"{name!r} is no protocol; {hint}", ("protocol",), name)
        if own:
            both = "say either protocol or lists of verbs, not both."
            raise problems("Strategy", [((key,), both, data[key]) for key in own])
        return PROTOCOLS[name] | {key: value for key, value in data.items() if key != "protocol"}

    @model_validator(mode="after")
    def _sensible(self) -> "Strategy":
        found = list(self._mistakes())
        if found:
            raise problems("Strategy", found)
        return self

    def _mistakes(self) -> Iterator[Mistake]:
        if (self.every is not None) + self.after_actions + (self.steps is not None) > 1:
            yield (), "say one of every, after_actions and steps, not several.", None
        for where in ("plain", "action", "end"):
            verbs = getattr(self, where)
            if sum(isinstance(verb, Call) for verb in verbs) != (where == "action"):
                yield (where,), "a step that acts has one call; other lists have none.", None
            if where != "end" and not any(isinstance(verb, (Work, Call)) for verb in verbs):
                yield (where,), "a step needs work or a call.", None
            for index, verb in enumerate(verbs):
                following = [other.verb for other in verbs[index + 1 :]]
                if isinstance(verb, Query) and following[:1] != [Call.verb]:
                    yield (where, index), "a query stands right before the call.", None
                if isinstance(verb, Save) and verb.resume in {"call", "query"} - set(following):
                    sentence = f"resumes at a {verb.resume} that does not follow."
                    yield (where, index, "resume"), sentence, verb.resume

    def saves_after(self, step: int, name: str, acts: bool, steps: int) -> bool:
        """Whether the placement keeps the save that ends a step.

        Parameters
        ----------
        step, name : int, str
            The step's number, from 1, and its name.
        acts : bool
            Whether it acts in this run.
        steps : int
            How many steps the workload has.
        """
        if step == steps:
            return self.last
        if self.every is not None:
            return step % self.every == 0
        if self.steps is not None:
            return step in self.steps or name in self.steps
        return acts or not self.after_actions
