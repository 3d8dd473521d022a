"""Transcodes small clips in one process again and again: open files, threads and memory must not grow.

    PYTHONPATH=build/python python tests/transcode_loop.py --minutes 60

A round is one transcode of each kind, one that is refused, one that ends in the middle, and a writer that is given up.
A line is printed for a round now and then. It exits with 1 where the second half of the rounds needs more open files or
threads than the first, leaves files behind, or where memory grows steadily: by more than `--slack` MiB."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import lanner

KINDS = [("mp4", {}), ("mkv", {"codec": "hevc"}), ("mkv", {"codec": "ffv1", "quality": True}), ("webm", {"codec": "vp9"}), ("avi", {}),
         ("gif", {}), ("apng", {}), ("webp", {})]  # fmt: skip
WIDTH, HEIGHT, FRAMES = 96, 64, 8


def make_sources(folder):
    """A clip with B-frames, and an animation with alpha."""
    pictures = np.random.default_rng(1).integers(0, 256, (FRAMES, HEIGHT, WIDTH, 4), np.uint8)
    for name, channels in (("in.mp4", 3), ("in.apng", 4)):
        with lanner.VideoWriter(folder / name, width=WIDTH, height=HEIGHT, fps=25) as out:
            for picture in pictures:
                out.write(np.ascontiguousarray(picture[..., :channels]))
    return [folder / "in.mp4", folder / "in.apng"]


class GivenUp(Exception):
    pass


def fail(source, folder):
    """A transcode that is refused, one whose output fails in the middle, and a writer that an error ends."""

    class Full:
        def write(self, _):
            raise GivenUp

    for output, options in ((folder / "no.mp4", {"crf": 500}), (Full(), {})):
        try:
            lanner.transcode(source, output, **options)
        except (lanner.Error, GivenUp):
            continue
        raise AssertionError("expected an error")
    try:
        with lanner.VideoWriter(folder / "no.mp4", width=WIDTH, height=HEIGHT) as out:
            out.write(np.zeros((HEIGHT, WIDTH, 3), np.uint8))
            raise GivenUp
    except GivenUp:
        pass


def one_round(sources, folder):
    for source in sources:
        for extension, options in KINDS:
            result = lanner.transcode(source, folder / f"out.{extension}", **options)
            assert result.frames == FRAMES, (source, extension, result)
        fail(source, folder)


def usage():
    """Open files, threads, and memory in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), pages * os.sysconf("SC_PAGE_SIZE")


def loop(folder, more, told=lambda number, used: None):
    """Rounds while `more(number)`; what was used after each."""
    sources, used = make_sources(folder), []
    while more(len(used)):
        one_round(sources, folder)
        used.append(usage())
        told(len(used), used[-1])
    return used


def growth(used):
    """Most open files and threads, and mean memory, of the second half above the first, without the first round."""
    half = len(used) // 2
    first, second = np.array(used[1 : half + 1]), np.array(used[half + 1 :])
    return [int(second[:, i].max() - first[:, i].max()) for i in (0, 1)] + [float(second[:, 2].mean() - first[:, 2].mean())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--slack", type=float, default=8, help="MiB that the second half may need more than the first")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes

    def told(number, used):
        if number & (number - 1) == 0 or number % 100 == 0:
            print(f"round {number}: {used[0]} files, {used[1]} threads, {used[2] / 2**20:.1f} MiB", flush=True)

    with tempfile.TemporaryDirectory() as name:
        used = loop(Path(name), lambda number: number < 5 or time.monotonic() < end, told)
        left = sorted(path.name for path in Path(name).iterdir() if path.name.endswith(".part") or path.name.startswith("no."))
    files, threads, memory = growth(used)
    print(f"{len(used)} rounds, {len(used) * 2 * len(KINDS)} transcodes: {files:+} files, {threads:+} threads, {memory / 2**20:+.1f} MiB; left behind: {left}")
    return 1 if files > 0 or threads > 0 or left or memory > options.slack * 2**20 else 0


if __name__ == "__main__":
    sys.exit(main())
