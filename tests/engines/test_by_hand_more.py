"""More runs worked out by hand: workers taken for dead, keys, tries, relays, lanes, tears, outages.

The run is that of `by_hand.md`: A works 10 s, B 20 s and acts, C 30 s. A call prepares for 1 s, its request
flies for 2, the answer for 4; a save is durable after 0.5 s and known to be after 0.25 more; a crash is
noticed after 5, a new worker is there after 2.5, and has loaded after 1.5. Under a checkpoint after each
step, without a crash: A -10, ◆durable 10.5, -10.75; B -30.75, ◆sent 31.75, ◆commit 33.75, ◆done 37.75,
◆durable 38.25, -38.5; C -68.5, ◆durable 69, -69.25.

Beside each case stands in words what happens. What it does not name of duplicates by cause, blocked repeats,
lost actions and time of zombies is none, and the run finishes; the accounts are checked by the engine.
"""

from dataclasses import dataclass, field
from math import isnan
from typing import Any

import pytest
from by_hand import CHECKPOINT, A, B, C, scenario, tick
from engine_scenarios import on_both

from sim import Scenario, timeline
from sim.events import Block, Run, words
from sim.events.outage import Weather
from sim.outcomes import CAUSES, Log, count
from sim.program import unfold
from sim.streams import Streams

NS = 1e-9


@dataclass(frozen=True)
class Case:
    """A run: what happens in it, in words; how it is set up; what it comes to, in seconds."""

    words: str
    makespan_s: float
    struck: tuple[float, ...] = ()
    strategy: dict[str, Any] = field(default_factory=lambda: CHECKPOINT)
    changes: dict[str, Any] = field(default_factory=dict)
    outage: tuple[float, float] | None = None
    told: dict[str, list[float]] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)


def case(words: str, makespan_s: float, *struck: float, **more: Any) -> Case:
    """Give a case; what is no part of its set-up is an outcome."""
    own = {name: more.pop(name) for name in ("strategy", "changes", "outage", "told") if name in more}
    return Case(words, makespan_s, struck, **own, found=more)


RECEIVER = {"prepare": 1, "request": 2, "response": 4, "query": 3}
DOWNTIME = {"detection": 5, "restart": 2.5, "load": 1.5}


def receiver(**more: Any) -> dict[str, Any]:
    return {"receiver": RECEIVER | more}


def tries(*layers: dict[str, Any], timeout: float | None = None) -> dict[str, Any]:
    client: dict[str, Any] = {"retries": list(layers)}
    return {"client": client if timeout is None else client | {"timeout": timeout}}


SENDS, STORES, PERFORMS = f"worker {words.SENDS}", f"store {words.DURABLE}", f"receiver {words.PERFORMS}"

# C -30.75, A -41.5, B works -61.5, ◆sent 62.5, ◆commit 64.5, ◆done 68.5, ◆durable 69, -69.25. Heartbeats at
# 0, 2, 4 and so on; 6 s after the last one a worker is taken for dead, and 2.5 s later there is another,
# which has loaded after 1.5 s more. Each worker stalls but once in its life: the second ones have finished by
# then.
LATE = {"workload": {"steps": [C, A, B]}, "downtime": {"restart": 2.5, "load": 1.5}}


def watched(
    every: float | None = None, lasts: float = 0, fencing: str = "none", freezes: bool = True, **more: Any
) -> dict[str, Any]:
    stalls = {} if every is None else {"stalls": {"every": every, "lasts": lasts, "freezes": freezes}}
    return LATE | {"supervision": {"lease": 6, "renew": 2, "fencing": fencing} | stalls | more}


