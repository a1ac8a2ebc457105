"""A PostgreSQL server of the laboratory's own, on loopback, where none was named."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from sim.lab.laboratory import LaboratoryError, end, start_janitor
from sim.lab.processes import die_with_parent

ADDRESS = "SAVEGAP_POSTGRES"
"""Environment variable that names a server, such as ``postgresql://user@127.0.0.1/test``."""

DEBIAN = Path("/usr/lib/postgresql")
PATIENCE_S = 30.0


def binaries() -> Path | None:
    """Find the folder with the programs of a server: in the path, or where Debian puts them."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    return max(DEBIAN.glob("*/bin"), default=None)


@contextmanager
def server(disk: Path) -> Iterator[None]:
    """Have a server while the context lasts, named by `ADDRESS`; one that is named already is used.

    Parameters
    ----------
    disk : Path
        Existing folder; the server's data are in a folder within it that is removed at the end.
    """
    if os.environ.get(ADDRESS):
        yield
        return
    programs = binaries()
    if programs is None:
        raise LaboratoryError("there is no PostgreSQL server to start.")
    user = _user()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix=".savegap-postgres-", dir=disk))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(start_janitor(folder, "memory"))
        if user is not None:
            os.chown(folder, *user)
        options: dict[str, Any] = (
            {} if user is None else {"user": user[0], "group": user[1], "extra_groups": []}
        )
        data = folder / "data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-A", "trust", "-U", "savegap", "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=folder,
            **options,
        )
        port = _free_port()
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", ""],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            # Without a parent it shuts down at once, and its own children with it.
            preexec_fn=lambda: die_with_parent(by=signal.SIGQUIT),
            **options,
        )
        stack.callback(end, process, signal.SIGQUIT)
        _wait(process, port)
        os.environ[ADDRESS] = f"postgresql://savegap@127.0.0.1:{port}/postgres"
        stack.callback(os.environ.pop, ADDRESS)
        yield


def _user() -> tuple[int, int] | None:
    """Whose the server is: not root's, which it refuses."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise LaboratoryError("PostgreSQL does not run as root, and there is no user postgres or nobody.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise LaboratoryError("the PostgreSQL server of the laboratory did not start.")
