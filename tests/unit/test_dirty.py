"""Dirty: wrong input is refused where it stands, with a sentence that says what is wrong and what is right.

Every case has the one mistake that it names, the key at which it is to be reported, and a telling part of
the sentence. Nothing else may be reported.
"""

from math import inf, nan
from typing import Any

import pytest
from pydantic import ValidationError

from sim import Scenario
from sim.crashes import PROCESSES, Renewal
from sim.laws import LAWS, Constant, Uniform
from sim.strategy import PROTOCOLS, VERBS, Strategy
from sim.workload import Workload

READ = {"name": "read", "work": 10}
SEND = {"name": "send", "work": 20, "action": {}}
FILE = {"name": "file", "work": 30}
RIGHT: dict[str, Any] = {"workload": {"steps": [READ, SEND, FILE]}, "strategy": {"protocol": "checkpoint"}}

Place = tuple[str | int, ...]


def mistakes(given: dict[str, Any]) -> list[tuple[Place, str]]:
    """What is reported of a scenario: (place, sentence) of each mistake."""
    try:
        Scenario.model_validate(given)
    except ValidationError as error:
        return [(found["loc"], found["msg"]) for found in error.errors()]
    return []


def only_mistake(place: Place, part: str, **given: Any) -> None:
    found = mistakes(RIGHT | given)
    assert [at for at, _ in found] == [place], found
    assert part in found[0][1]


def brief(value: Any) -> str:
    """What of a case names it: the wrong value and the key, not the sentence."""
    if isinstance(value, tuple):
        return ".".join(map(str, value))
    return "" if isinstance(value, str) else str(value)


def test_what_is_right_is_accepted() -> None:
    assert not mistakes(RIGHT)


# ------------------------------------------------------------------------------------------------- laws

A_LAW = "must be a number of seconds or a table such as"
OF_SCIPY = "is no law of times: its values must be at least 0"
LAW_CASES: list[tuple[Any, Place, str]] = [
    (True, (), f"{A_LAW} {{ law = "),
    ("3", (), "not '3'."),
    ("exponential", (), "not 'exponential'."),
    (None, (), A_LAW),
    ([1.0], (), A_LAW),
    ({}, (), A_LAW),
    ({"mean": 3.0}, (), A_LAW),
    (-1, ("value",), "must be greater than or equal to 0, not -1."),
    (nan, ("value",), "must be a finite number, not nan."),
    (inf, ("value",), "must be a finite number, not inf."),
    ({"law": "constant", "value": "3"}, ("value",), "must be a valid number, not '3'."),
    ({"law": "expnential", "mean": 3.0}, ("law",), 'did you mean "exponential"? Allowed: constant, '),
    ({"law": "expnential", "mean": 3.0}, ("law",), "Any continuous law of scipy.stats works too."),
    ({"law": 3, "mean": 3.0}, ("law",), "3 is no law;"),
    ({"law": ["gamma"]}, ("law",), "['gamma'] is no law;"),
    ({"law": "poisson", "mu": 3.0}, ("law",), "'poisson' is no law;"),  # of scipy.stats, but of counts
    ({"law": "kstest"}, ("law",), "'kstest' is no law;"),  # of scipy.stats, but no law
    ({"law": "exponential"}, ("mean",), "this key is missing."),
    ({"law": "exponential", "mean": 0}, ("mean",), "must be greater than 0, not 0."),
    ({"law": "exponential", "mean": -3.0}, ("mean",), "must be greater than 0, not -3.0."),
    ({"law": "exponential", "mean": "3"}, ("mean",), "must be a valid number, not '3'."),
    ({"law": "exponential", "mean": True}, ("mean",), "must be a valid number, not True."),
    ({"law": "exponential", "mean": None}, ("mean",), "must be a valid number, not None."),
    ({"law": "exponential", "mean": nan}, ("mean",), "must be a finite number, not nan."),
    ({"law": "exponential", "mean": inf}, ("mean",), "must be a finite number, not inf."),
    ({"law": "exponential", "mean": 3, "shape": 1}, ("shape",), "unknown key; Allowed: mean."),
    ({"law": "weibull", "mean": 3, "shape": 1, "shpe": 1}, ("shpe",), 'mean "shape"? Allowed: mean, shape.'),
    ({"law": "weibull", "mean": 3, "shape": 0}, ("shape",), "must be greater than 0"),
    ({"law": "gamma", "mean": 3, "shape": -4}, ("shape",), "must be greater than 0"),
    ({"law": "gamma", "shape": 4}, ("mean",), "this key is missing."),
    ({"law": "lognormal", "median": 3, "sigma": 0}, ("sigma",), "must be greater than 0"),
    ({"law": "lognormal", "median": -3, "sigma": 1}, ("median",), "must be greater than 0"),
    ({"law": "uniform", "low": 3, "high": 1}, ("high",), "must be above low (3)."),
    ({"law": "uniform", "low": 3, "high": 3}, ("high",), "must be above low (3)."),
    ({"law": "uniform", "low": -1, "high": 3}, ("low",), "must be greater than or equal to 0"),
    ({"law": "uniform"}, ("high",), "this key is missing."),
    ({"law": "scaled", "of": 3, "by": 0}, ("by",), "must be greater than 0"),
    ({"law": "scaled", "by": 2}, ("of",), "this key is missing."),
    ({"law": "scaled", "of": {"law": "gama"}, "by": 2}, ("of", "law"), 'did you mean "gamma"?'),
    ({"law": "scaled", "of": {"law": "norm"}, "by": 2}, ("of", "law"), OF_SCIPY),
    ({"law": "norm"}, ("law",), f"scipy's norm with these parameters {OF_SCIPY} (they start at -inf)."),
    ({"law": "fisk", "c": 2.0, "loc": -1.0}, ("law",), f"{OF_SCIPY} (they start at -1)."),
    ({"law": "fisk", "c": -2.0}, ("law",), OF_SCIPY),
    ({"law": "fisk", "c": 2.0, "scale": 0}, ("law",), OF_SCIPY),
    ({"law": "fisk"}, ("c",), "this key is missing: scipy's fisk takes c, loc, scale."),
    ({"law": "burr12", "c": 2.0}, ("d",), "this key is missing: scipy's burr12 takes c, d, loc, scale."),
    ({"law": "fisk", "c": 2.0, "scal": 60}, ("scal",), 'did you mean "scale"? Allowed: c, loc, scale.'),
    ({"law": "fisk", "c": "2"}, ("c",), "must be a number, not '2'."),
    ({"law": "fisk", "c": True}, ("c",), "must be a number, not True."),
    ({"law": "fisk", "c": None}, ("c",), "must be a number, not None."),
]


