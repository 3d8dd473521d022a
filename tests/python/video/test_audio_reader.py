"""AudioReader: samples of real files, against ffmpeg's own, bit by bit."""

import io
import pickle
import random
import shutil
import subprocess
import threading

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")

def chord(channels, rate, seconds):
    """Rising tones that come and go, with a little noise: silence and pure tones would hide faults of decoders."""
    time = np.arange(round(rate * seconds)) / rate
    noise = np.random.default_rng(7).uniform(-0.01, 0.01, (len(time), channels))
    tones = [0.4 * np.sin(2 * np.pi * 220 * (i + 1) * time * (1 + 0.1 * time)) + 0.1 * np.sin(6000 * np.pi * time) * (time % 0.7 > 0.3) for i in range(channels)]
    return (np.stack(tones, 1) + noise).astype(np.float32)


def ffmpeg(*arguments, sound=b""):
    result = subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], input=sound, capture_output=True, check=True)
    return result.stdout


def encode(path, channels, rate, seconds, *options):
    sound = chord(channels, rate, seconds).tobytes()
    ffmpeg("-f", "f32le", "-ar", rate, "-ac", channels, "-i", "-", *options, path, sound=sound)
    return path


def reference(path, *options, dtype=np.float32):
    """All samples as ffmpeg writes them, [channels, samples]."""
    kind = {np.float32: "f32le", np.int16: "s16le", np.int32: "s32le"}[dtype]
    channels = int(subprocess.run(["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=channels", "-of", "csv=p=0", path],
                                  capture_output=True, check=True, text=True).stdout.split()[0].strip(","))  # fmt: skip
    if "-ac" in options:
        channels = int(options[options.index("-ac") + 1])
    pcm = ffmpeg("-i", path, "-map", "0:a:0", *options, "-c:a", f"pcm_{kind[:3]}le", "-f", kind, "-")
    return np.frombuffer(pcm, dtype).reshape(-1, channels).T


def same(samples, expected):
    data = samples.data.numpy() if hasattr(samples, "data") else samples
    return data.dtype == expected.dtype and data.shape == expected.shape and data.tobytes() == np.ascontiguousarray(expected).tobytes()


