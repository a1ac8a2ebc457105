"""Laws to test with: the examples that every registered law declares, and some by their scipy name."""

from typing import Any

from sim.laws import LAWS, Law, parse_law

BY_SCIPY: list[dict[str, Any]] = [
    {"law": "fisk", "c": 2.5, "scale": 60.0},
    {"law": "genpareto", "c": 0.1, "scale": 5.0},
    {"law": "loguniform", "a": 1.0, "b": 100.0},
    {"law": "truncexpon", "b": 3.0},
    {"law": "invgamma", "a": 3.0},
    {"law": "burr12", "c": 2.0, "d": 3.0},
    {"law": "halfnorm", "scale": 2.0},
    {"law": "weibull_min", "c": 0.7, "scale": 10.0},
    {"law": "genextreme", "c": -0.1, "loc": 100.0},
]


def tables() -> list[dict[str, Any]]:
    """All examples, and `BY_SCIPY`, as a file has them."""
    return [{"law": name} | row for name, cls in LAWS.items() for row in cls.examples] + BY_SCIPY


def title(table: dict[str, Any]) -> str:
    """Name of a test case."""
    parts = (value["law"] if isinstance(value, dict) else value for value in table.values())
    return " ".join(str(len(part) if isinstance(part, list) else part) for part in parts)


def law_of(table: dict[str, Any]) -> Law:
    """Make a law as a file would."""
    made = parse_law(table)
    assert isinstance(made, Law)
    return made
