"""The gallery: every law that a file can name, with a small picture and what is known of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

from sim.contract import example_of
from sim.laws import LAWS, Law, files_in
from sim.report.answers import duration
from sim.report.laws import draw_small
from sim.study.files import EXPERIMENTS, GALLERY
from sim.study.own_laws import origin

CREATOR = "savegap gallery"
"""Stands in the files, so that a picture of another origin is not taken for one of these."""
SHOWN = 200
"""Characters of the parameters that are shown."""


@dataclass(frozen=True)
class Exhibit:
    """A law with the first of its examples.

    Attributes
    ----------
    name : str
    law : Law
    own : bool
        Whether it is the project's own.
    line : str
        What it is.
    parameters : str
        Those of the example, and defaults.
    mean, source : str
    """

    name: str
    law: Law
    own: bool
    line: str
    parameters: str
    mean: str
    source: str

    @property
    def file(self) -> str:
        """Picture, from the folder of results: names that differ have files that differ."""
        plain = re.sub("[^a-z0-9_]", lambda other: f"-{ord(other[0]):x}-", self.name)
        return f"{GALLERY}/{plain}.svg"


def exhibits(project: Path) -> list[Exhibit]:
    """Show every law that is known, the project's own last.

    Parameters
    ----------
    project : Path
        Folder that holds ``experiments/``; its own laws are loaded.
    """
    names = sorted(LAWS, key=lambda name: (origin(name) is not None, name))
    with files_in(project / EXPERIMENTS):
        return [_exhibit(name, LAWS[name]) for name in names]


def _exhibit(name: str, cls: type[Law]) -> Exhibit:
    law = example_of(cls)
    given = cls.examples[0]
    values = {key: given.get(key, field.default) for key, field in cls.model_fields.items()}
    parts = (f"{key} = {_written(value)}" for key, value in values.items() if value not in (None, ()))
    return Exhibit(
        name=name,
        law=law,
        own=origin(name) is not None,
        line=(cls.__doc__ or "").strip().splitlines()[0],
        parameters=shorten(", ".join(parts), SHOWN, placeholder=" …"),
        mean=duration(law.mean_s),
        source=" ".join(cls.source.split()),
    )


def _written(value: Any) -> str:
    """Write a parameter; a law within a law with its parameters in brackets."""
    if isinstance(value, dict):
        parts = ", ".join(f"{key} = {_written(part)}" for key, part in value.items() if key != "law")
        return f"{value['law']} ({parts})" if "law" in value else f"({parts})"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_written, value))
    return f"{value:,.10g}" if isinstance(value, (int, float)) else str(value)


def draw(exhibit: Exhibit, results: Path) -> None:
    """Draw a law's picture."""
    draw_small(exhibit.law, exhibit.name, CREATOR, results / exhibit.file)


def clear(shown: Iterable[Exhibit], results: Path) -> None:
    """Remove pictures of laws that are not known any more, and no other file."""
    kept = {results / exhibit.file for exhibit in shown}
    for file in (results / GALLERY).glob("*.svg"):
        if file not in kept and CREATOR.encode() in file.read_bytes():
            file.unlink()
