"""lanner run on networks of several families: the meaning of their outputs, and the results."""

import json

import numpy as np
import pytest

from command import lanner, leftovers, make_clip, make_ppm, refuse, succeed
from task_models import ULTRALYTICS, constant_network, yolo

QUICK = ["--budget", "0", "--threads", "1"]


def run(model, picture, *options):
    (line,) = succeed("run", model, "-i", picture, "--preset", "none", "--json", "-", *options, *QUICK).splitlines()
    return json.loads(line)


def reason(model, picture, *options):
    result = lanner("run", model, "-i", picture, "--preset", "none", *options, *QUICK)
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith("lanner: note: task ") and result.stderr.count("\n") == 1
    return result.stderr.removeprefix("lanner: note: task ").rstrip("\n")


@pytest.fixture
def picture(tmp_path):
    return make_ppm(tmp_path / "picture.ppm", 32, 16)


def test_yolo_with_metadata_needs_no_flags(tmp_path, picture):
    model = constant_network(tmp_path / "yolo.onnx", {"output0": yolo()}, metadata=ULTRALYTICS)
    assert reason(model, picture) == "detect, head yolo_v8, 2 classes, by the model's metadata (names, task) and the outputs' shapes"
    found = run(model, picture, "--fit", "letterbox")["detections"]
    # The image of 32 x 16 is at 0, 16 of the input, twice as large.
    assert found == [
        {"label": "dog", "class": 1, "score": 0.875, "box": [20, 8, 24, 12]},
        {"label": "cat", "class": 0, "score": 0.75, "box": [6, 6, 14, 10]},
    ]
    stretched = run(model, picture, "--iou-threshold", "1")["detections"]
    assert [one["box"] for one in stretched] == [[20, 8, 24, 10], [6, 7, 14, 9], [6.5, 7, 14.5, 9]]
    assert run(model, picture, "--score-threshold", "0.8", "--fit", "letterbox")["detections"] == found[:1]
    words = succeed("run", model, "-i", picture, "--preset", "none", "--fit", "letterbox", *QUICK)
    assert words.splitlines()[1:] == ["  dog 0.88 [20 8 24 12]", "  cat 0.75 [6 6 14 10]"]


def test_quiet_prints_no_notes(tmp_path, picture):
    model = constant_network(tmp_path / "yolo.onnx", {"output0": yolo()}, metadata=ULTRALYTICS)
    assert lanner("run", model, "-i", picture, "--preset", "none", "-q", *QUICK).stderr == ""


def test_annotated_pictures_and_clips(tmp_path, picture):
    model = constant_network(tmp_path / "yolo.onnx", {"output0": yolo()}, metadata=ULTRALYTICS)
    succeed("run", model, "-i", picture, make_clip(tmp_path, frames=3), "-o", f"{tmp_path}/marked/", "--preset", "none", *QUICK)
    assert leftovers(tmp_path / "marked") == ["clip.mp4", "picture.png"]


def test_pose_prints_key_points(tmp_path, picture):
    metadata = ULTRALYTICS | {"task": "pose", "kpt_shape": "[2, 3]"}
    model = constant_network(tmp_path / "pose.onnx", {"o": yolo(extra=[20, 32, 0.5, 24, 36, 0.25])}, metadata=metadata)
    best = run(model, picture, "--fit", "letterbox")["detections"][0]
    assert best["keypoints"] == [[10, 8, 0.5], [12, 10, 0.25]]


def area(mask):
    """Pixels of a mask in COCO's packed run lengths: numbers of five bits a character, differences from the third on."""
    runs, at, text = [], 0, mask["counts"].encode()
    while at < len(text):
        value, shift, more = 0, 0, True
        while more:
            five = text[at] - 48
            value |= (five & 31) << shift
            more, shift, at = bool(five & 32), shift + 5, at + 1
            if not more and five & 16:
                value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
    assert sum(runs) == mask["size"][0] * mask["size"][1]
    return sum(runs[1::2])