KEYED = CHECKPOINT | {"key": "run_step"}
ZOMBIES = {
    "a stall a tick shorter than what is left of the lease": case(
        "stalls at 65 in the answer, last heard of at 64; the answer is there at 68.5, read a tick before 70",
        70.75 - NS,
        changes=watched(65, 5 - NS),
    ),
    "a stall as long as what is left of the lease": case(
        "goes on at 70: its heartbeat comes on the very tick",
        70.75,
        changes=watched(65, 5),
    ),
    "a stall a tick longer": case(
        "taken for dead at 70, goes on a tick later, ◆durable 70.5, -70.75; the other, there at "
        "72.5, finds all "
        "saved, and has loaded at 74",
        74,
        changes=watched(65, 5 + NS),
        zombie_s=0.75 + NS,
    ),
    "a stall longer than the lease, after the action": case(
        "taken for dead at 70; goes on at 73, ◆durable 73.5, -73.75. The other is there at 72.5, has "
        "loaded at 74, "
        "works B -94, ◆sent 95, ◆commit 97 again, 32.5 s after the first, -101, ◆durable 101.5",
        101.75,
        changes=watched(65, 8),
        duplicates_zombie=1,
        spacing_s=32.5,
        zombie_s=3.75,
        redone_steps=1,
        downtime_s=4,
        lost_work_s=28.5,
        wasted_work_s=28.5,
    ),
    "the same, and its save is refused": case(
        "its save is refused at 73.5, and it ends; the action is repeated all the same",
        101.75,
        changes=watched(65, 8, "record"),
        duplicates_zombie=1,
        spacing_s=32.5,
        zombie_s=3.5,
    ),
    "the same, and the receiver knows the key": case(
        "the other's request at 97 is answered from the key table",
        101.75,
        strategy=KEYED,
        changes=watched(65, 8),
        blocked_duplicates=1,
        zombie_s=3.75,
    ),
    "a stall before the action, short": case(
        "stalls at 55 in B's work, taken for dead at 60, goes on at 65: works 6.5 s -71.5, ◆sent "
        "72.5, ◆commit "
        "74.5, ◆durable 79, -79.25; the other, there at 62.5, has loaded at 64: ◆sent 85, ◆commit 87 again",
        91.75,
        changes=watched(55, 10),
        duplicates_zombie=1,
        spacing_s=12.5,
        zombie_s=19.25,
    ),
    "the same, and late effects are refused": case(
        "at 74.5 the receiver has not heard from the other: performed; the save at 79 is refused",
        91.75,
        changes=watched(55, 10, "effect"),
        duplicates_zombie=1,
        spacing_s=12.5,
        zombie_s=19,
    ),
    "a stall before the action, long": case(
        "goes on at 85, works -91.5, ◆sent 92.5, ◆commit 94.5 again, when the run is over, -99.25",
        91.75,
        changes=watched(55, 30),
        duplicates_zombie=1,
        spacing_s=7.5,
        zombie_s=39.25,
    ),
    "the same, and late saves are refused": case(
        "performed again at 94.5, and the save at 99 refused",
        91.75,
        changes=watched(55, 30, "record"),
        duplicates_zombie=1,
        spacing_s=7.5,
        zombie_s=39,
    ),
    "the same, and late effects are refused, once the receiver has heard from the other": case(
        "refused at 94.5, told at 98.5",
        91.75,
        changes=watched(55, 30, "effect"),
        zombie_s=38.5,
    ),
    "a transaction that comes through late": case(
        "stalls at 61.7 in the write, taken for dead at 66, there at 68.5, loaded at 70; the write is "
        "durable at 72, and performs; the other, whose write is durable at 90.5, finds its row there",
        90.75,
        strategy={"protocol": "transaction"},
        changes=watched(61.7, 10),
        zombie_s=6.25,
    ),
    "who is taken for dead is killed as well": case(
        "killed at 60, in B's work: nothing was sent",
        91.75,
        changes=watched(55, 30, cancels=True),
        lost_work_s=18.5,
        downtime_s=4,
    ),
    "a blocked heartbeat, while the work goes on": case(
        "taken for dead at 60, works on: ◆commit 64.5, -69.25; the other ◆commit 87 again",
        91.75,
        changes=watched(55, 10, freezes=False),
        duplicates_zombie=1,
        spacing_s=22.5,
        zombie_s=9.25,
    ),
    "a heartbeat blocked for as long as the lease lasts": case(
        "heard of again at 60: nothing happens", 69.25, changes=watched(55, 5, freezes=False)
    ),
    "a crash under a lease": case(
        "dies at 51, last heard of at 50: noticed at 56, there at 58.5, loaded at 60, B 27.75 s",
        87.75,
        51,
        changes=watched(),
        downtime_s=9,
    ),
    "a crash as a heartbeat is sent": case(
        "sent, so that the lease lasts until 56", 87.75, 50, changes=watched(), downtime_s=10
    ),
    "a crash a tick before a heartbeat": case(
        "last heard of at 48: noticed at 54", 85.75, 50 - NS, changes=watched(), downtime_s=8 + NS
    ),
}

TWO = {"workload": {"steps": [A, B]}, "downtime": {"restart": 2.5, "load": 1.5}}
# A -10.75; B -30.75, ◆sent 31.75, ◆commit 33.75, ◆done 37.75, ◆durable 38.25, -38.5: 27.75 s.
STEP_TIMEOUTS = {
    "a step that ends as its time is over": case(
        "B ends at 38.5: nothing happens", 38.5, changes=TWO | {"supervision": {"step_timeout": 27.75}}
    ),
    "a step that would have ended a tick later": case(
        "in its ack; all is durable, so that the other has nothing to do once it has loaded",
        42.5 - NS,
        changes=TWO | {"supervision": {"step_timeout": 27.75 - NS}},
        zombie_s=NS,
    ),
    "a step that is done, not durable": case(
        "taken for dead at 37.75; ◆durable 38.25, -38.5; the other, there at 40.25, finds all done",
        41.75,
        changes=TWO | {"supervision": {"step_timeout": 27}},
        zombie_s=0.75,
    ),
    "a step that is durable as the other is there": case(
        "taken for dead at 35.75; ◆durable 38.25, and the other reads it on the tick; loaded at 39.75",
        39.75,
        changes=TWO | {"supervision": {"step_timeout": 25}},
        zombie_s=2.75,
    ),
    "a step that never ends in time": case(
        "taken for dead at 34.75; the other there at 37.25, when B is not durable, works from 38.75, "
        "◆commit 61.75 "
        "again, taken for dead at 62.75: the second and last attempt; -66.5",
        62.75,
        changes=TWO | {"supervision": {"step_timeout": 24}, "limits": {"attempts": 2}},
        duplicates_zombie=1,
        spacing_s=28,
        zombie_s=3.75 + 3.75,
        stuck=True,
    ),
}

