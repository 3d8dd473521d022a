"""The tree keeps to its bounds: files in a folder, lines of a function (docs/HACKING.md)."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tools" / "measure_tree.py"
# Kernels are in files of their own folder and may have 120 lines, which clang-tidy checks; none has today.
MOST_LONG_FUNCTIONS = 0


def figures():
    return json.loads(subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True, check=True).stdout)


def test_folders_and_functions_stay_small():
    found = figures()
    assert set(found["folders over 40 files"]) == {"include/lanner"}
    assert found["functions"]["Python"]["over 60"] == 0
    assert found["functions"]["C++"]["over 60"] <= MOST_LONG_FUNCTIONS


def test_long_functions_are_seen():
    sys.path.insert(0, str(SCRIPT.parent))
    import measure_tree

    body = "\n".join("  x();" for _ in range(70))
    assert measure_tree.cpp_functions(f"void f() {{\n{body}\n}}\n") == [72]
