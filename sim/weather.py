"""Closed forms for crashes in calm and storm: the state of a run is the weather, whatever restarts do.

With the rates Λ of crashes and Q of changes of the weather, a time x passes without a crash, from one weather
to another, with the chances exp(Kx), K = Q - Λ, and a crash within it finds the weather with the chances
A(x) = ∫ exp(Ku) du Λ up to x. Downtime D only moves the weather, by exp(QD). A block that is walked until
it succeeds is then begun as often as the geometric series of matrices (I - A R)⁻¹ says, R from a crash to
work again: the algebra of Markovian arrival processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from sim.crashes import Bursts
from sim.laws import Floats


class Block(NamedTuple):
    """What lies between two saves of a run; times in seconds."""

    tail: float
    """Time that is crossed once or cut short, before that which a recovery resumes."""
    body: float
    """Time that is walked until it succeeds."""
    sent: tuple[float, ...] = ()
    """When actions are sent, in order, from the begin of the body."""


class Expected(NamedTuple):
    """What is expected of a run."""

    p_repeated: float
    """Chance that an action is sent again."""
    repeats: float
    """How often actions are sent again, in all."""
    makespan: float
    """In seconds."""


@dataclass(frozen=True)
class Weather:
    """A two-state Markov-modulated Poisson process; matrices lead from a row of weathers to a column.

    Attributes
    ----------
    changes : ndarray of float, shape (2, 2)
        Generator Q of the weather, 1/s.
    crashes : ndarray of float, shape (2, 2)
        Rates Λ of crashes in each weather on the diagonal, 1/s.
    begin : ndarray of float, shape (2,)
        Chances of each weather when a run begins.
    """

    changes: Floats
    crashes: Floats
    begin: Floats

    @classmethod
    def of(cls, crash: Bursts) -> "Weather":
        """Take the rates of a crash process; calm comes first."""
        calm, storm = crash.calm_lasts, crash.storm_lasts
        return cls(
            changes=np.array([[-1 / calm, 1 / calm], [1 / storm, -1 / storm]]),
            crashes=np.diag([1 / crash.calm_mean, 1 / crash.storm_mean]),
            begin=np.array([calm, storm]) / (calm + storm),
        )

    def survive(self, time: float) -> Floats:
        """Chances that a time passes without a crash, in s; shape (2, 2)."""
        return np.asarray(linalg.expm((self.changes - self.crashes) * time))

    def spend(self, time: float) -> Floats:
        """Mean time in each weather until a crash or the end of a time, ∫ exp(Ku) du, in s; shape (2, 2).

        As the corner of the exponential of a larger matrix, it loses no digits where crashes are rare.
        """
        both = np.zeros((4, 4))
        both[:2, :2], both[:2, 2:] = (self.changes - self.crashes) * time, np.eye(2) * time
        return np.asarray(linalg.expm(both)[:2, 2:])

    def down(self, time: float) -> Floats:
        """Chances of the weather after a time in which nothing can crash, in s; shape (2, 2)."""
        return np.asarray(linalg.expm(self.changes * time))

    def least_success(self, block: Block, load: float) -> float:
        """Give the least chance, over the weathers, that an attempt loads and walks the body of a block."""
        return max(float(self.survive(load + block.body).sum(axis=1).min()), 0.0)


def expected(weather: Weather, blocks: Sequence[Block], down: float, load: float) -> Expected:
    """Give what is expected of a run through blocks.

    Parameters
    ----------
    weather : Weather
        When crashes come.
    blocks : sequence of Block
        In their order; a crash resumes at the begin of the body of its own block.
    down : float
        From a crash to a worker that loads, s.
    load : float
        Time of loading, in which the worker can crash, s.
    """
    loading = weather.spend(load)
    moved = weather.down(down)
    recoveries = _series(moved @ loading @ weather.crashes)  # from a crash to the begin of each downtime
    recovered = recoveries @ moved @ weather.survive(load)
    recovery_s = recoveries @ (down + moved @ loading.sum(axis=1))

    now, unharmed = weather.begin, weather.begin
    repeats = makespan = 0.0
    for block in blocks:
        tail, body = weather.spend(block.tail), weather.spend(block.body)
        enter = weather.survive(block.tail) + tail @ weather.crashes @ recovered
        begun = now @ enter @ _series(body @ weather.crashes @ recovered)
        struck = (now @ tail + begun @ body) @ weather.crashes
        makespan += float((now @ tail + begun @ body).sum() + struck @ recovery_s)
        repeats += sum(float((begun @ weather.survive(time)).sum()) - 1 for time in block.sent)

        harmless = weather.spend(min(block.sent, default=block.body))
        through = weather.survive(block.body)
        unharmed = unharmed @ enter @ _series(harmless @ weather.crashes @ recovered) @ through
        now = begun @ through
    return Expected(1 - float(unharmed.sum()), repeats, makespan)


def _series(matrix: Floats) -> Floats:
    """I + M + M² + …"""
    return np.asarray(np.linalg.inv(np.eye(len(matrix)) - matrix))