REWORDED = {"workload": {"steps": [A, B, C], "rewords": 1.0}}
INTENT = {"protocol": "intent_redo", "key": "arguments"}
# The crash at 34 is after ◆commit: B again from 43 on, ◆sent 64, arrives at 66, 32.25 s after ◆commit; C from
# 70.75 on, -101.5. With an intent: ◆durable 31.25, -31.5, ◆sent 32.5, ◆commit 34.5.
KEYS = {
    "no key": case("repeated", 101.5, 34, duplicates_crash=1, spacing_s=32.25),
    "a key of each request": case(
        "another key: repeated",
        101.5,
        34,
        strategy=CHECKPOINT | {"key": "per_send"},
        duplicates_crash=1,
        spacing_s=32.25,
    ),
    "a key of each attempt": case(
        "another key: repeated",
        101.5,
        34,
        strategy=CHECKPOINT | {"key": "per_attempt"},
        duplicates_crash=1,
        spacing_s=32.25,
    ),
    "a key of run and step": case("blocked", 101.5, 34, strategy=KEYED, blocked_duplicates=1),
    "a crash as it is sent": case("blocked", 99.25, 31.75, strategy=KEYED, blocked_duplicates=1),
    "a crash a tick before it is sent": case("sent once", 99.25 - NS, 31.75 - NS, strategy=KEYED),
    "a crash as it is done": case("blocked", 105.25, 37.75, strategy=KEYED, blocked_duplicates=1),
    "a crash as it is durable": case("C from 47.25 on", 78, 38.25, strategy=KEYED),
    "a key of arguments, the same": case(
        "blocked", 101.5, 34, strategy=CHECKPOINT | {"key": "arguments"}, blocked_duplicates=1
    ),
    "a key of arguments, reworded": case(
        "work done again words them anew: repeated",
        101.5,
        34,
        strategy=CHECKPOINT | {"key": "arguments"},
        changes=REWORDED,
        duplicates_crash=1,
        spacing_s=32.25,
    ),
    "a key of arguments, reworded, but written down before": case(
        "sent again from the intent at 45, without the work: blocked at 47; -51, ◆durable 51.5, "
        "-51.75, C 30.75",
        82.5,
        35,
        strategy=INTENT,
        changes=REWORDED,
        blocked_duplicates=1,
    ),
    "a key of arguments, reworded, and not yet written down": case(
        "a tick before the intent is durable: never sent before, B and C again, 59.25 s",
        99.5 - NS,
        31.25 - NS,
        strategy=INTENT,
        changes=REWORDED,
    ),
    "a run's id that the worker makes, and nothing was saved": case(
        "restart: ◆sent 31, ◆commit 33, and again at 76, with another id",
        110,
        34,
        strategy={"protocol": "restart", "key": "run_step", "run_id": "made"},
        duplicates_crash=1,
        spacing_s=43,
    ),
    "a run's id that the worker makes, and that was saved with A": case(
        "blocked", 101.5, 34, strategy=KEYED | {"run_id": "made"}, blocked_duplicates=1
    ),
    "a key that is remembered a tick longer": case(
        "blocked",
        101.5,
        34,
        strategy=KEYED,
        changes=receiver(keys={"ttl": 32.25 + NS}),
        blocked_duplicates=1,
    ),
    "a key that has just run out": case(
        "repeated",
        101.5,
        34,
        strategy=KEYED,
        changes=receiver(keys={"ttl": 32.25}),
        duplicates_expired_key=1,
        spacing_s=32.25,
    ),
    "a key from which a repeat was answered is no younger for that": case(
        "sent again at 64, blocked at 66; once more at 96.5: at 98.5, 64.75 s after it was performed and "
        "32.5 after that, it has run out",
        134,
        34,
        66.5,
        strategy=KEYED,
        changes=receiver(keys={"ttl": 50}),
        blocked_duplicates=1,
        duplicates_expired_key=1,
        spacing_s=64.75,
    ),
    "a known key with other arguments, an error": case(
        "refused at 66, told at 70: the run is stuck",
        70,
        34,
        strategy=KEYED,
        changes=REWORDED | receiver(keys={"mismatch": "error"}),
        stuck=True,
    ),
    "a known key with other arguments, ignored": case(
        "the old answer", 101.5, 34, strategy=KEYED, changes=REWORDED, blocked_duplicates=1
    ),
}

