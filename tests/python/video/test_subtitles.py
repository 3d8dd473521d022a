"""Text subtitles whose codec the new container cannot hold are converted; seen by ffprobe and by ffmpeg's decoders."""

import json
import re
import shutil
import subprocess

import pytest

lanner = pytest.importorskip("lanner")
from command import succeed

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")

SRT = """1
00:00:00,200 --> 00:00:00,900
Hello <i>there</i>

2
00:00:01,100 --> 00:00:01,800
Grüße, 世界
second line
"""
ASS = """[Script Info]
ScriptType: v4.00+
PlayResX: 384
PlayResY: 288

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,0

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


def ffmpeg(*arguments):
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make(folder, name, text, codec, *options):
    """Two seconds of pictures with these subtitles."""
    source = folder / f"subtitles.{'ass' if '[Script' in text else 'srt'}"
    source.write_text(text)
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=2", "-i", source, "-map", "0", "-map", "1", "-c:v", "libx264", "-preset", "ultrafast",
           "-c:s", codec, "-metadata:s:s", "language=deu", *options, folder / name)  # fmt: skip
    return folder / name


def events(*lines):
    return ASS + "".join(f"Dialogue: 0,0:00:{first:05.2f},0:00:{last:05.2f},Default,,0,0,0,,{text}\n" for first, last, text in lines)


def shown(path):
    """(first, last, text) of each subtitle, decoded, in seconds."""
    text = ffmpeg("-i", path, "-map", "0:s:0", "-c:s", "srt", "-f", "srt", "-")
    found = re.findall(r"(\d\d):(\d\d):(\d\d),(\d\d\d) --> (\d\d):(\d\d):(\d\d),(\d\d\d)\n(.*?)\n(?:\n|$)", text, re.DOTALL)
    seconds = lambda h, m, s, ms: int(h) * 3600 + int(m) * 60 + int(s) + int(ms) / 1000
    return [(seconds(*row[:4]), seconds(*row[4:8]), re.sub("<[^>]*>", "", row[8])) for row in found]


def stream_of(path):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-select_streams", "s", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["streams"][0]


def same(found, expected):
    assert [text for *_, text in found] == [text for *_, text in expected]
    for one, other in zip(found, expected, strict=True):
        assert one[:2] == pytest.approx(other[:2], abs=0.003)


SAID = [(0.2, 0.9, "Hello there"), (1.1, 1.8, "Grüße, 世界\nsecond line")]


@pytest.mark.parametrize(("source", "codec", "output", "converted"), [
    ("in.mkv", "srt", "out.mp4", "mov_text"),
    ("in.mkv", "srt", "out.mov", "mov_text"),
    ("in.mkv", "srt", "out.webm", "webvtt"),
    ("in.mkv", "ass", "out.mp4", "mov_text"),
    ("in.mkv", "ass", "out.webm", "webvtt"),
    ("in.mkv", "webvtt", "out.mp4", "mov_text"),
    ("in.mp4", "mov_text", "out.mkv", "subrip"),
    ("in.mp4", "mov_text", "out.webm", "webvtt"),
])  # fmt: skip
def test_text_is_converted(tmp_path, source, codec, output, converted):
    clip = make(tmp_path, source, SRT, codec)
    same(shown(clip), SAID)
    notes = lanner.transcode(clip, tmp_path / output).notes
    was = {"srt": "subrip"}.get(codec, codec)
    container = {"mkv": "matroska"}.get(output[4:], output[4:])
    assert notes == [f"stream 1 (subtitle {was}) is converted to {converted}: {container} cannot hold it as it is"]
    stream = stream_of(tmp_path / output)
    assert stream["codec_name"] == converted
    if output != "out.mov":  # QuickTime has numbers for languages, and FFmpeg none for this spelling.
        assert stream["tags"]["language"] == "deu"
    same(shown(tmp_path / output), SAID)


def test_what_the_container_holds_is_copied(tmp_path):
    for name, codec in (("a.mkv", "srt"), ("b.mkv", "ass"), ("c.mp4", "mov_text")):
        clip = make(tmp_path, name, SRT, codec)
        assert lanner.transcode(clip, tmp_path / f"out{clip.suffix}").notes == []
        assert stream_of(tmp_path / f"out{clip.suffix}")["codec_name"] == {"srt": "subrip"}.get(codec, codec)


def test_italics_stay(tmp_path):
    clip = make(tmp_path, "in.mkv", SRT, "srt")
    lanner.transcode(clip, tmp_path / "out.mp4")
    assert "<i>there</i>" in ffmpeg("-i", tmp_path / "out.mp4", "-map", "0:s:0", "-f", "srt", "-")


def test_subtitles_at_the_same_time_are_joined_in_mp4(tmp_path):
    """Timed text has one sample at a time (3GPP TS 26.245, 5)."""
    text = events((0.2, 1.0, "a sign"), (0.5, 1.5, "what is said"), (1.6, 1.9, "one"), (1.6, 1.9, "two"))
    clip = make(tmp_path, "in.mkv", text, "ass")
    lanner.transcode(clip, tmp_path / "out.mp4")
    same(shown(tmp_path / "out.mp4"), [(0.2, 0.5, "a sign"), (0.5, 1.0, "a sign\nwhat is said"), (1.0, 1.5, "what is said"), (1.6, 1.9, "one\ntwo")])
    lanner.transcode(clip, tmp_path / "out.webm")  # WebVTT may show several.
    assert [text for *_, text in shown(tmp_path / "out.webm")] == ["a sign", "what is said", "one", "two"]


def test_of_a_part_those_that_are_shown_are_cut(tmp_path):
    clip = make(tmp_path, "in.mkv", SRT, "srt")
    lanner.transcode(clip, tmp_path / "out.mp4", start=0.5, end=1.5)
    found = shown(tmp_path / "out.mp4")
    assert [text for *_, text in found] == [text for *_, text in SAID]
    assert (found[0][0], found[0][1], found[1][0]) == pytest.approx((0, 0.4, 0.6), abs=0.003)


def test_of_a_part_of_a_clip_with_sound_those_that_began_before_it_are_shown(tmp_path):
    """Sound alone would be read from the part's begin on."""
    make(tmp_path, "silent.mkv", SRT.replace("00:00:00,900", "00:00:01,900"), "srt")
    ffmpeg("-i", tmp_path / "silent.mkv", "-f", "lavfi", "-i", "sine=440:d=2", "-map", "0", "-map", "1", "-c", "copy", "-c:a", "aac", tmp_path / "in.mkv")
    lanner.transcode(tmp_path / "in.mkv", tmp_path / "out.mkv", start=1.0)
    found = shown(tmp_path / "out.mkv")
    assert [text for *_, text in found] == [text for *_, text in SAID]
    assert (found[0][0], found[0][1], found[1][0]) == pytest.approx((0, 0.9, 0.1), abs=0.003)


