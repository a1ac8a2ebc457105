"""What a search of all placements says of each protection: no damage with two faults, or how it is done."""

from functools import cache
from typing import Any

import pytest
from pydantic import ValidationError

import sim
from sim.events import Block, Run
from sim.outcomes import Log
from sim.program import unfold
from sim.prove import DAMAGE, KINDS, Verdict, kinds, replay, search, small, trace
from sim.strategy import PROTOCOLS

CLIENT = {"timeout": 2.0, "retries": [{"first": 0.5, "tries": 3}]}
STALLS = {"every": 600.0, "lasts": 10.0}
HANDLING = {"handling": 0.15}
LATE = ("request late", "answer late", "slow receiver")
KEYED = {"key": "run_step"}
SURROUNDINGS: dict[str, Any] = {
    "workload": {"steps": [{"name": "think", "work": 9.0}, {"name": "act", "work": 9.0, "action": {}}]},
    "store": {"write": 0.04, "ack": 0.01},
    "receiver": {"prepare": 0.02, "request": 0.05, "response": 0.3, "query": 0.1},
    "downtime": {"restart": 1.0, "load": 0.2},
}


def given(protocol: str = "checkpoint", strategy: dict[str, Any] | None = None, **parts: Any) -> sim.Scenario:
    """Give a scenario whose parts have the given keys besides those of the surroundings."""
    merged = {name: SURROUNDINGS.get(name, {}) | parts.get(name, {}) for name in {**SURROUNDINGS, **parts}}
    return sim.Scenario.model_validate(merged | {"strategy": {"protocol": protocol} | (strategy or {})})


def prove(
    protocol: str = "checkpoint",
    strategy: dict[str, Any] | None = None,
    faults: int = 2,
    steps: int = 3,
    only: tuple[str, ...] | None = None,
    **parts: Any,
) -> Verdict:
    return search(small(given(protocol, strategy, **parts), steps), faults, only=only)


def shown(verdict: Verdict) -> dict[str, list[str]]:
    """Kinds of the faults of each schedule found."""
    return {damage: [fault.kind for fault in schedule] for damage, schedule in verdict.found.items()}


def receiver(**keys: Any) -> dict[str, Any]:
    return HANDLING | {"keys": keys}


# ----------------------------------------------------------------------------- keys: all conditions, and each


def test_a_key_of_run_and_step_claimed_atomically_leaves_no_duplicate_and_no_loss() -> None:
    verdict = prove(strategy=KEYED, client=CLIENT, receiver=HANDLING)
    assert {"crash", "request lost", "answer lost", *LATE} == {*verdict.kinds}
    # A receiver that handles a request for longer than the client tries in all leaves the run stuck.
    assert shown(verdict) == {"stuck": ["slow receiver"]}


def test_it_leaves_none_either_where_workers_are_taken_for_dead() -> None:
    watch = {"lease": 3.0, "stalls": STALLS}
    verdict = prove(strategy=KEYED, faults=2, steps=2, receiver=HANDLING, supervision=watch)
    assert shown(verdict) == {}
    assert {"crash", "stall"} <= {*verdict.kinds}


def test_it_leaves_none_either_where_errors_happen_and_are_not_remembered() -> None:
    assert shown(prove(strategy=KEYED, client=CLIENT, receiver={"fails": 0.1})) == {}


def test_an_error_that_is_remembered_is_all_that_a_repeat_gets() -> None:
    verdict = prove(strategy=KEYED, client=CLIENT, receiver={"fails": 0.1, "keys": {"remembers": "all"}})
    assert shown(verdict) == {"stuck": ["error"]}


@pytest.mark.parametrize("key", ["none", "per_attempt", "per_send"])
def test_a_key_that_a_new_attempt_does_not_send_again_is_none(key: str) -> None:
    verdict = prove(strategy={"key": key})
    assert shown(verdict) == {"duplicate": ["crash"]}


