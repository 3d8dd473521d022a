"""lanner run --then: a second network on the boxes of the first."""

import csv
import json
import sys

import numpy as np
import pytest

from command import DETECTOR, LABELS, ROOT, color_classifier, lanner, leftovers, make_ppm, refuse, save_model, succeed, without_notes
from onnx import helper

sys.path.insert(0, str(ROOT / "demo"))
import shapes  # noqa: E402

QUICK = ["--budget", "0", "--threads", "1"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Images of a few shapes, the same as a clip, and a classifier with its options."""
    folder = tmp_path_factory.mktemp("scene")
    clip = shapes.Clip(shapes.HELD_OUT_SEEDS[7], frames=6)
    pixels = [frame.rgb for frame in clip]
    pictures = []
    for number, rgb in enumerate(pixels[:3]):
        pictures.append(folder / f"{number}.ppm")
        pictures[-1].write_bytes(f"P6 {clip.width} {clip.height} 255\n".encode() + rgb.tobytes())
    raw = folder / "clip.y4m"
    with open(raw, "wb") as file:
        file.write(f"YUV4MPEG2 W{clip.width} H{clip.height} F25:1 Ip A1:1 C444\n".encode())
        for rgb in pixels:
            file.write(b"FRAME\n" + yuv444(rgb))
    (folder / "labels.txt").write_text(LABELS)
    model = color_classifier(folder / "colors.onnx")
    then = ["--then", model, "--then-labels", folder / "labels.txt", "--then-range", "0,1", "--then-size", "8x8"]
    return {"folder": folder, "pictures": pictures, "clip": raw, "then": then, "pixels": pixels}


def yuv444(rgb):
    """BT.601, limited range."""
    r, g, b = np.moveaxis(rgb.astype(np.float64) / 255, -1, 0)
    y = 0.299 * r + 0.587 * g + 0.114 * b
    planes = [16 + 219 * y, 128 + 112 * (b - y) / 0.886, 128 + 112 * (r - y) / 0.701]
    return b"".join(np.round(plane).clip(0, 255).astype(np.uint8).tobytes() for plane in planes)


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def color_of(rgb, box):
    """Logits are ten times the mean of each channel, within the error of rounding outwards."""
    left, top, right, bottom = int(np.floor(box[0])), int(np.floor(box[1])), int(np.ceil(box[2])), int(np.ceil(box[3]))
    logits = rgb[top:bottom, left:right].reshape(-1, 3).mean(axis=0) / 255 * 10
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


def test_each_box_is_classified(scene):
    answers = rows(succeed("run", DETECTOR, "-i", *scene["pictures"], *scene["then"], "--json", "-", *QUICK))
    boxes = [(rgb, box) for rgb, row in zip(scene["pixels"], answers) for box in row["detections"]]
    assert len(answers) == 3 and len(boxes) > 3
    for rgb, box in boxes:
        top = box["then"]["top"]
        assert list(box["then"]) == ["top"] and sorted(entry["label"] for entry in top) == ["blue", "green", "red"]
        expected = color_of(rgb, box["box"])
        found = [entry["probability"] for entry in sorted(top, key=lambda entry: entry["class"])]
        # Resizing gives edges of a region slightly less weight than its mean does.
        assert found == pytest.approx(expected, abs=0.08)


def test_batches_and_clips_do_not_change_answers(scene, tmp_path):
    alone = rows(succeed("run", DETECTOR, "-i", scene["clip"], *scene["then"], "--then-batch", "1", "--json", "-", *QUICK))
    assert len(alone) == 6 and all("then" in box for row in alone for box in row["detections"])
    together = rows(succeed("run", DETECTOR, "-i", scene["clip"], scene["clip"], *scene["then"], "--json", "-", *QUICK))
    assert together == alone + alone


def test_printed_lines_have_both_answers(scene):
    text = succeed("run", DETECTOR, "-i", scene["pictures"][0], *scene["then"], *QUICK)
    boxes = text.splitlines()[1:]
    assert boxes and all(line.endswith(")") and line.split("] (")[1].split()[0] in LABELS for line in boxes)
    (line, *_) = succeed("run", DETECTOR, "-i", scene["clip"], *scene["then"], *QUICK).splitlines()
    assert line.count("] (") == line.count("[") > 0


def test_class_and_count_options_select_boxes(scene):
    def looked_at(*options):
        (row,) = rows(succeed("run", DETECTOR, "-i", scene["pictures"][0], *scene["then"], "--json", "-", *options, *QUICK))
        return [(box["label"], box["then"] is not None) for box in row["detections"]]

    every = looked_at()
    assert all(seen for _, seen in every) and len({label for label, _ in every}) > 1
    wanted = every[-1][0]
    assert looked_at("--then-classes", wanted) == [(label, label == wanted) for label, _ in every]
    assert looked_at("--then-max-boxes", "1") == [(label, n == 0) for n, (label, _) in enumerate(every)]
    text = succeed("run", DETECTOR, "-i", scene["pictures"][0], *scene["then"], "--then-max-boxes", "1", *QUICK)
    assert text.count("(") == 1


def test_result_files_have_both_answers(scene, tmp_path):
    outputs = ["--csv", tmp_path / "out.csv", "--coco", tmp_path / "coco.json", "--yolo", tmp_path / "labels", "--crops", tmp_path / "crops"]
    run = lanner("run", DETECTOR, "-i", *scene["pictures"], *scene["then"], "--json", tmp_path / "out.jsonl", "-o", str(tmp_path / "marked") + "/", *outputs, *QUICK)
    assert (run.returncode, without_notes(run.stderr)) == (0, "")
    assert f"note: --yolo {tmp_path}/labels: has only the boxes of the first network" in run.stderr
    boxes = [box for row in rows((tmp_path / "out.jsonl").read_text()) for box in row["detections"]]
    best = [box["then"]["top"][0] for box in boxes]
    with open(tmp_path / "out.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(row["then_label"], int(row["then_class"])) for row in table] == [(one["label"], one["class"]) for one in best]
    assert [float(row["then_probability"]) for row in table] == pytest.approx([one["probability"] for one in best], abs=1e-6)
    annotations = json.loads((tmp_path / "coco.json").read_text())["annotations"]
    assert [one["then"] for one in annotations] == [box["then"] for box in boxes]
    names = sorted(path.stem for path in (tmp_path / "crops").iterdir())
    assert sorted(name.split("_", 2)[2] for name in names) == sorted(f"{box['label']}_{one['label']}" for box, one in zip(boxes, best))
    assert len(list((tmp_path / "marked").iterdir())) == 3


def test_csv_without_boxes_has_the_columns(scene, tmp_path):
    blank = make_ppm(tmp_path / "blank.ppm", 64, 64, (90, 90, 90))
    succeed("run", DETECTOR, "-i", blank, *scene["then"], "--csv", tmp_path / "out.csv", "-q", *QUICK)
    assert (tmp_path / "out.csv").read_text().strip().endswith("bottom,then_class,then_label,then_probability")


def test_second_plan_and_report(scene, tmp_path):
    plan = tmp_path / "colors.plan"
    succeed("build", scene["then"][1], "-o", plan, "--range", "0,1", "--size", "8x8", "--labels", scene["folder"] / "labels.txt", "--task", "classify", *QUICK)
    report = tmp_path / "report.html"
    model = rows(succeed("run", DETECTOR, "-i", scene["clip"], *scene["then"], "--json", "-", *QUICK))
    text = succeed("run", DETECTOR, "-i", scene["clip"], "--then", plan, "--json", tmp_path / "a.jsonl", "--report", report, *QUICK)
    assert rows((tmp_path / "a.jsonl").read_text()) == model
    assert "then colors: " in text or "then small: " in text
    page = report.read_text()
    assert "second network" in page and "colors.plan" in page and '"then"' in page


def boxes_network(path):
    """Two boxes in pixels of the input, the same for every image."""
    nodes = [
        helper.make_node("ReduceMin", ["input"], ["least"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Mul", ["least", "nothing"], ["none"]),
        helper.make_node("Reshape", ["none", "cube"], ["zero"]),
        helper.make_node("Add", ["zero", "fixed"], ["output0"]),
    ]
    fixed = np.float32([[[0, 0, 4, 8, 0.9, 0], [2, 2, 6, 4, 0.6, 1]]])
    constants = {"nothing": np.float32(0), "fixed": fixed, "cube": np.int64([-1, 1, 1])}
    return save_model(path, nodes, {"input": [1, 3, 8, 8]}, {"output0": [1, 2, 6]}, constants, {"names": "{0: 'wheel', 1: 'door'}", "task": "detect", "stride": "4"})


def test_second_detector_boxes_are_in_picture_coordinates(scene, tmp_path):
    then = ["--then", boxes_network(tmp_path / "parts.onnx"), "--then-preset", "none", "--then-head", "yolo_v10"]
    marked = tmp_path / "marked.png"
    (row,) = rows(succeed("run", DETECTOR, "-i", scene["pictures"][0], *then, "--json", "-", "-o", marked, *QUICK))
    assert marked.stat().st_size > 1000
    for box in row["detections"]:
        left, top, right, bottom = (np.floor(box["box"][0]), np.floor(box["box"][1]), np.ceil(box["box"][2]), np.ceil(box["box"][3]))
        wheel, door = box["then"]["detections"]
        assert (wheel["label"], door["label"]) == ("wheel", "door")
        assert wheel["box"] == pytest.approx([left, top, (left + right) / 2, bottom], abs=1e-3)
        assert door["box"] == pytest.approx([left + (right - left) / 4, top + (bottom - top) / 4, left + (right - left) * 3 / 4, (top + bottom) / 2], abs=1e-3)
    text = succeed("run", DETECTOR, "-i", scene["pictures"][0], *then, "--then-score-threshold", "0.95", *QUICK)
    assert "(nothing found)" in text
    error = refuse("run", DETECTOR, "-i", scene["pictures"][0], *then, "--csv", tmp_path / "a.csv", *QUICK)
    assert error == f"--csv {tmp_path}/a.csv: cannot hold results of a second network of the task detect; --json can"
    assert not leftovers(tmp_path, "parts.onnx", "marked.png")


def test_second_network_with_image_output(scene, tmp_path):
    """A network whose output image is the negative of the box's region."""
    nodes = [helper.make_node("Sub", ["one", "input"], ["image"])]
    model = save_model(tmp_path / "negative.onnx", nodes, {"input": [1, 3, 8, 8]}, {"image": [1, 3, 8, 8]}, {"one": np.float32(1)}, {})
    then = ["--then", model, "--then-range", "0,1", "--then-task", "image", "--then-output-range", "0,1"]
    marked = tmp_path / "marked.png"
    (row,) = rows(succeed("run", DETECTOR, "-i", scene["pictures"][0], *then, "--json", "-", "-o", marked, *QUICK))
    assert all(box["then"] == {"image": {"width": 8, "height": 8}} for box in row["detections"])


def test_invalid_options_are_refused_before_anything_runs(scene, tmp_path):
    colors, picture, then = scene["then"][1], scene["pictures"][0], scene["then"]
    own = ["--range", "0,1", "--size", "8x8"]
    error = refuse("run", colors, "-i", picture, *then, *own, "--task", "classify", *QUICK)
    assert error == f"--then {colors}: the first network's task classify finds no boxes for the second to run on; expected detect, segment, pose or obb"
    error = refuse("run", DETECTOR, "-i", picture, "--then-labels", scene["folder"] / "labels.txt", *QUICK)
    assert error == "options that begin with --then- are for a second network; name it by --then MODEL"
    error = refuse("run", DETECTOR, "-i", picture, *then, "--then", colors, *QUICK)
    assert error == "--then: names one second network, 2 were given"
    error = refuse("run", DETECTOR, "-i", picture, *then, "--then-classes", "circl", *QUICK)
    assert error.startswith("--then-classes: class 'circl': not among the network's ") and "did you mean circle?" in error
    error = refuse("run", DETECTOR, "-i", picture, "--then", colors, *QUICK)
    assert error.startswith(f"--then {colors}: neither the command line nor the model declares the preprocessing of input") and "--then-preset" in error
    error = refuse("run", DETECTOR, "-i", picture, "--then", colors, "--then-range", "0,1", "--then-size", "7x7", *QUICK)
    assert error.startswith(f"--then {colors}: input input") and error.endswith("has height 8, 7 was declared")
    error = refuse("run", DETECTOR, "-i", picture, *then, "--then-pad", "300", *QUICK)
    assert "--then-pad '300': expected a pixel value, 0 to 255" in error
    error = refuse("run", DETECTOR, "-i", picture, *then, "--then-max-boxes", "0", *QUICK)
    assert "--then-max-boxes" in error
    error = refuse("run", DETECTOR, "-i", picture, "--then", tmp_path / "absent.onnx", *QUICK)
    assert "absent.onnx" in error
    error = refuse("run", DETECTOR, "-i", picture, *then, "--then-region", "8x8+0+0", *QUICK)
    assert "--then-region" in error


def test_outputs_do_not_overwrite_the_second_model(scene, tmp_path):
    model = color_classifier(tmp_path / "colors.png")
    error = refuse("run", DETECTOR, "-i", scene["pictures"][0], "--then", model, "--then-range", "0,1", "--then-size", "8x8", "-o", model, *QUICK)
    assert "--then" in error and "-o" in error and model.stat().st_size < 1000
