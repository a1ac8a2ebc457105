"""From what a file says to a law."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from sim.laws.base import LAWS, Law
from sim.laws.by_name import ScipyLaw, family
from sim.laws.closed import Constant
from sim.validation import allowed_instead, problem

MOST_NESTED = 8
"""How many laws may be made of one another: each multiplies the work of those around it."""


def _nested(value: Any) -> int:
    """How many laws stand in one another, in what a file says."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return max(map(_nested, parts), default=0) + (isinstance(value, dict) and "law" in value)


def parse_law(value: Any) -> Any:
    """Turn a number of seconds or a table with the key ``law`` into a law.

    Raises
    ------
    ValidationError
        If the law or a parameter is unknown, missing or out of bounds; it names the nearest name.
    """
    if isinstance(value, Law):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Constant.model_validate({"value": value})
    if not isinstance(value, dict) or "law" not in value:
        raise problem(
            'must be a number of seconds or a table such as { law = "exponential", mean = 3.0 }'
            f", not {value!r}."
        )
    if _nested(value) > MOST_NESTED:
        raise problem(f"has more than {MOST_NESTED} laws in one another.")
    name = value["law"]
    given = {key: item for key, item in value.items() if key != "law"}
    if isinstance(name, str) and name in LAWS:
        return LAWS[name].model_validate(given)
    if isinstance(name, str) and family(name):
        return ScipyLaw.of(name, given)
    raise problem(
        f"{name!r} is no law; {allowed_instead(name, LAWS)} Any continuous law of scipy.stats works too.",
        ("law",),
        name,
    )


AnyLaw = Annotated[Law, BeforeValidator(parse_law)]
"""Field type: a law, given as a number of seconds (constant) or as a table."""
