"""Every network, one measurement after the other; what the log has is not run again."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from networks import log, speed, verdict
from networks.answers import BEFORE, Store
from networks.apart import run_apart
from networks.catalogue import Network
from networks.jobs import PIECES, RANGE, Job
from networks.log import Log, of_kind


@dataclass(frozen=True)
class Settings:
    folder: Path
    networks: tuple[str, ...]
    device: str = "cpu"
    precisions: tuple[str, ...] = ("fp32",)
    batches: tuple[int, ...] = ()
    budget: float = 10.0
    threads: int = 1
    seconds: float = 600.0
    run_seconds: float = 60.0
    """Number of repeated runs of each kind."""
    memory: int = 8 << 30
    machine: str = ""
    again: bool = False
    locate: bool = False
    """Search for the node where a wrong network goes wrong."""
    pairs: int = 0
    """Time Lanner against its rival, this many measurements each, instead of checking."""
    until: float = float("inf")
    """Begin nothing after this time (time.monotonic)."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Session:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.store = Store(settings.folder)
        self.log = Log(settings.folder / log.NAME)

    def job(self, what: str, network: str, label: str, precision: str) -> Job:
        s = self.settings
        return Job(what, network, label, s.folder, s.device, precision, s.budget, s.threads, s.batches, s.run_seconds)

    def jobs(self, network: Network) -> Iterator[Job]:
        """Jobs of one network: answers first, then the rival's errors, then Lanner."""
        cases = network.cases(self.settings.batches)
        labels = [case.label for case in cases]
        if self.settings.pairs:
            yield from (self.job("time", network.name, label, precision) for precision in self.settings.precisions for label in labels if label != "other")
            return
        yield from (self.job("oracle", network.name, case.label, "fp32") for case in cases if self.store.missing(network, case))
        if network.is_detector:
            labels.insert(0, BEFORE)
        for precision in self.settings.precisions:
            yield from (self.job("rival", network.name, label, precision) for label in labels)
            ours = labels + ([RANGE] if "other" in labels else [])
            yield from (self.job("check", network.name, label, precision) for label in ours)
            plain = self.log.find(self.facts(self.job("rival", network.name, labels[0], precision)))
            if plain and verdict.amplifies(plain):
                yield self.job("check", network.name, PIECES, precision)

    def facts(self, job: Job) -> dict:
        return job.facts() | {"machine": self.settings.machine}

    def run(self) -> int:
        """Returns the number of failed checks."""
        settle = self.timed if self.settings.pairs else self.checked
        return sum(settle(job) for name in self.settings.networks for job in self.jobs(Network(name)) if time.monotonic() < self.settings.until)

    def checked(self, job: Job) -> bool:
        wrong = self.settle(job)
        if wrong and self.settings.locate and job.label not in (RANGE, PIECES):
            self.settle(replace(job, what="locate"))
        return wrong

    def settle(self, job: Job) -> bool:
        """Runs the job unless the log has it; returns whether it is a failed check."""
        known = self.log.find(self.facts(job))
        fresh = known is None or job.what == "oracle" or (self.settings.again and job.what in ("check", "locate"))
        if fresh:
            known = run_apart(job, self.settings.seconds, self.settings.memory) | {"machine": self.settings.machine}
            self.log.add(known)
        wrong = self.wrong(known)
        if fresh or (wrong and job.what == "check"):
            say(f"{job.network}, {job.label}, {job.device} {job.precision}, {job.what}: {'; '.join(wrong) or self.fine(known)} ({known['seconds']:.1f} s)")
        return bool(wrong) and job.what == "check"

    @staticmethod
    def fine(row: dict) -> str:
        if row["what"] == "locate":
            return f"{row['text']}; {len(row['nodes'])} nodes: {', '.join(row['nodes'][:3])}" if row["nodes"] else row["text"]
        return "right" if row["what"] == "check" else "done"

    def timed(self, job: Job) -> bool:
        """Returns whether timing failed."""
        if self.log.has(self.facts(job)) and not self.settings.again:
            return False
        row = speed.race(job, self.settings.pairs, self.settings.seconds, self.settings.memory) | {"machine": self.settings.machine}
        self.log.add(row)
        told = row["failure"]["text"] if "failure" in row else f"{row['lanner_seconds'] * 1e3:.2f} ms"
        if "ratio" in row:
            told += f", {row['rival']} {row['rival_seconds'] * 1e3:.2f} ms, ratio {row['ratio']:.2f}"
        say(f"{job.network}, {job.label}, {job.device} {job.precision}: {told}")
        return "failure" in row

    def wrong(self, row: dict) -> list[str]:
        if row["what"] == "check":
            return verdict.failures(row, verdict.by_place(of_kind(self.log.rows, "rival")))
        return [row["failure"]["text"]] if "failure" in row else []
