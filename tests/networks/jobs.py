"""Jobs in child processes: float64 runs, onnxruntime's, Lanner's. Each returns a row of the log."""

import hashlib
import importlib.util
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx

from networks import comparison, parts
from networks.answers import BEFORE, HALVES, Store
from networks.catalogue import Case, Feed, Network

RUNS, RUNS_AT_ONCE, PROFILED = 10, 5, 5
# Fewer runs where they are slow, but at least this many.
LEAST_RUNS = 2
RANGE, PIECES = "several shapes", "in pieces"
# Backends that run operators by definition.
SLOW = ("reference", "interpreter")
NAMED_FROM = 0.01

Stage = Callable[[str], None]
Row = dict


@dataclass(frozen=True)
class Job:
    """One measurement. `label` is a case's, BEFORE, RANGE or PIECES."""

    what: str
    network: str
    label: str
    folder: Path
    device: str = "cpu"
    precision: str = "fp32"
    budget: float = 0.0
    threads: int = 1
    batches: tuple[int, ...] = ()
    seconds: float = 60.0
    """Number of repeated runs of each kind."""

    @property
    def store(self) -> Store:
        return Store(self.folder)

    @property
    def plan(self) -> Path:
        """Where a check of one shape leaves its plan, for timing."""
        return self.store.plan(f"{self.network} {self.label} {self.device} {self.precision} {self.budget:g} {self.threads}")

    @property
    def part(self) -> str:
        return BEFORE if self.label == BEFORE else ""

    def case(self, label: str = "") -> Case:
        wanted = label or ("exported" if self.label in (BEFORE, RANGE, PIECES) else self.label)
        return next(case for case in Network(self.network).cases(self.batches) if case.label == wanted)

    def facts(self) -> Row:
        """The first fields of a job's row."""
        return {name: value for name, value in asdict(self).items() if name not in ("folder", "batches", "seconds")}


def oracle(job: Job, stage: Stage) -> Row:
    start = time.perf_counter()
    network = Network(job.network)
    job.store.compute(network, job.case(), stage)
    if network.is_detector:
        job.store.model(network, BEFORE)
    return {"seconds": time.perf_counter() - start}


def judge(job: Job, case: Case, first: int = 0) -> Callable[[comparison.Arrays], dict[str, dict]]:
    """Reports distances from the float64 run; for a detector also the boxes found."""
    network = Network(job.network)
    expected = job.store.answers(network, case, job.part, first)
    measure = comparison.detections if network.is_detector and not job.part else comparison.distances
    return lambda got: measure(got, expected)


# --- Rivals ---


def onnxruntime_session(model: Path | bytes, threads: int, device: str = "cpu"):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"] if device == "cpu" else ["CUDAExecutionProvider"]
    return onnxruntime.InferenceSession(model, options, providers=providers)


def has_torch(device: str) -> bool:
    """Whether PyTorch runs on this device."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return device == "cpu" or torch.cuda.is_available()


def halves_by_torch(job: Job) -> bool:
    """Whether PyTorch is the only rival for FP16: on a GPU, as onnxruntime would run on the CPU and widen much."""
    return job.precision == HALVES and job.device != "cpu" and has_torch(job.device)


Runner = Callable[[Feed], comparison.Arrays]


def torch_network(job: Job, model: onnx.ModelProto, feed: Feed):
    """Runs the model, which it may change, by PyTorch on the job's device."""
    import torch

    from networks.torch_run import TorchNetwork

    torch.set_num_threads(job.threads)
    return TorchNetwork(model, feed, job.precision, "cpu" if job.device == "cpu" else "cuda")


def torch_name() -> str:
    import torch

    return f"torch {torch.__version__}"


def torch_runner(job: Job, stage: Stage) -> tuple[str, Runner]:
    stage("load by PyTorch")
    network = Network(job.network)
    ready = torch_network(job, onnx.load(job.store.model(network, job.part)), job.store.feed(network, job.case()))
    return torch_name(), ready.run


