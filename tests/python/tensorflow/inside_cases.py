"""Converted models inside TensorFlow: run by test_inside_tensorflow.py in a Python with TensorFlow, where lanner can be imported too.

    python inside_cases.py FOLDER SHARED CASE...

Each case is a function `case_NAME(folder)`; FOLDER/results.json has what each raised, as text, or null. SHARED is ../shared/data/models, or does
not exist.
"""

import gc
import json
import sys
import traceback
from pathlib import Path

import inside_calibration
import inside_engines
import inside_files
import inside_foreign
import inside_native
import inside_support
import tensorflow as tf

import lanner


def main():
    root = Path(sys.argv[1])
    results = {"version": tf.__version__}
    cases = {name: case for module in (inside_engines, inside_native, inside_files, inside_foreign, inside_calibration) for name, case in vars(module).items() if name in sys.argv[3:]}
    for name, case in cases.items():
        folder = root / name
        folder.mkdir()
        gc.collect()
        inside_support.EARLIER.update(entry["id"] for entry in lanner.tf.engine_statistics())
        try:
            case(folder)
            results[name] = None
        except Exception:  # noqa: BLE001 - reported by the test
            results[name] = traceback.format_exc()[-6000:]
        (root / "results.json").write_text(json.dumps(results))
    (root / "done").write_text("")


if __name__ == "__main__":
    main()
