"""A trial: predictions first, then kills, then both beside each other."""

import json
import os
import platform
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sim.lab import measuring
from sim.lab.judging import Judged, judge
from sim.lab.laboratory import Laboratory, start_janitor
from sim.lab.measuring import Latencies, Split
from sim.lab.orders import Report
from sim.lab.plan import Condition, Plan, Trial
from sim.lab.stores import STORES
from sim.lab.translation import Runs, runs
from sim.outcomes import Tally
from sim.scenario import Scenario
from sim.simulation import simulate
from sim.study.files import write_csv, write_text

Advance = Callable[[str, int], None]
"""Told what is being done, and how many runs of it have been added."""

COUNTED = (
    "crashes",
    "duplicate_actions",
    "lost_actions",
    "blocked_duplicates",
    "redone_steps",
    "stuck",
)
"""What is counted of each run."""

PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "dbos", "psycopg")


@dataclass(frozen=True)
class Prediction:
    """What the simulation says before anything is killed.

    Attributes
    ----------
    scenario : Scenario
        The condition's, with measured latencies.
    mean, error : float
        Duplicates per run, and its standard error.
    rival, rival_error : float
        The same by the model that counts the time of the save alone.
    """

    scenario: Scenario
    mean: float
    error: float
    rival: float
    rival_error: float


