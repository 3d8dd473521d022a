"""A reader is a sequence: iterations with places of their own, numbers that move none, facts without decoding."""

import gc
import itertools
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from command import DATA, SECONDS, make_clip, succeed

lanner = pytest.importorskip("lanner")

COUNT, RATE, WIDTH, HEIGHT = 40, 25, 64, 48


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clip"), frames=COUNT, rate=RATE)


@pytest.fixture(scope="module")
def linear(clip):
    return [bytes_of(frame) for frame in lanner.VideoReader(clip)]


@pytest.fixture(scope="module")
def turned(clip, tmp_path_factory):
    """The same clip, whose header says that it is shown turned clockwise by a quarter (ISO/IEC 14496-12, 8.3.2)."""
    data = bytearray(clip.read_bytes())
    matrix = data.index(b"tkhd") + 4 + 40
    one, last = 1 << 16, 1 << 30
    values = (0, one, 0, -one, 0, 0, 0, 0, last)
    data[matrix : matrix + 36] = b"".join(value.to_bytes(4, "big", signed=True) for value in values)
    path = tmp_path_factory.mktemp("turned") / "turned.mp4"
    path.write_bytes(data)
    return path


def bytes_of(frame):
    return b"".join(np.asarray(plane).tobytes() for plane in frame.planes)


@pytest.mark.parametrize("options", [{}, {"prefetch": 3}, {"decoders": 2}, {"prefetch": 3, "decoders": 2}])
def test_numbers_move_no_iteration(clip, linear, options):
    video = lanner.VideoReader(clip, **options)
    seen = []
    for frame in video:
        seen.append(frame.index)
        assert video[frame.index - 1].index == (frame.index - 1) % COUNT
        assert video[-1].index == COUNT - 1
        assert bytes_of(frame) == linear[frame.index]
        assert len(seen) <= COUNT
    assert seen == list(range(COUNT))


def test_iterations_know_nothing_of_each_other(clip, linear):
    video = lanner.VideoReader(clip)
    pairs = [(a.index, b.index) for a, b in zip(video, video, strict=True)]
    assert pairs == [(i, i) for i in range(COUNT)]
    assert all(bytes_of(a) == bytes_of(b) == linear[a.index] for a, b in zip(video, video, strict=True))
    nested = [(a.index, b.index) for a in itertools.islice(video, 3) for b in video]
    assert nested == [(i, k) for i in range(3) for k in range(COUNT)]
    following = iter(video)
    next(following)
    assert [b.index - a.index for a, b in zip(video, following, strict=False)] == [1] * (COUNT - 1)
    first, second = iter(video), iter(video)
    taken = [next(first).index for _ in range(5)] + [next(second).index for _ in range(2)]
    assert taken + [next(first).index, next(second).index] == [0, 1, 2, 3, 4, 0, 1, 5, 2]


def test_an_iteration_that_ended_stays_so(clip):
    iterator = iter(lanner.VideoReader(clip))
    assert len(list(iterator)) == COUNT and list(iterator) == []
    assert iter(iterator) is iterator
    both = [iter(lanner.VideoReader(clip))]
    both.append(both[0])
    assert [a.index for a, b in zip(*both, strict=True)] == list(range(0, COUNT, 2))


def test_an_iteration_outlives_its_reader(clip, linear):
    video = lanner.VideoReader(clip)
    iterator = iter(video)
    assert bytes_of(next(iterator)) == linear[0]
    alive = weakref.ref(iterator) if hasattr(type(iterator), "__weakref__") else None
    del video
    gc.collect()
    assert [bytes_of(frame) for frame in iterator] == linear[1:]
    assert alive is None or alive() is iterator