def test_segments_and_rotated_boxes(tmp_path, picture):
    prototypes = np.ones((1, 1, 16, 16), np.float32)
    model = constant_network(tmp_path / "segment.onnx", {"o": yolo(extra=[1]), "p": prototypes}, metadata=ULTRALYTICS | {"task": "segment"})
    assert [area(one["mask"]) for one in run(model, picture, "--fit", "letterbox")["detections"]] == [4 * 4, 8 * 4]
    model = constant_network(tmp_path / "turned.onnx", {"o": yolo(extra=[0.5])}, metadata=ULTRALYTICS | {"task": "obb"})
    assert run(model, picture, "--fit", "letterbox")["detections"][0]["rotated"] == [22, 10, 4, 4, 0.5]


def test_box_flags_decide_between_readings(tmp_path, picture):
    boxes = np.array([[[0.25, 0.5, 0.5, 0.25]]], np.float32)
    model = constant_network(tmp_path / "m.onnx", {"a": boxes, "b": np.array([[[0.1, 0.9]]], np.float32)})
    said = refuse("run", model, "-i", picture, "--preset", "none", *QUICK)
    assert "boxes_scores (2 classes)" in said and "detr (1 class)" in said and "rt_detr (2 classes)" in said
    assert "box_form" in refuse("run", model, "-i", picture, "--preset", "none", "--head", "boxes_scores", *QUICK)
    options = ["--head", "boxes_scores", "--box-form", "cxcywh", "--boxes", "normalised"]
    assert run(model, picture, *options)["detections"] == [{"label": "class 1", "class": 1, "score": pytest.approx(0.9), "box": [0, 6, 16, 10]}]
    by_json = run(model, picture, "--task-json", '{"head": "boxes_scores", "box_form": "xywh", "box_normalised": true}')
    assert by_json["detections"][0]["box"] == [8, 8, 24, 12]
    (tmp_path / "task.json").write_text('{"head": "boxes_scores", "box_form": "xywh", "box_normalised": true, "labels": ["a", "b"]}\n')
    over = run(model, picture, "--task-json", tmp_path / "task.json", "--box-form", "cxcywh")
    assert (over["detections"][0]["box"], over["detections"][0]["label"]) == ([0, 6, 16, 10], "b")


def test_anchors_come_from_a_file(tmp_path, picture):
    offsets, logits = np.zeros((1, 2, 4), np.float32), np.array([[[5, 0], [0, 5]]], np.float32)
    model = constant_network(tmp_path / "ssd.onnx", {"boxes_out": offsets, "logits": logits})
    options = ["--head", "ssd"]
    assert "anchors are missing" in refuse("run", model, "-i", picture, "--preset", "none", *options, *QUICK)
    (tmp_path / "anchors.txt").write_text("[[0, 0, 8, 8],\n [16, 16, 48, 32]]\n")
    found = run(model, picture, *options, "--anchors", tmp_path / "anchors.txt")["detections"]
    assert [one["box"] for one in found] == [[8, 4, 24, 8]]
    assert "is no number" in refuse("run", model, "-i", picture, "--preset", "none", *options, "--anchors", "1,x", *QUICK)


def test_torchvision_lists(tmp_path, picture):
    outputs = {
        "boxes": np.array([[0, 0, 32, 32], [16, 16, 48, 48]], np.float32),
        "labels": np.array([2, 1], np.int64),
        "scores": np.array([0.5, 0.75], np.float32),
    }
    model = constant_network(tmp_path / "lists.onnx", outputs)
    (tmp_path / "labels.txt").write_text("__background__\ncat\ndog\n")
    assert [one["label"] for one in run(model, picture)["detections"]] == ["class 0", "class 1"]
    named = run(model, picture, "--labels", tmp_path / "labels.txt")["detections"]
    assert [one["label"] for one in named] == ["cat", "dog"]


def test_classes_of_pixels_depths_and_features(tmp_path, picture):
    scores = np.zeros((1, 5, 16, 16), np.float32)
    scores[0, 2], scores[0, 4, :, 8:] = 1, 2
    model = constant_network(tmp_path / "semantic.onnx", {"out": scores})
    areas = run(model, picture)["classes"]
    assert [(one["class"], one["share"]) for one in areas] == [(2, 0.5), (4, 0.5)]
    depth = constant_network(tmp_path / "depth.onnx", {"predicted_depth": np.full((1, 64, 64), 3, np.float32)})
    assert run(depth, picture)["depth"] == {"min": 3, "max": 3, "mean": 3, "not_finite": 0}
    features = constant_network(tmp_path / "features.onnx", {"o": np.arange(4, dtype=np.float32).reshape(1, 4)})
    assert run(features, picture, "--task", "embed")["embedding"] == [0, 1, 2, 3]