# name of the file, options of ffmpeg
FILES = {
    "aac.mp4": ["-c:a", "aac"],
    "aac_plain.mp4": ["-c:a", "aac", "-aac_pns", "0"],
    "aac.mkv": ["-c:a", "aac"],
    "aac.ts": ["-c:a", "aac"],
    "aac.aac": ["-c:a", "aac", "-f", "adts"],
    "mp3.mp3": ["-c:a", "libmp3lame"],
    "opus.mkv": ["-c:a", "libopus"],
    "opus.ogg": ["-c:a", "libopus"],
    "vorbis.ogg": ["-c:a", "libvorbis"],
    "vorbis.webm": ["-c:a", "libvorbis"],
    "flac.flac": ["-c:a", "flac"],
    "flac.mkv": ["-c:a", "flac"],
    "alac.m4a": ["-c:a", "alac"],
    "pcm.wav": ["-c:a", "pcm_s16le"],
    "float.wav": ["-c:a", "pcm_f32le"],
    "ac3.mkv": ["-c:a", "ac3"],
    "ac3.ac3": ["-c:a", "ac3"],
    "mp2.ts": ["-c:a", "mp2"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Makes each file once, of 4 s, which is longer than what decoding begins ahead."""
    folder = tmp_path_factory.mktemp("audio")
    made = {}

    def make(name, channels=2, rate=48000, seconds=4):
        key = (name, channels, rate, seconds)
        if key not in made:
            path = folder / f"{channels}_{rate}_{seconds}_{name}"
            made[key] = encode(path, channels, rate, seconds, *FILES[name])
        return made[key]

    return make


@pytest.mark.parametrize("name", FILES)
def test_whole_stream_and_random_ranges_are_those_of_ffmpeg(files, name):
    path = files(name)
    expected = reference(path)
    audio = lanner.AudioReader(path)
    assert same(audio.read(), expected)
    assert audio.num_samples == expected.shape[1]
    draw = random.Random(name)
    for _ in range(8):  # Behind the first pass: reached by seeking.
        begin = draw.randrange(expected.shape[1])
        end = min(begin + draw.choice([1, 100, 5000, 40000]), expected.shape[1])
        samples = audio.read_samples(begin, end)
        assert same(samples, expected[:, begin:end]), (begin, end)
        assert samples.first_sample == begin and samples.sample_rate == 48000


@pytest.mark.parametrize("name", FILES)
def test_first_access_in_the_middle(files, name):
    path = files(name)
    expected = reference(path)
    for begin in (150_000, 1):
        assert same(lanner.AudioReader(path).read_samples(begin, begin + 3000), expected[:, begin : begin + 3000])


@pytest.mark.parametrize("name", ["aac.mp4", "mp3.mp3", "opus.mkv", "flac.flac", "pcm.wav"])
@pytest.mark.parametrize("channels", [1, 6])
def test_mono_and_surround(files, name, channels):
    if name == "mp3.mp3" and channels == 6:
        pytest.skip("MP3 has two channels at most")
    path = files(name, channels=channels, seconds=3)
    audio = lanner.AudioReader(path)
    expected = reference(path)
    assert audio.num_channels == channels and same(audio.read(), expected)
    assert same(audio.read_samples(50_000, 51_000), expected[:, 50_000:51_000])


@pytest.mark.parametrize(("rate", "to"), [(44100, 16000), (44100, 48000), (48000, 8000), (8000, 48000), (48000, 44101)])
def test_resampled_ranges(files, rate, to):
    path = files("flac.flac", rate=rate, seconds=4)
    expected = reference(path, "-ar", str(to))
    audio = lanner.AudioReader(path, sample_rate=to)
    assert audio.num_samples == expected.shape[1]
    assert same(audio.read(), expected)
    draw = random.Random(rate + to)
    for _ in range(8):
        begin = draw.randrange(expected.shape[1])
        end = min(begin + draw.choice([1, 77, 9000]), expected.shape[1])
        assert same(audio.read_samples(begin, end), expected[:, begin:end]), (begin, end)
    assert same(lanner.AudioReader(path, sample_rate=to).read_samples(to, 2 * to), expected[:, to : 2 * to])


def test_mixed_and_resampled(files):
    path = files("aac.mp4", channels=6, rate=44100, seconds=3)
    for channels in (1, 2):
        audio = lanner.AudioReader(path, sample_rate=16000, num_channels=channels)
        assert same(audio.read(), reference(path, "-ar", "16000", "-ac", str(channels)))
    up = lanner.AudioReader(files("pcm.wav", channels=1, seconds=3), num_channels=2)
    assert same(up.read(), reference(files("pcm.wav", channels=1, seconds=3), "-ac", "2"))


def test_integers(files):
    path = files("flac.flac")
    for name, dtype in (("int16", np.int16), ("i32", np.int32)):
        assert same(lanner.AudioReader(path, dtype=name).read(), reference(path, dtype=dtype))
    with pytest.raises(lanner.InvalidArgument, match="dtype u8, expected f32, i16 or i32"):
        lanner.AudioReader(path, dtype="uint8")


@pytest.mark.parametrize("name", ["aac.mp4", "opus.mkv", "mp3.mp3", "pcm.wav"])
@pytest.mark.parametrize("rate", [None, 16000])
def test_chunks_and_ranges_of_seconds_tile_the_stream(files, name, rate):
    path = files(name)
    audio = lanner.AudioReader(path, sample_rate=rate)
    whole = audio.read().data.numpy()
    chunks = list(audio.chunks(0.37))
    assert np.array_equal(np.concatenate([chunk.data.numpy() for chunk in chunks], 1), whole)
    assert {chunk.data.shape[1] for chunk in chunks[:-1]} == {round(0.37 * audio.sample_rate)}
    begin = chunks[0].pts_seconds
    parts = [audio.read(begin + i / 3, begin + (i + 1) / 3).data.numpy() for i in range(13)]
    assert np.array_equal(np.concatenate(parts, 1), whole)
    fresh = lanner.AudioReader(path, sample_rate=rate)
    assert np.array_equal(np.concatenate([chunk.data.numpy() for chunk in fresh], 1), whole)


def test_times_are_those_of_the_clip(tmp_path):
    clip = tmp_path / "clip.ts"
    sound = encode(tmp_path / "sound.wav", 2, 48000, 3)
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=3", "-i", sound, "-c:v", "libx264", "-g", "25", "-c:a", "aac", clip)
    video = lanner.VideoReader(clip)
    audio = lanner.AudioReader(video)
    frame = video[30]
    assert frame.seconds > 1.2  # MPEG-TS begins at 1.4 s.
    samples = audio.read(frame.seconds, frame.seconds + 0.04)
    assert samples.data.shape == (2, 1920) and samples.pts_seconds == pytest.approx(frame.seconds, abs=1 / 48000)
    assert samples.duration_seconds == pytest.approx(0.04)
    assert audio.read(0, 1).data.shape == (2, 0)


def test_a_range_outside_of_the_stream(files):
    audio = lanner.AudioReader(files("pcm.wav"))
    assert audio.read(100, 200).data.shape == (2, 0)
    assert audio.read(3.5, 100).data.shape == (2, 24000)
    assert audio.read(-5, 0.5).data.shape == (2, 24000)
    assert audio.read(2, 2).data.shape == (2, 0)
    assert audio.read_samples(10**15, 10**15 + 5).data.shape == (2, 0)
    for call in (lambda: audio.read(2, 1), lambda: audio.read(float("nan"), 1), lambda: audio.read_samples(-1, 1), lambda: audio.read_samples(2, 1)):
        with pytest.raises(lanner.InvalidArgument):
            call()


def test_what_a_reader_tells(files):
    audio = lanner.AudioReader(files("aac.mp4"), sample_rate=16000)
    assert (audio.stream.codec, audio.sample_rate, audio.num_channels, audio.channel_layout) == ("aac", 16000, 2, "stereo")
    assert audio.duration == pytest.approx(4, abs=0.05) and audio.sample_format == "fltp"
    assert repr(audio) == "lanner.AudioReader(aac, 16000 Hz, 2 channels, 4.00 s)"
    assert repr(audio.read(1, 2)) == "lanner.AudioSamples(2 x 16000 f32, 16000 Hz, from 1.000 s)"
    again = pickle.loads(pickle.dumps(audio))
    assert again.sample_rate == 16000 and same(again.read(1, 2), audio.read(1, 2).data.numpy())
    audio.close()
    assert audio.closed and repr(audio).endswith("closed)")
    with pytest.raises(lanner.InvalidArgument, match="was closed"):
        audio.read(0, 1)


def test_bytes_file_objects_and_pipes(files):
    path = files("opus.ogg")
    expected = reference(path)
    for source in (path.read_bytes(), io.BytesIO(path.read_bytes()), path.open("rb")):
        audio = lanner.AudioReader(source)
        assert same(audio.read(), expected) and same(audio.read_samples(70_000, 71_000), expected[:, 70_000:71_000])

    class Pipe(io.RawIOBase):
        def __init__(self, data):
            self.data = io.BytesIO(data)

        def readable(self):
            return True

        def readinto(self, into):
            return self.data.readinto(into)

    audio = lanner.AudioReader(io.BufferedReader(Pipe(path.read_bytes())))
    assert same(audio.read_samples(0, 100_000), expected[:, :100_000])
    assert same(audio.read_samples(100_000, 110_000), expected[:, 100_000:110_000])
    with pytest.raises(lanner.Unsupported, match="comes once"):
        audio.read_samples(0, 10)


def test_streams(tmp_path):
    clip = tmp_path / "two.mkv"
    one, two = encode(tmp_path / "one.wav", 1, 8000, 1), encode(tmp_path / "two.wav", 2, 16000, 1)
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=1", "-i", one, "-i", two, "-map", "0", "-map", "1", "-map", "2", "-c:a", "flac", clip)
    assert lanner.AudioReader(clip, stream=1).sample_rate == 8000
    assert lanner.AudioReader(clip, stream=2).sample_rate == 16000
    with pytest.raises(lanner.InvalidArgument, match="stream 0 is video, not audio"):
        lanner.AudioReader(clip, stream=0)
    with pytest.raises(lanner.InvalidArgument, match="no stream 9; there are 3"):
        lanner.AudioReader(clip, stream=9)


def test_no_audio_is_one_line(tmp_path):
    clip = tmp_path / "silent.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=1", clip)
    with pytest.raises(lanner.InvalidArgument, match=r"silent.mp4: there is no audio in it$"):
        lanner.AudioReader(clip)


def test_audio_without_a_sample(tmp_path):
    path = tmp_path / "empty.wav"
    ffmpeg("-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono", "-t", "0.1", path)
    path.write_bytes(path.read_bytes()[:-3200])
    audio = lanner.AudioReader(path)
    assert audio.num_samples == 0 and audio.read().data.shape[1] == 0 and list(audio) == []
    assert audio.read(0, 1).data.shape[1] == 0


@pytest.mark.parametrize("name", ["aac.mp4", "flac.flac", "mp3.mp3", "opus.ogg", "vorbis.ogg", "ac3.mkv"])
def test_damage_is_left_out_as_ffmpeg_does_or_an_error(files, tmp_path, name):
    content = bytearray(files(name).read_bytes())
    draw = random.Random(name)
    for _ in range(30):
        at = draw.randrange(len(content) // 4, len(content) // 2)
        content[at] ^= 1 << draw.randrange(8)
    path = tmp_path / name
    path.write_bytes(content)
    audio = lanner.AudioReader(path)
    whole = audio.read()
    assert same(whole, reference(path))
    begin = whole.data.shape[1] * 3 // 4
    assert same(audio.read_samples(begin, begin + 1000), whole.data.numpy()[:, begin : begin + 1000])
    strict = lanner.AudioReader(path, raise_on_error=True)
    if whole.damaged:
        with pytest.raises(lanner.BadData, match="audio at "):
            strict.read()
        assert not strict.read_samples(0, 4800).damaged
    else:
        assert same(strict.read(), whole.data.numpy())


@pytest.mark.parametrize("name", ["aac.mp4", "flac.flac", "opus.mkv", "pcm.wav", "mp3.mp3"])
def test_a_file_that_ends_early(files, tmp_path, name):
    content = files(name).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[: len(content) * 2 // 3])
    try:
        whole = lanner.AudioReader(path).read()
    except lanner.Error as error:  # Of MP4 the tables lie at the end.
        assert name == "aac.mp4" and "\n" not in str(error)
        return
    assert same(whole, reference(path))


def test_limits(files):
    path = files("flac.flac")
    with pytest.raises(lanner.LimitExceeded, match="total_bytes"):
        lanner.AudioReader(path, limits={"total_bytes": "2MiB"}).read()
    assert lanner.AudioReader(path, limits={"total_bytes": "2MiB"}).read(1, 2).data.shape == (2, 48000)
    with pytest.raises(lanner.LimitExceeded, match="tensor_bytes"):
        lanner.AudioReader(path, limits={"tensor_bytes": "1MiB"}).read()
    with pytest.raises(lanner.LimitExceeded, match="seconds"):
        lanner.AudioReader(path, limits={"seconds": 1e-9}).read()
    assert sum(len(chunk.data.numpy()[0]) for chunk in lanner.AudioReader(path, limits={"total_bytes": "2MiB"})) == 192_000


def test_a_rate_that_no_sound_has(files, tmp_path):
    """Filters for it would take gigabytes."""
    content = bytearray(files("pcm.wav").read_bytes())
    content[24:28] = (2_000_000_000).to_bytes(4, "little")
    (tmp_path / "fast.wav").write_bytes(content)
    with pytest.raises(lanner.Unsupported, match="cannot resample from 2000000000 to 16000 Hz, expected rates within a factor of 256"):
        lanner.AudioReader(tmp_path / "fast.wav", sample_rate=16000).read()
    assert lanner.AudioReader(tmp_path / "fast.wav").read_samples(0, 100).data.shape == (2, 100)


def test_wrong_options(files):
    path = files("pcm.wav")
    for options, line in (
        ({"sample_rate": -1}, "sample_rate -1, expected 100 to 768000"),
        ({"num_channels": 1000}, "num_channels 1000, expected 1 to 64"),
    ):
        with pytest.raises(lanner.InvalidArgument, match=line):
            lanner.AudioReader(path, **options)
    with pytest.raises(TypeError, match="sample_rates"):
        lanner.AudioReader(path, sample_rates=3)
    with pytest.raises(lanner.InvalidArgument, match="chunks: 0 seconds"):
        lanner.AudioReader(path).chunks(0)


def test_threads_share_a_reader(files):
    path = files("mp3.mp3")
    audio = lanner.AudioReader(path)
    expected = reference(path)
    wrong = []

    def work(seed):
        draw = random.Random(seed)
        for _ in range(10):
            begin = draw.randrange(expected.shape[1] - 500)
            if not same(audio.read_samples(begin, begin + 500), expected[:, begin : begin + 500]):
                wrong.append(begin)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
