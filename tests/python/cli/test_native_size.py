"""lanner run: networks with open height and width run each image and clip at its native size."""

import json
import subprocess

import lanner
import numpy as np
import pytest
from command import COMMAND, make_clip, refuse, save_model
from command import lanner as run
from onnx import helper

QUICK = ["--range", "0,1", "--budget", "0", "--threads", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images of two sizes, clips of two sizes, a network that reads the neighbours of each pixel."""
    path = tmp_path_factory.mktemp("own")
    random = np.random.default_rng(3)
    for name, width, height in (("a", 40, 30), ("b", 21, 33), ("c", 21, 33), ("d", 40, 30)):
        pixels = random.integers(0, 256, (height, width, 3), np.uint8)
        lanner.save_image(path / f"{name}.png", lanner.Image.from_array(pixels))
    make_clip(path, "large.mp4", frames=5, width=64, height=48)
    make_clip(path, "small.mp4", frames=4, width=32, height=32)
    weight = np.full((3, 3, 3, 3), 1 / 27, np.float32)
    conv = helper.make_node("Conv", ["input", "weight"], ["image"], "conv", pads=[1, 1, 1, 1])
    shape = ["N", 3, "H", "W"]
    save_model(path / "blur.onnx", [conv], {"input": shape}, {"image": shape}, {"weight": weight}, {"lanner.task": "image"})
    return path


def marked(folder, *arguments):
    result = run("run", *arguments, *QUICK, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result.stderr


def pixels(path):
    return np.asarray(lanner.load_image(path)).astype(int)


def test_one_picture_runs_at_its_native_size(folder, tmp_path):
    said = marked(folder, "blur.onnx", "-i", "b.png", "-o", tmp_path / "own.png")
    assert "note: size 21x33, as b.png has it; --size sets another" in said
    assert "note: size" not in marked(folder, "blur.onnx", "-i", "b.png", "--size", "21x33", "-o", tmp_path / "said.png")
    assert (tmp_path / "own.png").read_bytes() == (tmp_path / "said.png").read_bytes()
    assert pixels(tmp_path / "own.png").shape == (33, 21, 3)
    assert "note: size" not in marked(folder, "blur.onnx", "-i", "b.png", "-q", "-o", tmp_path / "own.png")


@pytest.mark.parametrize("batch", [1, 3])
def test_pictures_of_several_sizes_run_at_their_own(folder, tmp_path, batch):
    names = ["a.png", "b.png", "c.png", "d.png"]
    said = marked(folder, "blur.onnx", "-i", *names, "--batch", batch, "-o", f"{tmp_path}/", "--json", tmp_path / "answers")
    assert "note: each image at its native size" in said
    assert [json.loads(line)["source"] for line in (tmp_path / "answers").read_text().splitlines()] == names
    for name in names:
        height, width = pixels(folder / name).shape[:2]
        marked(folder, "blur.onnx", "-i", name, "--size", f"{width}x{height}", "-o", tmp_path / "alone.png")
        assert pixels(tmp_path / name).shape == (height, width, 3)
        assert np.abs(pixels(tmp_path / name) - pixels(tmp_path / "alone.png")).max() <= 1


def test_clips_and_a_picture_of_several_sizes(folder, tmp_path):
    inputs = ["large.mp4", "b.png", "small.mp4"]
    marked(folder, "blur.onnx", "-i", *inputs, "--batch", "2", "-o", f"{tmp_path}/")
    for name, count in (("large.mp4", 5), ("small.mp4", 4)):
        source, made = lanner.VideoReader(folder / name), lanner.VideoReader(tmp_path / name)
        assert (len(made), made.width, made.height) == (count, source.width, source.height)
        size = f"{source.width}x{source.height}"
        marked(folder, "blur.onnx", "-i", name, "--size", size, "-o", tmp_path / "alone.mp4")
        alone = lanner.VideoReader(tmp_path / "alone.mp4")
        for one, other in zip(made, alone, strict=True):
            assert np.abs(np.asarray(one.image).astype(int) - np.asarray(other.image)).mean() < 1
    assert pixels(tmp_path / "b.png").shape == (33, 21, 3)


def test_a_clip_among_unreadable_ones_runs(folder, tmp_path):
    (tmp_path / "cut.mp4").write_bytes((folder / "large.mp4").read_bytes()[:200])
    result = run("run", "blur.onnx", "-i", tmp_path / "cut.mp4", "small.mp4", "-o", f"{tmp_path}/out/", *QUICK, cwd=folder)
    assert result.returncode == 2 and "1 of 2 inputs could not be read" in result.stderr
    assert len(lanner.VideoReader(tmp_path / "out" / "small.mp4")) == 4


def test_pipe_among_files_and_alone(folder, tmp_path):
    source = lanner.VideoReader(folder / "small.mp4")
    with lanner.VideoWriter(tmp_path / "clip.mkv", width=source.width, height=source.height, fps=25) as writer:
        for frame in source:
            writer.write(frame)
    command = [COMMAND, "run", "blur.onnx", "-q", *QUICK, "-i"]
    piped = (tmp_path / "clip.mkv").read_bytes()
    out = ["-o", f"{tmp_path}/out/"]
    both = subprocess.run([*command, "a.png", "-", *out], cwd=folder, input=piped, capture_output=True, check=False)
    assert both.returncode == 0, both.stderr
    made = lanner.VideoReader(tmp_path / "out" / "stdin.mp4")
    assert (len(made), made.width, made.height) == (4, 32, 32)
    alone = subprocess.run([*command, "-", *out], cwd=folder, input=piped, capture_output=True, check=False)
    assert alone.returncode == 2 and b"through a pipe" in alone.stderr and b"--size WIDTHxHEIGHT" in alone.stderr


def test_report_shows_the_native_size(folder, tmp_path):
    marked(folder, "blur.onnx", "-i", "a.png", "b.png", "--report", tmp_path / "page.html")
    assert "RGB 0..1, its native size" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_only_input_unreadable_is_an_error(folder, tmp_path):
    (tmp_path / "cut.png").write_bytes((folder / "a.png").read_bytes()[:60])
    said = refuse("run", "blur.onnx", "-i", tmp_path / "cut.png", *QUICK, cwd=folder)
    assert said.startswith("run ") and "cut.png: " in said and "--size" not in said
    said = refuse("run", "blur.onnx", "-i", "a.png", "--region", "9x9+40+0", *QUICK, cwd=folder)
    assert said.startswith("run a.png: ") and "region 9x9" in said
    said = refuse("run", "blur.onnx", "-i", "a.png", "b.png", "--region", "30x9+0+0", "-q", *QUICK, cwd=folder)
    assert said.startswith("run b.png: ") and "region 30x9" in said


@pytest.mark.parametrize("kind", ["semantic", "depth"])
def test_maps_run_at_the_picture_size(folder, tmp_path, kind):
    channels = 4 if kind == "semantic" else 1
    weight = np.random.default_rng(1).normal(size=(channels, 3, 1, 1)).astype(np.float32)
    conv = helper.make_node("Conv", ["input", "weight"], ["map"], "conv", strides=[2, 2])
    shapes = {"input": ["N", 3, "H", "W"]}, {"map": ["N", channels, "h", "w"]}
    model = save_model(tmp_path / "map.onnx", [conv], *shapes, {"weight": weight}, {"lanner.task": kind})
    said = marked(folder, model, "-i", "a.png", "b.png", "-o", f"{tmp_path}/")
    assert "note: each image at its native size" in said
    assert pixels(tmp_path / "a.png").shape == (30, 40, 3) and pixels(tmp_path / "b.png").shape == (33, 21, 3)


def test_size_that_the_network_refuses_is_explained(folder, tmp_path):
    """Half the size and back to double, added to the input: only even sizes work."""
    nodes = [
        helper.make_node("MaxPool", ["input"], ["half"], "half", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Resize", ["half", "", "scales"], ["whole"], "whole", mode="nearest"),
        helper.make_node("Add", ["input", "whole"], ["image"], "sum"),
    ]
    scales = {"scales": np.array([1, 1, 2, 2], np.float32)}
    shape = ["N", 3, "H", "W"]
    model = save_model(tmp_path / "even.onnx", nodes, {"input": shape}, {"image": shape}, scales, {"lanner.task": "image"})
    for inputs in (["b.png"], ["a.png", "b.png"]):
        said = refuse("run", model, "-i", *inputs, "-q", "-o", f"{tmp_path}/out/", *QUICK, cwd=folder)
        assert "21x33" in said and "--size WIDTHxHEIGHT" in said
    marked(folder, model, "-i", "a.png", "b.png", "--size", "20x20", "-o", f"{tmp_path}/out/")


def test_other_tasks_require_a_size(folder, tmp_path):
    pool = helper.make_node("ReduceMean", ["input"], ["scores"], "mean", axes=[2, 3], keepdims=0)
    shapes = {"input": ["N", 3, "H", "W"]}, {"scores": ["N", 3]}
    model = save_model(tmp_path / "classes.onnx", [pool], *shapes, {}, {"lanner.task": "classify"})
    assert "leaves its height open; give --size" in refuse("run", model, "-i", "a.png", *QUICK, cwd=folder)
