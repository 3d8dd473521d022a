"""Systems that run networks, in processes of their own."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import cgroup

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE / "worker.py"
SECONDS_TO_END = 20


class Broken(Exception):
    """A system cannot run a network, or ended."""


class Missing(Exception):
    """A system is not installed."""


class Worker:
    """A process with one system in it, or several."""

    def __init__(self, script=None):
        # Nothing that earlier builds timed: what a first build gives is what users get.
        self.cache = tempfile.TemporaryDirectory(prefix="lanner-bench-cache-")
        self.process = subprocess.Popen(
            [sys.executable, script or SCRIPT, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LANNER_CACHE_DIR": self.cache.name},
        )
        self.systems = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close(at_once=kind is not None)

    def ask(self, command):
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Broken(f"{' and '.join(self.systems)} ended with exit code {self.process.wait()}")
        answer = json.loads(line)
        if "missing" in answer:
            raise Missing(answer["missing"])
        if "failed" in answer:
            raise Broken(": ".join(filter(None, [command.get("system"), answer["failed"]])))
        return answer

    def enter(self, group):
        """Before anything is loaded: that, too, is done with the group's share."""
        try:
            self.ask({"do": "enter", "folder": str(group.folder)})
        except Broken as broken:
            raise cgroup.NoCgroup(f"a process cannot enter a cgroup: {broken}") from broken

    def load(self, system, job):
        """Gives what the system says of itself: of a network the sum of the first output, the seconds it took and the version."""
        self.systems.append(system)
        return self.ask({"do": "load", "system": system, **job})

    def run(self, system, seconds, least):
        """Seconds of each of its runs, which take about `seconds` and are not fewer than `least`."""
        return self.ask({"do": "run", "system": system, "seconds": seconds, "least": least})["times"]

    def turns(self, systems, seconds, least, burst):
        """Seconds of each run of each: `burst` runs of one, then of the other, and so on."""
        return self.ask({"do": "turns", "systems": systems, "seconds": seconds, "least": least, "burst": burst})["times"]

    def close(self, at_once=False):
        if at_once:  # Whatever it does is not wanted any more.
            self.process.kill()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.cache.cleanup()