@pytest.mark.parametrize(("value", "below", "part"), LAW_CASES, ids=brief)
def test_law(value: Any, below: Place, part: str) -> None:
    only_mistake(("store", "write", *below), part, store={"write": value})


@pytest.mark.parametrize("value", [nan, inf])
def test_law_of_scipy_with_an_endless_parameter(value: float) -> None:
    only_mistake(
        ("store", "write", "c"), "must be a finite number", store={"write": {"law": "fisk", "c": value}}
    )


def test_law_of_scipy_with_a_number_beyond_all_floats() -> None:
    only_mistake(("store", "write", "c"), "number", store={"write": {"law": "fisk", "c": 10**400}})


def test_scaled_by_a_wrong_number_and_of_a_wrong_law() -> None:
    found = mistakes(RIGHT | {"store": {"write": {"law": "scaled", "of": {"law": "norm"}, "by": "2"}}})
    assert [at for at, _ in found] == [("store", "write", "of", "law"), ("store", "write", "by")]


def test_from_python_too() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0, not -1"):
        Constant(value=-1)
    with pytest.raises(ValidationError, match=r"must be above low \(3\)"):
        Uniform(low=3, high=1)
    with pytest.raises(ValidationError, match='did you mean "law"'):
        Renewal(lwa=3)  # type: ignore[call-arg]


# ---------------------------------------------------------------------- every place that takes a time

TIMES: list[Place] = [
    ("store", "write"),
    ("store", "ack"),
    ("receiver", "prepare"),
    ("receiver", "request"),
    ("receiver", "response"),
    ("receiver", "query"),
    ("receiver", "lag"),
    ("downtime", "detection"),
    ("downtime", "restart"),
    ("downtime", "load"),
    ("crash", "law"),
    ("workload", "steps", 1, "work"),
    ("workload", "steps", 1, "tool"),
]


@pytest.mark.parametrize("wrong", [True, "3", -1e-9, nan, inf, [1], {}], ids=brief)
@pytest.mark.parametrize("place", TIMES, ids=lambda place: ".".join(map(str, place)))
def test_every_time_is_a_law(place: Place, wrong: Any) -> None:
    match place:
        case ("workload", *_, key):
            given = {"workload": {"steps": [READ, SEND | {key: wrong}, FILE]}}
        case ("crash", _):
            given = {"crash": {"process": "renewal", "law": wrong}}
        case (part, key):
            given = {part: {key: wrong}}
    found = mistakes(RIGHT | given)
    # A number stands for a constant, whose value it is.
    assert [at for at, _ in found] == [(*place, "value") if isinstance(wrong, float) else place], found


# -------------------------------------------------------------------------------------- names and keys

TABLES: list[tuple[Place, str, str]] = [
    ((), "stor", "store"),
    (("store",), "wite", "write"),
    (("receiver",), "respnse", "response"),
    (("downtime",), "detecton", "detection"),
    (("limits",), "attempt", "attempts"),
    (("workload",), "work_scal", "work_scale"),
    (("workload", "steps", 1), "tokns", "tokens"),
    (("workload", "steps", 1, "action"), "probabilty", "probability"),
    (("strategy",), "evry", "every"),
    (("strategy", "action", 2), "resme", "resume"),
    (("crash",), "exposre", "exposure"),
]


@pytest.mark.parametrize(("table", "key", "nearest"), TABLES, ids=lambda x: x if isinstance(x, str) else "")
def test_unknown_key(table: Place, key: str, nearest: str) -> None:
    wrong = {key: 1}
    given: dict[str, Any]
    match table:
        case ():
            given = wrong
        case ("strategy",):
            given = {"strategy": {"protocol": "checkpoint"} | wrong}
        case ("strategy", *_):
            verbs = ["work", "call", {"verb": "save"} | wrong]
            given = {"strategy": {"plain": ["work"], "action": verbs}}
        case ("crash",):
            given = {"crash": {"process": "uniform_time"} | wrong}
        case ("workload",):
            given = {"workload": RIGHT["workload"] | wrong}
        case ("workload", "steps", _):
            given = {"workload": {"steps": [READ, SEND | wrong]}}
        case ("workload", "steps", _, _):
            given = {"workload": {"steps": [READ, SEND | {"action": wrong}]}}
        case (part,):
            given = {part: wrong}
    only_mistake((*table, key), f'unknown key; did you mean "{nearest}"? Allowed: ', **given)


