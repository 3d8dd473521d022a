"""What the tests of where `lanner run` reads and writes share."""

import contextlib
import json
import shutil
import subprocess
import threading

import pytest

from command import COMMAND, LABELS, SECONDS, color_classifier, make_ppm, succeed, without_notes

QUICK = ["--budget", "0", "--threads", "1", "--range", "0,1", "--size", "8x8"]
COLORS = {"red": (250, 0, 0), "green": (0, 250, 0), "blue": (0, 0, 250)}
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg command here")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "labels.txt").write_text(LABELS)
    return ["run", color_classifier(folder / "model.onnx"), "--labels", folder / "labels.txt", *QUICK]


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def named(run, *arguments, **options):
    """Names of what was answered, without their folders, each once, in order."""
    found = rows(succeed(*run, "--json", "-", *arguments, **options))
    return list(dict.fromkeys(row["source"].rsplit("/", 1)[-1] for row in found))


def numbers(run, *arguments):
    return [row["frame"] for row in rows(succeed(*run, "--json", "-", *arguments))]


def video(path):
    (stream,) = json.loads(succeed("probe", path, "--json"))["streams"]
    return stream


def piped(run, content, *arguments, code=0):
    """With `content` coming through a pipe; bytes of stdout, and stderr."""
    result = subprocess.run([COMMAND, *map(str, [*run, *arguments])], input=content, capture_output=True, timeout=SECONDS, check=False)
    assert result.returncode == code, result.stderr.decode()
    return result.stdout, without_notes(result.stderr.decode())


def fed(pipe, content):
    """Writes into a named pipe from a thread; what is not read is given up."""

    def write():
        with contextlib.suppress(BrokenPipeError):
            pipe.write_bytes(content)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    (folder / "deep" / "er").mkdir(parents=True)
    for name in ("p1.ppm", "p10.ppm", "p2.ppm", "deep/q.ppm", "deep/er/r.ppm", ".hidden.ppm"):
        make_ppm(folder / name)
    return folder
