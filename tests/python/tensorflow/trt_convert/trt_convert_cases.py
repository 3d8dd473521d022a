"""TF-TRT's interface in TensorFlow 2: run by test_trt_convert.py, as a script under `python -m lanner.compat`."""

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.compiler.tensorrt import trt_convert as trt  # noqa: E402
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2  # noqa: E402
from tensorflow_capture import raises, said, variables  # noqa: E402
from tensorflow_cases import run_cases  # noqa: E402

import lanner  # noqa: E402

RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


class Network(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel, self.weights = tf.Variable(numbers(3, 3, 3, 8)), tf.Variable(numbers(8, 5))

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3], tf.float32, "x")])
    def classify(self, x):
        y = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, self.kernel, 1, "SAME")), [1, 2])
        return {"scores": tf.nn.softmax(tf.matmul(y, self.weights)), "features": y}


class Two(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "second"), tf.TensorSpec([None, 4], tf.float32, "first")])
    def difference(self, second, first):
        return {"y": tf.nn.relu(tf.tanh(first) * 2 - second) + first}


_made = {}


def saved(kind=Network):
    """Folder of a SavedModel, made once."""
    if kind not in _made:
        folder = ROOT / kind.__name__
        module = kind()
        tf.saved_model.save(module, folder, signatures=module.classify if kind is Network else module.difference)
        _made[kind] = str(folder), module
    return _made[kind][0]


def converter(kind=Network, **options):
    return trt.TrtGraphConverterV2(input_saved_model_dir=saved(kind), **options)


def wanted(x):
    return _made[Network][1].classify(tf.constant(x))


def check_network(function, x=None):
    x = numbers(3, 8, 8, 3) if x is None else x
    got = function(x=tf.constant(x))
    for name, value in wanted(x).items():
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-6)
    assert not any(entry["native_runs"] for entry in lanner.tf.engine_statistics())


def engines(function):
    graph = function.graph.as_graph_def()
    inside = [node for called in graph.library.function for node in called.node_def]
    return [node for node in [*graph.node, *inside] if node.op == "TRTEngineOp"]


def plans(folder):
    return sorted(path.name for path in (Path(folder) / "assets").glob("trt-serialized-engine.*"))


def inputs_of(*shapes):
    return lambda: iter([[numbers(*shape)] for shape in shapes])


def case_names_of_tensorflow_are_mapped(folder):
    import tensorflow.contrib.tensorrt as contrib
    from tensorflow.compiler.tf2tensorrt._pywrap_py_utils import is_tensorrt_enabled

    assert trt.__name__ == "lanner.compat.trt_convert"
    assert tf.experimental.tensorrt.Converter is trt.TrtGraphConverterV2
    assert tf.experimental.tensorrt.ConversionParams is trt.TrtConversionParams
    assert contrib.TrtPrecisionMode is trt.TrtPrecisionMode and contrib.create_inference_graph
    assert tf.contrib.tensorrt is contrib and is_tensorrt_enabled()
    with raises(AttributeError, "tensorflow.contrib.layers"):
        tf.contrib.layers  # noqa: B018


def case_defaults(folder):
    params = trt.DEFAULT_TRT_CONVERSION_PARAMS
    assert params == trt.TrtConversionParams()
    assert params._asdict() == {
        "max_workspace_size_bytes": trt.DEFAULT_TRT_MAX_WORKSPACE_SIZE_BYTES,
        "precision_mode": "FP32",
        "minimum_segment_size": 3,
        "maximum_cached_engines": 1,
        "use_calibration": True,
        "allow_build_at_runtime": True,
        "rewriter_config_template": None,
        "is_dynamic_op": True,
        "max_batch_size": 1,
        "use_function_backup": True,
        "cached_engine_batches": None,
    }
    changed = params._replace(precision_mode="FP16")._replace(maximum_cached_engines=100)
    assert isinstance(changed, trt.TrtConversionParams) and (changed.precision_mode, changed.maximum_cached_engines) == ("FP16", 100)
    assert trt.TrtPrecisionMode.supported_precision_modes() == ["FP32", "FP16", "INT8", "fp32", "fp16", "int8"]
    assert trt.supported_profile_strategies() == ["Range", "Optimal", "Range+Optimal", "ImplicitBatchModeCompatible"]


