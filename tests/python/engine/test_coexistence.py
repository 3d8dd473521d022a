"""Lanner in one process with other libraries, and in forking processes: right answers, no crash or hang."""

import importlib.util
import subprocess
import sys

import pytest
from command import color_classifier, make_clip

SECONDS = 120  # For the slowest of imports; a hang must not take for ever.

LANNER = """
import numpy, lanner
def lanner_part(model, clip):
    engine = lanner.build(model, threads=2, budget=0)
    x = numpy.zeros((1, 3, 8, 8), numpy.float32)
    x[:, 1] = 1
    assert engine({"input": x})["logits"].numpy().argmax() == 1
    assert [frame.index for frame in lanner.VideoReader(clip)] == list(range(12))
"""

OTHERS = {
    "onnxruntime": """
import numpy, onnxruntime
def other_part(model, clip):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert session.run(None, {"input": numpy.ones((1, 3, 8, 8), numpy.float32)})[0].shape == (1, 3)
""",
    "cv2": """
import cv2
def other_part(model, clip):
    capture = cv2.VideoCapture(clip)
    count = 0
    while capture.read()[0]:
        count += 1
    assert count == 12
""",
    "av": """
import av
def other_part(model, clip):
    with av.open(clip) as container:
        assert sum(1 for _ in container.decode(video=0)) == 12
""",
    "tensorflow": """
import tensorflow
def other_part(model, clip):
    assert tensorflow.matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy().tolist() == [[11.0]]
""",
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    return color_classifier(folder / "model.onnx"), make_clip(folder)


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.parametrize("first", ["lanner", "other"])
@pytest.mark.parametrize("name", OTHERS)
def test_with_another_library(name, first, inputs):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    imports = [LANNER, OTHERS[name]] if first == "lanner" else [OTHERS[name], LANNER]
    calls = "import sys\nfor _ in range(2):\n    other_part(*sys.argv[1:])\n    lanner_part(*sys.argv[1:])\nprint('done')\n"
    assert run("\n".join([*imports, calls]), *inputs) == "done\n"


CHILD = """
import multiprocessing, sys
engine = reader = None
def child(model, clip, queue):
    global reader
    x = numpy.zeros((1, 3, 8, 8), numpy.float32)
    x[:, 1] = 1
    mine = engine or lanner.build(model, threads=2, budget=0)
    said = [int(mine({"input": x})["logits"].numpy().argmax())]
    if reader:
        said.append(reader[7].index)
        reader = None
    said.append(lanner.VideoReader(clip)[7].index)
    queue.put(said)
"""

PARENT = """
if __name__ == "__main__":
    method, *arguments = sys.argv[1:]
    lanner_part(*arguments)
    if method == "fork-shared":
        engine, reader = lanner.build(arguments[0], threads=2, budget=0), lanner.VideoReader(arguments[1], threads=2)
        engine({"input": numpy.zeros((1, 3, 8, 8), numpy.float32)})
        assert reader[3].index == 3
    context = multiprocessing.get_context(method.partition("-")[0])
    queue = context.Queue()
    process = context.Process(target=child, args=(*arguments, queue))
    process.start()
    try:
        print(queue.get(timeout=60))
        process.join(60)
        assert process.exitcode == 0, process.exitcode
    finally:
        process.kill()
    lanner_part(*arguments)
"""


@pytest.mark.parametrize("method", ["fork", "fork-shared", "spawn"])
def test_in_a_child_process(method, inputs, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(LANNER + CHILD + PARENT)
    done = subprocess.run(
        [sys.executable, program, method, *map(str, inputs)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.strip()
    assert said == ("[1, 7, 7]" if method == "fork-shared" else "[1, 7]")


class Broken:
    """A file that fails at an offset where the reader is already running."""

    def __init__(self, content, kind):
        self.content, self.kind, self.place = content, kind, 0

    def seekable(self):
        return True

    def tell(self):
        return self.place

    def seek(self, offset, whence=0):
        self.place = offset + (len(self.content) if whence == 2 else 0)
        return self.place

    def read(self, size):
        raise self.kind("the disk caught fire")


@pytest.mark.parametrize("kind", [RuntimeError, KeyError, KeyboardInterrupt])
def test_an_exception_of_a_python_source_is_propagated_unchanged(kind, inputs):
    import lanner

    model, clip = inputs
    for use, path in ((lanner.build, model), (lanner.load, model), (lanner.VideoReader, clip)):
        with pytest.raises(kind, match="the disk caught fire"):
            use(Broken(path.read_bytes(), kind))


def test_an_exception_of_a_progress_callback_is_propagated_unchanged(inputs):
    import lanner

    def progress(*_):
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        lanner.build(inputs[0], budget=0, progress=progress)
    assert lanner.build(inputs[0], budget=0).inputs


def test_errors_of_modules_are_lanner_errors(inputs, tmp_path):
    import lanner

    with pytest.raises(lanner.BadData) as caught:
        lanner.VideoReader(inputs[0])
    assert caught.value.code == "bad_data" and "model.onnx" in str(caught.value)
    with pytest.raises(lanner.NotFound):
        lanner.VideoReader(tmp_path / "absent.mp4")