def split_runner(job: Job, stage: Stage) -> tuple[str, Runner]:
    """For a detector, whose choices PyTorch does not run: the part before them by PyTorch, the rest by onnxruntime in FP32 on the CPU."""
    stage("load by PyTorch and onnxruntime")
    network = Network(job.network)
    first = torch_network(job, onnx.load(job.store.model(network, BEFORE)), job.store.feed(network, job.case()))
    rest = onnxruntime_session(parts.behind(onnx.load(job.store.model(network)), first.names).SerializeToString(), job.threads)
    names, read = [output.name for output in rest.get_outputs()], {value.name for value in rest.get_inputs()}

    def run(feed: Feed) -> comparison.Arrays:
        given = feed | first.run(feed)
        return dict(zip(names, rest.run(names, {name: array for name, array in given.items() if name in read}), strict=True))

    return f"{torch_name()} before choices", run


def onnxruntime_runner(job: Job, stage: Stage) -> tuple[str, Runner]:
    """Runs on the CPU."""
    import onnxruntime

    stage("load by onnxruntime")
    part = f"{HALVES} {job.part}".strip() if job.precision == HALVES else job.part
    session = onnxruntime_session(job.store.model(Network(job.network), part), job.threads)
    names = [output.name for output in session.get_outputs()]
    return f"onnxruntime {onnxruntime.__version__}", lambda feed: dict(zip(names, session.run(names, feed), strict=True))


def errors_of(job: Job, stage: Stage, load: Callable[[Job, Stage], tuple[str, Runner]]) -> Row:
    case = job.case()
    name, run = load(job, stage)
    stage(f"run by {name}")
    feeds = [job.store.feed(Network(job.network), case, first) for first in range(1 + case.further)]
    found = [judge(job, case, first)(run(feed)) for first, feed in enumerate(feeds)]
    return {"rival": name, "outputs": comparison.pooled(found)}


def rival(job: Job, stage: Stage) -> Row:
    """Rows of onnxruntime on the CPU, and of PyTorch on the device, which is the only rival in FP16 on a GPU. What PyTorch
    cannot run is reported."""
    whole = bool(job.part) or not Network(job.network).is_detector
    if halves_by_torch(job):
        return errors_of(job, stage, torch_runner if whole else split_runner)
    row = errors_of(job, stage, onnxruntime_runner)
    if whole and has_torch(job.device) and job.precision != HALVES:
        try:
            row["same_device"] = errors_of(job, stage, torch_runner)
        except Exception as error:  # whatever PyTorch raises
            row["same_device_failure"] = f"{type(error).__name__}: {error}"[:300]
    return row


# --- Lanner ---


def library_digest(package: Path) -> str:
    """Identifies a build of the library."""
    found = sorted((package.parents[2] / "lib").glob("liblanner.so.*")) or sorted(package.parent.glob("*.so*"))
    return hashlib.sha256(found[0].read_bytes()).hexdigest()[:12]


def arrays_of(results: dict) -> comparison.Arrays:
    return {name: np.array(tensor.numpy()) for name, tensor in results.items()}


class Subject:
    """Lanner with one network and an empty timing cache."""

    def __init__(self, job: Job, stage: Stage):
        import lanner

        self.lanner, self.job, self.stage = lanner, job, stage
        self.network = Network(job.network)
        self.path = job.store.model(self.network, job.part)

    def build(self, shapes: dict):
        """The engine, and its build time in seconds."""
        self.stage("build")
        start = time.perf_counter()
        engine = self.build_model(self.path, shapes)
        return engine, time.perf_counter() - start

    def build_model(self, model: object, shapes: dict):
        job = self.job
        return self.lanner.build(model, shapes=shapes, precision=job.precision, threads=job.threads, budget=job.budget, device=job.device)

    def placed(self, feed: Feed) -> dict:
        """The engine's device."""
        return feed if self.job.device == "cpu" else {name: self.lanner.Tensor(array).to(self.job.device) for name, array in feed.items()}


def repeated(run: Callable[[], object], most: int, seconds: float) -> list:
    """Results of this many runs, or of fewer slow ones."""
    results, start = [], time.perf_counter()
    while len(results) < most and (len(results) < LEAST_RUNS or time.perf_counter() - start < seconds):
        results.append(run())
    return results


def check(job: Job, stage: Stage) -> Row:
    subject = Subject(job, stage)
    row = {"library": library_digest(Path(subject.lanner.__file__))}
    return row | (check_range(subject) if job.label == RANGE else check_case(subject))


