"""What every part of a scenario shares: it is frozen, refuses unknown keys, and its errors teach."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

Key = tuple[str | int, ...]
Mistake = tuple[Key, str, object]
"""A key, a sentence, and what was given there."""

Positive = Annotated[float, Field(gt=0, strict=True)]
NonNegative = Annotated[float, Field(ge=0, strict=True)]
Probability = Annotated[float, Field(ge=0, le=1, strict=True)]
Weight = Annotated[float, Field(ge=0, le=1e6, strict=True)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]


def allowed_instead(wrong: object, allowed: Iterable[str]) -> str:
    """Say what may stand instead of `wrong`, the nearest name first.

    Returns
    -------
    str
        Such as ``did you mean "exponential"? Allowed: constant, exponential.``
    """
    names = list(allowed)
    near = get_close_matches(str(wrong)[:100], names, n=1)
    hint = f'did you mean "{near[0]}"? ' if near else ""
    return f"{hint}Allowed: {', '.join(names)}."


def problem(message: str, at: Key = (), value: object = None) -> ValidationError:
    """Make the error for one wrong value; raised inside a validator it keeps its place.

    Parameters
    ----------
    message : str
        A sentence: what is wrong and what is allowed.
    at : tuple of str or int
        Keys below the value being validated.
    value : object
        What was given.
    """
    return problems("value", [(at, message, value)])


def problems(title: str, found: Iterable[Mistake]) -> ValidationError:
    """Make one error of several mistakes."""
    # The sentence goes in as a value, so that braces in it are not taken for placeholders.
    details = [
        InitErrorDetails(
            type=PydanticCustomError("problem", "{sentence}", {"sentence": sentence}),
            loc=key,
            input=value,
        )
        for key, sentence, value in found
    ]
    return ValidationError.from_exception_data(title, details)


def _sentence(error: Any, allowed: Iterable[str]) -> str:
    kind, message = error["type"], error["msg"]
    if kind == "problem":
        return str(message)
    if kind == "extra_forbidden":
        return f"unknown key; {allowed_instead(error['loc'][-1], allowed)}"
    if kind == "missing":
        return "this key is missing."
    message = message.replace("Input should be", "must be").replace("Value error, ", "")
    given = error["input"]
    shown = "" if isinstance(given, (dict, list, tuple)) else f", not {given!r}"
    return f"{message}{shown}."


class Model(BaseModel):
    """A frozen table of a file or of Python keywords; unknown keys are errors that name the nearest."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    shorthand: ClassVar[tuple[str, ...]] = ()
    """Keys that a file may use besides the fields."""

    @model_validator(mode="wrap")
    @classmethod
    def _teach(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise problems(
                cls.__name__,
                [
                    (found["loc"], _sentence(found, [*cls.shorthand, *cls.model_fields]), found["input"])
                    for found in error.errors()
                ],
            ) from None
