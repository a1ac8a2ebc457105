"""The commands ``savegap laws``: which laws there are, what they look like, and how to add one."""

import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sim.cli.options import home_of, project_option

if TYPE_CHECKING:
    from sim.laws import Law

BREACH = 1


@click.group(invoke_without_command=True)
@project_option
@click.pass_context
def laws(context: click.Context, project: Path | None) -> None:
    """List the laws of times that a file can name, or look at one, or add one.

    A crash, a step or a latency takes a time of some law:

    \b
      crash = { process = "renewal", law = { law = "weibull", mean = 3600.0, shape = 0.7 } }

    Your own law is a file in experiments/laws/ and no other edit:

    \b
      savegap laws                              all laws
      savegap laws show weibull mean=3600 shape=0.7 --out weibull.svg
      savegap laws new my_law                   write a file to begin with
      savegap laws check my_law                 does the law keep what every law must keep?
    """
    context.obj = project
    if context.invoked_subcommand is None:
        _load(project)
        _list()


def _load(project: Path | None) -> Path:
    """Load a project's own laws, as far as they are right; outside of a project there are none.

    Returns
    -------
    Path
        Folder that files of times are in.
    """
    from sim.study.errors import InputError
    from sim.study.files import EXPERIMENTS
    from sim.study.own_laws import load_laws

    try:
        home = home_of(project)
    except InputError:
        return Path()
    try:
        load_laws(home)
    except InputError as error:
        for problem in error.problems:
            click.echo(f"left out: {problem}", err=True)
    return home / EXPERIMENTS


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    from sim.contract import example_of
    from sim.laws import LAWS
    from sim.report.answers import duration
    from sim.study.own_laws import origin

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("law", "parameters", "mean", "what it is"):
        table.add_column(title, no_wrap=title == "law", justify="right" if title == "mean" else "left")
    own = False
    for name, cls in sorted(LAWS.items(), key=lambda item: (origin(item[0]) is not None, item[0])):
        mark = "" if origin(name) is None else " *"
        own = own or bool(mark)
        table.add_row(name + mark, _parameters(cls), duration(example_of(cls).mean_s), _line(cls))
    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(table)
    if own:
        console.print("* from experiments/laws/ of this project", highlight=False)
    console.print(
        "Means are those of an example each. Every continuous law of scipy.stats works too, by its scipy "
        "name, such as fisk, invgauss or gompertz.",
        highlight=False,
    )


def _line(cls: "type[Law]") -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _parameters(cls: "type[Law]") -> str:
    shown = []
    for key, field in cls.model_fields.items():
        default = field.default
        given = "" if field.is_required() or default in (None, ()) else f"={default:g}"
        shown.append(key + given)
    return ", ".join(shown)


@laws.command()
@click.argument("name")
@click.argument("parameters", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Picture file to write, *.svg or *.png: density, survival and hazard.",
)
@project_option
def show(project: Path | None, name: str, parameters: tuple[str, ...], out: Path | None) -> None:
    """Show a law: its parameters, mean and quantiles, and as a picture its density, survival and hazard.

    NAME is a law of the list or of scipy.stats. Values are written as in an experiment file; without any, the
    law's first example is shown:

    \b
      savegap laws show lognormal median=0.04 sigma=0.6 --out latency.svg
      savegap laws show equilibrium 'of={law="weibull", mean=86400.0, shape=0.7}'
    """
    from pydantic_core import ValidationError

    from sim.laws import LAWS, files_in, parse_law
    from sim.study.errors import InputError, Problem

    folder = _load(project)
    if out is not None and out.suffix not in (".svg", ".png"):
        raise InputError([Problem("--out", "", f"must end with .svg or .png, not {out.name!r}.")])
    given = _values(parameters)
    cls = LAWS.get(name)
    if not given and cls:
        given = dict(cls.examples[0])
    try:
        with files_in(folder):
            shown = parse_law({"law": name} | given)
    except ValidationError as error:
        problems = [Problem(name, ".".join(map(str, e["loc"])), e["msg"]) for e in error.errors()]
        raise InputError(problems) from None
    _describe(name, shown, given)
    if out is not None:
        from sim.report.laws import draw_law

        draw_law(shown, _title(name, given), out)
        click.echo(f"wrote {out}")


