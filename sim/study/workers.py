"""Who does the work: processes of this machine, or a Dask cluster, both through joblib."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any, NamedTuple

from joblib import Parallel, delayed, parallel_config, wrap_non_picklable_objects

from sim.study.chunks import Chunk, ReplicationError, program_identity
from sim.study.errors import InputError, Problem
from sim.study.kept import Kept, encoded

INSTALL = "pip install 'savegap[dask]'"


class Done(NamedTuple):
    """What has become of a chunk.

    Attributes
    ----------
    number : int
        Which of those that were given.
    seconds : float
        How long one process took; 0 if another study had made it in the meantime.
    failure : ReplicationError or None
    data : bytes
        What is to be kept of it, if that was not done where it was made.
    """

    number: int
    seconds: float
    failure: ReplicationError | None
    data: bytes = b""


@dataclass(frozen=True)
class Workers:
    """Processes that simulate.

    Attributes
    ----------
    jobs : int
        How many, on this machine.
    scheduler : str or None
        Address of the scheduler of a Dask cluster, which then does the work.
    """

    jobs: int
    scheduler: str | None = None

    @contextmanager
    def ready(self) -> Iterator[int]:
        """Have them at work within this context; gives how many there are.

        Raises
        ------
        InputError
            If there is no such cluster, or it has another version of the program.
        """
        if self.scheduler is None:
            yield self.jobs
            return
        with _client(self.scheduler) as client, parallel_config(backend="dask", client=client):
            yield sum(client.nthreads().values())

    def simulate(self, chunks: list[Chunk], kept: Kept) -> Iterator[Done]:
        """Simulate chunks and keep them; tell of each as it is done, in any order.

        A process keeps what it has made before it takes another chunk, so that no more is lost at any end
        than it has in hand. A process of a cluster may not see the folder, so there this process keeps it.

        Raises
        ------
        InputError
            If a chunk cannot be kept.
        """
        here = self.scheduler is None
        jobs = self.jobs if here else -1
        parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs")
        work: Callable[..., Done] = _made_and_kept if here else _made
        extra = (kept,) if here else ()
        # A worker elsewhere has no file of a project's own laws, so these go along.
        given = (chunk if here else wrap_non_picklable_objects(chunk, keep_wrapper=False) for chunk in chunks)
        for done in parallel(delayed(work)(number, chunk, *extra) for number, chunk in enumerate(given)):
            if done.data:
                keep(kept, chunks[done.number].key, done.data)
            yield done._replace(data=b"")


def keep(kept: Kept, key: str, data: bytes) -> None:
    """Keep a chunk.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        kept.write(key, data)
    except OSError as error:
        sentence = f"cannot be written: {error.strerror}. Every chunk that was finished is kept; run again."
        raise InputError([Problem(str(kept.folder), "", sentence)]) from None


def _made(number: int, chunk: Chunk) -> Done:
    begin = monotonic()
    try:
        data = encoded(chunk.simulate())
    except ReplicationError as failure:
        return Done(number, monotonic() - begin, failure)
    return Done(number, monotonic() - begin, None, data)


def _made_and_kept(number: int, chunk: Chunk, kept: Kept) -> Done:
    if kept.read_bytes(chunk.key) is not None:
        return Done(number, 0.0, None)
    done = _made(number, chunk)
    if done.data:
        keep(kept, chunk.key, done.data)
    return done._replace(data=b"")


def processes_of_this_one() -> parallel_config:
    """Let processes that joblib starts within this context end soon after this one, however it ends.

    Otherwise those that are idle would outlive a process that was killed by minutes.
    """
    return parallel_config(backend="loky", initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """Connect to a Dask cluster whose workers have this very program."""
    try:
        from distributed import Client
    except ImportError:
        sentence = f"a Dask cluster needs the extra dask: {INSTALL}"
        raise InputError([Problem("--scheduler", "", sentence)]) from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        sentence = f"no Dask scheduler answers at {address}: {reason}."
        raise InputError([Problem("--scheduler", "", sentence)]) from None
    with client:
        theirs = client.run(program_identity)
        if not theirs:
            raise InputError([Problem("--scheduler", "", f"the cluster at {address} has no worker yet.")])
        other = [worker for worker, identity in theirs.items() if identity != program_identity()]
        if other:
            sentence = f"another version of savegap or of numpy is at work on {', '.join(other)}."
            raise InputError([Problem("--scheduler", "", sentence)])
        yield client
