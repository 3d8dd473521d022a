"""Models with a node that only TensorFlow runs, and data to calibrate them with. As a program, in a Python with TensorFlow:

    python calibration_models.py FOLDER

writes FOLDER/model and what `data()` gives as FOLDER/data.npz."""

import os
import sys
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf  # noqa: E402


def data(batches=3, seed=1):
    """Batches of different distributions, so that their order could matter."""
    random = np.random.default_rng(seed)
    return [{"x": (random.normal(size=(4, 8, 8, 3)) * (1 + number)).astype(np.float32)} for number in range(batches)]


class Mixed(tf.Module):
    """Two networks with `middle` between them."""

    def __init__(self, middle):
        super().__init__()
        random = np.random.default_rng(0)
        shapes = {"kernel": (3, 3, 3, 8), "second": (3, 3, 8, 8), "weights": (8, 16), "last": (16, 5)}
        self.values = {name: tf.Variable(random.normal(size=shape).astype(np.float32) / 3, name=name) for name, shape in shapes.items()}
        self.middle = middle

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3], tf.float32, "x")])
    def serve(self, x):
        y = tf.nn.relu(tf.nn.conv2d(x, self.values["kernel"], 1, "SAME"))
        y = tf.nn.relu(tf.nn.conv2d(y, self.values["second"], 2, "SAME"))
        y = tf.reduce_mean(self.middle(y), [1, 2])
        y = tf.nn.relu(tf.matmul(y, self.values["weights"]))
        return {"y": tf.matmul(y, self.values["last"])}


def by_text(y):
    """`y`, exactly: by way of text, which only TensorFlow has."""
    return tf.strings.to_number(tf.strings.as_string(y, precision=9, scientific=True), name="middle")


def by_itself(y):
    return tf.identity(y, name="middle")


def save(module, folder):
    tf.saved_model.save(module, str(folder), signatures=module.serve)


if __name__ == "__main__":
    root = Path(sys.argv[1])
    save(Mixed(by_text), root / "model")
    np.savez(root / "data.npz", *[batch["x"] for batch in data()])