def test_threads_iterate_side_by_side(clip, linear):
    video = lanner.VideoReader(clip)
    found = {}

    def work(number):
        found[number] = [bytes_of(frame) for frame in video] == linear and bytes_of(video[number]) == linear[number]

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), True)
    shared, numbers = iter(video), []
    threads = [threading.Thread(target=lambda: numbers.extend(frame.index for frame in shared)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(COUNT))


def test_it_is_a_sequence(clip, linear):
    video = lanner.VideoReader(clip)
    assert [bytes_of(frame) for frame in reversed(video)] == linear[::-1]
    assert [frame.index for frame in video[5:2:-1]] == [5, 4, 3] and video[3:3] == []
    assert isinstance(video[0], lanner.Frame)
    with pytest.raises(TypeError, match="not looked for"):
        _ = video[0] in video
    with pytest.raises(TypeError, match="iterator"):
        next(video)


def test_a_reversed_iteration_of_one_long_gop(tmp_path):
    source = make_clip(tmp_path, frames=90)
    succeed("transcode", source, tmp_path / "gop.mp4", "--gop", 90)
    video = lanner.VideoReader(tmp_path / "gop.mp4")
    assert [frame.index for frame in reversed(video)] == list(range(89, -1, -1))


def test_with_closes_it(clip, linear):
    with lanner.VideoReader(clip) as video:
        kept, iterator = video[3], iter(video)
        next(iterator)
        assert not video.closed and "closed" not in repr(video)
    assert video.closed and "closed" in repr(video)
    assert bytes_of(kept) == linear[3]
    calls = [lambda: video[0], lambda: len(video), lambda: next(iter(video)), lambda: next(iterator), lambda: video.index]
    for call in calls:
        with pytest.raises(lanner.InvalidArgument, match="it was closed"):
            call()
    video.close()
    assert (video.width, video.fps) == (WIDTH, RATE)
    with pytest.raises(ValueError, match="mine"), lanner.VideoReader(clip) as video:
        raise ValueError("mine")
    assert video.closed


def test_a_closed_reader_lets_go_of_its_file(clip):
    program = (
        "import lanner, os, sys\n"
        "path = sys.argv[1]\n"
        "def opened():\n"
        "    links = [f'/proc/self/fd/{fd}' for fd in os.listdir('/proc/self/fd')]\n"
        "    return sum(os.path.exists(link) and os.path.realpath(link) == os.path.realpath(path) for link in links)\n"
        "video = lanner.VideoReader(path)\n"
        "iterator = iter(video)\n"
        "next(iterator), video[3]\n"
        "assert opened() > 0\n"
        "video.close()\n"
        "assert opened() == 0, opened()\n"
        "parallel = lanner.ParallelDecoder(path)\n"
        "rest = iter(parallel)\n"
        "next(rest)\n"
        "parallel.close()\n"
        "assert opened() == 0, opened()\n"
    )
    subprocess.run([sys.executable, "-c", program, clip], check=True, timeout=SECONDS)


def test_facts_need_no_decoding(clip):
    video = lanner.VideoReader(clip, cache_index=False)
    assert (video.width, video.height, video.fps) == (WIDTH, HEIGHT, RATE)
    assert video.duration == pytest.approx(COUNT / RATE)
    assert "encoder" in video.metadata
    assert video.pts() == video.index.pts and video.pts([3, -1]) == [video.index.pts[3], video.index.pts[-1]]
    assert video.times(slice(0, 3)) == [0, 1 / RATE, 2 / RATE]
    assert video.times(np.array([10])) == [10 / RATE] and video.times([]) == []
    with pytest.raises(IndexError):
        video.times([COUNT])
    with pytest.raises(TypeError, match="like \\[3\\], got 7"):
        video.times(7)
    assert repr(video).startswith(f"lanner.VideoReader({WIDTH}x{HEIGHT} h264, 25 fps, 1.60 s, ffmpeg h264")
    assert repr(video[7]).startswith(f"lanner.Frame(#7, {WIDTH}x{HEIGHT} yuv420p, 0.280 s, cpu")
    parallel = lanner.ParallelDecoder(clip)
    assert (parallel.width, parallel.height, parallel.fps, parallel.duration) == (WIDTH, HEIGHT, RATE, video.duration)
    assert parallel.metadata == video.metadata and repr(parallel).startswith("lanner.ParallelDecoder(64x48 h264")


def test_a_stream_without_times(clip, tmp_path):
    succeed("transcode", clip, tmp_path / "raw.264")
    video = lanner.VideoReader(tmp_path / "raw.264")
    assert len(video.times()) == COUNT == len(video)
    assert video.fps is None or video.fps > 0
    assert video.duration is None or video.duration > 0


def test_pictures_are_shown_upright(turned, clip):
    stored = lanner.VideoReader(clip, format="rgb24")
    upright = [np.rot90(np.asarray(frame), -1) for frame in stored]
    video = lanner.VideoReader(turned, format="rgb24")
    assert (video.width, video.height, video.stream.width, video.stream.rotation) == (HEIGHT, WIDTH, WIDTH, 90)
    ways = {
        "iteration": list(video),
        "numbers": [video[i] for i in range(COUNT)],
        "slice": video[:],
        "prefetch": list(lanner.VideoReader(turned, format="rgb24", prefetch=2)),
        "parallel": list(lanner.ParallelDecoder(turned, format="rgb24", decoders=2)),
    }
    for way, frames in ways.items():
        assert len(frames) == COUNT, way
        for i, frame in enumerate(frames):
            assert (frame.rotation, frame.width, frame.height) == (0, HEIGHT, WIDTH), way
            np.testing.assert_allclose(np.asarray(frame).astype(int), upright[i], atol=2, err_msg=way)
    as_stored = lanner.VideoReader(turned, rotate=False)
    assert (as_stored.width, as_stored[0].rotation, as_stored[0].width) == (WIDTH, 90, WIDTH)
    assert bytes_of(as_stored[4]) == bytes_of(lanner.VideoReader(clip)[4])
    assert lanner.ParallelDecoder(turned, rotate=False).width == WIDTH


def test_batches_and_tensors_are_of_upright_pictures(turned):
    video = lanner.VideoReader(turned, preprocess=lanner.Preprocess(size=(32, 24), preset="imagenet"))
    batch = video.batch([3, 9], size=(32, 24), preset="imagenet")
    for element, number in enumerate((3, 9)):
        np.testing.assert_array_equal(np.asarray(batch)[element], np.asarray(video[number].tensor)[0])
        made = video[number].to_tensor(size=(32, 24), preset="imagenet")
        np.testing.assert_array_equal(np.asarray(batch)[element], np.asarray(made)[0])
    assert video.batch([0]).shape == (1, 3, WIDTH, HEIGHT) and video.batch([]).shape == (0, 3, WIDTH, HEIGHT)
    assert lanner.VideoReader(turned, rotate=False).batch([0]).shape == (1, 3, HEIGHT, WIDTH)


def test_the_command_decodes_as_stored_unless_asked(turned, clip, tmp_path):
    assert succeed("decode", turned, "--md5") == succeed("decode", clip, "--md5")
    assert succeed("decode", turned, "--md5", "--rotate") != succeed("decode", clip, "--md5")
    succeed("decode", turned, "--frames", 3, "-o", tmp_path / "frame.png")
    assert lanner.load_image(tmp_path / "frame.png").height == WIDTH


def test_real_clips_that_are_stored_turned():
    for name in ("torchcodec/nasa_13013_rotated.mp4", "vali/test_rot_90_deg.mp4"):
        path = DATA / "video" / name
        if not path.exists():
            pytest.skip("no real clips at ../shared/data")
        video = lanner.VideoReader(path)
        frame = video[0]
        assert (frame.width, frame.height) == (video.width, video.height)
        assert frame.rotation == 0 != video.stream.rotation


def test_frames_keep_their_picture_beside_a_tensor(clip, linear):
    spec = lanner.Preprocess(size=(16, 16))
    for frames in (lanner.VideoReader(clip, preprocess=spec), lanner.ParallelDecoder(clip, preprocess=spec)):
        for frame in frames:
            assert bytes_of(frame) == linear[frame.index]
            assert frame.tensor.shape == (1, 3, 16, 16) and frame.image.width == WIDTH
    both = lanner.VideoReader(clip, preprocess=spec, format="rgb24")[5]
    np.testing.assert_array_equal(both.tensor, lanner.VideoReader(clip)[5].to_tensor(spec))
    assert np.asarray(both).shape == (HEIGHT, WIDTH, 3)


def test_a_preprocess_is_taken_as_it_is(clip):
    video, spec = lanner.VideoReader(clip), lanner.Preprocess(size=(16, 24), preset="imagenet")
    frame = video[2]
    np.testing.assert_array_equal(frame.to_tensor(spec), frame.to_tensor(size=(16, 24), preset="imagenet"))
    assert frame.image.to_tensor(spec, dtype="uint8", layout="hwc").shape == (1, 16, 24, 3)
    np.testing.assert_array_equal(video.batch([2], spec), frame.to_tensor(spec))
    np.testing.assert_array_equal(frame.to_tensor(spec=spec), frame.to_tensor(spec, spec=None))
    for call in (lambda: frame.to_tensor((16, 24)), lambda: video.batch([2], spec, spec), lambda: frame.to_tensor(None)):
        with pytest.raises(TypeError, match="has no name"):
            call()
    with pytest.raises(TypeError, match="spec is given twice"):
        frame.to_tensor(spec, spec=spec)
    with pytest.raises(TypeError, match="spec: 3 is of the wrong type"):
        video.batch([2], spec=3)


def test_all_frames_come_each_time(clip, linear):
    parallel = lanner.ParallelDecoder(clip, decoders=2)
    for _ in range(3):
        assert [bytes_of(frame) for frame in parallel] == linear
    assert [(a.index, b.index) for a, b in zip(parallel, parallel, strict=True)] == [(i, i) for i in range(COUNT)]
    for frame in parallel:
        if frame.index == 3:
            break
    assert next(iter(parallel)).index == 0
    with lanner.ParallelDecoder(clip) as parallel:
        rest = iter(parallel)
        next(rest)
    for call in (lambda: iter(parallel), lambda: next(rest)):
        with pytest.raises(lanner.InvalidArgument, match="it was closed"):
            call()
    assert "closed" in repr(parallel)


def test_a_pipe_gives_its_frames_once(clip, tmp_path):
    stream = tmp_path / "clip.ts"
    succeed("transcode", clip, stream)
    for make in (lanner.VideoReader, lanner.ParallelDecoder):
        with subprocess.Popen(["cat", stream], stdout=subprocess.PIPE) as pipe:
            video = make(pipe.stdout)
            assert [frame.index for frame in video] == list(range(COUNT))
            with pytest.raises(lanner.Unsupported, match="a source that can go back"):
                next(iter(video))
    with subprocess.Popen(["cat", stream], stdout=subprocess.PIPE) as pipe:
        video = lanner.VideoReader(pipe.stdout)
        assert [(a.index, b.index) for a, b in zip(video, video, strict=True)] == [(i, i) for i in range(COUNT)]
    with subprocess.Popen(["cat", stream], stdout=subprocess.PIPE) as pipe:
        video = lanner.VideoReader(pipe.stdout)
        first, second = iter(video), iter(video)
        assert (next(first).index, next(first).index) == (0, 1)
        with pytest.raises(lanner.Unsupported, match="come once"):
            next(second)
        assert next(first).index == 2


class Asking:
    """A file whose read() asks the reader that reads it."""

    def __init__(self, path, ask):
        self.file, self.ask, self.video, self.said = open(path, "rb"), ask, None, []

    def read(self, size):
        if self.video is not None:
            video, self.video = self.video, None
            try:
                self.ask(video)
            except lanner.Error as error:
                self.said.append(str(error))
        return self.file.read(size)

    def seek(self, *place):
        return self.file.seek(*place)

    def tell(self):
        return self.file.tell()

    def seekable(self):
        return True


@pytest.mark.parametrize(
    "ask", [lambda video: video[0], lambda video: next(iter(video)), lambda video: video.close(), lambda video: len(video)]
)
def test_a_source_may_not_ask_its_reader(clip, ask):
    source = Asking(clip, ask)
    video = lanner.VideoReader(source, threads=1, cache_index=False)
    source.video = video
    assert video[3].index == 3
    assert len(source.said) == 1 and "busy with another call" in source.said[0]


def test_readers_of_one_file_object_take_turns(clip, linear):
    with open(clip, "rb") as file:
        video = lanner.VideoReader(file)
        assert [bytes_of(video[a.index]) == bytes_of(a) for a in video] == [True] * COUNT


def test_help_names_every_keyword():
    for function in (lanner.VideoReader, lanner.ParallelDecoder):
        text = function.__init__.__doc__
        assert all(f"{name}: " in text for name in ("rotate", "threads", "format", "limits", "prefetch"))
    for function in (lanner.Frame.to_tensor, lanner.Image.to_tensor, lanner.VideoReader.batch, lanner.Preprocess.__init__):
        text = function.__doc__
        assert all(f"{name}: " in text for name in ("preset", "size", "resize", "fit", "mean", "pad_value"))
        assert "antialias" in text