SLOW = {"handling": 40}
# Arrives at 33.75, performed at 73.75; the repeat arrives at 66.
CLAIMS = {
    "a repeat that waits for the first": case(
        "answered with the first: told at 77.75, ◆durable 78.25, -78.5, C 30.75",
        109.25,
        34,
        strategy=KEYED,
        changes=receiver(**SLOW),
        blocked_duplicates=1,
    ),
    "a repeat that is told to come again": case(
        "told at 70; sent again at 72, arrives at 74: blocked, told at 78, -78.75",
        109.5,
        34,
        strategy=KEYED,
        changes=receiver(**SLOW, keys={"concurrent": "in_progress"}) | tries({"tries": 5, "first": 2}),
        blocked_duplicates=1,
        told={SENDS: [31.75, 64, 72]},
    ),
    "a repeat that is told to come again, and does not": case(
        "told at 70, and gives up",
        70,
        34,
        strategy=KEYED,
        changes=receiver(**SLOW, keys={"concurrent": "in_progress"}),
        stuck=True,
    ),
    "a claim that counts a tick longer": case(
        "as one that waits",
        109.25,
        34,
        strategy=KEYED,
        changes=receiver(**SLOW, keys={"claim_expires": 32.25 + NS}),
        blocked_duplicates=1,
    ),
    "a claim that has just expired": case(
        "handled anew -106, told at 110, ◆durable 110.5, -110.75, C 30.75",
        141.5,
        34,
        strategy=KEYED,
        changes=receiver(**SLOW, keys={"claim_expires": 32.25}),
        duplicates_expired_key=1,
        spacing_s=32.25,
    ),
    "a claim that has expired and fails": case(
        "claimed at 33.75, to fail at 73.75; time-out at 36.75; sent again at 39.75, claimed anew at 41.75, "
        "8 s later; time-out at 44.75, given up; the first fails, and leaves the other's claim alone",
        44.75,
        strategy=KEYED,
        changes=receiver(**SLOW, fails=1.0, keys={"claim_expires": 8})
        | tries({"tries": 2, "first": 3}, timeout=5),
        stuck=True,
    ),
    "a key that is inserted only with the action": case(
        "at 66 it is not there: performed at 106 too",
        141.5,
        34,
        strategy=KEYED,
        changes=receiver(**SLOW, keys={"claim": "check_then_insert"}),
        duplicates_race=1,
        spacing_s=32.25,
    ),
    "a key that was inserted just in time": case(
        "performed at 66 as the repeat comes: blocked",
        101.5,
        34,
        strategy=KEYED,
        changes=receiver(handling=32.25, keys={"claim": "check_then_insert"}),
        blocked_duplicates=1,
    ),
    "a receiver that dies before it remembers, the key claimed": case(
        "performed at 33.75, no answer until 41.75; sent again at 42.75, waits behind the claim until 52.75",
        52.75,
        strategy=KEYED,
        changes=receiver(keys={"forgets": 1.0}) | tries({"tries": 2, "first": 1}, timeout=10),
        told={SENDS: [31.75, 42.75]},
        stuck=True,
    ),
    "a receiver that dies before it remembers, the key not claimed": case(
        "performed at 33.75, and at 44.75 again",
        52.75,
        strategy=KEYED,
        changes=receiver(keys={"forgets": 1.0, "claim": "check_then_insert"})
        | tries({"tries": 2, "first": 1}, timeout=10),
        duplicates_receiver_crash=1,
        spacing_s=11,
        stuck=True,
    ),
    "an error that is remembered": case(
        "fails at 33.75, told at 37.75; sent again at 38.75: the same error, told at 44.75",
        44.75,
        strategy=KEYED,
        changes=receiver(fails=1.0, keys={"remembers": "all"}) | tries({"tries": 2, "first": 1}),
        stuck=True,
    ),
}

