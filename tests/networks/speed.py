"""Seconds of a run against the rival's: both in child processes, alternating, as in ./dev bench."""

import fcntl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import onnx

from networks.answers import HALVES
from networks.apart import failure, reported, wait
from networks.catalogue import ROOT, Network
from networks.jobs import Job, Stage, Subject, onnxruntime_session, torch_name, torch_network
from random_graphs.workers import Death, Worker

sys.path.insert(0, str(ROOT / "bench"))
from pairs import alternate, summary  # noqa: E402

SECONDS_A_MEASUREMENT, LEAST_RUNS = 0.2, 3
WARM_UP = 3
LANNER = "lanner"


def lanner_runner(job: Job, stage: Stage) -> tuple[Callable[[], object], dict]:
    """From the plan that a check left, if there is one: concurrent builds disturb timing."""
    subject = Subject(job, stage)
    network, case = Network(job.network), job.case()
    facts = {}
    if job.plan.exists():
        stage("load")
        engine = subject.lanner.load(job.plan, device=job.device, threads=job.threads)
    else:
        engine, facts["build_seconds"] = subject.build(network.shapes(case))
    context, feed = engine.create_context(), subject.placed(job.store.feed(network, case))
    return lambda: context(feed), facts


def onnxruntime_runner(job: Job, stage: Stage) -> tuple[Callable[[], object], dict]:
    """On a GPU with inputs and outputs there."""
    import onnxruntime

    stage("load")
    network, case = Network(job.network), job.case()
    session = onnxruntime_session(job.store.model(network, HALVES if job.precision == HALVES else ""), job.threads, job.device)
    feed, version = job.store.feed(network, case), {"rival": f"onnxruntime {onnxruntime.__version__}"}
    if job.device == "cpu":
        return lambda: session.run(None, feed), version
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda", 0)
    return lambda: session.run_with_iobinding(binding), version


def torch_runner(job: Job, stage: Stage) -> tuple[Callable[[], object], dict]:
    stage("load")
    network = Network(job.network)
    ready = torch_network(job, onnx.load(job.store.model(network)), job.store.feed(network, job.case()))
    return ready.recorded(), {"rival": torch_name()}


def rival_runner(job: Job, stage: Stage) -> tuple[Callable[[], object], dict]:
    """onnxruntime, or PyTorch on a GPU for which onnxruntime has no kernels."""
    import onnxruntime

    if job.device == "cpu" or "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        return onnxruntime_runner(job, stage)
    return torch_runner(job, stage)


class System:
    """One product with one network, in the process of a worker."""

    def __init__(self, name: str, job: Job):
        self.name, self.job, self.run = name, job, lambda: None

    def __call__(self, task: str, stage: Stage) -> dict:
        return reported(self.load if task == "load" else self.measure, stage)

    def load(self, stage: Stage) -> dict:
        self.run, facts = (lanner_runner if self.name == LANNER else rival_runner)(self.job, stage)
        stage("warm up")
        for _ in range(WARM_UP):
            self.run()
        return facts

    def measure(self, stage: Stage) -> dict:
        stage("run")
        count, start = 0, time.perf_counter()
        while count < LEAST_RUNS or time.perf_counter() - start < SECONDS_A_MEASUREMENT:
            self.run()
            count += 1
        return {"seconds": (time.perf_counter() - start) / count}


class Broken(Exception):
    """Holds the row of the failure."""


class Racer:
    """A worker with a loaded system."""

    def __init__(self, name: str, job: Job, seconds: float, memory: int):
        self.memory, self.worker = memory, Worker(System(name, job), seconds)

    def ask(self, task: str) -> dict:
        self.worker.give(task)
        found = wait(self.worker, self.memory)
        if isinstance(found, Death):
            found = failure(found.kind, found.stage, found.text)
        if "failure" in found:
            raise Broken(found)
        return found

    def seconds(self) -> float:
        return self.ask("run")["seconds"]


@contextmanager
def one_at_a_time(job: Job) -> Iterator[None]:
    """Lock for several runs that share a GPU and a log: only one measures."""
    if job.device == "cpu":
        yield
        return
    with open(job.folder / "measuring", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def race(job: Job, pairs: int, seconds: float, memory: int) -> dict:
    """The row of one network. Only Lanner's time if the rival cannot run it."""
    ours, theirs = (Racer(name, job, seconds, memory) for name in (LANNER, "rival"))
    row = job.facts()
    try:
        row |= ours.ask("load")
        try:
            row |= theirs.ask("load")
        except Broken as broken:
            return row | {"rival_failure": broken.args[0]["failure"]["text"], "lanner_seconds": min(ours.seconds() for _ in range(pairs))}
        with one_at_a_time(job):
            found = summary(*alternate(ours.seconds, theirs.seconds, pairs, f"{job.network}, {job.label}"))
        return row | {"lanner_seconds": found["seconds"], **{name: found[name] for name in ("rival_seconds", "ratio", "interval")}}
    except Broken as broken:
        return row | broken.args[0]
    finally:
        for racer in (ours, theirs):
            racer.worker.stop()
