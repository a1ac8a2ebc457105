"""Find out quickly that nothing has changed since a study came to its end: then there is nothing to do.

Here files are compared byte by byte, and none of them is understood. What has changed is found out after
that, by what it means.
"""

import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sim.study.files import EXPERIMENTS
from sim.study.identity import ROOT, digest, of_file, versions
from sim.study.kept import kept_of
from sim.study.made import KEPT, read, update

TEXT = re.compile(rb"""["']([^"'\n]{1,1000})["']""")

MEASURED = "measured"

NOT_MADE = (KEPT, MEASURED, "run.json")
"""What lies beside the results that a study makes."""


def inputs(home: Path, results: Path, named: Iterable[Path], options: dict[str, Any]) -> str:
    """Give the digest of all that a study is made from: its files, the program and what was asked for.

    What was measured lies among the results, and the report shows it.
    """
    own = {*_below(home / EXPERIMENTS), *named}
    measured = {file for file in _below(results / MEASURED) if file.suffix != ".svg"}
    files = {*own, *measured, *_below(ROOT), *_named_in(own, home / EXPERIMENTS)}
    return digest([[(str(file), of_file(file)) for file in sorted(files)], versions(), options])


def nothing_to_do(results: Path, asked: str) -> dict[str, int]:
    """Say what is there of a study that was made from the same inputs, if all of it is there and intact.

    Returns
    -------
    dict of str to int
        How many ``files`` and ``chunks``; empty if something is missing, changed or damaged.
    """
    last = read(_last(results))
    if last.get("inputs") != asked or last["outputs"] != _outputs(results):
        return {}
    kept = kept_of(results)
    with ThreadPoolExecutor() as readers:
        intact = readers.map(lambda key: kept.read_bytes(key) is not None, last["chunks"])
    if not all(intact):
        return {}
    return {"files": len(last["outputs"]), "chunks": len(last["chunks"])}


def note_end(results: Path, asked: str, chunks: Iterable[str]) -> None:
    """Note that a study has come to its end."""
    last = {"inputs": asked, "outputs": _outputs(results), "chunks": sorted({*chunks})}
    update(results, _last(results), lambda _: last)


def _last(results: Path) -> Path:
    return results / KEPT / "last.json"


def _outputs(results: Path) -> dict[str, str]:
    made = (file for file in results.rglob("*") if file.relative_to(results).parts[0] not in NOT_MADE)
    return {file.relative_to(results).as_posix(): of_file(file) for file in sorted(made) if file.is_file()}


def _named_in(files: Iterable[Path], folder: Path) -> Iterator[Path]:
    """Give the files that are named in others, such as observed times that lie elsewhere."""
    for file in files:
        if file.suffix == ".toml":
            for name in TEXT.findall(file.read_bytes()):
                path = folder / os.fsdecode(name)
                if os.path.isfile(path):
                    yield path


def _below(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
