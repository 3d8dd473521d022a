"""The table of operator families: functions that add some nodes to a graph."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random_graphs.builder import GraphBuilder


class Unsuitable(Exception):
    """What a family generated is invalid in this graph: it is undone and another one is tried."""


@dataclass(frozen=True)
class Family:
    name: str
    group: str
    weight: float
    add: Callable[["GraphBuilder"], object]


FAMILIES: dict[str, Family] = {}


def family(group: str, weight: float = 1):
    """Registers a function under its name; `weight` says how often it is chosen."""

    def register(function):
        name = function.__name__.rstrip("_")
        assert name not in FAMILIES, name
        FAMILIES[name] = Family(name, group, weight, function)
        return function

    return register


def named(name: str) -> list[Family]:
    """A family, or all of a group."""
    found = [entry for entry in FAMILIES.values() if name in (entry.name, entry.group)]
    if not found:
        groups = sorted({entry.group for entry in FAMILIES.values()})
        raise ValueError(f"no family or group {name}: groups are {', '.join(groups)}; families are {', '.join(sorted(FAMILIES))}")
    return found