def test_unknown_key_that_is_near_nothing() -> None:
    allowed = "title, source, write, ack, growth, slots, torn"
    only_mistake(("store", "zzz"), f"unknown key; Allowed: {allowed}.", store={"zzz": 1})


@pytest.mark.parametrize("name", [n for n in [*LAWS, *PROCESSES, *PROTOCOLS, *VERBS] if len(n) > 2])
def test_a_slip_in_a_name_is_answered_with_the_name(name: str) -> None:
    slip = name[:1] + name[2:]
    told = f'did you mean "{name}"? Allowed: '
    if name in LAWS:
        only_mistake(("store", "ack", "law"), told, store={"ack": {"law": slip}})
    elif name in PROCESSES:
        only_mistake(("crash", "process"), told, crash={"process": slip})
        only_mistake(("crash", "process"), told, crash=slip)
    elif name in PROTOCOLS:
        only_mistake(("strategy", "protocol"), told, strategy={"protocol": slip})
    else:
        strategy = {"plain": ["work", slip], "action": ["call"]}
        only_mistake(("strategy", "plain", 1, "verb"), told, strategy=strategy)


@pytest.mark.parametrize("part", ["workload", "strategy", "store", "receiver", "downtime", "limits"])
@pytest.mark.parametrize("wrong", [3, None, [1]], ids=brief)
def test_no_table_where_a_table_belongs(part: str, wrong: Any) -> None:
    only_mistake((part,), "must be a valid dictionary", **{part: wrong})


def test_missing_parts() -> None:
    assert mistakes({}) == [
        (("workload",), "this key is missing."),
        (("strategy",), "this key is missing."),
    ]


# --------------------------------------------------------------------------------------------- workload

STEP: list[tuple[dict[str, Any], Place, str]] = [
    ({"name": ""}, ("name",), "at least 1 character"),
    ({"name": 1}, ("name",), "must be a valid string, not 1."),
    ({"tokens": -1}, ("tokens",), "must be greater than or equal to 0, not -1."),
    ({"tokens": True}, ("tokens",), "must be a valid number, not True."),
    ({"tokens": "5"}, ("tokens",), "must be a valid number, not '5'."),
    ({"tokens": nan}, ("tokens",), "must be a finite number"),
    ({"tokens": inf}, ("tokens",), "must be a finite number"),
    ({"action": True}, ("action",), "must be a valid dictionary"),
    ({"action": {"probability": 1.01}}, ("action", "probability"), "must be less than or equal to 1"),
    ({"action": {"probability": -0.01}}, ("action", "probability"), "must be greater than or equal to 0"),
    ({"action": {"probability": True}}, ("action", "probability"), "must be a valid number, not True."),
    ({"action": {"probability": "1"}}, ("action", "probability"), "must be a valid number, not '1'."),
    ({"action": {"probability": nan}}, ("action", "probability"), "must be a finite number"),
]


@pytest.mark.parametrize(("change", "below", "part"), STEP, ids=brief)
def test_step(change: dict[str, Any], below: Place, part: str) -> None:
    steps = [READ, SEND | change, FILE]
    only_mistake(("workload", "steps", 1, *below), part, workload={"steps": steps})


@pytest.mark.parametrize(
    ("workload", "below", "part"),
    [
        ({}, ("steps",), "this key is missing."),
        ({"steps": []}, ("steps",), "at least one step"),
        ({"steps": "read"}, ("steps",), "not 'read'."),
        ({"steps": 3}, ("steps",), "not 3."),
        ({"steps": [READ, 3]}, ("steps", 1), "not 3."),
        ({"steps": [READ, {"work": 3}]}, ("steps", 1, "name"), "this key is missing."),
        ({"steps": [READ, {"name": "send"}]}, ("steps", 1, "work"), "this key is missing."),
        ({"steps": [READ, "send"]}, ("steps", 1, "work"), "this key is missing."),
        ({"steps": [READ, SEND, READ]}, ("steps", 2, "name"), "two steps are named 'read'."),
        ({"steps": [READ], "work_scale": 0}, ("work_scale",), "must be greater than 0"),
        ({"steps": [READ], "work_scale": True}, ("work_scale",), "must be a valid number"),
        ({"steps": [READ], "work_scale": inf}, ("work_scale",), "must be a finite number"),
        ({"steps": [READ], "title": 3}, ("title",), "must be a valid string"),
        ({"steps": [READ], "default": [3]}, ("default",), "must be a table of what every step has."),
    ],
    ids=brief,
)
def test_workload(workload: dict[str, Any], below: Place, part: str) -> None:
    only_mistake(("workload", *below), part, workload=workload)


@pytest.mark.parametrize(
    ("default", "place", "part"),
    [
        ({"work": -1}, ("work", "value"), "not -1."),
        ({"work": {"law": "gama"}}, ("work", "law"), 'did you mean "gamma"?'),
        ({"work": {"law": "gamma", "mean": 3}}, ("work", "shape"), "this key is missing."),
        ({"work": 1, "tokens": "5"}, ("tokens",), "must be a valid number"),
        ({"work": 1, "tool": True}, ("tool",), A_LAW),
        ({"work": 1, "action": {"probability": 2}}, ("action", "probability"), "less than or equal to 1"),
    ],
    ids=brief,
)
def test_a_mistake_in_the_default_is_reported_once_and_there(
    default: dict[str, Any], place: Place, part: str
) -> None:
    whole = {"name": "own", "work": 2, "tokens": 3, "tool": 4, "action": {}}
    workload = {"default": default, "steps": [whole, "a", "b", {"name": "c"}]}
    only_mistake(("workload", "default", *place), part, workload=workload)


