"""How long to work between two saves for the least mean time, with crashes at a constant rate.

Saves that are waited for, of a constant length; what is worked on can be saved at any instant. Detection,
restart and load multiply the time of every interval alike, so they do not move the optimum.
"""

from math import exp, sqrt

from scipy.special import lambertw


def young_s(save_s: float, mtbf_s: float) -> float:
    """First-order optimum (Young 1974, Communications of the ACM 17, 530-531), s.

    Parameters
    ----------
    save_s, mtbf_s : float
        Length of a save; mean time between crashes. s.
    """
    return sqrt(2 * save_s * mtbf_s)


def daly_s(save_s: float, mtbf_s: float) -> float:
    """Higher-order optimum (Daly 2006, Future Generation Computer Systems 22, 303-312), s."""
    if save_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = sqrt(save_s / (2 * mtbf_s))
    return young_s(save_s, mtbf_s) * (1 + ratio / 3 + ratio**2 / 9) - save_s


def optimal_s(save_s: float, mtbf_s: float) -> float:
    """Exact optimum, s: the least (exp((w + save) / mtbf) − 1) / w, the mean time for a second of work."""
    return mtbf_s * (1 + float(lambertw(-exp(-save_s / mtbf_s - 1)).real))
