"""Runs a case by Lanner and compares it with the oracle."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import lanner
import numpy
import onnx

from random_graphs import deviations
from random_graphs.cases import Case, Feed, dims_of
from random_graphs.comparison import difference
from random_graphs.deviations import RUNTIME
from random_graphs.inner import SELECTING, Inner, Spread, spread
from random_graphs.oracle import NoOracle, Oracle

SHAPED_BY_VALUES = (*SELECTING, "If", "Loop")


@dataclass(frozen=True)
class Failure:
    kind: str
    """An error's type, `shape`, `type`, `values`, `unstable`; `crash` and `hang` are added by the caller."""
    where: str
    text: str

    def same_as(self, other: "Failure | None") -> bool:
        return other is not None and self.kind == other.kind and shortened(self.text) == shortened(other.text)


def shortened(text: str) -> str:
    """The error text without names and numbers; for differing results nothing."""
    if text.startswith(("values", "shape", "type")):
        return text.split(":")[0].split()[0]
    return " ".join("".join(c for c in word if c.isalpha() or c in "_") for word in text.split(":")[-1].split()[:6])


@dataclass(frozen=True)
class Outcome:
    failure: Failure | None = None
    oracle: str = ""
    skipped: str = ""
    """Why nothing could be compared."""
    note: str = ""
    """Why a difference is not a failure."""


class Broken(Exception):
    def __init__(self, kind: str, where: str, text: str):
        super().__init__(text)
        self.failure = Failure(kind, where, text)


def check(case: Case, stage: Callable[[str], None] = lambda _: None) -> Outcome:
    """`stage` is called with whether the oracle or Lanner is running, because either may end the process."""
    stage("oracle")
    try:
        oracle = Oracle(case.model, case.feeds[0])
        expected = [oracle.run(feed) for feed in case.feeds]
    except NoOracle as error:
        return Outcome(skipped=str(error))
    notes: list[str] = []
    try:
        for where, number, got in results(case, stage):
            if all(not difference(e, g, case.options.precision) for e, g in zip(expected[number], got, strict=True)):
                continue
            stage("oracle")
            weigh(Difference(case, oracle, number, expected[number], got), where, notes)
            stage("lanner")
    except Broken as broken:
        return Outcome(failure=broken.failure, oracle=oracle.name)
    return Outcome(oracle=oracle.name, note="; ".join(dict.fromkeys(notes)))


@dataclass
class Difference:
    """Results of one run that are not close enough to the oracle's without an analysis of rounding."""

    case: Case
    oracle: Oracle
    number: int
    expected: list[numpy.ndarray]
    got: list[numpy.ndarray]

    @property
    def feed(self) -> Feed:
        return self.case.feeds[self.number]

    @property
    def precision(self) -> str:
        return self.case.options.precision

    def first(self, expected: list[numpy.ndarray], moved: Spread) -> tuple[str, str] | None:
        """The first output whose difference is not explained by rounding (`moved`), and the difference."""
        for i, (name, slack) in enumerate(zip(names_of(self.case.model), moved, strict=True)):
            if slack is not None:
                text = difference(expected[i], self.got[i], self.precision, slack if slack.shape == expected[i].shape else None)
                if text:
                    return name, text
        return None


def weigh(found: Difference, where: str, notes: list[str]) -> None:
    """Raises Broken for a real difference, or notes why it is not one."""
    inner = Inner.of(found.oracle, found.feed)
    try:
        moved = spread(found.oracle, found.feed, found.expected, inner, found.precision)
    except NoOracle:
        notes.append("rounding moves even whether it can be run")
        return
    if any(slack is None for slack in moved):
        notes.append("rounding moves even shapes")
    wrong = found.first(found.expected, moved)
    if wrong is None:
        return
    name, text = wrong
    undefined = inner.undefined(found.case.model, found.precision)
    if undefined and (text.startswith("values") or any(node.op_type in SHAPED_BY_VALUES for node in found.case.model.graph.node)):
        notes.append("undefined: " + undefined.split(" ", 1)[1])
        return
    if reference_agrees(found, moved):
        notes.append("the oracles disagree, and Lanner agrees with onnx.reference")
        return
    raise Broken(text.split(":")[0].split()[0], f"{where} {name}", text)


