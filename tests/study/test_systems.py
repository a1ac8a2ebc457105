"""Systems as presets: each is whole and sourced, gives way to what is swept, and can be changed by key."""

import shutil
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from sim.scenario import Scenario
from sim.strategy import PROTOCOLS, Strategy
from sim.study.config import load
from sim.study.errors import InputError
from sim.study.systems import build, laid_over, names, read_system, strategy_of
from sim.theory import exact

REPOSITORY = Path(__file__).parents[2]
SYSTEMS = names(REPOSITORY)
SHIPPED = REPOSITORY / "experiments"

MINE = """
title = "Mine"
source = "Made up."

[strategy]
protocol = "checkpoint"
after_actions = true

[store]
write = { law = "constant", value = 9.0 }

[client]
timeout = 7.0

[downtime]
detection = 8.0

[[sources]]
key = ["strategy", "store.write"]
says = "It saves."
where = "its documentation, 1.0"
read = "documentation"

[[sources]]
key = ["client.timeout", "downtime"]
says = "It waits."
where = "our assumption"
read = "estimate"
"""


@pytest.fixture
def mine(project):
    """Write a system of one's own, changed as wanted."""

    def write(*changes, text=MINE):
        folder = project / "experiments" / "systems"
        folder.mkdir(exist_ok=True)
        for right, wrong in changes:
            assert right in text
            text = text.replace(right, wrong)
        (folder / "mine.toml").write_text(text)
        return project

    return write


@pytest.fixture
def cells(mine):
    """Cells of the tiny experiment with a strategy of the system, and more of a scenario or sweeps."""

    def of(strategy='{ system = "mine" }', scenario="", sweep='[sweep]\n"limits.attempts" = [5]', figures=""):
        project = mine()
        file = project / "experiments" / "tiny.toml"
        text = file.read_text()
        text = text[: text.index("[strategies]")] + scenario
        text += f'\n[strategies]\nrestart = {{ protocol = "restart" }}\nmine = {strategy}\n{sweep}\n{figures}'
        file.write_text(text)
        return load(file, project).cells

    return of


def problems(call, *arguments):
    with pytest.raises(InputError) as told:
        call(*arguments)
    return [str(problem) for problem in told.value.problems]


