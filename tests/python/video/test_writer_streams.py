"""VideoWriter: frames' own times, other streams copied, outputs that are no file."""

import io
import json
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")
from command import make_clip

needs_ffmpeg = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
BLACK = np.zeros((48, 64, 3), np.uint8)


def open_writer(path, **options):
    return lanner.VideoWriter(path, width=64, height=48, **options)


def ffprobe(path):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_format", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def times(path):
    return lanner.VideoReader(path).times()


def test_frames_are_shown_at_their_own_times(tmp_path):
    clip = lanner.VideoReader(make_clip(tmp_path, frames=12))
    with open_writer(tmp_path / "out.mp4") as out:
        for frame in clip[::2]:
            out.write(frame)
        assert out.notes == []
    assert times(tmp_path / "out.mp4") == clip.times()[::2]


def test_an_image_of_a_frame_has_no_time(tmp_path):
    clip = lanner.VideoReader(make_clip(tmp_path, frames=12))
    with open_writer(tmp_path / "out.mp4", fps=10) as out:
        for frame in clip[::2]:
            out.write(frame.image)
    assert times(tmp_path / "out.mp4") == pytest.approx([i / 10 for i in range(6)])


def test_times_by_hand(tmp_path):
    with open_writer(tmp_path / "out.mp4", fps=25) as out:
        for tick in (0, 1, 5):
            out.write(BLACK, tick)  # Ticks of 1 / fps.
    assert times(tmp_path / "out.mp4") == pytest.approx([0, 0.04, 0.2])
    with open_writer(tmp_path / "out.mp4") as out:
        for tick in (0, 3003, 90000):
            out.write(BLACK, pts=tick, time_base=Fraction(1, 90000))
    assert times(tmp_path / "out.mp4") == pytest.approx([0, 3003 / 90000, 1])
    with open_writer(tmp_path / "out.mp4") as out:
        for second in (0, 0.1, 0.15):
            out.write(BLACK, seconds=second)
    assert times(tmp_path / "out.mp4") == pytest.approx([0, 0.1, 0.15])


@pytest.mark.parametrize("options", [{"pts": 1, "seconds": 1.0}, {"time_base": Fraction(1, 25)}, {"pts": 1, "time_base": Fraction(0)}, {"pts": "x"}])
def test_times_that_make_no_sense(tmp_path, options):
    out = open_writer(tmp_path / "out.mp4")
    with pytest.raises((TypeError, lanner.InvalidArgument)):
        out.write(BLACK, **options)


def test_clips_one_after_the_other(tmp_path):
    clip = lanner.VideoReader(make_clip(tmp_path, frames=5))
    with open_writer(tmp_path / "out.mp4") as out:
        for _ in range(2):
            for frame in clip:
                out.write(frame)
        assert len(out.notes) == 1 and out.notes[0].startswith("frame 5: its timestamp 0.000 s is not after 0.160 s")
    assert times(tmp_path / "out.mp4") == pytest.approx([i / 25 for i in range(10)])


def test_quality_out_of_range_is_told_at_once(tmp_path):
    for codec, most in (("h264", 51), ("hevc", 51), ("av1", 63), ("vp9", 63)):
        with pytest.raises(lanner.InvalidArgument, match=f"quality 500, expected 0 .* to {most} for {codec}"):
            open_writer(tmp_path / "out.mkv", codec=codec, crf=500)
    assert list(tmp_path.iterdir()) == []


def test_a_file_object_gets_fragments(tmp_path):
    out = io.BytesIO()
    with lanner.VideoWriter(out, width=64, height=48) as writer:
        for _ in range(3):
            writer.write(BLACK)
    assert out.getvalue()[4:8] == b"ftyp" and b"moof" in out.getvalue()
    assert len(lanner.VideoReader(out.getvalue())) == 3
    with (tmp_path / "x.mkv").open("wb") as file, lanner.VideoWriter(file, width=64, height=48) as writer:
        writer.write(BLACK)
    assert (tmp_path / "x.mkv").read_bytes()[:4] == b"\x1a\x45\xdf\xa3"


@pytest.mark.parametrize("codec", ["libaom-av1", "librav1e", "libsvtav1"])
def test_av1_reaches_a_pipe_in_matroska(codec):
    """Its headers have to be in front, though some encoders have them in the first packet alone; audio, which is ready before, waits for it."""
    file = io.BytesIO()
    try:
        with lanner.VideoWriter(file, width=128, height=96, fps=25, codec=codec, container="matroska", audio_sample_rate=48000) as out:
            for i in range(4):
                out.write_audio(np.zeros((2, 1920), np.float32))
                out.write(np.full((96, 128, 3), 60 * i, np.uint8))
    except lanner.Unsupported as error:
        pytest.skip(str(error))
    assert len(lanner.VideoReader(file.getvalue())) == 4
    assert lanner.AudioReader(file.getvalue()).num_samples >= 4 * 1920