def case_parameters_of_both_eras_by_position(folder):
    late = trt.TrtConversionParams(1 << 20, "INT8", 5, 2, False, False)
    assert (late.precision_mode, late.minimum_segment_size, late.maximum_cached_engines, late.use_calibration) == ("INT8", 5, 2, False)
    early = trt.TrtConversionParams(None, 1 << 20, "FP16", 5, True, 2, True, 8)
    assert (early.max_workspace_size_bytes, early.precision_mode, early.minimum_segment_size) == (1 << 20, "FP16", 5)
    assert (early.is_dynamic_op, early.maximum_cached_engines, early.max_batch_size) == (True, 2, 8)
    old = trt.TrtGraphConverterV2(saved(), None, None, early)  # the fourth parameter of TensorFlow 2.0
    check_network(old.convert())
    with raises(TypeError, "precision: no such parameter"):
        trt.TrtConversionParams(precision="FP16")
    with raises(TypeError, "precision_mode: given twice"):
        trt.TrtConversionParams(1, "FP16", precision_mode="FP32")
    with raises(TypeError, "no such parameter"):
        converter(workspace=1)


def case_wrong_parameters_raise(folder):
    for size in (0, -2):
        with raises(ValueError, r"minimum segment size should be positive or -1 \(to disable main graph conversion\)"):
            converter(minimum_segment_size=size)
    with raises(ValueError, "precision mode 'FP8' is not supported"):
        converter(precision_mode="FP8")
    with raises(ValueError, "is_dynamic_op is either None or True for TF2"):
        converter(conversion_params=trt.TrtConversionParams(is_dynamic_op=False))
    with raises(ValueError, "profile_strategy 'Best' is not supported"):
        converter(use_dynamic_shape=True, dynamic_shape_profile_strategy="Best")
    with raises(ValueError, "maximum_cached_engines=1 should be no less"):
        converter(cached_engine_batches=[1, 8])
    with raises(ValueError, "Must specify input_saved_model_dir"):
        trt.TrtGraphConverterV2()
    with raises(RuntimeError, "Please use tf.experimental.tensorrt.Converter in TF 2.0."):
        trt.TrtGraphConverter(input_saved_model_dir=saved())
    with raises(lanner.NotFound, "nowhere"):
        trt.TrtGraphConverterV2(str(folder / "nowhere")).convert()


def case_convert_gives_a_function_that_runs_in_engines(folder):
    for mode in ("FP32", "fp32"):
        function = converter(precision_mode=mode).convert()
        assert list(function.structured_input_signature[1]) == ["x"] and set(function.structured_outputs) == {"scores", "features"}
        check_network(function)
        (node,) = engines(function)
        assert node.name == "TRTEngineOp_000_000" and node.attr["precision_mode"].s == b"FP32"
        segment = tf.compat.v1.GraphDef.FromString(node.attr["serialized_segment"].s)
        with tf.Graph().as_default():  # TensorFlow can run it, where the engine cannot
            tf.graph_util.import_graph_def(segment, return_elements=["TensorRTOutputPH_0:0"])
    running = [entry for entry in lanner.tf.engine_statistics() if entry["name"] == "TRTEngineOp_000_000"]
    assert running and all(entry["engine"] and not entry["native_runs"] for entry in running)


def case_fp16_is_written_and_runs(folder):
    function = converter(precision_mode="fp16").convert()
    x = numbers(2, 8, 8, 3)
    np.testing.assert_allclose(function(x=tf.constant(x))["scores"], wanted(x)["scores"], atol=2e-2)
    assert engines(function)[0].attr["precision_mode"].s == b"FP16"


