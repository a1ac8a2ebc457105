"""What a supervisor is asked to do, and what it reports: plain data, sent between processes."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Move:
    """A phase as an agent really walks through it.

    Attributes
    ----------
    id, step, name, resume, holds, delta
        As of `sim.program.Phase`.
    times_ns : tuple of int
        How long it lasts the first time it begins, the second, and so on round; for a save, which takes as
        long as it takes, nothing.
    """

    id: int
    step: int
    name: str
    resume: int
    holds: str
    delta: bool
    times_ns: tuple[int, ...]

    @property
    def saves(self) -> bool:
        """Whether a save begins with it."""
        return self.name in ("write", "lane")

    def time_ns(self, begun: int) -> int:
        """How long it lasts if it has begun so often before."""
        return self.times_ns[begun % len(self.times_ns)] if self.times_ns else 0


@dataclass(frozen=True, slots=True)
class Source:
    """A source of kills: when, on which clock, as of `sim.crashes.Source`."""

    clock: str
    times_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timer:
    """A kill at an offset from the begin of a phase in the first attempt.

    The agent sets a timer of the kernel, whose signal ends it without a last word, as SIGKILL does: another
    process would strike a millisecond late, and what is looked at lasts less.
    """

    phase: int
    offset_ns: int


@dataclass(frozen=True, slots=True)
class Relay:
    """Times of the relay of an outbox, round: between looks, until a request is performed, until its answer,
    before the entry is marked."""

    poll_ns: tuple[int, ...]
    request_ns: tuple[int, ...]
    response_ns: tuple[int, ...]
    mark_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """One run.

    Attributes
    ----------
    run : str
        Name of the run, which is its part of the keys; no other run of a laboratory has it.
    moves : tuple of Move
        What the agent does, in order.
    key : str
        As of `sim.strategy.Strategy.key`.
    walks : str
        What walks: ``verbs``, or a framework with its mode, such as ``langgraph:sync``.
    if_nothing : str
        As of `sim.strategy.Strategy.if_nothing`.
    sources : tuple of Source
        Kills from outside.
    restart_ns : tuple of int
        How long after each death the agent is started again, round.
    attempts : int
        After how many the run is given up.
    spares_load : bool
        Whether an agent is killed only once it has loaded.
    halt : (int, str) or None
        Step and point at which the first attempt kills itself.
    timer : Timer or None
        A kill by the agent's own timer.
    relay : Relay or None
        What performs the entries of an outbox.
    slow : (int, int)
        From the checkpoint after which step on a framework's checkpoints take longer in the first attempt
        (-2 is that of the input), and by how many ns.
    """

    run: str
    moves: tuple[Move, ...]
    key: str = "none"
    walks: str = "verbs"
    if_nothing: str = "restart"
    sources: tuple[Source, ...] = ()
    restart_ns: tuple[int, ...] = (0,)
    attempts: int = 1000
    spares_load: bool = False
    halt: tuple[int, str] | None = None
    timer: Timer | None = None
    relay: Relay | None = None
    slow: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Life:
    """One attempt, as the board and the supervisor saw it; instants in ns from the begin of the run.

    Attributes
    ----------
    woke, loaded, ended : int or None
        When it was forked; knew where to go on; was dead.
    resume : int
        Where it went on; -1 if it did not come to know.
    notes : list of (int, int, int)
        What else was noted: what, which, when.
    killed : int or None
        When the signal was sent that killed it; None if none was.
    """

    woke: int
    ended: int = 0
    loaded: int | None = None
    resume: int = -1
    notes: list[tuple[int, int, int]] = field(default_factory=list)
    killed: int | None = None

    def shift(self, begin: int) -> None:
        """Count all instants from the begin of the run."""
        self.woke -= begin
        self.ended -= begin
        self.loaded = None if self.loaded is None else self.loaded - begin
        self.killed = None if self.killed is None else self.killed - begin
        self.notes = [(what, which, instant - begin) for what, which, instant in self.notes]


@dataclass(slots=True)
class Report:
    """What became of a run.

    Attributes
    ----------
    run : str
        Its name.
    lives : list of Life
        Its attempts.
    finished : bool
        Whether it came to its end; else it was given up.
    performed, blocked : list of (int, int)
        (step, instant) of every performance and of every repeat that the receiver answered from its keys.
    wrong : str
        What went wrong that no crash explains; "" if nothing.
    """

    run: str
    lives: list[Life] = field(default_factory=list)
    finished: bool = False
    performed: list[tuple[int, int]] = field(default_factory=list)
    blocked: list[tuple[int, int]] = field(default_factory=list)
    wrong: str = ""

    def performed_in(self, step: int, begin: int, end: int) -> int | None:
        """When the receiver did, within a span, what it was asked to for a step; None if it did not."""
        deeds = (*self.performed, *self.blocked)
        return max((at for of, at in deeds if of == step and begin <= at <= end), default=None)
