"""Sixty readers of small clips in one process: few threads, little memory, the same frames."""

import json
import subprocess
import sys

import pytest

import lanner

READERS, FRAMES = 60, 6
SCRIPT = f"""
import hashlib, json, os, sys
import lanner
import numpy as np

def now():
    with open("/proc/self/status") as file:
        kilobytes = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    return [len(os.listdir("/proc/self/task")), kilobytes / 1024]

def digest(frame):
    return hashlib.md5(b"".join(np.asarray(plane).tobytes() for plane in frame.planes)).hexdigest()

lanner.set_threads(2)
next(iter(lanner.VideoReader(sys.argv[1], device="cpu")))  # Libraries are loaded.
states = [now()]
videos = [lanner.VideoReader(sys.argv[1], device="cpu") for _ in range({READERS})]
states.append(now())
iterations = [iter(video) for video in videos]
digests = {{tuple(digest(next(iteration)) for _ in range({FRAMES})) for iteration in iterations}}
states.append(now())
print(json.dumps([states, [list(one) for one in digests]]))
"""


@pytest.fixture(scope="module", params=[(64, 48), (320, 240)], ids=["64x48", "320x240"])
def many(request, tmp_path_factory):
    """States at the start, with all opened and with all in use, and the different runs of frames that were seen."""
    import numpy as np

    width, height = request.param
    path = tmp_path_factory.mktemp("many") / "clip.mp4"
    with lanner.VideoWriter(str(path), width=width, height=height, crf=30) as out:
        for number in range(2 * FRAMES):
            out.write(np.full((height, width, 3), 10 * number, np.uint8))
    done = subprocess.run([sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return request.param, *json.loads(done.stdout)


def test_few_threads(many):
    (width, height), states, digests = many
    start, opened, used = (threads for threads, megabytes in states)
    assert opened <= start
    assert used <= start + 16 + 2  # Of 60 x 4: what all decoders may have on two cores, and the pool's.
    assert used > start or height < 64


def test_little_memory(many):
    (width, height), states, digests = many
    start, opened, used = (megabytes for threads, megabytes in states)
    pictures = READERS * 12 * width * height * 1.5 / (1 << 20)
    assert opened - start < READERS * 4
    assert used - start < READERS * 4 + pictures


def test_the_same_frames(many):
    (width, height), states, digests = many
    assert len(digests) == 1 and len(set(digests[0])) == FRAMES
