"""The command ``savegap``."""

import sys

import click

from sim.cli.fit import fit
from sim.cli.lab import calibrate, lab
from sim.cli.laws import laws
from sim.cli.options import INPUT_ERROR
from sim.cli.paper import paper
from sim.cli.predict import init, predict
from sim.cli.prove import prove
from sim.cli.replay import find, replay
from sim.cli.run import clean, compare, plan, report, run
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
      savegap plan                       what a run would do, why, and about how long it would take
      savegap report                     draw the report again, without simulating
      savegap paper                      set the paper of these results
      savegap find article --where "duplicate_actions > 0"
                                         the runs behind a number; savegap replay tells what happened
      savegap predict my-agent.toml      what crashes cost your own agent, and which protection to take;
                                         savegap init writes the file to begin with
      savegap laws                       the laws that times can have, and how to add one
      savegap systems                    LangGraph, Temporal and others as presets, with sources
      savegap prove temporal             every placement of two faults in a small run
      savegap fit crashes.csv            laws for your own times between crashes
      savegap lab run                    real processes, really killed, beside what was predicted
      savegap calibrate                  what saves take on this machine, as stores to simulate with
    """


study = (run, plan, report, paper, clean, compare, find, replay)
for command in (*study, init, predict, laws, fit, systems, prove, lab, calibrate):
    cli.add_command(command)


def main() -> None:
    """Run the command; wrong input is answered in lines, without a traceback, with exit code 2."""
    from sim.study.errors import InputError

    try:
        cli(standalone_mode=True)
    except InputError as error:
        for problem in error.problems[:SHOWN]:
            click.echo(f"error: {problem}", err=True)
        if (more := len(error.problems) - SHOWN) > 0:
            click.echo(f"error: and {more:,} more.", err=True)
        sys.exit(INPUT_ERROR)
    except OSError as error:
        at = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {at}{error.strerror or error}.", err=True)
        sys.exit(INPUT_ERROR)
