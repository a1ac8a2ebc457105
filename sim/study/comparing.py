"""Two folders of results side by side: the same files, and in them the same numbers."""

import re
from math import floor, log10
from pathlib import Path

from sim.study.unchanged import NOT_MADE

COORDINATE = 0.01
"""Of a figure, in points: nobody can see less."""

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\w)")

NAMED_BY_CONTENT = re.compile(r"\b[pm][0-9a-f]{10}\b")
"""Names of shapes in a figure, which follow from the coordinates that are compared."""

IGNORED = ("report.html",)
"""Not tracked: it holds the figures and the pages that are compared."""


def differences(expected: Path, found: Path) -> tuple[int, list[str]]:
    """Compare two folders of results.

    Parameters
    ----------
    expected, found : Path
        What is measured on a machine, and what is kept beside results, is left out of both.

    Returns
    -------
    (int, list of str)
        How many files there are in both, and a line for each that is missing, that nothing is known of, or of
        which the text or a number differs: by more than one unit of the sixth digit.
    """
    first, second = _files(expected), _files(found)
    lines = [f"{name}: missing" for name in sorted(first - second)]
    lines += [f"{name}: not expected" for name in sorted(second - first)]
    for name in sorted(first & second):
        one, other = ((folder / name).read_text(encoding="utf-8") for folder in (expected, found))
        if one != other and (wrong := _first_difference(one, other, Path(name).suffix)):
            lines.append(f"{name}: {wrong}")
    return len(first & second), lines


def _files(folder: Path) -> set[str]:
    names = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return {name.as_posix() for name in names if name.parts[0] not in (*NOT_MADE, *IGNORED)}


def _first_difference(expected: str, found: str, kind: str) -> str:
    """Say where two texts differ; "" if only in the last digits of numbers."""
    if kind == ".svg":
        expected, found = (NAMED_BY_CONTENT.sub("shape", text) for text in (expected, found))
    lines = expected.splitlines(), found.splitlines()
    if len(lines[0]) != len(lines[1]):
        return f"{len(lines[1])} lines instead of {len(lines[0])}"
    for number, (one, other) in enumerate(zip(*lines, strict=True), 1):
        if one == other:
            continue
        if NUMBER.sub("#", one) != NUMBER.sub("#", other):
            return f"line {number}: {other[:80]!r} instead of {one[:80]!r}"
        for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
            x, y = (float(each.replace(",", "")) for each in (a, b))
            if abs(x - y) > 1.001 * _tolerated(a, max(abs(x), abs(y)), kind):
                return f"line {number}: {b} instead of {a}"
    return ""


def _tolerated(written: str, size: float, kind: str) -> float:
    """Give how far apart numbers may be: a unit of the sixth digit, or of the last that a page shows."""
    if kind == ".svg":
        return COORDINATE
    unit = 10.0 ** (floor(log10(size)) - 5) if size else 0.0
    digits = written.partition(".")[2]
    return max(unit, 10.0 ** -len(digits)) if kind == ".md" and digits.isdigit() else unit
