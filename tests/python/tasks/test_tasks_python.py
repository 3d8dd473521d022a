"""lanner.tasks: outputs of an engine as classes, boxes, masks, maps and images."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lanner
from task_models import ULTRALYTICS, constant_network, yolo

NONE = lanner.Preprocess(preset="none", fit="letterbox")


def engine_of(tmp_path, outputs, metadata=None):
    model = constant_network(tmp_path / "model.onnx", outputs, metadata=metadata)
    return lanner.build(model, budget=0, threads=1, preprocess={"input": NONE})


@pytest.fixture
def picture():
    """32 x 16, gray."""
    return lanner.Image.from_array(np.full((16, 32, 3), 90, np.uint8))


def test_detections_have_arrays_and_labels(tmp_path, picture):
    engine = engine_of(tmp_path, {"output0": yolo()}, ULTRALYTICS)
    reader = lanner.tasks.TaskReader(engine)
    assert reader.reason.startswith("detect, head yolo_v8, 2 classes, by the model's metadata")
    assert reader.task["labels"] == ["cat", "dog"] and reader.label(7) == "class 7"
    found = reader(engine({"input": picture}), picture)
    assert isinstance(found, lanner.tasks.Detections) and isinstance(found, lanner.tasks.Result)
    assert (len(found), found.task, found.size, found.names) == (2, "detect", [16, 32], ["dog", "cat"])
    np.testing.assert_array_equal(found.boxes.numpy(), [[20, 8, 24, 12], [6, 6, 14, 10]])
    np.testing.assert_array_equal(found.scores.numpy(), np.float32([0.875, 0.75]))
    np.testing.assert_array_equal(found.labels.numpy(), [1, 0])
    assert found.masks is None and found.keypoints is None and found.rotated is None
    assert repr(found) == "lanner.tasks.Detections(2: dog 0.88, cat 0.75)"
    assert [one["label"] for one in json.loads(found.to_json())["detections"]] == ["dog", "cat"]
    # Only the image's size matters, not its content.
    again = reader(engine({"input": picture}), (16, 32))
    np.testing.assert_array_equal(again.boxes.numpy(), found.boxes.numpy())


def test_given_fields_override_metadata(tmp_path, picture):
    engine = engine_of(tmp_path, {"output0": yolo()}, ULTRALYTICS)
    reader = lanner.tasks.TaskReader(engine, {"score_threshold": 0.8, "labels": ["a", "b"]}, NONE)
    assert reader(engine({"input": picture}), picture).names == ["b"]


def test_masks_are_in_picture_coordinates(tmp_path, picture):
    outputs = {"o": yolo(extra=[1]), "p": np.ones((1, 1, 16, 16), np.float32)}
    engine = engine_of(tmp_path, outputs, ULTRALYTICS | {"task": "segment"})
    found = lanner.tasks.TaskReader(engine)(engine({"input": picture}), picture)
    masks = found.masks.numpy()
    assert masks.shape == (2, 16, 32) and masks.sum() == 16 + 32
    assert masks[0, 8:12, 20:24].all()


def test_results_are_drawn_cropped_and_written(tmp_path, picture):
    engine = engine_of(tmp_path, {"output0": yolo()}, ULTRALYTICS)
    reader = lanner.tasks.TaskReader(engine)
    found = reader(engine({"input": picture}), picture)
    drawn = np.asarray(lanner.tasks.draw(picture, found))
    assert drawn.shape == (16, 32, 3) and (drawn != 90).any() and (np.asarray(picture) == 90).all()
    part = lanner.tasks.crop(picture, found, 1)
    assert (part.width, part.height) == (8, 4)
    with lanner.tasks.ResultWriter(tmp_path / "found.csv", "csv", reader) as writer:
        writer.write(found, "a.png")
        writer.write(found, "clip.mp4", frame=3, pts=0.5)
    assert len((tmp_path / "found.csv").read_text().splitlines()) == 5
    with pytest.raises(RuntimeError), lanner.tasks.ResultWriter(tmp_path / "not.csv", "csv", reader) as writer:
        raise RuntimeError
    assert not (tmp_path / "not.csv").exists()
    with pytest.raises(lanner.InvalidArgument, match="json, csv, coco or yolo"):
        lanner.tasks.ResultWriter(tmp_path / "x", "xml", reader)


def test_a_writer_takes_one_call_at_a_time(tmp_path, picture):
    engine = engine_of(tmp_path, {"output0": yolo()}, ULTRALYTICS)
    reader = lanner.tasks.TaskReader(engine)
    found = reader(engine({"input": picture}), picture)
    writer = lanner.tasks.ResultWriter(tmp_path / "found.csv", "csv", reader)

    def write(number):
        written = 0
        while written < 200:
            try:
                writer.write(found, f"{number}.png")
                written += 1
            except lanner.InvalidArgument as error:
                assert "ResultWriter is busy with another call" in str(error)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    writer.finish()
    with pytest.raises(lanner.InvalidArgument, match="ResultWriter: it is closed"):
        writer.write(found, "a.png")
    lines = (tmp_path / "found.csv").read_text().splitlines()
    assert len(lines) == 1 + 4 * 200 * 2 and len({line.count(",") for line in lines}) == 1


def test_other_kinds_have_their_result_types(tmp_path, picture):
    def answer(outputs, task=None):
        engine = engine_of(tmp_path, outputs)
        return lanner.tasks.TaskReader(engine, task)(engine({"input": picture}), picture)

    classes = answer({"o": np.float32([[0.25, 0.75]])})
    assert isinstance(classes, lanner.tasks.Classification)
    assert (classes.names, len(classes)) == (["class 1", "class 0"], 2)
    semantic = answer({"o": np.zeros((1, 5, 16, 16), np.float32)})
    assert isinstance(semantic, lanner.tasks.SemanticMap) and semantic.classes.shape == (16, 32)
    depth = answer({"o": np.full((1, 64, 64), 3, np.float32)}, "depth")
    assert isinstance(depth, lanner.tasks.DepthMap) and (depth.depth.numpy() == 3).all()
    made = answer({"o": np.full((1, 3, 64, 64), 128, np.float32)}, {"task": "image", "range": [0, 255]})
    assert isinstance(made, lanner.tasks.Picture) and (np.asarray(made.image) == 128).all()
    features = answer({"o": np.arange(4, dtype=np.float32)[None]}, "embed")
    assert isinstance(features, lanner.tasks.Embedding)
    np.testing.assert_array_equal(features.embedding.numpy(), [0, 1, 2, 3])
    with pytest.raises(lanner.InvalidArgument, match="embed"):
        lanner.tasks.draw(picture, features)


def test_unreadable_outputs_are_errors(tmp_path, picture):
    engine = engine_of(tmp_path, {"o": np.zeros((1, 3, 64, 64), np.float32)})
    with pytest.raises(lanner.InvalidArgument, match="semantic"):
        lanner.tasks.TaskReader(engine)
    with pytest.raises(lanner.Error, match="did you mean detect"):
        lanner.tasks.TaskReader(engine, "detct")
    with pytest.raises(lanner.InvalidArgument, match="the task none"):
        lanner.tasks.TaskReader(engine, "none")(engine({"input": picture}), picture)
    # There is no declared preprocessing.
    bare = lanner.build(constant_network(tmp_path / "bare.onnx", {"output0": yolo()}, metadata={}), budget=0, threads=1)
    with pytest.raises(lanner.InvalidArgument, match="preprocess="):
        lanner.tasks.TaskReader(bare, {"task": "detect", "head": "yolo_v8"})
    # Ultralytics' metadata declares it.
    known = lanner.build(constant_network(tmp_path / "known.onnx", {"output0": yolo()}, metadata=ULTRALYTICS), budget=0, threads=1)
    assert lanner.tasks.TaskReader(known).task["task"] == "detect"


def test_suppress_boxes_keeps_the_best():
    boxes = np.float32([[0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 10], [20, 0, 30, 10]])
    scores = np.float32([0.5, 0.75, 0.25, 0.1])
    assert lanner.tasks.suppress(boxes, scores, iou_threshold=0.5) == [1, 3]
    assert lanner.tasks.suppress(boxes, scores, np.int64([0, 0, 1, 1]), iou_threshold=0.5) == [1, 2, 3]
    assert lanner.tasks.suppress(boxes, scores, iou_threshold=0.5, max_kept=1) == [1]
