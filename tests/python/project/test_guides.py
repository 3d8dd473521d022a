"""The Python code of the guides works: their examples contain their own assertions."""

import importlib.util
import re

import pytest

from guides import commands, examples, make_files, run_command, run_example

pytest.importorskip("lanner")
PAGES = ["preprocess.md", "transcode.md", "writing-video.md"]
COMMANDS = commands("transcode.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize(
    ("page", "code"), [pytest.param(page, code, id=f"{page}-{i}") for page in PAGES for i, code in enumerate(examples(page))]
)
def test_example_runs(folder, page, code):
    for package in re.findall(r"^import (\w+)", code, re.MULTILINE):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}, which is not installed")
    run_example(code, folder)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(folder, command):
    run_command(command, folder)


def test_each_guide_has_examples_that_check_something():
    for page in PAGES:
        assert any("assert" in code for code in examples(page)), page
