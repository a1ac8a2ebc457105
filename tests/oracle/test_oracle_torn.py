"""One slot for all saves: a write that a crash cuts may leave nothing."""

import pytest
from oracle_judge import judge, sample
from oracle_scenarios import CHECKPOINT, fixture


@pytest.mark.parametrize(
    ("engine", "n"), [pytest.param("events", 20_000, marks=pytest.mark.slow), ("timeline", 200_000)]
)
@pytest.mark.parametrize("torn", [0.0, 0.3, 1.0])
def test_a_crash_in_a_write_begins_the_run_anew_with_the_chance_of_a_tear(torn, engine, n):
    """One uniform crash is in the write after step i with chance s/T; then i steps are done again, or one.

    The actions of steps 4, 7 and 10 are repeated by a crash in their answers and writes, and in every later
    write if that is torn: steps 5-12 are eight writes, with step 4's own torn or not.
    """
    write = 20.0
    length = 455 + 12 * write
    case = fixture(
        strategy=CHECKPOINT,
        crash={"process": "uniform_time"},
        store={"write": write, "slots": 1, "torn": torn},
    )
    redone = write / length * sum(torn * i + (1 - torn) for i in range(1, 13))
    gaps = 1.5 + 1 + 2.5 + 3 * write
    others = torn * write * 6  # the writes of steps 5, 6, 8, 9, 11 and 12
    frame = sample(case, n, engine=engine)
    judge(frame, {"redone_steps": redone, "p_duplicate": (gaps + others) / length})
