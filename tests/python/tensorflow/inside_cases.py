"""Converted models inside TensorFlow: run by test_inside_tensorflow.py in a Python with TensorFlow, where lanner can be imported too.

    python inside_cases.py FOLDER SHARED

Each case is a function `case_NAME(folder)`; FOLDER/results.json has what each raised, as text, or null. SHARED is ../shared/data/models, or does not exist.
"""

import gc
import json
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
import engine_models as models  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.core.framework import graph_pb2  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

import lanner  # noqa: E402
from lanner import _tf_operators  # noqa: E402

v1 = tf.compat.v1
RANDOM = np.random.default_rng(0)
SHARED = Path(sys.argv[2])


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


FILTER, MATRIX, BIAS = tf.Variable(numbers(3, 3, 3, 4)), tf.Variable(numbers(4, 5)), tf.Variable(numbers(5))


def network(x):
    """A picture's features and a softmax of their means."""
    features = tf.nn.relu(tf.nn.conv2d(x, FILTER, 1, "SAME"))
    return [tf.nn.softmax(tf.reduce_mean(features, [1, 2]) @ MATRIX + BIAS), features]


def close(got, expected, atol=1e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-5, atol=atol)


def raises(call, *parts):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - TensorFlow's classes differ from way to way
        for part in parts:
            assert part in str(error), (part, str(error)[:2000])
        return error
    raise AssertionError(f"nothing was raised, expected {parts}")


EARLIER = set()  # engines of earlier cases, which TensorFlow may keep


def statistics(name):
    """Of the engines of this name that the case made."""
    return [entry for entry in lanner.tf.engine_statistics() if entry["name"] == name and entry["id"] not in EARLIER]


def session_run(graph, fetches, feeds, config=None, **options):
    with tf.Graph().as_default() as made, v1.Session(graph=made, config=config) as session:
        tf.import_graph_def(graph, name="")
        return session.run(fetches, feeds, **options)


def signature(folder):
    """A callable that takes one array or several and gives the outputs by name. It keeps the model alive."""
    loaded = tf.saved_model.load(str(folder))
    function = loaded.signatures["serving_default"]
    names = list(function.structured_input_signature[1])

    def call(*arrays):
        return {name: value.numpy() for name, value in function(**dict(zip(names, map(tf.constant, arrays), strict=True))).items()}

    call.loaded = loaded
    return call


def converted(source, folder, **options):
    model = lanner.tf.convert(source, budget=0, minimum_segment_size=1, **options)
    model.save(folder)
    return model


def keras_model(folder, layers, shape):
    inputs = keras.Input(shape)
    model = keras.Model(inputs, layers(inputs))
    (model.export if hasattr(model, "export") else lambda path: tf.saved_model.save(model, path))(str(folder))
    return model


def small_network(x):
    for width in (8, 12):
        y = keras.layers.Conv2D(width, 3, padding="same", strides=2)(x)
        x = keras.layers.ReLU()(keras.layers.BatchNormalization()(y))
    return keras.layers.Dense(5, activation="softmax")(keras.layers.GlobalAveragePooling2D()(x))


def one_engine(**attributes):
    """A graph of `network` as one engine, and its concrete function."""
    concrete = models.frozen(network, [None, 8, 8, 3])
    graph = models.engine_graph(concrete, "last_serialized")
    (node,) = [node for node in graph.node if node.op == "TRTEngineOp"]
    for key, value in attributes.items():
        if key == "op":
            node.op = value
        else:
            setattr(node.attr[key], {bytes: "s", bool: "b"}[type(value)], value)
    return graph, node


def case_register_can_be_called_again(folder):
    assert lanner.tf.register(budget=0) == lanner.tf.register(budget=0) == tf.__version__
    raises(lambda: lanner.tf.register(threads=-1), "threads -1")
    raises(lambda: lanner.tf.register(budget=-1), "budget -1")


