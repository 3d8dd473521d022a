"""PyNvVideoCodec's own samples, unmodified, where PYNVVIDEOCODEC_SAMPLES names the folder `samples` of its wheel."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command import SECONDS
from compat_support import COUNT, HEIGHT, WIDTH, environment, wanted_frames, write_clip

lanner = pytest.importorskip("lanner")
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
    command = [sys.executable, "-m", "lanner.compat", str(Path(SAMPLES) / (name if "/" in name else f"advanced/{name}")), *arguments]
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


ENCODERS = {
    "h264": {"codec": "h264", "preset": "P3", "tuning_info": "low_latency", "rc": "cbr", "fps": 30, "gop": 30, "bf": 1, "bitrate": 300000, "vbvbufsize": 100000},
    "hevc": {"codec": "hevc", "preset": "P1", "rc": "vbr", "fps": 30, "gop": 30, "bitrate": 300000, "maxbitrate": 300000},
    "av1": {"codec": "av1", "preset": "P1", "fps": 30, "gop": 30},
}


@pytest.fixture(scope="module")
def pictures(folder):
    """NV12 of a size that each encoder takes, and settings that software follows: those of the wheel have multipass."""
    write_clip(folder / "large.mp4", width=96, height=64, count=12)
    (folder / "in.yuv").write_bytes(raw(folder / "large.mp4"))
    for name, settings in ENCODERS.items():
        (folder / f"{name}.json").write_text(json.dumps(settings))
    return ["-i", "in.yuv", "-s", "96x64"]


def assert_pictures(folder, path):
    found = np.frombuffer(raw(folder / path), np.uint8).astype(int)
    assert np.abs(found - np.fromfile(folder / "in.yuv", np.uint8)).mean() < 4


@pytest.mark.parametrize("mode", ["cpu", "gpu"])
@pytest.mark.parametrize("codec", ENCODERS)
def test_sample_encode(folder, pictures, codec, mode):
    shown = run(folder, "basic/encode.py", *pictures, "-m", mode, "-json", f"{codec}.json", "-o", f"out.{codec}")
    assert "Completed encoding 12 frames" in shown
    assert_pictures(folder, f"out.{codec}")


@pytest.mark.parametrize("codec", ENCODERS)
def test_sample_encode_into_a_container(folder, pictures, codec):
    run(folder, "basic/encode.py", *pictures, "-m", "cpu", "-json", f"{codec}.json", "-o", f"{codec}.mp4")
    assert_pictures(folder, f"{codec}.mp4")
    np.testing.assert_allclose(lanner.VideoReader(folder / f"{codec}.mp4").times(), np.arange(12) / 30, atol=1e-3)


@pytest.mark.parametrize("codec", ["H264", "HEVC"])
def test_sample_transcode(folder, codec):
    """Its own settings, with sound; it asks the encoder how many B pictures its preset has."""
    made = subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", folder / "clip.mp4", "-f", "lavfi", "-i", "sine=d=1.2", "-c:v", "copy", "-c:a", "aac", folder / "sound.mp4"],
                          capture_output=True, check=False)  # fmt: skip
    if made.returncode:
        pytest.skip("ffmpeg with aac is not here")
    assert "TRANSCODE COMPLETE" in run(folder, "transcode.py", "-i", "sound.mp4", "-o", f"new_{codec}.mp4", "-c", codec)
    assert lanner.VideoReader(folder / f"new_{codec}.mp4").times() == lanner.VideoReader(folder / "sound.mp4").times()
    assert [stream.kind for stream in lanner.Demuxer(folder / f"new_{codec}.mp4").streams] == ["video", "audio"]


def test_sample_encode_as_the_wheel_configures_it(folder, pictures):
    run(folder, "basic/encode.py", *pictures, "-m", "gpu", "-c", "hevc", "-o", "wheel.hevc")
    assert_pictures(folder, "wheel.hevc")


def test_sample_encode_reconfigure(folder, pictures):
    assert "multipass full_resolution: only NVENC" in run(folder, "encode_reconfigure.py", *pictures, "-o", "none.h264")
    assert "Completed encoding 12 frames" in run(folder, "encode_reconfigure.py", *pictures, "-json", "h264.json", "-o", "changed.h264")
    assert_pictures(folder, "changed.h264")


def test_sample_encode_sei_msg(folder, pictures):
    assert "with SEI messages" in run(folder, "encode_sei_msg.py", *pictures, "-json", "h264.json", "-o", "sei.h264")
    assert (folder / "sei.h264").read_bytes().count(bytes([0x12, 0x67, 0x56, 0xDA, 0xEF])) == 12
    assert_pictures(folder, "sei.h264")


def test_sample_encode_perf(folder, pictures):
    assert "Total FPS" in run(folder, "encode_perf.py", *pictures, "-json", "h264.json", "-n", "2", "-m", "thread")


def test_sample_create_video_segments(folder):
    (folder / "parts.txt").write_text("0.2 0.6\n0.4 9\n")
    shown = run(folder, "basic/create_video_segments.py", "-i", "clip.mp4", "-s", "parts.txt", "-o", "part.mp4")
    assert "2 segments created successfully" in shown
    assert [len(lanner.VideoReader(folder / name)) for name in ("part_0.2_0.6.mp4", "part_0.4_1.2.mp4")] == [10, 20]
