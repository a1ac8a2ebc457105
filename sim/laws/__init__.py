"""Probability laws of positive times.

A law gives its cumulative hazard ``H(t) = -log P(T > t)``, the inverse of it, and its mean. Everything
else follows: a time from one uniform number by inversion (so that the same number gives a comparable time
under every law), and the residual life at an age ``a``, ``H⁻¹(H(a) + X) − a`` with ``X`` ~ Exp(1).

A new law is one decorated class, here or in a file of a project's ``experiments/laws/``. Any continuous
`scipy.stats` law works by its scipy name.
"""

from sim.laws.base import LAWS, Floats, Law, law
from sim.laws.by_name import ScipyLaw
from sim.laws.closed import Constant, Exponential, Lognormal, Lomax, Uniform, Weibull
from sim.laws.composed import Mixture, Part, Scaled, Shifted, Truncated, longer
from sim.laws.empirical import Empirical, file_of, files_in, read_times
from sim.laws.gamma import Gamma
from sim.laws.parsing import AnyLaw, parse_law
from sim.laws.residual import Aged, Equilibrium
from sim.laws.risks import Bathtub, Hyperexponential, Preemptible

__all__ = [
    "LAWS",
    "Aged",
    "AnyLaw",
    "Bathtub",
    "Constant",
    "Empirical",
    "Equilibrium",
    "Exponential",
    "Floats",
    "Gamma",
    "Hyperexponential",
    "Law",
    "Lognormal",
    "Lomax",
    "Mixture",
    "Part",
    "Preemptible",
    "Scaled",
    "ScipyLaw",
    "Shifted",
    "Truncated",
    "Uniform",
    "Weibull",
    "file_of",
    "files_in",
    "law",
    "longer",
    "parse_law",
    "read_times",
]
