"""Ticks. Deterministic: times are rounded once, to whole nanoseconds, ties to even. Extreme: from 2^62 on
a time means never. Dirty: a time that is negative or not a number is refused.
"""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from sim.ticks import NEVER, PER_SECOND, to_seconds, to_tick, to_ticks


@pytest.mark.parametrize(
    ("seconds", "ticks"),
    [
        (0.0, 0),
        (-0.0, 0),
        (1.0, 1_000_000_000),
        (0.04, 40_000_000),
        (0.1 + 0.2, 300_000_000),
        (86_400.000000001, 86_400_000_000_001),
        (0.4e-9, 0),
        (0.6e-9, 1),
        (1.4e-9, 1),
        (0.5e-9, 0),  # halves go to the even neighbour
        (1.5e-9, 2),
        (2.5e-9, 2),
        (3.5e-9, 4),
        (4e9, 4 * 10**18),
        (5e9, NEVER),
        (1e300, NEVER),
        (inf, NEVER),
    ],
)
def test_rounding(seconds: float, ticks: int) -> None:
    assert to_tick(seconds) == ticks
    with np.errstate(over="ignore"):
        assert to_ticks([seconds]).tolist() == [ticks]


def test_never_begins_at_2_to_the_62() -> None:
    assert NEVER == 2**62
    last = np.nextafter(2.0**62, 0) / PER_SECOND
    assert to_tick(last) < NEVER
    assert to_tick(2.0**62 / PER_SECOND) == NEVER
    assert to_ticks([last])[0] == to_tick(last)


def test_never_and_any_shorter_time_still_fit_an_int64() -> None:
    assert np.iinfo(np.int64).max >= NEVER + (NEVER - 1)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(
    some.floats(0, 1e11) | some.floats(0, 1e-6) | some.integers(0, 10**6).map(lambda half: half / 2 * 1e-9)
)
@example(0.5e-9)
@example(4611686018.427388)
def test_one_time_is_rounded_as_many_are(seconds: float) -> None:
    assert to_tick(seconds) == to_ticks(seconds).item()


@settings(derandomize=True, deadline=None)
@given(some.integers(0, 10**15))
def test_whole_ticks_survive_the_way_to_seconds_and_back(ticks: int) -> None:
    assert to_tick(float(to_seconds(ticks))) == ticks


def test_arrays_keep_their_shape_and_type() -> None:
    for seconds in (np.float64(1.5), np.array([1.5]), np.full((2, 3), 1.5), np.zeros((0,))):
        ticks = to_ticks(seconds)
        assert ticks.shape == seconds.shape
        assert ticks.dtype == np.int64
    assert to_seconds(np.array([[1, 2_500_000_000]])).tolist() == [[1e-9, 2.5]]


@pytest.mark.parametrize("wrong", [-1.0, -1e-9, -5e-324, -inf, nan])
def test_negative_or_no_number(wrong: float) -> None:
    with pytest.raises(ValueError, match="negative or not a number"):
        to_tick(wrong)
    with pytest.raises(ValueError, match="negative or not a number"):
        to_ticks([1.0, wrong, 2.0])
