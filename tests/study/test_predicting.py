"""A prediction is what the simulation says of an agent and its deploys; advice follows by prices."""

from contextlib import contextmanager

import pytest

from sim.study.agent import Costs, read_agent
from sim.study.errors import InputError
from sim.study.predicting import DAY_S, NOTHING, Predicted, Prediction, Range, predict
from sim.study.recommending import advise
from sim.study.workers import Workers

AGENT = """
[scenario]
crash = { process = "renewal", law = { law = "exponential", mean = 86400.0 } }
store = { write = 0.25 }
receiver = { response = 0.75 }
downtime = {}
[scenario.workload]
default = { work = 2.0, tokens = 1000 }
steps = ["think", { name = "send", action = {} }, "report"]
[deploys]
a_day = %s
grace = %s
[costs]
currency = "EUR"
million_tokens = 0.0
duplicate = 10.0
loss = 0.0
stuck = 0.0
hour = 0.0
[strategies]
restart = { protocol = "restart" }
checkpoint = { protocol = "checkpoint" }
"""
LATE = "client = { timeout = 0.5, retries = [{ tries = 2 }] }"
KEYED = '"checkpoint + keys" = { protocol = "checkpoint", key = "run_step" }\n'


@contextmanager
def unseen(_chunks, _runs):
    yield lambda *_: None


def predicted(project, a_day=0, grace=0.0, text=AGENT, relative=0.1):
    file = project / "agent.toml"
    file.write_text(text % (a_day, grace))
    agent = read_agent(file, {}, None, {}, project)
    return agent, predict(agent, relative, Workers(1), unseen)


def test_crashes_and_deploys_repeat_what_lies_in_the_gap(project):
    """Of an action 0.75 s under way and 0.25 s in a save, a crash a day repeats 1 s / 86,400 s."""
    agent, found = predicted(project, a_day=4, text=AGENT + KEYED)
    checkpoint = found.given["checkpoint"]
    once = 1e6 * 1.0 / DAY_S
    assert checkpoint.causes["crash"].value == pytest.approx(once, rel=1e-3)
    deploy = checkpoint.causes["deploy"]
    assert deploy.low <= 4 * once <= deploy.high
    assert deploy.high - deploy.low < 0.3 * deploy.value
    assert checkpoint.duplicates.value == pytest.approx(once + deploy.value, rel=1e-4)
    assert checkpoint.p_duplicate.value == pytest.approx(checkpoint.duplicates.value / 1e6, rel=0.05)
    assert found.given["checkpoint + keys"].duplicates.value == 0
    assert agent.assumed == []
    assert checkpoint.p_stuck == NOTHING  # nothing here gives a run up


def test_with_grace_to_end_a_step_a_deploy_repeats_nothing(project):
    _, found = predicted(project, a_day=4, grace=60.0)
    assert found.given["checkpoint"].causes["deploy"].value == 0
    assert found.given["restart"].causes["deploy"].value > 0  # it begins anew all the same


def test_rare_deploys_add_to_crashes_as_they_do_together(project):
    """By themselves and weighed, or among the crashes of the same runs: one answer."""
    often = AGENT.replace("86400.0", "600.0")
    _, apart = predicted(project, a_day=1000, text=often)  # every 86 s, and a run takes 8
    assert set(apart.given["checkpoint"].causes) >= {"deploy"}
    together = AGENT.replace(
        '{ process = "renewal", law = { law = "exponential", mean = 86400.0 } }',
        '{ process = "any_of", of = [{ process = "renewal", law = { law = "exponential", mean = 600.0 } }, '
        '{ process = "periodic", period = 86.4 }] }',
    )
    _, both = predicted(project, text=together)
    for name in ("restart", "checkpoint"):
        one, other = apart.given[name].duplicates, both.given[name].duplicates
        assert one.value == pytest.approx(other.value, rel=0.08)


