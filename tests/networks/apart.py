"""Runs a job in a child process, which may crash, hang or take too much memory without ending the run."""

import multiprocessing.connection
import os
import tempfile
import time
from collections.abc import Callable

from networks import jobs
from networks.jobs import PIECES, Job, Stage
from networks.memory import SECONDS_BETWEEN_LOOKS, resident_bytes
from networks.pieces import check_pieces, locate
from random_graphs.workers import Death, Worker

SUBJECTS = ("lanner", "onnxruntime")
JOBS = {"oracle": jobs.oracle, "rival": jobs.rival, "check": jobs.check, "locate": locate}


def failure(kind: str, stage: str, text: str) -> dict:
    return {"failure": {"kind": kind, "stage": stage, "text": " ".join(text.split())}}


def reported(run: Callable[[Stage], dict], stage: Stage) -> dict:
    """Exceptions of the program under test are findings, with the stage where they occurred; its caches are empty and private."""
    at = ""

    def noted(name: str) -> None:
        nonlocal at
        at = name
        stage(name)

    with tempfile.TemporaryDirectory(prefix="lanner-networks-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        try:
            return run(noted)
        except Exception as error:
            refused = type(error).__module__.partition(".")[0] in SUBJECTS
            return failure("refused" if refused else "fault of the tool", at, f"{type(error).__name__}: {error}")


def one_job(job: Job, stage: Stage) -> dict:
    run = check_pieces if job.label == PIECES and job.what == "check" else JOBS[job.what]
    return reported(lambda noted: run(job, noted), stage)


def run_apart(job: Job, seconds: float, memory: int) -> dict:
    """The job's row; each stage has this many seconds, the process this many bytes."""
    started = time.perf_counter()
    worker = Worker(one_job, seconds)
    try:
        worker.give(job)
        found = wait(worker, memory)
    finally:
        worker.stop()
    if isinstance(found, Death):
        found = failure(found.kind, found.stage, found.text)
    return {**job.facts(), **found, "seconds": round(time.perf_counter() - started, 2)}


def wait(worker: Worker, memory: int):
    while (found := worker.result()) is None:
        multiprocessing.connection.wait([worker.pipe], timeout=SECONDS_BETWEEN_LOOKS)
        taken = resident_bytes(worker.process.pid)
        if taken > memory:
            worker.result()  # Receives messages about its stage meanwhile.
            return Death("memory", f"stopped at {taken / 2**30:.1f} GiB, allowed are {memory / 2**30:.1f}", worker.stage)
    return found
