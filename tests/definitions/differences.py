"""Where others give something else on purpose of ours or theirs: who, of which cases, and why Lanner's stands."""

from collections.abc import Callable
from dataclasses import dataclass

from definitions.case import Case
from definitions.oracles import REFERENCE, RUNTIME


@dataclass(frozen=True)
class Difference:
    oracle: str
    operators: tuple[str, ...]
    reason: str
    applies: Callable[[Case], bool]


DIFFERENCES: list[Difference] = []
# Cases that Lanner refuses, and why it may.
REFUSED: list[Difference] = []


def differs(oracle: str, *operators: str, reason: str, to: list[Difference] = DIFFERENCES):
    def register(applies: Callable[[Case], bool]):
        to.append(Difference(oracle, operators, reason, applies))
        return applies

    return register


def reason_of(table: list[Difference], oracle: str, case: Case) -> str:
    """Empty where the two should agree."""
    for entry in table:
        if entry.oracle == oracle and case.operator in entry.operators and entry.applies(case):
            return entry.reason
    return ""