def test_an_unknown_key_in_the_default_is_reported_once_and_there() -> None:
    workload = {"default": {"wrok": 1}, "steps": [READ, SEND]}
    place = ("workload", "default", "wrok")
    found = mistakes(RIGHT | {"workload": workload})
    assert [(at, 'did you mean "work"?' in text) for at, text in found if "wrok" in at] == [(place, True)]


@pytest.mark.parametrize("steps", [["a"], ["a", "b", "c"]], ids=len)
def test_a_mistake_in_the_default_of_all_steps_is_reported_once(steps: list[str]) -> None:
    workload = {"default": {"work": -1}, "steps": steps}
    only_mistake(("workload", "default", "work", "value"), "not -1.", workload=workload)


def test_what_a_step_says_itself_is_reported_at_the_step() -> None:
    workload = {"default": {"work": -1}, "steps": [READ, {"name": "a", "work": -2}, "b", "c"]}
    found = mistakes(RIGHT | {"workload": workload})
    assert [at for at, _ in found] == [
        ("workload", "steps", 1, "work", "value"),
        ("workload", "default", "work", "value"),
    ]


def test_a_step_may_take_back_a_wrong_default() -> None:
    assert not mistakes(RIGHT | {"workload": {"default": {"work": -1}, "steps": [READ, SEND]}})


def test_what_the_default_lacks_is_missing_in_each_step() -> None:
    found = mistakes(RIGHT | {"workload": {"default": {"tokens": 1}, "steps": [READ, "a", "b"]}})
    assert [at for at, _ in found] == [("workload", "steps", 1, "work"), ("workload", "steps", 2, "work")]


def test_a_default_leaves_the_file_as_it_was() -> None:
    given = {"default": {"work": 1}, "steps": ["a", {"name": "b", "tokens": 3}]}
    Workload.model_validate(given)
    assert given == {"default": {"work": 1}, "steps": ["a", {"name": "b", "tokens": 3}]}


# --------------------------------------------------------------------------------------------- strategy


def verbs(*action: Any, plain: Any = ("work",), **more: Any) -> dict[str, Any]:
    return {"plain": list(plain), "action": list(action)} | more


def save(**more: Any) -> dict[str, Any]:
    return {"verb": "save"} | more


SEVERAL = "say one of every, after_actions, after_groups and steps, not several."
KEYS = "must be 'none', 'per_send', 'per_attempt', 'arguments' or 'run_step', not "
BOTH = "say either protocol or lists of verbs, not both."
ONE_CALL = "a step that acts has one call, or one save that holds the effect or its entry;"
BEFORE_CALL = "a query stands right before the call."
STRATEGIES: list[tuple[dict[str, Any], Place, str]] = [
    ({}, ("protocol",), "this key is missing. Allowed: restart, checkpoint, "),
    ({"protocol": 3}, ("protocol",), "3 is no protocol;"),
    ({"protocol": ["restart"]}, ("protocol",), "is no protocol;"),
    ({"protocol": "restart", "plain": ["work"]}, ("plain",), BOTH),
    ({"protocol": "restart", "action": ["call"]}, ("action",), BOTH),
    ({"plain": ["work"]}, ("action",), "this key is missing."),
    ({"action": ["call"]}, ("plain",), "this key is missing."),
    ({"protocol": "checkpoint", "every": 0}, ("every",), "must be greater than or equal to 1, not 0."),
    ({"protocol": "checkpoint", "every": 2.5}, ("every",), "must be a valid integer"),
    ({"protocol": "checkpoint", "every": "2"}, ("every",), "must be a valid integer, not '2'."),
    ({"protocol": "checkpoint", "every": True}, ("every",), "must be a valid integer, not True."),
    ({"protocol": "checkpoint", "after_actions": 1}, ("after_actions",), "must be a valid boolean, not 1."),
    ({"protocol": "checkpoint", "last": "no"}, ("last",), "must be a valid boolean, not 'no'."),
    (
        {"protocol": "checkpoint", "key": "run"},
        ("key",),
        KEYS + "'run'.",
    ),
    (
        {"protocol": "checkpoint", "key": True},
        ("key",),
        KEYS + "True.",
    ),
    ({"protocol": "checkpoint", "steps": "read"}, ("steps",), "not 'read'."),
    ({"protocol": "checkpoint", "steps": ["reed"]}, ("steps", 0), 'did you mean "read"? Allowed: read, send'),
    ({"protocol": "checkpoint", "steps": ["read", 4]}, ("steps", 1), "Or a number from 1 to 3."),
    ({"protocol": "checkpoint", "steps": [0]}, ("steps", 0), "0 is no step of the workload;"),
    ({"protocol": "checkpoint", "steps": [-1]}, ("steps", 0), "-1 is no step of the workload;"),
    ({"protocol": "checkpoint", "steps": ["1"]}, ("steps", 0), "'1' is no step of the workload;"),
    ({"protocol": "checkpoint", "every": 2, "after_actions": True}, (), SEVERAL),
    ({"protocol": "checkpoint", "every": 2, "steps": ["read"]}, (), SEVERAL),
    ({"protocol": "checkpoint", "after_actions": True, "steps": ["read"]}, (), SEVERAL),
    ({"protocol": "checkpoint", "every": 1, "after_actions": True, "steps": []}, (), SEVERAL),
    (verbs("work"), ("action",), ONE_CALL),
    (verbs("call", "work", "call"), ("action",), ONE_CALL),
    (verbs("call", plain=["work", "call"]), ("plain",), ONE_CALL),
    (verbs("call", end=["call"]), ("end",), ONE_CALL),
    (verbs("call", plain=["save"]), ("plain",), "a step needs work or a call."),
    (verbs("call", plain=[]), ("plain",), "a step needs work or a call."),
    (verbs("query", "work", "call"), ("action", 0), BEFORE_CALL),
    (verbs("work", "call", "query"), ("action", 2), BEFORE_CALL),
    (verbs("work", "query", "query", "call"), ("action", 1), BEFORE_CALL),
    (verbs("work", "query", "save", "call"), ("action", 1), BEFORE_CALL),
    (verbs("call", plain=["work", "query"]), ("plain", 1), BEFORE_CALL),
    (verbs("call", end=["query"]), ("end", 0), BEFORE_CALL),
    (
        verbs("work", "call", save(resume="call")),
        ("action", 2, "resume"),
        "resumes at a call that does not follow.",
    ),
    (
        verbs("work", save(resume="query"), "call"),
        ("action", 1, "resume"),
        "resumes at a query that does not follow.",
    ),
    (
        verbs("call", plain=["work", save(resume="call")]),
        ("plain", 1, "resume"),
        "resumes at a call that does not follow.",
    ),
    (verbs("call", end=[save(resume="query")]), ("end", 0, "resume"), "resumes at a query"),
    (
        verbs("call", save(resume="nxt")),
        ("action", 1, "resume"),
        "must be 'next', 'here', 'call', 'query'",
    ),
    (verbs("call", save(lane=3)), ("action", 1, "lane"), "must be a valid string, not 3."),
    (verbs("call", {"verb": "work", "of": 1}), ("action", 1, "of"), "unknown key;"),
    (verbs("call", {"resume": "next"}), ("action", 1), 'must be a verb such as "work" or { verb = '),
    (verbs("call", 3), ("action", 1), "must be a verb such as"),
    (verbs("call", {"verb": 3}), ("action", 1, "verb"), "3 is no verb;"),
    ({"plain": "work", "action": ["call"]}, ("plain",), "not 'work'."),
]


