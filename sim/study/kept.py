"""The folder in which finished chunks are kept.

A chunk is kept under the digest of all that determines it, so whatever has changed, what is found is right.
It is written whole or not at all, and its content is checked whenever it is read: after any kind of end a
study goes on with the chunks that are there.
"""

import io
import json
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import numpy as np

from sim.study.chunks import Chunk
from sim.study.files import replacing
from sim.study.made import KEPT
from sim.sums import Sums

DIGEST = 16
"""Bytes of the digest at the begin of a file."""

SUFFIX = ".chunk"


class Kept:
    """The folder in which finished chunks are kept.

    Parameters
    ----------
    folder : Path
        Made when the first chunk is put there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, key: str) -> Path:
        """Give the file of a chunk."""
        return self.folder / f"{key}{SUFFIX}"

    def keys(self) -> set[str]:
        """Give the keys of all chunks that are there, intact or not."""
        return {file.stem for file in self.folder.glob(f"*{SUFFIX}")}

    def missing_and_damaged(self, chunks: Iterable[Chunk]) -> tuple[list[str], list[str]]:
        """Give the keys of those chunks that are not there, and of those that are there but damaged."""
        there = self.keys()
        missing, damaged = [], []
        for key in dict.fromkeys(chunk.key for chunk in chunks):
            if key not in there:
                missing.append(key)
            elif self.read_bytes(key) is None:
                damaged.append(key)
        return missing, damaged

    def read_bytes(self, key: str) -> bytes | None:
        """Give what a file holds; None if it is not there or damaged."""
        try:
            data = self.file(key).read_bytes()
        except OSError:
            return None
        return data[DIGEST:] if data[:DIGEST] == _check(key, data[DIGEST:]) else None

    def read(self, key: str) -> Sums | None:
        """Give the sums of a chunk; None if it is not there or damaged."""
        data = self.read_bytes(key)
        return None if data is None else decoded(data)

    def write(self, key: str, data: bytes) -> None:
        """Keep what `encoded` gave: durably, and whole or not at all.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        with replacing(self.file(key), durably=True) as new:
            new.write_bytes(_check(key, data) + data)


def kept_of(results: Path) -> Kept:
    """Give the chunks that are kept beside results."""
    return Kept(results / KEPT / "chunks")


def _check(key: str, data: bytes) -> bytes:
    """Digest of a chunk's content and of its name, so that a file under another name is no chunk."""
    return blake2b(data, digest_size=DIGEST, key=key.encode()).digest()


def encoded(sums: Sums) -> bytes:
    """Write sums as bytes."""
    varying = np.flatnonzero(sums.products.any(axis=0))
    arrays = {f"value {index}": values for index, values in enumerate(sums.values.values())}
    names = {"n": sums.n, "columns": list(sums.place), "valued": list(sums.values)}
    file = io.BytesIO()
    np.savez_compressed(
        file,
        names=np.frombuffer(json.dumps(names).encode(), np.uint8),
        mean=sums.mean,
        largest=sums.largest,
        varying=varying,
        products=sums.products[np.ix_(varying, varying)],
        **arrays,  # type: ignore[arg-type]
    )
    return file.getvalue()


def decoded(data: bytes) -> Sums:
    """Read what `encoded` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        names = json.loads(file["names"].tobytes())
        varying = file["varying"]
        products = np.zeros((len(names["columns"]),) * 2)
        products[np.ix_(varying, varying)] = file["products"]
        valued = [tuple(column) for column in names["valued"]]
        return Sums(
            n=names["n"],
            place={tuple(column): index for index, column in enumerate(names["columns"])},
            mean=file["mean"],
            largest=file["largest"],
            products=products,
            values={column: file[f"value {index}"] for index, column in enumerate(valued)},
        )
