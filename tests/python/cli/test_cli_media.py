"""lanner probe and transcode: what is in a clip, and the same clip encoded again."""

import json
import os
import re
import threading

import pytest

from command import DATA, color_classifier, leftovers, make_clip, make_ppm, make_y4m, refuse, succeed

TORCHCODEC = DATA / "video" / "torchcodec"
needs_clips = pytest.mark.skipif(not TORCHCODEC.exists(), reason="no real clips at ../shared/data")


def probe(path, *options):
    found = json.loads(succeed("probe", path, "--json", *options))
    return found, next(stream for stream in found["streams"] if stream["kind"] == "video")


def test_probe_shows_the_encoded_properties(tmp_path):
    clip = make_clip(tmp_path, frames=30, rate=25)
    found, video = probe(clip)
    assert (found["path"], found["bytes"]) == (str(clip), clip.stat().st_size)
    assert (video["codec"], video["width"], video["height"]) == ("h264", 64, 48)
    assert (video["fps"], video["pixel_format"], video["rotation"]) == (25, "yuv420p", 0)
    assert video["layers"] == 1
    assert (video["frames"]["by"], video["frames"]["count"]) == ("packets", 30)
    assert video["frames"]["keyframes"] >= 1
    assert found["duration"] == pytest.approx(30 / 25, abs=0.05)
    text = succeed("probe", clip)
    assert "h264" in text and "64x48" in text and "30 frames" in text


def test_probe_counts_layers(tmp_path):
    clip = make_clip(tmp_path, name="clip.264", frames=10, rate=25)
    whole = clip.read_bytes()
    second = re.compile(b"\0\0\1[\x01\x41\x61]").search(whole, whole.index(b"\0\0\1\x65")).start()
    coded_slice_extension = b"\0\0\1\x74\xc0\x10\x07\x88"  # H.264 annex F: dependency_id 1, quality_id 0.
    clip.write_bytes(whole[:second] + coded_slice_extension + whole[second:])
    assert probe(clip)[1]["layers"] == 2
    assert "2 layers" in succeed("probe", clip)


def test_exact_decodes_and_lists_every_pts(tmp_path):
    clip = make_clip(tmp_path, frames=17, rate=10)
    frames = probe(clip, "--exact")[1]["frames"]
    assert (frames["by"], frames["count"], frames["corrupt"], frames["variable_rate"]) == ("decoding", 17, 0, False)
    numerator, denominator = frames["time_base"]
    assert [pts * numerator / denominator for pts in frames["pts"]] == pytest.approx([n / 10 for n in range(17)])


def test_probe_of_a_picture(tmp_path):
    found = json.loads(succeed("probe", make_ppm(tmp_path / "picture.ppm"), "--json"))
    assert (found["kind"], found["width"], found["height"]) == ("image", 20, 10)


@needs_clips
def test_probe_shows_rotation_and_transcode_makes_it_upright(tmp_path):
    source = TORCHCODEC / "nasa_13013_rotated.mp4"
    _, before = probe(source)
    assert before["rotation"] % 180 == 90
    succeed("transcode", source, tmp_path / "upright.mp4", "--preset", "ultrafast")
    _, after = probe(tmp_path / "upright.mp4")
    assert after["rotation"] == 0
    assert (after["width"], after["height"]) == (before["height"], before["width"])
    assert after["frames"]["count"] == before["frames"]["count"]
    assert after["pixel_format"] == before["pixel_format"]


@needs_clips
def test_transcode_keeps_presentation_times(tmp_path):
    source = TORCHCODEC / "test_non_zero_start.mp4"
    _, before = probe(source, "--exact")
    succeed("transcode", source, tmp_path / "again.mkv", "--preset", "ultrafast")
    _, after = probe(tmp_path / "again.mkv", "--exact")
    times = [[pts * frames["time_base"][0] / frames["time_base"][1] for pts in frames["pts"]] for frames in (before["frames"], after["frames"])]
    assert times[1] == pytest.approx(times[0], abs=0.002)


