"""Runs one step of one model in a child process, which may crash, hang or take too much memory without ending the run."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from networks.memory import watched
from random_graphs.workers import death_of

SCRIPT = Path(__file__).resolve().parent / "one_model.py"


def facts_of(step: str, model: Path, folder: Path, seconds: float, memory: int, environment: Mapping[str, str], script: Path = SCRIPT) -> dict[str, Any]:
    """The process's messages; `failure` if something went wrong."""
    command = [sys.executable, str(script), step, str(model), str(folder)]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=errors, env=dict(environment))
        try:
            stopped = watched(process, seconds, memory)
        finally:  # so that Ctrl-C leaves nothing behind
            if process.poll() is None:
                process.kill()
            process.wait()
        said.seek(0)
        facts = read(said.read())
        errors.seek(0)
        last = (errors.read().strip().splitlines() or [""])[-1]
    if stopped:
        facts["failure"] = stopped
    elif process.returncode != 0 and "failure" not in facts:
        facts["failure"] = f"the process died with {death_of(process.returncode)}" + (f": {last}" if last else "")
    return facts


def read(text: str) -> dict[str, Any]:
    """Merges the lines; later ones override. The last line may be truncated."""
    facts: dict[str, Any] = {}
    for line in text.splitlines():
        try:
            facts |= json.loads(line)
        except ValueError:
            continue
    return facts