def case_a_convolutional_network_at_each_batch(folder):
    model = keras_model(folder / "keras", small_network, (16, 16, 3))
    converted(folder / "keras", folder / "converted")
    call = signature(folder / "converted")
    x = numbers(8, 16, 16, 3)
    for batch in (3, 1, 2, 4, 5, 6, 7, 8, 3):
        (got,) = call(x[:batch]).values()
        close(got, model(x[:batch], training=False))
    (engine,) = statistics("TRTEngineOp_000_000")
    assert engine["runs"] == 9 and engine["native_runs"] == 0 and engine["contexts"] == 1, engine
    assert engine["built"] == 6 and engine["hits"] == 3 and engine["maximum"] == 16, engine  # for 3, then 4 to 8; 1, 2 and 3 by that for 3
    assert [entry["shapes"]["TensorRTInputPH_0"][2][0] for entry in engine["cached"]][:3] == [3, 8, 7], engine


def case_a_dense_network_in_a_function_of_the_users(folder):
    layers = lambda x: keras.layers.Dense(3)(keras.layers.Dense(20, activation="gelu")(x))  # noqa: E731
    model = keras_model(folder / "keras", layers, (7,))
    converted(folder / "keras", folder / "converted")
    loaded = tf.saved_model.load(str(folder / "converted")).signatures["serving_default"]
    (name,) = loaded.structured_input_signature[1]
    outer = tf.function(lambda x: list(loaded(**{name: x * 2}).values())[0] + 1)
    x = numbers(4, 7)
    for _ in range(2):
        close(outer(tf.constant(x)), model(x * 2, training=False) + 1)
    # All inputs are constants: nothing is folded away by a kernel that has no session.
    close(tf.function(lambda: outer(tf.constant(x)))(), model(x * 2, training=False) + 1)


def case_engines_with_native_nodes_between(folder):
    model = keras_model(folder / "keras", small_network, (16, 16, 3))
    made = converted(folder / "keras", folder / "converted", denied_operators=["Relu"])
    names = [part["name"] for part in made.parts if part["engine"]]
    assert len(names) == 3, made.summary()
    call, x = signature(folder / "converted"), numbers(5, 16, 16, 3)
    (got,) = call(x).values()
    close(got, model(x, training=False))
    assert all(statistics(name)[0]["runs"] == 1 for name in names)


def case_many_runs_and_threads(folder):
    graph, _ = one_engine()
    xs = [numbers(batch, 8, 8, 3) for batch in (1, 4)]
    expected = [[value.numpy() for value in network(x)] for x in xs]
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        tf.import_graph_def(graph, name="")
        failures = []

        def work(which):
            try:
                for _ in range(50):
                    for got, value in zip(session.run(["y0:0", "y1:0"], {"x0:0": xs[which]}), expected[which], strict=True):
                        close(got, value)
            except Exception as error:  # noqa: BLE001 - for the thread that asks
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        (engine,) = statistics("TRTEngineOp_000_000")
        assert engine["runs"] == 200 and engine["native_runs"] == 0 and 1 <= engine["contexts"] <= 4, engine
    gc.collect()
    assert not statistics("TRTEngineOp_000_000"), "the engine goes with its session"


def case_results_are_the_callers(folder):
    graph, _ = one_engine()
    xs = [numbers(2, 8, 8, 3) for _ in range(4)]
    call = v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), []).prune("x0:0", ["y0:0", "y1:0"])
    kept = [call(tf.constant(x)) for x in xs]

    @tf.function
    def reused(x):
        _, y = call(x)
        return y + 1, tf.nn.relu(-y), y, tf.reshape(y, [-1]) * 2

    for x, got in zip(xs, kept, strict=True):
        values = network(x)
        for one, value in zip(got, values, strict=True):
            close(one, value)
        y = values[1].numpy()
        for one, value in zip(reused(tf.constant(x)), (y + 1, np.maximum(-y, 0), y, y.reshape(-1) * 2), strict=True):
            close(one, value)


def case_inputs_that_are_slices(folder):
    """TensorFlow's slices of rows share memory that is aligned to nothing but the type."""
    graph, _ = one_engine()
    call = v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), []).prune("x0:0", "y1:0")
    x = numbers(5, 8, 8, 3)
    run = tf.function(lambda flat: call(tf.reshape(tf.slice(flat, [1], [-1])[: 4 * 192], [4, 8, 8, 3])))
    close(run(tf.constant(x.reshape(-1))), network(x.reshape(-1)[1 : 1 + 4 * 192].reshape(4, 8, 8, 3))[1])


