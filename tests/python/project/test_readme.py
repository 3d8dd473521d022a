"""The lines and programs of README.md and docs/first-steps.md run as they stand after ./dev demo."""

import os
import re
import subprocess
import sys

import pytest

from command import BUILD, ROOT, SECONDS

PAGES = ["README.md", "docs/first-steps.md"]
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXTS[page], re.MULTILINE | re.DOTALL)


def shell_lines(page):
    return [line for block in blocks(page, "sh") for line in block.splitlines()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout after ./dev demo, with a shorter clip."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "build").symlink_to(BUILD)
    (folder / "demo").mkdir()
    for network in (ROOT / "demo").glob("*.onnx"):
        (folder / "demo" / network.name).symlink_to(network)
    command = [sys.executable, ROOT / "demo" / "run.py", "--output", folder / "demo" / "out", "--frames", "102"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def run_page(page, checkout):
    export, *lines = shell_lines(page)
    assert export == 'export PATH="$PWD/build/bin:$PWD/.venv/bin:$PATH"' and lines[0].startswith("lanner run demo/")
    for line in lines:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{export}\n{line}"],
            cwd=checkout, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "warning" not in done.stderr, f"{line}\n{done.stderr}"
        for name in re.findall(r"(?:-o|--report|--json|--csv) (\S+)", line):
            assert (checkout / name).exists(), line
    for program in blocks(page, "python"):
        environment = os.environ | {"PYTHONPATH": str(BUILD / "python")}
        done = subprocess.run([sys.executable, "-c", program], cwd=checkout, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr


def test_readme_has_eight_lines_that_run(checkout):
    programs = blocks("README.md", "python")
    assert len(programs) == 1 and len(shell_lines("README.md")) + len(programs[0].splitlines()) == 8
    run_page("README.md", checkout)


def test_lines_and_programs_of_first_steps_run(checkout):
    assert len(shell_lines("docs/first-steps.md")) >= 10 and len(blocks("docs/first-steps.md", "python")) == 2
    run_page("docs/first-steps.md", checkout)
    assert (checkout / "demo/out/marked.png").stat().st_size > 1000


@pytest.mark.parametrize("page", PAGES)
def test_linked_pages_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", TEXTS[page]):
        assert ((ROOT / page).parent / target).exists(), target


def test_make_prints_each_file_that_it_writes(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "demo"))
    import make

    monkeypatch.setattr(make, "PHOTOS", 2)
    make.write_photos(tmp_path / "photos", tmp_path / "photos.json")
    make.write_clip(tmp_path / "a.mp4", [frame.rgb for frame in make.Clip(make.SEEDS[0], frames=2)])
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["make: photos/, 2 pictures, and photos.json", "make: a.mp4, 2 frames"]
