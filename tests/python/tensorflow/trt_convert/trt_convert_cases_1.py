"""TF-TRT's interface in TensorFlow 1: run by test_trt_convert.py, as a script under `python -m lanner.compat --tf1`."""

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow.contrib.tensorrt as contrib  # noqa: E402
from tensorflow.python.compiler.tensorrt import trt_convert as trt  # noqa: E402
from tensorflow_capture import raises, said  # noqa: E402
from tensorflow_cases import run_cases  # noqa: E402

import lanner  # noqa: E402

RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


KERNEL, WEIGHTS = numbers(3, 3, 3, 8), numbers(8, 5)


def build(variables=False, sizes=(None, 8, 8, 3)):
    """A network with the outputs `logits` and `classes`, in the default graph."""
    x = tf.placeholder(tf.float32, sizes, name="input")
    weights = tf.get_variable("weights", initializer=WEIGHTS) if variables else WEIGHTS
    y = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, KERNEL, 1, "SAME")), [1, 2])
    logits = tf.identity(tf.matmul(y, weights), name="logits")
    tf.argmax(logits, 1, name="classes")


def frozen(**options):
    with tf.Graph().as_default() as graph:
        build(**options)
        return graph.as_graph_def()


def saved(folder):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        build(variables=True)
        session.run(tf.global_variables_initializer())
        names = {name: graph.get_tensor_by_name(f"{name}:0") for name in ("input", "logits", "classes")}
        tf.saved_model.simple_save(session, str(folder), {"x": names["input"]}, {"y": names["logits"], "class": names["classes"]})
    return str(folder)


def run(graph_def, x, native_runs=0):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        logits, classes = tf.import_graph_def(graph_def, return_elements=["logits:0", "classes:0"], name="")
        results = session.run([logits, classes], {"input:0": x})
        assert sum(entry["native_runs"] for entry in lanner.tf.engine_statistics()) == native_runs
        return results


def check(graph_def, x=None, atol=1e-5, **options):
    x = numbers(1, 8, 8, 3) if x is None else x  # the largest batch of static engines by default
    got, want = run(graph_def, x), run(frozen(**options), x)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=atol)
    if atol < 0.01:
        np.testing.assert_array_equal(got[1], want[1])


def engine(graph_def):
    (node,) = [node for node in graph_def.node if node.op == "TRTEngineOp"]
    return node


def converter(**options):
    return trt.TrtGraphConverter(input_graph_def=frozen(), nodes_blacklist=["logits", "classes"], **options)


def case_tensorflow_is_tensorflow_1(folder):
    assert tf.__name__ == "tensorflow" and not tf.executing_eagerly() and tf.contrib.tensorrt is contrib
    assert tf.Session and tf.gfile.GFile and tf.GraphDef and tf.saved_model.loader and tf.graph_util.convert_variables_to_constants
    from tensorflow.python.framework import ops  # noqa: F401
    with raises(AttributeError, "tensorflow.nothing: neither"):
        tf.nothing  # noqa: B018


def case_a_graph_keeps_its_names(folder):
    made = converter(max_batch_size=8)
    graph = made.convert()
    assert isinstance(graph, tf.GraphDef)
    assert {node.op for node in graph.node} == {"Placeholder", "TRTEngineOp", "Identity", "ArgMax", "Const"}
    assert engine(graph).name == "TRTEngineOp_0"
    for batch in (1, 2, 8):
        check(graph, numbers(batch, 8, 8, 3))
    x = numbers(9, 8, 8, 3)  # above max_batch_size
    np.testing.assert_allclose(run(graph, x, native_runs=1)[0], run(frozen(), x)[0], rtol=1e-4, atol=1e-5)
    with raises(ValueError, "Not able to save to a SavedModel since input is a GraphDef"):
        made.save(str(folder / "saved"))


def case_outputs_by_tensor_and_by_number(folder):
    with tf.Graph().as_default() as graph:
        build()
        logits = graph.get_tensor_by_name("logits:0")
    for outputs in (["logits:0"], [logits], ["logits"]):
        made = trt.TrtGraphConverter(input_graph_def=graph.as_graph_def(), nodes_denylist=outputs).convert()
        names = {node.name for node in made.node}
        assert {"logits", "TRTEngineOp_0"} <= names and "classes" not in names


