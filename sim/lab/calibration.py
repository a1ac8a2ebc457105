"""What saves take on this machine, written as stores that an experiment can name."""

from pathlib import Path

import numpy as np
import pandas as pd

from sim.lab.measuring import Latencies, Split
from sim.lab.plan import Plan, Trial
from sim.lab.stores import STORES
from sim.lab.trial import Advance, Work, machine
from sim.study.files import EXPERIMENTS, write_csv, write_text

FOLDER = "stores"
KEPT = 500
"""Times that a preset keeps."""


def most_runs(trial: Trial, stores: int) -> int:
    """How many runs it takes to calibrate so many stores."""
    return stores * (trial.calibration + trial.offsets)


def calibrate(plan: Plan, store: str, disk: Path, project: Path, advance: Advance) -> str:
    """Measure a store and write it down; give a line on what was found.

    Parameters
    ----------
    plan : Plan
        The trial whose runs are the load, with how many of them, and how many kills.
    store : str
        Its name, of `sim.lab.stores.STORES`.
    disk, project : Path
        Folder on the disk that is used; folder that holds ``experiments/``.
    advance : callable
        Told of progress.
    """
    trial, scenario = plan.trial, plan.load
    work = Work(trial, disk, advance)
    with work.laboratory(store) as laboratory:
        found = work.calibrate(laboratory, scenario, "verbs", store)
        split = work.split(laboratory, scenario, "verbs", found, store)
    assert split is not None, "a checkpoint is called and then saved"
    name = f"measured-{store}"
    _write(project / EXPERIMENTS / FOLDER, name, STORES[store].title, trial, found, split)
    low, high, _ = split.interval()
    return (
        f"{name}: a save takes {1e3 * found.save.mean():.3g} ms (mean of {found.save.size:,}); "
        f"the part before its point of no return is {split.share:.2f} of it [{low:.2f}, {high:.2f}]"
    )


def _write(folder: Path, name: str, title: str, trial: Trial, found: Latencies, split: Split) -> None:
    """Write the preset and the times that it names; the times first, so that a preset always has them."""
    times = np.random.default_rng(0).permutation(found.save)[:KEPT]
    write_csv(folder / f"{name}.csv", pd.DataFrame({"seconds": times}))
    facts = machine()
    write_text(
        folder / f"{name}.toml",
        f'title = "{title}, measured"\n'
        f'source = """\n'
        f"{times.size:,} saves timed by savegap calibrate under {trial.workers} runs at once, on "
        f"{facts['processors']} processors ({facts['processor']}), {facts['system']}. "
        f"{split.lost:,} of {split.cut:,} saves that a kill had cut were not durable.\n"
        f'"""\n\n'
        f"write = {_law(name, split.share)}\n"
        f"ack = {_law(name, 1 - split.share)}\n",
    )


def _law(name: str, share: float) -> str:
    """Write the law of a part of a save."""
    if share <= 0:
        return "0.0"
    times = f'{{ law = "empirical", file = "{FOLDER}/{name}.csv" }}'
    return f'{{ law = "scaled", by = {share:.4g}, of = {times} }}'
