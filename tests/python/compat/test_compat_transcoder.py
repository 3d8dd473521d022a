"""Transcoder: a clip written again, whole and in parts, with its sound; what it refuses."""

import json
import subprocess

import numpy as np
import pytest

from compat_support import COUNT, HEIGHT, WIDTH, write_clip
from compat_support import on_the_cpu as on_the_cpu

lanner = pytest.importorskip("lanner")
nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("transcoder")


@pytest.fixture(scope="module")
def clip(folder):
    return write_clip(folder / "clip.mp4")


@pytest.fixture(scope="module")
def with_sound(folder, clip):
    path = folder / "sound.mp4"
    made = subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-i", clip, "-f", "lavfi", "-i", "sine=d=1.2", "-c:v", "copy", "-c:a", "aac", "-shortest", str(path)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("ffmpeg with aac is not here")
    return str(path)


def streams(path):
    done = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-of", "json", str(path)], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["streams"]


def lumas(path):
    return [int(frame.contiguous("nv12").numpy()[16:HEIGHT].mean()) for frame in lanner.VideoReader(path)]


def test_transcode_with_mux(folder, with_sound):
    out = folder / "whole.mp4"
    assert nvc.Transcoder(with_sound, str(out), 0, 0, 0, codec="hevc", preset="P1", GOP="6", bf=1).transcode_with_mux() is None
    video, sound = streams(out)
    assert (video["codec_name"], sound["codec_name"], video["width"], int(video["nb_frames"])) == ("hevc", "aac", WIDTH, COUNT)
    assert lanner.VideoReader(out).times() == lanner.VideoReader(with_sound).times()
    assert np.allclose(lumas(out), lumas(with_sound), atol=2)
    assert nvc.CreateDemuxer(str(out)).Demux().key == 1
    keys = [number for number, packet in enumerate(nvc.CreateDemuxer(str(out))) if packet.key]
    assert keys == list(range(0, COUNT, 6))


def test_segments_begin_with_an_idr_and_have_names_of_their_own(folder, with_sound):
    transcoder = nvc.CreateTranscoder(with_sound, str(folder / "part.mp4"), 0, 0, 0, {"preset": "p1", "bf": "3", "tuning_info": "high_quality"})
    wanted = lumas(with_sound)
    for start, end, name in [(0.2, 0.6, "part_0.2_0.6.mp4"), (0, 0.4, "part_0_0.4.mp4"), (np.float32(0.5), 1, "part_0.5_1.mp4")]:
        transcoder.segmented_transcode(start, end)
        path = folder / name
        first, last = round(float(start) * 25), round(float(end) * 25)
        assert np.allclose(lumas(path), wanted[first:last], atol=2)
        assert nvc.CreateDemuxer(str(path)).Demux().key == 1 and [one["codec_type"] for one in streams(path)] == ["video", "audio"]
    assert not (folder / "part.mp4").exists()


def test_quality_is_constant_unless_a_rate_is_given(folder, clip):
    sizes = []
    for keywords in ({}, {"constqp": 45}, {"constqp": 10}, {"bitrate": "400K"}):
        nvc.Transcoder(clip, str(folder / "rate.mkv"), 0, 0, 0, **keywords).transcode_with_mux()
        sizes.append((folder / "rate.mkv").stat().st_size)
    assert sizes[1] < sizes[0] < sizes[2] and 40_000 < sizes[3] < 90_000  # cbr fills its rate.


@pytest.mark.parametrize(
    ("keywords", "line"),
    [({"fps": 30}, "each frame keeps its own time"), ({"max_res": [64, 64]}, "unknown keyword 'max_res'"), ({"nonsense": 1}, "unknown keyword 'nonsense'"),
     ({"codec": "vp9"}, "expected one of h264, hevc, av1"), ({"multipass": "fullres"}, "only NVENC"), ({"initqp": 3}, "only NVENC")],
)  # fmt: skip
def test_refused_keywords_say_why(folder, clip, keywords, line):
    out = folder / "never.mp4"
    with pytest.raises(nvc.PyNvVCException, match=line) as caught:
        nvc.Transcoder(clip, str(out), 0, 0, 0, **keywords).transcode_with_mux()
    assert len(str(caught.value).splitlines()) == 1 and not out.exists()


def test_what_does_not_fit_raises_in_one_line(folder, clip):
    transcoder = nvc.Transcoder(clip, str(folder / "never.mp4"), 0, 0, 0)
    for start, end in [(1, 0), (-1, 1), (0, 0), (0, float("inf")), (float("nan"), 1), (50, 60)]:
        with pytest.raises(nvc.PyNvVCException):
            transcoder.segmented_transcode(start, end)
    for call in (lambda: transcoder.segmented_transcode("0", 1), lambda: nvc.Transcoder(3, "a.mp4", 0, 0, 0), lambda: nvc.Transcoder(clip, None, 0, 0, 0),
                 lambda: nvc.CreateTranscoder(clip, "a.mp4", kwargs=3)):  # fmt: skip
        with pytest.raises(TypeError) as caught:
            call()
        assert len(str(caught.value).splitlines()) == 1
    for source, out in [("nowhere.mp4", "a.mp4"), (clip, str(folder / "a.xyz")), (clip, str(folder / "none" / "a.mp4"))]:
        with pytest.raises(nvc.PyNvVCException):
            nvc.Transcoder(source, out, 0, 0, 0).transcode_with_mux()
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="there is no such GPU"):
        nvc.Transcoder(clip, "a.mp4", 3, 0, 0)
    assert not list(folder.glob("never*")) and not list(folder.glob("a.*"))


def test_media_formats():
    assert [nvc.GetMediaFormat(name) for name in ("a.mp4", "B.MOV", "c.webm", "d.h264")] == [nvc.MEDIA_FORMAT.MP4, nvc.MOV, nvc.WEBM, nvc.ELEMENTARY]
    with pytest.raises(nvc.PyNvVCExceptionUnsupported, match="'.mkv' of 'a.mkv' has no MEDIA_FORMAT"):
        nvc.GetMediaFormat("a.mkv")
