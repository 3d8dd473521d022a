"""lanner transcode: times, turned clips and damage."""

import json
import re
import struct

import numpy as np
import pytest

import lanner
from command import DATA, leftovers, make_clip, make_y4m, refuse, succeed


def frames_of(path):
    """Container's frame rate and the time of each frame."""
    found = json.loads(succeed("probe", path, "--exact", "--json"))
    video = next(stream for stream in found["streams"] if stream["kind"] == "video")
    num, den = video["frames"]["time_base"]
    return video["fps"], [pts * num / den for pts in video["frames"]["pts"]]


def test_joined_files_go_on_behind_each_other(tmp_path):
    first, second = (make_clip(tmp_path, f"{i}.ts", frames=frames) for i, frames in enumerate((30, 10)))
    joined = tmp_path / "joined.ts"
    joined.write_bytes(first.read_bytes() + second.read_bytes())
    for name, codec in (("out.mp4", "h264"), ("out4.mp4", "mpeg4"), ("out.mkv", "mpeg2")):
        succeed("transcode", joined, tmp_path / name, "-c:v", codec)
        fps, times = frames_of(tmp_path / name)
        assert fps == pytest.approx(25) and len(times) == 40
        np.testing.assert_allclose(np.diff(times), 1 / 25, atol=1.1e-3)


def test_times_of_the_clip_are_kept(tmp_path):
    clip = make_clip(tmp_path, "clip.ts", frames=9)
    succeed("transcode", clip, tmp_path / "out.mkv")
    np.testing.assert_allclose(frames_of(tmp_path / "out.mkv")[1], frames_of(clip)[1], atol=1e-3)


def test_frames_before_zero_are_shown(tmp_path):
    """A transport stream whose clock wraps begins before 0, which no player of an MP4 shows."""
    clip = DATA.parent / "found" / "video" / "wrap33.ts"
    if not clip.exists():
        pytest.skip("no clips at ../shared/found")
    for name in ("out.mp4", "out.mkv", "out.mov"):
        succeed("transcode", clip, tmp_path / name)
        times = [frame.seconds for frame in lanner.VideoReader(tmp_path / name)]
        assert len(times) == 50 and times[0] == pytest.approx(0, abs=0.05)
        np.testing.assert_allclose(np.diff(times), 1 / 25, atol=1.1e-3)


@pytest.mark.parametrize("source", ["clip.mp4", "clip.mkv", "clip.ts", "clip.avi"])
@pytest.mark.parametrize("codec", ["h264", "mpeg4"])
def test_an_avi_shows_each_frame_for_one_tick(tmp_path, source, codec):
    clip = make_clip(tmp_path, source, frames=14)
    succeed("transcode", clip, tmp_path / "out.avi", "-c:v", codec)
    stream = json.loads(succeed("probe", tmp_path / "out.avi", "--json"))["streams"][0]
    assert stream["fps"] == 25 and stream["frames_by_container"] == 14
    assert stream["duration"] == pytest.approx(14 / 25)
    succeed("transcode", tmp_path / "out.avi", tmp_path / "back.mkv")
    times = frames_of(tmp_path / "back.mkv")[1]
    assert len(times) == 14
    np.testing.assert_allclose(np.diff(times), 1 / 25, atol=1.1e-3)


