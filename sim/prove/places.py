"""Where faults can be placed in a run."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from sim.events import Block, Run
from sim.events.clock import Signal
from sim.events.receiver import Key as ReceiverKey
from sim.events.receiver import Request
from sim.events.worker import Worker
from sim.outcomes import Log
from sim.prove.faults import Fault, Schedule, kinds
from sim.scenario import Scenario
from sim.streams import Key
from sim.ticks import NEVER, to_tick
from sim.trace import exactly, seconds


class Sent(NamedTuple):
    """A request: when and in which step it was sent, by whom, and how many were sent in the step before."""

    tick: int
    step: int
    who: str
    n: int


class Begun(NamedTuple):
    """A step that a worker began: when, who, which, and how often its work had been begun before."""

    tick: int
    who: str
    step: int
    n: int


class Watched(Run):
    """A run that remembers where faults can be placed in it.

    Attributes
    ----------
    present : dict of int to Worker or None
        The run's own worker after each tick on which something happened.
    requests : list of Sent
    steps : list of Begun
        Of workers that are watched at their steps.
    ended : list of (int, int)
        When each worker was dead, or taken for dead, and how many there had been by then.
    """

    def __init__(self, block: Block, replication: int, log: Log) -> None:
        super().__init__(block, replication, log)
        self.present: dict[int, Worker | None] = {}
        self.requests: list[Sent] = []
        self.steps: list[Begun] = []
        self.ended: list[tuple[int, int]] = []

    def play(self) -> None:
        """Let events happen, one by one."""
        env = self.env
        while env.peek() < NEVER // 2:
            env.step()
            self.present[env.now] = self.worker

    def send(
        self, step: int, worker: Worker | None, key: ReceiverKey | None, words: int, n: int
    ) -> tuple[Request, Signal]:
        """Remember the request."""
        self.requests.append(Sent(self.env.now, step, worker.name if worker else "relay", n))
        return super().send(step, worker, key, words, n)

    def watch_step(self, worker: Worker, step: int) -> None:
        """Remember the step."""
        for phase in self.path:
            if phase.step == step and phase.name == "work":
                self.steps.append(Begun(self.env.now, worker.name, step, self.begun[phase.id]))
                break
        super().watch_step(worker, step)

    def begin_again(self, detection: int, lived: int) -> None:
        """Remember that a worker is needed."""
        self.ended.append((self.env.now, self.attempts))
        super().begin_again(detection, lived)


class Places:
    """Where faults can be placed in the runs of a small scenario.

    Parameters
    ----------
    scenario : Scenario
    run : Watched
        A run without faults.
    """

    def __init__(self, scenario: Scenario, run: Watched) -> None:
        self.scenario = scenario
        self.keys = scenario.receiver.keys
        watch = scenario.supervision
        self.lease = watch.lease if watch is not None else None
        self.step_timeout = watch.step_timeout if watch is not None else None
        # After so long a worker gives an answer up, or is given up with it.
        self.patience = scenario.client.timeout or self.step_timeout
        down = (scenario.downtime.detection, scenario.downtime.restart, scenario.downtime.load)
        pauses = [layer.wait_s(1) for layer in scenario.client.retries]
        self.horizon = 2 * max(run.present) + sum(to_tick(law.mean_s) for law in down)
        self.horizon += sum(map(to_tick, pauses))
        self.kinds: dict[str, Callable[[Watched, Schedule], Iterator[Fault]]] = {
            kind: getattr(self, kind.replace(" ", "_")) for kind in kinds(scenario)
        }

    def after(self, schedule: Schedule, run: Watched) -> Iterator[Fault]:
        """Give every fault that can follow those of a run."""
        since = schedule[-1].at if schedule else 0
        decided: set[Key] = set().union(*(fault.keys for fault in schedule))
        for place in self.kinds.values():
            for fault in place(run, schedule):
                if fault.at >= since and not fault.keys & decided:
                    yield fault

    def too_long(self, *limits: float | None) -> Iterator[int]:
        """Times that are just longer than a limit, in s, and longer by more than all else takes. Ticks."""
        for limit in dict.fromkeys(limits):
            if limit is not None:
                yield to_tick(limit) + 1
                yield to_tick(limit) + self.horizon

    def instants(self, run: Watched) -> Iterator[tuple[int, Worker]]:
        """Ticks on which something happened while there was a worker, and those beside them."""
        ticks = sorted(run.present)
        for tick, following in pairwise([*ticks, ticks[-1] + 2]):
            worker = run.present[tick]
            if worker is not None:
                for instant in sorted({tick, min(tick + 1, following - 1), following - 1}):
                    yield instant, worker

    # ------------------------------------------------------------------------- kinds of fault, by their names

    def crash(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """The worker dies."""
        for at, worker in self.instants(run):
            yield Fault(at, "crash", f"{worker.name} dies at {exactly(at)}", worker.name)

    def stall(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """The worker stalls for longer than its lease."""
        for at, worker in self.instants(run):
            for lasts in self.too_long(self.lease):
                key = (worker.number, 0)
                times = ((("stall", "every", *key), at - worker.woke), (("stall", "lasts", *key), lasts))
                says = f"{worker.name} stalls at {exactly(at)} for {seconds(lasts)}"
                yield Fault(at, "stall", says, worker.name, times=times)

    def relay_dies(self, run: Watched, schedule: Schedule) -> Iterator[Fault]:
        """The relay dies."""
        relay = self.scenario.strategy.relay
        assert relay is not None, "only a scenario with a relay admits it"
        deaths = [fault.at for fault in schedule if fault.kind == "relay dies"]
        begin = deaths[-1] + to_tick(relay.restart.mean_s) if deaths else 0
        for at in sorted({tick + beside for tick in run.present for beside in (-1, 0, 1)}):
            if at >= begin:
                life = (("relay", "life", len(deaths) + 1), at - begin)
                yield Fault(at, "relay dies", f"the relay dies at {exactly(at)}", "relay", times=(life,))

    def slow_work(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """The work of a step takes longer than the step may."""
        for at, who, step, n in run.steps:
            for lasts in self.too_long(self.step_timeout):
                says = f"the work of step {step + 1} that {who} begins takes {seconds(lasts)}"
                times = ((("step", step, "work", 0, "work", n), lasts),)
                yield Fault(at, "slow work", says, who, f"will work for {seconds(lasts)}", step, times)

    def late_return(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """The next worker comes when keys have been forgotten."""
        lasts = max(self.too_long(self.keys.ttl, self.keys.claim_expires))
        for at, attempts in run.ended:
            says = f"the restart after worker {attempts} takes {seconds(lasts)}"
            times = ((("downtime", "restart", attempts), lasts),)
            tells = f"will need {seconds(lasts)} for a restart"
            yield Fault(at, "late return", says, "supervisor", tells, times=times)

    def request_lost(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """A request never arrives."""
        return self._happens(run, "request lost", "request lost", "the request of {} is lost")

    def answer_lost(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """An answer never arrives."""
        return self._happens(run, "answer lost", "answer lost", "the answer to the request of {} is lost")

    def error(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """A request fails."""
        return self._happens(run, "error", "fails", "the request of {} fails")

    def receiver_dies(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """The receiver performs and dies before it has remembered that."""
        says = "the receiver dies between action and key, serving the request of {}"
        return self._happens(run, "receiver dies", "forgets", says)

    def request_late(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """A request is on its way for longer than anybody waits."""
        says = "the request of {} is on its way for {}"
        return self._lasts(run, "request late", "request", says, self.patience)

    def answer_late(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """An answer is on its way for longer than anybody waits."""
        says = "the answer to the request of {} is on its way for {}"
        return self._lasts(run, "answer late", "response", says, self.patience)

    def slow_receiver(self, run: Watched, _: Schedule) -> Iterator[Fault]:
        """The receiver performs when nobody waits any more, or when a claim has run out."""
        says = "the receiver handles the request of {} for {}"
        return self._lasts(run, "slow receiver", "handling", says, self.patience, self.keys.claim_expires)

    def _happens(self, run: Watched, kind: str, part: str, says: str) -> Iterator[Fault]:
        for sent in run.requests:
            key: Key = ("step", sent.step, "call", 0, part, sent.n)
            whose = says.format(_whose(sent))
            yield Fault(sent.tick, kind, whose, "network", step=sent.step, happens=(key,))

    def _lasts(self, run: Watched, kind: str, part: str, says: str, *limits: float | None) -> Iterator[Fault]:
        actor = "receiver" if part == "handling" else "network"
        will = {"request": "will carry the request of", "response": "will carry the answer to"}
        for sent in run.requests:
            key: Key = ("step", sent.step, "call", 0, part, sent.n)
            for lasts in self.too_long(*limits):
                whose = says.format(_whose(sent), seconds(lasts))
                tells = f"{will.get(part, 'will handle the request of')} {sent.who} for {seconds(lasts)}"
                yield Fault(sent.tick, kind, whose, actor, tells, sent.step, ((key, lasts),))


def _whose(sent: Sent) -> str:
    return f"{sent.who} at {exactly(sent.tick)}"
