"""The peer: the same agent under `checkpoint`, written the way SimPy's tutorials write a machine shop.

One process works, one process breaks it, times are floats drawn one by one with the generator's own
samplers, and outcomes are counted on the way. Same phases, same marks, same outcomes as the engine.
"""

from dataclasses import dataclass, field

import numpy as np
import simpy

STEPS = 12
ACTIONS = (3, 6, 9)
TOKENS = 2325.0


@dataclass
class Result:
    """Outcomes of a run, under the names of the engine's."""

    crashes: int = 0
    redone_steps: int = 0
    lost_work_s: float = 0.0
    wasted_tokens: float = 0.0
    actions: int = 0
    duplicate_actions: int = 0
    lost_actions: int = 0
    blocked_duplicates: int = 0
    saves: int = 0
    save_time_s: float = 0.0
    downtime_s: float = 0.0
    makespan_s: float = 0.0
    finished: bool = False
    skipped_steps: int = 0
    action_crashes: int = 0
    gap_crashes: int = 0
    gap_crashes_after_done: int = 0
    spent: dict[tuple[str, str], float] = field(default_factory=dict)


class Agent:
    """An agent run with its crash."""

    def __init__(self, env, rng, mean_life, detection, steps):
        self.env = env
        self.rng = rng
        self.mean_life = mean_life
        self.detection = detection
        self.acts = [step % STEPS in ACTIONS for step in range(steps)]
        self.result = Result(actions=sum(self.acts))
        self.record = 0
        self.completions = [0] * steps
        self.performed = [0] * steps
        self.step = 0
        self.phase = ""
        self.pending = []  # (activity, seconds, tokens, step) not yet known to be kept
        self.done = False
        self.process = env.process(self.supervise())
        env.process(self.crash())

    def crash(self):
        while True:
            yield self.env.timeout(self.rng.exponential(self.mean_life))
            if self.working.is_alive:
                self.working.interrupt()

    def perform(self, step, delay):
        yield self.env.timeout(delay)
        self.performed[step] += 1

    def supervise(self):
        while not self.result.finished:
            self.working = self.env.process(self.work())
            yield self.working
            if not self.result.finished:
                begin = self.env.now
                yield self.env.timeout(self.detection)
                self.result.downtime_s += self.env.now - begin

    def spend(self, activity, seconds, tokens=0.0):
        self.phase = activity
        self.begin, self.length, self.tokens = self.env.now, seconds, tokens
        yield self.env.timeout(seconds)
        self.pending.append((activity, seconds, tokens, self.step))

    def work(self):
        env, rng, result = self.env, self.rng, self.result
        try:
            for step in range(self.record, len(self.acts)):
                self.step = step
                self.done = self.sent = False
                acts = self.acts[step]
                mean = 2.640835 if acts else 3.0
                yield from self.spend("work", rng.gamma(4, mean / 4), TOKENS)
                if acts:
                    yield from self.spend("prepare", 0.0)
                    env.process(self.perform(self.step, 0.0))
                    self.sent = True
                    yield from self.spend("request", 0.0)
                    yield from self.spend("response", rng.lognormal(np.log(0.3), 0.6))
                self.completions[self.step] += 1
                self.done = True
                result.saves += 1
                yield from self.spend("write", rng.lognormal(np.log(0.04), 0.6))
                self.record = self.step + 1
                for activity, seconds, _, _ in self.pending:
                    self.account(activity, "kept", seconds)
                self.pending.clear()
                yield from self.spend("ack", 0.0)
            result.finished = True
            self.settle()
        except simpy.Interrupt:
            self.crashed()

    def account(self, activity, fate, seconds):
        key = (activity, fate)
        self.result.spent[key] = self.result.spent.get(key, 0.0) + seconds

    def crashed(self):
        result = self.result
        result.crashes += 1
        spent = self.env.now - self.begin
        share = spent / self.length if self.length else 1.0
        self.pending.append((self.phase, spent, self.tokens * share, self.step))
        fate = "redone" if self.done else "lost"
        for activity, seconds, tokens, _ in self.pending:
            self.account(activity, fate, seconds)
            result.wasted_tokens += tokens
            if fate == "lost" and activity != "write":
                result.lost_work_s += seconds
        self.pending.clear()
        if self.acts[self.step]:
            result.action_crashes += 1
            result.gap_crashes += self.sent
            result.gap_crashes_after_done += self.done

    def settle(self):
        result = self.result
        for activity, seconds, _, _ in self.pending:
            self.account(activity, "kept", seconds)
        result.makespan_s = self.env.now
        result.redone_steps = sum(max(0, n - 1) for n in self.completions)
        result.skipped_steps = sum(n == 0 for n in self.completions)
        result.duplicate_actions = sum(max(0, n - 1) for n in self.performed)
        result.save_time_s = sum(t for (activity, _), t in result.spent.items() if activity == "write")
        total = sum(result.spent.values()) + result.downtime_s
        assert abs(total - result.makespan_s) < 1e-6


def simulate(n, seed, mean_life, detection=5.0, steps=STEPS):
    """Simulate n runs that crash at a constant rate."""
    results = []
    for replication in range(n):
        rng = np.random.default_rng([seed, replication])
        env = simpy.Environment()
        agent = Agent(env, rng, mean_life, detection, steps)
        env.run(until=agent.process)
        agent.result.lost_actions = sum(
            acts and not performed for acts, performed in zip(agent.acts, agent.performed, strict=True)
        )
        results.append(agent.result)
    return results
