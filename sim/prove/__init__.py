"""A bounded search: where faults can be placed in a small run, and whether any placement does damage.

Most defects of protections show in short runs with few faults. So the workload is cut down to a few steps and
every time becomes its mean; then a run is a function of its faults. Between two ticks on which something
happens nothing changes, so a crash need only be tried on each such tick and on those beside it, and every
other fault where the run offers it. A second fault is placed in the run *with* the first.
"""

from sim.prove.faults import KINDS, Fault, Schedule, kinds
from sim.prove.searching import DAMAGE, Verdict, replay, search, trace
from sim.prove.small import acts, small

__all__ = [
    "DAMAGE",
    "KINDS",
    "Fault",
    "Schedule",
    "Verdict",
    "acts",
    "kinds",
    "replay",
    "search",
    "small",
    "trace",
]