FAILS = receiver(fails=1.0)
# Sent at 31.75; an answer comes 6 s after the request.
CLIENTS = {
    "an answer as the time is over": case("in time", 69.25, changes=tries(timeout=6)),
    "an answer a tick too late": case(
        "performed, and given up", 37.75 - NS, changes=tries(timeout=6 - NS), stuck=True
    ),
    "an answer a tick too late, twice": case(
        "sent again half a second later, performed again, and given up",
        44.25 - 2 * NS,
        changes=tries({"tries": 2}, timeout=6 - NS),
        told={SENDS: [31.75, 38.25 - NS]},
        duplicates_timeout=1,
        spacing_s=6.5 - NS,
        stuck=True,
    ),
    "an answer a tick too late, twice, with a key": case(
        "the repeat is blocked, and its answer is too late as well",
        44.25 - 2 * NS,
        strategy=KEYED,
        changes=tries({"tries": 2}, timeout=6 - NS),
        blocked_duplicates=1,
        stuck=True,
    ),
    "waits that grow to the longest": case(
        "waits 1, 3, 5 and 5 s after errors at 37.75, 44.75, 53.75, 64.75; the last at 75.75",
        75.75,
        changes=FAILS | tries({"tries": 5, "first": 1, "factor": 3, "most": 5}),
        told={SENDS: [31.75, 38.75, 47.75, 58.75, 69.75]},
        stuck=True,
    ),
    "layers multiply": case(
        "2 × 3 tries: the inner one waits 1 s, the outer one 10 and then 15, the most, instead of 20",
        95.75,
        changes=FAILS | tries({"tries": 2, "first": 1}, {"tries": 3, "first": 10, "most": 15}),
        told={SENDS: [31.75, 38.75, 54.75, 61.75, 82.75, 89.75]},
        stuck=True,
    ),
    "at most so many tries": case(
        "the fourth fails at 67.75",
        67.75,
        changes=FAILS
        | tries({"tries": 2, "first": 1}, {"tries": 3, "first": 10, "most": 15})
        | {"limits": {"tries": 4}},
        told={SENDS: [31.75, 38.75, 54.75, 61.75]},
        stuck=True,
    ),
    "for ever is until the limit": case(
        "errors each 6 s, waits of 4 s: the third at 57.75",
        57.75,
        changes=FAILS | tries({"tries": "forever", "first": 4, "factor": 1}) | {"limits": {"tries": 3}},
        told={SENDS: [31.75, 41.75, 51.75]},
        stuck=True,
    ),
    "no try, no wait": case("gives up at once", 37.75, changes=FAILS, stuck=True),
    "a crash in a wait": case(
        "error at 37.75, dies at 38: B again from 47 on, ◆sent 68, error at 74, sent again at 79, "
        "error at 85",
        85,
        38,
        changes=FAILS | tries({"tries": 2, "first": 5}),
        told={SENDS: [31.75, 68, 79]},
        lost_work_s=27.25 + 38,
        stuck=True,
    ),
}

HANGS_UP = {"on_disconnect": "cancels"}
DISCONNECTS = {
    "the sender dies a tick before its request arrives": case(
        "dropped: performed once, by the next", 101.25 - NS, 33.75 - NS, changes=receiver(**HANGS_UP)
    ),
    "the sender dies as its request arrives": case(
        "performed, and again",
        101.25,
        33.75,
        changes=receiver(**HANGS_UP),
        duplicates_crash=1,
        spacing_s=32.25 - 0.25,
    ),
    "the sender dies while its request is handled": case(
        "arrived at 33.75, dropped at 43.75; B again from 43 on, arrives at 66, performed at 76, "
        "told at 80, -80.75",
        111.5,
        34,
        changes=receiver(**HANGS_UP, handling=10),
    ),
    "the sender has stopped waiting": case(
        "no answer until 36.75; dropped at 43.75, never performed, and the run is stuck",
        36.75,
        changes=receiver(**HANGS_UP, handling=10) | tries(timeout=5),
        told={PERFORMS: []},
        stuck=True,
    ),
}

