"""The book of crashes worked out by hand, `by_hand.md`, and how a run is compared with it.

Nothing that a run should yield is computed here by the code under test: a row's cells are literal, and a
time that grows with the time of the crash says from where.
"""

import re
import tomllib
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from typing import Any

from engine_scenarios import simulate_on_both

import sim
from sim.outcomes import CAUSES

BOOK = Path(__file__).with_name("by_hand.md")

A = {"name": "A", "work": 10, "tokens": 10}
B = {"name": "B", "work": 20, "tokens": 20, "action": {}}
C = {"name": "C", "work": 30, "tokens": 30}
SURROUNDINGS: dict[str, Any] = {
    "workload": {"steps": [A, B, C]},
    "store": {"write": 0.5, "ack": 0.25},
    "receiver": {"prepare": 1, "request": 2, "response": 4, "query": 3, "lag": 0},
    "downtime": {"detection": 5, "restart": 2.5, "load": 1.5},
}
CHECKPOINT = {"protocol": "checkpoint"}

STRUCK = {"": (0, 0, 0), "action": (1, 0, 0), "gap": (1, 1, 0), "gap after done": (1, 1, 1)}
TIMES = (
    "lost_work_s",
    "wasted_work_s",
    "wasted_tokens",
    "save_time_s",
    "downtime_s",
    "makespan_s",
    "gap_s",
)
"""Outcomes that are compared in ticks; a token is a second of work."""


def tick(seconds: float) -> int:
    return round(seconds * 1e9)


@dataclass(frozen=True)
class Row:
    """What a crash costs between this mark, included, and the next one, excluded."""

    cells: dict[str, str]

    @property
    def mark(self) -> int:
        return tick(float(self.cells["mark"]))

    @property
    def why(self) -> str:
        return f"row {self.cells['mark']}: {self.cells['why']}"

    @property
    def end(self) -> int | None:
        """End of the run that the crash finds without a worker."""
        rest = self.cells["rest"]
        return tick(float(rest.removeprefix("end"))) if rest.startswith("end") else None

    def count(self, name: str, usual: int = 0) -> int:
        return int(self.cells.get(name) or usual)

    def time(self, name: str, crash: int, usual: float = 0.0) -> int:
        """Value of a cell such as 20, t-37 or t-37+30 at a crash, in ticks."""
        cell = self.cells.get(name) or str(usual)
        grows = re.fullmatch(r"t-([\d.]+)(?:\+([\d.]+))?", cell)
        if grows is None:
            return tick(float(cell))
        return crash - tick(float(grows[1])) + tick(float(grows[2] or 0))


@dataclass(frozen=True)
class Table:
    """The rows of a strategy in its surroundings."""

    name: str
    strategy: dict[str, Any]
    rows: list[Row]
    changes: dict[str, Any]
    saves: int
    saving: float
    gap_s: float
    actions: int = 1
    gap: bool = True
    down: float = 9.0
    before: list[float] = field(default_factory=list)
    struck_before: tuple[int, int, int] = (0, 0, 0)
    keyed: bool = False

    def expected(self, row: Row, crash: int) -> dict[str, Any]:
        """What the row says of a crash at a tick."""
        crashes = len(self.before) + (row.end is None)
        struck = [
            sum(pair) for pair in zip(STRUCK[row.cells.get("struck", "")], self.struck_before, strict=True)
        ]
        repeats = row.count("twice")
        makespan = row.end
        if makespan is None:
            makespan = crash + tick(self.down) + row.time("rest", crash)
        return {
            "crashes": crashes,
            "redone_steps": row.count("redone"),
            "lost_work_s": row.time("lost", crash),
            "wasted_work_s": row.time("wasted", crash),
            "wasted_tokens": row.time("tokens" if row.cells.get("tokens") else "wasted", crash),
            "actions": self.actions,
            "duplicate_actions": 0 if self.keyed else repeats,
            **{f"duplicates_{cause}": 0 for cause in CAUSES},
            "duplicates_crash": 0 if self.keyed else repeats,
            "zombie_s": 0,
            "lost_actions": row.count("never"),
            "blocked_duplicates": repeats if self.keyed else 0,
            "saves": row.count("saves", self.saves),
            "save_time_s": row.time("saving", crash, self.saving),
            "downtime_s": row.time("down", crash, self.down * crashes),
            "makespan_s": makespan,
            "finished": True,
            "stuck": False,
            "skipped_steps": row.count("skipped"),
            "action_crashes": struck[0],
            "gap_crashes": struck[1] if self.gap else nan,
            "gap_crashes_after_done": struck[2] if self.gap else nan,
        }


def _section(text: str) -> list[Table]:
    name, rest = text.split("\n", 1)
    head = tomllib.loads(rest.split("```toml\n")[1].split("```")[0])
    lines = [line for line in rest.splitlines() if line.startswith("|")]
    columns, _, *cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = [Row(dict(zip(columns, row, strict=True))) for row in cells]
    steps = {step["name"]: step | head.pop(step["name"], {}) for step in (A, B, C)}
    changes: dict[str, Any] = {"workload": {"steps": [steps[i] for i in head.pop("order", "ABC")]}}
    for part in ("store", "receiver", "downtime"):
        changes[part] = SURROUNDINGS[part] | head.pop(part, {})
    keys = head.pop("keys", False)
    strategy = head.pop("strategy")
    more = head | head.pop("usual")
    more.pop("usual", None)
    table = Table(name, strategy, rows, changes, **more)
    if not keys:
        return [table]
    with_key = strategy | {"key": "run_step"}
    return [table, Table(f"{name}, with a key", with_key, rows, changes, keyed=True, **more)]


def tables() -> dict[str, Table]:
    """Read the book: every table by its name."""
    _, *sections = BOOK.read_text(encoding="utf-8").split("\n## ")
    return {table.name: table for section in sections for table in _section(section)}


def scenario(strategy: dict[str, Any], crashes: list[int], **changes: Any) -> sim.Scenario:
    """Give the workload of the book with crashes at given ticks, unless `changes` say otherwise."""
    crash: Any = {"process": "at", "times": [instant / 1e9 for instant in crashes]} if crashes else "none"
    return sim.Scenario.model_validate({"strategy": strategy, "crash": crash} | SURROUNDINGS | changes)


def outcome(strategy: dict[str, Any], crashes: list[int], **changes: Any) -> dict[str, Any]:
    """Simulate one run, on both engines."""
    return simulate_on_both(scenario(strategy, crashes, **changes), n=1, seed=0).iloc[0].to_dict()


def in_ticks(**expected: Any) -> dict[str, Any]:
    """Turn expected times from seconds into ticks."""
    return {name: tick(value) if name in TIMES else value for name, value in expected.items()}


def differences(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, str]:
    """Say what is not as expected; `expected` has times in ticks."""
    wrong = {}
    for name, value in expected.items():
        is_ = tick(found[name]) if name in TIMES else found[name]
        both_nan = isinstance(value, float) and isnan(value) and isnan(is_)
        if is_ != value and not both_nan:
            wrong[name] = f"is {is_}, should be {value}"
    return wrong
