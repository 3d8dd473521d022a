"""A short form of tests/transcode_loop.py, by counts alone."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from transcode_loop import growth, loop


def test_neither_files_nor_threads_are_left(tmp_path):
    used = loop(tmp_path, lambda number: number < 4)
    files, threads, _ = growth(used)
    assert files <= 0 and threads <= 0, used
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["in.apng", "in.mp4", "out.apng", "out.avi", "out.gif", "out.mkv", "out.mp4", "out.webm", "out.webp"]