ONE_SLOT = {"store": {"write": 0.5, "ack": 0.25, "slots": 1}}
PARK = {"protocol": "intent_park"}
DELTA = {"verb": "save", "lane": "w", "delta": True, "scale": 0.5}
TWO_PART = {"plain": ["work", DELTA, "save"], "action": ["work", "call", DELTA, "save"]}
BOTH = [{"verb": "save", "lane": "full"}, DELTA]
AHEAD = {"plain": ["work", *BOTH], "action": ["work", "call", *BOTH]}
BEGIN = CHECKPOINT | {"begin": [{"verb": "save", "resume": "here"}], "if_nothing": "stuck"}
LANE_FIRST = {
    "plain": ["work", "save"],
    "action": ["work", {"verb": "save", "lane": "w"}, {"verb": "save", "holds": "effect"}],
}
SAVES = {
    # Intent ◆durable 31.25, -31.5, ◆sent 32.5, ◆commit 34.5, ◆done 38.5, ◆durable 39.
    "park, a tick before the intent is durable": case("B again", 99.5 - NS, 31.25 - NS, strategy=PARK),
    "park, as the intent is durable": case(
        "loaded at 40.25, and waits for a person", 40.25, 31.25, strategy=PARK, stuck=True
    ),
    "park, a tick before it is recorded": case(
        "loaded, and waits for a person", 48 - NS, 39 - NS, strategy=PARK, stuck=True, redone_steps=0
    ),
    "park, as it is recorded": case("C from 48 on", 78.75, 39, strategy=PARK),
    "nothing saved, by a tick": case(
        "stuck, once it has loaded",
        19.5 - NS,
        10.5 - NS,
        strategy=CHECKPOINT | {"if_nothing": "stuck"},
        stuck=True,
        wasted_work_s=10,
    ),
    "A saved, on the tick": case("B from 19.5 on", 78, 10.5, strategy=CHECKPOINT | {"if_nothing": "stuck"}),
    "saved before the first step": case(
        "◆durable 0.5: A from 9.5 on, and all, 69.25 s", 78.75, 0.5, strategy=BEGIN
    ),
    "a tick before that": case("nothing is saved: stuck", 9.5 - NS, 0.5 - NS, strategy=BEGIN, stuck=True),
    "in memory only": case(
        "C is struck: A and B are gone too, and all begins anew at 49",
        118.25,
        40,
        strategy={"protocol": "memory"},
        duplicates_crash=1,
        spacing_s=49.0,
        redone_steps=2,
        lost_work_s=1.5,
        wasted_work_s=38.5,
    ),
    "in memory only, given up while it is down": case(
        "struck at 40 and given up at 45: what was saved had died at 40",
        45,
        40,
        strategy={"protocol": "memory"},
        changes={"limits": {"makespan": 45}},
        lost_work_s=1.5,
        wasted_work_s=38.5,
        stuck=True,
    ),
    "a torn write": case(
        "B's write is cut: nothing is left, A and B again from 47 on",
        116.25,
        38,
        changes=ONE_SLOT,
        duplicates_crash=1,
        spacing_s=47.0,
        redone_steps=2,
        wasted_work_s=37,
    ),
    "a torn write, told to stop before it": case(
        "told at 10.5, stops at 10.75 as A is done: B's write has not begun; B from 19.75 on",
        78.25,
        strategy={"plain": ["save", "work"], "action": ["save", "work", "call"]},
        changes=ONE_SLOT | {"crash": {"process": "periodic", "period": 1000, "first": 10.5, "grace": 60}},
        crashes=1,
    ),
    "a write cut as it is durable": case("C from 47.25 on", 78, 38.25, changes=ONE_SLOT),
    "a write that a crash cuts, two slots": case(
        "B again from 47 on", 105.5, 38, duplicates_crash=1, spacing_s=36.25, redone_steps=1
    ),
    # Work -30.75, ◆durable and performed 31.25, -31.5, C -61.5, ◆durable 62, -62.25.
    "a transaction, a tick before it is durable": case(
        "not performed; B and C again, 51.5 s", 91.75 - NS, 31.25 - NS, strategy={"protocol": "transaction"}
    ),
    "a transaction, as it is durable": case(
        "performed; C from 40.25 on", 71, 31.25, strategy={"protocol": "transaction"}
    ),
    "a save that comes through before a transaction": case(
        "put in the lane at 30.75, ◆durable on the tick of the transaction's write, which performs "
        "all the same",
        62.25,
        strategy=LANE_FIRST,
        told={PERFORMS: [31.25]},
    ),
    # Deltas take 1 s, saves 2: A -10, delta 11, save -12; B ◆done 39, delta 40, save -41; C -71, -73.
    "a delta, a tick before it is durable": case(
        "A again",
        73 + 11 + 9 - NS,
        11 - NS,
        strategy=TWO_PART,
        changes={"store": {"write": 2}},
        redone_steps=1,
    ),
    "a delta, as it is durable": case(
        "it rests upon nothing: B from 20 on", 81, 11, strategy=TWO_PART, changes={"store": {"write": 2}}
    ),
    "a delta upon a save": case(
        "B's, upon A's save: C from 49 on", 81, 40, strategy=TWO_PART, changes={"store": {"write": 2}}
    ),
    # Where both are behind the work, the save is durable at 12, its delta at 11: C ends at 67.
    "a delta that is durable before what it rests upon": case(
        "is not usable: A again from 20.5 on", 87.5, 11.5, strategy=AHEAD, changes={"store": {"write": 2}}
    ),
    "a delta, as what it rests upon is durable": case(
        "B from 21 on", 78, 12, strategy=AHEAD, changes={"store": {"write": 2}}
    ),
    "writes that grow": case(
        "0.5, 1 and 1.5 s, and an ack of 0.25 s each",
        70.75,
        changes={"store": {"write": 0.5, "ack": 0.25, "growth": 1.0}},
        save_time_s=3.75,
    ),
    "a history that is replayed": case(
        "two steps are saved at 50: it loads for 1.5 + 2 × 2 s",
        93.75,
        50,
        changes={"downtime": DOWNTIME | {"replay": 2}},
        downtime_s=13,
    ),
    "saves after groups": case(
        "A and B are one task: nothing is saved before ◆durable 37.5; C from 46.5 on",
        77.25,
        37.5,
        strategy=CHECKPOINT | {"after_groups": True},
        changes={"workload": {"steps": [A | {"group": "x"}, B | {"group": "x"}, C | {"group": "y"}]}},
        saves=2,
    ),
}

# A -10, B works -30, ◆done 37, C -67 where nothing waits.
WAITING = {"store": {"write": 40}}


def lane(**settings: Any) -> dict[str, Any]:
    return {"protocol": "async", "lanes": {"background": settings}}


