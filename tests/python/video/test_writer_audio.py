"""VideoWriter.write_audio(): audio from tensors beside pictures, read back by ffmpeg and by AudioReader."""

import io
import json
import shutil
import subprocess

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
BLACK = np.zeros((48, 64, 3), np.uint8)
RATE = 48000


def chord(channels=2, seconds=2.0, rate=RATE):
    """Tones that rise, so that a shift in time shows."""
    time = np.arange(round(seconds * rate)) / rate
    return np.stack([0.4 * np.sin(2 * np.pi * (220 * (i + 1) + 300 * time) * time) for i in range(channels)]).astype(np.float32)


def open_writer(path, **options):
    return lanner.VideoWriter(path, width=64, height=48, fps=25, **options)


def write_pictures(out, count=50):
    for _ in range(count):
        out.write(BLACK)


def streams(path):
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["streams"]


def audio_of(path):
    return next(stream for stream in streams(path) if stream["codec_type"] == "audio")


def likeness(samples, expected, most_lag=480):
    """Of samples to those that were encoded, in dB, at the lag in samples that suits best."""
    count = min(samples.shape[1], expected.shape[1]) - 2 * most_lag
    aim = expected[:, most_lag : most_lag + count]
    spectrum = np.fft.rfft(samples[0, : count + 2 * most_lag]) * np.conj(np.fft.rfft(aim[0], count + 2 * most_lag))
    lag = int(np.fft.irfft(spectrum, count + 2 * most_lag)[: 2 * most_lag + 1].argmax())
    noise = ((samples[:, lag : lag + count] - aim) ** 2).mean()
    return 10 * np.log10((aim**2).mean() / max(noise, 1e-20))


@pytest.mark.parametrize(
    ("name", "options", "codec", "most_lag"),
    [  # Of what FFmpeg's muxers do not say of the encoder's delay.
        ("a.mp4", {}, "aac", 2),
        ("a.mkv", {"audio_codec": "opus"}, "opus", 400),
        ("a.webm", {"codec": "vp9"}, "opus", 400),
        ("a.mov", {"audio_codec": "pcm_s16le"}, "pcm_s16le", 2),
        ("a.mkv", {"audio_codec": "vorbis"}, "vorbis", 200),
        ("a.mkv", {"audio_codec": "ac3", "audio_bit_rate": 256_000}, "ac3", 400),
        ("a.ts", {}, "aac", 100),
        ("a.avi", {"codec": "mpeg4"}, "mp3", 1200),
    ],
)
def test_what_is_heard_is_what_was_written_at_its_time(tmp_path, name, options, codec, most_lag):
    sound = chord()
    with open_writer(tmp_path / name, audio_sample_rate=RATE, **options) as out:
        write_pictures(out)
        out.write_audio(sound)
        assert out.notes == []
    stream = audio_of(tmp_path / name)
    assert (stream["codec_name"], stream["sample_rate"], stream["channels"]) == (codec, "48000", 2)
    audio = lanner.AudioReader(tmp_path / name)
    frames = lanner.VideoReader(tmp_path / name)
    first = frames[0].seconds
    samples = audio.read(first, first + 2).data.numpy()
    assert len(frames) == 50 and samples.shape[1] >= sound.shape[1] - 400
    assert likeness(samples, sound, most_lag) > 15


@pytest.mark.parametrize(("name", "codec"), [("a.mkv", "flac"), ("a.mov", "alac"), ("a.mkv", "pcm_f32le"), ("a.mkv", "pcm_s16le")])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_lossless_audio_comes_back_to_the_bit(tmp_path, name, codec, channels):
    sound = np.round(chord(channels, 0.777) * 32767).astype(np.int16)
    with open_writer(tmp_path / name, audio_codec=codec, audio_channels=channels) as out:
        for part in np.array_split(sound, 5, axis=1):
            out.write_audio(part)
            write_pictures(out, 4)
    audio = lanner.AudioReader(tmp_path / name, dtype="int16")
    assert np.array_equal(audio.read().data.numpy(), sound)
    floats = (sound / 32768).astype(np.float32)
    with open_writer(tmp_path / name, audio_codec=codec, audio_channels=channels) as out:
        write_pictures(out, 1)
        out.write_audio(floats)
    assert np.array_equal(lanner.AudioReader(tmp_path / name).read().data.numpy(), floats)


