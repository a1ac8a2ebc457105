"""The peer for speed: the same agent under `checkpoint` as one compiled loop over runs, steps and phases.

It knows this strategy and these laws only. Its random numbers come from one generator, in the order in which
they are needed, so nothing pairs its runs with those of another strategy.
"""

import numba
import numpy as np

from benchmarks.peers.tutorial import ACTIONS, STEPS, TOKENS

OUTCOMES = (
    "crashes",
    "redone_steps",
    "wasted_tokens",
    "saves",
    "save_time_s",
    "makespan_s",
    "duplicate_actions",
)


@numba.njit
def _loop(rng, found, acts, mean_life, detection, tokens):
    for run in range(found.shape[1]):
        step = 0
        crashes = redone = wasted = saves = saving = now = duplicates = 0.0
        performed = completed = False  # this step, by an attempt before
        while True:
            left = rng.exponential(mean_life)
            while step < acts.size:
                time = rng.gamma(4.0, (2.640835 if acts[step] else 3.0) / 4.0)
                if left < time:
                    wasted += tokens * left / time
                    break
                left -= time
                now += time
                if acts[step]:
                    duplicates += performed
                    performed = True
                    time = rng.lognormal(np.log(0.3), 0.6)
                    if left < time:
                        wasted += tokens
                        break
                    left -= time
                    now += time
                redone += completed
                completed = True
                saves += 1
                time = rng.lognormal(np.log(0.04), 0.6)
                saving += min(left, time)
                if left < time:
                    wasted += tokens
                    break
                left -= time
                now += time
                step += 1
                performed = completed = False
            if step == acts.size:
                break
            crashes += 1
            now += left + detection
        for row, value in enumerate((crashes, redone, wasted, saves, saving, now, duplicates)):
            found[row, run] = value


def simulate(n, seed, mean_life, detection=5.0, steps=STEPS):
    """Simulate n runs that crash at a constant rate: an array of each of `OUTCOMES`."""
    found = np.empty((len(OUTCOMES), n))
    acts = np.isin(np.arange(steps) % STEPS, ACTIONS)
    _loop(np.random.Generator(np.random.SFC64(seed)), found, acts, mean_life, detection, TOKENS)
    return dict(zip(OUTCOMES, found, strict=True))