def case_parameters_are_in_the_nodes(folder):
    params = trt.TrtConversionParams(max_workspace_size_bytes=1 << 32, maximum_cached_engines=7, allow_build_at_runtime=False, use_calibration=False)
    (node,) = engines(converter(conversion_params=params, use_dynamic_shape=True, dynamic_shape_profile_strategy="Optimal").convert())
    attr = node.attr
    assert (attr["workspace_size_bytes"].i, attr["max_cached_engines_count"].i) == (1 << 32, 7)
    assert not (attr["use_calibration"].b or attr["_allow_build_at_runtime"].b or attr["static_engine"].b or attr["_use_implicit_batch"].b)
    assert attr["profile_strategy"].s == b"Optimal"
    assert not engines(converter().convert())[0].attr["profile_strategy"].s


def case_save_and_load(folder):
    made = converter()
    made.convert()
    made.save(str(folder / "saved"))
    loaded = tf.saved_model.load(str(folder / "saved"), tags=["serve"])
    function = loaded.signatures["serving_default"]
    check_network(function)
    frozen = convert_variables_to_constants_v2(function)
    x = numbers(8, 8, 8, 3)
    values = [value.numpy() for value in frozen(tf.constant(x))]
    assert all(any(value.shape == want.shape and np.allclose(value, want, rtol=1e-4, atol=1e-6) for value in values) for want in wanted(x).values())
    model = lanner.tf.load(folder / "saved", budget=0)
    np.testing.assert_allclose(np.asarray(model({"x": x})["scores"]), wanted(x)["scores"], rtol=1e-4, atol=1e-6)


def case_convert_variables_to_constants_over_a_converted_function(folder):
    frozen = convert_variables_to_constants_v2(converter().convert())
    x = numbers(2, 8, 8, 3)
    assert any(value.shape == (2, 5) and np.allclose(value, wanted(x)["scores"], rtol=1e-4, atol=1e-6) for value in frozen(tf.constant(x)))


def case_engines_are_saved_where_they_are_built(folder):
    unbuilt = converter()
    unbuilt.convert()
    unbuilt.save(str(folder / "unbuilt"))
    built = converter(maximum_cached_engines=2)
    with raises(RuntimeError, r"Need to call convert\(\) before build\(\)"):
        built.build(inputs_of((1, 8, 8, 3)))
    built.convert()
    with raises(RuntimeError, "input_fn is None"):
        built.build(None)
    built.build(inputs_of((2, 8, 8, 3), (2, 8, 8, 3), (1, 8, 8, 3)))
    with raises(NotImplementedError, r"build\(\) is already called"):
        built.build(inputs_of((1, 8, 8, 3)))
    built.save(str(folder / "built"))
    built.save(str(folder / "portable"), save_gpu_specific_engines=False)
    assert [plans(folder / name) for name in ("unbuilt", "built", "portable")] == [[], ["trt-serialized-engine.TRTEngineOp_000_000"], []]
    for name in ("unbuilt", "built", "portable"):
        check_network(tf.saved_model.load(str(folder / name)).signatures["serving_default"])
        (here,) = lanner.tf.load(folder / name, mode="dynamic").engines  # the node is in a function, its plan has no scope
        assert "/" in here["name"] and bool(here["cached"]) == (name == "built") and here["built"] == 0, here


def case_calls_out_of_order_raise(folder):
    made = converter()
    with raises(AssertionError, r"convert\(\) before save"):
        made.save(str(folder / "early"))
    with raises(RuntimeError, r"Impossible to call `TrtGraphConverterV2.summary\(\)` before"):
        made.summary()
    made.convert()
    with raises(AssertionError, r"convert\(\) is already called"):
        made.convert()