def test_they_can_be_left_out(tmp_path):
    clip = make(tmp_path, "in.mkv", SRT, "srt")
    succeed("transcode", clip, tmp_path / "out.mp4", "--no-subtitles")
    with pytest.raises(IndexError):
        stream_of(tmp_path / "out.mp4")


def test_containers_without_text_say_so(tmp_path):
    clip = make(tmp_path, "in.mkv", SRT, "srt")
    assert lanner.transcode(clip, tmp_path / "out.ts").notes == ["stream 1 (subtitle subrip) is left out: mpegts cannot hold it"]


def test_segments_have_their_own_subtitles(tmp_path):
    lines = "".join(f"{i + 1}\n00:00:{i // 2:02},{500 * (i % 2):03} --> 00:00:{i // 2:02},{500 * (i % 2) + 400:03}\nline {i}\n\n" for i in range(4))
    clip = make(tmp_path, "in.mkv", lines, "srt")
    parts = lanner.VideoReader(clip)
    with lanner.VideoWriter(tmp_path / "out.mp4", width=64, height=48, on_size_change="segment", copy_from=clip) as out:
        for frame in parts:
            if frame.index == 10:
                break
            out.write(frame)
        large = lanner.VideoReader(make_large(tmp_path))
        for frame in large:
            out.write(frame.image, seconds=1 + frame.index / 10)
    assert [text for *_, text in shown(tmp_path / "out.mp4")] == ["line 0", "line 1"]
    assert [text for *_, text in shown(tmp_path / "out_2.mp4")] == ["line 2", "line 3"]


def make_large(folder):
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=96x64:r=10:d=1", "-c:v", "libx264", folder / "large.mp4")
    return folder / "large.mp4"


def test_text_of_no_known_encoding_is_an_error_in_one_line(tmp_path):
    clip = make(tmp_path, "in.mkv", SRT, "srt")
    broken = clip.read_bytes().replace("Grüße".encode(), b"Gr\xff\xff\xfe\xffe")
    (tmp_path / "broken.mkv").write_bytes(broken)
    with pytest.raises(lanner.Error, match="subtitle at 1.100 s cannot be converted: .*leave subtitles out"):
        lanner.transcode(tmp_path / "broken.mkv", tmp_path / "out.mp4")
    assert not (tmp_path / "out.mp4").exists()
    lanner.transcode(tmp_path / "broken.mkv", tmp_path / "out.mp4", subtitles=False)
