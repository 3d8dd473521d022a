"""PyNvVideoCodec's own decoding samples, unmodified, where PYNVVIDEOCODEC_SAMPLES names the folder `samples` of its wheel."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import SECONDS
from compat_support import COUNT, HEIGHT, WIDTH, environment, wanted_frames, write_clip

pytest.importorskip("lanner")
SAMPLES = os.environ.get("PYNVVIDEOCODEC_SAMPLES")
pytestmark = pytest.mark.skipif(not SAMPLES, reason="PYNVVIDEOCODEC_SAMPLES names no folder of samples")
FRAMES = {
    "decode.py": ["-d", "0"], "decode.py -d 1": ["-d", "1"], "decode_from_memory_buffer.py": [], "decode_with_cuda_control.py": [],
    "decode_with_low_latency.py": ["-dl", "0"], "decode_with_low_latency.py -dl 1": ["-dl", "1"], "decode_with_low_latency.py -dl 2": ["-dl", "2"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("samples")
    write_clip(made / "clip.mp4")
    write_clip(made / "wide.mp4", width=96, height=32, count=9)
    if importlib.util.find_spec("torch") is None:  # Their Utils.py imports it, and names one type of it.
        (made / "stub").mkdir()
        (made / "stub" / "torch.py").write_text("class Tensor: ...\n")
    return made


def run(folder, name, *arguments):
    env = environment(folder)
    env["PYTHONPATH"] += os.pathsep + str(folder / "stub")
    command = [sys.executable, "-m", "lanner.compat", str(Path(SAMPLES) / "advanced" / name), *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0 and "unexpected error" not in done.stdout, done.stdout + done.stderr
    return done.stdout


def raw(path):
    return b"".join(frame.tobytes() for frame in wanted_frames(path))


@pytest.mark.parametrize("name", FRAMES)
def test_sample_writes_the_frames(folder, name):
    run(folder, name.split()[0], "-i", "clip.mp4", "-o", "out.yuv", *FRAMES[name])
    assert (folder / "out.yuv").read_bytes() == raw(folder / "clip.mp4")


def test_sample_decode_reconfigure(folder):
    run(folder, "decode_reconfigure.py", "-i1", "clip.mp4", "-i2", "wide.mp4", "-o1", "one.yuv", "-o2", "two.yuv")
    assert (folder / "one.yuv").read_bytes() == raw(folder / "clip.mp4") and (folder / "two.yuv").read_bytes() == raw(folder / "wide.mp4")


def test_sample_decode_sei_msg(folder):
    assert "SEI message written to" in run(folder, "decode_sei_msg.py", "-i", "clip.mp4", "-s", "sei.bin", "-st", "types.bin")
    assert b"x264" in (folder / "sei.bin").read_bytes()


def test_sample_simple_decode_from_memory(folder):
    shown = run(folder, "simple_decode_from_memory.py", "-i", "clip.mp4")
    assert shown.count(f"Total frames     : {COUNT}") == 5 and f"NV12 buffer shape=({HEIGHT * 3 // 2}, {WIDTH})" in shown


def test_sample_simple_decode_stats(folder):
    assert "no decode statistics" in run(folder, "simple_decode_stats.py", "-i", "clip.mp4", "-p", "stats.txt")


@pytest.mark.parametrize("mode", ["thread", "process"])
def test_sample_decode_perf(folder, mode):
    assert "Total FPS" in run(folder, "decode_perf.py", "-i", "clip.mp4", "-n", "2", "-m", mode)
