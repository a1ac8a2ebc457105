"""The language of an experiment's ``answer``: Jinja, but for what could go on or grow without bound."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateRuntimeError, TemplateSyntaxError, nodes
from jinja2.filters import FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment

REFUSED: dict[type[nodes.Node], str] = {
    nodes.Pow: "a power",
    nodes.Mod: "a remainder",
    nodes.Macro: "a macro",
    nodes.CallBlock: "a call of a macro",
    nodes.FilterBlock: "a block",
    nodes.AssignBlock: "a block",
    nodes.Block: "a block",
    nodes.NSRef: "a namespace",
    nodes.Extends: "another template",
    nodes.Include: "another template",
    nodes.Import: "another template",
    nodes.FromImport: "another template",
}
"""Parts of Jinja that an answer does without."""

FILTER_NAMES = (
    *("abs", "capitalize", "default", "first", "float", "int", "join", "last", "length", "list", "lower"),
    *("map", "max", "min", "reject", "rejectattr", "select", "selectattr", "sort", "sum", "unique", "upper"),
)
OF_TEXTS = ("endswith", "lower", "split", "startswith", "strip", "upper")
"""What may be asked of a text: nothing that makes it much longer."""

LONGEST = 1000
"""How many values a list may have that is made of two."""

WIDE = re.compile(r"%[^a-zA-Z%]*(\d{3}|\*)")


class Answering(ImmutableSandboxedEnvironment):
    """Renders answers, of which nothing is repeated without bound."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//"])

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False)
        self.globals = {"dict": dict}
        self.filters: dict[str, Callable[..., Any]] = {name: FILTERS[name] for name in FILTER_NAMES}
        self.filters["format"] = _formatted

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Reckon with numbers only: a text times a number may fill all memory."""
        lists = operator == "+" and isinstance(left, list) and isinstance(right, list)
        if lists and len(left) + len(right) <= LONGEST:
            return left + right
        if not all(isinstance(value, (int, float)) for value in (left, right)):
            raise TemplateRuntimeError(f"{operator} stands between numbers; texts are joined by ~.")
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may have an attribute."""
        return (not isinstance(obj, str) or attr in OF_TEXTS) and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Leave ``str.format`` to `is_safe_attribute`: it can make a text of any width."""


def _formatted(text: str, *values: Any) -> str:
    if WIDE.search(text):
        raise TemplateRuntimeError(f"{text!r} asks for too many places.")
    return text % values


def mistakes(template: str) -> Iterator[str]:
    """Say in sentences what is wrong with a template, before it is filled in."""
    try:
        tree = Answering().parse(template)
    except TemplateSyntaxError as error:
        yield f"is no Jinja template: line {error.lineno}: {str(error.message).rstrip('.')}."
        return
    except (TemplateError, RecursionError, ValueError):  # a number may have too many digits
        yield "is no Jinja template that could be read: it is nested too deeply or has too large a number."
        return
    below: list[tuple[nodes.Node, bool]] = [(tree, False)]
    while below:
        node, within_loop = below.pop()
        if type(node) in REFUSED:
            yield f"line {node.lineno}: {REFUSED[type(node)]} is more than an answer may have."
        if isinstance(node, nodes.For):
            if within_loop or node.recursive:
                yield f"line {node.lineno}: a loop in a loop is more than an answer may have."
            within_loop = True
        below += [(child, within_loop) for child in node.iter_child_nodes()]
