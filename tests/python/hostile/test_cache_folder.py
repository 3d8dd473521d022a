"""Arbitrary contents of the cache folder: commands succeed, warn once and replace damaged files."""

import os
import socket

import pytest
from command import color_classifier, lanner, make_clip

pytest.importorskip("lanner")

TUNED = ["--budget", "0.05", "--threads", "1", "--preset", "none", "--size", "8x8"]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


def make_pipe(path):
    os.mkfifo(path)


def make_device(path):
    path.symlink_to("/dev/zero")


def make_large(path):
    with path.open("wb") as file:
        file.truncate(3 << 30)


def make_socket(path):
    before = os.getcwd()
    os.chdir(path.parent)  # addresses are short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(before)


def make_loop(path):
    path.symlink_to(path.name)


def make_folder(path):
    path.mkdir()


STRANGE = [make_pipe, make_device, make_large, make_socket, make_loop, make_folder]


def build(tmp_path, folder):
    """Runs with too little memory for a file of gigabytes."""
    model = color_classifier(tmp_path / "model.onnx")
    environment = dict(os.environ, LANNER_CACHE_DIR=str(folder))
    result = lanner("build", model, "-o", tmp_path / "m.plan", *TUNED, "--limit", "total_bytes=1GiB", env=environment)
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("name", ["machine.txt", "timing.txt"])
def test_a_build_replaces_a_damaged_cache_file(tmp_path, folder, name, make):
    folder.mkdir()
    make(folder / name)
    said = build(tmp_path, folder)
    assert said.count(f"{name} is not used") == 1 and said.count("\n") == 1
    if name == "timing.txt" and make is not make_folder:
        assert (folder / name).is_file() and (folder / name).stat().st_size < 1 << 20
        assert build(tmp_path, folder) == ""


@pytest.mark.parametrize("make", STRANGE)
def test_a_clip_is_read_and_its_damaged_index_replaced(tmp_path, folder, make):
    clip = make_clip(tmp_path)
    environment = dict(os.environ, LANNER_CACHE_DIR=str(folder))
    decode = ["decode", clip, "--at", "0.1,0.2", "--md5", "--limit", "total_bytes=1GiB"]
    first = lanner(*decode, env=environment)
    assert (first.returncode, first.stderr) == (0, "")
    (index,) = (folder / "index").iterdir()
    index.unlink()
    make(index)
    second = lanner(*decode, env=environment)
    assert (second.returncode, second.stdout) == (0, first.stdout), second.stderr
    if make is not make_folder:
        assert index.is_file() and index.stat().st_size < 1 << 20
        assert lanner(*decode, env=environment).stderr == ""


def test_an_unwritable_cache_folder_is_no_error(tmp_path, folder):
    folder.write_text("no folder")
    assert build(tmp_path, folder) == ""
    assert build(tmp_path, "/proc/none") == ""
    assert build(tmp_path, folder / "deeper") == ""
    assert folder.read_text() == "no folder"


def test_a_lock_that_is_never_released_does_not_block(tmp_path, folder):
    fcntl = pytest.importorskip("fcntl")
    folder.mkdir()
    with (folder / "timing.txt.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert build(tmp_path, folder) == ""
    assert not (folder / "timing.txt").exists()