def test_image_or_semantic_output_is_ambiguous(tmp_path, picture):
    model = constant_network(tmp_path / "m.onnx", {"o": np.zeros((1, 3, 64, 64), np.float32)})
    said = refuse("run", model, "-i", picture, "--preset", "none", *QUICK)
    assert "image" in said and "semantic (3 classes)" in said and "task none" in said
    assert run(model, picture, "--task", "image")["image"] == {"width": 64, "height": 64}
    assert "black and white as the input's" in reason(model, picture, "--task", "image")
    assert "give range" in refuse("run", model, "-i", picture, "--preset", "imagenet", "--task", "image", *QUICK)


def test_nothing_to_draw_is_an_error_before_anything_runs(tmp_path, picture):
    model = constant_network(tmp_path / "m.onnx", {"o": np.zeros((1, 4), np.float32)})
    for task in ("none", "embed"):
        said = refuse("run", model, "-i", picture, "--preset", "none", "--task", task, "-o", tmp_path / "out.png", *QUICK)
        assert f"task {task} has nothing to draw" in said
    assert not (tmp_path / "out.png").exists()


def test_a_plan_keeps_its_task(tmp_path, picture):
    model, plan = constant_network(tmp_path / "m.onnx", {"o": yolo()}), tmp_path / "m.plan"
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    succeed("build", model, "-o", plan, "--preset", "none", "--head", "yolo_v8", "--task", "detect", "--labels", tmp_path / "labels.txt", "--score-threshold", "0.8", *QUICK)
    (line,) = succeed("run", plan, "-i", picture, "--json", "-", "--threads", "1").splitlines()
    assert [(one["label"], one["score"]) for one in json.loads(line)["detections"]] == [("dog", 0.875)]
    assert "lanner.task" in lanner("run", plan, "-i", picture, "--threads", "1").stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "detct"], "did you mean detect?"),
        (["--head", "yolo"], "expected one of"),
        (["--task-json", '{"hed": 1}'], "did you mean head?"),
        (["--task-json", "{"], "--task-json"),
        (["--keypoints", "many"], "17x2"),
        (["--boxes", "inches"], "normalised or pixels"),
        (["--output-range", "1"], "two numbers"),
        (["--output-range", "0,1"], "range does not apply"),
        (["--anchors", "1,2,3,4"], "anchors does not apply"),
        (["--task", "segment"], "expected"),
        (["--head", "centernet"], "heatmap [N, C, H, W]"),
        (["--task", "pose", "--head", "yolo_v8", "--keypoints", "9"], "expected"),
    ],
)
def test_invalid_task_options_are_refused(tmp_path, picture, options, said):
    model = constant_network(tmp_path / "m.onnx", {"o": yolo()}, metadata=ULTRALYTICS)
    assert said in refuse("run", model, "-i", picture, "--preset", "none", *options, *QUICK)


def test_malformed_metadata_is_an_error_with_the_key(tmp_path, picture):
    for names in ("{0: 'a'", "{0: 'a', 5: 'b'}", "[" * 1000):
        model = constant_network(tmp_path / "m.onnx", {"o": yolo()}, metadata=ULTRALYTICS | {"names": names})
        result = lanner("run", model, "-i", picture, "--preset", "none", *QUICK)
        assert result.returncode != 0 and "metadata names" in result.stderr, result.stderr


def test_nan_scores_are_an_error(tmp_path, picture):
    output = yolo()
    output[0, 4, 9] = np.nan
    model = constant_network(tmp_path / "m.onnx", {"o": output}, metadata=ULTRALYTICS)
    result = lanner("run", model, "-i", picture, "--preset", "none", *QUICK)
    assert result.returncode != 0 and "not finite" in result.stderr


def test_declared_size_decides_where_the_models_is_open(tmp_path, picture):
    """64 x 64 pixels have 84 cells, so the 105 are box and classes; without a size either could be cells."""
    model = constant_network(tmp_path / "open.onnx", {"output0": np.zeros((1, 84, 105), np.float32)}, size=("W", "H"))
    assert reason(model, picture, "--size", "64x64").startswith("detect, head yolo_v8, 101 classes")
