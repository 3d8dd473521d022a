"""Engines inside TensorFlow: answers, threads, types, memory. Cases of inside_cases.py."""

import gc
import threading

import engine_models as models
import keras
import numpy as np
import tensorflow as tf
from inside_support import close, converted, keras_model, network, numbers, one_engine, raises, session_run, signature, small_network, statistics, v1

import lanner


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


def case_a_segment_that_calls_functions(folder):
    """By the engine, and with another batch, which the node does not have, by TensorFlow."""

    @tf.function
    def inner(x):
        return tf.nn.relu(x) + 1

    concrete = tf.function(lambda x: [tf.cond(tf.reduce_sum(x) > 0, lambda: inner(x), lambda: -x)]).get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
    graph = models.engine_graph(concrete, "last_function")
    assert len(graph.library.function) >= 4
    (node,) = [node for node in graph.node if node.op == "TRTEngineOp"]
    node.attr["input_shapes"].list.shape[0].dim[0].size = 2
    xs = [numbers(2, 3), abs(numbers(2, 3)), abs(numbers(1, 3))]
    expected = [(np.maximum(x, 0) + 1) if x.sum() > 0 else -x for x in xs]
    with tf.Graph().as_default() as made, v1.Session(graph=made) as session:
        tf.import_graph_def(graph, name="")
        for x, value in zip(xs, expected, strict=True):
            close(session.run("y0:0", {"x0:0": x}), value)
        (engine,) = statistics("TRTEngineOp_000_000")
    assert engine["runs"] == 2 and engine["native_runs"] == 1, engine


def case_lanner_engine_op(folder):
    graph, _ = one_engine(op="LannerEngineOp")
    x = numbers(2, 8, 8, 3)
    close(session_run(graph, "y0:0", {"x0:0": x}), network(x)[0])


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