def test_deploys_as_frequent_as_runs_are_simulated_with_the_crashes(project):
    agent, found = predicted(project, a_day=4320)  # every 20 s; a run takes 8
    checkpoint = found.given["checkpoint"]
    assert "deploy" not in checkpoint.causes
    assert checkpoint.duplicates.value == pytest.approx(1e6 * 1.0 / 20.0, rel=0.1)
    assert agent.scenarios["checkpoint"].crash.name == "renewal"
    once = AGENT.replace('"renewal", law = { law = "exponential", mean = 86400.0 }', '"uniform_time"')
    with pytest.raises(InputError, match=r"deploys.a_day: come so often that a run meets them and crashes"):
        predicted(project, 4320, text=once)


def test_each_assumption_is_moved(project):
    _, found = predicted(project)
    assert len(found.moved) == 8
    for name, (half, double) in {
        "the time between crashes": (2.0, 0.5),
        "the time that the receiver takes to answer": (0.625, 1.75),
        "the time that a save takes": (0.875, 1.25),
        "the time that the work of a step takes": (1.0, 1.0),
    }.items():
        for by, times in ((0.5, half), (2.0, double)):
            moved = found.moved[name, by]["checkpoint"].duplicates.value
            assert moved == pytest.approx(times * found.given["checkpoint"].duplicates.value, rel=2e-3)


def point(value):
    return Range(value, value, value)


def prediction(duplicates=0.0, seconds=0.0, spread=0.0, tokens=0.0):
    a_run = Range(duplicates, duplicates - spread, duplicates + spread)
    return Prediction(
        duplicates=a_run * 1e6,
        lost=NOTHING,
        causes={},
        p_duplicate=a_run,
        p_stuck=NOTHING,
        duplicates_a_run=a_run,
        lost_a_run=NOTHING,
        tokens=point(tokens),
        lost_s=point(seconds),
    )


def test_the_advice_is_the_cheapest_and_the_prices_at_which_it_is_not():
    """Costs of 1,000 runs: 20 × 5 = 100; 2 × 5 + 100 h × 0.1 = 20; 200 h × 0.1 = 20.5 with tokens."""
    given = {
        "nothing": prediction(duplicates=0.02),
        "saves": prediction(duplicates=0.002, seconds=360.0),
        "both": prediction(seconds=720.0, tokens=500.0),
    }
    advice = advise(Predicted(given, {}), Costs(duplicate=5.0, hour=0.1, million_tokens=1.0))
    assert {name: cost.value for name, cost in advice.costs.items()} == pytest.approx(
        {"nothing": 100.0, "saves": 20.0, "both": 20.5}
    )
    assert advice.strategy == "saves"
    assert advice.alike == ["both"]
    assert advice.shares["saves"] == pytest.approx(
        {"duplicate": 10.0, "loss": 0.0, "stuck": 0.0, "million_tokens": 0.0, "hour": 10.0}
    )
    # Nearly as cheap is good enough: by 1 % of the dearest, so that with a duplicate at p "both" is better
    # from 2 p + 10 = 20.5 + 0.2 p on. "nothing" from 20 p = 2 p + 10 - 0.205 down, and so on.
    found = {(switch.price, switch.to): switch.at for switch in advice.switches}
    assert found == pytest.approx(
        {
            ("duplicate", "both"): 10.5 / 1.8,
            ("duplicate", "nothing"): 9.795 / 18,
            ("hour", "both"): 0.085,
            ("hour", "nothing"): 90.005 / 98,
        }
    )
    assert [switch.price for switch in advice.switches[:2]] in (["duplicate", "hour"], ["hour", "duplicate"])


def test_what_has_no_price_yet_has_one_at_which_the_advice_changes():
    given = {"saves": prediction(duplicates=0.002), "both": prediction(seconds=360.0, tokens=500.0)}
    advice = advise(Predicted(given, {}), Costs(duplicate=5.0, million_tokens=1.0))
    assert advice.strategy == "both"
    [switch] = [switch for switch in advice.switches if switch.price == "hour"]
    # 0.5 + 100 h > 10 + 0.01 (0.5 + 100 h)
    assert (switch.now, switch.to, switch.at) == (0.0, "saves", pytest.approx(9.505 / 99))