def case_types(folder):
    def function(a, b, c):
        return [tf.where(b, a, a * 2), tf.cast(c, tf.float64) + 0.5, tf.logical_not(b)]

    specs = [tf.TensorSpec([None, 3], kind) for kind in (tf.int64, tf.bool, tf.int32)]
    concrete = models.convert_to_constants.convert_variables_to_constants_v2(tf.function(function).get_concrete_function(*specs))
    graph = models.engine_graph(concrete, "last_serialized")
    a, b, c = np.array([[1, 2**40, -3]]), np.array([[True, False, False]]), np.array([[1, 2, 3]], np.int32)
    got = session_run(graph, ["y0:0", "y1:0", "y2:0"], {"x0:0": a, "x1:0": b, "x2:0": c})
    for one, value in zip(got, function(a, b, c), strict=True):
        assert one.dtype == value.dtype.as_numpy_dtype
        np.testing.assert_array_equal(one, value)
    empty = session_run(graph, ["y0:0", "y1:0", "y2:0"], {"x0:0": a[:0], "x1:0": b[:0], "x2:0": c[:0]})
    assert [one.shape for one in empty] == [(0, 3)] * 3


def case_text_is_refused(folder):
    concrete = tf.function(lambda x: [tf.identity(x)]).get_concrete_function(tf.TensorSpec([None], tf.string))
    graph = models.engine_graph(concrete, "last_serialized")
    raises(lambda: session_run(graph, "y0:0", {"x0:0": [b"a"]}), "TRTEngineOp_000_000", "type 7", "engines do not take")


def case_shapes_that_do_not_fit_run_natively(folder):
    """Of a node that says batch 4, whose segment takes any."""
    graph, node = one_engine()
    node.attr["input_shapes"].list.shape[0].dim[0].size = 4
    xs = [numbers(batch, 8, 8, 3) for batch in (4, 2, 4, 3)]
    answers = [[value.numpy() for value in network(x)] for x in xs]
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        tf.import_graph_def(graph, name="")
        for x, expected in zip(xs, answers, strict=True):
            for got, value in zip(session.run(["y0:0", "y1:0"], {"x0:0": x}), expected, strict=True):
                close(got, value)
        (engine,) = statistics("TRTEngineOp_000_000")
    assert engine["runs"] == 2 and engine["native_runs"] == 2 and engine["native_bytes"] > 0 and engine["built"] == 1, engine
    assert sorted(engine["native"]) == [f"input 0 has shape [{batch}, 8, 8, 3], the node has [4, 8, 8, 3]" for batch in (2, 3)], engine


def run_natively_with_one_thread():
    concrete = models.frozen(network, [None, 8, 8, 3])
    x = numbers(2, 8, 8, 3)
    expected = [value.numpy() for value in network(x)]
    for form in ("last_serialized", "last_function"):
        graph = models.engine_graph(concrete, form)
        for node in graph.node:
            if node.op == "TRTEngineOp":
                node.attr["input_shapes"].list.shape[0].dim[0].size = 4
        for got, value in zip(session_run(graph, ["y0:0", "y1:0"], {"x0:0": x}, options=v1.RunOptions(timeout_in_ms=30000)), expected, strict=True):
            close(got, value)
    assert sum(entry["native_runs"] for entry in lanner.tf.engine_statistics()) == 0, "the engines have gone with their sessions"


def case_native_segments_need_no_second_thread(folder):
    """Where TensorFlow has a single thread to run operators, which is in the engine's kernel meanwhile."""
    run = subprocess.run([sys.executable, __file__, "one thread", str(SHARED)], env=os.environ | {"TF_NUM_INTEROP_THREADS": "1"}, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-3000:]


def case_a_wrong_shape_is_an_error(folder):
    graph, _ = one_engine()
    for node in graph.node:
        if node.name == "x0":
            node.attr["shape"].shape.Clear()
            node.attr["shape"].shape.unknown_rank = True
    for x in (numbers(2, 8, 8, 4), numbers(2, 3)):
        raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000")  # noqa: B023 - called at once


def case_native_segments_can_be_forbidden(folder):
    graph, node = one_engine()
    node.attr["input_shapes"].list.shape[0].dim[0].size = 4
    x = numbers(2, 8, 8, 3)
    lanner.tf.register(budget=0, native_segments=False)
    try:
        raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "the node has [4, 8, 8, 3]", "native_segments=False")
    finally:
        lanner.tf.register(budget=0)
    os.environ["TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION"] = "false"
    try:
        raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION")
    finally:
        del os.environ["TF_TRT_ALLOW_ENGINE_NATIVE_SEGMENT_EXECUTION"]


