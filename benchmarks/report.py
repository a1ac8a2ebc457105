"""What was measured, as a Markdown table."""

import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

HEAD = """# How fast, and how much memory

Measured by `make bench` in one run, on: {machine}.

The machine may have been busy with other work besides, so the ratios say more than the times: rounds of a
model alternate with rounds of the peer, a plain SimPy model of `checkpoint` written the tutorial way
(`benchmarks/peers/tutorial.py`), with as many steps and crashes. Times of a run are CPU time on one core, in
the least disturbed round; *times as fast* is the median over pairs of rounds. Other times are by the clock on
the wall. Random numbers are drawn anew for each block, and count, where nothing else is said.
"""

GRID = """
## A run under `checkpoint`, by its length and its crashes

µs a run, and in brackets how many times as fast as the tutorial model. A quarter of the steps acts; the run
of one step does not. Crashes come at a constant rate: 1, 2 or 5 in the time of a run without crashes, which
crashes make longer and so more; their mean number is shown. *Drawn already*: without the random numbers, but
for the inversion of those that later attempts need. *numba* is a compiled loop that knows this strategy only
and draws its own numbers; it was compiled in {compiled:.1f} s, which are not counted.
"""


@dataclass(frozen=True)
class Timing:
    """µs a run of a model, of its least disturbed round, and how many times as fast as the peer it is."""

    us: float
    ratio: float

    @classmethod
    def of(cls, ours: list[float], theirs: list[float]) -> "Timing":
        """Of seconds a run in rounds, and of the peer's in the rounds between them."""
        return cls(min(ours) * 1e6, median(their / our for our, their in zip(ours, theirs, strict=True)))


@dataclass
class Report:
    """Collects figures; a row is what, figure, times as fast as the peer, aim, and whether it is reached."""

    sections: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    grid: dict[tuple[int, float], dict[str, Timing]] = field(default_factory=dict)
    compiled_s: float = 0.0

    def row(
        self, section: str, what: str, figure: str, ratio: float = 0, aim: str = "", reached: bool = False
    ) -> None:
        """Add a row to a section; without an aim nothing is said of reaching it."""
        verdict = ("reached" if reached else "**not reached**") if aim else ""
        row = (what, figure, _number(ratio) if ratio else "", aim, verdict)
        self.sections.setdefault(section, []).append(row)

    def markdown(self) -> str:
        """Give the whole text."""
        parts = [HEAD.format(machine=_machine())]
        for section, rows in self.sections.items():
            columns = ("what", "figure", "times as fast", "aim", "")
            used = [i for i in range(len(columns)) if i < 2 or any(row[i] for row in rows)]
            picked = [tuple(row[i] for i in used) for row in [columns, *rows]]
            parts.append(f"\n## {section}\n\n{_table(picked)}")
        models = list(next(iter(self.grid.values())))
        rows = [
            (str(steps), f"{crashes:.1f}", *(_cell(timings[model]) for model in models))
            for (steps, crashes), timings in sorted(self.grid.items())
        ]
        parts.append(GRID.format(compiled=self.compiled_s) + "\n")
        parts.append(_table([("steps", "crashes", *models), *rows]))
        return "".join(parts)


def _cell(timing: Timing) -> str:
    return f"{_number(timing.us)} ({_number(timing.ratio)})"


def _number(value: float) -> str:
    """Show three digits, and no exponent."""
    return f"{float(f'{value:.3g}'):,g}"


def _table(rows: list[tuple[str, ...]]) -> str:
    head, *body = ("| " + " | ".join(row) + " |\n" for row in rows)
    return head + "|---" * len(rows[0]) + "|\n" + "".join(body)


def _machine() -> str:
    """Name what was measured on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "simpy", "numba"))
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
