"""Common random numbers: every draw is a uniform number keyed by what it decides.

The key names the seed, the block of replications and the decision (purpose, step, verb, phase, how often
it was begun before), never the cell, the strategy or the order of drawing. So the n-th execution of a step
takes the same time under every strategy, and adding a strategy, a law or a stream leaves every other
draw bit-equal. Replications come in blocks of fixed size because drawing arrays is a hundred times
cheaper than drawing numbers.
"""

from copy import copy
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sim.laws import Constant, Law
from sim.ticks import Ticks, to_tick, to_ticks

BLOCK = 4096
"""Replications in a block; part of every key, so changing it changes every digit."""

Part = str | int
Key = tuple[Part, ...]


class Streams:
    """The uniform numbers of one block of replications, remembered as long as the block is at work.

    Parameters
    ----------
    seed : int
        Seed of the study, at least 0.
    block : int
        Which block: replication ``r`` is row ``r % BLOCK`` of block ``r // BLOCK``.
    size : int
        How many of the block's replications are drawn; the first ones are the same for every size.
    """

    def __init__(self, seed: int, block: int, size: int = BLOCK) -> None:
        self.seed = seed
        self.block = block
        self.size = size
        self.prefix: Key = ()
        self._generator = np.random.Generator(np.random.SFC64(0))
        self._uniforms: dict[Key, NDArray[np.float64]] = {}
        self._times: dict[tuple[Law, Key], Ticks] = {}

    def under(self, *prefix: Part) -> "Streams":
        """Give the same streams with keys that all begin with a prefix."""
        view = copy(self)
        view.prefix = (*self.prefix, *prefix)
        return view

    def uniforms(self, *key: Part) -> NDArray[np.float64]:
        """Give the uniforms in [0, 1) of one decision, shape (size,), one a replication."""
        key = (*self.prefix, *key)
        drawn = self._uniforms.get(key)
        if drawn is None:
            whole = "\x1f".join(map(str, (self.seed, self.block, *key)))
            # A digest is as good a state as a seeded one, and ten times as fast to make.
            state = np.frombuffer(blake2b(whole.encode(), digest_size=32).digest(), dtype="<u8")
            self._generator.bit_generator.state = {
                "bit_generator": "SFC64",
                "state": {"state": state},
                "has_uint32": 0,
                "uinteger": 0,
            }
            drawn = self._uniforms[key] = self._generator.random(self.size)
        return drawn

    def times(self, law: Law, *key: Part) -> Ticks:
        """Give the times of one decision under a law, shape (size,), in ticks."""
        drawn = self._times.get((law, key))
        if drawn is None:
            if isinstance(law, Constant):
                drawn = np.full(self.size, to_tick(law.value))
            else:
                drawn = to_ticks(law.quantile(self.uniforms(*key)))
            self._times[law, key] = drawn
        return drawn

    def times_of(self, law: Law, asked: list[tuple[Key, NDArray[np.signedinteger]]]) -> Ticks:
        """Give times of several decisions under one law, each for some of the replications.

        Parameters
        ----------
        law : Law
            The law; it inverts the numbers of all at once.
        asked : list of (key, ndarray of int)
            Decisions, and the replications for which they are made.

        Returns
        -------
        ndarray of int64
            In ticks, one decision after the other.
        """
        if isinstance(law, Constant):
            return np.full(sum(which.size for _, which in asked), to_tick(law.value))
        uniforms = [self.uniforms(*key)[which] for key, which in asked]
        return to_ticks(law.quantile(np.concatenate(uniforms)))

    def time(self, law: Law, replication: int, *key: Part) -> int:
        """Give one replication's number of `times`, in ticks, without inverting the others'."""
        if isinstance(law, Constant):
            return to_tick(law.value)
        known = self._times.get((law, key))
        if known is not None:
            return int(known[replication])
        return to_tick(float(law.quantile(self.uniforms(*key)[replication])))
