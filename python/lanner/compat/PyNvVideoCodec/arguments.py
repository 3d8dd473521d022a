"""Arguments checked: TypeError or ValueError in one line."""

import operator
from enum import IntEnum
from typing import Any, TypeVar

E = TypeVar("E", bound=IntEnum)


def shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # It may be anybody's object.
        text = type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."


def integer(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {shown(value)} is of the wrong type; expected int") from None
    if (least is not None and number < least) or (most is not None and number > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}: {number}, expected {bounds}")
    return number


def handle(name: str, value: Any) -> int:
    """Of a CUDA context or stream: a number, or an object of pycuda's that has one."""
    return integer(name, getattr(value, "handle", value), 0, 2**64 - 1)


def flag(name: str, value: Any) -> bool:
    """True, False, 1 or 0."""
    return bool(integer(name, value, 0, 1))


def member(name: str, value: Any, kind: type[E]) -> E:
    """A member of an enumeration."""
    if isinstance(value, kind):
        return value
    raise TypeError(f"{name}: {shown(value)} is of the wrong type; expected {kind.__name__}, like {kind.__name__}.{next(iter(kind.__members__))}")
