"""The load of the machine while networks are measured."""

import argparse
import dataclasses
import math

import cgroup

QUIET, BUSY, QUOTA, TOGETHER = "quiet", "busy", "quota", "same process"


@dataclasses.dataclass(frozen=True)
class State:
    kind: str
    amount: float = 0
    """Busy processes, or cores of the quota."""

    @property
    def text(self):
        """Its name in tables and logs."""
        if self.kind == BUSY:
            return f"{self.amount:g} busy process{'es' if self.amount > 1 else ''}"
        if self.kind == QUOTA:
            return f"quota of {self.amount:g} core{'' if self.amount == 1 else 's'}"
        return {QUIET: "quiet", TOGETHER: "one process, in turn"}[self.kind]

    @property
    def busy(self):
        """Number of busy processes."""
        return int(self.amount) if self.kind == BUSY else 0


def busy_counts(text):
    """`0,1,2`: whole numbers from 0 on."""
    counts = text.split(",")
    if not all(count.isascii() and count.isdigit() for count in counts):
        raise argparse.ArgumentTypeError(f"expected numbers of processes such as 0,1,2, got '{text}'")
    return sorted({int(count) for count in counts})


def quotas(text):
    """`0.5,1`: cores."""
    try:
        found = sorted({float(cores) for cores in text.split(",")})
    except ValueError:
        found = []
    if not found or not all(math.isfinite(cores) and cores >= cgroup.LEAST_CORES for cores in found):
        raise argparse.ArgumentTypeError(f"expected cores such as 0.5 or 0.5,1, from {cgroup.LEAST_CORES} on, got '{text}'")
    return found


def chosen(options):
    """In the order of measurement: the quiet state first, as the others are compared with it."""
    apart = [State(BUSY, count) if count else State(QUIET) for count in options.busy]
    together = [State(TOGETHER)] if options.same_process else []
    return apart + together + [State(QUOTA, cores) for cores in options.quota]
