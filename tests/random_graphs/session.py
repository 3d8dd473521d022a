"""Runs many seeds in worker processes; reduces and saves failures."""

import multiprocessing.connection
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from random_graphs.cases import Case, generate
from random_graphs.check import Failure, Outcome, check, settled, shortened
from random_graphs.reducer import reduced
from random_graphs.workers import Death, Stage, Worker

SECONDS_BETWEEN_LINES = 10


@dataclass(frozen=True)
class Settings:
    family: str = ""
    special: bool = False
    device: str = "cpu"
    budget: float | None = None
    """Instead of each seed's own; with 0 nothing depends on timings."""
    workers: int = 1
    seconds_a_case: float = 60
    seconds_to_reduce: float = 60
    out: Path = Path("random-graphs")

    def case(self, seed: int) -> Case | None:
        case = generate(seed, self.family, self.special, self.device)
        if case is None:
            return None
        return settled(case if self.budget is None else case.with_options(budget=self.budget))

    def command(self, seed: int) -> str:
        """The command that runs this seed again."""
        words = ["python tests/random_graphs/run.py", f"--seed {seed}", "--count 1"]
        words += [f"--family {self.family}"] if self.family else []
        words += ["--special"] if self.special else []
        words += [f"--device {self.device}"] if self.device != "cpu" else []
        words += [f"--budget {self.budget:g}"] if self.budget is not None else []
        return " ".join(words)


@dataclass(frozen=True)
class Report:
    seed: int
    outcome: Outcome
    operators: str = ""
    """Of the reduced graph, where it failed."""


def examine(settings: Settings, seed: int, stage: Stage) -> Report:
    stage("oracle")
    case = settings.case(seed)
    return Report(seed, Outcome(skipped="nothing was generated") if case is None else check(case, stage))


def judge_apart(case: Case, seconds: float) -> Outcome:
    """In a separate process, so that crashes and hangs can be judged too."""
    worker = Worker(lambda _, stage: check(case, stage), seconds)
    try:
        worker.give(0)
        return outcome_of(worker.wait())
    finally:
        worker.stop()


def outcome_of(result: Outcome | Death) -> Outcome:
    if not isinstance(result, Death):
        return result
    if result.stage == "lanner":
        return Outcome(failure=Failure(result.kind, result.stage, result.text))
    return Outcome(skipped=f"the oracle itself: {result.kind}, {result.text}")


def reduce_and_save(settings: Settings, report: Report) -> Report:
    case, failure = settings.case(report.seed), report.outcome.failure
    assert case is not None and failure is not None
    seconds = min(settings.seconds_a_case, 15) if failure.kind == "hang" else settings.seconds_a_case
    small = reduced(case, failure, lambda smaller: judge_apart(smaller, seconds).failure, settings.seconds_to_reduce)
    found = judge_apart(small, seconds).failure or failure
    settings.out.mkdir(parents=True, exist_ok=True)
    story = "\n".join(f"{title}: {f.kind}: {f.where}: {f.text}" for title, f in (("reduced", found), ("at first", failure)))
    small.save(settings.out / str(report.seed), f"{story}\nagain: {settings.command(report.seed)}")
    operators = "+".join(node.op_type for node in small.model.graph.node if node.op_type != "Constant")
    return replace(report, outcome=replace(report.outcome, failure=found), operators=operators)


class Slot:
    """A worker for seeds; and, for a seed that fails, a second, fresh one that reduces it."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.searching = Worker(lambda seed, stage: examine(settings, seed, stage), settings.seconds_a_case)
        self.reducing: Worker | None = None
        self.failed: Report | None = None

    @property
    def pipe(self):
        return (self.reducing or self.searching).pipe

    def give(self, seed: int) -> None:
        self.searching.give(seed)

    def result(self) -> Report | None:
        if self.reducing:
            return self.reduction()
        result = self.searching.result()
        if result is None:
            return None
        report = Report(self.searching.task, outcome_of(result)) if isinstance(result, Death) else result
        if report.outcome.failure is None:
            return report
        limit = self.settings.seconds_to_reduce + 3 * self.settings.seconds_a_case
        self.failed = report
        self.reducing = Worker(lambda failed, _: reduce_and_save(self.settings, failed), limit)
        self.reducing.give(report)
        return None

    def reduction(self) -> Report | None:
        result = self.reducing.result()
        if result is None:
            return None
        self.reducing.stop()
        self.reducing = None
        return self.failed if isinstance(result, Death) else result

    def stop(self) -> None:
        for worker in (self.searching, self.reducing):
            if worker:
                worker.stop()


def reports(settings: Settings, seeds: Iterator[int], until: float) -> Iterator[Report]:
    """In order of completion; no new seed is started after `until` (time.monotonic)."""
    slots = [Slot(settings) for _ in range(settings.workers)]
    idle, busy = list(slots), []
    try:
        while True:
            while idle and time.monotonic() < until and (seed := next(seeds, None)) is not None:
                busy.append(idle.pop())
                busy[-1].give(seed)
            if not busy:
                return
            multiprocessing.connection.wait([slot.pipe for slot in busy], timeout=1)
            for slot in list(busy):
                if (report := slot.result()) is not None:
                    busy.remove(slot)
                    idle.append(slot)
                    yield report
    finally:
        for slot in slots:
            slot.stop()


class Summary:
    """Counts of what happened, and failures by kind."""

    def __init__(self, settings: Settings):
        self.settings, self.started, self.last_line = settings, time.monotonic(), time.monotonic()
        self.total = 0
        self.oracles: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.failures: dict[tuple[str, str], list[Report]] = defaultdict(list)

    def add(self, report: Report) -> None:
        self.total += 1
        outcome = report.outcome
        if outcome.skipped:
            self.skipped[outcome.skipped[:200]] += 1
        else:
            self.oracles[outcome.oracle or "ended by a crash"] += 1
        if outcome.note:
            self.notes[outcome.note] += 1
        if outcome.failure:
            self.failures[outcome.failure.kind, report.operators or shortened(outcome.failure.text)].append(report)

    def progress(self, say: Callable[[str], None], report: Report) -> None:
        failure = report.outcome.failure
        if failure:
            say(f"seed {report.seed}: {failure.kind}: {report.operators}: {failure.text[:200]}")
        elif time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            say(f"{self.line()}; last seed {report.seed}")

    def line(self) -> str:
        failed = sum(map(len, self.failures.values()))
        seconds = time.monotonic() - self.started
        compared = ", ".join(f"{count} with {name}" for name, count in self.oracles.most_common())
        return f"{self.total} graphs in {seconds:.0f} s: {failed} failed; {compared}; {self.skipped.total()} not compared"

    def lines(self, verbose: bool) -> Iterator[str]:
        if verbose:
            yield from (f"not compared {count} times: {reason}" for reason, count in self.skipped.most_common())
            yield from (f"passed over {count} times: {reason}" for reason, count in self.notes.most_common())
        for (kind, operators), found in sorted(self.failures.items(), key=lambda item: -len(item[1])):
            seed = found[0].seed
            text = " ".join(found[0].outcome.failure.text.split())[:160]
            again = self.settings.command(seed)
            yield f"{len(found)} x {kind}: {operators}: {text}; again: {again}; reduced: {self.settings.out / str(seed)}.onnx"
        yield self.line()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