@pytest.mark.parametrize(("strategy", "below", "part"), STRATEGIES, ids=brief)
def test_strategy(strategy: dict[str, Any], below: Place, part: str) -> None:
    only_mistake(("strategy", *below), part, strategy=strategy)


def test_every_protocol_is_sensible_by_itself() -> None:
    for name, lists in PROTOCOLS.items():
        spelled_out = Strategy.model_validate(lists)
        assert spelled_out == Strategy.model_validate({"protocol": name})


def test_verb_whose_name_is_a_list() -> None:
    only_mistake(("strategy", "action", 0, "verb"), "is no verb", strategy=verbs({"verb": ["call"]}))


@pytest.mark.parametrize(
    "step",
    [
        None,
        1.5,
        ["read"],
        True,
        2.0,
    ],
)
def test_step_that_is_neither_name_nor_number(step: Any) -> None:
    found = mistakes(RIGHT | {"strategy": {"protocol": "checkpoint", "steps": [step]}})
    assert {at[:3] for at, _ in found} == {("strategy", "steps", 0)}


def test_lane_without_a_name() -> None:
    assert mistakes(RIGHT | {"strategy": verbs("call", save(lane=""))})


def test_slip_in_the_key_protocol() -> None:
    found = mistakes(RIGHT | {"strategy": {"protocl": "restart"}})
    assert (("strategy", "protocl"), True) in [(at, 'did you mean "protocol"' in text) for at, text in found]


def test_slip_in_the_key_default() -> None:
    workload = {"steps": [READ], "defalt": {"work": 1}}
    only_mistake(("workload", "defalt"), 'did you mean "default"', workload=workload)


# ---------------------------------------------------------------------------------------------- crashes

