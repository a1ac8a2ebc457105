"""The command ``savegap systems``: which systems there are as presets, and what is known of one."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sim.cli.options import home_of, project_option

if TYPE_CHECKING:
    from sim.strategy import Strategy, Verb, Verbs


@click.command("systems")
@click.argument("name", required=False)
@project_option
def systems(name: str | None, project: Path | None) -> None:
    """List the systems that a strategy can be taken from, or show one with its sources.

    A system is a file in experiments/systems/; NAME may also be the path of one. An experiment takes it by

    \b
      [strategies]
      "LangGraph, async" = { system = "langgraph-async" }
    """
    home = home_of(project)
    if name is None:
        _list(home)
    else:
        _show(name, home)


def _list(home: Path) -> None:
    from sim.study.systems import names, read_system

    known = names(home)
    if not known:
        click.echo("experiments/systems/ holds none.")
    width = max(map(len, known), default=0)
    for name in known:
        system = read_system(name, home)
        click.echo(f"{name:{width}}  {system['title']}")
        click.echo(f"{'':{width}}  {system['sources'][0]['says']}")


def _show(name: str, home: Path) -> None:
    from sim.strategy import Strategy
    from sim.study.systems import TABLES, read_system

    path = Path(name).absolute() if name.endswith(".toml") else name
    system = read_system(path, home)
    click.echo(f"{system['title']}\n")
    click.echo(f"{system['source'].strip()}\n")
    for line in in_words(Strategy.model_validate(system["strategy"])):
        click.echo(line)
    for key, value in _settings({name: system[name] for name in TABLES if name in system}):
        click.echo(f"{key} = {value}")
    click.echo("\nWhere this is known from:")
    for entry in system["sources"]:
        keys = [entry["key"]] if isinstance(entry["key"], str) else entry["key"]
        click.echo(f"  {', '.join(keys)}: {entry['says']} [{entry['read']}: {entry['where']}]")


def in_words(strategy: "Strategy") -> Iterator[str]:
    """Say a strategy's lists of verbs in words, a line each."""
    lists: tuple[tuple[str, Verbs], ...] = (
        ("before the first step", strategy.begin),
        ("a step", strategy.plain),
        ("a step that acts", strategy.action),
        ("after the last step", strategy.end),
    )
    for where, verbs in lists:
        if verbs:
            yield f"{where}: {'; '.join(map(_in_words, verbs))}"
    placed = {
        "after the last step of each group only": strategy.after_groups,
        "after steps that act only": strategy.after_actions,
        f"after every {strategy.every} steps only": strategy.every,
        f"after these steps only: {', '.join(map(str, strategy.steps or ()))}": strategy.steps,
    }
    for said, holds in placed.items():
        if holds:
            yield f"saves that end a step: {said}"
    found = "begins anew" if strategy.if_nothing == "restart" else "gives the run up"
    yield f"a recovery that finds nothing saved: {found}"


def _in_words(verb: "Verb") -> str:
    from sim.strategy import Save

    if not isinstance(verb, Save):
        return {
            "call": "call the receiver",
            "query": "ask the receiver whether it was performed",
            "park": "wait for a person",
            "drain": "wait until all is saved",
        }.get(verb.verb, verb.verb)
    said = {
        "progress": "save",
        "effect": "save, and act in the same transaction",
        "entry": "save, and put the action in the outbox",
    }[verb.holds]
    if verb.delta:
        said += " what is new since the last whole save"
    if verb.scale != 1:
        said += f" in {verb.scale:g} times the store's time"
    if verb.resume != "next":
        said += f", to resume {'here' if verb.resume == 'here' else f'at the {verb.resume}'}"
    if verb.lane:
        said += f", behind the work ({verb.lane})"
    return said


def _settings(table: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, str]]:
    """Keys and values of what the lists of verbs do not say."""
    placed = ("after_groups", "after_actions", "every", "steps")
    told = ("protocol", "begin", "plain", "action", "end", "if_nothing", *placed)
    for key, value in table.items():
        name = f"{at}{key}"
        if isinstance(value, dict) and "law" not in value:
            yield from _settings(value, f"{name}.")
        elif not (at == "strategy." and key in told):
            yield name, _as_toml(value)


def _as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_as_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