def reference_agrees(found: Difference, moved: Spread) -> bool:
    second = found.oracle.second()
    if second is None:
        return False
    try:
        expected = [numpy.asarray(array) for array in second.run(found.feed)]
    except Exception:  # it may raise anything
        return False
    return found.first(expected, moved) is None


def results(case: Case, stage: Callable[[str], None]):
    """Label, inputs, and results, run by run: forwards, backwards, from a saved plan."""
    stage("lanner")
    options = case.options
    engines = [("run", guarded("build", build, case))]
    if options.plan:
        engines.append(("loaded", guarded("plan", reopened, engines[0][1], options.threads)))
    forwards = list(range(len(case.feeds)))
    order = [*forwards, 0, *reversed(forwards)] if len(forwards) > 1 else [0, 0]
    for label, engine in engines:
        context = guarded(label, engine.create_context, threads=options.threads)
        before: dict[int, list[numpy.ndarray]] = {}
        for step, number in enumerate(order):
            where = f"{label} #{step} inputs {number}"
            got = guarded(where, run, context, case, case.feeds[number])
            if number in before:
                for name, old, new in zip(names_of(case.model), before[number], got, strict=True):
                    text = difference(old, new, "fp32")
                    if text:
                        raise Broken("unstable", f"{where} {name}", text)
            before[number] = got
            yield where, number, got


def guarded(where: str, function, *arguments, **named):
    try:
        return function(*arguments, **named)
    except Exception as error:  # whatever Lanner raises is a finding
        raise Broken(type(error).__name__, where, str(error)) from error


def names_of(model: onnx.ModelProto) -> list[str]:
    return [info.name for info in model.graph.output]


def build(case: Case):
    options = case.options
    return lanner.build(
        case.model,
        budget=options.budget,
        threads=options.threads,
        precision=options.precision,
        deterministic=options.deterministic,
        shapes=ranges(case),
        device=options.device,
    )


def ranges(case: Case) -> dict[str, tuple]:
    """Smallest, typical and largest shape of inputs with symbols."""
    found = {}
    for name, dims in dims_of(case.model).items():
        shapes = [feed[name].shape for feed in case.feeds if name in feed]
        if shapes and any(isinstance(dim, str) for dim in dims):
            found[name] = (tuple(map(min, zip(*shapes, strict=True))), shapes[0], tuple(map(max, zip(*shapes, strict=True))))
    return found


def reopened(engine, threads: int):
    with tempfile.TemporaryDirectory(prefix="lanner-random-") as folder:
        path = Path(folder) / "case.plan"
        engine.save(path)
        return lanner.load(path, threads=threads)


def run(context, case: Case, feed: Feed) -> list[numpy.ndarray]:
    outputs = context(feed)
    return [numpy.array(outputs[name].to("cpu").numpy()) for name in names_of(case.model)]


def settled(case: Case) -> Case:
    """Symbols that the oracle does not let vary become numbers: the graph only claims that they vary."""
    if not case.symbols:
        return case
    try:
        oracle = Oracle(case.model, case.feeds[0])
        for feed in case.feeds:
            oracle.run(feed)
    except NoOracle:
        return case.fixed()
    # Both oracles accept many graphs whose sizes do not fit, the reference most of them.
    fits = oracle.name == RUNTIME and not any(unfit(case, oracle, feed) for feed in case.feeds)
    return case if fits else case.fixed()


def unfit(case: Case, oracle: Oracle, feed: Feed) -> bool:
    """Whether these sizes leave a value without elements, or do not fit together by ONNX (not by onnxruntime)."""
    model = Case(case.model, [feed], case.options).fixed().model
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except Exception:  # the exception type depends on the mismatch
        return True
    if RUNTIME in deviations.of_model(model):
        return True
    return any(not array.size for array in Inner.of(oracle, feed).arrays.values())