NO_WEIGHTS = "so phases cannot be weighed."
OWN_CLOCK = 'needs clock = "host": a worker\'s own clock begins anew with each attempt.'
HEAVY = {"exposure": {"write": 2.0}}
RENEWAL = {"process": "renewal", "law": {"law": "exponential", "mean": 3.0}}
AGEING = RENEWAL | {"law": {"law": "exponential", "mean": 3.0}, "clock": "host", "renew": "never"}
CRASHES: list[tuple[Any, Place, str]] = [
    (3, (), 'must be a table such as { process = "uniform_time" }. Allowed: none, at, '),
    (None, (), "must be a table"),
    ({}, (), "must be a table"),
    ({"law": 3.0}, (), "must be a table"),
    ({"process": 3}, ("process",), "3 is no crash process;"),
    ({"process": ["at"]}, ("process",), "is no crash process;"),
    ("renewal", ("law",), "this key is missing."),
    ("uniform_step", ("gap_share",), "this key is missing."),
    ("at", ("times",), "this key is missing."),
    ({"process": "at", "times": []}, ("times",), "at least 1 item"),
    ({"process": "at", "times": 3}, ("times",), "not 3."),
    ({"process": "at", "times": [3, -1]}, ("times", 1), "must be greater than or equal to 0"),
    ({"process": "at", "times": [3, nan]}, ("times", 1), "must be a finite number"),
    ({"process": "at", "times": [3, inf]}, ("times", 1), "must be a finite number"),
    ({"process": "at", "times": [3, "4"]}, ("times", 1), "must be a valid number"),
    ({"process": "at", "times": [3, True]}, ("times", 1), "must be a valid number"),
    ({"process": "at", "times": [3]} | HEAVY, ("exposure",), f"the instants are fixed, {NO_WEIGHTS}"),
    ({"process": "none"} | HEAVY, ("exposure",), f"there is no crash, {NO_WEIGHTS}"),
    ({"process": "uniform_step", "gap_share": 1.01}, ("gap_share",), "must be less than or equal to 1"),
    ({"process": "uniform_step", "gap_share": -0.1}, ("gap_share",), "must be greater than or equal to 0"),
    ({"process": "uniform_step", "gap_share": True}, ("gap_share",), "must be a valid number"),
    ({"process": "uniform_step", "gap_share": nan}, ("gap_share",), "must be a finite number"),
    (
        {"process": "uniform_step", "gap_share": 0.1} | HEAVY,
        ("exposure",),
        f"the step is chosen, not the instant, {NO_WEIGHTS}",
    ),
    ({"process": "uniform_time", "gap_share": 0.1}, ("gap_share",), "unknown key;"),
    ({"process": "uniform_time", "exposure": 3}, ("exposure",), "must be a valid dictionary"),
    ({"process": "uniform_time", "exposure": {"write": -1}}, ("exposure", "write"), "not -1."),
    ({"process": "uniform_time", "exposure": {"write": "2"}}, ("exposure", "write"), "not '2'."),
    ({"process": "uniform_time", "exposure": {"write": True}}, ("exposure", "write"), "not True."),
    ({"process": "uniform_time", "exposure": {"write": nan}}, ("exposure", "write"), "finite number"),
    ({"process": "uniform_time", "exposure": {"write": inf}}, ("exposure", "write"), "finite number"),
    ({"process": "uniform_time", "exposure": {"write": 2e6}}, ("exposure", "write"), "or equal to 1000000"),
    ({"process": "renewal", "law": {"law": "weibul"}}, ("law", "law"), 'did you mean "weibull"?'),
    (RENEWAL | {"clock": "hots"}, ("clock",), "must be 'process' or 'host', not 'hots'."),
    (RENEWAL | {"renew": "always"}, ("renew",), "must be 'crash' or 'never', not 'always'."),
    (RENEWAL | {"ages_in_downtime": 1}, ("ages_in_downtime",), "must be a valid boolean, not 1."),
    (RENEWAL | {"renew": "never"}, ("renew",), OWN_CLOCK),
    (RENEWAL | {"renew": "never", "clock": "process"}, ("renew",), OWN_CLOCK),
    (RENEWAL | {"ages_in_downtime": True}, ("ages_in_downtime",), OWN_CLOCK),
    (
        RENEWAL | {"clock": "host", "ages_in_downtime": True} | HEAVY,
        ("exposure",),
        f"a host that ages in downtime runs on the wall clock, {NO_WEIGHTS}",
    ),
    (AGEING | {"law": 3.0}, ("law",), "is bounded:"),
    (AGEING | {"law": {"law": "uniform", "high": 3.0}}, ("law",), "is bounded:"),
    (AGEING | {"law": {"law": "truncexpon", "b": 3.0}}, ("law",), "is bounded:"),
    (RENEWAL | {"law": 0, "clock": "host", "ages_in_downtime": True}, ("law",), "a mean above 0"),
]


@pytest.mark.parametrize(("crash", "below", "part"), CRASHES, ids=brief)
def test_crash(crash: Any, below: Place, part: str) -> None:
    only_mistake(("crash", *below), part, crash=crash)


@pytest.mark.parametrize(
    "crash",
    [
        {"process": "uniform_time"} | HEAVY,
        RENEWAL | HEAVY,
        AGEING | HEAVY,
        AGEING | {"ages_in_downtime": True},
        AGEING | {"law": {"law": "lognormal", "median": 3.0, "sigma": 1.0}},
        AGEING | {"law": {"law": "gamma", "mean": 3.0, "shape": 4}},
        AGEING | {"law": {"law": "fisk", "c": 2.0}},
        RENEWAL | {"law": 0},
        RENEWAL | {"clock": "host", "ages_in_downtime": True, "exposure": {}},
        {"process": "at", "times": [3], "exposure": {}},
    ],
    ids=brief,
)
def test_crash_that_makes_sense(crash: dict[str, Any]) -> None:
    assert not mistakes(RIGHT | {"crash": crash})


def test_exposure_of_an_unknown_phase() -> None:
    crash = {"process": "uniform_time", "exposure": {"wrte": 2}}
    only_mistake(("crash", "exposure", "wrte"), 'did you mean "write"?', crash=crash)


# ------------------------------------------------------------------------------- what does not go together

