"""Every function of the package, called with wrong arguments: an idiomatic exception with one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import BUILD

pytest.importorskip("lanner")

KINDS = ["lanner", "tasks", "engine", "context", "tensor", "image", "preprocess", "video", "parallel", "frame", "task_reader", "result", "writer", "environment",
         "crop_runner", "encoder", "evaluation", "torch", "demuxer", "packet", "decoder", "muxer", "calibration"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_calls_raise_one_line(kind, tmp_path):
    if kind == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
        pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch's exporter needs it")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "support" / "every_call.py"), kind, str(tmp_path)],
        capture_output=True, text=True, errors="replace", check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": str(BUILD / "python"), "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"},
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    *faults, count = done.stdout.splitlines()
    assert not faults, "\n".join(faults[:30])
    assert int(count.split()[0]) > 100, count