def test_a_key_of_the_arguments_fails_where_work_done_again_rewords_and_only_there() -> None:
    assert shown(prove(strategy={"key": "arguments"})) == {}
    reworded = SURROUNDINGS["workload"] | {"rewords": 0.01}
    assert shown(prove(strategy={"key": "arguments"}, workload=reworded)) == {"duplicate": ["crash"]}
    # Known by run and step, other arguments are refused, and the worker does not get on.
    refused = {"keys": {"mismatch": "error"}}
    assert shown(prove(strategy=KEYED, workload=reworded, receiver=refused)) == {"stuck": ["crash"]}


def test_a_run_identity_that_is_made_anew_fails_until_it_has_been_saved() -> None:
    made = KEYED | {"run_id": "made"}
    assert shown(prove("restart", made)) == {"duplicate": ["crash"]}
    assert shown(prove("checkpoint", made, steps=1)) == {"duplicate": ["crash"]}
    assert shown(prove("checkpoint", made, steps=3)) == {}  # the save of step 1 holds it


def test_a_key_that_is_looked_up_first_loses_a_race_with_a_slow_receiver() -> None:
    racing = receiver(claim="check_then_insert")
    verdict = prove(strategy=KEYED, client=CLIENT, receiver=racing)
    assert shown(verdict) == {"duplicate": ["slow receiver"]}


def test_a_crash_alone_races_only_if_the_restart_is_faster_than_the_handling() -> None:
    racing = receiver(claim="check_then_insert")
    fast = {"restart": 0.05, "load": 0.0}
    assert shown(prove("intent_redo", KEYED, receiver=racing)) == {}
    assert shown(prove("intent_redo", KEYED, receiver=racing, downtime=fast)) == {"duplicate": ["crash"]}


def test_a_receiver_that_dies_before_it_remembers_the_key_performs_again_or_never_answers() -> None:
    # Without a claim nothing is left of the key; a claim is left, and counts as long as it is not run out.
    dies = {"forgets": 0.1}
    found = [
        shown(prove(strategy=KEYED, faults=1, client=CLIENT, receiver={"keys": dies | keys}))
        for keys in ({"claim": "check_then_insert"}, {"claim_expires": 5.0}, {})
    ]
    assert found == [{"duplicate": ["receiver dies"]}] * 2 + [{"stuck": ["receiver dies"]}]


def test_a_key_that_runs_out_fails_a_worker_that_comes_back_late() -> None:
    verdict = prove(strategy=KEYED, receiver={"keys": {"ttl": 3600.0}})
    assert shown(verdict) == {"duplicate": ["crash", "late return"]}
    assert verdict.harmful["duplicate"][1] == 0


# ------------------------------------------------------------------------------------------ other protections


def test_an_action_in_the_transaction_of_the_save_is_neither_repeated_nor_lost() -> None:
    assert shown(prove("transaction")) == {}


def test_saving_first_loses_actions_and_repeats_none_until_the_client_tries_again() -> None:
    assert shown(prove("save_first")) == {"loss": ["crash"]}
    assert shown(prove("save_first", client=CLIENT)) == {"loss": ["crash"], "duplicate": ["answer lost"]}


def test_at_most_once_loses_actions_and_repeats_none() -> None:
    assert shown(prove("at_most_once")) == {"loss": ["crash"]}


def test_waiting_for_a_person_is_stuck_and_does_nothing_else() -> None:
    assert shown(prove("intent_park")) == {"stuck": ["crash"]}


def test_a_query_fails_only_if_it_is_faster_than_the_request_in_flight() -> None:
    assert shown(prove("intent_query")) == {}
    fast = {"downtime": {"restart": 0.01, "load": 0.0}, "receiver": {"query": 0.01}}
    verdict = prove("intent_query", **fast)
    assert shown(verdict) == {"duplicate": ["crash"]}
    said = [event.what for event in trace(verdict.scenario, verdict.found["duplicate"]).events]
    heard = said.index("hears that it was not performed")
    assert heard < said.index("performs the action for worker 1")


def test_a_query_with_an_old_view_fails() -> None:
    assert shown(prove("intent_query", receiver={"lag": 3.0})) == {"duplicate": ["crash"]}


