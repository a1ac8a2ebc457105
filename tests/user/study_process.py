"""The command in a process that may kill itself: ``study_process.py WHERE PAGES ...``.

WHERE is a point around the save of a chunk and the number of the save, such as ``written 3``; nothing if it
shall live. PAGES is ``pages`` if the report shall be written too, which takes seconds.
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path

from sim.cli import main
from sim.study import files
from sim.study.kept import Kept


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(point, number):
    """Let the process die at a point of the so-and-so-manieth save of a chunk."""
    saves = count(1)
    write, sync, write_bytes = Kept.write, files._sync, Path.write_bytes
    at_work = False

    def here(name):
        if at_work and name == point:
            die()

    def counted(kept, key, data):
        nonlocal at_work
        at_work = next(saves) == number
        here("begin")
        write(kept, key, data)

    def half(path, data):
        if at_work and point == "half written":
            write_bytes(path, data[: len(data) // 2])
            die()
        return write_bytes(path, data)

    def synced(path):
        here("in place" if path.is_dir() else "written")
        sync(path)

    Kept.write, files._sync, Path.write_bytes = counted, synced, half


if __name__ == "__main__":
    where, pages, *arguments = sys.argv[1:]
    sys.argv = ["savegap", *arguments]
    if not pages:
        sys.modules["sim.cli.run"]._report = lambda *_: None
    if where:
        point, _, number = where.rpartition(" ")
        die_at(point, int(number))
    main()
