"""The command ``savegap``."""

import sys

import click

from sim.cli.fit import fit
from sim.cli.laws import laws
from sim.cli.options import FAILED, INPUT_ERROR
from sim.cli.prove import prove
from sim.cli.run import report, run
from sim.cli.systems import systems

SHOWN = 100
"""How many mistakes are told at once."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="savegap")
def cli() -> None:
    """What does a crash cost an AI agent, and which protection removes which part of it?

    A study is a folder with experiments/*.toml, a question each. `savegap run` simulates them and writes
    tables, figures and a report:

    \b
      savegap run                        the whole study, into results/
      savegap run article --jobs 1       one experiment, by its name, on one core
      savegap run mine.toml --replications 500 --out /tmp/try
      savegap report                     draw the report again, without simulating
      savegap laws                       the laws that times can have, and how to add one
      savegap systems                    LangGraph, Temporal and others as presets, with sources
      savegap prove temporal             every placement of two faults in a small run
      savegap fit crashes.csv            laws for your own times between crashes
    """


for command in (run, report, laws, fit, systems, prove):
    cli.add_command(command)


def main() -> None:
    """Run the command; wrong input is answered in lines, without a traceback, with exit code 2."""
    from sim.study.errors import EnginesDifferError, InputError

    try:
        cli(standalone_mode=True)
    except InputError as error:
        for problem in error.problems[:SHOWN]:
            click.echo(f"error: {problem}", err=True)
        if (more := len(error.problems) - SHOWN) > 0:
            click.echo(f"error: and {more:,} more.", err=True)
        sys.exit(INPUT_ERROR)
    except EnginesDifferError as error:
        click.echo(f"error: the engines do not agree: {error}", err=True)
        sys.exit(FAILED)