def test_the_relay_of_an_outbox_performs_again_what_it_had_not_marked_and_a_key_prevents_it() -> None:
    relay = {"relay": {"life": {"law": "exponential", "mean": 600.0}}}
    verdict = prove("outbox", relay)
    assert shown(verdict) == {"duplicate": ["relay dies"]}
    assert trace(verdict.scenario, verdict.found["duplicate"]).events[-1].actor == "worker 1"
    assert shown(prove("outbox", {"relay": {}})) == {}
    assert shown(prove("outbox", relay | KEYED)) == {}


def test_behind_the_work_saves_do_the_same_kinds_of_damage_as_waited_for() -> None:
    # But a crash has longer to do it: the next step is at work before the last one is durable.
    waited, behind = prove("checkpoint"), prove("async")
    assert shown(waited) == shown(behind) == {"duplicate": ["crash"]}


def test_a_run_that_is_saved_at_its_end_only_is_stuck_where_nothing_is_begun_anew() -> None:
    assert shown(prove("on_exit", {"if_nothing": "stuck"})) == {"stuck": ["crash"]}


# ------------------------------------------------------------------------------------------ taken for dead


@cache
def zombie(fencing: str, key: str = "none", only: str = "stall") -> Verdict:
    watch: dict[str, Any] = {"lease": 3.0, "stalls": STALLS, "fencing": fencing}
    return prove(strategy={"key": key}, faults=1, supervision=watch, only=(only,))


@pytest.mark.parametrize("fencing", ["none", "record", "effect"])
def test_a_stalled_worker_repeats_an_action_whatever_is_fenced_and_a_key_prevents_it(fencing: str) -> None:
    # A fence at the store is too late. One at the receiver stops the old worker, but not the new one after
    # it: if the old worker is the first to act, the new one acts again.
    assert shown(zombie(fencing)) == {"duplicate": ["stall"]}
    assert shown(zombie(fencing, "run_step")) == {}


def test_fencing_the_action_leaves_only_stalls_that_end_before_the_new_worker_acts() -> None:
    harmful = {fencing: zombie(fencing).harmful["duplicate"][1] for fencing in ("record", "effect")}
    assert 0 < harmful["effect"] < harmful["record"]
    first = trace(zombie("effect").scenario, zombie("effect").found["duplicate"])
    acted = [event.what for event in first.events if event.actor == "receiver"]
    assert acted == ["performs the action for worker 1", "performs the action AGAIN for worker 2: zombie"]


def test_a_step_that_takes_too_long_is_taken_for_dead_too() -> None:
    watch = {"step_timeout": 60.0, "fencing": "record"}
    for kind in ("slow work", "request late", "answer late"):
        assert shown(prove(supervision=watch, only=(kind,), faults=1)) == {"duplicate": [kind]}
    assert shown(prove(strategy=KEYED, supervision=watch)) == {}


# -------------------------------------------------------------------------------------- of the search itself

EVERYTHING: dict[str, Any] = {
    "client": CLIENT,
    "receiver": {"handling": 0.15, "fails": 0.1, "keys": {"forgets": 0.1, "ttl": 3600.0}},
    "supervision": {"lease": 3.0, "stalls": STALLS, "step_timeout": 60.0},
}
RELAY = {"relay": {"life": 600.0}}


def test_every_kind_of_fault_can_be_placed_and_does_what_it_says() -> None:
    scenario = small(given("outbox", RELAY, **EVERYTHING), 2)
    assert kinds(scenario) == list(KINDS)
    for kind in KINDS:
        protocol = "outbox" if kind == "relay dies" else "checkpoint"
        unprotected = small(given(protocol, RELAY if protocol == "outbox" else {}, **EVERYTHING), 2)
        verdict = search(unprotected, 1, only=[kind])
        assert verdict.placements[1] > 0 or kind == "late return"
        if verdict.found:
            (fault,) = next(iter(verdict.found.values()))
            struck = [event for event in trace(verdict.scenario, (fault,)).events if event.fault]
            assert struck, kind


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("if_nothing", ["restart", "stuck"])
def test_a_schedule_of_crashes_does_the_same_as_a_crash_process(protocol: str, if_nothing: str) -> None:
    verdict = prove(protocol, {"if_nothing": if_nothing})
    for damage, schedule in verdict.found.items():
        again = replay(verdict.scenario, schedule)
        assert again is not None
        frame = sim.simulate(again, 1, seed=5)
        assert frame[DAMAGE[damage]][0] > 0, (damage, [fault.says for fault in schedule])
        without = sim.simulate(again.model_copy(update={"crash": sim.crashes.NoCrash()}), 1, seed=5)
        assert not without[DAMAGE[damage]][0]