LANES = {
    "a lane without a bound": case(
        "saves 10-50, -90, -130, and nobody waits before the end",
        130,
        strategy={"protocol": "async"},
        changes=WAITING,
        told={STORES: [50, 90, 130]},
        save_time_s=63,
    ),
    "room for two": case(
        "at 37 one is under way, at 67 one is, and B's waits for nobody",
        130,
        strategy=lane(bound=2),
        changes=WAITING,
        told={STORES: [50, 90, 130]},
        save_time_s=63,
    ),
    "room for one": case(
        "B is done at 37 and waits for A's save until 50; C -80 waits until 90; drained at 130",
        130,
        strategy=lane(bound=1),
        changes=WAITING,
        told={STORES: [50, 90, 130]},
        save_time_s=13 + 10 + 40,
    ),
    "a crash in such a wait": case(
        "at 45 nothing is durable: all again from 54 on, B done at 91",
        184,
        45,
        strategy=lane(bound=1),
        changes=WAITING,
        told={STORES: [104, 144, 184]},
        duplicates_crash=1,
        spacing_s=54,
        redone_steps=2,
        lost_work_s=0,
        wasted_work_s=37,
    ),
    "a batch of two": case(
        "A waits for B, which fills it at 37; C is written as the run drains",
        67.75,
        strategy=lane(batch=2),
        told={STORES: [37.5, 37.5, 67.5]},
        saves=3,
    ),
    "a batch that is written after a while": case(
        "A's at 10 + 5, B's at 37 + 5, C's as the run drains",
        67.75,
        strategy=lane(batch=2, linger=5),
        told={STORES: [15.5, 42.5, 67.5]},
    ),
    "a crash before a batch is durable": case(
        "by a tick: all again from 46.5 on",
        114.25 - NS,
        37.5 - NS,
        strategy=lane(batch=2),
        duplicates_crash=1,
        spacing_s=46.5 - NS,
        redone_steps=2,
    ),
    "a crash as a batch is durable": case("both are: C from 46.5 on", 77.25, 37.5, strategy=lane(batch=2)),
}

OUTBOX = {"protocol": "outbox", "relay": {"poll": 1, "mark": 0.04}}


def relay(life: float, **more: Any) -> dict[str, Any]:
    return OUTBOX | {"relay": {"poll": 1, "mark": 0.04, "life": life, "restart": 1}} | more


# Entry ◆durable 31.25, -31.5, C -61.5, -62.25. The relay looks for it at 32.25, ◆commit 34.25, told at 38.25,
# marked at 38.29.
RELAYS = {
    "an outbox": case(
        "performed once, behind the work",
        62.25,
        strategy=OUTBOX,
        told={PERFORMS: [34.25]},
    ),
    "an outbox, a crash as the entry is durable": case("C from 40.25 on", 71, 31.25, strategy=OUTBOX),
    "an outbox, a crash a tick before": case(
        "no entry: B again, the entry durable at 60.75",
        91.75 - NS,
        31.25 - NS,
        strategy=OUTBOX,
        told={PERFORMS: [63.75 - NS]},
    ),
    "a relay that dies as the entry is marked": case("marked", 62.25, strategy=relay(38.29)),
    "a relay that dies a tick before": case(
        "there again at 39.29, looks at 40.29, performed again at 42.29, told at 46.29, marked at 46.33",
        62.25,
        strategy=relay(38.29 - NS),
        duplicates_relay=1,
        spacing_s=8.04 - NS,
    ),
    "a relay that dies in the answer": case(
        "at 35; there again at 36, looks at 37, performed again at 39",
        62.25,
        strategy=relay(35),
        duplicates_relay=1,
        spacing_s=4.75,
    ),
    "a relay that dies in the answer, with a key": case(
        "blocked at 39", 62.25, strategy=relay(35, key="run_step"), blocked_duplicates=1
    ),
    "a relay that dies with the request on its way": case(
        "at 33, and the request arrives at 34.25; again at 37",
        62.25,
        strategy=relay(33),
        duplicates_relay=1,
        spacing_s=2.75,
    ),
    "a relay that dies before it looks": case(
        "at 32, there again at 33, looks at 34, performed at 36, and never again",
        62.25,
        strategy=relay(32),
        told={PERFORMS: [36]},
    ),
    "a relay that never lives until it looks": case(
        "dies at 31.5, is there at 32.5, dies 0.5 s later, and so on: gives up, and nothing is performed",
        62.25,
        strategy=OUTBOX | {"relay": {"poll": 1, "life": 0.5, "restart": 1}},
        changes={"limits": {"tries": 3}},
        told={PERFORMS: []},
        lost_actions=1,
    ),
}

