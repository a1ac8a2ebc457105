"""The study's folders and files: where they are, and how results are written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sim.study.errors import InputError, Problem

if TYPE_CHECKING:
    import pandas as pd

EXPERIMENTS = "experiments"
RESULTS = "results"
"""Folder of a project's results, unless another is named."""

GALLERY = "gallery"
"""Folder beside those of the experiments' results; no experiment can have this name."""

HALF = ".half"
"""End of the name of a file that is being written."""


def find_project(start: Path) -> Path:
    """Find the nearest folder upward that holds ``experiments/``.

    Raises
    ------
    InputError
        If there is none.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / EXPERIMENTS).is_dir():
            return folder
    sentence = f"no folder from here upward holds {EXPERIMENTS}/; name one with --project."
    raise InputError([Problem(str(start), "", sentence)])


def experiment_files(project: Path, named: list[str]) -> list[Path]:
    """Find the experiment files that were named, by path or by name; all of the project if none was.

    Raises
    ------
    InputError
        Naming every file that is not there.
    """
    folder = project / EXPERIMENTS
    every = sorted(folder.glob("*.toml"))
    if not named:
        if not every:
            raise InputError([Problem(f"{EXPERIMENTS}/", "", "holds no experiment (*.toml).")])
        return every
    found: list[Path] = []
    missing: list[Problem] = []
    for name in named:
        candidates = [Path(name).absolute(), folder / f"{name}.toml"]
        file = next((path for path in candidates if path.is_file()), None)
        if file is None:
            known = ", ".join(path.stem for path in every)
            missing.append(Problem(name, "", f"is no file and no experiment; there are: {known}."))
        elif file not in found:
            found.append(file)
    if missing:
        raise InputError(missing)
    return found


@contextmanager
def replacing(target: Path, durably: bool = False) -> Iterator[Path]:
    """Give a new file to write; it takes the place of `target` once it is complete, never half.

    Parameters
    ----------
    target : Path
        Its folder is made if it is not there.
    durably : bool
        Whether it shall survive the machine as well as the process.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=HALF)
    os.close(handle)
    new = Path(name)
    try:
        yield new
        os.chmod(new, 0o666 & ~_umask())
        if durably:
            _sync(new)
        new.replace(target)
        if durably:
            _sync(target.parent)
    finally:
        new.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, have reached the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_writable(folder: Path) -> None:
    """Refuse a results folder that cannot be written, before any work is done for it.

    Raises
    ------
    InputError
    """
    try:
        with replacing(folder / ".writable") as new:
            new.write_text("")
        (folder / ".writable").unlink()
    except OSError as error:
        raise InputError([Problem(str(folder), "", f"cannot be written: {error.strerror}.")]) from None


def write_text(target: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(target) as new:
        new.write_text(text, encoding="utf-8", newline="\n")


def write_csv(target: Path, table: "pd.DataFrame") -> None:
    """Write a table with six significant digits, so that it is the same on every platform."""
    numbers = table.select_dtypes("float").columns
    plain = table.assign(**{name: table[name] + 0.0 for name in numbers})  # no "-0"
    write_text(target, plain.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