def case_a_saved_model_keeps_its_names(folder):
    made = trt.TrtGraphConverter(input_saved_model_dir=saved(folder / "original"), is_dynamic_op=True, max_batch_size=None)
    check(made.convert())
    made.save(str(folder / "converted"))
    with raises(AssertionError, "already exists, and isn't empty"):
        made.save(str(folder / "converted"))
    x = numbers(2, 8, 8, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        meta_graph = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], str(folder / "converted"))
        assert meta_graph.signature_def["serving_default"].outputs["y"].name == "logits:0"
        logits = session.run("logits:0", {"input:0": x})
    np.testing.assert_allclose(logits, run(frozen(), x)[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(lanner.tf.load(folder / "converted", budget=0)({"x": x})["y"]), logits, rtol=1e-5, atol=1e-6)
    with raises(ValueError, "no signature 'other'; there are: serving_default"):
        trt.TrtGraphConverter(input_saved_model_dir=str(folder / "original"), input_saved_model_signature_key="other")


def case_a_meta_graph_is_frozen_and_converted(folder):
    with tf.Graph().as_default(), tf.Session() as session:
        build(variables=True)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model.ckpt"))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(str(folder / "model.ckpt.meta")).restore(session, str(folder / "model.ckpt"))
        graph = tf.graph_util.convert_variables_to_constants(session, tf.get_default_graph().as_graph_def(), ["logits", "classes"])
    check(trt.TrtGraphConverter(input_graph_def=graph, nodes_blacklist=["logits", "classes"]).convert())


def case_wrong_parameters_raise(folder):
    with raises(ValueError, "Must specify one of input_graph_def and input_saved_model_dir"):
        trt.TrtGraphConverter()
    with raises(ValueError, "Can only specify one of input_graph_def and input_saved_model_dir"):
        trt.TrtGraphConverter(input_saved_model_dir="x", input_graph_def=frozen())
    with raises(ValueError, "two names of one parameter"):
        converter(nodes_denylist=["logits"])
    with raises(ValueError, "max_batch_size should be an integer"):
        converter(max_batch_size=None)
    with raises(ValueError, "minimum segment size should be positive or -1"):
        converter(minimum_segment_size=0)
    with raises(ValueError, "precision mode 'half' is not supported"):
        converter(precision_mode="half")
    with raises(AssertionError, r"convert\(\) before save"):
        converter().save(str(folder / "x"))


def case_static_and_dynamic_engines(folder):
    with said() as text:
        static, dynamic = engine(converter(max_batch_size=8).convert()), engine(converter(is_dynamic_op=True).convert())
    assert static.attr["static_engine"].b and static.attr["max_batch_size"].i == 8
    assert not dynamic.attr["static_engine"].b
    assert text().count("When is_dynamic_op==True max_batch_size should be None\n") == 1
    assert "must be fully defined" not in text()


def case_without_a_backup_the_error_of_an_engine_is_raised(folder):
    x = numbers(2, 8, 8, 3)
    want = run(frozen(), x)[0]
    for backup in (True, False):
        graph = converter(use_function_backup=backup, max_batch_size=2).convert()
        check(graph)
        engine(graph).attr["input_shapes"].list.shape[0].dim[1].size = 9  # which the input has not
        with tf.Graph().as_default(), tf.Session() as session:
            (logits,) = tf.import_graph_def(graph, return_elements=["logits:0"], name="")
            if backup:
                np.testing.assert_allclose(session.run(logits, {"input:0": x}), want, rtol=1e-4, atol=1e-5)
            else:
                with raises(tf.errors.AbortedError, "TRTEngineOp_0: .*input 0 has shape .*; the model was converted with use_function_backup=False"):
                    session.run(logits, {"input:0": x})


def case_a_plan_of_a_static_engine_runs_elsewhere(folder):
    graph, x = converter(max_batch_size=2).convert(), numbers(2, 8, 8, 3)
    node = engine(graph)
    assert node.attr["static_engine"].b and node.attr["segment_func"].func.name == "TRTEngineOp_0_native_segment"
    (folder / "engine.plan").write_bytes(node.attr["serialized_segment"].s)
    plan = lanner.load(folder / "engine.plan")
    assert [binding.name for binding in plan.inputs] == ["TensorRTInputPH_0"]
    results = plan({"TensorRTInputPH_0": x})
    assert set(results) >= {"TensorRTOutputPH_0"}
    check(graph, x)


def case_a_node_without_a_rule_stays_tensorflows(folder):
    with tf.Graph().as_default() as made:
        y = tf.nn.relu(tf.tanh(tf.placeholder(tf.float32, [None, 4], name="input"))) * 2 + 1.5
        tf.identity(tf.nn.softmax(tf.nn.relu(tf.math.lgamma(y)) * 3 - 1), name="logits")
        original = made.as_graph_def()
    graph = trt.TrtGraphConverter(input_graph_def=original, nodes_blacklist=["logits"], minimum_segment_size=2).convert()
    assert {"Lgamma", "TRTEngineOp"} <= {node.op for node in graph.node}
    x, results = numbers(1, 4), []
    for each in (original, graph):
        with tf.Graph().as_default(), tf.Session() as session:
            (logits,) = tf.import_graph_def(each, return_elements=["logits:0"], name="")
            results.append(session.run(logits, {"input:0": x}))
    np.testing.assert_allclose(*results, rtol=1e-4)


def case_open_sizes_in_static_mode_are_warned_of(folder):
    graph = frozen(sizes=(None, None, None, 3))
    with said() as text:
        made = trt.TrtGraphConverter(input_graph_def=graph, nodes_blacklist=["logits", "classes"]).convert()
    assert "Input shapes must be fully defined when in static mode. Please try is_dynamic_op=True. (shape of input was [?,?,?,3])\n" in text()
    check(made, numbers(2, 5, 7, 3), sizes=(None, None, None, 3))


def case_int8_switches_to_dynamic_engines(folder):
    with said() as text:
        made = converter(precision_mode="INT8", max_batch_size=None)
    assert text() == "INT8 precision mode with calibration is supported with dynamic TRT ops only. Disregarding is_dynamic_op parameter.\n"
    assert not engine(made.convert()).attr["static_engine"].b
    with raises(AssertionError, r"calibrate\(\) before save"):
        made.save(str(folder / "x"))


def calibrating():
    made = converter(precision_mode="INT8", is_dynamic_op=True, max_batch_size=None)
    made.convert()
    return made


def case_calibration_from_feeds(folder):
    batches = iter([numbers(4, 8, 8, 3) for _ in range(3)])
    graph = calibrating().calibrate(fetch_names=["logits", "classes:0"], num_runs=3, feed_dict_fn=lambda: {"input:0": next(batches)})
    assert next(batches, None) is None
    node = engine(graph)
    assert node.attr["precision_mode"].s == b"INT8" and node.attr["calibration_data"].s
    check(graph, atol=1.0)


def case_calibration_from_tensors(folder):
    dataset = tf.data.Dataset.from_tensors(numbers(4, 8, 8, 3)).repeat()
    outside = tf.data.make_one_shot_iterator(dataset).get_next()
    inside = lambda: tf.constant(numbers(4, 8, 8, 3))  # noqa: E731
    for tensor in (lambda: outside, inside):
        graph = calibrating().calibrate(["logits"], 2, input_map_fn=lambda tensor=tensor: {"input:0": tensor()})
        assert engine(graph).attr["calibration_data"].s


def case_calibration_around_a_node_that_tensorflow_runs(folder):
    with tf.Graph().as_default() as made:
        y = tf.nn.relu(tf.matmul(tf.placeholder(tf.float32, [None, 4], name="input"), numbers(4, 8))) + 1.5
        y = tf.nn.relu(tf.matmul(tf.nn.relu(tf.math.lgamma(y)), numbers(8, 5)))
        tf.identity(y, name="logits")
        original = made.as_graph_def()
    converter_1 = trt.TrtGraphConverter(
        input_graph_def=original, nodes_blacklist=["logits"], minimum_segment_size=2, precision_mode="INT8", is_dynamic_op=True, max_batch_size=None
    )
    converter_1.convert()
    x = numbers(6, 4)
    graph = converter_1.calibrate(["logits"], 2, feed_dict_fn=lambda: {"input:0": x})
    found = [node for node in graph.node if node.op == "TRTEngineOp"]
    assert [node.attr["calibration_data"].s.count(b"\n") for node in found] == [2, 2]
    results = []
    for each in (original, graph):
        with tf.Graph().as_default(), tf.Session() as session:
            (logits,) = tf.import_graph_def(each, return_elements=["logits:0"], name="")
            results.append(session.run(logits, {"input:0": x}))
    want, got = results
    assert not np.array_equal(got, want) and np.sum((got - want) ** 2) < 0.01 * np.sum(want**2), (got, want)


def case_wrong_calibration_raises(folder):
    feed = lambda: {"input:0": numbers(4, 8, 8, 3)}  # noqa: E731
    for both in ({}, {"feed_dict_fn": feed, "input_map_fn": feed}):
        with raises(ValueError, "Should specify one and only one of feed_dict_fn and input_map_fn."):
            calibrating().calibrate(["logits"], 1, **both)
    with raises(ValueError, "Keys of input_map_fn must be of type str"):
        calibrating().calibrate(["logits"], 1, input_map_fn=lambda: {1: tf.constant(1.0)})
    with raises(ValueError, "Values of input_map_fn must be of type tf.Tensor"):
        calibrating().calibrate(["logits"], 1, input_map_fn=feed)
    with raises(ValueError, "'lodgits' not found in graph_def"):
        calibrating().calibrate(["lodgits"], 1, feed_dict_fn=feed)
    with raises(ValueError, "'inputs' is not an input; there are input:0"):
        calibrating().calibrate(["logits"], 1, feed_dict_fn=lambda: {"inputs": 1})
    sizes = iter([4, 2])
    with raises(ValueError, "all batches should have the same shape"):
        calibrating().calibrate(["logits"], 2, feed_dict_fn=lambda: {"input:0": numbers(next(sizes), 8, 8, 3)})
    with raises(AssertionError, "is for precision mode INT8"):
        made = converter()
        made.convert()
        made.calibrate(["logits"], 1, feed_dict_fn=feed)
    made = calibrating()
    made.calibrate(["logits"], 1, feed_dict_fn=feed)
    with raises(AssertionError, "already called"):
        made.calibrate(["logits"], 1, feed_dict_fn=feed)


def case_a_calibrated_saved_model(folder):
    made = trt.TrtGraphConverter(saved(folder / "original"), precision_mode="INT8", is_dynamic_op=True, max_batch_size=None)
    made.convert()
    made.calibrate(["logits:0"], 2, feed_dict_fn=lambda: {"input:0": numbers(4, 8, 8, 3)})
    made.save(str(folder / "converted"))
    x = numbers(4, 8, 8, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], str(folder / "converted"))
        logits = session.run("logits:0", {"input:0": x})
    np.testing.assert_allclose(logits, run(frozen(), x)[0], atol=1.0)
    np.testing.assert_array_equal(np.asarray(lanner.tf.load(folder / "converted", budget=0)({"x": x})["y"]), logits)


