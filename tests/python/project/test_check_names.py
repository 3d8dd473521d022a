"""tools/check_names.py must find two types of one name, wherever they are defined."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tools" / "check_names.py"
FIRST = "namespace lanner {\n/// A piece.\nstruct Span {\n  int begin;\n};\n}\n"


def check(tree):
    done = subprocess.run([sys.executable, SCRIPT, tree], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_tree_is_clean():
    assert check(ROOT) == (0, "")


@pytest.mark.parametrize(
    "second",
    [
        "namespace lanner {\nstruct Span { double start; };\n}\n",
        "namespace lanner {\nclass Span final : public Base {\n};\n}\n",
        "namespace lanner {\nvoid f() {\n  int a[] = {1};\n}\nenum Span : int { one };\n}\n",
        'namespace lanner {\nconst char* text = R"(\nnamespace {\n)";\nenum class Span { one };\n}\n',
    ],
)
def test_two_types_of_one_name_are_found(tmp_path, second):
    write(tmp_path, "include/lanner/trace.h", FIRST)
    write(tmp_path, "src/video/plan.cpp", second)
    status, text = check(tmp_path)
    assert status == 1
    assert text.startswith("lanner::Span is defined in include/lanner/trace.h:3 and src/video/plan.cpp:")


@pytest.mark.parametrize(
    "second",
    [
        "namespace lanner {\nnamespace {\nstruct Span { double start; };\n}\n}\n",
        "namespace lanner::other {\nstruct Span {\n};\n}\n",
        "namespace lanner {\nstruct Span;\nstruct Plan {\n  struct Span {\n  };\n};\nstruct Plan::Span {\n};\n}\n",
        "namespace lanner {\n// struct Span {\n/* struct Span {\n */\n}\n",
    ],
)
def test_types_that_may_share_a_name_pass(tmp_path, second):
    write(tmp_path, "include/lanner/trace.h", FIRST)
    write(tmp_path, "src/video/plan.cpp", second)
    assert check(tmp_path) == (0, "")
