"""What a receiver performs of all that comes in, as arrays, once all has come.

For a receiver whose answer takes the same time whatever it is: then no worker's way depends on it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.program import Program
from sim.ticks import NEVER, Ticks, to_seconds, to_tick

Bools = NDArray[np.bool_]
Numbers = NDArray[np.signedinteger]

LASTING = ("arguments", "run_step")
"""Rules by which a key can come a second time from another attempt."""


class Settled(NamedTuple):
    """What was performed; the last three have the shape (replications,).

    Attributes
    ----------
    performed : ndarray of int, shape (actions, replications)
        How often each action was performed.
    forgotten : ndarray of int
        How many of these repeats had a key that was no longer remembered.
    blocked : ndarray of int
        Repeats that were answered from the key table.
    spacing_s : ndarray of float
        Time from the first performance to the repeat of the action that was first repeated, s; NaN where none
        was.
    """

    performed: NDArray[np.int64]
    forgotten: NDArray[np.int64]
    blocked: NDArray[np.int64]
    spacing_s: NDArray[np.float64]


class Ledger:
    """Takes requests, and settles which are performed.

    Parameters
    ----------
    program : Program
        The phases.
    actions, replications : int
        How many.
    """

    def __init__(self, program: Program, actions: int, replications: int) -> None:
        strategy, ttl = program.scenario.strategy, program.scenario.receiver.keys.ttl
        self.keyed = strategy.key in LASTING
        self.remembers = to_tick(ttl) if ttl is not None else NEVER
        self.replications = replications
        self.first = np.full((actions, replications), NEVER)
        self.first_key = np.zeros((actions, replications), np.int64)
        self.places: list[Numbers] = []
        self.keys: list[Numbers] = []
        self.instants: list[Ticks] = []

    def enter(
        self, action: int, run: Numbers, instant: Ticks, comes: Bools, key: Numbers | None = None
    ) -> None:
        """Take the requests of an attempt for one action.

        Parameters
        ----------
        action : int
            Which, in the order of the phases by which they are performed.
        run : ndarray of int, shape (runs,)
            Which replications.
        instant : ndarray of int64, shape (runs,)
            When each arrives, in ticks.
        comes : ndarray of bool, shape (runs,)
            Whether it does.
        key : ndarray of int, shape (runs,), optional
            What else than the action makes the key; all the same if absent.
        """
        which, instant = run[comes], instant[comes]
        key = np.zeros(which.size, np.int64) if key is None else key[comes]
        new = self.first[action, which] == NEVER
        self.first[action, which[new]] = instant[new]
        self.first_key[action, which[new]] = key[new]
        self.places.append(action * self.replications + which[~new])
        self.keys.append(key[~new])
        self.instants.append(instant[~new])

    def settle(self) -> Settled:
        """Perform what is new or forgotten."""
        performed = (self.first < NEVER).astype(np.int64)
        forgotten, blocked = np.zeros((2, self.replications), np.int64)
        spacing_s = np.full(self.replications, np.nan)
        place = np.concatenate([*self.places, np.zeros(0, np.int64)])
        if not place.size:
            return Settled(performed, forgotten, blocked, spacing_s)
        repeated = np.unique(place)
        place = np.append(repeated, place)
        key = np.concatenate([self.first_key.ravel()[repeated], *self.keys])
        instant = np.concatenate([self.first.ravel()[repeated], *self.instants])
        run = place % self.replications

        done, known = self._performs(place, key, instant)
        np.add.at(blocked, run[~done], 1)
        np.add.at(forgotten, run[done & known], 1)
        performed.ravel()[repeated] = np.bincount(place[done], minlength=performed.size)[repeated]

        order = np.lexsort((instant[done], place[done]))
        place, instant, run = place[done][order], instant[done][order], run[done][order]
        first = np.diff(place, prepend=-1) != 0
        apart = instant - np.repeat(instant[first], np.diff(np.append(np.flatnonzero(first), place.size)))
        instant, run, apart = instant[~first], run[~first], apart[~first]
        order = np.lexsort((apart, instant, run))
        which, at = np.unique(run[order], return_index=True)
        spacing_s[which] = to_seconds(apart[order][at])
        return Settled(performed, forgotten, blocked, spacing_s)

    def _performs(self, place: Numbers, key: Numbers, instant: Ticks) -> tuple[Bools, Bools]:
        """Which requests are performed, and which of all had a key that came before."""
        if not self.keyed:
            return np.full(place.size, True), np.zeros(place.size, np.bool_)
        order = np.lexsort((instant, key, place))
        same = (np.diff(place[order], prepend=-1) == 0) & (np.diff(key[order], prepend=-1) == 0)
        begins = np.flatnonzero(~same)
        rank = np.arange(order.size) - np.repeat(begins, np.diff(np.append(begins, order.size)))
        done = ~same
        since = instant[order]  # when what is remembered of the key was performed
        for k in range(1, int(rank.max()) + 1):
            here = np.flatnonzero(rank == k)
            done[here] = since[here] - since[here - 1] >= self.remembers
            since[here] = np.where(done[here], since[here], since[here - 1])
        back = np.argsort(order)
        return done[back], same[back]