def case_int8_is_calibrated(folder):
    made = converter(precision_mode="INT8")
    with raises(ValueError, "Should specify calibration_input_fn because INT8 calibration is needed"):
        made.convert()
    with raises(ValueError, "Should not specify calibration_input_fn"):
        converter().convert(calibration_input_fn=inputs_of((4, 8, 8, 3)))
    with raises(ValueError, r"input x of batch 1 has shape \(2, 8, 8, 3\), of the first one \(4, 8, 8, 3\)"):
        converter(precision_mode="INT8").convert(calibration_input_fn=inputs_of((4, 8, 8, 3), (2, 8, 8, 3)))
    with raises(ValueError, "gave no data"):
        converter(precision_mode="INT8").convert(calibration_input_fn=inputs_of())
    function = made.convert(calibration_input_fn=inputs_of(*[(4, 8, 8, 3)] * 3))
    x = numbers(4, 8, 8, 3)
    np.testing.assert_allclose(function(x=tf.constant(x))["scores"], wanted(x)["scores"], atol=0.1)
    assert not any(entry["native_runs"] for entry in lanner.tf.engine_statistics())
    (node,) = engines(function)
    assert node.attr["precision_mode"].s == b"INT8" and b"calibration" in node.attr["calibration_data"].s
    made.save(str(folder / "saved"))
    assert plans(folder / "saved")
    loaded = tf.saved_model.load(str(folder / "saved")).signatures["serving_default"]
    np.testing.assert_array_equal(loaded(x=tf.constant(x))["scores"], function(x=tf.constant(x))["scores"])


def case_int8_with_dynamic_shapes_is_calibrated_by_build(folder):
    made = converter(precision_mode="int8", use_dynamic_shape=True)
    assert not engines(made.convert(calibration_input_fn=inputs_of((4, 8, 8, 3))))[0].attr["calibration_data"].s
    with raises(RuntimeError, "has to be built before saving it"):
        made.save(str(folder / "early"))
    made.build(inputs_of((4, 8, 8, 3)))
    made.save(str(folder / "saved"))
    (node,) = engines(tf.saved_model.load(str(folder / "saved")).signatures["serving_default"])
    assert node.attr["calibration_data"].s and node.attr["profile_strategy"].s == b"Range"


def case_int8_without_ranges_names_the_tensor(folder):
    with raises(lanner.Error, "no range for"):
        converter(precision_mode="INT8", use_calibration=False).convert()


def case_inputs_by_position_are_in_the_order_of_names(folder):
    made = converter(Two)
    function = made.convert()
    first, second = numbers(3, 4), numbers(3, 4)
    want = _made[Two][1].difference(second=tf.constant(second), first=tf.constant(first))["y"]
    for got in (function(tf.constant(first), tf.constant(second)), function(second=tf.constant(second), first=tf.constant(first))):
        np.testing.assert_allclose(got["y"], want, rtol=1e-5)
    original = tf.saved_model.load(saved(Two)).signatures["serving_default"]
    assert [value.name.split(":")[0] for value in original.inputs] == ["first", "second"]
    made.build(lambda: iter([(first, second), {"second": second, "first": tf.constant(first)}]))
    with raises(ValueError, "gave 1 values; expected one for each of first, second"):
        converter_of_two = converter(Two)
        converter_of_two.convert()
        converter_of_two.build(lambda: iter([first]))


def case_segments_below_the_minimum_stay_native(folder):
    nodes = 5  # Tanh, Mul, Sub, Relu, AddV2
    for size, count in ((nodes - 1, 1), (nodes, 1), (nodes + 1, 0), (-1, 0)):
        function = converter(Two, minimum_segment_size=size).convert()
        assert len(engines(function)) == count, size
        first, second = numbers(2, 4), numbers(2, 4)
        np.testing.assert_allclose(function(first=tf.constant(first), second=tf.constant(second))["y"], np.maximum(np.tanh(first) * 2 - second, 0) + first, rtol=1e-5, atol=1e-6)


