"""Copied sound stays with the pictures: the delay of AAC, edit lists and late beginnings, from MP4 into other containers."""

import shutil
import subprocess

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
BLOCK = 1024 / 44100  # Seconds of a packet of AAC.
BEEP = 0.8
KINDS = ["plain", "cut", "late", "early"]
CONTAINERS = ["mkv", "ts", "mp4", "mov", "flv"]


def ffmpeg(*arguments):
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """A beep at 0.8 s of the pictures' clock. cut: an edit list hides the first half second. late, early: the sound begins 0.3 s after or before the picture."""
    folder = tmp_path_factory.mktemp("sound")
    plain, cut, late, early = (folder / f"{kind}.mp4" for kind in KINDS)
    sound = f"aevalsrc='if(between(t,{BEEP},{BEEP + 0.02}),0.8*sin(6000*t),0)':s=44100:d=1.6"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1.6", "-f", "lavfi", "-i", sound, "-c:v", "libx264", "-g", "10", "-bf", "2", "-c:a", "aac", plain)
    ffmpeg("-ss", "0.5", "-i", plain, "-c", "copy", cut)
    ffmpeg("-i", plain, "-itsoffset", "0.3", "-i", plain, "-map", "0:v", "-map", "1:a", "-c", "copy", late)
    ffmpeg("-itsoffset", "0.3", "-i", plain, "-i", plain, "-map", "0:v", "-map", "1:a", "-c", "copy", early)
    return dict(zip(KINDS, (plain, cut, late, early), strict=True))


def beep(path):
    """Seconds from the first picture to the beep."""
    sound = lanner.AudioReader(path).read()
    samples = np.abs(np.asarray(sound.data)).max(axis=0 if np.asarray(sound.data).shape[0] < 8 else 1)
    return sound.pts_seconds + np.argmax(samples > 0.2) / sound.sample_rate - next(iter(lanner.VideoReader(path))).seconds


def sound_begins(path):
    """Seconds from the first picture to the first packet of sound."""
    demuxer = lanner.Demuxer(path)
    number = next(stream.index for stream in demuxer.streams if stream.kind == "audio")
    base = demuxer.streams[number].time_base
    first = next(packet.pts for packet in demuxer if packet.stream == number)
    return float(first * base) - next(iter(lanner.VideoReader(path))).seconds


def transcode(clip, out, codec):
    try:
        return lanner.transcode(clip, out, codec=codec)
    except lanner.Unsupported as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", KINDS)
def test_stays_with_the_pictures(clips, tmp_path, kind, container):
    out = tmp_path / f"out.{container}"
    notes = transcode(clips[kind], out, "libx264").notes
    assert beep(out) == pytest.approx(beep(clips[kind]), abs=BLOCK)
    assert not any("sound" in note for note in notes)


@pytest.mark.parametrize("container", ["mkv", "ts", "flv"])
def test_what_an_edit_list_hides_is_not_heard(clips, tmp_path, container):
    """But for the packet that the decoder needs."""
    assert sound_begins(clips["cut"]) < -5 * BLOCK
    out = tmp_path / f"out.{container}"
    transcode(clips["cut"], out, "libx264")
    assert -2 * BLOCK - 2e-3 <= sound_begins(out) <= 0
    with_mp4 = tmp_path / "out.mp4"  # Hides it again.
    transcode(clips["cut"], with_mp4, "libx264")
    assert lanner.AudioReader(with_mp4).read().pts_seconds == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("kind", ["plain", "cut"])
def test_avi_begins_with_the_first_picture(clips, tmp_path, kind):
    """It holds no times."""
    out = tmp_path / "out.avi"
    notes = transcode(clips[kind], out, "mpeg4").notes
    assert beep(out) == pytest.approx(beep(clips[kind]), abs=BLOCK)
    assert not any("sound" in note for note in notes)


def test_avi_leaves_out_what_comes_before_the_first_picture(clips, tmp_path):
    out = tmp_path / "out.avi"
    notes = [note for note in transcode(clips["early"], out, "mpeg4").notes if "sound" in note]
    assert beep(out) == pytest.approx(beep(clips["early"]), abs=BLOCK)
    assert len(notes) == 1 and notes[0].startswith("stream 1: 0.3") and notes[0].endswith("s of its sound are left out, before the first picture: avi holds no times")


def test_avi_tells_by_how_much_sound_that_begins_late_is_shifted(clips, tmp_path):
    out = tmp_path / "out.avi"
    notes = [note for note in transcode(clips["late"], out, "mpeg4").notes if "sound" in note]
    shift = beep(clips["late"]) - beep(out)
    assert len(notes) == 1 and notes[0].endswith("s after the first picture and is heard so much too early: avi holds no times")
    assert shift == pytest.approx(float(notes[0].split(" begins ")[1].split(" s ")[0]), abs=BLOCK) and shift > 0.2


def test_parts_keep_it_too(clips, tmp_path):
    for container in CONTAINERS:
        out = tmp_path / f"out.{container}"
        lanner.transcode(clips["plain"], out, codec="libx264", start=0.4)
        assert beep(out) == pytest.approx(BEEP - 0.4, abs=BLOCK), container