def case_a_session_config_is_used_or_named(folder):
    config = tf.ConfigProto(intra_op_parallelism_threads=1, allow_soft_placement=True)
    config.gpu_options.per_process_gpu_memory_fraction = 0.3
    with said() as text:
        check(converter(session_config=config).convert())
        converter(session_config=tf.ConfigProto(intra_op_parallelism_threads=1)).convert()
    assert text().count("session_config: ") == 1 and "session_config: gpu_options, allow_soft_placement: no effect" in text()


def case_create_inference_graph_of_both_modules(folder):
    for create in (trt.create_inference_graph, contrib.create_inference_graph):
        check(create(frozen(), ["logits", "classes"], max_batch_size=4, max_workspace_size_bytes=1 << 25, precision_mode="fp32"))
        target = folder / create.__module__
        graph = create(None, None, input_saved_model_dir=saved(folder / f"of_{create.__module__}"), output_saved_model_dir=str(target))
        check(graph)
        assert (target / "saved_model.pb").exists()
    assert engine(contrib.create_inference_graph(frozen(), ["logits", "classes"])).attr["workspace_size_bytes"].i == 2 << 20


def case_nodes_before_and_after_are_in_the_line(folder):
    with said() as text:
        converter().convert()
    assert "There are 3 ops of 3 different types in the graph that are not converted to TensorRT: ArgMax, Identity, Placeholder.\n" in text()


if __name__ == "__main__":
    import sys

    run_cases(globals())