def test_what_is_found_has_as_few_faults_as_possible_and_comes_as_early_as_possible() -> None:
    verdict = prove(faults=1)
    (fault,) = verdict.found["duplicate"]
    scenario = verdict.scenario
    # The tick of sending does it; a tick before, nothing has been sent.
    for at, duplicates in ((fault.at, 1), (fault.at - 1, 0)):
        crash = {"process": "at", "times": [at / 1e9]}
        again = sim.Scenario.model_validate(
            {name: getattr(scenario, name) for name in type(scenario).model_fields} | {"crash": crash}
        )
        assert sim.simulate(again, 1, seed=0)["duplicate_actions"][0] == duplicates


def test_a_crash_is_placed_on_every_tick_on_which_something_happens_and_beside_it() -> None:
    scenario = small(given())
    told: list[int] = []
    program, log = unfold(scenario), Log()
    draws = sim.streams.Streams(0, 0, 1)
    plan = sim.crashes.NoCrash().plan(draws, None)
    Run(Block(program, draws, plan), 0, log, lambda tick, *_: told.append(tick)).simulate()
    from sim.prove.places import Places, Watched

    watched = Watched(Block(program, draws, plan), 0, Log())
    watched.simulate()
    placed = {fault.at for fault in Places(scenario, watched).after((), watched)}
    end = log.makespan[0]
    wanted = {instant + beside for instant in (*told, *log.ends) for beside in (-1, 0, 1)}
    assert {instant for instant in wanted if 0 <= instant < end} <= placed


def test_times_become_means_that_differ_and_what_takes_no_time_still_takes_none() -> None:
    scenario = small(
        given(store={"write": {"law": "lognormal", "median": 0.5, "sigma": 0.5}}, receiver={"prepare": 0.0})
    )
    assert scenario.store.write.mean_s == pytest.approx(0.5 * 2.718281828**0.125, abs=1e-4)
    assert scenario.receiver.prepare.mean_s == 0
    same = small(given(store={"write": 0.3}, receiver={"response": 0.3}))
    assert same.store.write.mean_s != same.receiver.response.mean_s
    assert [step.work.mean_s for step in same.workload.steps] == [1, 2, 3]
    assert [step.acts for step in same.workload.steps] == [0, 1, 0]


def test_a_law_without_a_mean_is_refused_where_it_stands() -> None:
    with pytest.raises(ValidationError) as error:
        small(given(receiver={"response": {"law": "fisk", "c": 0.9, "scale": 1.0}}))
    (found,) = error.value.errors()
    assert found["loc"] == ("receiver", "response")
    assert found["msg"].startswith("has no finite mean")


def test_saves_after_listed_steps_follow_what_these_steps_are() -> None:
    listed = small(given(strategy={"steps": ["act"]}), 4)
    assert listed.strategy.steps == (2, 4)
    assert small(given(strategy={"steps": [1]}), 4).strategy.steps == (1, 3)


def test_a_run_that_does_damage_without_a_fault_is_not_searched() -> None:
    hasty = {"timeout": 0.1, "retries": [{"first": 0.5, "tries": "forever"}]}
    verdict = prove(client=hasty)
    assert verdict.placements == [1]
    assert set(verdict.found.values()) == {()}


def test_a_picture_knows_which_request_is_performed_though_another_overtakes_it() -> None:
    from sim.report.trace_picture import _arrows

    verdict = prove(strategy=KEYED, faults=1, client=CLIENT, receiver=receiver(claim="check_then_insert"))
    told = trace(verdict.scenario, verdict.found["duplicate"])
    sent = [row for row, event in enumerate(told.events) if event.what == "sends the request"]
    performed = [row for row, event in enumerate(told.events) if "performs" in event.what]
    assert _arrows(told) == {performed[0]: sent[1], performed[1]: sent[0]}
