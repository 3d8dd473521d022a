"""`pip install .` compiles with the flags of `./dev build`, so that its objects are in the compiler's cache."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from command import BUILD, ROOT

SECONDS = 300
# scikit-build-core's own call, for a target that compiles nothing: configures, builds and installs nothing.
CONFIGURE = """
import sys
from scikit_build_core import build
build.build_wheel(sys.argv[1], {"build-dir": sys.argv[2], "build.targets": "help", "install.components": "none"})
"""


def commands(folder):
    """Compile commands by object file, without the build folder's own path, which ccache makes relative."""
    entries = json.loads((folder / "compile_commands.json").read_text())
    return {re.search(r" -o (\S+)", entry["command"])[1]: entry["command"].replace(str(folder), "BUILD") for entry in entries}


def test_pip_compiles_with_the_flags_of_dev_build(tmp_path):
    pytest.importorskip("scikit_build_core")
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)[1]
    if compiler != shutil.which("c++"):
        pytest.skip(f"the build at hand is by {compiler}")
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "CFLAGS", "CXXFLAGS")}
    done = subprocess.run([sys.executable, "-c", CONFIGURE, tmp_path, tmp_path / "wheel"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ours, theirs = commands(BUILD), commands(tmp_path / "wheel")
    assert any(name.startswith("python/") for name in theirs)
    assert {name: command for name, command in theirs.items() if ours.get(name) != command} == {}