LONG = {"up": 1000, "down": 7}
OUTAGES = {
    "the provider goes in A's work": case(
        "cut at 5, begun anew at 20", 89.25, changes={"provider": LONG}, outage=(5, 20)
    ),
    "the provider goes in A's work, for the last time": case(
        "cut at 5, and given up then",
        5,
        changes={"provider": LONG, "limits": {"tries": 1}},
        outage=(5, 20),
        lost_work_s=5,
        stuck=True,
    ),
    "the provider is not there at first, and that is no try": case(
        "A's work begins at 7", 76.25, changes={"provider": LONG, "limits": {"tries": 1}}, outage=(0, 7)
    ),
    "the provider goes as A's work ends": case(
        "A is done; B's work, due at 10.75, begins at 20", 78.5, changes={"provider": LONG}, outage=(10, 20)
    ),
    "the provider goes in B's call": case(
        "nobody asks it", 69.25, changes={"provider": LONG}, outage=(31, 38)
    ),
    "a crash while the work waits for the provider": case(
        "struck at 12; the new worker has loaded at 21, when it is back",
        79.5,
        12,
        changes={"provider": LONG},
        outage=(11, 20),
        lost_work_s=1.25,
    ),
    "the receiver is not there": case(
        "an error on arrival at 33.75, told at 37.75",
        37.75,
        changes=receiver(outages=LONG),
        outage=(33, 40),
        stuck=True,
    ),
    "the receiver comes back as the request arrives": case(
        "performed", 69.25, changes=receiver(outages=LONG), outage=(30, 33.75)
    ),
    "the receiver goes as the request arrives": case(
        "it is no longer there", 37.75, changes=receiver(outages=LONG), outage=(33.75, 40), stuck=True
    ),
    "the receiver comes back before the next try": case(
        "sent again at 38.75, arrives at 40.75, told at 44.75: 7 s later than usual",
        76.25,
        changes=receiver(outages=LONG) | tries({"tries": "forever", "first": 1, "factor": 1}),
        outage=(33, 40),
        told={SENDS: [31.75, 38.75], PERFORMS: [40.75]},
    ),
    "the receiver is silent": case(
        "no answer until 38.25; arrives at 41.25, told at 45.25: 7.5 s later than usual",
        76.75,
        changes=receiver(outages=LONG, during_outage="silence")
        | tries({"tries": "forever", "first": 1, "factor": 1}, timeout=6.5),
        outage=(33, 40),
    ),
}

CASES = {
    f"{part}: {name}": worked_out
    for part, cases in {
        "zombies": ZOMBIES,
        "step time-outs": STEP_TIMEOUTS,
        "keys": KEYS,
        "claims": CLAIMS,
        "client": CLIENTS,
        "disconnects": DISCONNECTS,
        "saves": SAVES,
        "lanes": LANES,
        "relay": RELAYS,
        "outages": OUTAGES,
    }.items()
    for name, worked_out in cases.items()
}


def build(worked_out: Case) -> Scenario:
    return scenario(worked_out.strategy, [tick(c) for c in worked_out.struck], **worked_out.changes)


def play(worked_out: Case) -> tuple[dict[str, Any], list[tuple[int, str]]]:
    """Outcomes of the run, and what was told in it, with its tick."""
    program, draws, log = unfold(build(worked_out)), Streams(0, 0, 1), Log()
    told: list[tuple[int, str]] = []

    class Forecast(Run):
        """A run with a known outage, its first."""

        def weather(self, outages: Any, name: str) -> Weather:
            weather = super().weather(outages, name)
            if worked_out.outage is not None:
                weather.spans = [(tick(worked_out.outage[0]), tick(worked_out.outage[1]))]
            return weather

    block = Block(program, draws, program.scenario.crash.plan(draws, None))

    def listen(now: int, actor: str, what: str, _: int) -> None:
        # Whatever the number of the worker, and for whomever.
        told.append((now, f"{actor.partition(' ')[0]} {what.partition(' for ')[0]}"))

    Forecast(block, 0, log, listen).simulate()
    columns = count(program, log, block.acts, None).columns
    return {name: values[0] for name, values in columns.items()}, told


@pytest.mark.parametrize("name", CASES)
def test_a_run_comes_to_what_was_worked_out(name: str) -> None:
    worked_out = CASES[name]
    row, told = play(worked_out)
    repeats = sum(value for cause, value in worked_out.found.items() if cause.startswith("duplicates_"))
    expected = {f"duplicates_{cause}": 0 for cause in CAUSES}
    expected |= {"blocked_duplicates": 0, "lost_actions": 0, "zombie_s": 0, "stuck": False}
    expected |= {"duplicate_actions": repeats, "crashes": len(worked_out.struck)}
    expected |= {"makespan_s": worked_out.makespan_s} | worked_out.found
    for column in [column for column in expected if column.endswith("_s")]:
        expected[column] = tick(expected[column])
        row[column] = row[column] if isnan(row[column]) else tick(row[column])
    assert {column: row[column] for column in expected} == expected, worked_out.words
    for what, instants in worked_out.told.items():
        assert [now for now, heard in told if heard == what] == [tick(t) for t in instants], worked_out.words


FORESEEN = [name for name, worked_out in CASES.items() if not timeline.cannot(unfold(build(worked_out)))]


@pytest.mark.parametrize("name", FORESEEN)
def test_the_timeline_engine_finds_the_same(name: str) -> None:
    on_both(unfold(build(CASES[name])), lambda: Streams(0, 0, 1))
