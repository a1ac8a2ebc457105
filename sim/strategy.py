"""Strategies of protection as data: what the worker does in a plain step and in an action step.

A strategy is two short lists of verbs. A save names the verb at which a recovery resumes: a checkpoint is
a program counter made durable. Engines know the verbs, never a strategy.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictInt, model_validator

from sim.laws import AnyLaw, Constant
from sim.validation import (
    Count,
    Key,
    Mistake,
    Model,
    NonNegative,
    Positive,
    allowed_instead,
    problem,
    problems,
)


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
    resume: Literal["next", "here", "call", "query", "park"] = Field(
        default="next",
        description="where a recovery resumes: the next step, this step, or this step's call, query or park",
    )
    lane: str | None = Field(
        default=None,
        min_length=1,
        description="name of a first-in-first-out lane behind the work; absent: wait",
    )
    holds: Literal["progress", "effect", "entry"] = Field(
        default="progress",
        description="what becomes durable with the progress: nothing, the action itself in the same "
        "transaction, or an entry from which a relay performs it",
    )
    delta: bool = Field(
        default=False,
        strict=True,
        description="whether it is usable only with the last save before it that is no delta",
    )
    scale: Positive = Field(default=1.0, description="factor on the store's latencies")

    @property
    def key(self) -> str:
        """Saves for different resume points are different decisions; the lane does not matter."""
        return f"save:{self.resume}:delta" if self.delta else f"save:{self.resume}"

    @property
    def acts(self) -> bool:
        """Whether the action is performed through the save."""
        return self.holds != "progress"


class Query(Verb):
    """In an attempt that resumes here: ask the receiver, and skip the call if it was performed."""

    verb = "query"


class Park(Verb):
    """In an attempt that resumes here: wait for a person, so that the run is stuck."""

    verb = "park"


class Drain(Verb):
    """Wait until the lanes are empty."""

    verb = "drain"


VERBS: dict[str, type[Verb]] = {cls.verb: cls for cls in (Work, Call, Save, Query, Park, Drain)}


class Lane(Model):
    """How saves go on behind the work."""

    bound: Count | None = Field(
        default=None, description="saves that may be under way; the worker waits to put in another"
    )
    batch: Count = Field(default=1, description="saves that are collected and written as one")
    linger: NonNegative | None = Field(
        default=None, description="after how long a batch is written that is not full, s; absent: at a drain"
    )

    def model_post_init(self, _: Any) -> None:
        """Refuse a batch that never becomes full."""
        if self.bound is not None and self.batch > self.bound:
            raise problem(f"must be at most the bound ({self.bound}).", ("batch",), self.batch)


class Relay(Model):
    """What performs the entries of an outbox: it sends each, waits for the answer, then marks it."""

    poll: AnyLaw = Field(
        default=Constant(value=1.0), description="from looking for entries to looking again, s"
    )
    mark: AnyLaw = Field(
        default=Constant(value=0.04), description="from the answer until the entry is marked, s"
    )
    life: AnyLaw | None = Field(
        default=None, description="until the relay dies, s; what it had sent and not marked it sends again"
    )
    restart: AnyLaw = Field(default=Constant(value=1.0), description="until it is there again, s")


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


Verbs = Annotated[tuple[Annotated[Verb, BeforeValidator(parse_verb)], ...], Field(max_length=100)]

_LANE = {"verb": "save", "lane": "background"}
_WRITES = {"verb": "save", "lane": "writes", "delta": True, "scale": 0.6}
_QUEUE = {"verb": "save", "lane": "checkpoints"}
_HERE = {"verb": "save", "resume": "here"}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "restart": {"plain": ["work"], "action": ["work", "call"]},
    "checkpoint": {"plain": ["work", "save"], "action": ["work", "call", "save"]},
    "save_first": {"plain": ["work", "save"], "action": ["work", "save", "call"]},
    "at_most_once": {"plain": ["save", "work"], "action": ["save", "work", "call"]},
    "async": {"plain": ["work", _LANE], "action": ["work", "call", _LANE], "end": ["drain"]},
    "buffered": {
        "plain": ["work", _LANE],
        "action": ["work", "call", _LANE],
        "end": ["drain"],
        "lanes": {"background": {"batch": 4, "linger": 1.0}},
    },
    "on_exit": {"plain": ["work"], "action": ["work", "call"], "end": ["save"]},
    "two_part": {
        "begin": [_HERE, _HERE],
        "plain": ["work", _WRITES, "save"],
        "action": ["work", "call", _WRITES, "save"],
        "if_nothing": "stuck",
    },
    "two_part_async": {
        "begin": [_HERE | _QUEUE, _HERE | _QUEUE],
        "plain": ["work", _WRITES, _QUEUE],
        "action": ["work", "call", _WRITES, _QUEUE],
        "end": ["drain"],
        "if_nothing": "stuck",
    },
    "intent_redo": {
        "plain": ["work", "save"],
        "action": ["work", {"verb": "save", "resume": "call"}, "call", "save"],
    },
    "intent_query": {
        "plain": ["work", "save"],
        "action": ["work", {"verb": "save", "resume": "query"}, "query", "call", "save"],
    },
    "intent_park": {
        "plain": ["work", "save"],
        "action": ["work", {"verb": "save", "resume": "park"}, "park", "call", "save"],
    },
    "transaction": {"plain": ["work", "save"], "action": ["work", {"verb": "save", "holds": "effect"}]},
    "outbox": {
        "plain": ["work", "save"],
        "action": ["work", {"verb": "save", "holds": "entry"}],
        "relay": {},
    },
    "memory": {"plain": ["work", "save"], "action": ["work", "call", "save"], "memory_only": True},
}
"""Strategies by name; a file can also spell out its own lists."""


class Strategy(Model):
    """How progress is protected, and whether actions carry a key.

    Either ``protocol`` names the lists, or ``plain``, ``action`` and ``end`` spell them out.
    """

    plain: Verbs = Field(description="what is done in a step that does not act")
    action: Verbs = Field(description="what is done in a step that acts")
    begin: Verbs = Field(default=(), description="what is done before the first step")
    end: Verbs = Field(default=(), description="what is done after the last step")
    lanes: dict[str, Lane] = Field(default={}, description="lanes that have a bound or write in batches")
    relay: Relay | None = Field(default=None, description="what performs the entries of an outbox")
    memory_only: bool = Field(
        default=False, strict=True, description="whether what is saved dies with the worker"
    )
    if_nothing: Literal["restart", "stuck"] = Field(
        default="restart",
        description="what a recovery does that finds nothing saved: begin anew, or give the run up",
    )
    every: Count | None = Field(default=None, description="save after every k-th step only")
    after_actions: bool = Field(default=False, strict=True, description="save after steps that act only")
    after_groups: bool = Field(
        default=False, strict=True, description="save after the last step of each group of steps only"
    )
    steps: tuple[str | StrictInt, ...] | None = Field(
        default=None, description="save after these steps only (names or numbers from 1)"
    )
    last: bool = Field(
        default=True, strict=True, description="save after the last step, whatever is said above"
    )
    key: Literal["none", "per_send", "per_attempt", "arguments", "run_step"] = Field(
        default="none",
        description="what the key of an action is made of, by which the receiver knows a repeat: nothing; "
        "each request anew; run, attempt and step; run and arguments; run and step",
    )
    run_id: Literal["given", "made"] = Field(
        default="given",
        description="whether the run's part of a key is given from outside, or made by a worker that finds "
        "nothing saved",
    )

    shorthand = ("protocol",)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        """Put a protocol's lists in the place of its name."""
        if not isinstance(data, dict):
            return data
        own = [key for key in ("plain", "action") if key in data]
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
        placed = [self.every is not None, self.after_actions, self.after_groups, self.steps is not None]
        if sum(placed) > 1:
            yield (), "say one of every, after_actions, after_groups and steps, not several.", None
        for where in ("begin", "plain", "action", "end"):
            verbs = getattr(self, where)
            if sum(isinstance(verb, Call) or _acts(verb) for verb in verbs) != (where == "action"):
                sentence = "a step that acts has one call, or one save that holds the effect or its entry; "
                yield (where,), f"{sentence}other lists have neither.", None
            if where in ("plain", "action") and not any(isinstance(verb, (Work, Call)) for verb in verbs):
                yield (where,), "a step needs work or a call.", None
            for index, verb in enumerate(verbs):
                following = [other.verb for other in verbs[index + 1 :]]
                if isinstance(verb, (Query, Park)) and following[:1] != [Call.verb]:
                    yield (where, index), f"a {verb.verb} stands right before the call.", None
                if isinstance(verb, Save):
                    yield from self._mistakes_of(verb, following, (where, index))
        used = {verb.lane for verb in self.verbs if isinstance(verb, Save)}
        for name in set(self.lanes) - used:
            yield ("lanes", name), f"no save is put in the lane {name!r}.", name
        holds = {verb.holds for verb in self.verbs if isinstance(verb, Save)}
        if "entry" in holds and self.relay is None:
            yield ("relay",), "an outbox needs a relay that performs its entries; say relay = {}.", None
        if "entry" not in holds and self.relay is not None:
            sentence = 'a relay performs entries of an outbox, and no save holds = "entry".'
            yield ("relay",), sentence, self.relay
        if self.memory_only and holds - {"progress"}:
            sentence = "what holds an effect or an entry outlives the worker; it cannot be in memory only."
            yield ("memory_only",), sentence, True
        if self.key != "none" and "effect" in holds:
            sentence = "an action in a transaction goes to no receiver that could know a key."
            yield ("key",), sentence, self.key

    def _mistakes_of(self, save: Save, following: list[str], at: Key) -> Iterator[Mistake]:
        """Find what is wrong with one save."""
        if save.resume in {"call", "query", "park"} - set(following):
            yield (*at, "resume"), f"resumes at a {save.resume} that does not follow.", save.resume
        if at[0] == "begin" and save.resume != "here":
            yield (*at, "resume"), "before the first step a save resumes here.", save.resume
        if save.acts and (save.lane is not None or save.resume != "next" or save.delta):
            sentence = "a save that holds the effect or an entry is waited for, complete, and resumes next."
            yield (*at, "holds"), sentence, save.holds

    @property
    def verbs(self) -> Verbs:
        """All verbs of all lists."""
        return (*self.begin, *self.plain, *self.action, *self.end)

    def saves_after(self, step: int, name: str, acts: bool, steps: int, ends_group: bool) -> bool:
        """Whether the placement keeps the save that ends a step.

        Parameters
        ----------
        step, name : int, str
            The step's number, from 1, and its name.
        acts, ends_group : bool
            Whether it acts in this run; whether it is the last one of its group.
        steps : int
            How many steps the workload has.
        """
        if step == steps:
            return self.last
        if self.every is not None:
            return step % self.every == 0
        if self.steps is not None:
            return step in self.steps or name in self.steps
        if self.after_groups:
            return ends_group
        return acts or not self.after_actions


def _acts(verb: Verb) -> bool:
    return isinstance(verb, Save) and verb.acts
