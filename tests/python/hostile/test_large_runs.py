"""Models that ask for much when they run (large_runs.py): each run ends well or in one line that names a limit, soon after the limit
on time and without much more memory than the limit on memory."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import large_runs

lanner = pytest.importorskip("lanner")

MEMORY = 192 << 20
PROCESS = 96 << 20  # What comes beside: pages of code, stacks, what the allocator keeps.
SECONDS = 1
MOST_SECONDS = 60  # Of processor time. Others may work on this machine: what ignores the limit takes minutes or ends never.
LIMIT = r"over the limit (seconds|total_bytes|tensor_bytes) of"


def run(case, asked, memory=MEMORY, seconds=SECONDS):
    """Output, seconds of the run, and the peak growth of the process in bytes."""
    here = Path(__file__).parents[1] / "support"
    done = subprocess.run(
        [sys.executable, here / "one_run.py", case, str(asked), str(memory), str(seconds)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS)),
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    said, numbers = done.stdout.splitlines()
    taken, grown, _ = map(float, numbers.split())
    return said, taken, int(grown)


@pytest.mark.parametrize("case", large_runs.CASES)
def test_limits_hold(case):
    said, _, grown = run(case, 1 << 25)
    assert said == "ok" or re.search(LIMIT, said), said[:2000]
    assert grown < MEMORY + PROCESS, f"{grown >> 20} MB"


@pytest.mark.parametrize("case", large_runs.CASES)
def test_small_models_run(case):
    """Shows that the models above are rejected for their size."""
    endless = case in ("endless_loop", "loop_in_loops", "stacked_loop", "growing_sequence", "doubling_loop", "doubling_texts")
    if endless:
        pytest.skip("it is large however little is asked for")
    said, _, _ = run(case, 1 << 12, seconds=MOST_SECONDS)
    assert said == "ok", said
