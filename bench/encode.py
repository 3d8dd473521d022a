"""Encoding on a CPU against ffmpeg's command line with the same encoder settings, each measurement in a new process.

A row is one encoder, tuning, preset and size. Both read the same raw frames and write a bare stream; times are taken
without the start of the processes: of Lanner by encode_worker.py, of ffmpeg by its option -benchmark.
"""

import argparse
import ctypes
import hashlib
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys

import encode_settings as settings
import machine
from pairs import alternate, summary

WORKER = pathlib.Path(__file__).resolve().parent / "encode_worker.py"
SIZES = {"640x360": settings.PRESETS, "1920x1080": ("P1", "P4")}  # The presets that are measured where none are named.
FRAMES, RATE, PAIRS = 120, 30, 5
SYNTHETIC = "ffmpeg's mandelbrot with noise"
KEY = ("codec", "tuning", "preset", "size", "frames", "source")
MACHINE = ("cpu", "cores")
SUITE = "encode"
PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23  # From linux/prctl.h and linux/capability.h.


def names(known):
    """The type of an option that takes some of them, comma separated."""

    def chosen(text):
        wanted = text.split(",")
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"no '{', '.join(unknown)}': expected {', '.join(known)}")
        return wanted

    return chosen


def sizes(text):
    wanted = text.split(",")
    for size in wanted:
        found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", size, re.ASCII)
        if not found or not all(int(side) >= 64 and int(side) % 2 == 0 for side in found.groups()):
            raise argparse.ArgumentTypeError(f"expected even sizes from 64x64 on such as 640x360,1920x1080, got '{size}'")
    return wanted


def add_options(group, whole):
    """`whole`: the type of a count."""
    group.add_argument("--codecs", type=names(settings.CODECS), default=list(settings.CODECS), help=f"of {', '.join(settings.CODECS)} (default: all)")
    group.add_argument("--tunings", type=names(settings.TUNINGS), default=list(settings.TUNINGS), help=f"of {', '.join(settings.TUNINGS)} (default: all)")
    group.add_argument("--presets", type=names(settings.PRESETS), help="of P1 to P7 (default: all at 640x360, P1 and P4 at 1920x1080)")
    group.add_argument("--sizes", type=sizes, default=list(SIZES), help="(default: 640x360,1920x1080)")
    group.add_argument("--frames", type=whole, default=FRAMES, help=f"frames that are encoded (default: {FRAMES})")
    group.add_argument("--source", type=pathlib.Path, help=f"clip that the frames are taken of, scaled to each size (default: {SYNTHETIC})")
    group.add_argument("--write", action="store_true", help="write docs/encode-speed.md from --log and measure nothing")


def source_of(options):
    return options.source.name if options.source else SYNTHETIC


def jobs(options):
    """The rows that the options ask for, in the order of the table, as dictionaries."""
    for size in options.sizes:
        width, height = map(int, size.split("x"))
        for codec in options.codecs:
            for tuning in options.tunings:
                for preset in options.presets or SIZES.get(size, settings.PRESETS):
                    job = {"suite": SUITE, "codec": codec, "tuning": tuning, "preset": preset, "size": size, "width": width, "height": height}
                    yield job | {"frames": options.frames, "rate": RATE, "source": source_of(options)}


class Log:
    """Rows by what they measured, on which machine. With a path each is appended to that file at once."""

    def __init__(self, path, facts):
        self.path, self.facts, self.rows = path, facts, {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path and path.exists() else (), 1):
            try:
                row = json.loads(line)
                if row.get("suite") == SUITE:
                    self.rows[self.key(row, row["machine"])] = row
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise RuntimeError(f"{path}, line {number}: no row of this log ({error}); remove the line or name another file") from error

    def key(self, row, facts):
        return tuple(row[name] for name in KEY) + tuple(facts[name] for name in MACHINE)

    def find(self, job):
        """The row of that job if it was measured; what failed or was skipped is tried again."""
        row = self.rows.get(self.key(job, self.facts), {})
        return row if "ratio" in row else None

    def add(self, row):
        row = {"machine": self.facts, **row}
        self.rows[self.key(row, self.facts)] = row
        if self.path:
            with open(self.path, "ab", buffering=0) as file:  # One call, as several runs may share a log.
                file.write((json.dumps(row) + "\n").encode())
        return row


class Others(machine.Others):
    """Cores that others used while processes were started here and waited for."""

    def now(self):
        at, seconds = super().now()
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        return at, seconds - own.ru_utime - own.ru_stime


def last_line(text):
    return (text.strip().splitlines() or [""])[-1].strip()


def as_a_user():
    """In a new process: SVT-AV1 takes real-time priority where root runs it, which Lanner undoes and ffmpeg keeps."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_NICE)


def run(command):
    """What it printed, to stdout and to stderr. Raises RuntimeError with the last line of that where it fails."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, preexec_fn=as_a_user)
    if done.returncode:
        raise RuntimeError(f"{pathlib.Path(command[0]).name} ended with code {done.returncode}: {last_line(done.stderr)}")
    return done.stdout, done.stderr


def ffmpeg_version():
    try:
        return run(["ffmpeg", "-version"])[0].split()[2]
    except OSError as error:
        raise RuntimeError("the program ffmpeg is missing, which is the rival; apt-get install ffmpeg") from error


