"""Damage gives the same frames whatever threads decode it, and readers live through a fork."""

import hashlib
import multiprocessing
import os
import random

import numpy as np
import pytest

from command import DATA, make_clip, succeed

lanner = pytest.importorskip("lanner")

FOUND = DATA.parent / "found" / "video"


def digest(frame):
    return hashlib.md5(b"".join(np.asarray(plane).tobytes() for plane in frame.planes)).hexdigest()


def damaged(clip, seed, times=3):
    """Bytes of the pictures are changed, those of the tables are not."""
    content = bytearray(clip.read_bytes())
    begin = content.index(b"mdat") + 64
    end = content.find(b"moov", begin)
    end = len(content) if end < 0 else end
    generator = random.Random(seed)
    for _ in range(times):
        content[generator.randrange(begin, end)] ^= 1 << generator.randrange(8)
    other = clip.with_name(f"damaged_{seed}.mp4")
    other.write_bytes(content)
    return other


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clip")
    video = lanner.VideoWriter(folder / "a.mp4", width=160, height=96, fps=25, codec="h264", gop=12)
    rng = np.random.default_rng(1)
    texture = rng.integers(0, 256, (96, 320, 3)).astype(np.uint8)
    for number in range(60):
        video.write(np.ascontiguousarray(texture[:, 2 * number : 2 * number + 160]))
    video.close()
    return folder / "a.mp4"


@pytest.mark.parametrize("seed", range(4))
def test_threads_and_order_change_nothing(clip, seed):
    path = damaged(clip, seed)
    alone = [(digest(frame), frame.corrupt) for frame in lanner.VideoReader(path, threads=1)]
    for _ in range(3):
        video = lanner.VideoReader(path, threads=4)
        assert [(digest(frame), frame.corrupt) for frame in video] == alone
    backwards = lanner.VideoReader(path, threads=4)
    found = {number: digest(backwards[number]) for number in range(len(backwards) - 1, -1, -1)}
    assert [found[number] for number in sorted(found)] == [one for one, _ in alone]
    assert [digest(frame) for frame in lanner.ParallelDecoder(path, threads=2, decoders=2)] == [one for one, _ in alone]


def test_at_the_shell():
    path = FOUND / "d_flip_0.mp4"
    if not path.exists():
        pytest.skip("no clips at ../shared/found")
    alone = succeed("decode", path, "--conceal", "--md5", "--threads", "1")
    assert {succeed("decode", path, "--conceal", "--md5", "--threads", "4") for _ in range(3)} == {alone}
    assert succeed("decode", path, "--conceal", "--md5") == alone
    assert any(frame.corrupt for frame in lanner.VideoReader(path, threads=4))


def numbers_in_child(video, numbers, queue):
    queue.put([digest(video[number]) for number in numbers])


def iterate_in_child(video, _, queue):
    queue.put([digest(frame) for frame in video])


@pytest.mark.parametrize("used", ["opened", "counted", "decoded", "iterated"])
@pytest.mark.parametrize("work", [numbers_in_child, iterate_in_child])
def test_readers_work_in_forked_children(clip, used, work):
    linear = [digest(frame) for frame in lanner.VideoReader(clip)]
    video = lanner.VideoReader(clip, threads=2)
    iterator = iter(video)
    if used == "counted":
        assert len(video) == 60
    if used == "decoded":
        assert digest(video[30]) == linear[30]
    if used == "iterated":
        assert [digest(next(iterator)) for _ in range(3)] == linear[:3]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    numbers = [40, 3, 59, 4]
    children = [context.Process(target=work, args=(video, numbers, queue)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        assert queue.get(timeout=60) == ([linear[number] for number in numbers] if work is numbers_in_child else linear)
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert digest(video[30]) == linear[30]


def test_an_iteration_goes_on_in_a_child(clip):
    linear = [digest(frame) for frame in lanner.VideoReader(clip)]
    iterator = iter(lanner.VideoReader(clip, threads=2))
    for number in range(20):
        assert digest(next(iterator)) == linear[number]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, digest(next(iterator)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        assert file.read() == linear[20]
    os.waitpid(child, 0)
    assert digest(next(iterator)) == linear[20]