@pytest.mark.parametrize("workload", ["support-agent", "coding-agent"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_each_system_that_is_shipped_makes_a_scenario(name, workload):
    scenario = build(name, REPOSITORY, {"workload": workload, "downtime": {"detection": 5.0}})
    assert isinstance(scenario, Scenario)
    assert scenario.strategy == Strategy.model_validate(read_system(name, REPOSITORY)["strategy"])


@pytest.mark.parametrize("receiver", sorted(file.stem for file in SHIPPED.glob("receivers/*.toml")))
@pytest.mark.parametrize("name", SYSTEMS)
def test_each_system_works_with_each_receiver(name, receiver):
    scenario = build(name, REPOSITORY, {"workload": "support-agent"}, receiver=receiver)
    assert scenario.receiver.title
    assert scenario.receiver.source
    answered = scenario.receiver.handling.mean_s + scenario.receiver.response.mean_s
    assert answered == pytest.approx(0.359165, rel=1e-5)


@pytest.mark.parametrize(
    ("provider", "up_h", "down_h"), [("openai", 61.556, 1.32), ("anthropic", 127.058, 0.91)]
)
def test_providers_are_the_fits_that_they_name(provider, up_h, down_h):
    scenario = build("restate", REPOSITORY, {"workload": "support-agent", "provider": provider})
    assert scenario.provider.up.mean_s / 3600 == pytest.approx(up_h, rel=1e-5)
    assert scenario.provider.down.quantile(0.5) / 3600 == pytest.approx(down_h)


@pytest.mark.parametrize(("name", "protocol"), [("sync", "two_part"), ("async", "two_part_async")])
def test_langgraph_spelled_out_is_its_protocol(name, protocol):
    assert read_system(f"langgraph-{name}", REPOSITORY)["strategy"] == PROTOCOLS[protocol]


def test_a_task_of_crewai_is_a_group():
    scenario = build("crewai", REPOSITORY, {"workload": "support-agent"})
    steps = scenario.workload.steps
    ends = [a.name for a, b in pairwise(steps) if a.group != b.group]
    assert ends == ["send the e-mail", "open the ticket"]
    groups = [step.group for step in build("crewai", REPOSITORY, {"workload": "coding-agent"}).workload.steps]
    assert groups == [f"task {turn // 3 + 1}" for turn in range(15)]


def test_a_system_of_ones_own_is_right(mine):
    assert read_system("mine", mine())["title"] == "Mine"
    assert read_system(mine() / "experiments/systems/mine.toml", mine())["title"] == "Mine"
    assert read_system("experiments/systems/mine.toml", mine())["title"] == "Mine"


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        (
            "timeout = 7.0",
            "timeout = 7.0\nretries = []",
            'client.retries: has no source; add [[sources]] with key = "client.retries", says, wher',
        ),
        (
            '"downtime"]',
            '"downtime", "strategy.protocol"]',
            "strategy.protocol: has several sources (strategy, strategy.protocol); leave one.",
        ),
        (
            '"client.timeout", "downtime"',
            '"client.timeout", "downtime", "store.writ"',
            "sources.1.key: 'store.writ' is not set here; did you mean \"store.write.law\"?",
        ),
        ('title = "Mine"', 'titel = "Mine"', 'titel: unknown key; did you mean "title"?'),
        ('source = "Made up."', "", "source: this key is missing."),
        ('"checkpoint"', '"chekpoint"', "strategy.protocol: 'chekpoint' is no protocol; did you mean \"che"),
        ("value = 9.0", "valeu = 9.0", 'store.write.valeu: unknown key; did you mean "value"?'),
        ("[downtime]\ndetection = 8.0", "", "sources.1.key: 'downtime' is not set here"),
        ('read = "estimate"', 'read = "guess"', "sources.1.read: must be 'source', 'documentation', 'kill"),
        ("[strategy]", "[strategies]", "strategies: unknown key; did you mean "),
        ("[client]", 'receiver = "stripe-v2"\n[client]', "store.receiver: unknown key"),
    ],
)
def test_a_mistake_in_a_system_is_told_by_file_and_key(mine, right, wrong, told):
    found = problems(read_system, "mine", mine((right, wrong)))
    assert any(line.startswith(f"experiments/systems/mine.toml: {told}") for line in found), found


def test_all_mistakes_of_a_system_at_once(mine):
    project = mine(("timeout = 7.0", "timeout = -7.0\nretries = []"), ('"checkpoint"', '"chekpoint"'))
    keys = {line.split(": ")[1] for line in problems(read_system, "mine", project)}
    assert keys == {"client.timeout", "client.retries", "strategy.protocol"}


def test_a_system_may_name_parts(mine):
    text = MINE.replace("[downtime]\ndetection = 8.0\n", "").replace(
        "[strategy]", 'downtime = "slow"\nreceiver = "none"\n\n[strategy]'
    )
    project = mine(('"downtime"]', '"downtime", "receiver"]'), text=text)
    assert problems(read_system, "mine", project) == [
        "experiments/systems/mine.toml: receiver: 'none' is no receiver; Allowed: .",
        "experiments/systems/mine.toml: downtime: 'slow' is no downtime; Allowed: .",
    ]
    for folder in ("receivers", "downtimes"):
        (project / "experiments" / folder).mkdir()
    (project / "experiments/receivers/none.toml").write_text("response = 3.0")
    (project / "experiments/downtimes/slow.toml").write_text("restart = 4.0")
    scenario = build("mine", project, {"workload": "tiny"})
    assert (scenario.receiver.response.mean_s, scenario.downtime.restart.mean_s) == (3.0, 4.0)


@pytest.mark.parametrize(
    ("given", "own", "result"),
    [
        ({"protocol": "on_exit"}, {"key": "run_step"}, {"protocol": "on_exit", "key": "run_step"}),
        ({"protocol": "on_exit", "if_nothing": "stuck"}, {"if_nothing": "restart"}, {"protocol": "on_exit"}),
        (
            {"protocol": "checkpoint"},
            {"plain": ["work"]},
            {"plain": ["work"], "action": ["work", "call", "save"]},
        ),
        (
            {"protocol": "two_part", "every": 2},
            {"protocol": "checkpoint"},
            {"protocol": "checkpoint", "every": 2},
        ),
        (
            {"plain": ["work"], "action": ["call"], "end": ["save"], "key": "run_step"},
            {"protocol": "checkpoint"},
            {"protocol": "checkpoint", "key": "run_step"},
        ),
        (
            {"protocol": "outbox", "relay": {"poll": 3.0}},
            {"protocol": "restart"},
            {"protocol": "restart"},
        ),
    ],
)
def test_own_keys_win_over_the_strategy_of_a_system(given, own, result):
    merged = Strategy.model_validate(strategy_of({"strategy": given}, own))
    assert merged == Strategy.model_validate(result)


