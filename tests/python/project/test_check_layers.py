"""tools/check_layers.py must find an include against the arrows in any form."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tools" / "check_layers.py"


def check(tree: Path, files: dict[str, str]) -> tuple[int, str]:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, str(SCRIPT), str(tree)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_this_tree_is_clean():
    done = subprocess.run([sys.executable, str(SCRIPT), str(ROOT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "name, include",
    [
        ("src/base/file/file.cpp", "<lanner/tensor.h>"),
        ("src/graph/verifier.cpp", '"engine/planner.h"'),
        ("src/graph/verifier.cpp", "<lanner/engine.h>"),
        ("src/passes/fold.cpp", '"importers/onnx/onnx.h"'),
        ("src/backends/cpu/conv.cpp", '"passes/fold.h"'),
        ("src/engine/state.cpp", '"lower/lower.h"'),
        ("src/engine/state.cpp", '"builder/build.h"'),
        ("src/program/weights/weights.cpp", '"passes/passes.h"'),
        ("src/pipeline/pipeline.cpp", '"importers/importer.h"'),
        ("src/video/read/decoder.cpp", '"graph/graph.h"'),
        ("src/engine/context/context.cpp", "<lanner/video_reader.h>"),
        ("include/lanner/image.h", "<lanner/engine.h>"),
        ("src/image/scale.cu", "  # include   <lanner/graph.h>"),
    ],
)
def test_include_against_an_arrow_fails(tmp_path, name, include):
    line = include if "#" in include else f"#include {include}"
    code, out = check(tmp_path, {name: f"#pragma once\n{line}\n"})
    assert code == 1
    assert out.startswith(f"{name}:2: ")


@pytest.mark.parametrize(
    "name, include",
    [
        ("src/builder/build.cpp", '"passes/pipeline.h"'),
        ("src/pipeline/run.cpp", "<lanner/video_reader.h>"),
        ("src/video/ffmpeg/decoder.cpp", "<lanner/image.h>"),
        ("src/backends/convolution/conv_onednn.cpp", '"graph/backend.h"'),
        ("src/base/log.cpp", "<vector>"),
        ("src/base/hash.cpp", "<nlohmann/json.hpp>"),
        ("tools/commands/run.cpp", "<lanner/serve.h>"),
        ("python/bindings/engine/engine.cpp", "<lanner/engine.h>"),
    ],
)
def test_include_along_an_arrow_passes(tmp_path, name, include):
    assert check(tmp_path, {name: f"#include {include}\n"}) == (0, "")


def test_relative_include_is_resolved(tmp_path):
    code, out = check(
        tmp_path,
        {"src/engine/planner.h": "#pragma once\n", "src/graph/node.cpp": '#include "../engine/planner.h"\n'},
    )
    assert code == 1
    assert "src/graph/node.cpp:1: graph includes ../engine/planner.h" in out


@pytest.mark.parametrize("folder", ["tools", "python/lanner"])
def test_tools_and_python_see_public_headers_only(tmp_path, folder):
    code, out = check(
        tmp_path,
        {
            "src/graph/graph.h": "#pragma once\n",
            f"{folder}/table.h": "#pragma once\n",
            f"{folder}/explain.cpp": '#include "table.h"\n#include <lanner/graph.h>\n#include "graph/graph.h"\n',
        },
    )
    assert code == 1
    assert [line.split(": ")[0] for line in out.splitlines()] == [f"{folder}/explain.cpp:3"]


def test_a_header_without_a_layer_fails(tmp_path):
    code, out = check(tmp_path, {"include/lanner/unheard_of.h": "#pragma once\n", "src/newfolder/x.cpp": ""})
    assert code == 1
    assert "include/lanner/unheard_of.h:1: belongs to no layer" in out
    assert "src/newfolder/x.cpp:1: belongs to no layer" in out
