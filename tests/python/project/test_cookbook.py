"""docs/cookbook.md: every recipe runs as it stands; its command and its Python agree, and are right."""

import csv
import json
import os
import re
import subprocess
import sys

import lanner
import numpy as np
import pytest
from command import BUILD, ROOT, SECONDS

sys.path.insert(0, str(ROOT / "demo"))
import make
from evaluate import evaluate
from figures import FigureClip
from hall import HallClip
from measure import psnr
from pictures import shrink
from shapes import DEMO_SEED, Clip

RECIPES = 16
TRUTH = Clip(DEMO_SEED, frames=make.FRAMES)


def read_recipes():
    """By number: the title and the blocks (`sh` or `python`, text) in order."""
    text = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    recipes = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        number, title = re.match(r"(\d+)\. (.+)\n", part).groups()
        recipes[int(number)] = title, re.findall(r"^```(\w+)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return recipes


COOKBOOK = read_recipes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cookbook")
    make.make(path)
    return path


@pytest.fixture
def run(folder):
    """Runs the blocks of a recipe in the folder of inputs; returns their standard output, by kind."""

    def run(number):
        folders = [str(BUILD / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]]
        environment = os.environ | {"PATH": os.pathsep.join(folders), "PYTHONPATH": str(BUILD / "python")}
        said = {}
        for kind, text in COOKBOOK[number][1]:
            name = re.search(r"python (\w+\.py)", dict(COOKBOOK[number][1])["sh"])
            script = folder / (name[1] if name else f"recipe_{number}.py")
            if kind == "python":
                script.write_text(text, encoding="utf-8")
            command = [sys.executable, script] if kind == "python" else ["bash", "-euo", "pipefail", "-c", text]
            result = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            assert result.returncode == 0, f"{kind}: {result.stdout}{result.stderr}"
            said[kind] = result.stdout
        return said

    return run


def test_sixteen_recipes_have_a_command_and_python():
    assert list(COOKBOOK) == list(range(1, RECIPES + 1))
    for number, (title, blocks) in COOKBOOK.items():
        assert sorted(kind for kind, _ in blocks) == ["python", "sh"], (number, title)
        assert f"test_recipe_{number:02}" in "\n".join(globals()), (number, title)


def test_pictures_of_recipes_exist():
    text = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"!\[[^]]+\]\((cookbook/[^)]+)\)", text))
    there = {f"cookbook/{path.name}" for path in (ROOT / "docs" / "cookbook").iterdir()}
    assert shown == there
    assert sum((ROOT / "docs" / name).stat().st_size for name in there) < 1_000_000


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def pixels(path):
    return np.asarray(lanner.load_image(path))


def picture(clip, number):
    return np.asarray(lanner.VideoReader(clip)[number].image).astype(int)


def in_order(line):
    return sorted(line["detections"], key=lambda found: (found["class"], found["box"]))


def assert_same_boxes(found, twin, frames):
    """Two files of answers agree except for the last digits."""
    found, twin = read_lines(found), read_lines(twin)
    assert len(found) == len(twin) == frames
    found.sort(key=lambda line: (line["source"], line["frame"]))
    twin.sort(key=lambda line: (line["source"], line["frame"]))
    for a, b in zip(found, twin, strict=True):
        assert (a["source"], a["frame"], a["pts"]) == (b["source"], b["frame"], pytest.approx(b["pts"]))
        assert len(a["detections"]) == len(b["detections"])
        for one, other in zip(in_order(a), in_order(b), strict=True):
            assert one["label"] == other["label"]
            assert one["score"] == pytest.approx(other["score"], abs=0.01)
            assert one["box"] == pytest.approx(other["box"], abs=0.5)
    return found


