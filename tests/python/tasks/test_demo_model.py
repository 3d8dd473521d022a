import json
import pathlib
import sys

import numpy as np
import onnx
import pytest

DEMO = pathlib.Path(__file__).parents[3] / "demo"
sys.path.insert(0, str(DEMO))
from detections import HEIGHT, IOU_THRESHOLD, SCORE_THRESHOLD, WIDTH, resize, to_detections
from shapes import HELD_OUT_SEEDS, LABELS, TRAIN_SEEDS

MODEL = DEMO / "shapes.onnx"


@pytest.fixture(scope="module")
def record():
    return json.loads((DEMO / "shapes.json").read_text())


def test_model_is_small_and_valid(record):
    assert MODEL.stat().st_size < 300_000
    assert MODEL.stat().st_size == record["bytes"]
    onnx.checker.check_model(str(MODEL), full_check=True)


def test_model_has_named_inputs_and_outputs():
    model = onnx.load(MODEL)
    dims = {
        v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*model.graph.input, *model.graph.output)
    }
    cells = (HEIGHT // 8) * (WIDTH // 8)
    assert dims == {
        "input": ["N", 3, HEIGHT, WIDTH],
        "boxes": ["N", cells, 4],
        "scores": ["N", cells, len(LABELS)],
    }
    declared = {p.key: p.value for p in model.metadata_props}
    assert declared["lanner.task"] == "detect"
    assert declared["lanner.labels"].split("\n") == list(LABELS)
    assert declared["lanner.boxes"] == "xyxy-normalised"
    assert float(declared["lanner.score_threshold"]) == SCORE_THRESHOLD
    assert float(declared["lanner.iou_threshold"]) == IOU_THRESHOLD
    assert json.loads(declared["lanner.preprocess"])["range"] == [0, 1]


def test_model_has_unfused_nodes_for_the_engine_to_fuse():
    kinds = {node.op_type for node in onnx.load(MODEL).graph.node}
    assert {"Conv", "BatchNormalization", "Relu", "Add"} <= kinds


def test_stated_accuracy_is_sufficient_and_of_other_seeds(record):
    trained, held_out = record["training"]["clip_seeds"], record["held_out"]["clip_seeds"]
    assert trained[0] >= TRAIN_SEEDS[0] and trained[1] <= TRAIN_SEEDS[-1]
    assert held_out == [HELD_OUT_SEEDS[0], HELD_OUT_SEEDS[-1]]
    for kind in ("drawn", "h264"):
        assert record["held_out"][kind]["mean_iou"] >= 0.85
        assert record["held_out"][kind]["class_accuracy"] >= 0.97


def test_onnxruntime_reaches_the_stated_accuracy(record):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from accuracy import measure_drawn

    stated, reached = record["held_out"]["drawn"], measure_drawn(MODEL, clips=25)
    for name in ("mean_iou", "class_accuracy", "recall", "precision"):
        assert reached[name] >= stated[name] - 0.03, name


def test_resize_keeps_a_ramp():
    ramp = np.repeat(np.arange(100, dtype=np.uint8)[None, :, None], 8, axis=0).repeat(3, axis=2)
    small = resize(ramp, width=50, height=4)
    assert np.allclose(small[0, :, 0], np.arange(50) * 2 + 0.5)


def test_each_shape_has_one_answer_above_the_threshold():
    boxes = np.array(
        [[0.1, 0.1, 0.3, 0.3], [0.11, 0.1, 0.3, 0.3], [0.6, 0.6, 0.8, 0.9], [0.0, 0.6, 0.2, 0.9]]
    )
    scores = np.full((4, len(LABELS)), 0.01)
    scores[0, 2], scores[1, 2], scores[2, 1], scores[3, 0] = 0.7, 0.9, 0.8, SCORE_THRESHOLD - 0.01
    found = to_detections(boxes, scores, 640, 360)
    assert [(f["label"], f["score"]) for f in found] == [("triangle", 0.9), ("square", 0.8)]
    assert found[1]["box"] == pytest.approx([384, 216, 512, 324])