def case_summary(folder):
    made = converter()
    made.convert()
    lines = []
    made.summary(print_fn=lines.append)
    assert lines[0].startswith("TRTEngineOP Name") and lines[1] == "=" * 160 and len(lines[2]) == len(lines[0]) == 158  # columns are whole characters
    assert [word in lines[2] for word in ("TRTEngineOp_000_000", "['float32']", "[[-1, 8, 8, 3]]")] == [True] * 3
    assert "\t- Conv2D: 1x" in lines and "[*] Total number of TensorRT engines: 1" in lines
    (share,) = [line for line in lines if line.startswith("[*] % of OPs Converted: ")]
    inside = sum(int(line.rsplit(" ", 1)[1][:-1]) for line in lines if line.startswith("\t- "))
    assert share.rstrip().endswith(f"[{inside}/{inside + 1}]")  # beside the placeholder
    short = []
    made.summary(line_length=200, detailed=False, print_fn=short.append)
    assert len(short[0]) > 190 and not any("Conv2D" in line for line in short)
    with raises(ValueError, "Invalid `line_length` value has been received: 80. Minimum: 160."):
        made.summary(line_length=80)


def case_the_line_of_operators_that_are_not_converted(folder):
    with variables(TF_TRT_OP_DENYLIST="Softmax,Mean", TF_CPP_MIN_LOG_LEVEL="0"), said() as text:
        converter().convert()
    assert "There are 7 ops of 4 different types in the graph that are not converted to TensorRT: Identity, Mean, Placeholder, Softmax.\n" in text()
    with variables(TF_TRT_OP_DENYLIST="Softmax", TF_CPP_MIN_LOG_LEVEL="1"), said() as text:
        converter().convert()
    assert "There are" not in text()


def case_levels_of_the_log_name_reasons(folder):
    line = "Not a TF-TRT candidate, (Op type: Softmax), (Op name: StatefulPartitionedCall/StatefulPartitionedCall/Softmax), (Reason: operator Softmax"
    for level, reasons, nodes in (
        ({"TF_CPP_VMODULE": "segment=1"}, True, False),
        ({"TF_CPP_VMODULE": "segment=2,convert_graph=2,convert_nodes=2,trt_engine=1,trt_logger=2"}, True, True),
        ({"TF_CPP_MIN_VLOG_LEVEL": "1"}, True, False),
        ({"TF_CPP_MIN_VLOG_LEVEL": "2"}, True, True),
        ({"TF_CPP_VMODULE": "gpu*=3"}, False, False),
        ({"TF_CPP_MIN_VLOG_LEVEL": "2", "TF_CPP_MIN_LOG_LEVEL": "1"}, False, False),
    ):
        every = {"TF_TRT_OP_DENYLIST": "Softmax", "TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": None, "TF_CPP_MIN_VLOG_LEVEL": None, **level}
        with variables(**every), said() as text:
            converter().convert()
        assert (line in text()) == reasons, (level, text())
        assert ("(Conv2D) is in TRTEngineOp_000_000" in text()) == nodes, (level, text())


def case_variables_deny_operators_and_limit_engines(folder):
    for name in ("TF_TRT_OP_DENYLIST", "TF_TRT_OP_BLACKLIST"):
        with variables(**{name: "Relu,Softmax"}):
            function = converter(minimum_segment_size=1).convert()
        assert {node.op for node in function.graph.as_graph_def().node} >= {"Relu", "Softmax"} and len(engines(function)) == 2
        check_network(function)
    for limit, count in (("1", 1), ("0", 2), ("-1", 2)):
        with variables(TF_TRT_OP_DENYLIST="Relu,Softmax", TF_TRT_MAX_ALLOWED_ENGINES=limit), said() as text:
            assert len(engines(converter(minimum_segment_size=1).convert())) == count
        assert ("TF_TRT_MAX_ALLOWED_ENGINES is <= 0" in text()) == (limit != "1")
    with variables(TF_TRT_MAX_ALLOWED_ENGINES="many"), raises(ValueError, "TF_TRT_MAX_ALLOWED_ENGINES: expected a number, got 'many'"):
        converter().convert()


