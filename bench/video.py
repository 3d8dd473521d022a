"""Reading 1080p clips against other programs and packages."""

import json
import pathlib
import shutil
import subprocess
import sys
import time

from pairs import alternate, summary

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = HERE.parent / "build" / "bin" / "lanner"
FRAMES, GOP = 600, 60


CODECS = {"H.264": "libx264", "HEVC": "libx265"}
LONG = 10  # 600 frames this many times make the long clip.


def clip_of(folder, codec, long=False):
    """A clip in `folder`, made if missing."""
    short = folder / f"{CODECS[codec]}-{FRAMES}.mp4"
    if not short.exists():
        make_clip(short, CODECS[codec])
    if not long:
        return short
    path = folder / f"{CODECS[codec]}-{FRAMES * LONG}.mp4"
    if not path.exists():
        subprocess.run(
            ["ffmpeg", "-v", "error", "-stream_loop", str(LONG - 1), "-i", short, "-c", "copy", "-y", path], check=True
        )
    return path


def make_clip(path, codec):
    """1920x1080 of ffmpeg's mandelbrot source, GOP 60."""
    if not shutil.which("ffmpeg"):
        raise RuntimeError("the program ffmpeg is missing: clips cannot be made; apt-get install ffmpeg")
    settings = {
        "libx264": ["-preset", "veryfast", "-g", str(GOP), "-keyint_min", str(GOP), "-sc_threshold", "0"],
        "libx265": ["-preset", "ultrafast", "-x265-params", f"log-level=error:keyint={GOP}:min-keyint={GOP}:scenecut=0"],
    }
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "mandelbrot=size=1920x1080:rate=30", "-frames:v", str(FRAMES)]
        + ["-c:v", codec, *settings[codec], "-pix_fmt", "yuv420p", "-y", str(path)],
        check=True,
    )


