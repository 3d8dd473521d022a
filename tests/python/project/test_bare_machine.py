"""The package as in a wheel, on a machine without FFmpeg and oneDNN."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import BUILD, ROOT, SECONDS, color_classifier, make_clip


def rename_needed(module: Path, names: tuple[str, ...]) -> None:
    """Makes the module require missing libraries: for the loader the same as if its own were absent."""
    content = module.read_bytes()
    for name in names:
        content, count = re.subn(rb"\0lib" + name.encode(), b"\0LIB" + name.encode(), content)
        assert count > 0, name
    module.write_bytes(content)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        ["cmake", "--install", BUILD, "--component", "wheel", "--prefix", folder],
        check=True, capture_output=True, timeout=SECONDS,
    )
    for script in (ROOT / "python" / "lanner").rglob("*.py"):
        target = folder / script.relative_to(ROOT / "python")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(script, target)
    rename_needed(folder / "lanner" / "liblanner-ffmpeg.so", ("avformat", "avcodec"))
    rename_needed(folder / "lanner" / "liblanner-onednn.so", ("dnnl",))
    return folder


def python(site, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, "-P", *map(str, arguments)],
        capture_output=True, text=True, timeout=SECONDS, check=False, env=environment, cwd=site,
    )


def test_every_library_of_the_wheel_is_there_once(site):
    libraries = [path for path in (site / "lanner").iterdir() if path.name.startswith("liblanner.so")]
    assert len(libraries) == 1 and not libraries[0].is_symlink()


def test_tensorflows_operators_are_found_beside_the_package(site):
    done = python(site, "-c", "from lanner import _tf_operators; path = _tf_operators._path(); print(path); print(_tf_operators._open(path))")
    assert done.stdout.startswith(f"{site / 'lanner' / 'liblanner-tensorflow.so'}\n<CDLL"), done.stderr


def test_import_and_networks_work_and_video_names_what_is_missing(site, tmp_path):
    model = color_classifier(tmp_path / "model.onnx")
    program = f"""
import numpy, lanner
assert lanner.__file__.startswith({str(site)!r}), lanner.__file__
engine = lanner.build({str(model)!r}, threads=1, budget=0)
x = numpy.zeros((1, 3, 8, 8), numpy.float32)
x[:, 2] = 1
print(engine({{"input": x}})["logits"].numpy().tolist())
for open_it in (lanner.VideoReader, lanner.load_image):
    try:
        open_it({str(model)!r})
    except lanner.Unsupported as error:
        print(error)
"""
    done = python(site, "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    answer, *refusals = done.stdout.splitlines()
    assert answer == "[[0.0, 0.0, 10.0]]"
    assert len(refusals) == 2
    assert all("LIBavformat" in line or "LIBavcodec" in line for line in refusals)
    assert all("FFmpeg" in line and "apt-get install" in line for line in refusals)


def test_doctor_says_what_is_missing_and_what_to_do(site):
    done = python(site, "-m", "lanner", "doctor")
    assert done.returncode == 2
    missing = {line.split()[1]: line for line in done.stdout.splitlines() if "MISSING" in line}
    assert set(missing) == {"FFmpeg", "onednn"}
    assert "LIBav" in missing["FFmpeg"] and "LIBdnnl" in missing["onednn"]
    assert all("remedy: apt-get install" in line for line in missing.values())


def test_command_reports_missing_libraries_in_one_line(site, tmp_path):
    done = python(site, "-m", "lanner", "probe", make_clip(tmp_path))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "FFmpeg" in done.stderr
