"""One model in a process of its own: `one_model.py expect|run MODEL FOLDER`. Prints a JSON object a line; errors are objects too.

expect: finds sizes and values that onnxruntime accepts, and stores them with its answers in FOLDER.
run:    builds the model by Lanner without any option, runs it on the values in FOLDER, and stores its answers there."""

import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402

INPUTS, EXPECTED, FOUND = "inputs.pickle", "expected.pickle", "found.pickle"
SECONDS_OF_TRIES = 120.0


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def keep(path: Path, value: Any) -> None:
    partial = path.with_suffix(".partial")
    partial.write_bytes(pickle.dumps(value))
    partial.rename(path)


def peak_bytes() -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def expect(model: Path, folder: Path) -> None:
    import onnx
    import onnxruntime
    from peers import differences, friendly

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    read = onnx.load(model, load_external_data=False)
    inputs, quantized = friendly.inputs_of(read), friendly.is_quantized(read)
    give_up, first_error = time.monotonic() + SECONDS_OF_TRIES, ""
    for sizes in friendly.shapes(inputs):
        for values in friendly.values(inputs, sizes):
            try:
                expected = session.run(None, values)
            except Exception as error:  # onnxruntime's errors have no common class
                first_error = first_error or str(error)
                continue
            names = [one.name for one in session.get_outputs()]
            again = dict(zip(names, session.run(None, values), strict=True))
            keep(folder / INPUTS, values)
            keep(folder / EXPECTED, dict(zip(names, expected, strict=True)))
            try:
                steady = differences.error_between(again, dict(zip(names, expected, strict=True))) < 1e-5
            except differences.Apart:
                steady = False
            say(sizes={name: list(size) for name, size in sizes.items()}, steady=steady, quantized=quantized)
            return
        if time.monotonic() > give_up:
            break
    raise ValueError(f"no sizes were found that onnxruntime runs: {first_error}")


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return np.array(value) if value is not None else None


def run(model: Path, folder: Path) -> None:
    values = pickle.loads((folder / INPUTS).read_bytes())
    import lanner

    say(stage="build")
    before = time.perf_counter()
    engine = lanner.build(model)
    say(build_seconds=time.perf_counter() - before, peak=peak_bytes(), stage="run")
    before = time.perf_counter()
    found = engine(values)
    say(first_seconds=time.perf_counter() - before, peak=peak_bytes())
    keep(folder / FOUND, {name: plain(value) for name, value in found.items()})


if __name__ == "__main__":
    try:
        {"expect": expect, "run": run}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
    except Exception as error:
        say(failure=f"{type(error).__name__}: {' '.join(str(error).split())}")
        sys.exit(1)
