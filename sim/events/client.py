"""How the worker calls the receiver: tries, time-outs, waits, layers of both."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from simpy.events import Event, Timeout

from sim.events.words import SENDS
from sim.program import Phase
from sim.services import Retries
from sim.ticks import to_tick

if TYPE_CHECKING:
    from sim.events.worker import Worker


def pause_s(layers: tuple[Retries, ...], failures: int) -> float | None:
    """How long to wait after so many failed tries, in s; None if no layer tries again.

    A layer whose tries are used up has failed once in the eyes of the next one.
    """
    for layer in layers:
        if layer.tries == "forever":
            return layer.wait_s(failures)
        used = (failures - 1) % layer.tries + 1
        if used < layer.tries:
            return layer.wait_s(used)
        failures //= layer.tries
    return None


def call(worker: "Worker", phase: Phase) -> Generator[Event, Any, str]:
    """Call the receiver until it answers; give "", or how it ends the worker: ``stuck`` or ``fenced``."""
    run, env = worker.run, worker.env
    failures = 0
    while True:
        n = run.sends[phase.step] = run.sends.get(phase.step, -1) + 1
        run.tell(worker.name, SENDS, phase.step)
        key = worker.key(phase.step, n)
        request, answer = run.send(phase.step, worker, key, worker.words_of(phase), n)
        run.time_out(request, answer)
        told = yield answer
        if stands := worker.stretch(0):
            yield Timeout(env, stands)
        if told == "ok":
            return ""
        heard = "has no answer in time" if told == "time-out" else f"is told: {told}"
        run.tell(worker.name, heard, phase.step)
        if told == "fenced":
            return "fenced"
        failures += 1
        pause = pause_s(run.scenario.client.retries, failures)
        if told == "mismatch" or pause is None or failures >= run.scenario.limits.tries:
            run.tell(worker.name, "gives the call up", phase.step)
            return "stuck"
        if wait := worker.stretch(to_tick(pause)):
            yield Timeout(env, wait)