CHECKPOINT = {"protocol": "checkpoint"}
LANE = {"verb": "save", "lane": "a"}
ASYNC = {"protocol": "async"}
EFFECT = {"verb": "save", "holds": "effect"}
ENTRY = {"verb": "save", "holds": "entry"}
WAITED_FOR = "a save that holds the effect or an entry is waited for, complete, and resumes next."
FOR_EVER = "is waited for for ever; set a time-out."
TRIES = 'must be a whole number from 1 on, or "forever", not '
NO_LEASE = "means nothing without a lease."
OUTAGES = {"up": 100, "down": 10}
STALLS = {"every": 100, "lasts": 10}
TOGETHER: list[tuple[dict[str, Any], Place, str]] = [
    (
        {"workload": {"steps": [READ]}, "strategy": CHECKPOINT | {"key": "run_step"}},
        ("strategy", "key"),
        "no step of the workload acts, so nothing carries a key.",
    ),
    (
        {"strategy": {"protocol": "transaction", "key": "run_step"}},
        ("strategy", "key"),
        "an action in a transaction goes to no receiver that could know a key.",
    ),
    ({"strategy": CHECKPOINT | {"run_id": "made"}}, ("strategy", "run_id"), "without keys it makes no"),
    ({"receiver": {"keys": {"ttl": 0}}}, ("receiver", "keys", "ttl"), "must be greater than 0, not 0."),
    ({"receiver": {"keys": {"ttl": -1}}}, ("receiver", "keys", "ttl"), "must be greater than 0, not -1."),
    ({"receiver": {"keys": {"claim_expires": 0}}}, ("receiver", "keys", "claim_expires"), "greater than 0"),
    (
        {"receiver": {"keys": {"forgets": 1.5}}, "client": {"timeout": 9}},
        ("receiver", "keys", "forgets"),
        "less than or equal to 1",
    ),
    (
        {"strategy": CHECKPOINT | {"relay": {}}},
        ("strategy", "relay"),
        'a relay performs entries of an outbox, and no save holds = "entry".',
    ),
    (
        {"strategy": verbs("work", ENTRY)},
        ("strategy", "relay"),
        "an outbox needs a relay that performs its entries; say relay = {}.",
    ),
    (
        {"strategy": {"protocol": "intent_query"}, "receiver": {"can_be_asked": False}},
        ("strategy", "action"),
        "a query needs a receiver that can be asked.",
    ),
    ({"receiver": {"request_lost": 0.1}}, ("client", "timeout"), f"(request_lost) {FOR_EVER}"),
    ({"receiver": {"answer_lost": 0.1}}, ("client", "timeout"), f"(answer_lost) {FOR_EVER}"),
    ({"receiver": {"keys": {"forgets": 0.1}}}, ("client", "timeout"), f"(keys.forgets) {FOR_EVER}"),
    (
        {"receiver": {"outages": OUTAGES, "during_outage": "silence"}},
        ("client", "timeout"),
        f"(outages) {FOR_EVER}",
    ),
    ({"provider": OUTAGES | {"up": 0}}, ("provider", "up"), "needs a finite mean above 0."),
    (
        {"provider": OUTAGES | {"down": {"law": "lomax", "c": 0.5}}},
        ("provider", "down"),
        "needs a finite mean above 0.",
    ),
    (
        {"supervision": {"lease": 60}, "downtime": {"detection": 5}},
        ("downtime", "detection"),
        "with a lease a death is noticed when the lease runs out; leave this out.",
    ),
    (
        {"supervision": {}},
        ("supervision",),
        "say lease or step_timeout: nothing else takes a worker for dead.",
    ),
    (
        {"supervision": {"lease": 60, "renew": 60}},
        ("supervision", "renew"),
        "must be shorter than the lease.",
    ),
    ({"supervision": {"step_timeout": 60, "stalls": STALLS}}, ("supervision", "stalls"), NO_LEASE),
    ({"supervision": {"step_timeout": 60, "renew": 5}}, ("supervision", "renew"), NO_LEASE),
    (
        {"strategy": ASYNC | {"lanes": {"background": {"bound": 2, "batch": 3}}}},
        ("strategy", "lanes", "background", "batch"),
        "must be at most the bound (2).",
    ),
    (
        {"strategy": ASYNC | {"lanes": {"backgruond": {"bound": 2}}}},
        ("strategy", "lanes", "backgruond"),
        "no save is put in the lane 'backgruond'.",
    ),
    (
        {"strategy": CHECKPOINT | {"begin": ["save"]}},
        ("strategy", "begin", 0, "resume"),
        "before the first step a save resumes here.",
    ),
    ({"strategy": verbs("work", EFFECT | {"lane": "a"})}, ("strategy", "action", 1, "holds"), WAITED_FOR),
    ({"strategy": verbs("work", EFFECT | {"delta": True})}, ("strategy", "action", 1, "holds"), WAITED_FOR),
    (
        {"strategy": verbs("work", EFFECT | {"resume": "here"})},
        ("strategy", "action", 1, "holds"),
        WAITED_FOR,
    ),
    ({"strategy": verbs("work", EFFECT, "call")}, ("strategy", "action"), ONE_CALL),
    ({"strategy": verbs("work", "call", plain=["work", EFFECT])}, ("strategy", "plain"), ONE_CALL),
    (
        {"strategy": {"protocol": "transaction", "memory_only": True}},
        ("strategy", "memory_only"),
        "what holds an effect or an entry outlives the worker; it cannot be in memory only.",
    ),
    ({"strategy": CHECKPOINT | {"every": 2, "after_groups": True}}, ("strategy",), SEVERAL),
    (
        {"strategy": verbs("park", "work", "call")},
        ("strategy", "action", 0),
        "a park stands right before the",
    ),
    (
        {"strategy": verbs("work", save(resume="park"), "call")},
        ("strategy", "action", 1, "resume"),
        "resumes at a park that does not follow.",
    ),
    ({"client": {"timeout": 0}}, ("client", "timeout"), "must be greater than 0, not 0."),
    *(
        ({"client": {"retries": [{"tries": tries}]}}, ("client", "retries", 0, "tries"), f"{TRIES}{tries!r}.")
        for tries in (0, 2.5, True, "always", None)
    ),
    (
        {"client": {"retries": [{"factor": 0.5}]}},
        ("client", "retries", 0, "factor"),
        "or equal to 1, not 0.5.",
    ),
    ({"store": {"slots": 3}}, ("store", "slots"), "must be 1 or 2, not 3."),
    ({"store": {"growth": -1}}, ("store", "growth"), "must be greater than or equal to 0, not -1."),
]