class Work:
    """Makes the runs of a trial, and tells how far it is."""

    def __init__(self, trial: Trial, disk: Path, advance: Advance) -> None:
        self.trial, self.disk, self.advance = trial, disk, advance
        self.splits: dict[tuple[str, str], Split] = {}

    def laboratory(self, store: str, workers: int | None = None) -> Laboratory:
        """Give a laboratory with a store."""
        return Laboratory(store, workers or self.trial.workers, self.disk)

    def make(self, laboratory: Laboratory, made: Runs, what: str) -> list[Report]:
        """Have runs made."""
        reports = []
        for report in laboratory.run(made.orders):
            reports.append(report)
            self.advance(what, 1)
        return reports

    def calibrate(
        self, laboratory: Laboratory, scenario: Scenario, walks: str, what: str, n: int | None = None
    ) -> Latencies:
        """Measure latencies under the very load that is to come: in runs that are killed like those.

        The first runs of a laboratory are not measured: caches are cold, and processes still start.
        """
        trial = self.trial
        n = n or trial.calibration
        made = runs(scenario, n, trial.seed + 1, trial.scale, "calibration", walks)
        reports = self.make(laboratory, made, f"{what}: latencies")
        return measuring.latencies(made, reports[n // 5 :])

    def split(
        self, laboratory: Laboratory, scenario: Scenario, walks: str, found: Latencies, what: str
    ) -> Split | None:
        """Find the point of no return within a save; once for each store."""
        times = found.delta if found.delta.size else found.save
        if not (times.size and probes_fit(scenario)):
            return None
        key = (laboratory.store, walks)
        if key not in self.splits:
            span_s = float(np.quantile(times, 0.95))
            made = measuring.probes(
                scenario, "save", self.trial.offsets, span_s, self.trial.scale, "split", walks
            )
            self.splits[key] = measuring.split(made, self.make(laboratory, made, f"{what}: saves cut"))
        return self.splits[key]

    def offsets(
        self, laboratory: Laboratory, scenario: Scenario, found: Latencies, what: str
    ) -> pd.DataFrame:
        """Kill at offsets from *sent* on: a row a kill."""
        call = found.request.mean() + found.response.mean()
        span_s = float(call * 1.3 + np.quantile(found.save, 0.95))
        made = measuring.probes(scenario, "gap", self.trial.offsets, span_s, self.trial.scale, "offset")
        rows = measuring.offsets(made, self.make(laboratory, made, f"{what}: offsets"))
        table = pd.DataFrame(sorted(rows), columns=["offset_s", "repeated"])
        return table.assign(store=laboratory.store, span_s=span_s)


def most_runs(trial: Trial, conditions: list[Condition]) -> int:
    """How many runs a trial makes at most."""
    probed = {(c.given.store, c.given.walks) for c in conditions if c.given.probes and probes_fit(c.scenario)}
    return sum(
        (c.given.calibration or trial.calibration) + c.given.runs for c in conditions
    ) + trial.offsets * sum(2 if walks == "verbs" else 1 for _, walks in probed)


def probes_fit(scenario: Scenario) -> bool:
    """Whether the probe's action is called, and then saved."""
    verbs = [verb.verb for verb in scenario.strategy.action]
    return "call" in verbs and "save" in verbs[verbs.index("call") :]


def predict(
    scenario: Scenario, found: Latencies, split: Split | None, trial: Trial, replications: int
) -> Prediction:
    """Simulate a condition with what was measured."""
    share = split.share if split else 1.0
    fed = measuring.measured(scenario, found, share, trial.scale)
    mean, error = _mean(simulate(fed, replications, trial.seed)["duplicate_actions"])
    alone = measuring.rival(scenario, found, trial.scale)
    other, other_error = _mean(simulate(alone, replications, trial.seed)["duplicate_actions"])
    return Prediction(fed, mean, error, other, other_error)


def _mean(values: Any) -> tuple[float, float]:
    """Mean and its standard error."""
    values = np.asarray(values, np.float64)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


@dataclass(frozen=True)
class Outcome:
    """A condition after its kills."""

    condition: Condition
    workers: int
    prediction: Prediction
    calibrated: Latencies
    in_run: Latencies
    split: Split | None
    tally: Tally
    judged: Judged
    predicted_in_run: float


def carry_out(plan: Plan, conditions: list[Condition], disk: Path, out: Path, advance: Advance) -> None:
    """Make a trial and write its tables; they take the place of older ones once they are complete.

    Parameters
    ----------
    plan : Plan
        The trial.
    conditions : list of Condition
        Those of the plan whose needs are met.
    disk : Path
        Existing folder on the disk that is used.
    out : Path
        Folder of the tables.
    advance : callable
        Told of progress.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    new = out.with_name(f".{out.name}-{os.getpid()}")
    new.mkdir()
    with start_janitor(new, "memory"):
        _carry_out(plan, conditions, disk, new, advance)
        shutil.rmtree(out, ignore_errors=True)
        new.rename(out)


def _carry_out(plan: Plan, conditions: list[Condition], disk: Path, out: Path, advance: Advance) -> None:
    trial = plan.trial
    work = Work(trial, disk, advance)
    judged = sum(condition.given.claim == "duplicates" for condition in conditions)
    outcomes: list[Outcome] = []
    offsets: list[pd.DataFrame] = []
    for number, condition in enumerate(conditions):
        scenario, walks, name = condition.scenario, condition.given.walks, condition.name
        with work.laboratory(condition.given.store, condition.given.workers) as laboratory:
            found = work.calibrate(laboratory, scenario, walks, name, condition.given.calibration)
            known = (condition.given.store, walks) in work.splits
            probes = condition.given.probes
            split = work.split(laboratory, scenario, walks, found, name) if probes else None
            if split is not None and not known and walks == "verbs":
                offsets.append(work.offsets(laboratory, scenario, found, name))
            # Where nothing is compared, the prediction is there to be read only.
            compares = condition.given.claim == "duplicates"
            replications = trial.replications if compares else -(-trial.replications // 10)
            prediction = predict(scenario, found, split, trial, replications)
            _append(out / "predictions.csv", name, prediction)
            made = runs(scenario, condition.given.runs, trial.seed + 2, trial.scale, f"run-{number}", walks)
            reports = work.make(laboratory, made, name)
        tally = made.tally(reports)
        in_run = measuring.latencies(made, reports)
        again = predict(scenario, in_run, split, trial, replications)
        outcomes.append(
            Outcome(
                condition,
                condition.given.workers or trial.workers,
                prediction,
                found,
                in_run,
                split,
                tally,
                judge(condition.given.claim, tally.columns, prediction, trial.margin, max(judged, 1)),
                again.mean,
            )
        )
    _write(plan, outcomes, offsets, out)


def _append(file: Path, name: str, prediction: Prediction) -> None:
    """Write a prediction down before the runs that it is compared with begin."""
    row = pd.DataFrame(
        [
            {
                "condition": name,
                "duplicates_per_run": prediction.mean,
                "error": prediction.error,
                "rival": prediction.rival,
                "rival_error": prediction.rival_error,
            }
        ]
    )
    before = [pd.read_csv(file)] if file.exists() else []
    write_csv(file, pd.concat([*before, row]))


def _write(plan: Plan, outcomes: list[Outcome], offsets: list[pd.DataFrame], out: Path) -> None:
    write_csv(out / "conditions.csv", pd.DataFrame([_row(outcome) for outcome in outcomes]))
    write_csv(out / "runs.csv", pd.concat([_runs(outcome) for outcome in outcomes]))
    write_csv(
        out / "latencies.csv", pd.DataFrame([row for outcome in outcomes for row in _latencies(outcome)])
    )
    if offsets:
        write_csv(out / "offsets.csv", pd.concat(offsets)[["store", "offset_s", "span_s", "repeated"]])
    facts = {
        "trial": plan.file,
        "title": plan.trial.title,
        "question": plan.trial.question,
        "scale": plan.trial.scale,
        "margin": plan.trial.margin,
        "seed": plan.trial.seed,
        **machine(),
    }
    write_text(out / "machine.json", json.dumps(facts, indent=2) + "\n")


def _row(outcome: Outcome) -> dict[str, Any]:
    columns, judged = outcome.tally.columns, outcome.judged
    split = outcome.split
    return {
        "condition": outcome.condition.name,
        "store": STORES[outcome.condition.given.store].title,
        "claim": outcome.condition.given.claim,
        "workers": outcome.workers,
        "runs": columns["crashes"].size,
        "kills": int(columns["crashes"].sum()),
        "duplicates": int(columns["duplicate_actions"].sum()),
        "lost_actions": int(columns["lost_actions"].sum()),
        "blocked_duplicates": int(columns["blocked_duplicates"].sum()),
        "redone_steps": int(columns["redone_steps"].sum()),
        "stuck": int(columns["stuck"].sum()),
        "real": judged.real,
        "low": judged.low,
        "high": judged.high,
        "predicted": outcome.prediction.mean,
        "ratio": judged.ratio,
        "ratio_low": judged.ratio_low,
        "ratio_high": judged.ratio_high,
        "verdict": judged.verdict,
        "rival": outcome.prediction.rival,
        "rival_verdict": judged.rival_verdict,
        "predicted_with_latencies_of_the_runs": outcome.predicted_in_run,
        "write_share": split.share if split else np.nan,
        "write_share_low": split.interval().low if split else np.nan,
        "write_share_high": split.interval().high if split else np.nan,
    }


def _runs(outcome: Outcome) -> pd.DataFrame:
    columns = {name: outcome.tally.columns[name].astype(int) for name in COUNTED}
    table = pd.DataFrame({"condition": outcome.condition.name, **columns})
    table.insert(1, "run", np.arange(len(table)))
    return table


def _latencies(outcome: Outcome) -> Iterable[dict[str, Any]]:
    for when, found in (("before", outcome.calibrated), ("during", outcome.in_run)):
        for name, times in found.named().items():
            yield {
                "condition": outcome.condition.name,
                "latency": name,
                "measured": when,
                "n": times.size,
                "mean_ms": 1e3 * times.mean(),
                **{f"p{q}_ms": 1e3 * np.quantile(times, q / 100) for q in (50, 95, 99)},
            }


def machine() -> dict[str, Any]:
    """Describe the machine and the versions of what ran on it; no name, no path."""
    versions = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return {
        "processors": os.cpu_count(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **versions,
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
