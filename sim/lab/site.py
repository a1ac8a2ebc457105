"""Where a run takes place: the folder of a supervisor, its kind of store, and the receiver's port."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from sim.lab.stores import STORES, Halt, Store


def _go_on(point: str) -> None:
    """Pass a point."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the processes of one supervisor share.

    Attributes
    ----------
    folder : Path
        Where its store keeps its files.
    store : str
        Name of the store, of `sim.lab.stores.STORES`.
    port : int
        Where the receiver listens, on loopback.
    signal : int
        Descriptor on which an agent tells its supervisor that it has loaded what was saved.
    """

    folder: Path
    store: str
    port: int
    signal: int = field(default_factory=lambda: os.eventfd(0))

    def open(self, run: str, halt: Halt = _go_on) -> Store:
        """Open the store for a run."""
        return STORES[self.store](self.folder, run, halt)

    def ready(self) -> None:
        """Tell the supervisor that an agent goes to work."""
        os.eventfd_write(self.signal, 1)