def test_a_supervisor_that_starts_again_is_one_key():
    scenario = build("langgraph-async", REPOSITORY, {"workload": "support-agent"}, {"if_nothing": "restart"})
    bare = build("langgraph-async", REPOSITORY, {"workload": "support-agent"})
    assert bare.strategy.if_nothing == "stuck"
    assert scenario.strategy == bare.strategy.model_copy(update={"if_nothing": "restart"})


def test_tables_are_laid_over_key_by_key_and_laws_whole():
    below = {"a": {"law": "lognormal", "median": 1.0}, "b": {"x": 1, "y": 2}, "c": 3, "d": {"e": {"f": 1}}}
    above = {"a": {"law": "constant", "value": 2.0}, "b": {"y": 4}, "c": {"z": 5}, "d": {"e": {"g": 2}}}
    assert laid_over(below, above) == {
        "a": {"law": "constant", "value": 2.0},
        "b": {"x": 1, "y": 4},
        "c": {"z": 5},
        "d": {"e": {"f": 1, "g": 2}},
    }
    assert below["b"] == {"x": 1, "y": 2}


def test_a_system_wins_over_the_scenario_for_its_strategy_alone(cells):
    (cell,) = cells(scenario="client = { timeout = 2.0, retries = [{ tries = 4 }] }")
    own, other = cell.scenarios["mine"], cell.scenarios["restart"]
    assert (own.client.timeout, other.client.timeout) == (7.0, 2.0)
    assert own.client.retries == other.client.retries
    assert (own.store.write.mean_s, own.downtime.detection.mean_s) == (9.0, 8.0)
    assert other.store.write.median == 0.5
    assert (own.strategy.after_actions, own.limits.attempts) == (True, 5)
    assert own.receiver == other.receiver


def test_what_is_swept_wins_over_a_system(cells):
    found = cells(sweep='[sweep]\n"client.timeout" = [1.0, 3.0]\n"downtime.restart" = [6.0]')
    assert [cell.scenarios["mine"].client.timeout for cell in found] == [1.0, 3.0]
    downtime = found[0].scenarios["mine"].downtime
    assert (downtime.detection.mean_s, downtime.restart.mean_s) == (8.0, 6.0)


def test_a_table_that_is_swept_wins_as_a_whole(cells):
    (cell,) = cells(sweep='[sweep]\ndowntime = [{ restart = 6.0 }]\n"client.timeout & limits.attempts" = [4]')
    scenario = cell.scenarios["mine"]
    assert (scenario.downtime.detection.mean_s, scenario.downtime.restart.mean_s) == (0.0, 6.0)
    assert (scenario.client.timeout, scenario.limits.attempts) == (4.0, 4)


def test_cells_are_what_their_factors_say(cells):
    """A key that another sweep varies is the experiment's there too: the cell is labelled with its base."""
    found = cells(
        scenario="client = { timeout = 2.0 }",
        sweep='[[sweeps]]\n"client.timeout" = [1.0, 2.0]\n[[sweeps]]\n"limits.attempts" = [3]',
    )
    assert [cell.factors["client.timeout"] for cell in found] == [1.0, 2.0, 2.0]
    assert [cell.scenarios["mine"].client.timeout for cell in found] == [1.0, 2.0, 2.0]
    assert [cell.scenarios["mine"].downtime.detection.mean_s for cell in found] == [8.0] * 3


def test_receivers_can_be_swept_by_name(cells, project):
    shutil.copytree(SHIPPED / "receivers", project / "experiments" / "receivers")
    found = cells(sweep='[sweep]\nreceiver = ["stripe-v1", "powertools"]\n"receiver.keys.ttl" = [9.0]')
    scenarios = [cell.scenarios["mine"] for cell in found]
    assert [scenario.receiver.keys.remembers for scenario in scenarios] == ["all", "success"]
    assert {scenario.receiver.keys.ttl for scenario in scenarios} == {9.0}