def _values(parameters: tuple[str, ...]) -> dict[str, Any]:
    from sim.study.errors import InputError, Problem

    values: dict[str, Any] = {}
    for parameter in parameters:
        key, equals, text = parameter.partition("=")
        if not equals or not key:
            raise InputError([Problem(parameter, "", "must be KEY=VALUE, such as mean=3600.")])
        try:
            values[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            values[key] = text
    return values


def _title(name: str, given: dict[str, Any]) -> str:
    from sim.study.config import label

    return str(label({"law": name} | given))


def _describe(name: str, shown: "Law", given: dict[str, Any]) -> None:
    from sim.laws import ScipyLaw
    from sim.report.answers import duration

    cls = type(shown)
    if isinstance(shown, ScipyLaw):
        click.echo(f"{name}: a law of scipy.stats, with scipy's parameters")
        for key, value in given.items():
            click.echo(f"  {key} = {value}")
    else:
        click.echo(f"{name}: {_line(cls)}")
        for key, field in cls.model_fields.items():
            value = given.get(key, field.default)
            described = f"  ({field.description})" if field.description else ""
            click.echo(f"  {key} = {_short(value)}{described}")
        if cls.source:
            click.echo(f"  source: {cls.source}")
    click.echo(f"  mean {duration(shown.mean_s)}")
    marks = (0.01, 0.1, 0.5, 0.9, 0.99)
    times = ", ".join(f"{100 * u:g} % {duration(float(shown.quantile(u)))}" for u in marks)
    click.echo(f"  are over by: {times}")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


TEMPLATE = '''"""{title}: say here what mechanism it stands for."""

from math import inf, pi, sin
from typing import ClassVar

import numpy as np
from pydantic import Field

from sim.laws import Law, law
from sim.validation import Positive


@law("{name}")
class {class_name}(Law):
    """Hazard that rises and then falls (log-logistic): put your own law in its place."""

    examples: ClassVar = ({{"scale": 3600.0, "shape": 2.5}}, {{"scale": 60.0, "shape": 1.5}})
    source: ClassVar = ""

    scale: Positive = Field(description="median, s")
    shape: Positive = Field(description="exponent of the odds of having ended")

    def cumulative_hazard(self, t):
        """H(t) = -log P(T > t)."""
        return np.log1p(np.power(np.asarray(t) / self.scale, self.shape))

    def inverse_hazard(self, h):
        """The time at which it reaches h; without this method it is found numerically."""
        return self.scale * np.power(np.expm1(h), 1 / self.shape)

    @property
    def mean_s(self):
        """Without this property it is integrated numerically."""
        return self.scale * pi / self.shape / sin(pi / self.shape) if self.shape > 1 else inf
'''


@laws.command()
@click.argument("name")
@project_option
def new(project: Path | None, name: str) -> None:
    """Write experiments/laws/NAME.py, a law that passes its check, to be changed into yours.

    NAME is how experiment files will call it: lower-case letters, digits and underscores.
    """
    import re

    from sim.laws import LAWS
    from sim.laws.by_name import family
    from sim.study.errors import InputError, Problem
    from sim.study.files import write_text
    from sim.study.own_laws import folder_of

    home = home_of(project)
    _load(project)
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        sentence = "must begin with a lower-case letter and hold only such, digits and underscores."
        raise InputError([Problem(name, "", sentence)])
    target = folder_of(home) / f"{name}.py"
    shown = str(target.relative_to(home))
    if target.exists():
        raise InputError([Problem(shown, "", "is there already; nothing was written.")])
    if name in LAWS or family(name):
        whose = "of scipy.stats" if name not in LAWS else "already"
        raise InputError([Problem(name, "", f"is a law {whose}; take another name.")])
    words = name.split("_")
    title = " ".join(words).capitalize()
    class_name = "".join(word.capitalize() for word in words)
    write_text(target, TEMPLATE.format(name=name, title=title, class_name=class_name))
    click.echo(f"wrote {shown}")
    click.echo(f"Change it into your law, then: savegap laws check {name}")


@laws.command()
@click.argument("file")
@project_option
def check(project: Path | None, file: str) -> None:
    """Hold the laws of a file to everything that a law must keep, and say in words what failed.

    FILE is a Python file, or the name of one in experiments/laws/. Exit code 1 if a law fails.

    A law is held to its own claims: survival from 1 to 0, never growing; times finite, at least 0 and longer
    for a greater uniform number, of which each takes exactly one; inverse, quantile and mean those of the
    hazard; residual lives at all ages that use up an exponential hazard; and the same digits for scalars as
    for arrays.
    """
    from sim.contract import CLAUSES, examine, skipped
    from sim.study.errors import InputError, Problem
    from sim.study.own_laws import folder_of, forget, load_file, load_laws

    path = Path(file).absolute()
    shown = file
    try:
        home = home_of(project)
    except InputError:
        home = None
    if not path.is_file() and home is not None:
        path = folder_of(home).resolve() / f"{file.removesuffix('.py')}.py"
        shown = f"experiments/laws/{path.name}"
    if not path.is_file():
        known = sorted(found.stem for found in folder_of(home).glob("*.py")) if home else []
        there = f"there are: {', '.join(known)}." if known else "experiments/laws/ holds none."
        raise InputError([Problem(file, "", f"is no file and no law of the project; {there}")])
    path = path.resolve()
    forget(path)
    if home is not None:
        with suppress(InputError):  # that others are wrong is not asked
            load_laws(home, but=path)  # so that a name that is taken is told
    failed = False
    for cls in load_file(path, shown):
        found = examine(cls)
        failed = failed or bool(found)
        number = len(cls.examples)
        examples = "1 example" if number == 1 else f"{number} examples"
        if found:
            click.echo(f"{cls.name}: does not keep the contract of a law")
            for finding in found:
                click.echo(f"  {finding}")
        else:
            click.echo(f"{cls.name}: keeps all {len(CLAUSES)} clauses with {examples}")
            for example in cls.examples:
                for sentence in skipped(cls.model_validate(example)):
                    click.echo(f"  {sentence}")
    if failed:
        sys.exit(BREACH)
