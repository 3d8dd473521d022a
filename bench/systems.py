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
        # An empty timing cache, so that builds are first builds, as for a new user.
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
        """Called before loading, so that loading is within the quota too."""
        try:
            self.ask({"do": "enter", "folder": str(group.folder)})
        except Broken as broken:
            raise cgroup.NoCgroup(f"a process cannot enter a cgroup: {broken}") from broken

    def load(self, system, job):
        """The system's description of itself: for a network the sum of the first output, the seconds to load and the version."""
        self.systems.append(system)
        return self.ask({"do": "load", "system": system, **job})

    def run(self, system, seconds, least):
        """Seconds of each run; runs take about `seconds` in total and are at least `least`."""
        return self.ask({"do": "run", "system": system, "seconds": seconds, "least": least})["times"]

    def turns(self, systems, seconds, least, burst):
        """Seconds of each run of each: `burst` runs of one, then of the other, and so on."""
        return self.ask({"do": "turns", "systems": systems, "seconds": seconds, "least": least, "burst": burst})["times"]

    def close(self, at_once=False):
        if at_once:  # Its remaining answers are not needed.
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
