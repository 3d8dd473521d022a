"""Saved models inside TensorFlow: what lanner.tf and TF-TRT wrote, and public ones. Cases of inside_cases.py."""

import os

import engine_models as models
import keras
import numpy as np
import tensorflow as tf
from inside_support import (
    EARLIER,
    OPERATORS,
    SHARED,
    close,
    converted,
    keras_model,
    network,
    numbers,
    one_engine,
    raises,
    session_run,
    signature,
    small_network,
    statistics,
    v1,
)
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2

import lanner
from lanner import _tf_operators


def strip_defaults(folder):
    """As files that were written by a TensorFlow in which the attribute was not there."""
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for node in saved.meta_graphs[0].graph_def.node:
        if node.op == "TRTEngineOp" and not node.attr["segment_func"].func.name:
            del node.attr["segment_func"]
    path.write_bytes(saved.SerializeToString())


def run_form(form, folder):
    """One form of the releases' nodes, as a frozen graph and in SavedModels of both eras, in each way in which TensorFlow runs them."""
    concrete = models.frozen(network, [None, 8, 8, 3])
    graph, x = models.engine_graph(concrete, form), numbers(2, 8, 8, 3)
    expected = network(x)

    def check(got):
        for one, value in zip(got, expected, strict=True):
            close(one, value)

    check(session_run(graph, ["y0:0", "y1:0"], {"x0:0": x}))
    check(v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), []).prune("x0:0", ["y0:0", "y1:0"])(tf.constant(x)))
    models.save_of_first_era(graph, concrete, folder / "first")
    strip_defaults(folder / "first")
    models.save_of_last_era(graph, concrete, folder / "last", OPERATORS)
    for era in ("first", "last"):
        got = signature(folder / era)(x)
        check([got["y0"], got["y1"]])
        with tf.Graph().as_default(), v1.Session() as session:
            given = v1.saved_model.load(session, ["serve"], str(folder / era)).signature_def["serving_default"]
            check(session.run([given.outputs["y0"].name, given.outputs["y1"].name], {given.inputs["x0"].name: x}))
        direct = lanner.tf.load(folder / era, budget=0)({"x0": x})
        check([direct["y0"], direct["y1"]])
    engines = [entry for entry in lanner.tf.engine_statistics() if entry["id"] not in EARLIER]
    assert engines and all(entry["built"] == 1 and not entry["native_runs"] for entry in engines), engines


def case_tensorflows_own_engines_become_ours(folder):
    """As where TensorFlow has TRTEngineOp itself, which no package of these releases for CPUs has."""
    keras_model(folder / "keras", small_network, (16, 16, 3))
    converted(folder / "keras", folder / "converted")
    _tf_operators._others_engines = True
    try:
        call = signature(folder / "converted")
        graph, _ = one_engine()
        x = numbers(2, 8, 8, 3)
        expected = network(x)[0]
        close(session_run(graph, "y0:0", {"x0:0": x}), expected)
    finally:
        _tf_operators._others_engines = False
    assert {node.op for node in call.loaded.signatures["serving_default"].graph.as_graph_def().node} >= {"LannerEngineOp"}
    call(numbers(2, 16, 16, 3))


def case_plans_of_the_folder_are_used(folder):
    """The plan that lies in assets/ makes the engine, unless it is damaged or the model was written anew since."""
    x = numbers(2, 16, 16, 3)
    for kind in ("used", "damaged", "rewritten"):
        model = keras_model(folder / f"keras_{kind}", small_network, (16, 16, 3))
        made = lanner.tf.convert(folder / f"keras_{kind}", budget=0)
        made.build({made.inputs[0].name: x})
        made.save(folder / kind)
        (plan,) = (folder / kind / "assets").iterdir()
        if kind == "damaged":
            plan.write_bytes(plan.read_bytes()[:-100])
        call = signature(folder / kind)
        if kind == "rewritten":
            os.utime(folder / kind / "saved_model.pb", ns=(1, 1))
        (got,) = call(x).values()
        close(got, model(x, training=False))
        engine = max(statistics("TRTEngineOp_000_000"), key=lambda entry: entry["id"])
        assert engine["runs"] == 1 and not engine["native_runs"] and (engine["folder"] == str(folder / kind)) == (kind == "used"), engine
        assert engine["built"] == (kind != "used"), engine


