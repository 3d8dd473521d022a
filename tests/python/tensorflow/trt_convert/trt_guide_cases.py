"""The guide's examples of TensorFlow 2: run by test_trt_convert.py, as a script under `python -m lanner.compat`."""

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework import convert_to_constants  # noqa: E402
from tensorflow.python.saved_model import signature_constants, tag_constants  # noqa: E402
from tensorflow_cases import run_cases  # noqa: E402
from tf_trt_guide import example  # noqa: E402


class TwoPictures(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(np.random.default_rng(0).normal(0, 0.2, (3, 3, 3, 4)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, name) for name in ("a", "b")])
    def compare(self, a, b):
        return tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(a, self.kernel, 1, "SAME") - tf.nn.conv2d(b, self.kernel, 1, "SAME")), [1, 2])


def saved(folder):
    module = TwoPictures()
    tf.saved_model.save(module, folder, signatures=module.compare)
    return module


def case_the_snippet(folder):
    saved(folder / "original")
    exec(example(2), {"input_saved_model_dir": str(folder / "original"), "output_saved_model_dir": str(folder / "converted")})
    assert not list((Path(folder) / "converted" / "assets").glob("*"))  # no engine is built


def case_the_workflow(folder):
    module = saved(folder / "original")
    pictures = [np.random.default_rng(n).normal(size=(8, 16, 16, 3)).astype(np.float32) for n in (1, 2)]
    names = {
        "np": np,
        "convert_to_constants": convert_to_constants,
        "signature_constants": signature_constants,
        "tag_constants": tag_constants,
        "input_saved_model_dir": str(folder / "original"),
        "output_saved_model_dir": str(folder / "converted"),
        "input_data": [tf.constant(picture) for picture in pictures],
    }
    exec(example(7) + example(8), names)
    np.testing.assert_allclose(names["output"], module.compare(*pictures), atol=1e-2)
    assert len(list((folder / "converted" / "assets").glob("trt-serialized-engine.*"))) == 1


if __name__ == "__main__":
    run_cases(globals())
