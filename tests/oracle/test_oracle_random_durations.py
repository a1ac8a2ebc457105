"""Random durations, redrawn at every attempt or frozen for the run.

There an action commits at a fixed share of its step's random time; here work and answer are drawn apart.
The formulas hold only transforms, redrawn of rate λ, frozen of ±λ. So the part of the step that stands alone
in them is that share of a gamma time, and the other part is any law that completes the transform of the step.
"""

from math import exp, log

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import ACTING, CHECKPOINT, PHI, RESTART, poisson, scenario
from scipy.optimize import brentq

from sim.laws import Gamma
from sim.theory import exact, laplace

RATE = 1 / 600
STEP = Gamma(shape=4.0, mean=40.0)
METRICS = ("redone_steps", "p_duplicate", "makespan_s")


def transform(rate):
    return (1 + 10 * rate) ** -4


def share_of_step(share):
    return {"law": "scaled", "of": {"law": "gamma", "shape": 4.0, "mean": 40.0}, "by": share}


def acting_redrawn():
    """Work is the share φ; the answer a constant with the rest of the transform of λ."""
    answer = log(transform(PHI * RATE) / transform(RATE)) / RATE
    return {"work": share_of_step(PHI), "tool": answer, "action": {}}


def acting_frozen():
    """The answer is the share 1 - φ; work a gamma time with the rest of the transforms of λ and -λ."""
    rest = [log(transform(rate) / transform((1 - PHI) * rate)) for rate in (RATE, -RATE)]
    scale = brentq(
        lambda x: log(1 + x * RATE) / log(1 - x * RATE) - rest[0] / rest[1], 1.0, 100.0, xtol=1e-13
    )
    shape = -rest[0] / log(1 + scale * RATE)
    work = {"law": "gamma", "shape": shape, "mean": shape * scale}
    return {"work": work, "tool": share_of_step(1 - PHI), "action": {}}


def case(strategy, frozen):
    acting = acting_frozen() if frozen else acting_redrawn()
    plain = {"work": {"law": "gamma", "shape": 4.0, "mean": 40.0}}
    return scenario(
        [acting if number in ACTING else plain for number in range(1, 13)],
        strategy=strategy,
        crash=poisson(1 / RATE),
        store={"write": 2.0},
        downtime={"detection": 30.0, "load": 5.0},
        frozen=frozen,
    )


@pytest.mark.parametrize(
    ("strategy", "frozen", "literals"),
    [
        (RESTART, False, {"redone_steps": 5.716, "p_duplicate": 0.41462, "makespan_s": 769.3}),
        (RESTART, True, {"redone_steps": 5.840, "p_duplicate": 0.41468, "makespan_s": 788.1}),
        (CHECKPOINT, False, {"p_duplicate": 0.029252, "makespan_s": 548.3}),
        (CHECKPOINT, True, {"p_duplicate": 0.029538, "makespan_s": 557.3}),
    ],
)
def test_redrawn_and_frozen(strategy, frozen, literals):
    scenario = case(strategy, frozen)
    theory = exact(scenario)
    assert {metric: theory[metric] for metric in literals} == pytest.approx(literals, rel=1e-4)
    judge(sample(scenario), theory)


def test_duplicates_as_in_the_table():
    """The rows of the table in 1.6 that its example leaves out."""
    p, q = transform(RATE) ** 12, {e: transform(RATE) ** (e - 1) * transform(PHI * RATE) for e in ACTING}
    assert exact(case(RESTART, False))["duplicate_actions"] == pytest.approx(
        sum(q[e] / p - 1 for e in ACTING)
    )
    up, rest = transform(-RATE), transform(-(1 - PHI) * RATE)
    assert exact(case(RESTART, True))["duplicate_actions"] == pytest.approx(
        sum(rest * up ** (12 - e) - 1 for e in ACTING)
    )
    redrawn = transform(PHI * RATE) / (transform(RATE) * exp(-2 * RATE)) - 1
    assert exact(case(CHECKPOINT, False))["duplicate_actions"] == pytest.approx(3 * redrawn)
    frozen = rest * exp(2 * RATE) - 1
    assert exact(case(CHECKPOINT, True))["duplicate_actions"] == pytest.approx(3 * frozen)


def test_the_gamma_transform_is_that_of_the_table():
    assert laplace(STEP, RATE) == pytest.approx(transform(RATE))
