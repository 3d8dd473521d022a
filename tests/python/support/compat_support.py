"""Clips, frames and scripts for the tests of lanner.compat."""

import os
import subprocess
import sys

import numpy as np
import pytest

from command import BUILD, SECONDS

WIDTH, HEIGHT, COUNT, GOP = 64, 48, 30, 10


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    """As on a machine without a GPU, for tests that import this fixture."""
    monkeypatch.setattr("lanner.compat.PyNvVideoCodec.devices._missing", lambda gpu: "no GPU in this test")


def write_clip(path, count=COUNT, width=WIDTH, height=HEIGHT, first=0, **options):
    """Each frame is a little brighter than the one before, with a square that moves."""
    import lanner

    with lanner.VideoWriter(path, width=width, height=height, **{"codec": "h264", "gop": GOP, "fps": 25} | options) as out:
        for number in range(first, first + count):
            y, x = np.mgrid[:height, :width]
            pixels = np.repeat((60 + 2 * number + (x + 2 * y) % 64).astype(np.uint8)[..., None], 3, axis=2)
            pixels[:8, number % (width - 8) :][:, :8] = (255, 0, 0)
            out.write(pixels)
    return str(path)


def samples_of(frame):
    """Of a frame of Lanner's, as PyNvVideoCodec lays them out."""
    return frame.contiguous("nv12").numpy()


def wanted_frames(path):
    import lanner

    return [samples_of(frame) for frame in lanner.VideoReader(path, rotate=False)]


def array_of(frame):
    """Of a DecodedFrame in host memory."""
    return np.from_dlpack(frame)


def assert_same(frames, wanted):
    assert len(frames) == len(wanted)
    for frame, other in zip(frames, wanted, strict=True):
        np.testing.assert_array_equal(array_of(frame), other)


def environment(folder, **more):
    """Without a GPU, unless `more` names a driver."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LANNER_", "LOGGER_"))}
    return {**kept, "PYTHONPATH": str(BUILD / "python"), "LANNER_CACHE_DIR": str(folder / "cache"), "LANNER_CUDA_DRIVER": "/nowhere/libcuda.so", **more}


def run_script(folder, code, *arguments, name="script.py", code_of_exit=0, **more):
    """A script under `python -m lanner.compat`, in a folder of its own; what it printed."""
    script = folder / name
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "lanner.compat", str(script), *map(str, arguments)], cwd=folder, env=environment(folder, **more), capture_output=True,
        text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == code_of_exit, done.stdout + done.stderr
    return done.stdout if code_of_exit == 0 else done.stderr
