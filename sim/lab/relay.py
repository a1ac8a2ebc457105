"""The relay of an outbox: a process that sends what agents have entered, and marks what was answered."""

import time
from itertools import cycle

from sim.lab.orders import Order
from sim.lab.receiver import Client
from sim.lab.site import Site

PATIENCE_S = 30.0
"""How long the last entries of a run may take."""


def relay(order: Order, site: Site) -> None:
    """Send the entries of a run; never ends of itself."""
    assert order.relay is not None, "only a strategy with an outbox has a relay"
    store, receiver = site.open(order.run), Client(site.port)
    times = order.relay
    polls, marks = cycle(times.poll_ns), cycle(times.mark_ns)
    requests, responses = cycle(times.request_ns), cycle(times.response_ns)
    while True:
        for number, step in store.entries():
            key = None if order.key == "none" else f"{order.run}/{step}"
            receiver.send(
                "perform",
                order.run,
                step=step,
                key=key,
                request_ns=next(requests),
                response_ns=next(responses),
            )
            receiver.wait()
            time.sleep(next(marks) / 1e9)
            store.mark(number)
        time.sleep(next(polls) / 1e9)


def settle(order: Order, site: Site) -> bool:
    """Wait until all entries of a run are marked; False if that takes too long."""
    store = site.open(order.run)
    deadline = time.monotonic() + PATIENCE_S
    try:
        while store.entries():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
    finally:
        store.close()
    return True
