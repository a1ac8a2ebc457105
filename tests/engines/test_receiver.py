"""The receiver's key table by hand: a claim that has run out belongs to whoever took the key after it."""

import pytest

from sim.events.clock import Clock
from sim.events.receiver import Receiver, Request
from sim.services import Receiver as Settings
from sim.ticks import PER_SECOND

KEY = ("run", 0)


def served(keys, *requests):
    """Let requests of one key arrive, (second, handling in s, fails); give instants of deeds, and answers."""
    env, answers = Clock(), []
    settings = Settings.model_validate({"keys": {"claim_expires": 1.0, **keys}})
    receiver = Receiver(env, settings, False, lambda *_: None)
    for number, (at, handling, fails) in enumerate(requests):
        request = Request(0, KEY, 0, None, fails=fails, handling=handling * PER_SECOND)
        request.answer = lambda what, number=number: answers.append((number, what))
        receiver.take(request, at * PER_SECOND)
    env.run()
    return [deed.instant // PER_SECOND for deed in receiver.performed[0]], answers


@pytest.mark.parametrize("remembers", ["success", "all"])
def test_a_request_whose_claim_has_run_out_does_not_forget_the_key_of_another_as_it_fails(remembers):
    # The first claims at 1 and fails at 9; the second claims at 3 and performs at 4; the third comes at 10.
    deeds, answers = served({"remembers": remembers}, (1, 8, True), (3, 1, False), (10, 1, False))
    assert deeds == [4]
    assert answers == [(1, "ok"), (0, "error"), (2, "ok")]


def test_two_requests_that_claimed_one_key_one_after_the_other_may_both_fail():
    # The second takes the claim at 3 and fails at 4, so the first finds none to give back at 9.
    deeds, answers = served({}, (1, 8, True), (3, 1, True), (10, 1, False))
    assert deeds == [11]
    assert answers == [(1, "error"), (0, "error"), (2, "ok")]


def test_an_error_is_remembered_for_its_own_key():
    deeds, answers = served({"remembers": "all"}, (1, 0, True), (3, 1, False))
    assert deeds == []
    assert answers == [(0, "error"), (1, "error")]


def test_an_error_takes_the_place_of_a_key_that_has_run_out():
    # Looked up and inserted at 1, run out at 3; an error at 4 is remembered until 6.
    keys = {"claim": "check_then_insert", "remembers": "all", "ttl": 2.0}
    deeds, answers = served(keys, (1, 0, False), (4, 0, True), (5, 0, False))
    assert deeds == [1]
    assert answers == [(0, "ok"), (1, "error"), (2, "error")]