def case_the_detailed_report(folder):
    table = folder / "report.csv"
    for value in ("1", str(table)):
        with variables(TF_TRT_OP_DENYLIST="Softmax", TF_TRT_SHOW_DETAILED_REPORT=value), said() as text:
            converter().convert()
        assert "\t- Softmax -> 1x\n\t\t- [Count: 1x] operator Softmax is in the list" in text()
        assert "\t- Total nonconverted OPs: 4\n\t- Total nonconverted OP Types: 3\n" in text()
    rows = table.read_text().splitlines()
    assert rows[0] == "OP Name|Reason|Count" and rows[-1].startswith("Softmax|operator Softmax is in") and rows[-1].endswith("|1")
    for value, shown in (("0", False), (str(folder / "missing" / "x.csv"), True)):
        with variables(TF_TRT_SHOW_DETAILED_REPORT=value), said() as text:
            converter().convert()
        assert ("non-converted OP Report" in text()) == shown and ("the report was not written" in text()) == shown


def case_the_graph_in_graphviz(folder):
    with variables(TF_TRT_EXPORT_GRAPH_VIZ_PATH=str(folder / "graph.dot")):
        converter().convert()
    text = (folder / "graph.dot").read_text()
    assert text.startswith("digraph tftrt_converted_graph {") and text.endswith("}\n")
    assert '"TRTEngineOp_000_000" [label="TRTEngineOp_000_000 [' in text and '"serving_default_x" -> "TRTEngineOp_000_000";' in text


def case_what_has_no_effect_is_named_once(folder):
    from tensorflow.core.protobuf import rewriter_config_pb2

    values = {name: "1" for name in ("TF_TRT_OP_FAKELIST", "TF_TRT_ABORT_CUDA_ENGINE_BUILD", "TF_TRT_ENABLE_LAYOUT_OPTIMIZER", "TF_TRT_SOMETHING_ELSE")}
    with variables(**values, TF_TRT_EXPERIMENTAL_FEATURES="disable_graph_freezing,unheard_of"), said() as text:
        converter(rewriter_config_template=rewriter_config_pb2.RewriterConfig()).convert()
        converter(rewriter_config_template=rewriter_config_pb2.RewriterConfig()).convert()
    for name in [*values, "TF_TRT_EXPERIMENTAL_FEATURES=disable_graph_freezing", "TF_TRT_EXPERIMENTAL_FEATURES=unheard_of", "rewriter_config_template"]:
        assert text().count(f"{name} has no effect: ") == 1, (name, text())


def case_no_native_function_is_stored_without_a_backup(folder):
    for options, values in (({"use_function_backup": False}, {}), ({}, {"TF_TRT_EXPERIMENTAL_FEATURES": "remove_native_segments"})):
        with variables(**values):
            made = converter(**options)
            made.convert()
            target = folder / f"saved{len(values)}"
            made.save(str(target))
        function = tf.saved_model.load(str(target)).signatures["serving_default"]
        graph = function.graph.as_graph_def()
        assert not any(called.signature.name.endswith("_native_segment") for called in graph.library.function)
        (node,) = engines(function)
        assert not node.attr["segment_func"].func.name and not node.attr["_lanner_native_segment"].b and "_lanner_native_segment" in node.attr
        check_network(function)


class Words(tf.Module):
    """A table with a file, an operator without a rule, and layers."""

    def __init__(self, folder):
        super().__init__()
        (folder / "words.txt").write_text("red\ngreen\nblue\n")
        whole, line = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
        lines = tf.lookup.TextFileInitializer(str(folder / "words.txt"), tf.string, whole, tf.int64, line)
        self.table, self.rows = tf.lookup.StaticVocabularyTable(lines, 1), tf.Variable(numbers(4, 8))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "word")])
    def score(self, word):
        return {"score": tf.nn.softmax(tf.nn.relu(tf.gather(self.rows, self.table.lookup(word))) * 2 - 1)}


