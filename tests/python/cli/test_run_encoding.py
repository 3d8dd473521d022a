"""lanner run -o: codec, quality, rate and what is copied, as lanner transcode has them; effects are read from the file."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from command import leftovers, make_clip, make_ppm, refuse, succeed
from PIL import Image
from run_support import run, video  # noqa: F401

needs_ffmpeg = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")


@pytest.fixture
def clip(tmp_path):
    return make_clip(tmp_path, frames=12)


def written(run, clip, out, *options):
    succeed(*run, "-i", clip, "-o", out, "-q", *options)
    return video(out)


def keyframes(path):
    found = json.loads(succeed("probe", path, "--exact", "--json"))["streams"][0]["frames"]
    return found["keyframes"]


@pytest.mark.parametrize(("name", "options", "codec"), [
    ("a.mp4", ["-c:v", "hevc"], "hevc"),
    ("a.mkv", ["--codec", "ffv1"], "ffv1"),
    ("a.mp4", ["-c", "av1", "--codec-preset", "P1"], "av1"),
    ("a.avi", ["-c", "mjpeg"], "mjpeg"),
    ("a.webm", ["-c", "av1"], "av1"),
])  # fmt: skip
def test_codec(run, clip, tmp_path, name, options, codec):
    stream = written(run, clip, tmp_path / name, *options)
    assert (stream["codec"], stream["frames"]["count"]) == (codec, 12)


def test_quality_and_preset_are_those_of_the_stream(run, clip, tmp_path):
    """x264 writes its settings into the stream."""
    written(run, clip, tmp_path / "a.mp4", "--crf", "31", "--codec-preset", "slow", "--b-frames", "1", "--gop", "4")
    data = (tmp_path / "a.mp4").read_bytes()
    for text in (b"crf=31.0", b"bframes=1", b"keyint=4 ", b"subme=8"):
        assert text in data, text
    written(run, clip, tmp_path / "a.mp4", "--qp", "33")
    assert b"rc=cqp" in (tmp_path / "a.mp4").read_bytes()
    written(run, clip, tmp_path / "a.mp4", "-b:v", "300k", "--rate-control", "cbr")
    assert b"rc=cbr mbtree=0 bitrate=300" in (tmp_path / "a.mp4").read_bytes() or b"bitrate=300" in (tmp_path / "a.mp4").read_bytes()


@needs_ffmpeg
def test_format_and_profile(run, clip, tmp_path):
    stream = written(run, clip, tmp_path / "a.mp4", "--pixel-format", "yuv444p", "--codec-profile", "high444")
    assert stream["pixel_format"] == "yuv444p"
    stream = written(run, clip, tmp_path / "a.mp4", "--codec-profile", "main", "--codec-level", "3.1")
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", tmp_path / "a.mp4"]
    (found,) = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["streams"]
    assert (found["profile"], found["level"]) == ("Main", 31)


def test_lossless_is_of_rgb(run, clip, tmp_path):
    out = tmp_path / "a.mkv"
    yuv = ["--tuning", "lossless", "--pixel-format", "yuv420p"]
    assert "give --pixel-format rgb24" in refuse(*run, "-i", clip, "-o", out, *yuv)
    for options, codec, format in ((["--tuning", "lossless"], "h264", "gbrp"), (["-c", "ffv1"], "ffv1", "bgr0")):
        stream = written(run, clip, out, *options)
        assert (stream["codec"], stream["pixel_format"]) == (codec, format)


def test_whole_chroma_takes_odd_sizes(run, tmp_path):
    clip = make_clip(tmp_path, "odd.mkv", frames=3, width=61, height=45)
    stream = written(run, clip, tmp_path / "a.mp4", "--pixel-format", "yuv444p")
    assert (stream["width"], stream["height"]) == (61, 45)


@pytest.mark.parametrize(("options", "said"), [
    (["--crf", "20", "-b:v", "1M"], "crf 20 and bit_rate 1000000 exclude each other"),
    (["--crf", "20", "--qp", "20"], "const_qp and crf exclude each other"),
    (["--rate-control", "cbr"], "rate_control cbr needs bit_rate"),
    (["--max-bit-rate", "1M"], "max_bit_rate needs bit_rate, or crf"),
    (["--crf", "99"], "quality 99, expected 0 (best) to 51"),
    (["--codec-preset", "nosuch"], "no preset 'nosuch'; expected one of ultrafast"),
    (["-c", "nosuch"], "no encoder 'nosuch'"),
    (["-c", "ffv1", "--crf", "20"], "it has no constant quality scale"),
    (["--crf", "20", "--codec-option", "crf=21"], "crf"),
    (["--plays", "2"], "plays 2: is of GIF, APNG and WebP"),
])  # fmt: skip
def test_what_does_not_go_together_is_told_before_the_work(run, clip, tmp_path, options, said):
    assert said in refuse(*run, "-i", clip, "-o", tmp_path / "a.mp4", "--json", tmp_path / "a.jsonl", *options)
    assert leftovers(tmp_path, "clip.mp4") == []


def test_options_without_an_annotated_clip(run, clip, tmp_path):
    picture = make_ppm(tmp_path / "p.ppm")
    assert "--crf: is of the annotated clip; give -o" in refuse(*run, "-i", clip, "--crf", "20")
    assert "takes images" in refuse(*run, "-i", picture, "-o", tmp_path / "p.png", "-c", "hevc")
    assert "takes images" in refuse(*run, "-i", clip, "-o", tmp_path / "f_%d.png", "--codec-preset", "slow")
    assert "raw pixels" in refuse(*run, "-i", clip, "-o", tmp_path / "a.y4m", "--gop", "3")
    succeed(*run, "-i", clip, "-o", tmp_path / "a.y4m", "-q", "--no-audio")
    # Of several inputs the clips take them.
    succeed(*run, "-i", clip, picture, "-o", f"{tmp_path}/out/", "-q", "-c", "hevc")
    assert video(tmp_path / "out" / "clip.mp4")["codec"] == "hevc"


@needs_ffmpeg
def test_other_streams_and_tags(run, tmp_path):
    (tmp_path / "s.srt").write_text("1\n00:00:00,100 --> 00:00:00,300\nHello\n")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:d=0.4", "-f", "lavfi", "-i", "sine=d=0.4", "-i", tmp_path / "s.srt",
                    "-map", "0", "-map", "1", "-map", "2", "-metadata", "artist=Me", tmp_path / "in.mkv"], check=True)  # fmt: skip
    for options, kinds in [([], ["video", "audio", "subtitle"]), (["--no-subtitles"], ["video", "audio"]), (["--no-audio", "--no-subtitles"], ["video"])]:
        succeed(*run, "-i", tmp_path / "in.mkv", "-o", tmp_path / "out.mp4", "-q", "--metadata", "title=Marked", *options)
        found = json.loads(succeed("probe", tmp_path / "out.mp4", "--json"))
        assert [stream["kind"] for stream in found["streams"]] == kinds
        assert b"Marked" in (tmp_path / "out.mp4").read_bytes() and b"Me" in (tmp_path / "out.mp4").read_bytes()
    succeed(*run, "-i", tmp_path / "in.mkv", "-o", tmp_path / "out.mp4", "-q", "--fragmented")
    assert b"moof" in (tmp_path / "out.mp4").read_bytes()


@pytest.mark.parametrize("name", ["gif", "apng", "webp"])
def test_animations(run, tmp_path, name):
    clip = make_clip(tmp_path, "in.mkv", frames=6, rate=10, width=61, height=45)
    succeed(*run, "-i", clip, "-o", tmp_path / f"a.{name}", "-q", "--plays", 2)
    with Image.open(tmp_path / f"a.{name}") as image:
        assert (image.n_frames, image.size) == (6, (61, 45))
        assert image.info["loop"] == (1 if name == "gif" else 2)
        image.seek(5)
        image.load()
        assert image.info["duration"] == 100
        pixels = np.asarray(image.convert("RGB")).astype(int)
        assert np.ptp(pixels, axis=-1).mean() > 20  # Colours.
    assert video(tmp_path / f"a.{name}")["codec"] == name


def test_animations_by_format(run, clip, tmp_path):
    succeed(*run, "-i", clip, "-o", tmp_path / "a.png", "--format", "apng", "-q")
    with Image.open(tmp_path / "a.png") as image:
        assert image.n_frames == 12
    succeed(*run, "-i", clip, "-o", f"{tmp_path}/out/", "--format", "gif", "-q", "--fps", "5")
    with Image.open(tmp_path / "out" / "clip.gif") as image:
        assert image.n_frames == 3
