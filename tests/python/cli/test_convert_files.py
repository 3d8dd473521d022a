"""Files of a converted model besides its SavedModel: plan, ONNX, event files."""

import numpy as np
import onnx
import onnxruntime
import pytest
from record_files import brightest_channel

import lanner
from command import refuse, succeed

QUICK = ["--budget", "0", "--threads", "1"]
X = np.random.default_rng(0).random((5, 4, 4, 3)).astype(np.float32)


@pytest.fixture
def model(tmp_path):
    return brightest_channel(tmp_path / "model.pbtxt")


def answer():
    y = np.exp(2 * X.mean((1, 2)))
    return y / y.sum(1, keepdims=True)


def check_files(plan, network):
    np.testing.assert_allclose(np.asarray(lanner.load(plan)({"image": X})["probabilities"]), answer(), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(lanner.build(network, budget=0)({"image": X})["probabilities"]), answer(), rtol=1e-5)
    onnx.checker.check_model(onnx.load(network), full_check=True)
    (y,) = onnxruntime.InferenceSession(network).run(["probabilities"], {"image": X})
    np.testing.assert_allclose(y, answer(), rtol=1e-5)


def test_plan_and_onnx_of_the_command_give_its_answers(model, tmp_path):
    succeed("convert", model, "--min-segment", "1", "--plan", tmp_path / "m.plan", "--onnx", tmp_path / "m.onnx", *QUICK)
    check_files(tmp_path / "m.plan", tmp_path / "m.onnx")


def test_plan_and_onnx_in_python(model, tmp_path):
    made = lanner.tf.convert(model, minimum_segment_size=1, budget=0)
    made.save_plan(tmp_path / "m.plan")
    made.save_onnx(tmp_path / "m.onnx")
    check_files(tmp_path / "m.plan", tmp_path / "m.onnx")
    made.save(tmp_path / "saved")
    loaded = lanner.tf.load(tmp_path / "saved", budget=0)
    loaded.save_plan(tmp_path / "again.plan")
    loaded.save_onnx(tmp_path / "again.onnx")
    check_files(tmp_path / "again.plan", tmp_path / "again.onnx")
    with pytest.raises(lanner.Error, match="nowhere"):
        made.save_plan(tmp_path / "nowhere" / "m.plan")


def test_plan_of_a_model_in_parts_names_the_native_nodes(model, tmp_path):
    arguments = ["--min-segment", "1", "--deny-operator", "Softmax", "--onnx", tmp_path / "m.onnx", *QUICK]
    said = refuse("convert", model, "--plan", tmp_path / "m.plan", *arguments)
    assert said.endswith("nodes are native: probabilities (Softmax)") and not (tmp_path / "m.plan").exists()
    assert "and this one has 0" not in said and "is one engine" in said
    succeed("convert", model, *arguments)  # ONNX has no engines
    (y,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"image": X})
    np.testing.assert_allclose(y, answer(), rtol=1e-5)


def test_one_output_file_for_two_options_is_refused(model, tmp_path):
    assert "--onnx" in refuse("convert", model, "--plan", tmp_path / "m", "--onnx", tmp_path / "m", *QUICK)


def fields(message):
    """(number, value) of a protobuf message's fields."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        size = {0: None, 1: 8, 5: 4}.get(key & 7) if key & 7 != 2 else number()
        if size is None:
            yield key >> 3, number()
        else:
            yield key >> 3, message[at : at + size]
            at += size


def graph_nodes(folder):
    """(name, operator) of the nodes in the only event file of a folder."""
    (file,) = folder.iterdir()
    assert file.name.startswith("events.out.tfevents.")
    _, event = lanner.tf.records(file, raw=True)
    graph = dict(fields(event))[4]
    nodes = [dict(fields(node)) for number, node in fields(graph) if number == 1]
    return {node[1].decode(): node[2].decode() for node in nodes}


def test_event_files_have_the_graph_before_and_after(model, tmp_path):
    succeed("convert", model, "--min-segment", "1", "--deny-operator", "Softmax", "--events", tmp_path / "logs", *QUICK)
    before = {"image": "Placeholder", "axes": "Const", "mean": "Mean", "twice": "AddV2", "probabilities": "Softmax"}
    assert graph_nodes(tmp_path / "logs" / "before") == before
    after = graph_nodes(tmp_path / "logs" / "after")
    assert after == {"image": "Placeholder", "probabilities": "Softmax", "TRTEngineOp_000_000": "TRTEngineOp"}
    lanner.tf.convert(model, minimum_segment_size=-1, budget=0).write_events(tmp_path / "native")
    assert graph_nodes(tmp_path / "native" / "after") == before
