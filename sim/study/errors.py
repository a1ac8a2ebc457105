"""What is told: wrong input so that it can be mended, and numbers of things."""

from dataclasses import dataclass

LONGEST = 2000
"""Characters of a part of a mistake that are shown."""


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake: where, and a sentence."""

    file: str
    key: str
    sentence: str

    def __str__(self) -> str:
        """As a line."""
        return ": ".join(_short(part) for part in (self.file, self.key, self.sentence) if part)


def _short(text: str) -> str:
    """Leave out the middle of what is too long to read, such as a value that was given."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


class InputError(Exception):
    """The user's input is wrong; carries all that was found."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        """As lines."""
        return "\n".join(map(str, self.problems))


def counted(count: int, what: str) -> str:
    """Write a number of things, such as ``1 chunk`` or ``1,380 chunks``."""
    return f"{count:,} {what}{'s' * (count != 1)}"
