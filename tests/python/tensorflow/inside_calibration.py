"""Cases of INT8 calibration of models with nodes that only TensorFlow runs."""

import tempfile
from pathlib import Path

import calibration_models as models
import inside_support as support
import numpy as np
import tensorflow as tf
from inside_foreign import Recommender
from inside_support import raises, signature
from tensorflow.core.protobuf import saved_model_pb2

import lanner


def tables(folder):
    """The table of each engine of a converted model."""
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((folder / "saved_model.pb").read_bytes())
    nodes = [node for node in saved.meta_graphs[0].graph_def.node if node.op == "TRTEngineOp"]
    assert all(node.attr["precision_mode"].s == b"INT8" for node in nodes), nodes
    return {node.name: node.attr["calibration_data"].s.decode() for node in nodes}


def ranges(folder):
    """By engine and value."""
    return {(engine, name): range_ for engine, text in tables(folder).items() for name, range_ in lanner.CalibrationTable.parse(text).ranges.items()}


def converted(module, folder, batches, name="converted", **options):
    if not (folder / "original").exists():
        models.save(module, folder / "original")
    return support.converted(folder / "original", folder / name, precision="int8", calibration_data=batches, **options)


def signal_to_noise(got, expected):
    return 10 * np.log10(np.sum(np.square(expected)) / np.sum(np.square(got - expected)))


def case_engines_around_a_native_node_are_calibrated(folder):
    model = converted(models.Mixed(models.by_text), folder, models.data())
    assert "StringToNumber" in model.needs_tensorflow and len(tables(folder / "converted")) == 2
    assert {path.name for path in (folder / "converted" / "assets").iterdir()} == {f"trt-serialized-engine.{name}" for name in tables(folder / "converted")}
    original, made = signature(folder / "original"), signature(folder / "converted")
    got, expected = (np.stack([model(batch["x"])["y"] for batch in models.data(seed=2)]) for model in (made, original))
    assert not np.array_equal(got, expected), "nothing was computed in INT8"
    assert signal_to_noise(got, expected) > 17, signal_to_noise(got, expected)  # of two engines, 20 each
    engines = [entry for entry in lanner.tf.engine_statistics() if entry["id"] not in support.EARLIER]
    assert len(engines) == 2 and not any(entry["native_runs"] for entry in engines), engines


def case_the_table_alone_gives_int8(folder):
    converted(models.Mixed(models.by_text), folder, models.data()).save(folder / "without", engines=False)
    got, expected = (signature(folder / name)(models.data()[0]["x"])["y"] for name in ("without", "original"))
    assert not (folder / "without" / "assets").exists()
    assert not np.array_equal(got, expected) and signal_to_noise(got, expected) > 20


def case_the_table_is_that_of_a_model_without_native_nodes(folder):
    converted(models.Mixed(models.by_text), folder / "text", models.data())
    model = converted(models.Mixed(models.by_itself), folder / "own", models.data(), denied_operators=["Identity"])
    assert model.needs_tensorflow == ""
    got, expected = ranges(folder / "text" / "converted"), ranges(folder / "own" / "converted")
    assert set(got) == set(expected) and len(got) == 4, (set(got), set(expected))
    for name, range_ in expected.items():
        ends = np.array([[each.least, each.most, each.threshold] for each in (got[name], range_)])
        np.testing.assert_allclose(*ends, rtol=0.01, err_msg=str(name))


def case_the_order_of_batches_changes_nothing(folder):
    converted(models.Mixed(models.by_text), folder, models.data(), "forwards")
    converted(None, folder, iter(models.data()[::-1]), "backwards")
    assert tables(folder / "forwards") == tables(folder / "backwards")


class Sum(tf.Module):
    """A variable that each run adds to, before a product."""

    def __init__(self):
        super().__init__()
        self.sum, self.weights = tf.Variable(0.0), tf.Variable(np.ones([4, 4], np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def serve(self, x):
        self.sum.assign_add(tf.reduce_max(x))
        return {"y": tf.nn.relu(tf.matmul(x + self.sum, self.weights))}


def case_variables_change_from_batch_to_batch(folder):
    batches = [{"x": np.full([2, 4], value, np.float32)} for value in (1, 2, 4)]
    converted(Sum(), folder, batches)
    (range_,) = ranges(folder / "converted").values()
    assert abs(range_.least - 2) < 0.01 and abs(range_.most - 11) < 0.01, range_
    np.testing.assert_allclose(signature(folder / "converted")(batches[0]["x"])["y"], 8, rtol=0.02)  # its own sum is 0 again


def case_text_is_calibration_data_too(folder):
    batches = [{"user": np.array(["a", "z", "c"], object), "colour": np.array(["blue", "red", "pink"], object)} for _ in range(2)]
    model = converted(Recommender(folder), folder, batches)
    assert "HashTableV2" in model.needs_tensorflow and ranges(folder / "converted")

    def scores(name):
        model = signature(folder / name)
        # Each loaded signature has an order of its own.
        names = model.loaded.signatures["serving_default"].structured_input_signature[1]
        return model(*(batches[0][name] for name in names))["scores"]

    np.testing.assert_allclose(scores("converted"), scores("original"), atol=0.05)


class Late(tf.Module):
    """An engine that reads the model's input alone, before a native node."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def serve(self, x):
        return {"y": tf.math.lgamma(tf.nn.relu(tf.matmul(x, tf.eye(4) * 2 + 1)) + 1.5)}


def case_an_engine_that_reads_inputs_alone(folder):
    batches = [{"x": support.numbers(3, 4)} for _ in range(2)]
    converted(Late(), folder, batches)
    (range_,) = ranges(folder / "converted").values()
    assert range_.most == max(batch["x"].max() for batch in batches)


def case_a_calibration_that_fails_says_where(folder):
    def left():
        return sorted(path.name for path in Path(tempfile.gettempdir()).glob("lanner-calibration-*"))

    before = left()
    good, module = models.data(2), models.Mixed(models.by_text)
    for bad, parts in (
        ({"x": np.zeros([4, 8, 8, 2], np.float32)}, ("batch 2", "TensorFlow cannot run it")),
        ({"y": good[0]["x"]}, ("batch 2", "input x: no value was given")),
        ({**good[0], "y": good[0]["x"]}, ("batch 2", "the model has no input 'y'")),
    ):
        error = raises(lambda bad=bad: converted(module, folder, [*good, bad]), *parts)
        assert isinstance(error, lanner.InvalidArgument) and "\n" not in str(error), error
    raises(lambda: converted(module, folder, []), "no batch")

    def broken():
        yield good[0]
        raise KeyError("the user's own error")

    raises(lambda: converted(module, folder, broken()), "the user's own error")
    assert left() == before
    assert not (folder / "converted").exists()
