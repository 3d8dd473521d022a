"""Every model of torchvision but the quantised ones, random weights, by both of torch's exporters: whether it builds
without a flag, what it answers beside torch, and what memory that takes. `./dev networks --torchvision`."""

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
    """What torch says, without a terminal's codes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def names(python: str) -> list[str]:
    """None where that Python has no torchvision."""
    done = subprocess.run([python, HERE / "torchvision_export.py", "--list"], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise ValueError(f"--torchvision: {python} cannot list torchvision's models: {reason}; name one that has torch, torchvision and onnxscript by --torch")
    return done.stdout.split()


def measure_one(folder: Path) -> Row:
    """In a process of its own, whose peak memory is the model's."""
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
    if [array.shape for array in got] != [array.shape for array in expected]:
        return facts | {"shapes": f"{[array.shape for array in got]} for {[array.shape for array in expected]}"}
    facts["difference"] = difference(got, expected)
    if not is_right(facts):  # a network without training amplifies roundings: of another runtime too?
        facts["rival"] = difference(by_onnxruntime(folder / "model.onnx", list(inputs.values())), expected)
    return facts


def by_onnxruntime(model: Path, inputs: list) -> list:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: array for value, array in zip(session.get_inputs(), inputs)})


def beside(got: list, expected: list) -> list:
    """A detector's answers in the order of the boxes expected: equal scores but for a rounding may change places."""
    import numpy as np

    if len(got) < 3 or got[0].ndim != 2 or got[0].shape[1] != 4 or len({len(array) for array in got}) != 1 or got[0].shape != expected[0].shape:
        return got
    far = np.abs(got[0][:, None].astype(np.float64) - expected[0][None]).max(-1)
    left, order = set(range(len(far))), []
    for place in range(len(far)):
        order.append(min(left, key=lambda mine: far[mine, place]))
        left.remove(order[-1])
    return [array[order] for array in got]


def difference(got: list, expected: list) -> float:
    """The largest one, as a part of the largest number of its output."""
    import numpy as np

    if [array.shape for array in got] != [array.shape for array in expected]:
        return float("inf")
    pairs = [(mine.astype(np.float64), theirs) for mine, theirs in zip(beside(got, expected), expected) if mine.size]
    return max((float(np.abs(mine - theirs).max() / max(np.abs(theirs).max(), 1e-30)) for mine, theirs in pairs), default=0.0)


@dataclass(frozen=True)
class Settings:
    python: str
    """One that has torch, torchvision and onnxscript."""
    seconds: float
    """For an export, and for a build with its run."""
    memory: int
    """Bytes that each of these may have in memory."""
    until: float = float("inf")
    """Begin nothing afterwards (time.monotonic)."""
    again: bool = False


def stage(command: list, settings: Settings) -> tuple[str, str]:
    """What it printed, and why it failed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=errors)
        try:
            stopped = watched(process, settings.seconds, settings.memory)
        finally:  # Ctrl-C too leaves nothing behind
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


def is_right(row: Row) -> bool:
    """Roundings that a network without training amplifies, or that move a maximum, count as far as onnxruntime has them too."""
    return row.get("difference", 1) < max(1e-3, 2 * row.get("rival", 0))


def told(row: Row) -> str:
    if "not_exported" in row:
        return f"torch does not export it: {without_colours(row['not_exported'])}"
    if "failed" in row:
        return f"**no**: {row['failed']}"
    if "shapes" in row:
        return f"other sizes: {row['shapes']}"
    if "rival" in row:
        return f"as onnxruntime, {row['rival']:.1e} from torch" if is_right(row) else f"**no**, onnxruntime {row['rival']:.1e}"
    return "as torch" if is_right(row) else "**no**"


def chosen(python: str, wanted: str) -> list[str]:
    known = names(python)
    if unknown := [name for name in wanted.split(",") if wanted and name not in known]:
        raise ValueError(f"--nets: torchvision has no model {', '.join(unknown)}")
    return wanted.split(",") if wanted else known


def run(log: Log, networks: list[str], settings: Settings) -> int:
    """How many failed."""
    failed = 0
    for name, exporter in product(networks, EXPORTERS):
        if not settings.again and log.has({"what": KIND, "network": name, "exporter": exporter}):
            continue
        if time.monotonic() >= settings.until:
            print(f"{name} by {exporter} and what follows: not begun, as --seconds are over", flush=True)
            break
        row = row_of(name, exporter, settings)
        log.add(row)
        failed += "failed" in row or ("difference" in row and not is_right(row))
        print(f"{name} by {exporter}: {told(row)}", flush=True)
    return failed


def cells(row: Row) -> str:
    numbers = [format(row[key], form) if key in row else "" for key, form in (("difference", ".1e"), ("build_seconds", ".1f"), ("run_seconds", ".2f"), ("peak_mib", "d"))]
    return f"| {' | '.join([row['network'], row['exporter'], told(row).replace('|', '/'), *numbers])} |"


def lines(rows: list[Row], older: dict[tuple[str, str], str]) -> list[str]:
    """The part of the page; rows that nothing was measured of stay."""
    table = older | {(row["network"], row["exporter"]): cells(row) for row in rows}
    if not table:
        return []
    peaks = {key: int(line.strip("|").split("|")[-1].strip() or 0) for key, line in sorted(table.items())}
    large = [f"{name} by {exporter}: {peak / 1024:.1f} GiB" for (name, exporter), peak in peaks.items() if peak > LISTED_FROM]
    about = [
        HEADING,
        "",
        "By `./dev networks --torchvision`: random weights, both of torch's exporters, built without a flag and without timing, beside torch's own answer. The largest",
        "difference is a part of the largest number of the output; boxes are compared in torch's order, as scores that are equal but for a rounding change places. Where",
        "it is over 1e-3, as in detectors without training, onnxruntime's stands beside it. Peak memory is the process's, import, build and one run. Other sizes: of a detector without training the",
        "boxes that pass a threshold by a rounding are others.",
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
