"""Times as they were observed, some of them cut off by the end of the observation."""

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from sim.laws.base import Floats, Law, law
from sim.validation import Positive, problem

_folder: ContextVar[Path] = ContextVar("folder of files of times", default=Path())

YES_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}


@contextmanager
def files_in(folder: Path) -> Iterator[None]:
    """Let laws that are made within this context find their files in a folder."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def file_of(name: str) -> Path:
    """Give the path of a file that is named from the folder of `files_in`."""
    return _folder.get() / name


def read_times(file: Path) -> tuple[list[float], list[bool]]:
    """Read a CSV file of times: its first column or the one called seconds, and the one called censored.

    Returns
    -------
    tuple of (list of float, list of bool)
        Times in seconds; whether each was cut off by the end of the observation.

    Raises
    ------
    ValidationError
        Naming the line that is no time.
    """
    if not os.path.isfile(file) and os.path.exists(file):  # a device may go on for ever
        raise problem(f"{file} is no file.", ("file",), str(file))
    try:
        lines = list(csv.reader(file.read_text(encoding="utf-8-sig").splitlines()))
    except OSError as error:
        raise problem(f"{file} cannot be read: {error.strerror}.", ("file",), str(file)) from None
    except UnicodeDecodeError:
        raise problem(f"{file} is not UTF-8 text.", ("file",), str(file)) from None
    except (ValueError, csv.Error) as error:
        raise problem(f"{str(file)!r} cannot be read: {error}.", ("file",), str(file)) from None
    rows = [(number, row) for number, row in enumerate(lines, 1) if any(cell.strip() for cell in row)]
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    place, censoring = 0, None
    if (header and not _is_number(header[0])) or "seconds" in header:
        rows = rows[1:]
        if "seconds" in header:
            place = header.index("seconds")
        elif len(header) > 1:
            raise problem(
                f"{file} needs a column seconds; its columns are {', '.join(header)}.", ("file",), str(file)
            )
        censoring = header.index("censored") if "censored" in header else None
    times, censored = [], []
    for number, row in rows:
        cell = row[place].strip() if place < len(row) else ""
        if not _is_number(cell) or not 0 < float(cell) < np.inf:
            raise problem(
                f"{file}, line {number}: a time must be a number of seconds above 0, not {cell!r}.",
                ("file",),
                str(file),
            )
        cut = row[censoring].strip().lower() if censoring is not None and censoring < len(row) else ""
        if cut not in YES_NO:
            raise problem(
                f"{file}, line {number}: censored must be 1 (cut off) or 0, not {cut!r}.",
                ("file",),
                str(file),
            )
        times.append(float(cell))
        censored.append(YES_NO[cut])
    return times, censored


@lru_cache(maxsize=16)
def _read_once(file: Path, changed: int, size: int) -> tuple[list[float], list[bool]]:
    """Read a file again only once it was changed: a study makes its laws anew for every cell."""
    return read_times(file)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@law("empirical")
class Empirical(Law):
    """Times as observed, from a CSV file or a list; some may be cut off (censored).

    The survival is that of Kaplan and Meier, so every time that was seen to its end is an atom, and a time
    that was cut off counts as long as it lasted. If the longest time was cut off, nothing was seen of what
    comes later; then lives that are longer end at a constant hazard, the mean one up to there:
    S(t) = S(longest)^(t / longest), as Brown, Hollander and Korwar (1974) proposed.
    """

    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"times": [30.0, 45.0, 45.0, 80.0, 200.0, 400.0]},
        {"times": [1.0, 2.0, 3.0, 4.0], "censored": [False, True, False, True]},
    )
    source: ClassVar[str] = "Kaplan and Meier (1958)"

    file: str | None = Field(default=None, description="CSV file, its path from the folder experiments/")
    times: tuple[Positive, ...] = Field(
        default=(), description="instead of a file, the times, s", max_length=1_000_000, repr=False
    )
    censored: tuple[bool, ...] = Field(
        default=(), description="for each time, whether it was cut off; none if absent", repr=False
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        """Put the times of a file beside its name, so that a law is whole wherever it is used."""
        if not isinstance(given, dict) or not isinstance(given.get("file"), str):
            return given
        if "times" in given or "censored" in given:
            wrong = "times" if "times" in given else "censored"
            raise problem("say either file or times, not both.", (wrong,), given[wrong])
        file = file_of(given["file"])
        try:
            status = file.stat()
            times, censored = _read_once(file, status.st_mtime_ns, status.st_size)
        except (OSError, ValueError):
            times, censored = read_times(file)
        return given | {"times": times, "censored": censored if any(censored) else ()}

    def model_post_init(self, _: Any) -> None:
        """Refuse what tells nothing of how long lives are."""
        at = ("file",) if self.file else ("times",)
        if not self.times:
            raise problem("needs at least one time; give file or times.", at, self.file)
        if self.censored and len(self.censored) != len(self.times):
            raise problem(
                f"must say for each of the {len(self.times)} times whether it was cut off, "
                f"not {len(self.censored)} of them.",
                ("censored",),
                self.censored,
            )
        if self.censored and all(self.censored):
            raise problem("must hold a time that was not cut off.", at, self.file)

    @cached_property
    def _identity(self) -> bytes:
        data = np.array(self.times).tobytes() + bytes(self.censored)
        return blake2b(data, digest_size=16).digest()

    def __hash__(self) -> int:
        """Hash of the data, worked out once: laws are looked up at every draw."""
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        """Whether the data are the same."""
        return isinstance(other, Empirical) and self._identity == other._identity

    @cached_property
    def _steps(self) -> tuple[Floats, Floats, float]:
        """Atoms, ascending; hazard from each on; rate beyond the longest time (0: none is longer)."""
        times = np.array(self.times)
        ended = ~np.array(self.censored, dtype=bool) if self.censored else np.ones(len(times), dtype=bool)
        atoms, deaths = np.unique(times[ended], return_counts=True)
        at_risk = len(times) - np.searchsorted(np.sort(times), atoms)
        with np.errstate(divide="ignore"):
            hazard = -np.cumsum(np.log1p(-deaths / at_risk))
        return atoms, hazard, float(hazard[-1] / self._longest) if np.isfinite(hazard[-1]) else 0.0

    @cached_property
    def _longest(self) -> float:
        return max(self.times)

    @property
    def atoms_s(self) -> Floats:  # noqa: D102
        return self._steps[0]

    def cumulative_hazard(self, t: ArrayLike) -> Floats:  # noqa: D102
        atoms, hazard, rate = self._steps
        t = np.asarray(t, dtype=np.float64)
        reached = np.concatenate([[0.0], hazard])[np.searchsorted(atoms, t, side="right")]
        return np.asarray(reached + rate * np.maximum(t - self._longest, 0.0) if rate else reached)

    def inverse_hazard(self, h: ArrayLike) -> Floats:  # noqa: D102
        atoms, hazard, rate = self._steps
        h = np.asarray(h, dtype=np.float64)
        which = np.searchsorted(hazard, h, side="left")
        time = atoms[np.minimum(which, len(atoms) - 1)]
        if rate:
            time = np.where(which < len(atoms), time, self._longest + (h - hazard[-1]) / rate)
        return np.asarray(time)

    @property
    def mean_s(self) -> float:  # noqa: D102
        atoms, hazard, rate = self._steps
        survival = np.exp(-hazard)
        bounds = np.append(atoms, max(self._longest, atoms[-1]))
        mean = atoms[0] + np.sum(survival * np.diff(bounds))
        return float(mean + (survival[-1] / rate if rate else 0.0))
