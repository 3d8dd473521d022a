"""Frames by time, samples, batches, views without copies, and readers in other processes."""

import fractions
import multiprocessing
import pickle
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from command import COMMAND, DATA, SECONDS, make_clip, succeed

lanner = pytest.importorskip("lanner")

COUNT, RATE, WIDTH, HEIGHT = 50, 25, 64, 48


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clip"), frames=COUNT, rate=RATE)


@pytest.fixture(scope="module")
def linear(clip):
    return [bytes_of(frame) for frame in lanner.VideoReader(clip)]


def bytes_of(frame):
    return b"".join(np.asarray(plane).tobytes() for plane in frame.planes)


def test_frames_by_time(clip, linear):
    reader = lanner.VideoReader(clip)
    assert [frame.index for frame in reader.frames_at([0, 0.0399, 0.04, 1.0, 1.999, 0.5])] == [0, 0, 1, 25, 49, 12]
    assert [bytes_of(frame) for frame in reader.frames_at([0.4])] == [linear[10]]
    assert [frame.index for frame in reader.frames_played_in(0.1, 0.2)] == [2, 3, 4]
    assert reader.frames_played_in(1.0, 1.0) == []
    for outside in (-0.001, 2.0):
        with pytest.raises(lanner.InvalidArgument, match="from 0 s to before 2 s"):
            reader.frames_at([outside])


def test_samples(clip):
    reader = lanner.VideoReader(clip)
    assert reader.sample_indices(5) == [5, 15, 25, 35, 45]
    assert reader.sample_indices(1) == [25]
    assert reader.sample_indices(fps=5) == list(range(0, 50, 5))
    assert [frame.index for frame in reader.sample(2)] == [12, 37]
    for wrong in ({}, {"count": 2, "fps": 2}):
        with pytest.raises(lanner.InvalidArgument, match="count of frames or fps="):
            reader.sample(**wrong)


def test_a_batch_is_the_frames_tensors(clip):
    reader = lanner.VideoReader(clip)
    spec = {"size": (24, 32), "preset": "imagenet"}
    batch = reader.batch([40, 3, 3, -1], **spec)
    assert (batch.shape, batch.dtype) == ((4, 3, 24, 32), "float32")
    alone = np.concatenate([np.asarray(reader[i].to_tensor(**spec)) for i in (40, 3, 3, -1)])
    np.testing.assert_array_equal(batch, alone)
    assert reader.batch(slice(0, 10, 4), dtype="uint8", layout="nhwc").shape == (3, HEIGHT, WIDTH, 3)
    assert reader.batch([], **spec).shape == (0, 3, 24, 32)


def test_formats_and_tensors_come_from_the_reader(clip):
    frame = lanner.VideoReader(clip, format="rgb24")[7]
    assert frame.format == "rgb24"
    np.testing.assert_array_equal(np.asarray(frame), lanner.VideoReader(clip)[7].to_rgb())
    spec = lanner.Preprocess(size=(24, 32))
    frames = list(lanner.ParallelDecoder(clip, preprocess=spec, decoders=2))
    assert [frame.index for frame in frames] == list(range(COUNT))
    np.testing.assert_array_equal(frames[9].tensor, lanner.VideoReader(clip)[9].to_tensor(size=(24, 32)))


def test_many_decoders_give_what_one_gives(clip, linear):
    for options in ({"decoders": 1}, {"decoders": 3}, {"decoders": 2, "threads": 1}):
        assert [bytes_of(frame) for frame in lanner.ParallelDecoder(clip, **options)] == linear
    assert [bytes_of(frame) for frame in lanner.VideoReader(clip, prefetch=4)] == linear


