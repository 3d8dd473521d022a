"""Every model of torchvision except quantised ones, random weights, by both of torch's exporters: whether it builds
without flags, its answers against torch's, and its memory. `./dev networks --torchvision`."""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from networks import torchvision_answers
from networks.log import Log, Row
from networks.memory import watched

HERE = Path(__file__).resolve().parent
EXPORTERS = ("torchscript", "dynamo")
KIND = "torchvision"
HEADING = "# torchvision's models"
HEAD = "| model | exporter | answers | largest difference | build s | run s | peak MiB |\n|---|---|---|---|---|---|---|"
LISTED_FROM = 16 * 1024
"""MiB."""


def without_colours(text: str) -> str:
    """torch's message, without terminal codes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def names(python: str) -> list[str]:
    """None where that Python has no torchvision."""
    done = subprocess.run([python, HERE / "torchvision_export.py", "--list"], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise ValueError(f"--torchvision: {python} cannot list torchvision's models: {reason}; name one that has torch, torchvision and onnxscript by --torch")
    return done.stdout.split()


def measure_one(folder: Path) -> Row:
    """In a child process, whose peak memory is the model's."""
    import numpy as np

    import lanner

    answer = np.load(folder / "answer.npz")
    begin = time.monotonic()
    engine = lanner.build(folder / "model.onnx", budget=0, device="cpu")
    built = time.monotonic()
    inputs = dict(zip([value.name for value in engine.inputs], [answer[name] for name in answer.files if name.startswith("x")]))
    got = [value.numpy() for value in engine(inputs).values()]
    ran = time.monotonic()
    expected = [answer[name] for name in answer.files if name.startswith("y")]
    facts = {"build_seconds": built - begin, "run_seconds": ran - built, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}
    facts |= torchvision_answers.judged(got, expected)
    if facts.get("found", 0) != facts.get("boxes", 0):  # whether rounding changes boxes in another runtime too
        rival = torchvision_answers.judged(by_onnxruntime(folder / "model.onnx", list(inputs.values())), expected)
        facts["rival_found"] = rival.get("found", 0)
    return facts


def by_onnxruntime(model: Path, inputs: list) -> list:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: array for value, array in zip(session.get_inputs(), inputs)})


@dataclass(frozen=True)
class Settings:
    python: str
    """A Python with torch, torchvision and onnxscript."""
    seconds: float
    """Seconds for an export, and for a build with its run."""
    memory: int
    """Bytes that each of these may use."""
    until: float = float("inf")
    """Begin nothing after this time (time.monotonic)."""
    again: bool = False


def stage(command: list, settings: Settings) -> tuple[str, str]:
    """Its output, and why it failed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=errors)
        try:
            stopped = watched(process, settings.seconds, settings.memory)
        finally:  # so that Ctrl-C leaves nothing behind
            if process.poll() is None:
                process.kill()
            process.wait()
        if stopped:
            return "", stopped
        out.seek(0)
        errors.seek(0)
        told = out.read()
        said = errors.read().strip().splitlines() or [f"exit code {process.returncode}"]
    named = [line for line in said if "Error: " in line and not line.startswith(" ")] or said
    return told, named[-1][:200] if process.returncode else ""


def row_of(name: str, exporter: str, settings: Settings) -> Row:
    row = {"what": KIND, "network": name, "exporter": exporter}
    with tempfile.TemporaryDirectory(prefix="lanner-") as place:
        _, failed = stage([settings.python, HERE / "torchvision_export.py", name, exporter, place], settings)
        if failed:
            return row | {"not_exported": failed}
        told, failed = stage([sys.executable, "-c", MEASURE, HERE.parent, place], settings)
        return row | ({"failed": failed} if failed else json.loads(told.splitlines()[-1]))


MEASURE = "import json, pathlib, sys; sys.path.insert(0, sys.argv[1]); from networks.torchvision_models import measure_one; print(json.dumps(measure_one(pathlib.Path(sys.argv[2]))))"


def told(row: Row) -> str:
    if "not_exported" in row:
        return f"torch does not export it: {without_colours(row['not_exported'])}"
    return f"**no**: {row['failed']}" if "failed" in row else torchvision_answers.told(row)


def chosen(python: str, wanted: str) -> list[str]:
    known = names(python)
    if unknown := [name for name in wanted.split(",") if wanted and name not in known]:
        raise ValueError(f"--nets: torchvision has no model {', '.join(unknown)}")
    return wanted.split(",") if wanted else known


def run(log: Log, networks: list[str], settings: Settings) -> int:
    """Returns how many failed."""
    failed = 0
    for name, exporter in product(networks, EXPORTERS):
        if not settings.again and log.has({"what": KIND, "network": name, "exporter": exporter}):
            continue
        if time.monotonic() >= settings.until:
            print(f"{name} by {exporter} and what follows: not begun, as --seconds are over", flush=True)
            break
        row = row_of(name, exporter, settings)
        log.add(row)
        failed += "not_exported" not in row and not torchvision_answers.is_right(row)
        print(f"{name} by {exporter}: {told(row)}", flush=True)
    return failed


def cells(row: Row) -> str:
    numbers = [format(row[key], form) if key in row else "" for key, form in (("difference", ".1e"), ("build_seconds", ".1f"), ("run_seconds", ".2f"), ("peak_mib", "d"))]
    return f"| {' | '.join([row['network'], row['exporter'], told(row).replace('|', '/'), *numbers])} |"


def lines(rows: list[Row], older: dict[tuple[str, str], str]) -> list[str]:
    """This part of the page; rows without new measurements stay."""
    table = older | {(row["network"], row["exporter"]): cells(row) for row in rows}
    if not table:
        return []
    peaks = {key: int(line.strip("|").split("|")[-1].strip() or 0) for key, line in sorted(table.items())}
    large = [f"{name} by {exporter}: {peak / 1024:.1f} GiB" for (name, exporter), peak in peaks.items() if peak > LISTED_FROM]
    about = [
        HEADING,
        "",
        "By `./dev networks --torchvision`: random weights, both of torch's exporters, built without a flag and without timing, beside torch's own answer. The largest",
        "difference is a part of the largest number of the output, and at most 1e-3. Peak memory is the process's, import, build and one run.",
        "",
        "A detector chooses, and a rounding may move its choice: a score passes a threshold, equal scores change their order, and Keypoint R-CNN rounds the width of a box up to whole",
        "pixels of its heat map, so that a box of 0.9998 pixels gives other key points than one of 1.0003. Detectors are therefore compared box by box: one of torch's is found where a box of its own has",
        "the same class, a score within 0.02, corners within 0.1 % of the largest coordinate or 90 % of the area in common, and masks and key points within 1 % of the largest number; the difference is of",
        "those. 90 % of torch's boxes must be found; where it is less, half of them, and as many as onnxruntime finds but for one. A network whose random weights let the picture fade, so that",
        "every picture gets one answer, has weights drawn that begin as zeros, and takes its batch normalisation's statistics from a few pictures first; a detector without boxes then gives its best ones.",
        "",
    ]
    return [*about, HEAD, *(table[key] for key in sorted(table)), *(["", "Over 16 GiB: " + "; ".join(large) + "."] if large else [])]


def parts_of(text: str) -> tuple[str, dict[tuple[str, str], str]]:
    """The rest of a page, and the rows of this part."""
    rest, _, own = text.partition(HEADING)
    table = {}
    for line in own.splitlines():
        found = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(found) == 7 and found[0] != "model" and not found[0].startswith("--"):
            table[(found[0], found[1])] = line
    return rest, table
