"""The encoders' settings of docs/encoder-presets.md, and how ffmpeg's command line takes them."""

import pathlib
import re
import subprocess

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "encoder-presets.md"
CODECS = ("libx264", "libx265", "libsvtav1")
TUNINGS = ("high_quality", "low_latency", "ultra_low_latency", "lossless")
PRESETS = tuple(f"P{number}" for number in range(1, 8))
PARAMETERS = {"libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params"}
QUIET = {"libx265": {"log-level": "-1"}}  # As Lanner has it: x265 writes it into the stream.
QUALITY = {"libx264": 23, "libx265": 28, "libsvtav1": 35}
FORMATS = {"libx264": "h264", "libx265": "hevc", "libsvtav1": "obu"}  # ffmpeg's muxers of bare streams.
MATRICES = {"bt601": "smpte170m", "bt709": "bt709"}  # Lanner's names, and ffmpeg's.


def rows_of(heading):
    """Cells of the rows of the table below a heading of the page."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return rows[2:]  # Behind the names of the columns and the line below them.


def preset_of(codec, preset):
    """The encoder's option, and its value for that preset."""
    for name, option, *values in rows_of("Presets"):
        if name == codec:
            return option, values[PRESETS.index(preset)]
    raise RuntimeError(f"{PAGE.name}: the table of presets has no row of {codec}")


def tuning_of(codec, tuning):
    """The settings as a dictionary; None where the encoder does not have the tuning."""
    for name, row_tuning, settings in rows_of("Tunings"):
        if (name, row_tuning) == (codec, tuning):
            return dict(part.split("=", 1) for part in settings.split(":")) if "=" in settings else {}
    return None


def own_options(codec):
    """Names of the options that ffmpeg itself has for the encoder; it passes on all others as parameters."""
    shown = subprocess.run(["ffmpeg", "-hide_banner", "-h", f"encoder={codec}"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  -(\S+) +<", shown, re.MULTILINE))


def matrix_of(height):
    """Given to both, as ffmpeg writes none by itself and Lanner that of the size."""
    return "bt709" if height >= 720 else "bt601"


def ffmpeg_settings(job):
    """Arguments of ffmpeg's command line for the encoder; None where the encoder does not have the tuning."""
    codec, tuning = job["codec"], tuning_of(job["codec"], job["tuning"])
    if tuning is None:
        return None
    option, value = preset_of(codec, job["preset"])
    settings = {option: value} | ({} if job["tuning"] == "lossless" else {"crf": str(QUALITY[codec])}) | tuning | QUIET.get(codec, {})
    known = own_options(codec)
    arguments = ["-c:v", codec]
    for name in settings:
        if name in known:
            arguments += [f"-{name}", settings[name]]
    passed = [f"{name}={text}" for name, text in settings.items() if name not in known]
    if passed:
        arguments += [f"-{PARAMETERS[codec]}", ":".join(passed)]
    matrix = MATRICES[matrix_of(job["height"])]
    square = f"{job['width']}:{job['height']}"  # Pixels, which Lanner writes into the stream.
    return [*arguments, "-pix_fmt", "yuv420p", "-aspect", square, "-colorspace", matrix, "-color_range", "tv"]


def lanner_settings(job):
    """Keywords of lanner.Encoder."""
    settings = {"codec": job["codec"], "width": job["width"], "height": job["height"], "fps": job["rate"], "format": "yuv420p"}
    settings |= {"preset": job["preset"], "tuning": job["tuning"], "color_matrix": matrix_of(job["height"]), "color_range": "limited"}
    return settings | ({} if job["tuning"] == "lossless" else {"crf": QUALITY[job["codec"]]})
