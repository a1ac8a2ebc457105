"""What a law is, and the register of laws that a file can name."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.laws import numeric
from sim.validation import Model

Floats = NDArray[np.float64]

NO_ATOMS: Floats = np.empty(0)


class Law(Model, ABC):
    """Probability law of a time in seconds, at least 0.

    A law must give its cumulative hazard. What else is not given is worked out from that numerically, to
    about nine digits; a closed form is faster. Every method takes scalars and arrays alike, and gives the
    same digits for both.
    """

    name: ClassVar[str]

    examples: ClassVar[tuple[dict[str, Any], ...]] = ()
    """Parameters to show the law with, and with which its contract is checked; at least one set of them."""

    source: ClassVar[str] = ""
    """Where the law or its parameters come from, if from somewhere."""

    def __eq__(self, other: object) -> bool:
        """Compare what a law is, not what has been worked out of it, which may be arrays."""
        return type(self) is type(other) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), *self._fields()))

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in type(self).model_fields)

    @property
    def atoms_s(self) -> Floats:
        """Times in seconds, ascending, that have a probability of their own; mostly there are none."""
        return NO_ATOMS

    @property
    def has_atoms(self) -> bool:
        """Whether some times have a probability of their own, so that the hazard is not a function."""
        return self.atoms_s.size > 0

    @abstractmethod
    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        """H(t) = -log P(T > t), dimensionless, of the shape of `t` (seconds)."""

    def inverse_hazard(self, h: ArrayLike) -> Floats:
        """Give the time in seconds at which the cumulative hazard reaches `h` (same shape)."""
        return numeric.at_atoms(self.atoms_s, numeric.inverse_of(self.cumulative_hazard, h))

    @property
    def mean_s(self) -> float:
        """Mean in seconds; infinite where there is none."""
        return numeric.tail_of(self).mean_s

    def mean_residual(self, t: ArrayLike) -> Floats:
        """E(T - t | T > t), the mean time left at the age `t` (same shape), in seconds."""
        return numeric.tail_of(self).mean_residual(t)

    def quantile(self, u: ArrayLike) -> Floats:
        """Give the time in seconds with P(T <= time) = `u`, for `u` in [0, 1), of the same shape."""
        if type(self).inverse_hazard is Law.inverse_hazard:
            return numeric.quantile_of(self)(u)
        return self.inverse_hazard(-np.log1p(-np.asarray(u)))

    def survival(self, t: ArrayLike) -> Floats:
        """P(T > t), of the shape of `t` (seconds)."""
        return np.exp(-self.cumulative_hazard(t))


LAWS: dict[str, type[Law]] = {}
"""The laws that a file can name, besides those of `scipy.stats`."""

SomeLaw = TypeVar("SomeLaw", bound=type[Law])


def law(name: str) -> Callable[[SomeLaw], SomeLaw]:
    """Register a law under the name that files use.

    Raises
    ------
    ValueError
        If the name is taken, or the class has no examples or no docstring.
    """

    def register(cls: SomeLaw) -> SomeLaw:
        if name in LAWS:
            where = LAWS[name].__module__
            raise ValueError(f'there is a law "{name}" already ({where}); give this one another name.')
        if not cls.examples:
            raise ValueError(
                f'the law "{name}" has no examples; say with what parameters it shall be checked and shown: '
                "examples: ClassVar = ({...},)"
            )
        if not cls.__doc__:
            raise ValueError(f'the law "{name}" has no docstring; its first line is what lists show of it.')
        cls.name = name
        LAWS[name] = cls
        return cls

    return register
