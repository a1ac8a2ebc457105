"""Whatever happens to the study: once it has ended, its laboratory's files are gone."""

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from sim.lab.stores import STORES


def main(folder: Path, store: str) -> None:
    """Wait for the end of the standard input, which is that of the study, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    for _ in range(100):
        if not any(_is_alive(int(pid)) for pid in _pids(folder)):
            break
        time.sleep(0.02)
    for site in folder.glob("worker-*"):
        with suppress(Exception):
            STORES[store].remove(site)
    shutil.rmtree(folder, ignore_errors=True)


def _pids(folder: Path) -> list[str]:
    with suppress(OSError):
        return (folder / "pids").read_text().split()
    return []


def _is_alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