def case_segments_that_stay_in_the_file(folder):
    """Of a graph of TensorFlow 1's form and of functions, for the engine and for TensorFlow."""
    concrete = models.frozen(network, [None, 8, 8, 3])
    graph, xs = models.engine_graph(concrete, "last_serialized"), [numbers(batch, 8, 8, 3) for batch in (4, 2)]
    for node in graph.node:
        if node.op == "TRTEngineOp":
            node.attr["input_shapes"].list.shape[0].dim[0].size = 4
    models.save_of_first_era(graph, concrete, folder / "first")
    models.save_of_last_era(graph, concrete, folder / "last", OPERATORS)
    lanner.tf.register(budget=0, segments_in_files=True)
    try:
        calls = [signature(folder / era) for era in ("first", "last")]
        gone = signature(folder / "first")
    finally:
        lanner.tf.register(budget=0)
    for call in calls:
        for x in xs:
            got = call(x)
            for name, value in zip(("y0", "y1"), network(x), strict=True):
                close(got[name], value)
    engines = statistics("TRTEngineOp_000_000")
    assert engines and all(engine["segment_bytes"] == 0 and engine["runs"] and engine["native_runs"] for engine in engines), engines
    for node in calls[0].loaded.graph.as_graph_def().node:
        assert len(node.attr["serialized_segment"].s) == 0
    os.utime(folder / "first" / "saved_model.pb", ns=(1, 1))
    raises(lambda: gone(xs[0]), "TRTEngineOp_000_000", "was changed or moved", str(folder / "first"))


def case_a_keras_layer(folder):
    if not hasattr(keras.layers, "TFSMLayer"):
        return  # Keras 2
    model = keras_model(folder / "keras", small_network, (16, 16, 3))
    converted(folder / "keras", folder / "converted")
    layer = keras.layers.TFSMLayer(str(folder / "converted"), call_endpoint="serving_default")
    x = numbers(2, 16, 16, 3)
    (got,) = layer(tf.constant(x)).values()
    close(got, model(x, training=False))


def case_a_graph_of_tensorflow_1(folder):
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        x = v1.placeholder(tf.float32, [None, 6], name="x")
        y = tf.identity(tf.nn.relu(tf.matmul(x, tf.constant(numbers(6, 4)))) + 1, name="y")
        given = numbers(5, 6)
        expected = session.run(y, {x: given})
        (folder / "frozen.pb").write_bytes(made.as_graph_def().SerializeToString())
    converted(folder / "frozen.pb", folder / "converted")
    with tf.Graph().as_default(), v1.Session() as session:
        given_names = v1.saved_model.load(session, ["serve"], str(folder / "converted")).signature_def["serving_default"]
        (x,), (y,) = given_names.inputs.values(), given_names.outputs.values()
        close(session.run(y.name, {x.name: given}), expected)


def compare_shared(path, folder, given, atol=1e-5, **options):
    """The same model by TensorFlow, converted inside TensorFlow, and without it."""
    model = converted(path, folder / "converted", **options)
    direct = model(given)
    got = signature(folder / "converted")(*[given[name] for name in sorted(given)])
    assert sorted(got) == sorted(direct)
    for name, value in direct.items():
        close(got[name], value, atol=atol)
    return got


def case_shared_regression(folder):
    if not SHARED.is_dir():
        return
    x = np.array([1, 2.5, -3], np.float32)
    root = SHARED / "tf" / "regression"
    answers = []
    for i, (path, outputs) in enumerate(((root / "saved_model", []), (root / "checkpoint" / "model.meta", ["pred"]), (root / "graphdef" / "frozen.pb", []))):
        (folder / str(i)).mkdir()
        name = lanner.tf.convert(path, budget=0, outputs=outputs).inputs[0].name
        (value,) = compare_shared(path, folder / str(i), {name: x}, outputs=outputs).values()
        answers.append(value)
    close(answers[1], answers[0])
    close(answers[2], answers[0])


def case_shared_frozen_graphs(folder):
    for path in sorted((SHARED / "tf").glob("*.pb")):
        graph = graph_pb2.GraphDef.FromString(path.read_bytes())
        model = lanner.tf.convert(path, budget=0)
        values = {"X": numbers(2, 784), "keep_prob": np.float32(1)}
        given = {binding.name: values[binding.name] for binding in model.inputs}
        feeds = {name + ":0": value for name, value in given.items()}
        expected = session_run(graph, [output.name + ":0" if ":" not in output.name else output.name for output in model.outputs], feeds)
        (folder / path.stem).mkdir()
        got = compare_shared(path, folder / path.stem, given)
        for output, value in zip(model.outputs, expected, strict=True):
            close(got[output.name], value, atol=1e-4)


def case_shared_basic_pitch(folder):
    if not SHARED.is_dir():
        return
    x = np.random.default_rng(0).normal(0, 0.1, (2, 43844, 1)).astype(np.float32)
    source = SHARED / "basic_pitch" / "saved_model"
    got = compare_shared(source, folder, {"input_2": x}, atol=1e-4)
    with tf.Graph().as_default(), v1.Session() as session:  # its optimizer is one that tf.saved_model.load does not find
        given = v1.saved_model.load(session, ["serve"], str(source)).signature_def["serving_default"]
        expected = session.run({name: output.name for name, output in given.outputs.items()}, {given.inputs["input_2"].name: x})
    for name, value in expected.items():
        close(got[name], value, atol=2e-4)



for _form in models.FORMS:
    globals()[f"case_form_{_form}"] = lambda folder, form=_form: run_form(form, folder)