class Gamma(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def score(self, x):
        return {"score": tf.nn.softmax(tf.nn.relu(tf.math.lgamma(tf.nn.relu(tf.tanh(x)) * 2 + 1.5)) * 3 - 1)}


def case_nodes_without_a_rule_stay_tensorflows(folder):
    for module, given in ((Gamma(), [numbers(3, 4)]), (Words(folder), [np.array(["blue", "pink"], object)])):
        tf.saved_model.save(module, folder / "model", signatures=module.score)
        made = trt.TrtGraphConverterV2(str(folder / "model"), minimum_segment_size=2)
        function = made.convert()
        (name,) = function.structured_input_signature[1]
        want = module.score(tf.constant(given[0]))["score"]
        np.testing.assert_allclose(function(**{name: tf.constant(given[0])})["score"], want, rtol=1e-4)
        made.build(lambda given=given: iter([given]))
        made.save(str(folder / f"saved_{name}"))
        loaded = tf.saved_model.load(str(folder / f"saved_{name}"))
        np.testing.assert_allclose(loaded.signatures["serving_default"](**{name: tf.constant(given[0])})["score"], want, rtol=1e-4)
        assert engines(loaded.signatures["serving_default"])
        with raises(lanner.Unsupported, "without TensorFlow"):
            lanner.tf.load(folder / f"saved_{name}")


class Products(tf.Module):
    first, last = (np.random.default_rng(shape).normal(size=shape).astype(np.float32) for shape in ((4, 8), (8, 5)))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def score(self, x):
        return {"score": tf.matmul(tf.nn.relu(tf.math.lgamma(tf.nn.relu(tf.matmul(x, self.first)) + 1.5)), self.last)}


def case_int8_around_a_node_that_tensorflow_runs(folder):
    module = Products()
    tf.saved_model.save(module, folder / "model", signatures=module.score)
    batches = [numbers(6, 4) for _ in range(3)]
    for name, options in (("plain", {}), ("profiles", {"use_dynamic_shape": True})):
        made = trt.TrtGraphConverterV2(str(folder / "model"), precision_mode="INT8", minimum_segment_size=2, **options)
        function = made.convert(calibration_input_fn=lambda: ([batch] for batch in batches))
        if options:
            made.build(lambda: iter([[batches[0]]]))
        made.save(str(folder / name))
        loaded = tf.saved_model.load(str(folder / name)).signatures["serving_default"]
        assert [node.attr["calibration_data"].s.count(b"\n") for node in engines(loaded)] == [2, 2]
        for batch in batches:
            want = module.score(tf.constant(batch))["score"].numpy()
            for each in (loaded, *([] if options else [function])):
                got = each(x=tf.constant(batch))["score"].numpy()
                assert not np.array_equal(got, want) and np.sum((got - want) ** 2) < 0.01 * np.sum(want**2), (got, want)


def case_names_of_1_x(folder):
    with variables(TF_TRT_OP_DENYLIST="Relu"):
        made = converter(minimum_segment_size=1, names="1.x")
        function = made.convert()
    assert sorted(node.name for node in engines(function)) == ["TRTEngineOp_0", "TRTEngineOp_1"]
    check_network(function)
    lines = []
    made.summary(print_fn=lines.append)
    assert "\t- Conv2D: 1x" in lines and any(line.startswith("TRTEngineOp_1 ") for line in lines)
    made.save(str(folder / "saved"))
    check_network(tf.saved_model.load(str(folder / "saved")).signatures["serving_default"])
    with raises(ValueError, "names: expected '1.x'"):
        converter(names="3.x")


def case_conversion_in_a_session_is_refused(folder):
    with raises(NotImplementedError, "use TrtGraphConverter or TrtGraphConverterV2"):
        trt.get_tensorrt_rewriter_config(trt.DEFAULT_TRT_CONVERSION_PARAMS, is_dynamic_op=True)
    with raises(NotImplementedError, "calibrate"):
        trt.calib_graph_to_infer_graph(None)


if __name__ == "__main__":
    import sys

    ROOT = Path(sys.argv[1]) / "models"
    run_cases(globals())
