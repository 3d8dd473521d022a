"""README's `Use` runs as it stands after ./dev demo."""

import os
import re
import subprocess
import sys

import pytest

from command import BUILD, ROOT, SECONDS

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
USE = TEXT.split("\n## Use\n", 1)[1].split("\n## Speed\n", 1)[0]
LINES = [line for block in re.findall(r"^```sh\n(.*?)^```$", USE, re.MULTILINE | re.DOTALL) for line in block.splitlines()]
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", USE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What lies there after ./dev demo, without what it draws for longer than needed."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "build").symlink_to(BUILD)
    (folder / "demo").mkdir()
    for network in (ROOT / "demo").glob("*.onnx"):
        (folder / "demo" / network.name).symlink_to(network)
    command = [sys.executable, ROOT / "demo" / "run.py", "--output", folder / "demo" / "out", "--frames", "102"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_lines_and_programs_run_as_they_stand(checkout):
    assert LINES[0] == 'export PATH="$PWD/build/bin:$PWD/.venv/bin:$PATH"' and LINES[1].startswith("lanner run demo/")
    assert len(LINES) >= 10 and len(PROGRAMS) == 2
    for line in LINES[1:]:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{LINES[0]}\n{line}"],
            cwd=checkout, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "warning" not in done.stderr, f"{line}\n{done.stderr}"
        for name in re.findall(r"(?:-o|--report|--json|--csv) (\S+)", line):
            assert (checkout / name).exists(), line
    for program in PROGRAMS:
        environment = os.environ | {"PYTHONPATH": str(BUILD / "python")}
        done = subprocess.run([sys.executable, "-c", program], cwd=checkout, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
    assert (checkout / "demo/out/marked.png").stat().st_size > 1000


def test_every_page_that_readme_names_is_there():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", TEXT):
        assert (ROOT / target).exists(), target


def test_drawing_tells_what_it_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "demo"))
    import make

    monkeypatch.setattr(make, "PHOTOS", 2)
    make.write_photos(tmp_path / "photos", tmp_path / "photos.json")
    make.write_clip(tmp_path / "a.mp4", [frame.rgb for frame in make.Clip(make.SEEDS[0], frames=2)])
    told = capsys.readouterr().err.splitlines()
    assert told == ["make: photos/, 2 pictures, and photos.json", "make: a.mp4, 2 frames"]
