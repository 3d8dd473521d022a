"""One clip that has it all, two sounds, subtitles, chapters, tags, HDR, rotation, B-frames and a variable rate, through transcode: nothing is lost."""

import json
import shutil
import subprocess

import pytest

lanner = pytest.importorskip("lanner")

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
HDR = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400"
BRIGHTNESS = {
    "red_x": 0.68, "red_y": 0.32, "green_x": 0.265, "green_y": 0.69, "blue_x": 0.15, "blue_y": 0.06, "white_point_x": 0.3127, "white_point_y": 0.329,
    "max_luminance": 1000, "min_luminance": 0.0001, "max_content": 1000, "max_average": 400,
}  # fmt: skip
TIMES = [60 * n + 25 * (n % 3) for n in range(12)]  # Milliseconds.
COLOURS = ("pix_fmt", "color_range", "color_space", "color_transfer", "color_primaries")


def ffmpeg(*arguments):
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ffprobe(path, *arguments):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_format", "-show_streams", "-show_chapters", *arguments, path]
    return json.loads(subprocess.run(list(map(str, command)), capture_output=True, check=True).stdout)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    (folder / "s.srt").write_text("1\n00:00:00,050 --> 00:00:00,200\nHello\n\n2\n00:00:00,250 --> 00:00:00,400\nHarbour\n")
    (folder / "meta.txt").write_text(
        ";FFMETADATA1\ntitle=Harbour\nartist=Me\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=200\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=200\nEND=460\ntitle=Two\n"
    )
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.48", "-vf", "settb=1/1000,setpts='60*N+25*mod(N,3)'", "-vsync", "passthrough", "-enc_time_base", "1/1000",
           "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params", f"log-level=none:bframes=3:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:{HDR}",
           "-video_track_timescale", "1000", "-tag:v", "hvc1", folder / "video.mp4")  # fmt: skip
    path = folder / "whole.mp4"
    ffmpeg("-i", folder / "video.mp4", "-f", "lavfi", "-i", "sine=440:d=0.7", "-f", "lavfi", "-i", "sine=880:d=0.7", "-i", folder / "s.srt", "-i", folder / "meta.txt",
           "-map", "0:v", "-map", "1", "-map", "2", "-map", "3", "-map_metadata", "4", "-c:v", "copy", "-c:a", "aac", "-c:s", "mov_text",
           "-metadata:s:v", "rotate=90", "-metadata:s:a:0", "language=fra", "-metadata:s:a:1", "language=jpn", "-metadata:s:s", "language=deu",
           "-video_track_timescale", "1000", path)  # fmt: skip
    assert times(path) == TIMES
    assert "B" in {frame["pict_type"] for frame in ffprobe(path, "-show_frames", "-select_streams", "v")["frames"]}
    return path


def times(path):
    """Of the frames, in milliseconds."""
    return [round(1000 * float(frame["pts_time"])) for frame in ffprobe(path, "-show_frames", "-select_streams", "v")["frames"]]


def packets(path, kind):
    """With their times from the first frame on: Matroska has none below 0, and all streams begin later there by the priming of AAC."""
    first = times(path)[0]
    found = ffprobe(path, "-show_packets", "-show_data_hash", "md5", "-select_streams", kind)["packets"]
    return [(packet["stream_index"], round(1000 * float(packet["pts_time"])) - first, packet["data_hash"]) for packet in found]


def subtitles(path):
    first = times(path)[0]
    found = ffprobe(path, "-show_packets", "-select_streams", "s")["packets"]
    shown = [(round(1000 * float(packet["pts_time"])) - first, round(1000 * float(packet["duration_time"]))) for packet in found if int(packet["size"]) > 2]
    return shown, [line for line in ffmpeg("-i", path, "-map", "0:s", "-f", "srt", "-").splitlines() if line.isalpha()]


def hdr_of(path):
    """Of the container and of the first picture."""
    facts = ffprobe(path, "-show_frames", "-read_intervals", "%+#1", "-select_streams", "v")
    found = []
    for sides in (facts["streams"][0]["side_data_list"], facts["frames"][0].get("side_data_list", [])):
        numbers = {key: value for side in sides for key, value in side.items() if key.startswith(("red", "green", "blue", "white", "max_", "min_"))}
        found.append({key: eval(value) if isinstance(value, str) else value for key, value in numbers.items()})
    return found


def frames(path, *options):
    return ffmpeg(*options, "-i", path, "-map", "0:v", "-f", "md5", "-")


def check_the_rest(before, after, container):
    """All but the pictures themselves."""
    facts = [ffprobe(path) for path in (before, after)]
    video = [one["streams"][0] for one in facts]
    kinds = [[stream["codec_type"] for stream in one["streams"] if stream["codec_type"] != "data"] for one in facts]  # Data are MP4's chapters.
    assert kinds[0] == kinds[1] == ["video", "audio", "audio", "subtitle"]
    assert [video[1][name] for name in COLOURS] == [video[0][name] for name in COLOURS] == ["yuv420p10le", "tv", "bt2020nc", "smpte2084", "bt2020"]
    assert packets(after, "a") == packets(before, "a")
    assert subtitles(after) == subtitles(before) == ([(50, 150), (250, 150)], ["Hello", "Harbour"])
    assert [one["tags"].get("language") for one in facts[1]["streams"][1:4]] == ["fra", "jpn", "deu"]
    assert [(one["tags"]["title"], float(one["start_time"]), float(one["end_time"])) for one in facts[1]["chapters"]] == [("One", 0, 0.2), ("Two", 0.2, 0.46)]
    tags = {key.lower(): value for key, value in facts[1]["format"]["tags"].items()}
    assert (tags["title"], tags["artist"]) == ("Harbour", "Me")
    of_container, of_picture = hdr_of(after)
    assert of_container == pytest.approx(BRIGHTNESS, rel=1e-3)
    if container == "mp4":  # FFV1 has none in its pictures.
        assert of_picture == pytest.approx(BRIGHTNESS, rel=1e-3)
    first, *_ = shown = times(after)
    assert [time - first for time in shown] == TIMES
    assert float(facts[1]["format"]["duration"]) - first / 1000 == pytest.approx(float(facts[0]["format"]["duration"]), abs=0.0021)


def test_stored_as_it_is(clip, tmp_path):
    """The rotation stays a word to players; the frames are equal to the bit."""
    result = lanner.transcode(clip, tmp_path / "out.mp4", codec="hevc", tuning="lossless", keep_rotation=True)
    assert result.notes == [] and result.frames == len(TIMES)
    assert frames(tmp_path / "out.mp4", "-noautorotate") == frames(clip, "-noautorotate")
    turns = [[side["rotation"] for side in ffprobe(path)["streams"][0]["side_data_list"] if "rotation" in side] for path in (clip, tmp_path / "out.mp4")]
    assert turns[0] == turns[1] and abs(turns[0][0]) == 90
    check_the_rest(clip, tmp_path / "out.mp4", "mp4")


def test_upright(clip, tmp_path):
    """As ffmpeg turns it."""
    result = lanner.transcode(clip, tmp_path / "out.mkv", codec="ffv1")
    assert result.notes == ["stream 3 (subtitle mov_text) is converted to subrip: matroska cannot hold it as it is"]
    assert frames(tmp_path / "out.mkv") == frames(clip)
    stream = ffprobe(tmp_path / "out.mkv")["streams"][0]
    assert (stream["width"], stream["height"]) == (64, 96)
    check_the_rest(clip, tmp_path / "out.mkv", "mkv")