def check_case(subject: Subject) -> Row:
    """One shape: ten runs on one sample, some on others, two contexts at once, time by step."""
    job, network, case = subject.job, subject.network, subject.job.case()
    engine, seconds = subject.build(network.shapes(case))
    engine.save(job.plan)
    subject.stage("run")
    context, feed = engine.create_context(), subject.placed(job.store.feed(network, case))
    runs = repeated(lambda: arrays_of(context(feed)), RUNS, job.seconds)
    found = [comparison.worst(list(map(judge(job, case), runs)))]
    subject.stage("run on further samples")
    for first in range(1, 1 + case.further):
        results = arrays_of(context(subject.placed(job.store.feed(network, case, first))))
        found.append(judge(job, case, first)(results))
    row = {"build_seconds": seconds, "runs": len(runs), "outputs": comparison.pooled(found), "spread": comparison.spread(runs)}
    row["beside"] = beside(subject, engine, case, runs[0])
    return row | {"steps": steps_by_time(subject, engine, feed)}


def check_range(subject: Subject) -> Row:
    """One engine for both shapes: to the second shape and back."""
    job, network = subject.job, subject.network
    cases = [job.case("exported"), job.case("other"), job.case("exported")]
    typical, other = cases[:2]
    low, high = (
        network.shapes(Case("", choose(typical.batch, other.batch), tuple((name, choose(a, b)) for (name, a), (_, b) in zip(typical.sizes, other.sizes, strict=True))))
        for choose in (min, max)
    )
    ranges = {name: (low[name], shape, high[name]) for name, shape in network.shapes(typical).items()}
    engine, seconds = subject.build(ranges)
    context = engine.create_context()
    found: dict[str, list[dict[str, dict]]] = {case.label: [] for case in cases}
    for turn, case in enumerate(cases):
        subject.stage(f"run {turn + 1}, {case.label} shape")
        for first in range(1 + case.further):
            results = arrays_of(context(subject.placed(job.store.feed(network, case, first))))
            found[case.label].append(judge(job, case, first)(results))
    return {"build_seconds": seconds, "outputs": {shown(label, name): one for label in found for name, one in comparison.pooled(found[label]).items()}}


def shown(label: str, output: str) -> str:
    """Name of an output of an engine for several shapes."""
    return f"{output} ({label} shape)"


def beside(subject: Subject, engine, case: Case, expected: comparison.Arrays) -> float:
    """The distance of two contexts' concurrent runs on different inputs from their separate runs."""
    feeds = [subject.placed(subject.job.store.feed(subject.network, case, first)) for first in (0, 1)]
    contexts = [engine.create_context() for _ in feeds]
    subject.stage("run alone")
    alone = [expected, arrays_of(contexts[1](feeds[1]))]
    found: list[list[comparison.Arrays]] = [[], []]
    errors: list[Exception] = []

    def turn(number: int) -> None:
        try:
            found[number] += repeated(lambda: arrays_of(contexts[number](feeds[number])), RUNS_AT_ONCE, subject.job.seconds)
        except Exception as error:  # reported by the waiting thread
            errors.append(error)

    subject.stage("run two contexts at once")
    threads = [threading.Thread(target=turn, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return max(comparison.spread([first, *others]) for first, others in zip(alone, found, strict=True))


def steps_by_time(subject: Subject, engine, feed: dict) -> Row:
    """Shares of a run's time in reference kernels, in the interpreter and on the host of a GPU; the steps with a relevant share."""
    subject.stage("profile")
    context = engine.create_context(profile=True)
    repeated(lambda: context(feed), PROFILED, subject.job.seconds)
    steps = context.profile()
    total = sum(step["seconds"] for step in steps) or 1.0
    shares = dict.fromkeys((*SLOW, "host"), 0.0)
    named: dict[tuple[str, str], float] = {}
    for step in steps:
        on_host = subject.job.device != "cpu" and step["backend"] != "cuda"
        if step["backend"] in SLOW:
            shares[step["backend"]] += step["seconds"] / total
        if on_host:
            shares["host"] += step["seconds"] / total
        if on_host or step["backend"] in SLOW:
            named[step["op"], step["backend"]] = named.get((step["op"], step["backend"]), 0.0) + step["seconds"] / total
    named_rows = [[op, backend, share] for (op, backend), share in sorted(named.items(), key=lambda item: -item[1]) if share >= NAMED_FROM]
    return {"count": len(steps), "shares": shares, "named": named_rows}
