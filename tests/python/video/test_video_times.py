"""Times, rates and durations: what the index knows better than the container."""

import json

import pytest

from command import DATA, make_clip, refuse, succeed
from picture_files import write_gif, write_png
from run_support import numbers, run, video  # noqa: F401

lanner = pytest.importorskip("lanner")

FOUND = DATA.parent / "found" / "video"


def found(name):
    if not (FOUND / name).exists():
        pytest.skip("no clips at ../shared/found")
    return FOUND / name


def test_one_field_a_sample():
    video = lanner.VideoReader(found("paff_fields_as_samples.mp4"))
    assert (len(video), video[10].pts, video.fps) == (20, 36000, 25)
    assert [frame.pts for frame in lanner.VideoReader(found("paff_fields_as_samples.mp4"))] == video.pts()


def test_duration_is_from_the_first_frame_on():
    assert lanner.VideoReader(found("e15_start.mkv")).duration == pytest.approx(4.0)


def test_variable_rate():
    video = lanner.VideoReader(found("e16_vfr.mp4"))
    assert video.duration == pytest.approx(3.94)
    assert video.fps == pytest.approx(83 / 3.94)
    assert video[30].duration == 1280
    assert [frame.duration for frame in lanner.VideoReader(found("e16_vfr.mp4"))] == [frame.duration for frame in video[:]]
    assert [frame.duration for frame in lanner.VideoReader(found("e16_vfr.mp4"), prefetch=3)][30] == 1280


def test_a_gif_has_its_own_durations(tmp_path):
    clip = write_gif(tmp_path / "a.gif", [(9 * number, 0, 0) for number in range(5)], [10, 50, 10, 20, 150])
    video = lanner.VideoReader(clip)
    assert video.duration == pytest.approx(2.4) and video.fps == pytest.approx(5 / 2.4)
    assert [frame.duration for frame in video] == [10, 50, 10, 20, 150]
    succeed("transcode", clip, tmp_path / "a.mp4")
    written = lanner.VideoReader(tmp_path / "a.mp4")
    assert written.duration == pytest.approx(2.4, abs=0.011)
    assert written[4].duration / written.stream.time_base.denominator == pytest.approx(1.5, abs=0.011)


def test_a_steady_rate_is_exact(tmp_path):
    clip = make_clip(tmp_path, "a.mkv", frames=20, rate=30)
    assert lanner.VideoReader(clip).fps == 30


def test_negative_times():
    video = lanner.VideoReader(found("negative_pts.mkv"))
    assert [frame.pts for frame in video] == lanner.VideoReader(found("negative_pts.mkv")).pts()
    assert next(iter(lanner.VideoReader(found("negative_pts.mkv")))).pts == -700


def test_one_time_that_falls(tmp_path):
    clip = found("d_gap.ts")
    video = lanner.VideoReader(clip)
    assert video.index_at(3.0) >= 0
    assert len(video.sample(fps=5)) > 10
    succeed("decode", clip, "--conceal", "--at", "3", "-o", tmp_path / "a.png")


class TestAnimated:
    @pytest.mark.parametrize("write", [write_gif, write_png])
    def test_is_a_clip_of_run(self, run, tmp_path, write):  # noqa: F811
        colors = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 0, 0)]
        clip = write(tmp_path / "a.picture", colors, *([[10] * 4] if write is write_gif else []))
        assert numbers(run, "-i", clip) == [0, 1, 2, 3]
        said = [json.loads(line) for line in succeed(*run, "-i", clip, "--json", "-").splitlines()]
        assert [row["top"][0]["label"] for row in said] == ["red", "green", "blue", "red"]

    @pytest.mark.parametrize("write", [write_gif, write_png])
    def test_one_picture_stays_an_image(self, tmp_path, write):
        picture = write(tmp_path / "a.picture", [(250, 0, 0)], *([[10]] if write is write_gif else []))
        assert "image, 8x8" in succeed("probe", picture)

    def test_six_answers(self, run):  # noqa: F811
        assert numbers(run, "-i", found("g_pause.gif")) == list(range(6))


class TestMessages:
    def test_standard_input(self, tmp_path):
        clip = make_clip(tmp_path, frames=4)
        with open(clip, "rb") as file:
            assert succeed("decode", "-", "--md5", stdin=file) == succeed("decode", clip, "--md5")
        with open(clip, "rb") as file:
            succeed("transcode", "-", tmp_path / "b.mp4", stdin=file)
        assert "/dev/stdin" in refuse("probe", "-")

    @pytest.mark.parametrize("command", ["decode", "probe", "bench"])
    def test_addresses(self, command):
        said = refuse(command, "https://example.com/clip.mp4")
        assert "https:// is an address" in said and "ffmpeg" in said

    def test_addresses_in_python(self):
        with pytest.raises(lanner.NotFound, match="rtsp:// is an address"):
            lanner.VideoReader("rtsp://camera/1")

    def test_a_codec_without_a_decoder(self, tmp_path):
        clip = make_clip(tmp_path, frames=4)
        clip.write_bytes(clip.read_bytes().replace(b"avc1", b"vvc1").replace(b"avcC", b"vvcC"))
        said = refuse("decode", clip, "--md5")
        assert "VVC" in said and "libx264" in said

    def test_a_size_that_changes(self, tmp_path):
        said = refuse("transcode", found("size_change.mp4"), tmp_path / "a.mp4", "--on-size-change", "error")
        assert "frame 25 (1.000 s) is 64x96, those before are 96x64" in said and "scale or pad" in said
        assert list(tmp_path.iterdir()) == []
