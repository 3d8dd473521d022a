"""What users of other writers reported, rebuilt small: the file has the times, the size and the colours that were asked for, or the call says why not."""

import json
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
SIZE = {"width": 64, "height": 48}


def picture(number):
    return np.full((48, 64, 3), 20 * number % 256, np.uint8)


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True)


def video_of(path):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-select_streams", "v", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["streams"][0]


@pytest.mark.parametrize("codec", ["h264", "hevc", "mpeg4"])
def test_uneven_times_of_whole_seconds(tmp_path, codec):
    """PyAV issue 2241: durations that are not the distances of the frames."""
    times = [0, 7, 19, 20, 41, 70]
    with lanner.VideoWriter(tmp_path / "a.mp4", fps=1, codec=codec, **SIZE) as out:
        for i, time in enumerate(times):
            out.write(picture(i), time, time_base=Fraction(1))
    video = lanner.VideoReader(tmp_path / "a.mp4")
    assert video.times() == times and out.notes == []
    assert [frame.duration * frame.time_base for frame in video] == [7, 12, 1, 21, 29, 1]


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "mpeg4"), ("a.mp4", "h264"), ("a.mov", "h264"), ("a.mp4", "hevc")])
def test_a_video_that_begins_late(tmp_path, name, codec):
    """PyAV issue 2324: 1/30 s became 0.033 s, by the ticks of MP4's edit lists."""
    with lanner.VideoWriter(tmp_path / name, fps=30, codec=codec, **SIZE) as out:
        for i in range(4):
            out.write(picture(i), pts=i + 1)
    assert lanner.VideoReader(tmp_path / name).times() == pytest.approx([(i + 1) / 30 for i in range(4)], abs=1e-9)
    assert float(video_of(tmp_path / name)["start_time"]) == pytest.approx(1 / 30, abs=1e-6)


@pytest.mark.parametrize("name", ["a.mov", "a.mp4"])
def test_a_timecode_leaves_rate_and_length_alone(tmp_path, name):
    """PyAV issue 1141."""
    rate = Fraction(24000, 1001)
    with lanner.VideoWriter(tmp_path / name, fps=rate, metadata={"timecode": "00:00:41:16"}, **SIZE) as out:
        for i in range(24):
            out.write(picture(i))
    stream = video_of(tmp_path / name)
    assert (stream["avg_frame_rate"], stream["tags"]["timecode"]) == ("24000/1001", "00:00:41:16")
    assert float(stream["duration"]) == pytest.approx(24 / rate, abs=1e-3)


def test_bare_streams_with_b_frames(tmp_path):
    """OpenCV issue 25873: packets of a bare stream in MP4 got the order of decoding as times. They have no times: only decoding tells."""
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-c:v", "libx264", "-bf", "2", tmp_path / "a.h264")
    with pytest.raises(lanner.InvalidArgument, match="has no pts; mp4 needs one"):
        with lanner.Demuxer(tmp_path / "a.h264") as source, lanner.Muxer(tmp_path / "a.mp4") as out:
            number = out.copy_stream(source, 0)
            for packet in source:
                out.write(packet, stream=number)
    assert not (tmp_path / "a.mp4").exists()
    lanner.transcode(tmp_path / "a.h264", tmp_path / "a.mp4")
    assert lanner.VideoReader(tmp_path / "a.mp4").times() == pytest.approx([i / 25 for i in range(10)])


def test_equal_times_of_a_camera(tmp_path):
    """PyAV issue 1090: two frames at one time ended the file with an error of the muxer."""
    with lanner.VideoWriter(tmp_path / "a.mp4", fps=25, **SIZE) as out:
        for i, time in enumerate([0, 1, 1, 2, 3]):
            out.write(picture(i), pts=time)
    times = lanner.VideoReader(tmp_path / "a.mp4").times()
    assert len(times) == 5 and all(a < b for a, b in zip(times, times[1:]))
    assert "is not after" in out.notes[0]


def test_a_picture_of_another_size(tmp_path):
    """OpenCV issues 19670 and 23089: an empty file without a word."""
    with pytest.raises(lanner.InvalidArgument, match="picture of 63x48, the file has 64x48"):
        with lanner.VideoWriter(tmp_path / "a.avi", codec="mjpeg", **SIZE) as out:
            out.write(picture(0)[:, :63])
    assert not (tmp_path / "a.avi").exists()


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1", "vp9", "ffv1"])
def test_matrix_and_range_are_kept(tmp_path, codec):
    """torchcodec issue 1140: other ranges and matrices than the usual gave other colours."""
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=96x64:r=5:d=0.4", "-vf", "scale=out_range=full:out_color_matrix=bt709", "-pix_fmt", "yuv420p", "-color_range", "pc",
           "-colorspace", "bt709", "-c:v", "ffv1", tmp_path / "a.mkv")  # fmt: skip
    lanner.transcode(tmp_path / "a.mkv", tmp_path / "b.mkv", codec=codec)
    stream = video_of(tmp_path / "b.mkv")
    assert (stream["color_range"], stream["color_space"]) == ("pc", "bt709")
    before, after = (np.asarray(lanner.VideoReader(tmp_path / name)[0].to("rgb24")).astype(int) for name in ("a.mkv", "b.mkv"))
    assert np.abs(before - after).mean() < 4
