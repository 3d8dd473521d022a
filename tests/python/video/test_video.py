"""Video from Python: frames written, read by number and by iteration, made tensors."""

import concurrent.futures
import fractions
import hashlib
import io
import multiprocessing
import sys
import threading
import time

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

WIDTH, HEIGHT, COUNT = 160, 96, 40


def drawn(i):
    """A ramp that moves: smooth, so that coding keeps it."""
    x = np.arange(WIDTH)[None, :, None] + np.zeros((HEIGHT, 1, 3))
    return ((x + 4 * i + np.array([0, 40, 80])) % 256 // 2 + 40).astype(np.uint8)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "ramp.mp4"
    with lanner.VideoWriter(path, width=WIDTH, height=HEIGHT, fps=25, crf=12, gop=10) as writer:
        for i in range(COUNT):
            writer.write(drawn(i))
    return path


def bytes_of(frame):
    return b"".join(np.asarray(plane).tobytes() for plane in frame.planes)


def test_length_numbers_and_slices_are_a_lists(clip):
    reader = lanner.VideoReader(clip)
    linear = [bytes_of(frame) for frame in lanner.VideoReader(clip)]
    assert len(reader) == len(linear) == COUNT
    for i in (0, 17, COUNT - 1, -1, -COUNT, 3):
        assert bytes_of(reader[i]) == linear[i]
    for part in (slice(None, None, 7), slice(5, 2), slice(30, 10, -6), slice(-3, None), slice(0, 1000, 13)):
        assert [bytes_of(frame) for frame in reader[part]] == linear[part]
    assert [bytes_of(frame) for frame in reader[[3, 3, 0, -1]]] == [linear[i] for i in (3, 3, 0, -1)]
    for outside in (COUNT, -COUNT - 1):
        with pytest.raises(IndexError):
            reader[outside]


def test_iteration_starts_anew(clip):
    reader = lanner.VideoReader(clip)
    assert [frame.index for frame in reader] == [frame.index for frame in reader] == list(range(COUNT))


def test_times_are_exact(clip):
    frames = list(lanner.VideoReader(clip))
    assert [frame.pts * frame.time_base for frame in frames] == [fractions.Fraction(i, 25) for i in range(COUNT)]
    assert frames[1].seconds == pytest.approx(0.04)
    assert {frame.duration * frame.time_base for frame in frames[:-1]} == {fractions.Fraction(1, 25)}


def test_pictures_survive_coding(clip):
    for i, frame in enumerate(lanner.VideoReader(clip)):
        difference = np.abs(frame.to_rgb().numpy().astype(int) - drawn(i))
        assert np.median(difference) <= 4, i
    assert (frame.width, frame.height, frame.color_range) == (WIDTH, HEIGHT, "limited")


def test_held_frames_stay_as_they_were(clip):
    frames = list(lanner.VideoReader(clip))
    before = [bytes_of(frame) for frame in frames]
    list(lanner.VideoReader(clip))
    assert [bytes_of(frame) for frame in frames] == before


def test_a_tensor_has_the_declared_size_type_and_layout(clip):
    frame = lanner.VideoReader(clip)[0]
    tensor = frame.to_tensor(size=(48, 64), layout="nhwc", dtype="float32", range=(0, 1), mean=0.5, std=0.5)
    assert (tensor.shape, tensor.dtype) == ((1, 48, 64, 3), "float32")
    assert -1 <= tensor.numpy().min() < tensor.numpy().max() <= 1
    rgb = frame.to_rgb().numpy().transpose(2, 0, 1)[None]
    np.testing.assert_allclose(frame.to_tensor(), rgb, atol=1.01)
    with pytest.raises(lanner.InvalidArgument, match="unknown option 'sizes'"):
        frame.to_tensor(sizes=(1, 2))
    with pytest.raises(lanner.InvalidArgument, match="bilinear"):
        frame.to_tensor(resize="smooth")


def test_a_part_is_taken_and_turned_clockwise(clip):
    picture = lanner.VideoReader(clip)[0].to_rgb().numpy()
    image = lanner.Image(picture)
    for turns in (-1, 0, 1, 2, 7):
        tensor = image.to_tensor(region=(5, 3, 20, 10), quarter_turns=turns, layout="nhwc", dtype="uint8")
        np.testing.assert_array_equal(tensor.numpy()[0], np.rot90(picture[3:13, 5:25], -turns))
    spec = lanner.Preprocess(region=(5, 3, 20, 10), quarter_turns=3)
    assert lanner.Preprocess.from_json(spec.to_json()) == spec != lanner.Preprocess()
    with pytest.raises(lanner.InvalidArgument, match="region 20x10 at 500,3"):
        image.to_tensor(region=(500, 3, 20, 10))


def test_sources_are_paths_bytes_and_files(clip):
    whole = clip.read_bytes()
    first = bytes_of(lanner.VideoReader(str(clip))[0])
    for source in (whole, bytearray(whole), io.BytesIO(whole), clip.open("rb")):
        assert bytes_of(lanner.VideoReader(source)[0]) == first


def test_other_threads_run_while_one_decodes(clip):
    """No thread is made to yield, so the other one only counts inside a call when that lets it."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    reader = lanner.VideoReader(clip)
    calls = {
        "open": lambda: lanner.VideoReader(clip),
        "read": lambda: reader[COUNT - 1],
        "index": lambda: len(lanner.VideoReader(clip)),
    }
    other = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        other.start()
        for name, call in calls.items():
            for _ in range(500):
                before = counted[0]
                call()
                if counted[0] > before:
                    break
            else:
                pytest.fail(f"{name}: no other thread ran during 500 calls")
            reader = lanner.VideoReader(clip)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        other.join()


def digest(path):
    """In a worker process: all frames of a clip."""
    frames = [bytes_of(frame) for frame in lanner.VideoReader(path)]
    return len(frames), hashlib.sha256(b"".join(frames)).hexdigest()


def test_spawned_workers_decode(clip):
    expected = digest(clip)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(digest, [clip] * 4)) == [expected] * 4


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="mine"):
        with lanner.VideoWriter(tmp_path / "out.mp4", width=WIDTH, height=HEIGHT) as writer:
            writer.write(drawn(0))
            raise RuntimeError("mine")
    del writer
    assert list(tmp_path.iterdir()) == []


def together(threads, work):
    """What `work` gives or raises on each of the threads at once."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return [future.exception() or future.result() for future in [pool.submit(work, i) for i in range(threads)]]


def test_a_writer_takes_one_thread_at_a_time(tmp_path):
    path = tmp_path / "out.mkv"
    writer = lanner.VideoWriter(path, width=WIDTH, height=HEIGHT)
    taken = []

    def write(thread):
        for i in range(100):
            try:
                writer.write(drawn(i % COUNT))
                taken.append(thread)
            except lanner.InvalidArgument as error:
                assert str(error).startswith("VideoWriter is busy with another call")

    assert together(4, write) == [None] * 4
    writer.close()
    assert len(lanner.VideoReader(path)) == len(taken) > 0


def test_threads_take_turns_with_a_reader(clip):
    expected = [bytes_of(frame) for frame in lanner.VideoReader(clip)]
    reader = lanner.VideoReader(clip, cache_index=False)

    def read(thread):
        numbers = [(thread * 7 + i * 5) % COUNT for i in range(20)]
        assert reader.decoder.startswith("ffmpeg") and reader.decoder_reason and reader.stream.width == WIDTH
        return all(bytes_of(reader[i]) == expected[i] for i in numbers) and len(reader) == COUNT

    assert together(4, read) == [True] * 4
    decoder = lanner.ParallelDecoder(clip, decoders=2)
    shared = iter(decoder)
    given = together(4, lambda _: [(frame.index, bytes_of(frame), decoder.decoder) for frame in shared])
    frames = sorted((index, data) for part in given for index, data, _ in part)
    assert frames == list(enumerate(expected))


def test_errors_are_one_line(tmp_path, clip):
    with pytest.raises(FileNotFoundError):
        lanner.VideoReader(tmp_path / "absent.mp4")
    (tmp_path / "noise.mp4").write_bytes(np.random.default_rng(3).bytes(10000))
    with pytest.raises(lanner.Error) as caught:
        lanner.VideoReader(tmp_path / "noise.mp4")
    assert "\n" not in str(caught.value) and "noise.mp4" in str(caught.value)
    with pytest.raises(lanner.InvalidArgument):
        lanner.VideoReader(42)


def test_pictures_are_saved_and_loaded(tmp_path):
    image = lanner.Image(drawn(3))
    lanner.save_image(tmp_path / "ramp.png", image)
    np.testing.assert_array_equal(lanner.load_image(tmp_path / "ramp.png").to_rgb(), drawn(3))