def test_of_what_is_as_good_the_simplest_is_advised():
    given = {
        "nothing": prediction(duplicates=0.3, spread=0.01),
        "dear": prediction(duplicates=0.11, spread=0.02),  # not told apart, but not as good either
        "simple": prediction(duplicates=0.102, spread=0.02),
        "clever": prediction(duplicates=0.10, spread=0.02),
    }
    moved = {
        ("crashes", 0.5): {**given, "clever": prediction(duplicates=0.01)},
        ("crashes", 2.0): given,
        ("saves", 0.5): given,
        ("saves", 2.0): {**given, "simple": prediction(duplicates=0.12, spread=0.03)},
    }
    advice = advise(Predicted(given, moved), Costs(duplicate=1.0))
    assert (advice.strategy, advice.alike) == ("simple", ["clever"])
    [move] = advice.moves  # what may be chance is no move
    assert (move.assumption, move.strategy, move.instead) == ("crashes", "clever", ["clever", None])
    assert [each.value for each in move.costs] == pytest.approx([10.0, 100.0])


def test_what_does_harm_without_crashes_counts_once(project):
    """A client that gives up on answers repeats actions; deploys must not add its repeats again."""
    late = AGENT.replace("receiver = { response = 0.75 }", "receiver = { response = 0.75 }\n" + LATE)
    _, without = predicted(project, text=late, relative=0.3)
    _, with_deploys = predicted(project, a_day=1, text=late, relative=0.3)
    one, other = (found.given["checkpoint"].duplicates for found in (without, with_deploys))
    assert one.value > 1e5
    assert other.value == pytest.approx(one.value, rel=0.1)


@pytest.mark.parametrize("crash", ["none", "uniform_time"])
def test_crashes_without_a_rate_are_predicted_too(project, crash):
    text = AGENT.replace('"renewal", law = { law = "exponential", mean = 86400.0 }', f'"{crash}"')
    _, found = predicted(project, a_day=1, text=text)
    assert found.given["restart"].duplicates.value > 0


@pytest.mark.slow
def test_a_run_that_never_ends_is_said_to_be_given_up(project):
    _, found = predicted(project, text=AGENT.replace("86400.0", "0.5"))
    assert found.given["restart"].p_stuck.value > 0.9


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("duplicate = 10.0", "duplicates = 10.0", "costs.duplicates"),
        ("[deploys]\na_day = %s", "[deploys]\na_day = -1%s", "deploys.a_day"),
        ('protocol = "restart"', 'protocol = "again"', "strategies.restart.protocol: 'again' is no protocol"),
        ("store = { write = 0.25 }", "store = { write = -1 }", "scenario.store.write"),
        ("[costs]", 'colour = "red"\n[costs]', "deploys.colour"),
        ("duplicate = 10.0", "duplicate = 1e30", "costs.duplicate"),
        ("[scenario]", 'system = "langgraf"\n[scenario]', "system: 'langgraf' is no system"),
    ],
)
def test_mistakes_in_a_file_are_told_with_its_key(project, old, new, told):
    file = project / "agent.toml"
    assert old in AGENT
    file.write_text(AGENT.replace(old, new) % (0, 0))
    with pytest.raises(InputError) as wrong:
        read_agent(file, {}, None, {}, project)
    assert told in str(wrong.value)
    assert str(file) in str(wrong.value)


def test_no_strategy_is_refused_with_a_sentence(project):
    file = project / "agent.toml"
    file.write_text("[strategies]\n")
    with pytest.raises(InputError, match="strategies: names none; leave it out to compare the usual ones"):
        read_agent(file, {}, None, {}, project)


def test_nothing_acts_and_nothing_happens_twice(project):
    _, found = predicted(project, text=AGENT.replace(", action = {}", "") + KEYED)
    assert found.given["restart"].duplicates == NOTHING
    assert found.given["restart"].tokens.value > 0
