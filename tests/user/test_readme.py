"""What the README says is what the program does and what the results say."""

import re
from pathlib import Path

import click
import pytest

from sim.cli import cli
from sim.report.writing import BEGIN, END

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = README.split("```")[1::2]
PROSE = "".join(README.split("```")[::2])


def test_the_findings_are_those_of_the_results():
    told = README.partition(BEGIN)[2].partition(END)[0]
    results = (REPOSITORY / "results" / "README.md").read_text(encoding="utf-8")
    findings = re.findall(r"^- (.+) \[How\]\(#", results.partition("## ")[0], re.MULTILINE)
    assert len(findings) == 4
    assert [" ".join(each.split()) for each in told.strip().removeprefix("- ").split("\n- ")] == findings


def test_what_is_said_to_be_proven_is_what_the_command_says(savegap):
    shown = next(block for block in BLOCKS if "placements" in block)
    _, output, _ = savegap("prove", "temporal", "--project", REPOSITORY)
    said = [line.strip() for line in output.splitlines()]
    lines = [line.strip() for line in shown.splitlines()]
    assert len(lines) > 8
    assert [line for line in lines if line not in said] == []


def test_every_command_and_option_is_there():
    inline = re.findall(r"`(savegap [^`]+)`", PROSE)
    for name, rest in re.findall(r"^savegap (\w+)([^#\n]*)", "\n".join([*BLOCKS, *inline]), re.MULTILINE):
        command = cli.commands.get(name)
        assert command is not None, f"savegap {name}"
        parts = [command]
        if isinstance(command, click.Group):
            parts += command.commands.values()
        known = {option for part in parts for parameter in part.params for option in parameter.opts}
        asked = {word.split("=")[0] for word in rest.split() if re.match(r"--\w", word)}
        assert asked <= known, f"savegap {name}{rest}"


@pytest.mark.parametrize("kind", ["files", "pictures"])
def test_every_link_is_there(kind):
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)#]+?)(?:#([^)]+))?\)", README)
    chosen = [(file, anchor) for sign, file, anchor in links if bool(sign) == (kind == "pictures")]
    assert chosen
    for file, anchor in chosen:
        assert (REPOSITORY / file).exists(), file
        if anchor:
            assert f'<a id="{anchor}"></a>' in (REPOSITORY / file).read_text(encoding="utf-8")
