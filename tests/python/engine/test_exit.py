"""Interpreter shutdown while daemon threads are in calls that release the GIL."""

import subprocess
import sys

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

START = """
import sys, threading
import numpy as np, lanner
def network():
    from onnx import TensorProto, helper, numpy_helper
    value = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape or None)
    weight = numpy_helper.from_array(np.ones((16, 8, 3, 3), np.float32), "w")
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "g", [value("x", 1, 8, 64, 64)], [value("y")], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
picture = np.ones((1, 8, 64, 64), np.float32)
"""
END = """
calls = threading.Semaphore(0)
def for_ever():
    while True:
        work()
        calls.release()
threading.Thread(target=for_ever, daemon=True).start()
for _ in range(3):
    calls.acquire()
print("done", flush=True)
"""
SLOW = """
import io, time
class Slow(io.RawIOBase):
    def __init__(self, path):
        self.file = open(path, "rb")
        self.seek, self.tell = self.file.seek, self.file.tell
    def seekable(self):
        return True
    def read(self, size):
        time.sleep(0.005)
        return self.file.read(min(size, 4096))
reader = lanner.VideoReader(Slow(clip), decoders=2, prefetch=4)
next(iter(reader))
"""
WORK = {
    "engine": "engine = lanner.build(network(), budget=0)\ndef work(): engine({'x': picture})",
    "build": "model = network()\ndef work(): lanner.build(model, budget=0, progress=lambda *_: None)",
    "numbers": "reader = lanner.VideoReader(clip)\ndef work(): reader[3]",
    "iteration": "def work():\n    for frame in lanner.VideoReader(clip): frame.to_rgb()",
    "file object": "def work():\n    for frame in lanner.VideoReader(open(clip, 'rb')): pass",
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Noise, so that reading it ahead takes many reads."""
    path = tmp_path_factory.mktemp("exit") / "noise.mp4"
    noise = np.random.default_rng(0)
    with lanner.VideoWriter(path, width=160, height=120, gop=5, crf=5) as writer:
        for _ in range(60):
            writer.write(noise.integers(0, 255, (120, 160, 3), np.uint8))
    return path


def run(script, processes=1):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]  # Of a fork beside threads.
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n" * processes, "")


@pytest.mark.parametrize("work", WORK)
def test_a_daemon_thread_does_not_change_the_process_exit(work, clip):
    for _ in range(2):
        run(f"{START}clip = {str(clip)!r}\n{WORK[work]}\n{END}")


@pytest.mark.parametrize("end", ["", "del reader\n", "import os\nif os.fork(): os.wait()\n"])
def test_readers_of_file_objects_end_while_their_threads_read(end, clip):
    run(f"{START}clip = {str(clip)!r}\n{SLOW}\n{end}print('done', flush=True)", end.count("fork") + 1)