@pytest.mark.parametrize(("given", "place", "part"), TOGETHER, ids=brief)
def test_what_means_nothing_together_is_refused_with_the_reason(
    given: dict[str, Any], place: Place, part: str
) -> None:
    only_mistake(place, part, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"receiver": {"request_lost": 0.1}, "client": {"timeout": 9}},
        {"supervision": {"lease": 60, "renew": 59, "stalls": STALLS}, "downtime": {"restart": 5}},
        {"strategy": ASYNC | {"lanes": {"background": {"bound": 2, "batch": 2}}}},
        {"strategy": {"protocol": "outbox", "key": "run_step"}},
        {"strategy": CHECKPOINT | {"begin": [save(resume="here"), LANE | {"resume": "here"}]}},
        {"receiver": {"outages": OUTAGES}},
    ],
)
def test_what_goes_together_is_accepted(given: dict[str, Any]) -> None:
    assert not mistakes(RIGHT | given)


# ----------------------------------------------------------------------------------- the rest, and many


@pytest.mark.parametrize(
    ("given", "place", "part"),
    [
        ({"limits": {"attempts": 0}}, ("limits", "attempts"), "must be greater than or equal to 1"),
        ({"limits": {"attempts": 2.5}}, ("limits", "attempts"), "must be a valid integer"),
        ({"limits": {"attempts": True}}, ("limits", "attempts"), "must be a valid integer"),
        ({"limits": {"makespan": 0}}, ("limits", "makespan"), "must be greater than 0"),
        ({"limits": {"makespan": -1}}, ("limits", "makespan"), "must be greater than 0"),
        ({"limits": {"makespan": inf}}, ("limits", "makespan"), "must be a finite number"),
        ({"limits": {"makespan": nan}}, ("limits", "makespan"), "must be a finite number"),
        ({"limits": {"makespan": "9"}}, ("limits", "makespan"), "must be a valid number"),
        ({"limits": {"makespan": 0.9e-9}}, ("limits", "makespan"), "must be at least a nanosecond."),
        ({"frozen": 1}, ("frozen",), "must be a valid boolean, not 1."),
        ({"frozen": "yes"}, ("frozen",), "must be a valid boolean, not 'yes'."),
    ],
    ids=brief,
)
def test_scenario(given: dict[str, Any], place: Place, part: str) -> None:
    only_mistake(place, part, **given)


def test_all_mistakes_are_reported_at_once() -> None:
    found = mistakes(
        {
            "workload": {
                "default": {"tokens": -1},
                "steps": [READ | {"tokens": 1}, SEND | {"work": -1, "tool": "x"}, {"name": "c", "wrok": 1}],
            },
            "strategy": {"protocol": "checkpoint", "every": 0, "last": 1, "evry": 2},
            "crash": {"process": "renewal", "law": {"law": "weibull", "mean": 0, "shap": 1}, "clock": "x"},
            "store": {"write": True, "ack": nan},
            "receiver": {"prepare": {"law": "norm"}, "lag": {"law": "fisk"}},
            "downtime": {"load": {"law": "uniform", "low": 3, "high": 1}},
            "limits": {"attempts": 0, "makespan": -1},
            "frozen": 3,
            "more": 1,
        }
    )
    assert sorted(map(str, (at for at, _ in found))) == sorted(
        map(
            str,
            [
                ("workload", "default", "tokens"),
                ("workload", "steps", 1, "work", "value"),
                ("workload", "steps", 1, "tool"),
                ("workload", "steps", 2, "work"),
                ("workload", "steps", 2, "wrok"),
                ("strategy", "every"),
                ("strategy", "last"),
                ("strategy", "evry"),
                ("crash", "law", "mean"),
                ("crash", "law", "shape"),
                ("crash", "law", "shap"),
                ("crash", "clock"),
                ("store", "write"),
                ("store", "ack", "value"),
                ("receiver", "prepare", "law"),
                ("receiver", "lag", "c"),
                ("downtime", "load", "high"),
                ("limits", "attempts"),
                ("limits", "makespan"),
                ("frozen",),
                ("more",),
            ],
        )
    )


@pytest.mark.parametrize(
    "given",
    [
        {"strategy": {"protocol": "checkpoint", "steps": ["x", "y"]}},
        {"strategy": {"protocol": "checkpoint", "steps": ["x"]}, "limits": {"makespan": 1e-12}},
        {"strategy": verbs("work", plain=["save"])},
        {"strategy": {"protocol": "restart", "plain": ["work"], "action": ["call"]}},
        {"workload": {"steps": [READ, SEND, READ, SEND]}},
        {"store": {"write": {"law": "fisk", "c": "x", "scal": 1}}},
    ],
    ids=brief,
)
def test_mistakes_between_keys_are_reported_at_once_too(given: dict[str, Any]) -> None:
    assert len(mistakes(RIGHT | given)) == 2


def test_braces_in_what_was_given_stay_as_they_are() -> None:
    only_mistake(("strategy", "protocol"), "'{x}' is no protocol;", strategy={"protocol": "{x}"})


def test_a_scenario_does_not_change() -> None:
    scenario = Scenario.model_validate(RIGHT)
    with pytest.raises(ValidationError, match="frozen"):
        scenario.frozen = True
    with pytest.raises(ValidationError, match="frozen"):
        scenario.store.write = Constant(value=1)
