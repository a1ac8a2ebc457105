"""Observed times between crashes, read from a CSV file and checked line by line."""

import csv
from io import StringIO
from math import isfinite
from pathlib import Path

import numpy as np

from sim.fit import Flags
from sim.laws import Floats
from sim.study.errors import InputError, Problem
from sim.validation import allowed_instead

SECONDS, CENSORED = "seconds", "censored"
FLAGS = {"0": False, "1": True, "false": False, "true": True}
FEWEST = 3
SHOWN = 10


def read(file: Path) -> tuple[Floats, Flags]:
    """Read times and whether each was censored, that is, still going on when it was last seen.

    The file has a column ``seconds`` and may have a column ``censored`` (0, 1, true or false; none: all
    ended). A single column may bear any name, or none.

    Raises
    ------
    InputError
        With the mistakes found and their lines.
    """
    shown = str(file)
    rows = [(line, cells) for line, cells in _rows(file, shown) if any(cells)]
    if not rows:
        raise InputError([Problem(shown, "", f'is empty; it must hold a time per line below "{SECONDS}".')])
    header = [] if all(_is_number(cell) for cell in rows[0][1]) else rows.pop(0)[1]
    columns = _columns(header or rows[0][1], bool(header), shown)
    times: list[float] = []
    censored: list[bool] = []
    found: list[Problem] = []
    for line, cells in rows:
        if len(cells) != len(columns):
            are = "is" if len(columns) == 1 else "are"
            sentence = f"has {_count(len(cells), 'value')}, but there {are} {_count(len(columns), 'column')}."
            found.append(Problem(shown, f"line {line}", sentence))
            continue
        row = dict(zip(columns, cells, strict=True))
        if wrong := _wrong_time(row[SECONDS]):
            found.append(Problem(shown, f"line {line}", wrong))
        elif (flag := row.get(CENSORED, "0").lower()) not in FLAGS:
            sentence = f"{CENSORED} is {row[CENSORED]!r}; allowed: 0, 1, false, true."
            found.append(Problem(shown, f"line {line}", sentence))
        else:
            times.append(float(row[SECONDS]))
            censored.append(FLAGS[flag])
    if len(found) > SHOWN:
        more = len(found) - SHOWN
        found[SHOWN:] = [
            Problem(shown, "", f"and {more} more {'line is' if more == 1 else 'lines are'} wrong.")
        ]
    if not found:
        found = _too_few(censored, shown)
    if found:
        raise InputError(found)
    return np.array(times), np.array(censored)


def _rows(file: Path, shown: str) -> list[tuple[int, list[str]]]:
    """Rows with the numbers of the lines at which they end."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError([Problem(shown, "", "there is no such file.")]) from None
    except IsADirectoryError:
        raise InputError([Problem(shown, "", "is a folder; name a CSV file in it.")]) from None
    except OSError as error:
        raise InputError([Problem(shown, "", f"cannot be read: {error.strerror}.")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(shown, "", "is not UTF-8 text.")]) from None
    reader = csv.reader(StringIO(text))
    try:
        return [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise InputError([Problem(shown, f"line {reader.line_num}", f"is not CSV: {error}.")]) from None


def _columns(first: list[str], named: bool, shown: str) -> list[str]:
    """Names of the columns; a single one holds the times, whatever its name."""
    if len(first) == 1 and first[0].lower() != CENSORED:
        return [SECONDS]
    if not named:
        sentence = f'has {len(first)} columns without names; begin the file with "{SECONDS},{CENSORED}".'
        raise InputError([Problem(shown, "", sentence)])
    names = [name.lower() for name in first]
    found = [
        Problem(shown, "line 1", f"unknown column {name!r}; {allowed_instead(name, [SECONDS, CENSORED])}")
        for name, lower in zip(first, names, strict=True)
        if lower not in (SECONDS, CENSORED)
    ]
    if len(set(names)) < len(names) and not found:
        found = [Problem(shown, "line 1", "names a column twice.")]
    if SECONDS not in names and not found:
        found = [Problem(shown, "line 1", f"there is no column {SECONDS!r}, which holds the times.")]
    if found:
        raise InputError(found)
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _wrong_time(cell: str) -> str:
    """Say what is wrong with a time; nothing if it is right."""
    if not _is_number(cell):
        given = repr(cell) if cell else "missing"
        return f"{SECONDS} is {given}; it must be a number above 0, such as 3600 or 0.5."
    if not isfinite(float(cell)):
        return f"{SECONDS} is {cell}; it must be finite (a life still going on is marked by {CENSORED})."
    if not float(cell) > 0:
        return f"{SECONDS} is {cell}; it must be above 0: a time between crashes has a length."
    return ""


def _too_few(censored: list[bool], shown: str) -> list[Problem]:
    ended = len(censored) - sum(censored)
    if not censored:
        return [Problem(shown, "", "has names of columns, but no time below them.")]
    if not ended:
        why = "is censored, so no crash was seen and no law can be fitted"
        return [Problem(shown, "", f"every time {why}; at least {FEWEST} must have ended.")]
    if ended < FEWEST:
        why = f"only {_count(ended, 'time')} ended in a crash"
        return [Problem(shown, "", f"{why}; at least {FEWEST} are needed, and many more to tell laws apart.")]
    return []


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