def case_an_operator_without_a_rule_runs_natively(folder):
    concrete = tf.function(lambda x: [tf.math.betainc(x, x, 0.5) * 2]).get_concrete_function(tf.TensorSpec([None], tf.float32))
    graph, x = models.engine_graph(concrete, "last_serialized"), np.float32([1, 2, 3])
    expected = tf.math.betainc(x, x, 0.5) * 2
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        tf.import_graph_def(graph, name="")
        close(session.run("y0:0", {"x0:0": x}), expected)
        (engine,) = statistics("TRTEngineOp_000_000")
    (reason,) = engine["native"]
    assert "Betainc" in engine["build_error"] and "Betainc" in reason and engine["native_runs"] == 1 and engine["built"] == 0, engine


def case_damaged_and_missing_segments(folder):
    x = numbers(2, 8, 8, 3)
    segment = one_engine()[1].attr["serialized_segment"].s
    for damaged in (segment[: len(segment) // 2], b"ftrt an engine", b""):
        graph, _ = one_engine(serialized_segment=damaged)
        raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "TensorRT")  # noqa: B023 - called at once
    broken = graph_pb2.GraphDef.FromString(segment)
    next(node for node in broken.node if node.op == "Conv2D").input[0] = "nowhere"
    graph, _ = one_engine(serialized_segment=broken.SerializeToString())
    raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "nowhere")
    missing = graph_pb2.GraphDef.FromString(segment)
    del missing.node[-1]
    graph, _ = one_engine(serialized_segment=missing.SerializeToString())
    raises(lambda: session_run(graph, "y0:0", {"x0:0": x}), "TRTEngineOp_000_000", "1 outputs")


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


def case_lanner_engine_op(folder):
    graph, _ = one_engine(op="LannerEngineOp")
    x = numbers(2, 8, 8, 3)
    close(session_run(graph, "y0:0", {"x0:0": x}), network(x)[0])


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


def case_calibration_is_said_to_be_elsewhere(folder):
    raises(lambda: OPERATORS.get_calibration_data_op(resource_name="TRTEngineOp_0"), "lanner.tf.convert")


def case_threads_as_tensorflow(folder):
    graph, _ = one_engine()
    x = numbers(1, 8, 8, 3)

    def threads(**options):
        with tf.Graph().as_default() as made, v1.Session(graph=made, config=v1.ConfigProto(**options)) as session:
            tf.import_graph_def(graph, name="")
            session.run("y0:0", {"x0:0": x})
            (engine,) = statistics("TRTEngineOp_000_000")
            return engine["threads"]

    assert threads(intra_op_parallelism_threads=1) == 1
    assert threads(intra_op_parallelism_threads=3) == 3
    lanner.tf.register(budget=0, threads=2)
    assert threads(intra_op_parallelism_threads=1) == 2
    lanner.tf.register(budget=0)


def case_traces_show_the_node(folder):
    graph, _ = one_engine()
    metadata = v1.RunMetadata()
    session_run(graph, "y0:0", {"x0:0": numbers(2, 8, 8, 3)}, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=metadata)
    names = {stats.node_name for device in metadata.step_stats.dev_stats for stats in device.node_stats}
    assert any("TRTEngineOp_000_000" in name for name in names), names


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


def main():
    root = Path(sys.argv[1])
    results = {"version": tf.__version__}
    for name, case in list(globals().items()):
        if not name.startswith("case_"):
            continue
        folder = root / name
        folder.mkdir()
        gc.collect()
        EARLIER.update(entry["id"] for entry in lanner.tf.engine_statistics())
        try:
            case(folder)
            results[name] = None
        except Exception:  # noqa: BLE001 - reported by the test
            results[name] = traceback.format_exc()[-6000:]
        (root / "results.json").write_text(json.dumps(results))
    (root / "done").write_text("")


if __name__ == "__main__":
    lanner.tf.register(budget=0)
    OPERATORS = tf.load_op_library(str(_tf_operators._path()))
    run_natively_with_one_thread() if sys.argv[1] == "one thread" else main()