def assert_same_clips(folder, name, twin, frames):
    """Two encodings of a clip may differ slightly, and differ from the input."""
    a, b = lanner.VideoReader(folder / name), lanner.VideoReader(folder / twin)
    assert (len(a), a.width, a.height) == (len(b), b.width, b.height) == (frames, 640, 360)
    for n in (0, frames // 2, frames - 1):
        assert np.abs(np.asarray(a[n].image).astype(int) - np.asarray(b[n].image)).mean() < 2


def assert_right(lines, clip=TRUTH):
    truth = [{"frame": n, "objects": clip.objects(n)} for n in range(len(lines))]
    measures = evaluate(lines, truth)
    assert measures["mean_iou"] > 0.85 and measures["class_accuracy"] > 0.97 and measures["precision"] > 0.95


def test_recipe_01(run, folder):
    run(1)
    table, twin = read_table(folder / "kinds.csv"), read_table(folder / "kinds_python.csv")
    assert len(table) == len(twin) == 24
    for one, other in zip(table, twin, strict=True):
        assert (one["source"], one["label"]) == (other["source"], other["label"])
        assert float(one["probability"]) == pytest.approx(float(other["probability"]), abs=0.01)
    assert sum(row["label"] in row["source"] for row in table) >= 23


def test_recipe_02(run, folder):
    run(2)
    assert_right(assert_same_boxes(folder / "boxes.jsonl", folder / "boxes_python.jsonl", make.FRAMES))
    assert_same_clips(folder, "boxes.mp4", "boxes_python.mp4", make.FRAMES)


def test_recipe_03(run, folder):
    run(3)
    found, twin = (json.loads((folder / name).read_text()) for name in ("masks.json", "masks_python.json"))
    assert found["categories"] == twin["categories"] and len(found["images"]) == len(twin["images"]) == 30
    assert len(found["annotations"]) == len(twin["annotations"]) > 100
    for one, other in zip(found["annotations"], twin["annotations"], strict=True):
        assert one["category_id"] == other["category_id"]
        assert one["area"] == pytest.approx(other["area"], rel=0.01)
        assert one["bbox"] == pytest.approx(other["bbox"], abs=0.5)
    first = [note for note in found["annotations"] if note["image_id"] == 1]
    areas = sorted(note["area"] for note in first)
    assert areas == pytest.approx(sorted(TRUTH.masks(0).sum(axis=(1, 2)).tolist()), rel=0.12)
    assert len(lanner.VideoReader(folder / "masks.mp4")) == 30


def test_recipe_04(run, folder):
    run(4)
    clip = FigureClip(make.FIGURES, frames=make.MOVING)
    table, twin = read_table(folder / "pose.csv"), np.load(folder / "pose_python.npz")
    names = [(f"x{k}", f"y{k}") for k in range(11)]
    points = [[[float(row[x]), float(row[y])] for x, y in names] for row in table]
    together = np.concatenate([twin[name] for name in twin.files])
    assert len(twin.files) == make.MOVING
    np.testing.assert_allclose(np.array(points), together, atol=0.5)
    off = []
    for row, found in zip(table, points, strict=True):
        frame = int(row["frame"])
        truth = [np.array(o["keypoints"]) for o in clip.objects(frame)]
        away = [np.hypot(*(np.array(found) - t).T).mean() for t in truth]
        off.append(min(away) / clip.figures[int(np.argmin(away))].height)
    assert len(off) == pytest.approx(make.MOVING * len(clip.figures), rel=0.02) and np.mean(off) < 0.05
    assert len(lanner.VideoReader(folder / "pose.mp4")) == make.MOVING


def test_recipe_05(run, folder):
    run(5)
    assert_same_clips(folder, "poster.mp4", "poster_python.mp4", 30)
    assert np.abs(picture(folder / "poster.mp4", 3) - picture(folder / "hall.mp4", 3)).mean() > 8


def test_recipe_06(run, folder):
    run(6)
    small = lanner.VideoReader(folder / "small.mp4")
    better = []
    for number in range(10):
        large, twin = pixels(folder / f"large_{number:02}.png"), pixels(folder / f"large_python_{number:02}.png")
        assert large.shape == (360, 640, 3)
        assert np.abs(large.astype(int) - twin).max() <= 2
        spec = {"size": (360, 640), "resize": "bicubic", "layout": "nhwc", "range": (0, 255), "dtype": "uint8"}
        bicubic = small[number].to_tensor(**spec).numpy()[0]
        truth = TRUTH[number].rgb
        better.append(psnr(large, truth) - psnr(bicubic, truth))
    assert np.mean(better) > 0


def test_recipe_07(run, folder):
    said = run(7)
    lines = read_lines(folder / "depth.jsonl")
    assert len(lines) == make.MOVING
    depth = HallClip(make.HALL, frames=make.MOVING).depth(0)
    assert lines[0]["depth"]["mean"] == pytest.approx(depth.mean(), rel=0.1)
    near, far = map(float, re.search(r"from ([\d.]+) to ([\d.]+) m", said["python"]).groups())
    assert lines[0]["depth"]["min"] == pytest.approx(near, abs=0.06)
    assert lines[0]["depth"]["max"] == pytest.approx(far, abs=0.06)
    assert np.abs(picture(folder / "depth.mp4", 0) - pixels(folder / "depth_python.png")).mean() < 4


def test_recipe_08(run, folder):
    run(8)
    lines = assert_same_boxes(folder / "colours.jsonl", folder / "colours_python.jsonl", 30)
    assert_right(lines)
    twin, right = read_lines(folder / "colours_python.jsonl"), []
    for line, other in zip(lines, twin, strict=True):
        shapes = TRUTH.shapes(line["frame"])
        for found, again in zip(in_order(line), in_order(other), strict=True):
            best, same = found["then"]["top"][0], again["then"]["top"][0]
            assert best["label"] == same["label"] and best["probability"] == pytest.approx(same["probability"], abs=0.02)
            right += [best["label"] == shape.colour_name() for shape in shapes if shape.label == found["label"]]
    assert np.mean(right) > 0.8
    assert len(lanner.VideoReader(folder / "colours.mp4")) == 30


def test_recipe_09(run, folder):
    run(9)
    sheet = pixels(folder / "sheet.png")
    assert sheet.shape == (180, 480, 3)
    for k, number in enumerate(range(0, 60, 10)):
        tile = sheet[k // 3 * 90 :][:90, k % 3 * 160 :][:, :160]
        assert np.array_equal(tile, pixels(folder / f"thumb{number:02}.png"))
        assert np.array_equal(tile, pixels(folder / f"thumb_python_{number:02}.png"))
        assert np.abs(shrink(TRUTH[number].rgb, 160, 90) - tile).mean() < 3


def test_recipe_10(run, folder):
    run(10)
    numbers = (15, 37, 57)
    for number in numbers:
        frame = pixels(folder / f"at_{number:03}.png")
        assert np.array_equal(frame, pixels(folder / f"at_python_{number:03}.png"))
        assert np.abs(frame.astype(int) - TRUTH[number].rgb).mean() < 4
    assert len(list(folder.glob("at_*.png"))) == 2 * len(numbers)


def test_recipe_11(run, folder):
    pytest.importorskip("torch", reason="torch is not installed")
    said = run(11)
    pictures = sorted((folder / "train").iterdir())
    assert [path.name for path in pictures] == [f"{clip}_{n:03}.png" for clip in "abc" for n in (0, 10, 20)]
    batches = re.findall(r"\((\d+), 3, 192, 320\) \[([\d, ]+)\] ([\d.]+)", said["python"])
    assert [int(count) for count, _, _ in batches] == [4, 4, 1]
    assert sorted(int(clip) for _, clips, _ in batches for clip in clips.split(",")) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    mean = sum(int(count) * float(value) for count, _, value in batches) / 9
    assert mean == pytest.approx(np.mean([pixels(path).mean() / 255 for path in pictures]), abs=0.003)


def test_recipe_12(run, folder):
    said = run(12)
    lines = read_lines(folder / "piped.jsonl")
    assert_right(lines)
    said = re.findall(r"(\d+) (\[.*\])", said["python"])
    names = [(int(number), sorted(re.findall(r"'(\w+)'", names))) for number, names in said]
    assert names == [(line["frame"], sorted(found["label"] for found in line["detections"])) for line in lines]
    assert len(names) == make.FEW == len(lanner.VideoReader(folder / "piped.mkv"))


def test_recipe_13(run, folder):
    run(13)
    lines = assert_same_boxes(folder / "clips.jsonl", folder / "clips_python.jsonl", 3 * make.FEW)
    for k, name in enumerate(("a.mp4", "b.mp4", "c.mp4")):
        assert len(lanner.VideoReader(folder / "marked" / name)) == make.FEW
        assert_right([line for line in lines if line["source"] == name], Clip(make.SEEDS[k], frames=make.FEW))


def test_recipe_14(run, folder):
    said = run(14)
    found = json.loads((folder / "accuracy.json").read_text())
    assert (found["images"], found["failed"]) == (make.PHOTOS, 0)
    assert 0.8 < found["metrics"]["ap50"] < 0.95  # Some images are too dark for it.
    words = f"mAP {found['metrics']['ap']:.3f}, at an overlap of a half {found['metrics']['ap50']:.3f}"
    assert words in said["python"]
    assert "photo_" in (folder / "accuracy.html").read_text()


def test_recipe_15(run, folder):
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch's exporter needs it")
    said = run(15)
    assert float(re.search(r"tensor\(([\d.e+-]+)", said["python"])[1]) < 1e-5
    engine, lines = lanner.load(folder / "module.plan"), read_lines(folder / "module.jsonl")
    assert len(lines) == 24
    for line in lines:
        image = lanner.load_image(folder / line["source"])
        output = engine({"input": image.to_tensor(size=(48, 48), range=(0, 1))})["output"].numpy()[0]
        assert line["top"][0]["class"] == output.argmax()


def test_recipe_16(run):
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch's exporter needs it")
    for text in run(16).values():
        assert float(re.search(r"tensor\(([\d.e+-]+)", text)[1]) < 1e-4
