"""One crash, uniform over the crash-free run, on the fixture and with gamma durations."""

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import ACTING, CHECKPOINT, DURATIONS, PHI, RESTART, fixture, scenario

from sim.theory import exact

CRASH = {"process": "uniform_time"}


@pytest.mark.parametrize(
    ("strategy", "literals"),
    [
        (
            RESTART,
            {
                "redone_steps": 6.1868,
                "p_duplicate": 0.73956,
                "duplicate_actions": 1.5165,
                "makespan_s": 717.5,
                "lost_work_s": 23.214,
            },
        ),
        (
            CHECKPOINT,
            {
                "redone_steps": 0.050104,
                "p_duplicate": 0.022965,
                "makespan_s": 538.0,
                "lost_work_s": 22.051,
            },
        ),
    ],
)
def test_fixture(strategy, literals):
    case = fixture(strategy=strategy, crash=CRASH)
    theory = exact(case)
    assert {metric: theory[metric] for metric in literals} == pytest.approx(literals, rel=3e-5)
    judge(sample(case), theory)


def test_a_phase_is_struck_by_its_weight():
    """A second of writing counts ten: 12 writes of 2 s are 240 of an exposure of 455 + 240."""
    case = fixture(strategy=CHECKPOINT, crash=CRASH | {"exposure": {"write": 10.0}})
    theory = exact(case)
    answers = sum((1 - PHI) * DURATIONS[number - 1] for number in ACTING)
    assert theory["redone_steps"] == pytest.approx(240 / 695)
    assert theory["p_duplicate"] == pytest.approx((answers + 60) / 695)
    judge(sample(case), theory)


@pytest.mark.parametrize(("number", "share"), [(4, 0.206), (7, 0.25), (10, 0.167)])
def test_gap_share_emerges(number, share):
    """Of the crashes on a step: it does not depend on the other steps, so one is enough."""
    d = DURATIONS[number - 1]
    step = {"work": PHI * d, "tool": (1 - PHI) * d, "action": {}}
    case = scenario([step], strategy=CHECKPOINT, crash=CRASH, store={"write": 2.0})
    assert exact(case)["gap_share"] == pytest.approx(share, abs=5e-4)
    judge(sample(case), exact(case))


def test_the_gap_begins_when_the_request_is_sent_and_ends_when_the_save_is_durable():
    """A step of 9 + 4 s before it, 3 + 1 + 2 s of gap, of which 2 after done, and 5 s until the ack."""
    case = scenario(
        [{"work": 9.0, "tool": 1.0, "action": {}}],
        strategy=CHECKPOINT,
        crash=CRASH,
        store={"write": 2.0, "ack": 5.0},
        receiver={"prepare": 4.0, "request": 3.0},
    )
    theory = exact(case)
    assert theory["gap_share"] == pytest.approx(6 / 24)
    assert theory["gap_share_after_done"] == pytest.approx(2 / 24)
    judge(sample(case), theory)


@pytest.mark.parametrize(
    ("strategy", "literals"),
    [
        # The partial work lost is 12 · 40 · 5 / (2 · 49).
        (RESTART, {"redone_steps": 5.5, "p_duplicate": 0.675, "lost_work_s": 24.489796}),
        (CHECKPOINT, {"p_duplicate": 0.0359202}),
    ],
)
def test_gamma_durations(strategy, literals):
    """The parts of an action step are gamma of one scale, so that it is as long in law as the others."""
    plain = {"work": {"law": "gamma", "shape": 4.0, "mean": 40.0}}
    acting = {
        "work": {"law": "gamma", "shape": 3.6, "mean": 36.0},
        "tool": {"law": "gamma", "shape": 0.4, "mean": 4.0},
        "action": {},
    }
    steps = [acting if number in ACTING else plain for number in range(1, 13)]
    case = scenario(steps, strategy=strategy, crash=CRASH, store={"write": 2.0})
    theory = exact(case)
    assert {metric: theory[metric] for metric in literals} == pytest.approx(literals, rel=2e-6)
    judge(sample(case), theory)