def make_deep_clip(path, width=64, height=48, frames=3):
    """Noise of 10 bits: what is interpolated would be seen."""
    draw = np.random.default_rng(5)
    source = path.with_suffix(".y4m")
    with open(source, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420p10 XYSCSS=420P10\n".encode())
        for _ in range(frames):
            samples = draw.integers(64, 940, width * height * 3 // 2, np.uint16)
            file.write(b"FRAME\n" + samples.astype("<u2").tobytes())
    succeed("transcode", source, path, "--crf", "30")
    source.unlink()
    return path


def turn(path, degrees):
    """Sets the display matrix of an MP4 (ISO/IEC 14496-12, tkhd version 0)."""
    one = 1 << 16
    matrix = {90: (0, one, -one, 0), 180: (-one, 0, 0, -one), 270: (0, -one, one, 0)}[degrees]
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    struct.pack_into(">9i", data, at, matrix[0], matrix[1], 0, matrix[2], matrix[3], 0, 0, 0, 1 << 30)
    path.write_bytes(data)


def planes(path, folder, width, height):
    succeed("decode", path, "-o", folder / "raw", "--format", "yuv420p10", "--device", "cpu")
    frames = np.fromfile(folder / "raw", "<u2").reshape(-1, width * height * 3 // 2)
    luma, u, v = np.split(frames, [width * height, width * height * 5 // 4], axis=1)
    return [luma.reshape(-1, height, width), u.reshape(-1, height // 2, width // 2), v.reshape(-1, height // 2, width // 2)]


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_clip_comes_out_upright_and_whole(tmp_path, degrees):
    clip = make_deep_clip(tmp_path / "clip.mp4")
    stored = planes(clip, tmp_path, 64, 48)
    turn(clip, degrees)
    succeed("transcode", clip, tmp_path / "out.mkv", "-c:v", "ffv1")
    stream = json.loads(succeed("probe", tmp_path / "out.mkv", "--json"))["streams"][0]
    width, height = (64, 48) if degrees == 180 else (48, 64)
    assert (stream["width"], stream["height"], stream["rotation"]) == (width, height, 0)
    assert (stream["pixel_format"], stream["bit_depth"]) == ("yuv420p10le", 10)
    shown = planes(tmp_path / "out.mkv", tmp_path, width, height)
    for k, (before, after) in enumerate(zip(stored, shown, strict=True)):
        if k > 0 and degrees == 180:
            continue  # Chroma at the left would be at the right, which no stream can say.
        np.testing.assert_array_equal(np.rot90(before, -degrees // 90, axes=(1, 2)), after)


@pytest.mark.parametrize("degrees", [90, 270])
def test_where_chroma_lies_turns_with_the_picture(tmp_path, degrees):
    clip = make_deep_clip(tmp_path / "clip.mp4")
    turn(clip, degrees)
    succeed("transcode", clip, tmp_path / "out.mp4")
    stream = json.loads(succeed("probe", tmp_path / "out.mp4", "--json"))["streams"][0]
    assert stream["color"]["siting"] == {90: "top", 270: "bottom"}[degrees]


def test_a_picture_of_a_turned_clip_is_upright(tmp_path):
    lanner = pytest.importorskip("lanner")
    clip = make_clip(tmp_path, frames=3)
    succeed("decode", clip, "--frames", "1", "-o", tmp_path / "stored.png")
    turn(clip, 90)
    succeed("decode", clip, "--frames", "1", "-o", tmp_path / "one.png")
    succeed("decode", clip, "-o", tmp_path / "%d.png")
    stored, one, numbered = (np.asarray(lanner.load_image(tmp_path / name).to_rgb()).astype(int) for name in ("stored.png", "one.png", "1.png"))
    assert one.shape == (64, 48, 3) and np.abs(np.rot90(stored, -1) - one).mean() < 2
    np.testing.assert_array_equal(one, numbered)


def test_encoders_say_what_they_refuse_in_one_line(tmp_path):
    source = make_y4m(tmp_path / "in.y4m", frames=2)
    out = tmp_path / "out.mkv"
    assert "no preset 'nosuch'; expected one of ultrafast" in refuse("transcode", source, out, "--preset", "nosuch")
    assert "quality 99, expected 0 (best) to 51 for h264" in refuse("transcode", source, out, "--crf", "99")
    assert "expected even sizes" in refuse("transcode", make_y4m(tmp_path / "odd.y4m", width=65), out, "-c:v", "libsvtav1")
    assert leftovers(tmp_path, "in.y4m", "odd.y4m") == []
    succeed("transcode", source, out, "--preset", "Medium", "--crf", "51")


def test_av1_takes_odd_sizes(tmp_path):
    source = make_y4m(tmp_path / "in.y4m", frames=2, width=67, height=49)
    succeed("transcode", source, tmp_path / "out.mkv", "-c:v", "av1")
    stream = json.loads(succeed("probe", tmp_path / "out.mkv", "--json"))["streams"][0]
    assert (stream["codec"], stream["width"], stream["height"]) == ("av1", 67, 49)


def noise(folder, codec):
    """Twenty frames, each on its own."""
    width, height, draw = 96, 64, np.random.default_rng(3)
    with open(folder / "noise.y4m", "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg\n".encode())
        for _ in range(20):
            file.write(b"FRAME\n" + draw.integers(0, 256, width * height * 3 // 2, np.uint8).tobytes())
    clip = folder / f"{codec}.mkv"
    succeed("transcode", folder / "noise.y4m", clip, "-c:v", codec, "--gop", "1")
    (folder / "noise.y4m").unlink()
    return clip


def damage(clip, whole, at):
    data = bytearray(whole)
    data[at : at + 300] = bytes(byte ^ 0x5A for byte in data[at : at + 300])
    clip.write_bytes(data)


def concealed(clip):
    """Number of the first frame that the decoder marks, None where it notices nothing or gives no frame at all."""
    frames = list(pytest.importorskip("lanner").VideoReader(clip, threads=1))
    return next((frame.index for frame in frames if frame.corrupt), None) if len(frames) == 20 else None


def test_the_damaged_frame_and_the_way_on_are_in_the_message(tmp_path):
    lanner = pytest.importorskip("lanner")
    clip, out = noise(tmp_path, "h264"), tmp_path / "out.mkv"
    whole = clip.read_bytes()
    for at in range(len(whole) // 2, len(whole) - 300, 211):  # A decoder takes some damage for pictures.
        damage(clip, whole, at)
        if (number := concealed(clip)) is not None:
            break
    assert number > 5
    for arguments in (["transcode", clip, out], ["decode", clip, "--device", "cpu", "-o", tmp_path / "out.yuv"], ["decode", clip, "--device", "cpu", "--frames", "0:20"]):
        message = refuse(*arguments, "--threads", "1")
        found = re.search(r"h264\.mkv: frame (\d+) \((\d\.\d{3}) s\): decode: h264: .*; --conceal goes on", message)
        assert found and (int(found[1]), float(found[2])) == (number, pytest.approx(number / 25, abs=2e-3)), message
        assert leftovers(tmp_path, "h264.mkv") == []
    with pytest.raises(lanner.Error, match=rf"^frame {number} \("):
        list(lanner.VideoReader(clip, threads=1, raise_on_error=True))
    assert succeed("transcode", clip, out, "--conceal") == ""
    assert len(frames_of(out)[1]) == 20


def test_damage_of_an_unknown_frame_tells_the_one_before(tmp_path):
    clip = noise(tmp_path, "png")
    whole = clip.read_bytes()
    damage(clip, whole, len(whole) // 2)
    found = re.search(r"behind frame (\d+): decode: png: .*; --conceal goes on", refuse("transcode", clip, tmp_path / "out.mkv"))
    assert found and 5 < int(found[1]) < 11
    succeed("transcode", clip, tmp_path / "out.mkv", "--conceal")
    assert len(frames_of(tmp_path / "out.mkv")[1]) in range(17, 21)


def codec_of(path):
    return json.loads(succeed("probe", path, "--json"))["streams"][0]["codec"]


def test_the_container_says_the_codec_where_nobody_does(tmp_path):
    clip = make_y4m(tmp_path / "clip.y4m", frames=3)
    for name, codecs in (("a.webm", {"vp9", "av1"}), ("a.avi", {"mpeg4"}), ("a.mp4", {"h264"}), ("a.mkv", {"h264"})):
        succeed("transcode", clip, tmp_path / name)
        assert codec_of(tmp_path / name) in codecs
    succeed("transcode", clip, tmp_path / "b.avi", "-c:v", "mjpeg")
    assert codec_of(tmp_path / "b.avi") == "mjpeg"
    for options in (["-b:v", "200k"], ["--crf", "40"]):
        succeed("transcode", clip, tmp_path / "c.webm", *options)
        assert codec_of(tmp_path / "c.webm") in {"vp9", "av1"}
    succeed("transcode", clip, tmp_path / "d.avi", "-b:v", "200k")
    assert codec_of(tmp_path / "d.avi") == "mpeg4"


def test_h264_in_avi_has_times(tmp_path):
    """Its packets tell when they are decoded alone: frames follow one another."""
    clip = make_y4m(tmp_path / "clip.y4m", frames=20)
    succeed("transcode", clip, tmp_path / "clip.avi", "-c:v", "h264")
    assert codec_of(tmp_path / "clip.avi") == "h264"
    fps, times = frames_of(tmp_path / "clip.avi")
    assert fps == 25
    np.testing.assert_allclose(times, np.arange(20) / 25)
    lanner = pytest.importorskip("lanner")
    with lanner.VideoReader(tmp_path / "clip.avi") as video:
        linear = [frame.pts for frame in video]
        assert linear == [video[n].pts for n in range(20)] == list(range(20))


@pytest.mark.parametrize("name", ["out.webm", "out.avi", "out.mp4", "out.mjpeg"])
@pytest.mark.parametrize("options", [{"const_qp": 30}, {"tuning": "lossless"}, {"rate_control": "constqp", "const_qp": 30}, {"rate_control": "cbr", "bit_rate": 300_000}])
def test_what_is_asked_of_quality_wins_over_a_containers_own(tmp_path, name, options):
    """It is followed, or the encoder says what it lacks: what the container's defaults are nobody asked for."""
    clip = make_clip(tmp_path, frames=3)
    try:
        lanner.transcode(clip, tmp_path / name, **options)
    except lanner.Error as error:
        assert next(iter(options)) in str(error) and not re.search("exclude|leave out", str(error)), error
