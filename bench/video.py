"""Decoding of one 1080p clip against the ffmpeg program of the same libraries."""

import pathlib
import shutil
import subprocess
import time

from pairs import alternate, summary

COMMAND = pathlib.Path(__file__).resolve().parents[1] / "build" / "bin" / "lanner"
FRAMES = 300


def make_clip(path):
    """H.264, 1920x1080, GOP 60, of ffmpeg's mandelbrot source."""
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "mandelbrot=size=1920x1080:rate=30", "-frames:v", str(FRAMES)]
        + ["-c:v", "libx264", "-preset", "veryfast", "-g", "60", "-pix_fmt", "yuv420p", "-y", str(path)],
        check=True,
    )


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start



def measure(folder, options):
    if not shutil.which("ffmpeg"):
        raise RuntimeError("the program ffmpeg is missing: decoding cannot be measured; apt-get install ffmpeg")
    clip = folder / "clip.mp4"
    make_clip(clip)
    ours = [COMMAND, "bench", clip, "--duration", "600s", "--threads", str(options.threads)]
    rival = ["ffmpeg", "-v", "error", "-threads", str(options.threads), "-i", clip, "-f", "null", "-"]
    found = summary(*alternate(lambda: timed(ours), lambda: timed(rival), options.pairs, "decode, ffmpeg"))
    return [
        {
            "job": f"decode 1080p H.264, {FRAMES} frames, whole process",
            "lanner": f"{FRAMES / found['seconds']:.0f} fps",
            "rival_name": "ffmpeg -f null",
            "rival": f"{FRAMES / found['rival_seconds']:.0f} fps",
            **found,
        }
    ]
