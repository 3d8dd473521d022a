"""Saves models with TensorFlow and writes what it answers: run by test_saved_models.py in TensorFlow's own Python."""

import os
import pickle
import sys
from pathlib import Path

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def keras_network(folder):
    """Convolutions, batch normalisation with moving averages of its own, a residual sum, a softmax."""
    x = inputs = keras.Input((16, 16, 3), name="picture")
    for _ in range(2):
        y = keras.layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
        y = keras.layers.ReLU(6.0)(keras.layers.BatchNormalization()(y))
        x = keras.layers.Add()([x, y]) if x.shape[-1] == 8 else y
    x = keras.layers.Dense(5, activation="softmax")(keras.layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, x)
    for weight in model.weights:
        if "moving" in weight.path:
            weight.assign(RANDOM.uniform(0.5, 1.5, weight.shape))
    model.export(folder, verbose=False)
    given = numbers(3, 16, 16, 3)
    return {"inputs": [given], "outputs": [model(given, training=False).numpy()]}


class Signatures(tf.Module):
    def __init__(self):
        super().__init__()
        self.table = tf.Variable(numbers(10, 4), name="table")
        self.scale = tf.Variable(2.0, name="scale")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "ids")])
    def look_up(self, ids):
        return {"rows": tf.gather(self.table, ids) * self.scale}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def branches(self, x):
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * self.scale, lambda: x - self.scale)
        return {"y": tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + self.table[0]), [0, y])[1]}


def signatures(folder):
    module = Signatures()
    tf.saved_model.save(module, folder, signatures={"look_up": module.look_up, "branches": module.branches})
    ids, x = np.array([3, 0, 9, 3], np.int32), numbers(2, 4)
    return {
        "look_up": (ids, module.look_up(ids)["rows"].numpy()),
        "branches": [(x, module.branches(x)["y"].numpy()), (-abs(x), module.branches(-abs(x))["y"].numpy())],
    }


def early(folder):
    """TensorFlow 1: a variable in parts, a SavedModel and a MetaGraph with its checkpoint."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 6], name="x")
        with v1.variable_scope("net", partitioner=v1.fixed_size_partitioner(3)):
            w = v1.get_variable("w", [6, 4], initializer=v1.random_normal_initializer(seed=1))
        y = tf.nn.relu(tf.matmul(x, tf.concat(list(w), 0)), name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / "saved"), {"x": x}, {"y": y})
        v1.train.Saver().save(session, str(folder / "model.ckpt"))
        given = numbers(5, 6)
        return {"x": given, "y": session.run(y, {x: given})}


if __name__ == "__main__":
    root = Path(sys.argv[1])
    made = {
        "keras": keras_network(root / "keras"),
        "signatures": signatures(root / "signatures"),
        "early": early(root / "early"),
    }
    (root / "answers.pickle").write_bytes(pickle.dumps(made))
