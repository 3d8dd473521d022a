"""Cases that run in TensorFlow's own Python, many in one process: functions `case_...` of a file, each a test of its own."""

import ast
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

SUPPORT = Path(__file__).parent


def names_of(path):
    return [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef) and node.name.startswith("case_")]


def environment(folder):
    """For a TensorFlow on the CPU: the package under test, and of this Python's packages the one that it needs."""
    import lanner
    import nanobind_backend

    packages = Path(folder) / "packages"
    packages.mkdir()
    (packages / "nanobind_backend").symlink_to(Path(nanobind_backend.__file__).parent)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    path = os.pathsep.join(map(str, (Path(lanner.__file__).parents[1], packages, SUPPORT)))
    return {**inherited, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}


def results_of(python, path, folder, *flags, arguments=(), seconds=400):
    """Runs a file's cases by `python -m lanner.compat FLAGS FILE FOLDER ARGUMENTS`: what each raised, empty where nothing."""
    command = [python, "-m", "lanner.compat", *flags, path, folder, *map(str, arguments)]
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=seconds, check=False, cwd=folder)
    written = Path(folder) / "results.json"
    assert written.exists(), f"exit code {done.returncode}: {done.stderr[-6000:]}"
    return json.loads(written.read_text())


def run_cases(names):
    """In the child: runs the cases among a module's globals, each with a folder of its own, and writes what they raised."""
    root = Path(sys.argv[1])
    results = {}
    for name, function in list(names.items()):
        if name.startswith("case_"):
            folder = root / name
            folder.mkdir()
            try:
                function(folder)
                results[name] = ""
            except BaseException:
                results[name] = traceback.format_exc()
    (root / "results.json").write_text(json.dumps(results))
