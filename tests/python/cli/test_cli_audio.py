"""Audio at the shell: what `lanner probe` shows, and `lanner decode -o x.wav`."""

import json
import shutil
import subprocess

import pytest

from command import leftovers, make_clip, refuse, succeed

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """clip.mp4 with pictures and AAC, sound.flac with six channels, silent.mp4."""
    folder = tmp_path_factory.mktemp("audio")
    make_clip(folder, "silent.mp4")
    run = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "aevalsrc='0.4*sin(2000*t)|0.3*sin(3000*t)':s=44100:d=1"]
    subprocess.run([*run, "-i", folder / "silent.mp4", "-c:v", "copy", "-c:a", "aac", folder / "clip.mp4"], check=True)
    subprocess.run([*run, "-ac", "6", "-c:a", "flac", folder / "sound.flac"], check=True)
    return folder


def samples_of(path, *options, kind="f32le"):
    command = ["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", *options, "-c:a", f"pcm_{kind}", "-f", kind, "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def test_probe_shows_audio_streams(folder):
    assert "audio aac LC, 44100 Hz, stereo, fltp" in succeed("probe", folder / "clip.mp4")
    stream = json.loads(succeed("probe", folder / "clip.mp4", "--json"))["streams"][1]
    assert {key: stream[key] for key in ("kind", "sample_rate", "channels", "channel_layout", "sample_format")} == {
        "kind": "audio", "sample_rate": 44100, "channels": 2, "channel_layout": "stereo", "sample_format": "fltp",
    }  # fmt: skip


def test_a_wav_file_holds_the_samples_of_ffmpeg(folder, tmp_path):
    said = succeed("decode", folder / "clip.mp4", "-o", tmp_path / "a.wav")
    assert said.startswith("44100 Hz, 2 channels, ") and said.endswith("of aac\n")
    assert samples_of(tmp_path / "a.wav") == samples_of(folder / "clip.mp4")
    succeed("decode", folder / "sound.flac", "-o", tmp_path / "b.wav")
    assert samples_of(tmp_path / "b.wav", kind="s32le") == samples_of(folder / "sound.flac", kind="s32le")
    probed = succeed("probe", tmp_path / "b.wav")
    assert "5.1" in probed and "pcm_s32le" in probed
    assert leftovers(tmp_path, "a.wav", "b.wav") == []


def test_resampled_and_mixed(folder, tmp_path):
    succeed("decode", folder / "sound.flac", "-o", tmp_path / "a.wav", "--sample-rate", "16000", "--num-channels", "1")
    assert samples_of(tmp_path / "a.wav", kind="s32le") == samples_of(folder / "sound.flac", "-ar", "16000", "-ac", "1", kind="s32le")


def test_what_cannot_be_written_is_one_line(folder, tmp_path):
    out = tmp_path / "a.wav"
    assert "there is no audio in it" in refuse("decode", folder / "silent.mp4", "-o", out)
    assert "leave out --frames" in refuse("decode", folder / "clip.mp4", "-o", out, "--frames", "0")
    assert "expected -o NAME.wav" in refuse("decode", folder / "clip.mp4", "--num-channels", "1")
    assert "sample_rate" in refuse("decode", folder / "clip.mp4", "-o", out, "--sample-rate", "1")
    assert leftovers(tmp_path) == []