class Worker:
    """A system in a process of its own."""

    def __init__(self, system):
        self.name = system
        self.process = subprocess.Popen(
            [sys.executable, HERE / "video_worker.py", system],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version = self.answer()["version"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: not installed, or it ended early; see bench/video_worker.py {self.name}")
        return json.loads(line)

    def run(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        self.last = self.answer()
        return self.last["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(command):
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def row(job, ours, rival_name, rival, found, frames):
    """`ours` and `rival` describe the decoders; `frames`: how many each decoded in the measured seconds."""

    def rate(seconds, count):
        return f"{seconds * 1e3:.0f} ms, {count / seconds:.0f} fps"

    return {
        "job": job,
        "lanner": f"{rate(found['seconds'], frames[0])} ({ours})",
        "rival_name": rival_name,
        "rival": f"{rate(found['rival_seconds'], frames[1])} ({rival})",
        **found,
    }


def against(workers, job, label, pairs, rivals, own=None):
    """Lanner against each rival at one job. `own` is Lanner's job if it differs from the rival's; the
    ratio is then between frames a second."""
    lanner, own, rows = workers["lanner"], own or job, []
    for name in rivals:
        rival = workers[name]
        for worker, first in ((lanner, own), (rival, job)):
            worker.run(first)  # Warm: files in memory, libraries loaded.
        frames = [job.get("count", worker.last["frames"]) for worker in (lanner, rival)]
        own_times, times = alternate(
            lambda: lanner.run(own), lambda: rival.run(job), pairs, f"{label}, {name}"  # noqa: B023
        )
        found = summary(own_times, [seconds * frames[0] / frames[1] for seconds in times])
        found["rival_seconds"] *= frames[1] / frames[0]
        rows.append(row(label, lanner.last["decoder"], f"{name} {rival.version}", rival.last["decoder"], found, frames))
    return rows


def whole_process(clip, options):
    ours = [COMMAND, "bench", clip, "--duration", "600s", "--threads", options.codec_threads, "--device", "cpu"]
    rival = ["ffmpeg", "-v", "error", "-threads", options.codec_threads, "-i", clip, "-f", "null", "-"]
    found = summary(*alternate(lambda: timed(ours), lambda: timed(rival), options.pairs, "decode, ffmpeg"))
    return row(
        f"decode 1080p H.264, {FRAMES} frames, native format, whole process",
        f"{options.codec_threads} threads",
        "ffmpeg -f null",
        f"{options.codec_threads} threads",
        found,
        (FRAMES, FRAMES),
    )


def measure_cpu(clip, options):
    base = {"clip": str(clip), "threads": options.codec_threads, "device": "cpu", "frames": FRAMES, "gop": GOP}
    names = ["lanner", "PyAV", "OpenCV", "decord"]
    workers = {name: Worker(name) for name in names}
    pairs = options.pairs
    try:
        rows = [whole_process(clip, options)]
        rows += against(workers, base | {"do": "rgb"}, "all frames as RGB", pairs, names[1:])
        native = Worker("lanner")
        workers["Lanner, native format"] = native
        native.name, native.version = "Lanner, native format", ""
        rows += against(
            workers, base | {"do": "native"}, "all frames as RGB", pairs, ["Lanner, native format"], base | {"do": "rgb"}
        )
        some = base | {"do": "some", "count": 20, "seed": 1}
        rows += against(workers, some, "20 sorted random frames of 600, RGB", pairs, ["decord"])
        loader = base | {"do": "loader", "count": 32}
        rows += against(workers, loader, "32 uniform frames to 224x224 float tensors", pairs, ["PyAV", "decord"])
    finally:
        for worker in workers.values():
            worker.close()
    return rows


def cold(system, clip, options):
    """Seconds of a whole process that decodes the clip on the device."""
    job = {"clip": str(clip), "threads": 0, "device": options.device, "frames": FRAMES, "gop": GOP, "do": "native"}
    command = [sys.executable, HERE / "video_worker.py", system]
    start = time.perf_counter()
    subprocess.run(command, input=json.dumps(job) + "\n", text=True, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure_gpu(folder, options):
    workers = {name: Worker(name) for name in ("lanner", "PyNvVideoCodec")}
    rival = ["PyNvVideoCodec"]
    rows = []
    try:
        for codec in CODECS:
            short, long = clip_of(folder, codec), clip_of(folder, codec, long=True)
            frames = FRAMES * LONG
            base = {"threads": 0, "device": options.device, "gop": GOP}
            whole = base | {"clip": str(long), "frames": frames, "do": "native"}
            label = f"one 1080p {codec} file, {frames} frames, on the device"
            rows += against(workers, whole, label, options.pairs, rival)
            many = whole | {"decoders": 14, "clip": str(short)}
            rows += against(workers, many, f"{label}; rival: 14 sessions on 14 copies of 600", options.pairs, rival, whole)
            some = base | {"clip": str(short), "frames": FRAMES, "do": "some", "count": 50, "seed": 1}
            rows += against(workers, some, f"50 sorted random frames of 600, {codec}", options.pairs, rival)
            first = base | {"clip": str(short), "frames": FRAMES, "do": "first"}
            rows += against(workers, first, f"open and first frame, {codec}", options.pairs, rival)
            tensors = whole | {"do": "tensors"}
            native = Worker("lanner")
            native.name, native.version = "Lanner, decoding alone", ""
            workers["native"] = native
            rows += against(workers, whole, f"{label}, to 224x224 FP16 tensors", options.pairs, ["native"], tensors)
            found = summary(
                *alternate(
                    lambda: cold("lanner", short, options),  # noqa: B023
                    lambda: cold("PyNvVideoCodec", short, options),  # noqa: B023
                    options.pairs,
                    "cold process",
                )
            )
            rows.append(
                row(f"cold process, 600 frames, {codec}", "Python", "PyNvVideoCodec", "Python", found, (FRAMES, FRAMES))
            )
    finally:
        for worker in workers.values():
            worker.close()
    return rows


def measure(folder, options):
    folder = options.clips or folder
    if options.device != "cpu":
        return measure_gpu(folder, options)
    return measure_cpu(clip_of(folder, "H.264"), options)
