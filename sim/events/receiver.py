"""The receiving service: it performs actions in its own time, and remembers keys.

What it has performed is the truth about duplicates, and each is put down to what let it through: the key that
had run out, the race between look-up and insertion, the receiver that died before it remembered; else to what
sent the action again: the relay, a worker taken for dead, a time-out, a crash.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from simpy.events import Timeout

from sim.events.clock import Clock
from sim.events.words import AGAIN, FORGETS, PERFORMS
from sim.services import Receiver as Settings
from sim.ticks import to_tick

if TYPE_CHECKING:
    from sim.events.outage import Weather
    from sim.events.worker import Worker

Key = tuple[object, ...]

RELAY = 0
"""In the place of an attempt's number: the request is the relay's."""


def sender(worker: "Worker | None") -> str:
    """Say who sent a request."""
    return worker.name if worker is not None else "the relay"


@dataclass(eq=False, slots=True)
class Request:
    """One sending of an action.

    Attributes
    ----------
    step : int
    key : tuple or None
        By which the receiver knows a repeat.
    words : int
        Version of its arguments.
    worker : Worker or None
        Who sent it; nobody: the relay.
    fails, forgotten : bool
        Whether the receiver fails it, and whether it dies between performing and remembering it.
    handling : int
        Time from arriving to performing, in ticks.
    answer : callable
        Told what the answer is as it leaves the receiver.
    abandoned : bool
        Whether its sender has stopped waiting.
    """

    step: int
    key: Key | None
    words: int
    worker: "Worker | None"
    fails: bool = False
    forgotten: bool = False
    handling: int = 0
    answer: Callable[[str], None] = lambda _: None
    abandoned: bool = False


@dataclass(eq=False, slots=True)
class Entry:
    """A key in the receiver's table.

    Attributes
    ----------
    words : int
        Version of the arguments that came with it.
    claimed : int
        When, in ticks.
    completed : int or None
        When it was complete; not yet.
    failed : bool
        Whether what is remembered is an error.
    waiting : list of Request
        Repeats that get the answer of the first.
    """

    words: int
    claimed: int
    completed: int | None = None
    failed: bool = False
    waiting: list[Request] = field(default_factory=list)


class Deed(NamedTuple):
    """An action performed: when, on which attempt's request, and why again; "" for the first.

    The relay's request is that of attempt 0.
    """

    instant: int
    attempt: int
    cause: str
    forgotten: bool


class Receiver:
    """Performs actions, and remembers them.

    Attributes
    ----------
    performed : dict of int to list of Deed
        By step.
    blocked : list of int
        Steps whose repeat was answered from the key table.
    presumed_dead : set of int
        Attempts whose worker was replaced while it lived.
    """

    def __init__(
        self, env: Clock, settings: Settings, fences: bool, tell: Callable[[str, str, int], None]
    ) -> None:
        self.env = env
        self.settings = settings
        self.keys = settings.keys
        self.fences = fences
        self.tell = tell
        self.weather: Weather | None = None
        self.cancels = settings.on_disconnect == "cancels"
        self.table: dict[Key, Entry] = {}
        self.newest = 0
        self.performed: dict[int, list[Deed]] = defaultdict(list)
        self.blocked: list[int] = []
        self.presumed_dead: set[int] = set()

    def take(self, request: Request, delay: int) -> None:
        """◆sent: the request is on its way and will arrive, whatever becomes of the sender."""
        if delay:
            Timeout(self.env, delay).callbacks.append(lambda _: self.arrive(request))
        else:
            self.arrive(request)

    def arrive(self, request: Request) -> None:
        """Look the key up, and begin to perform what is new."""
        if self.cancels and self.has_left(request):
            who = sender(request.worker)
            self.tell("receiver", f"drops the request of {who}, who has gone", request.step)
            return
        if self.weather is not None and self.weather.is_down(self.env.now):
            if self.settings.during_outage == "error":
                request.answer("error")
            return
        if self.fences and request.worker is not None:
            if request.worker.number < self.newest:
                self.tell("receiver", f"refuses {sender(request.worker)}, which was replaced", request.step)
                request.answer("fenced")
                return
            self.newest = request.worker.number
        if request.key is None and not request.handling and not request.fails:
            self.put_down(request.step, request.worker.number if request.worker else RELAY)
            request.answer("ok")
            return
        entry = self.table.get(request.key) if request.key is not None else None
        run_out = entry is not None and self.has_run_out(entry)
        if entry is not None and not run_out:
            self.repeat(request, entry)
            return
        if request.key is not None and self.keys.claim == "atomic":
            self.table[request.key] = entry = Entry(request.words, self.env.now)
        else:
            entry = None
        arrived = self.env.now
        if request.handling:
            timer = Timeout(self.env, request.handling)
            timer.callbacks.append(lambda _: self.perform(request, entry, arrived, run_out))
        else:
            self.perform(request, entry, arrived, run_out)

    def has_left(self, request: Request) -> bool:
        """Whether a request is dropped because its sender is no longer connected."""
        return request.abandoned or (request.worker is not None and request.worker.dead)

    def owns(self, key: Key, entry: Entry | None) -> bool:
        """Whether a key is still its own to a request, with a claim or without, and not that of another."""
        known = self.table.get(key)
        return known is entry or (entry is None and known is not None and self.has_run_out(known))

    def has_run_out(self, entry: Entry) -> bool:
        """Whether a key is no longer remembered."""
        since, lasts = entry.completed, self.keys.ttl
        if since is None:
            since, lasts = entry.claimed, self.keys.claim_expires
        return lasts is not None and self.env.now - since >= to_tick(lasts)

    def repeat(self, request: Request, entry: Entry) -> None:
        """Answer a request whose key is known."""
        if entry.words != request.words and self.keys.mismatch == "error":
            who = sender(request.worker)
            self.tell("receiver", f"refuses {who}: a known key with other arguments", request.step)
            request.answer("mismatch")
        elif entry.completed is None:
            if self.keys.concurrent == "wait":
                entry.waiting.append(request)
            else:
                request.answer("in progress")
        elif entry.failed:
            request.answer("error")
        else:
            self.block(request)

    def block(self, request: Request) -> None:
        """Give the answer of the first again."""
        self.tell("receiver", f"answers {sender(request.worker)} from its key table", request.step)
        self.blocked.append(request.step)
        request.answer("ok")

    def perform(self, request: Request, entry: Entry | None, arrived: int, run_out: bool) -> None:
        """◆commit: do it."""
        now = self.env.now
        if request.fails or (self.cancels and self.has_left(request)):
            why = "fails" if request.fails else "cancels"
            self.tell("receiver", f"{why} the request of {sender(request.worker)}", request.step)
            waiting = entry.waiting if entry else []
            if request.key is not None and self.owns(request.key, entry):
                if request.fails and self.keys.remembers == "all":
                    self.table[request.key] = Entry(request.words, arrived, now, failed=True)
                elif entry is not None:
                    del self.table[request.key]
            for other in [request, *waiting]:
                other.answer("error")
            return
        # What came after the key had been looked up, and was quicker.
        quicker = self.table.get(request.key) if entry is None and request.key is not None else None
        raced = quicker is not None and quicker.completed is not None and quicker.completed >= arrived
        attempt = request.worker.number if request.worker else RELAY
        self.put_down(request.step, attempt, run_out, raced, request.forgotten)
        if request.forgotten:
            self.tell("receiver", FORGETS, request.step)
            if entry is not None:
                entry.waiting.clear()
            return
        if request.key is not None:
            if entry is None:
                self.table[request.key] = entry = Entry(request.words, arrived)
            entry.completed = now
        request.answer("ok")
        for other in entry.waiting if entry else ():
            self.block(other)

    def put_down(
        self,
        step: int,
        attempt: int,
        run_out: bool = False,
        raced: bool = False,
        forgotten: bool = False,
    ) -> None:
        """Enter an action in the ledger."""
        deeds = self.performed[step]
        cause = ""
        if deeds:
            before = deeds[-1]
            if run_out:
                cause = "expired_key"
            elif raced:
                cause = "race"
            elif before.forgotten:
                cause = "receiver_crash"
            elif attempt == RELAY:
                cause = "relay"
            elif {attempt, before.attempt} & self.presumed_dead:
                cause = "zombie"
            else:
                cause = "timeout" if attempt == before.attempt else "crash"
        deeds.append(Deed(self.env.now, attempt, cause, forgotten))
        who = f"worker {attempt}" if attempt != RELAY else "the relay"
        self.tell("receiver", f"{AGAIN} for {who}: {cause}" if cause else f"{PERFORMS} for {who}", step)

    def has_performed(self, step: int, until: int) -> bool:
        """Whether the action was performed, as seen at an instant."""
        return any(deed.instant <= until for deed in self.performed.get(step, ()))
