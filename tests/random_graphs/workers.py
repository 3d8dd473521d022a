"""Processes that run one task after another; a crash or hang ends only the current task."""

import faulthandler
import multiprocessing
import multiprocessing.connection
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

# Forked before anything ran in this process, so that nothing is imported again and no thread is lost.
CONTEXT = multiprocessing.get_context("fork")

Stage = Callable[[str], None]
Job = Callable[[Any, Stage], Any]


@dataclass(frozen=True)
class Death:
    """How a task ended its process, and at which stage."""

    kind: str
    text: str
    stage: str


def prepare_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")


def serve(job: Job, pipe: multiprocessing.connection.Connection) -> None:
    prepare_process()
    try:
        while (task := pipe.recv()) is not None:
            try:
                pipe.send(("result", job(task, lambda name: pipe.send(("stage", name)))))
            except Exception:  # an error of the tester itself: reported by the parent, which ends the run
                pipe.send(("error", f"task {task}: {traceback.format_exc()}"))
    except EOFError:  # the parent is gone
        return


class Worker:
    """One process at a time, restarted after a task that ended it. Each stage of a task may take so many seconds."""

    def __init__(self, job: Job, seconds: float):
        self.job, self.seconds, self.stage = job, seconds, ""
        self.start()

    def start(self) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=serve, args=(self.job, theirs))
        self.process.start()
        theirs.close()

    def give(self, task) -> None:
        self.task, self.stage, self.deadline = task, "", time.monotonic() + self.seconds
        self.pipe.send(task)

    def result(self):
        """Result of the given task; None while it runs."""
        try:
            while self.pipe.poll():
                kind, value = self.pipe.recv()
                if kind == "error":
                    raise RuntimeError(value)
                if kind == "result":
                    return value
                self.stage, self.deadline = value, time.monotonic() + self.seconds
        except (EOFError, ConnectionResetError):
            self.process.join()
            return self.restarted(Death("crash", f"the process died with {death_of(self.process.exitcode)}", self.stage))
        if time.monotonic() > self.deadline:
            self.process.kill()
            return self.restarted(Death("hang", f"stopped after {self.seconds:g} s", self.stage))
        return None

    def wait(self):
        while (result := self.result()) is None:
            multiprocessing.connection.wait([self.pipe], timeout=1)
        return result

    def restarted(self, death: Death) -> Death:
        self.process.join()
        self.pipe.close()
        self.start()
        return death

    def stop(self) -> None:
        """Immediately, whatever it is doing."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def death_of(status: int | None) -> str:
    return signal.Signals(-status).name if status and status < 0 else f"status {status}"