@pytest.mark.parametrize(
    ("options", "name", "codec"),
    [
        (["-c:v", "hevc"], "out.mp4", "hevc"),
        (["-c:v", "av1"], "out.mkv", "av1"),
        (["-c:v", "mpeg4", "-b:v", "400k"], "out.mp4", "mpeg4"),
        (["--codec=ffv1"], "out.mkv", "ffv1"),
        (["--crf", "40", "--gop", "5"], "out.mp4", "h264"),
    ],
)
def test_transcode_with_codecs_and_their_options(tmp_path, options, name, codec):
    source = make_y4m(tmp_path / "in.y4m", frames=11, width=96, height=80)
    assert succeed("transcode", source, tmp_path / name, *options) == ""
    _, video = probe(tmp_path / name)
    assert (video["codec"], video["frames"]["count"]) == (codec, 11)
    if "--gop" in options:
        assert video["frames"]["longest_gop"] <= 5


@pytest.mark.parametrize("codec", ["h264", "hevc", "mpeg4"])
def test_transcode_of_odd_sizes(tmp_path, codec):
    source = make_y4m(tmp_path / "in.y4m", frames=3, width=61, height=45)
    succeed("transcode", source, tmp_path / "out.mp4", "-c:v", codec)
    _, video = probe(tmp_path / "out.mp4")
    assert (video["width"], video["height"], video["frames"]["count"]) == (61, 45, 3)


def test_output_replaces_a_file_only_when_complete(tmp_path):
    source, out = make_y4m(tmp_path / "in.y4m"), tmp_path / "out.mp4"
    out.write_bytes(b"was here")
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"\0\0\0\x20ftypisom" + bytes(500))
    refuse("transcode", broken, out)
    assert out.read_bytes() == b"was here"
    succeed("transcode", source, out)
    assert probe(out)[1]["frames"]["count"] == 12
    assert leftovers(tmp_path, "in.y4m", "out.mp4", "broken.mp4") == []


def pipe_of(path, name):
    """A named pipe through which the file is sent once."""
    os.mkfifo(name)
    writer = threading.Thread(target=lambda: name.write_bytes(path.read_bytes()), daemon=True)
    writer.start()
    return name


def test_a_clip_may_come_through_a_pipe(tmp_path):
    source = make_y4m(tmp_path / "in.y4m")
    model = color_classifier(tmp_path / "c.onnx")
    run = ["run", model, "--range", "0,1", "--budget", "0", "-i"]
    assert succeed(*run, pipe_of(source, tmp_path / "a")) == succeed(*run, source)
    assert succeed("decode", pipe_of(source, tmp_path / "b"), "--md5") == succeed("decode", source, "--md5")
    succeed("transcode", pipe_of(source, tmp_path / "c"), tmp_path / "out.mp4")
    assert probe(tmp_path / "out.mp4")[1]["frames"]["count"] == 12
    picture = make_ppm(tmp_path / "p.ppm")
    assert succeed(*run, pipe_of(picture, tmp_path / "d")).splitlines()[1:] == succeed(*run, picture).splitlines()[1:]


def test_pipe_is_refused_where_a_file_is_read_twice(tmp_path):
    pipe, picture = tmp_path / "pipe", make_ppm(tmp_path / "p.ppm")
    model = color_classifier(tmp_path / "c.onnx")
    os.mkfifo(pipe)  # Nobody writes into it, so opening it would block.
    for arguments in (
        ["probe", pipe],
        ["explain", pipe],
        ["bench", pipe],
        ["verify", pipe],
        ["build", pipe, "-o", tmp_path / "x.plan"],
        ["build", model, "--weights", pipe, "-o", tmp_path / "x.plan"],
        ["run", pipe, "-i", picture],
        ["run", model, "-i", picture, "--json", tmp_path / "x.jsonl", "--truth", pipe],
    ):
        assert "is a pipe, which can be read only once" in refuse(*arguments), arguments


def test_same_input_and_output_is_refused(tmp_path):
    source = make_y4m(tmp_path / "in.y4m")
    before = source.read_bytes()
    assert "would overwrite" in refuse("transcode", source, tmp_path / "." / "in.y4m")
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-b:v", "fast"], "bit rate 'fast'"),
        (["-b:v", "4M", "--crf", "20"], "give one"),
        (["-c:v", "h265x"], "h265x"),
        (["--crf", "-3"], "--crf"),
    ],
)
def test_options_that_make_no_sense(tmp_path, options, said):
    source = make_y4m(tmp_path / "in.y4m")
    assert said in refuse("transcode", source, tmp_path / "out.mp4", *options)
    assert leftovers(tmp_path, "in.y4m") == []
