"""Ctrl-C ends long work cleanly."""

import signal
import subprocess
import time

import pytest

from command import COMMAND, ROOT, SECONDS, leftovers, make_y4m

DETECTOR = ROOT / "demo" / "shapes.onnx"


def interrupt(folder, expected, *arguments, number=signal.SIGINT):
    """Sends the signal once the command has begun to write, and gives its exit code and stderr."""
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + SECONDS
    while not leftovers(folder, *expected):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)
    return process.returncode, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_clip_that_is_being_encoded(tmp_path, number):
    source = make_y4m(tmp_path / "in.y4m", frames=1500, width=640, height=480)
    code, errors = interrupt(tmp_path, ["in.y4m"], "transcode", source, tmp_path / "out.mp4", "--preset", "veryslow", number=number)
    assert (code, errors) == (130, "lanner: interrupted\n")
    assert leftovers(tmp_path, "in.y4m") == []


def test_a_run_with_every_output(tmp_path):
    source = make_y4m(tmp_path / "in.y4m", frames=1500, width=320, height=240)
    outputs = ["-o", tmp_path / "out.mp4", "--json", tmp_path / "out.jsonl", "--report", tmp_path / "out.html"]
    code, errors = interrupt(tmp_path, ["in.y4m"], "run", DETECTOR, "-i", source, *outputs, "--budget", "0", "--threads", "1")
    assert (code, errors) == (130, "lanner: interrupted\n")
    assert leftovers(tmp_path, "in.y4m") == []