def test_bit_rate_and_rate_of_the_codec(tmp_path):
    sizes = []
    for bits in (24_000, 256_000):
        with open_writer(tmp_path / "a.mp4", audio_bit_rate=bits, audio_codec="aac") as out:
            write_pictures(out, 1)
            out.write_audio(np.random.default_rng(0).normal(0, 0.2, (2, 2 * RATE)).astype(np.float32))
        sizes.append((tmp_path / "a.mp4").stat().st_size)
    assert sizes[1] > 3 * sizes[0]
    with open_writer(tmp_path / "a.webm", codec="vp9", audio_sample_rate=44100, audio_channels=1) as out:
        write_pictures(out)
        out.write_audio(chord(1, 2, 44100))
        assert out.notes == ["audio: resampled from 44100 to 48000 Hz, as opus has no other"]
    audio = lanner.AudioReader(tmp_path / "a.webm")
    assert audio.sample_rate == 48000 and abs(audio.num_samples - 2 * RATE) < 10
    assert likeness(audio.read().data.numpy(), chord(1, 2)) > 15


@pytest.mark.parametrize("audio_first", [True, False])
def test_order_of_calls_does_not_matter(tmp_path, audio_first):
    sound = chord(2, 4)
    with open_writer(tmp_path / "a.mkv", audio_codec="flac") as out:
        if audio_first:
            out.write_audio(sound)
        write_pictures(out, 100)
        if not audio_first:
            out.write_audio(sound)
    assert np.abs(lanner.AudioReader(tmp_path / "a.mkv").read().data.numpy() - sound).max() < 1e-6
    times = {0: [], 1: []}
    furthest = 0
    for packet in lanner.Demuxer(tmp_path / "a.mkv"):
        times[packet.stream].append(packet.pts)
        if audio_first and times[0] and times[1]:
            furthest = max(furthest, abs(times[0][-1] - times[1][-1]))
    assert len(times[0]) == 100 and furthest < 300  # Milliseconds between neighbours of both streams.


def test_memory_may_be_written_again_after_the_call(tmp_path):
    sound = np.full((1, 4800), 0.25, np.float32)
    with open_writer(tmp_path / "a.mkv", audio_codec="pcm_f32le", audio_channels=1) as out:
        out.write_audio(sound)  # Before the file is open.
        sound[:] = 0.5
        write_pictures(out, 2)
        out.write_audio(sound[0])
        sound[:] = 1
    written = lanner.AudioReader(tmp_path / "a.mkv").read().data.numpy()[0]
    assert (written[:4800] == 0.25).all() and (written[4800:] == 0.5).all() and written.size == 9600


def test_samples_of_a_reader_are_heard_at_their_own_time(tmp_path):
    clip = tmp_path / "clip.ts"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=3", "-f", "lavfi", "-i", "aevalsrc='0.5*sin(880*t*t)':s=48000:d=3",
                    "-c:v", "libx264", "-c:a", "mp2", clip], check=True)  # fmt: skip
    video, audio = lanner.VideoReader(clip), lanner.AudioReader(clip)
    begin, end = video[25].seconds, video[50].seconds
    with lanner.VideoWriter(tmp_path / "part.mkv", width=64, height=48, fps=25, audio_codec="flac", audio_channels=1) as out:
        for frame in video[25:50]:
            out.write(frame)
        for samples in (audio.read(begin, begin + 0.4), audio.read(begin + 0.4, end)):
            out.write_audio(samples)
    part = lanner.AudioReader(tmp_path / "part.mkv")
    shown = lanner.VideoReader(tmp_path / "part.mkv")[0].seconds
    heard = part.read(shown, shown + 1)
    assert np.abs(heard.data.numpy() - audio.read(begin, end).data.numpy()).max() < 1e-6


