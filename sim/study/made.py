"""What the files of a folder of results were made from, so that nothing is made twice from the same."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sim.study.files import write_text
from sim.study.identity import of_file

try:
    import fcntl
except ImportError:  # there is none on Windows: there, run one study at a time
    fcntl = None  # type: ignore[assignment]

KEPT = ".kept"
"""Folder beside the results with what a study goes on from: finished chunks, and what was made from what."""


@contextmanager
def locked(results: Path) -> Iterator[None]:
    """Keep other studies that write into the same folder waiting, for a moment."""
    folder = results / KEPT
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".gitignore").exists():
        write_text(folder / ".gitignore", "*\n")
    with open(folder / "lock", "w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def update(results: Path, file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change a JSON file of results, whole or not at all, while no other study does."""
    with locked(results):
        new = json.dumps(change(read(file)), indent=1, ensure_ascii=False) + "\n"
        if not file.is_file() or file.read_text(encoding="utf-8") != new:
            write_text(file, new)


def read(file: Path) -> dict[str, Any]:
    """Read a JSON file that this program wrote; an absent or broken one says nothing."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class Made:
    """What the files of results were made from.

    Parameters
    ----------
    results : Path
        The folder.
    """

    def __init__(self, results: Path) -> None:
        self.results = results
        self.file = results / KEPT / "made.json"
        self.known = read(self.file)
        self.new: dict[str, list[str]] = {}

    def fresh(self, target: Path, source: str) -> bool:
        """Whether a file is there as it was made, and was made from this."""
        return self.known.get(self._name(target)) == [source, of_file(target)]

    def note(self, target: Path, source: str) -> None:
        """Note that a file has been made from this; one that is not there from nothing."""
        self.new[self._name(target)] = [source, of_file(target)]

    def save(self) -> None:
        """Write down what was noted."""
        self.known |= self.new
        update(self.results, self.file, lambda known: known | self.new)
        self.new = {}

    def _name(self, target: Path) -> str:
        return target.relative_to(self.results).as_posix()
