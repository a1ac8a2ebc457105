"""Wrong input, told so that it can be mended."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake: where, and a sentence."""

    file: str
    key: str
    sentence: str

    def __str__(self) -> str:
        """As a line."""
        return ": ".join(part for part in (self.file, self.key, self.sentence) if part)


class InputError(Exception):
    """The user's input is wrong; carries all that was found."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class EnginesDifferError(Exception):
    """The engines do not agree on a run: one of them is wrong, and no number can be trusted."""
