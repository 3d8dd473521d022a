"""The guide's examples of TensorFlow 1: run by test_trt_convert.py, as a script under `python -m lanner.compat --tf1`."""

import contextlib
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow_cases import run_cases  # noqa: E402
from tf_trt_guide import example  # noqa: E402
from trt_convert_cases_1 import check, engine, frozen, numbers, run, saved  # noqa: E402

import lanner  # noqa: E402


def execute(*numbers_of_blocks, folder=None, **given):
    """Runs blocks of the guide as a script, in a graph of its own and in a folder."""
    names = {"tf": tf, **given}
    with tf.Graph().as_default(), contextlib.chdir(folder or os.getcwd()):
        for block in numbers_of_blocks:
            exec(compile(example(*block) if isinstance(block, tuple) else example(block), f"guide, block {block}", "exec"), names)
    return names


def case_a_saved_model(folder):
    execute(0, input_saved_model_dir=saved(folder / "original"), output_saved_model_dir=str(folder / "converted"))
    assert (folder / "converted" / "saved_model.pb").exists()


def case_a_frozen_graph(folder):
    check(execute(1, frozen_graph=frozen())["frozen_graph"])


def case_the_workflow_with_a_saved_model(folder):
    x = numbers(1, 8, 8, 3)
    names = execute(
        3, input_saved_model_dir=saved(folder / "original"), output_saved_model_dir=str(folder / "converted"), output_tensor="logits:0", input_tensor="input:0", input_data=x
    )
    np.testing.assert_allclose(names["output"][0], run(frozen(), x)[0], atol=2e-2)


def case_the_workflow_with_a_frozen_graph(folder):
    (folder / "graph.pb").write_bytes(frozen().SerializeToString())
    names = execute((4, 5), frozen_graph_file=str(folder / "graph.pb"), feed_dict={"import/input:0": numbers(2, 8, 8, 3)})
    assert [output.name for output in names["output_node"]] == ["import/logits", "import/classes"]


def case_the_workflow_with_a_checkpoint(folder):
    from trt_convert_cases_1 import build

    with tf.Graph().as_default(), tf.Session() as session:
        build(variables=True)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model.ckpt"))
    check(execute(6, 1, checkpoint=str(folder / "model.ckpt"))["frozen_graph"])


def case_calibration_and_its_table(folder):
    with tf.io.TFRecordWriter(str(folder / "data")) as writer:
        for _ in range(8):
            writer.write(numbers(8, 8, 3).tobytes())
    parse = lambda record: tf.reshape(tf.io.decode_raw(record, tf.float32), (1, 8, 8, 3))  # noqa: E731
    names = execute(10, 9, frozen_graph=frozen(), data_files=[str(folder / "data")], parse=parse, num_calib_inputs=8, batch_size=1)
    graph = names["frozen_graph"]
    execute((11, 12), folder=folder, trt_graph=graph)
    table = (folder / f"{engine(graph).name}.calib_table").read_bytes()
    assert table == engine(graph).attr["calibration_data"].s
    # It loads elsewhere, and gives the same results.
    x = numbers(4, 8, 8, 3)
    model = lanner.tf.convert(frozen(), denied_nodes=["logits", "classes"], precision="int8", calibration=str(folder / f"{engine(graph).name}.calib_table"))
    np.testing.assert_array_equal(np.asarray(model({"input": x})["classes"]), run(graph, x)[1])


def case_ranges_of_the_user(folder):
    names = {"tf": tf, "kernel": numbers(16, 8) / 4, "bias": numbers(8) / 4}
    exec(example(14), names)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 16], name="input")
        logits = tf.identity(names["my_graph"](x), name="logits")
        tf.argmax(logits, 1, name="classes")
        original = graph.as_graph_def()
    converted = execute(13, frozen_graph=original)["frozen_graph"]
    assert engine(converted).attr["precision_mode"].s == b"INT8" and not engine(converted).attr["use_calibration"].b
    x = np.clip(numbers(1, 16), -1, 1)
    np.testing.assert_allclose(run(converted, x)[0], run(original, x)[0], atol=0.1)


def case_the_plan(folder):
    graph = execute(1, frozen_graph=frozen())["frozen_graph"]
    execute(15, folder=folder, trt_graph=graph)
    assert (folder / "TRTEngineOp_0.plan").read_bytes() == engine(graph).attr["serialized_segment"].s


if __name__ == "__main__":
    run_cases(globals())