def test_a_system_that_is_not_there_is_told_with_all_else(cells):
    told = problems(lambda: cells(strategy='{ system = "mien" }\nother = { system = "langgraph" }'))
    assert told == [
        f"experiments/tiny.toml: strategies.{name}.system: '{given}' is no system; {hint}Allowed: mine."
        for name, given, hint in (("mine", "mien", 'did you mean "mine"? '), ("other", "langgraph", ""))
    ]


def test_a_system_and_a_workload_that_are_not_there(cells, project):
    file = project / "experiments" / "tiny.toml"
    file.write_text(file.read_text().replace('workload = "tiny"', 'workload = "tinny"'))
    told = problems(lambda: cells(strategy='{ system = "mien" }'))
    assert [line.split(": ")[1] for line in told] == ["scenario.workload", "strategies.mine.system"]


@pytest.mark.parametrize(
    ("strategy", "scenario", "sweep", "told"),
    [
        ('{ system = "mine", key = "run" }', "", "", "strategies.mine.key: must be 'none'"),
        ('{ system = "mine", protocol = "x" }', "", "", "strategies.mine.protocol: 'x' is no protocol"),
        (
            '{ system = "mine", every = 2 }',
            "",
            "",
            "strategies.mine.system: strategy: say one of every, after_actions",
        ),
        (
            '{ system = "mine" }',
            "supervision = { lease = 9.0 }",
            "",
            "strategies.mine.system: downtime.detection: with a lease a death is noticed",
        ),
        (
            '{ system = "mine" }',
            "",
            '[sweep]\n"client.timeout" = [-1.0]',
            'sweep."client.timeout": must be greater than 0',
        ),
        (
            '{ system = "mine" }',
            "",
            '[sweep]\n"store.write.median" = [1.0]',
            'sweep."store.write.median": unknown key; Allowed: value.',
        ),
    ],
)
def test_a_mistake_beside_a_system_is_told_where_it_was_made(cells, strategy, scenario, sweep, told):
    found = problems(lambda: cells(strategy, scenario, sweep))
    assert any(line.startswith(f"experiments/tiny.toml: {told}") for line in found), found


def test_a_mistake_in_a_named_system_is_told_once_and_there(mine, cells, project):
    file = mine() / "experiments/systems/mine.toml"
    text = MINE.replace("timeout = 7.0", "timeout = 0.0")
    mine_again = project / "experiments/systems/other.toml"
    mine_again.write_text(text)
    told = problems(lambda: cells('{ system = "other" }\nagain = { system = "other" }'))
    assert told == ["experiments/systems/other.toml: client.timeout: must be greater than 0, not 0.0."]
    assert tomllib.loads(file.read_text())["client"] == {"timeout": 7.0}


def test_building_tells_mistakes_too(mine):
    project = mine()
    assert problems(build, "mine", project, {"workload": "tinny"})[0].startswith("scenario: workload: ")
    told = problems(lambda: build("mine", project, {"workload": "tiny"}, {"key": "runs"}))
    assert told[0].startswith("mine: strategy.key: must be ")
    told = problems(lambda: build("mein", project, {"workload": "tiny"}))
    assert told == ["experiments/systems: 'mein' is no system; did you mean \"mine\"? Allowed: mine."]
    told = problems(lambda: build("no.toml", project, {"workload": "tiny"}))
    assert told == ["no.toml: cannot be read: No such file or directory."]


def test_groups_of_a_workload_leave_exact_values():
    crash = {"process": "renewal", "law": {"law": "exponential", "mean": 300.0}}
    workload = tomllib.loads((SHIPPED / "workloads/support-agent.toml").read_text())

    def of(**placed):
        strategy = {"protocol": "checkpoint"} | placed
        return exact(Scenario.model_validate({"workload": workload, "crash": crash, "strategy": strategy}))

    assert of()["p_duplicate"] > 0
    assert of(after_groups=True) == of(steps=["send the e-mail", "open the ticket"])
    assert of(after_groups=True)["redone_steps"] > of()["redone_steps"]