def test_gaps_are_silence_and_overlaps_are_moved(tmp_path):
    one = np.full((1, RATE // 10), 0.5, np.float32)
    with open_writer(tmp_path / "a.mkv", audio_codec="pcm_f32le", audio_channels=1) as out:
        write_pictures(out, 20)
        out.write_audio(one, seconds=-0.05)
        out.write_audio(one, seconds=0.2)
        out.write_audio(one, seconds=0.25)
        out.write_audio(one)
    assert out.notes == [
        "audio: 0.050 s before the beginning of the file are left out",
        "audio at 0.250 s begins before the end of the audio before, 0.300 s; it is moved behind it",
    ]
    written = lanner.AudioReader(tmp_path / "a.mkv").read().data.numpy()[0]
    loud = written != 0
    assert loud[:2400].all() and not loud[2400:9600].any() and loud[9600:].all() and loud.size == 9600 + 3 * 4800


@pytest.mark.parametrize("order", ["before", "beside", "behind", "late"])
def test_each_segment_has_the_audio_of_its_own_time(tmp_path, order):
    """Whatever comes first: sizes change at 0.4 s and 1 s, and the parts joined are the audio that was given."""
    sound, sizes = chord(seconds=1.6), [(48, 64)] * 10 + [(64, 96)] * 15 + [(48, 64)] * 15
    step = RATE // 25
    with open_writer(tmp_path / "a.mkv", audio_codec="flac", on_size_change="segment") as out:
        if order == "before":
            out.write_audio(sound)
        for i, size in enumerate(sizes):
            out.write(np.zeros((*size, 3), np.uint8))
            if order == "beside":
                buffer = sound[:, i * step : (i + 1) * step].copy()
                out.write_audio(buffer)
                buffer[...] = 9
            if order == "late" and i >= 12:
                out.write_audio(sound[:, (i - 12) * step : (i - 11) * step])
        if order == "behind":
            out.write_audio(sound, seconds=0)
        if order == "late":
            out.write_audio(sound[:, 28 * step :])
        assert len(out.notes) == 2
    parts = [lanner.AudioReader(tmp_path / name).read().data.numpy() for name in ("a.mkv", "a_2.mkv", "a_3.mkv")]
    assert [part.shape[1] for part in parts] == [10 * step, 15 * step, 15 * step]
    np.testing.assert_allclose(np.concatenate(parts, 1), sound, atol=2e-7)


def test_segments_of_lossy_audio_begin_with_their_pictures(tmp_path):
    sound = chord(seconds=2.0)
    with open_writer(tmp_path / "a.mp4", on_size_change="segment", audio_sample_rate=RATE) as out:
        out.write_audio(sound, seconds=0.2)  # Silence first.
        for i in range(50):
            out.write(np.zeros((48, 64 + 32 * (i >= 25), 3), np.uint8))
    for number, begin in (("", 0), ("_2", RATE)):
        audio = lanner.AudioReader(tmp_path / f"a{number}.mp4").read()
        heard = np.concatenate([np.zeros((2, RATE // 5), np.float32), sound], 1)[:, begin : begin + RATE]
        assert abs(audio.pts_seconds) < 0.001
        assert likeness(audio.data.numpy()[:, :RATE], heard) > 15


def test_nothing_is_written_without_a_sample(tmp_path):
    with open_writer(tmp_path / "a.mp4", audio_channels=1) as out:
        write_pictures(out, 2)
    assert len(lanner.VideoReader(tmp_path / "a.mp4")) == 2


def test_fragments_get_audio(tmp_path):
    out = io.BytesIO()
    with lanner.VideoWriter(out, width=64, height=48, fps=25, audio_sample_rate=RATE) as writer:
        for i in range(50):
            writer.write(BLACK)
            writer.write_audio(chord()[:, i * 1920 : (i + 1) * 1920])
    first = lanner.VideoReader(out.getvalue())[0].seconds
    assert likeness(lanner.AudioReader(out.getvalue()).read(first).data.numpy(), chord()) > 15


def test_what_cannot_be_written_is_one_line(tmp_path):
    with open_writer(tmp_path / "a.mp4") as out:
        write_pictures(out, 1)
        with pytest.raises(lanner.InvalidArgument, match="into a file without audio"):
            out.write_audio(chord())
    with open_writer(tmp_path / "a.mkv", audio_codec="flac") as out:
        write_pictures(out, 1)
        for samples, line in (
            (chord(1), "1 channels, expected 2"),
            (chord().astype(np.float64), "samples of f64, expected f32, i16 or i32"),
            (np.zeros((2, 2, 2), np.float32), r"expected \[channels, samples\]"),
        ):
            with pytest.raises(lanner.InvalidArgument, match=line):
                out.write_audio(samples)
        with pytest.raises(TypeError):
            out.write_audio(None)
        with pytest.raises(lanner.InvalidArgument, match="seconds inf, expected a time"):
            out.write_audio(chord(), seconds=float("inf"))
        with pytest.raises(lanner.InvalidArgument, match="no gap of a day"):
            out.write_audio(chord(), seconds=1e6)
    for options, line, kind in (
        ({"audio_sample_rate": 5}, "sample rate 5, expected 100 to 768000", lanner.InvalidArgument),
        ({"audio_channels": 0}, "0 channels, expected 1 to 64", lanner.InvalidArgument),
    ):
        with pytest.raises(kind, match=line):
            open_writer(tmp_path / "b.mkv", **options)
    for options, line, kind in (
        ({"audio_codec": "nonsense"}, "there is no encoder 'nonsense'", lanner.Unsupported),
        ({"audio_codec": "h264"}, "'h264' is no codec of audio", lanner.InvalidArgument),
        ({"audio_codec": "flac", "audio_bit_rate": 64000}, "keeps every sample", lanner.InvalidArgument),
        ({"audio_codec": "mp3", "audio_channels": 6}, "has no layout of 6 channels", lanner.Unsupported),
    ):
        with pytest.raises(kind, match=line), open_writer(tmp_path / "b.mkv", **options) as out:
            write_pictures(out, 1)
    assert not (tmp_path / "b.mkv").exists()