def picture_bytes(job):
    return job["width"] * job["height"] * 3 // 2


def raw_input(job, frames):
    return ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", job["size"], "-framerate", job["rate"], "-i", frames]


class Frames:
    """Raw 4:2:0 frames of each size, made once in `folder`; only the last size is kept."""

    def __init__(self, folder, options):
        self.path, self.size, self.options = folder / "frames.yuv", None, options

    def of(self, job):
        if self.size != job["size"]:
            self.make(job)
            self.size = job["size"]
        return self.path

    def make(self, job):
        width, height = job["width"], job["height"]
        given = ["-f", "lavfi", "-i", f"mandelbrot=size={job['size']}:rate={job['rate']},noise=alls=4:allf=t:all_seed=1"]
        if self.options.source:
            given = ["-stream_loop", "-1", "-i", self.options.source, "-vf", f"scale={width}:{height}:flags=bicubic"]
        written = ["-frames:v", job["frames"], "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo", "-y", self.path]
        run(["ffmpeg", "-v", "error", "-nostdin", *given, *written])
        expected = picture_bytes(job) * job["frames"]
        if self.path.stat().st_size != expected:
            raise RuntimeError(f"{source_of(self.options)}: gave {self.path.stat().st_size} bytes of frames, expected {expected}")


class Rival:
    """ffmpeg. Each call encodes once and returns seconds."""

    def __init__(self, job, frames, output):
        self.output, self.cpu = output, []
        given = ["ffmpeg", "-v", "info", "-hide_banner", "-nostats", "-nostdin", "-benchmark", *raw_input(job, frames)]
        self.command = [*given, *settings.ffmpeg_settings(job), "-f", settings.FORMATS[job["codec"]], "-y", output]

    def __call__(self):
        told = re.search(r"^bench: utime=([\d.]+)s stime=([\d.]+)s rtime=([\d.]+)s", run(self.command)[1], re.MULTILINE)
        if not told:
            raise RuntimeError("ffmpeg printed no line 'bench: utime= ... rtime=': its option -benchmark is not as expected")
        self.cpu.append(float(told[1]) + float(told[2]))
        return float(told[3])


class Refused(Exception):
    """Lanner does not encode so."""


class Own:
    """Lanner, as a program in Python uses it."""

    def __init__(self, job, frames, output):
        self.output, self.version, self.cpu = output, None, []
        self.job = {"frames": str(frames), "picture_bytes": picture_bytes(job), "output": str(output), "options": settings.lanner_settings(job)}

    def __call__(self):
        answer = json.loads(run([sys.executable, WORKER, json.dumps(self.job)])[0])
        if "refused" in answer:
            raise Refused(answer["refused"])
        self.version = answer["version"]
        self.cpu.append(answer["cpu"])
        return answer["seconds"]


def psnr(job, frames, stream):
    """Mean PSNR of all samples against the frames, in dB; infinite where they are the same."""
    command = ["ffmpeg", "-v", "info", "-hide_banner", "-nostats", "-nostdin", "-r", job["rate"], "-i", stream]
    told = re.search(r"PSNR .*average:(inf|[\d.]+)", run([*command, *raw_input(job, frames), "-lavfi", "psnr", "-f", "null", "-"])[1])
    if not told:
        raise RuntimeError(f"ffmpeg's filter psnr told nothing of {stream.name}")
    return float(told[1])


def facts_of(job, frames, side):
    """Of the stream that was written last."""
    content = side.output.read_bytes()
    kilobits = len(content) * 8 / 1000 * job["rate"] / job["frames"]
    return {"cpu": statistics.median(side.cpu[1:]), "kbps": kilobits, "psnr": psnr(job, frames, side.output), "sha256": hashlib.sha256(content).hexdigest()}


def measure_one(job, frames, folder, pairs):
    """The row of a job, or why there is none."""
    ending = settings.FORMATS[job["codec"]]
    own = Own(job, frames, folder / f"lanner.{ending}")
    try:
        if settings.ffmpeg_settings(job) is None:
            own()
            return job | {"failed": f"{settings.PAGE.name} has no such tuning, and Lanner encodes all the same"}
        rival = Rival(job, frames, folder / f"ffmpeg.{ending}")
        own(), rival()  # Libraries and frames are in memory.
        with Others([]) as others:
            found = summary(*alternate(own, rival, pairs, f"{job['codec']} {job['tuning']} {job['preset']} {job['size']}"))
        sides = {"lanner": facts_of(job, frames, own), "ffmpeg": facts_of(job, frames, rival)}
    except Refused as refused:
        kind = "skipped" if settings.tuning_of(job["codec"], job["tuning"]) is None else "failed"
        return job | {kind: str(refused)}
    except (RuntimeError, OSError) as error:
        return job | {"failed": str(error)}
    return job | found | sides | {"others": others.cores, "pairs": pairs, "lanner_version": own.version, "ffmpeg_version": ffmpeg_version()}


def measure(folder, options, log, add):
    """Passes each row to `add`, those that the log has already too."""
    ffmpeg_version()
    frames = Frames(folder, options)
    for job in jobs(options):
        add(log.find(job) or log.add(measure_one(job, frames.of(job), folder, options.pairs or PAIRS)))