def test_what_a_file_object_raises_is_raised():
    class Full:
        def write(self, data):
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"), lanner.VideoWriter(Full(), width=64, height=48) as writer:
        writer.write(BLACK)


def test_fragmented_files(tmp_path):
    for name, fragmented in (("a.mp4", True), ("b.mp4", False)):
        with open_writer(tmp_path / name, fragmented=fragmented) as out:
            out.write(BLACK)
        assert (b"moof" in (tmp_path / name).read_bytes()) == fragmented
        assert len(lanner.VideoReader(tmp_path / name)) == 1
    with lanner.VideoWriter(tmp_path / "d.mp4", width=64, height=48, fps=25, b_frames=2, fragmented=True) as out:
        for i in range(8):
            out.write(np.full((48, 64, 3), 30 * i, np.uint8))
    assert list(lanner.VideoReader(tmp_path / "d.mp4").times()) == pytest.approx([i / 25 for i in range(8)])
    with pytest.raises(lanner.InvalidArgument, match="fragmented: .*matroska"):
        open_writer(tmp_path / "c.mkv", fragmented=True)


@needs_ffmpeg
def test_tags_and_sound_from_another_clip(tmp_path):
    sound = tmp_path / "sound.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:d=1", "-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac",
                    "-metadata", "artist=Me", sound], check=True)  # fmt: skip
    for source in (sound, lanner.VideoReader(sound), sound.read_bytes()):
        with open_writer(tmp_path / "out.mp4", copy_from=source, copy="audio", metadata={"title": "Mine"}) as out:
            for _ in range(25):
                out.write(BLACK)
        found = ffprobe(tmp_path / "out.mp4")
        assert [s["codec_type"] for s in found["streams"]] == ["video", "audio"]
        assert found["format"]["tags"]["title"] == "Mine" and "artist" not in found["format"]["tags"]
        digests = {subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-"],
                                  capture_output=True, check=True).stdout for path in (sound, tmp_path / "out.mp4")}  # fmt: skip
        assert len(digests) == 1
    with pytest.raises(lanner.InvalidArgument, match="'video' is not one of audio"):
        open_writer(tmp_path / "out.mp4", copy_from=sound, copy=["video"])
    with pytest.raises(lanner.InvalidArgument, match="copy_from"):
        open_writer(tmp_path / "out.mp4", copy="audio")


def test_pictures_of_other_sizes(tmp_path):
    small = np.full((24, 24, 3), 200, np.uint8)
    with pytest.raises(lanner.InvalidArgument, match="frame 1 .* is 24x24, those before are 64x48"), open_writer(tmp_path / "out.mp4") as out:
        out.write(BLACK)
        out.write(small)
    with open_writer(tmp_path / "out.mp4", on_size_change="pad") as out:
        out.write(BLACK)
        out.write(small)
    shown = lanner.VideoReader(tmp_path / "out.mp4")[1].to_rgb().numpy()
    assert shown[24, 32].min() > 180 and shown[24, 4].max() < 30
    with open_writer(tmp_path / "out.mp4", on_size_change="segment") as out:
        out.write(BLACK)
        out.write(small)
    assert lanner.VideoReader(tmp_path / "out_2.mp4").width == 24


@needs_ffmpeg
def test_colours_that_were_given_stay_beside_those_of_the_first_picture(tmp_path):
    frame = lanner.VideoReader(make_clip(tmp_path, frames=1), format="yuv420p")[0]
    with open_writer(tmp_path / "out.mkv", color_primaries="bt2020", color_transfer="smpte2084") as out:
        out.write(frame)
    stream = ffprobe(tmp_path / "out.mkv")["streams"][0]
    assert (stream["color_primaries"], stream["color_transfer"]) == ("bt2020", "smpte2084")
    with open_writer(tmp_path / "out.mkv", color_range="full") as out:
        out.write(frame)
    assert ffprobe(tmp_path / "out.mkv")["streams"][0]["color_range"] == "pc"


def test_formats_by_the_names_of_ffmpeg(tmp_path):
    clip = lanner.VideoReader(make_clip(tmp_path, frames=1))
    for name, own in (("rgba", "rgba32"), ("gray", "gray8"), ("yuv420p10le", "yuv420p10"), ("bgra", "bgra32"), ("p010le", "p010"),
                      ("gbrp", "gbrp"), ("yuyv422", "yuv422p"), ("rgb48le", "rgb48"), (clip.stream.format, "yuv420p")):  # fmt: skip
        assert clip[0].to(name).format == own
        assert lanner.VideoReader(tmp_path / "clip.mp4", format=name)[0].format == own
    with pytest.raises(lanner.InvalidArgument, match="pixel format 'yuv420p99'"):
        clip[0].to("yuv420p99")
