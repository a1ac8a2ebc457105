"""When a service is not there: its outages in one run."""

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING

from sim.laws import Equilibrium
from sim.services import Outages
from sim.ticks import must_end, to_tick

if TYPE_CHECKING:
    from sim.streams import Streams

_END = itemgetter(1)


class Weather:
    """Outages of a service, one after the other, as far as they have been asked for.

    Parameters
    ----------
    outages : Outages
        Their laws.
    draws : Streams
        The block's random numbers.
    replication : int
        Which run.
    name : str
        Of the service; part of the keys.
    """

    def __init__(self, outages: Outages, draws: "Streams", replication: int, name: str) -> None:
        self.outages = outages
        self.draws = draws
        self.replication = replication
        self.name = name
        up, down = outages.up.mean_s, outages.down.mean_s
        self.spans: list[tuple[int, int]] = []
        is_down = draws.uniforms("outage", name, "begins")[replication] < down / (up + down)
        # An alternating renewal process met at a random time: what is left of the present state is in
        # equilibrium.
        left = self._residual("down" if is_down else "up")
        self.spans += [(0, left) if is_down else (left, left + self._next("down"))]

    def _residual(self, part: str) -> int:
        law = Equilibrium(of=getattr(self.outages, part))
        drawn = self.draws.uniforms("outage", self.name, "residual")[self.replication]
        return to_tick(float(law.quantile(drawn)))

    def _next(self, part: str) -> int:
        law = getattr(self.outages, part)
        return self.draws.time(law, self.replication, "outage", self.name, part, len(self.spans))

    def outage_after(self, instant: int) -> tuple[int, int]:
        """Begin and end of the first outage that ends after an instant, in ticks."""
        while self.spans[-1][1] <= instant:
            must_end(len(self.spans), "outages")
            begin = self.spans[-1][1] + self._next("up")
            self.spans.append((begin, begin + self._next("down")))
        return self.spans[bisect_right(self.spans, instant, key=_END)]

    def is_down(self, instant: int) -> bool:
        """Whether the service is not there."""
        return self.outage_after(instant)[0] <= instant

    def finishes_after(self, now: int, duration: int, tries: int) -> tuple[int, bool]:
        """How long work takes that an outage cuts and that begins anew when it is over.

        Parameters
        ----------
        now, duration : int
            When it begins, and how long it takes in one piece. Ticks.
        tries : int
            How often it may begin.

        Returns
        -------
        (int, bool)
            Ticks until it is finished, or given up as an outage cuts the last try; whether it is finished.
        """
        begin = now
        while True:
            start, end = self.outage_after(begin)
            if begin + duration <= start:
                return begin + duration - now, True
            if start > begin:
                tries -= 1
                if not tries:
                    return start - now, False
            begin = end
