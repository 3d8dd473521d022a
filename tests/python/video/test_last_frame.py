"""The last frame keeps its own duration, also where it is not the last packet in decoding order; read back here and by ffprobe."""

import json
import shutil
import subprocess

import pytest

from picture_files import write_gif

lanner = pytest.importorskip("lanner")

DELAYS = [4, 4, 4, 8, 4, 4, 2, 4]  # Hundredths of a second; behind them comes the last.
LAST = 100
# Times where the first and the last frames are far apart.
UNEVEN = {"slow start": [50, 50, 50, 50, 4, 4, 4, 4, 4, 4], "slow end": [4, 4, 4, 4, 4, 4, 50, 50, 50, 50]}
needs_ffprobe = pytest.mark.skipif(not shutil.which("ffprobe"), reason="needs ffprobe")


def gif(tmp_path, delays):
    colors = [((90 * number) % 256, (57 * number) % 256, (31 * number) % 256) for number in range(len(delays))]
    return write_gif(tmp_path / "in.gif", colors, delays, 96, 64)


def with_b_frames(codec):
    """Options by which the last picture is not the last packet."""
    name = "x264-params" if codec == "libx264" else "x265-params"
    more = ":rc-lookahead=10:log-level=error" if codec == "libx265" else ""
    return {"codec": codec, "b_frames": 3, "codec_options": {name: f"b-adapt=0:scenecut=0{more}"}}


def transcode(clip, out, codec, **options):
    given = with_b_frames(codec)
    try:
        result = lanner.transcode(clip, out, **given, **options)
    except lanner.Unsupported as error:
        pytest.skip(str(error))
    packets = [packet.pts for packet in lanner.Demuxer(out) if packet.stream == 0]
    assert packets.index(max(packets)) < len(packets) - 1, "the last picture has to be an earlier packet"
    return result


def ffprobe(path):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_format", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def durations(path):
    """In seconds: read one after the other, and by the index."""
    found = [[float(frame.duration * frame.time_base) for frame in frames] for frames in (lanner.VideoReader(path), lanner.VideoReader(path)[:])]
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    return found[0]


CODECS = ["libx264", "libx265"]
CONTAINERS = ["mp4", "mov", "mkv"]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("codec", CODECS)
class TestOfAVaryingRate:
    def test_is_read_back(self, tmp_path, codec, container):
        out = tmp_path / f"out.{container}"
        result = transcode(gif(tmp_path, [*DELAYS, LAST]), out, codec)
        assert result.seconds == pytest.approx(1.34)
        assert not any("duration" in note for note in result.notes)
        assert durations(out) == pytest.approx([delay / 100 for delay in (*DELAYS, LAST)], abs=2e-3)
        assert lanner.VideoReader(out).duration == pytest.approx(1.34, abs=2e-3)

    @needs_ffprobe
    def test_is_in_the_containers_tables(self, tmp_path, codec, container):
        out = tmp_path / f"out.{container}"
        transcode(gif(tmp_path, [*DELAYS, LAST]), out, codec)
        facts = ffprobe(out)
        assert facts["streams"][0]["has_b_frames"] > 0
        assert float(facts["format"]["duration"]) == pytest.approx(1.34, abs=2e-3)
        if container != "mkv":  # Which has it of the whole file, and in a tag.
            assert float(facts["streams"][0]["duration"]) == pytest.approx(1.34, abs=2e-3)

    @pytest.mark.parametrize("times", UNEVEN)
    def test_uneven_times(self, tmp_path, codec, container, times):
        out, delays = tmp_path / f"out.{container}", [*UNEVEN[times], LAST]
        transcode(gif(tmp_path, delays), out, codec)
        assert durations(out) == pytest.approx([delay / 100 for delay in delays], abs=2e-3)

    def test_survives_further_generations(self, tmp_path, codec, container):
        first, second = tmp_path / f"1.{container}", tmp_path / "2.mkv"
        transcode(gif(tmp_path, [*DELAYS, LAST]), first, codec)
        transcode(first, second, codec)
        assert durations(second)[-1] == pytest.approx(1, abs=3e-3)


@pytest.mark.parametrize("codec", CODECS)
def test_in_fragments(tmp_path, codec):
    out = tmp_path / "out.mp4"
    transcode(gif(tmp_path, [*DELAYS, LAST]), out, codec, fragmented=True)
    assert durations(out)[:-1] == pytest.approx([delay / 100 for delay in DELAYS], abs=2e-3)
    assert sum(durations(out)) == pytest.approx(1.34, abs=2e-3)


@pytest.mark.parametrize("codec", CODECS)
def test_beside_audio_that_is_longer(tmp_path, codec):
    if not shutil.which("ffmpeg"):
        pytest.skip("needs ffmpeg")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=3", "-c:a", "aac", str(tmp_path / "sound.m4a")], check=True)
    clip = gif(tmp_path, [*DELAYS, LAST])
    for container in CONTAINERS:
        out = tmp_path / f"out.{container}"
        with lanner.VideoWriter(out, width=96, height=64, fps=25, copy_from=tmp_path / "sound.m4a", copy="audio", **with_b_frames(codec)) as writer:
            for frame in lanner.VideoReader(clip):
                writer.write(frame)
        assert [stream.kind for stream in lanner.Demuxer(out).streams] == ["video", "audio"]
        assert durations(out) == pytest.approx([delay / 100 for delay in (*DELAYS, LAST)], abs=2e-3), container


@pytest.mark.parametrize("codec", CODECS)
def test_a_container_without_durations_is_told_of_once(tmp_path, codec):
    result = transcode(gif(tmp_path, [*DELAYS, LAST]), tmp_path / "out.ts", codec)
    assert [note for note in result.notes if "duration" in note] == ["the duration of the last frame, 1.000 s, is left out: mpegts cannot hold it"]
    result = transcode(gif(tmp_path, [4] * 8), tmp_path / "out.ts", codec)
    assert not any("duration" in note for note in result.notes)


@pytest.mark.parametrize("container", [*CONTAINERS, "gif"])
def test_of_a_single_frame(tmp_path, container):
    out = tmp_path / f"out.{container}"
    result = lanner.transcode(gif(tmp_path, [250]), out)
    assert durations(out) == pytest.approx([2.5]) and not any("duration" in note for note in result.notes)


@pytest.mark.parametrize(("container", "why"), [("apng", "only frame, 2.500 s, is left out: apng of one frame is a picture"),
                                                ("webp", "only frame, 2.500 s, is left out: webp of one frame is a picture"),
                                                ("ts", "last frame, 2.500 s, is left out: mpegts cannot hold it")])  # fmt: skip
def test_of_a_single_frame_that_is_lost(tmp_path, container, why):
    try:
        notes = lanner.transcode(gif(tmp_path, [250]), tmp_path / f"out.{container}").notes
    except lanner.Unsupported as error:
        pytest.skip(str(error))
    assert [note for note in notes if "duration" in note] == [f"the duration of the {why}"]


def test_is_not_stretched_where_the_file_is_cut(tmp_path):
    """What a container says of its end is of the whole file."""
    whole = tmp_path / "out.mkv"
    lanner.transcode(gif(tmp_path, [4] * 60), whole, gop=10)
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    for frames in (lanner.VideoReader(cut), lanner.VideoReader(cut)[:]):
        found = [float(frame.duration * frame.time_base) for frame in frames]
        assert 10 < len(found) < 60 and max(found) < 0.3