def test_planes_share_the_decoders_memory(clip):
    frame = lanner.VideoReader(clip)[0]
    luma, u, v = frame.planes
    assert (luma.shape, u.shape, luma.dtype, luma.device) == ((HEIGHT, WIDTH), (HEIGHT // 2, WIDTH // 2), "uint8", "cpu")
    assert luma.pitch >= WIDTH and luma.strides == (luma.pitch, 1)
    view = np.asarray(luma)
    assert view.ctypes.data == luma.ptr and not view.flags.writeable
    np.testing.assert_array_equal(np.from_dlpack(luma), view)
    before = view.copy()
    del frame, luma, u, v
    np.testing.assert_array_equal(view, before)
    with pytest.raises(AttributeError, match="host memory"):
        _ = lanner.VideoReader(clip)[0].planes[0].__cuda_array_interface__
    with pytest.raises(AttributeError, match="planes"):
        _ = lanner.VideoReader(clip)[0].__array_interface__


def test_two_hundred_frames_held(clip, linear):
    held = [frame for _ in range(4) for frame in lanner.VideoReader(clip)]
    assert [bytes_of(frame) for frame in held] == linear * 4


def test_torch_reads_planes(clip):
    torch = pytest.importorskip("torch")
    frame = lanner.VideoReader(clip, format="rgb24")[3]
    np.testing.assert_array_equal(torch.from_dlpack(frame).numpy(), np.asarray(frame))


def test_readers_share_an_index(clip, linear):
    first = lanner.VideoReader(clip)
    index = first.index
    assert len(index) == COUNT and index.keyframes[0] == 0
    assert [pts * index.time_base for pts in index.pts] == [fractions.Fraction(i, RATE) for i in range(COUNT)]
    assert bytes_of(lanner.VideoReader(clip, index=index)[31]) == linear[31]


def test_readers_pickle(clip, linear):
    reader = lanner.VideoReader(clip, threads=1, decoders=1)
    assert bytes_of(pickle.loads(pickle.dumps(reader))[20]) == linear[20]
    from_bytes = pickle.loads(pickle.dumps(lanner.VideoReader(clip.read_bytes())))
    assert bytes_of(from_bytes[20]) == linear[20]
    with clip.open("rb") as file, pytest.raises(TypeError, match="file object"):
        pickle.dumps(lanner.VideoReader(file))


class Clips:
    """A dataset as PyTorch's: numbers in, arrays out."""

    def __init__(self, paths):
        self.readers = [lanner.VideoReader(path, threads=1, decoders=1) for path in paths]

    def __len__(self):
        return sum(len(reader) for reader in self.readers)

    def __getitem__(self, i):
        return bytes_of(self.readers[i % len(self.readers)][i // len(self.readers)])


def test_a_dataset_works_in_spawned_workers(clip, linear):
    dataset = Clips([clip, clip])
    order = np.random.default_rng(5).permutation(len(dataset)).tolist()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(dataset.__getitem__, order)
    assert found == [linear[i // 2] for i in order]


def test_frames_of_unequal_size_need_a_size():
    clip = DATA / "video" / "vali" / "test_res_change.h264"
    if not clip.exists():
        pytest.skip("no real clips at ../shared/data")
    reader = lanner.VideoReader(clip)
    sizes = [(frame.height, frame.width) for frame in reader]
    other = next(i for i, size in enumerate(sizes) if size != sizes[0])
    with pytest.raises(lanner.InvalidArgument, match="width and a height"):
        reader.batch([0, other])
    assert reader.batch([0, other], size=(48, 64)).shape == (2, 3, 48, 64)


def test_unknown_options_are_named(clip):
    with pytest.raises(TypeError, match=r"unknown option 'thread'; did you mean threads\?"):
        lanner.VideoReader(clip, thread=2)
    with pytest.raises(lanner.InvalidArgument, match="device 'gpu' is not known; expected cpu, cuda, cuda:N"):
        lanner.VideoReader(clip, device="gpu")


def test_a_frames_own_time_finds_it(clip):
    reader = lanner.VideoReader(clip)
    assert [reader.index_at(i / RATE) for i in range(COUNT)] == list(range(COUNT))
    base = reader.index.time_base
    assert [reader.index_at(float(pts * base)) for pts in reader.index.pts] == list(range(COUNT))
    assert reader[35].seconds == 1.4
    assert [frame.index for frame in reader.frames_played_in(1.4, 1.44)] == [35]


def test_a_pipe_is_read_once_from_end_to_end(clip, linear, tmp_path):
    stream = tmp_path / "clip.ts"
    subprocess.run([COMMAND, "transcode", clip, stream], check=True, capture_output=True)
    expected = sum(1 for _ in lanner.VideoReader(stream))
    for collect in (list, lambda reader: [frame for frame in reader]):
        with subprocess.Popen(["cat", stream], stdout=subprocess.PIPE) as pipe:
            assert len(collect(lanner.VideoReader(pipe.stdout))) == expected == COUNT


def test_what_is_no_frame_is_told(clip):
    reader = lanner.VideoReader(clip)
    assert [frame.index for frame in reader[np.array([3, 1, -1])]] == [3, 1, COUNT - 1]
    assert reader[np.int64(7)].index == 7
    for beyond in (COUNT, -COUNT - 1, 2**63, -(2**70)):
        with pytest.raises(IndexError):
            reader[beyond]
    for wrong in (None, 1.5, "a", ["a"], [None]):
        with pytest.raises(TypeError, match="number"):
            reader[wrong]


@pytest.mark.parametrize(
    "option",
    [
        {"threads": 1.5}, {"threads": "2"}, {"stream": "0"}, {"prefetch": "2"}, {"frame_bytes": -1},
        {"raise_on_error": "no"}, {"preprocess": {"size": (4, 4)}}, {"index": "x"}, {"threads": 99 * "\u00e9"},
    ],
)  # fmt: skip
def test_options_of_a_wrong_type_are_named(clip, option):
    with pytest.raises(TypeError, match=f"^{next(iter(option))}: "):
        lanner.VideoReader(clip, **option)


@pytest.mark.parametrize(
    "option", [{"threads": -1}, {"threads": 1000}, {"decoders": -5}, {"prefetch": -1}, {"stream": -2}, {"latency": "x"}]
)
def test_options_out_of_range_are_named(clip, option):
    with pytest.raises(lanner.InvalidArgument, match=next(iter(option))):
        lanner.VideoReader(clip, **option)


def test_preprocess_and_its_readers_pickle(clip):
    spec = lanner.Preprocess(size=(4, 4), preset="imagenet")
    assert pickle.loads(pickle.dumps(spec)) == spec
    reader = pickle.loads(pickle.dumps(lanner.VideoReader(clip, preprocess=spec)))
    assert reader[3].tensor.shape == (1, 3, 4, 4)


def test_arrays_are_not_made_of_what_is_none(clip):
    with pytest.raises(TypeError, match="take its planes"):
        np.asarray(lanner.VideoReader(clip)[0])
    frame = lanner.VideoReader(clip, preprocess=lanner.Preprocess(size=(4, 4)))[0]
    assert "tensor" in repr(frame)
    assert np.asarray(lanner.VideoReader(clip, format="rgb24")[0]).shape == (HEIGHT, WIDTH, 3)


def test_an_index_of_another_clip_is_refused(clip, linear, tmp_path):
    other = tmp_path / "other.mp4"
    succeed("transcode", clip, other, "--gop", "10")
    for read in (list, lambda video: video[COUNT - 1], list):
        with pytest.raises(lanner.InvalidArgument, match="is of another clip"):
            read(lanner.VideoReader(clip, index=lanner.VideoReader(other).index))
    # Nothing of it is left in the user's cache.
    assert [bytes_of(lanner.VideoReader(clip)[i]) for i in (COUNT - 1, 0, 20)] == [linear[i] for i in (COUNT - 1, 0, 20)]
    copy = shutil.copy(clip, tmp_path / "copy.mp4")  # The same clip under another name and of another time.
    assert bytes_of(lanner.VideoReader(copy, index=lanner.VideoReader(clip).index)[31]) == linear[31]
    assert bytes_of(lanner.VideoReader(copy.read_bytes(), index=lanner.VideoReader(clip).index)[31]) == linear[31]


def ffmpeg(*arguments):
    """Runs ffmpeg, or skips the test where it is not there or lacks what is asked for."""
    program = shutil.which("ffmpeg")
    if not program:
        pytest.skip("no ffmpeg")
    result = subprocess.run([program, "-v", "error", "-y", *map(str, arguments)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.skip(result.stderr.strip().splitlines()[-1])


def test_a_clip_that_was_cut_begins_the_same_each_time(tmp_path):
    """Its first pictures refer to others that are gone, and must not show what was decoded in between."""
    whole, cut = tmp_path / "whole.ts", tmp_path / "cut.ts"
    params = "log-level=none:open-gop=1:keyint=10:min-keyint=10:bframes=4:b-pyramid=1:scenecut=0:ref=5"
    for source, start in (("mandelbrot", 0.45), ("testsrc2", 0.2), ("testsrc2", 0.7)):
        ffmpeg("-f", "lavfi", "-i", f"{source}=s=160x96:r=25", "-frames:v", 40, "-c:v", "libx265", "-x265-params", params, whole)
        ffmpeg("-ss", start, "-i", whole, "-c", "copy", "-copyinkf", cut)
        linear = [bytes_of(frame) for frame in lanner.VideoReader(cut, threads=1)]
        video = lanner.VideoReader(cut, threads=1)
        for i in (12, 0, 3, 17, 0, 5, 1):
            assert bytes_of(video[i]) == linear[i], (source, start, i)


def test_the_first_frame_of_an_avi_has_a_time(tmp_path):
    clip = tmp_path / "b.avi"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", 20, "-c:v", "mpeg4", "-bf", 2, clip)
    first = lanner.VideoReader(clip)
    times = [frame.pts for frame in first]
    assert times == list(range(times[0], times[0] + 20))
    assert lanner.VideoReader(clip).index.pts == times == [frame.pts for frame in lanner.VideoReader(clip)[:]]
    assert [frame.pts for frame in lanner.ParallelDecoder(clip)] == times
    video = lanner.VideoReader(clip, cache_index=False)
    iterator = iter(video)
    ahead = [next(iterator), next(iterator)]
    assert [frame.index for frame in ahead] == [0, 1] and video[1].pts == times[1]  # An index in the middle.
    assert [frame.pts for frame in iterator] == times[2:]
    assert [(frame.index, frame.pts) for frame in video] == list(enumerate(times))
    assert video.index_at(float(times[0] * video.stream.time_base)) == 0


def test_gray_arrays_are_images():
    array = np.arange(48, dtype=np.uint8).reshape(6, 8)
    image = lanner.Image(array, "gray8")
    assert (image.width, image.height, image.format) == (8, 6, "gray8")
    np.testing.assert_array_equal(np.asarray(image.planes[0]), array)
    np.testing.assert_array_equal(np.asarray(lanner.Image(array[:, :, None], "gray8").planes[0]), array)
    with pytest.raises(lanner.InvalidArgument, match="height, width, 3"):
        lanner.Image(array)


MEMORY = """
import lanner, sys
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 >> 20
video = lanner.VideoReader(sys.argv[1], threads=1, decoders=1)
video[0]
before = resident()
frames = video[:]
most = resident() - before
kept = frames[0]
del frames
print(most, resident() - before)
"""


def test_what_was_let_go_of_is_given_back(tmp_path):
    """One frame that is kept, and a reader that lives, keep no memory of the others."""
    clip = make_clip(tmp_path, frames=60, width=1920, height=1080)
    result = subprocess.run([sys.executable, "-c", MEMORY, clip], capture_output=True, text=True, check=True, timeout=SECONDS)
    most, left = map(int, result.stdout.split())
    assert most > 150 and left < most / 2


@pytest.mark.parametrize(
    "work",
    [
        lambda clip: [frame for frame in lanner.ParallelDecoder(clip, format="rgb24", decoders=2)],
        lambda clip: lanner.VideoReader(clip)[:],
        lambda clip: lanner.VideoReader(clip).batch(slice(None), size=(16, 16)),
        lambda clip: len(lanner.VideoReader(clip, cache_index=False)),
    ],
    ids=["parallel", "slice", "batch", "len"],
)
def test_an_interrupt_is_a_keyboard_interrupt(clip, work):
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)  # Whenever it comes, it is one.
        with pytest.raises(KeyboardInterrupt):
            while True:
                work(clip)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
