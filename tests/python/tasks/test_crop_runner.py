"""lanner.tasks.CropRunner: a second network on boxes."""

import threading

import numpy as np
import pytest

import lanner
from command import color_classifier
from task_models import ULTRALYTICS, constant_network, yolo

LABELS = ["red", "green", "blue"]


@pytest.fixture
def found(tmp_path):
    """An image of 32 x 16 with a dog and a cat."""
    pixels = np.full((16, 32, 3), 90, np.uint8)
    pixels[8:12, 20:24] = (250, 0, 0)
    pixels[6:10, 6:14] = (0, 0, 250)
    picture = lanner.Image.from_array(pixels)
    model = constant_network(tmp_path / "model.onnx", {"output0": yolo()}, metadata=ULTRALYTICS)
    engine = lanner.build(model, budget=0, threads=1, preprocess={"input": lanner.Preprocess(preset="none", fit="letterbox")})
    return picture, lanner.tasks.TaskReader(engine)(engine({"input": picture}), picture)


@pytest.fixture
def colors(tmp_path):
    spec = lanner.Preprocess(range=(0, 1), size=(8, 8))
    return lanner.build(color_classifier(tmp_path / "colors.onnx"), budget=0, threads=1, preprocess={"input": spec})


def test_each_box_has_a_result(found, colors):
    picture, detections = found
    assert detections.crops == []
    runner = lanner.tasks.CropRunner(colors, {"labels": LABELS})
    assert runner.reason.startswith("classify, 3 classes") and runner.task["labels"] == LABELS
    assert runner(picture, detections) is detections
    assert detections.names == ["dog", "cat"]
    assert [crop.names[0] for crop in detections.crops] == ["red", "blue"]
    assert all(isinstance(crop, lanner.tasks.Classification) for crop in detections.crops)
    assert [list(crop.region) for crop in detections.crops] == [[20, 8, 4, 4], [6, 6, 8, 4]]
    assert '"then":{"top":[{"label":"red"' in detections.to_json().replace(" ", "")
    marked = np.asarray(lanner.tasks.draw(picture, detections))
    assert marked.shape == (16, 32, 3) and (marked != np.asarray(picture)).any()


def test_inputs_with_defaults_are_not_required(found, tmp_path):
    import onnx
    from onnx import helper

    model = onnx.load(color_classifier(tmp_path / "colors.onnx"))
    weights = [helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in model.graph.initializer]
    pictures = list(model.graph.input)
    del model.graph.input[:]
    model.graph.input.extend([*weights, *pictures])
    onnx.save(model, tmp_path / "given.onnx")
    names = [weight.name for weight in weights]
    assert names, "the network has weights"
    spec = lanner.Preprocess(range=(0, 1), size=(8, 8))
    engine = lanner.build(tmp_path / "given.onnx", budget=0, threads=1, preprocess={"input": spec}, overridden=names)
    assert len(engine.inputs) > 1
    picture, detections = found
    runner = lanner.tasks.CropRunner(engine, {"labels": LABELS})
    assert [crop.names[0] for crop in runner(picture, detections).crops] == ["red", "blue"]


def test_classes_margin_and_max_boxes_apply(found, colors):
    picture, detections = found
    runner = lanner.tasks.CropRunner(colors, {"labels": LABELS}, classes=["cat"], margin=0.5)
    dog, cat = runner(picture, detections).crops
    assert dog.region is None and len(dog) == 0
    assert list(cat.region) == [2, 4, 16, 8]
    by_number = lanner.tasks.CropRunner(colors, {"labels": LABELS}, classes=[1], max_boxes=1, batch=1)
    assert [len(crop) for crop in by_number(picture, detections).crops] == [3, 0]


def test_invalid_options_are_refused(found, colors):
    picture, detections = found
    with pytest.raises(ValueError, match="class 'cta': not among the network's 2 classes; did you mean cat?"):
        lanner.tasks.CropRunner(colors, classes=["cta"])(picture, detections)
    with pytest.raises(ValueError, match="expected a list of labels and numbers, got one word"):
        lanner.tasks.CropRunner(colors, classes="cat")
    with pytest.raises(ValueError, match="margin -1"):
        lanner.tasks.CropRunner(colors, margin=-1)
    with pytest.raises(ValueError, match="max_boxes 0: expected 1 or more"):
        lanner.tasks.CropRunner(colors, max_boxes=0)
    runner = lanner.tasks.CropRunner(colors)
    with pytest.raises(ValueError, match="expected the image of the result, 32x16 pixels, got 8x8"):
        runner(lanner.Image.from_array(np.zeros((8, 8, 3), np.uint8)), detections)
    with pytest.raises((TypeError, ValueError), match="Detections"):
        runner(picture, runner(picture, detections).crops[0])


def test_threads_use_a_runner_each(found, colors):
    picture, detections = found
    alone = [crop.scores.numpy().tolist() for crop in lanner.tasks.CropRunner(colors)(picture, detections).crops]
    seen = []

    def work():
        runner = lanner.tasks.CropRunner(colors)
        for _ in range(20):
            seen.append([crop.scores.numpy().tolist() for crop in runner(picture, detections).crops])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80 and all(scores == alone for scores in seen)
