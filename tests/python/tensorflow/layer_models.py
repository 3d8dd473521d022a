"""Run by a Python with TensorFlow: Keras layers and functions of tf.image and tf.math, frozen, with inputs and answers.

    python layer_models.py FOLDER
"""

import os
import pickle
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2  # noqa: E402

layers = keras.layers
PICTURE = (9, 7, 3)


def sequence(*parts):
    return lambda x: keras.Sequential(parts)(x)


def attention(x):
    return layers.LayerNormalization()(layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True) + x)


def boxes(x):
    corner, size = tf.abs(x[0, :, :2]), tf.abs(x[0, :, 2:]) + 0.1
    return tf.image.non_max_suppression_padded(tf.concat([corner, corner + size], 1), x[0, :, 0], 5, 0.5, pad_to_max_output_size=True)[0]


def counting_loop(x):
    return tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 2 + tf.cast(i, tf.float32)), (0, x))[1]


def activations(x):
    names = ["relu6", "elu", "selu", "gelu", "silu", "softplus", "softsign", "exponential", "hard_sigmoid", "hard_silu", "leaky_relu",
             "log_sigmoid", "mish", "celu", "glu", "hard_tanh", "hard_shrink", "soft_shrink", "squareplus", "tanh_shrink",
             "sparse_plus", "softmax", "log_softmax"]  # fmt: skip
    return layers.Concatenate(1)([layers.Activation(name)(x) for name in names])


# Name: makes layers to call on a batch, the sizes of one example.
LAYERS = {
    "lstm": (lambda: sequence(layers.LSTM(4, return_sequences=True), layers.LSTM(3)), (7, 5)),
    "gru both ways": (lambda: sequence(layers.Bidirectional(layers.GRU(4, return_sequences=True))), (7, 5)),
    "simple rnn": (lambda: sequence(layers.SimpleRNN(4)), (5, 3)),
    "lstm convolution": (lambda: sequence(layers.ConvLSTM2D(2, 3)), (3, 6, 6, 2)),
    "time distributed": (lambda: sequence(layers.TimeDistributed(layers.Dense(3)), layers.Flatten()), (4, 5)),
    "attention": (lambda: attention, (7, 8)),
    "dot attention": (lambda: lambda x: layers.Attention()([x, x]), (6, 4)),
    "additive attention": (lambda: lambda x: layers.AdditiveAttention()([x, x]), (6, 4)),
    "grouped attention": (lambda: lambda x: layers.GroupQueryAttention(4, 4, 2)(x, x), (5, 8)),
    "causal convolution": (lambda: sequence(layers.Conv1D(4, 3, padding="causal", dilation_rate=2), layers.GlobalMaxPooling1D()), (9, 3)),
    "separable": (lambda: sequence(layers.SeparableConv2D(4, 3, dilation_rate=2), layers.DepthwiseConv2D(3, strides=2)), (11, 9, 3)),
    "transposed": (lambda: sequence(layers.Conv2DTranspose(3, 3, strides=2, padding="same"), layers.UpSampling2D(2, interpolation="bilinear")), (4, 5, 2)),
    "volumes": (lambda: sequence(layers.Conv3D(2, 2), layers.MaxPooling3D(2), layers.Conv3DTranspose(2, 3, strides=2)), (5, 6, 5, 2)),
    "normalisation": (lambda: sequence(layers.BatchNormalization(), layers.GroupNormalization(3), layers.UnitNormalization()), (4, 4, 6)),
    "rms": (lambda: sequence(layers.RMSNormalization()), (4, 6)),
    "activations": (lambda: activations, (6,)),
    "preprocessing": (lambda: sequence(layers.Rescaling(1 / 127.5, -1), layers.Resizing(12, 8), layers.CenterCrop(8, 8),
        layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2, 3]), layers.ZeroPadding2D(((1, 2), (0, 1))), layers.Cropping2D(1)), PICTURE),
    "discretisation": (lambda: sequence(layers.Discretization(bin_boundaries=[-1.0, 0, 1])), (6,)),
    "reshaping": (lambda: sequence(layers.Reshape((3, 4)), layers.Permute((2, 1)), layers.Flatten(), layers.RepeatVector(2)), (12,)),
    "merging": (lambda: lambda x: layers.Concatenate()([layers.Add()([x, x]), layers.Maximum()([x, -x]), layers.Average()([x, x]), layers.Multiply()([x, x])]), (4,)),
}
# Name: a function of TensorFlow alone, the sizes of one example.
FUNCTIONS = {
    "resize area": (lambda x: tf.image.resize(x, (4, 3), "area"), PICTURE),
    "resize antialias": (lambda x: tf.image.resize(x, (4, 5), "lanczos3", antialias=True), PICTURE),
    "resize bicubic": (lambda x: tf.image.resize(x, (13, 5), "bicubic"), PICTURE),
    "colours": (lambda x: tf.image.adjust_hue(tf.image.adjust_saturation(tf.image.adjust_contrast(x, 1.3), 0.7), 0.1), PICTURE),
    "grey": (lambda x: tf.image.rgb_to_grayscale(tf.image.flip_left_right(tf.image.rot90(x))), PICTURE),
    "standardisation": (lambda x: tf.image.per_image_standardization(x), PICTURE),
    "yuv": (lambda x: tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(x)), PICTURE),
    "gradients": (lambda x: tf.image.sobel_edges(x), PICTURE),
    "patches": (lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), PICTURE),
    "ssim": (lambda x: tf.image.ssim(x, x * 0.9, 1.0, filter_size=5), (14, 12, 3)),
    "crop or pad": (lambda x: tf.image.resize_with_pad(tf.image.resize_with_crop_or_pad(x, 6, 12), 10, 10), PICTURE),
    "boxes": (boxes, (8, 4)),
    "top k": (lambda x: tf.gather(x, tf.math.top_k(x, 2).indices, batch_dims=1, axis=1), (6,)),
    "sorting": (lambda x: tf.sort(x, axis=1, direction="DESCENDING") + tf.cast(tf.argsort(x, axis=1), tf.float32), (6,)),
    "boolean mask": (lambda x: tf.boolean_mask(x, x[:, 0] > -10), (3,)),
    "segments": (lambda x: tf.math.unsorted_segment_mean(x, tf.constant([0, 1]), 3), (3,)),
    "statistics": (lambda x: tf.concat([tf.math.reduce_std(x, 1), tf.math.reduce_logsumexp(x, 1), tf.norm(x, axis=1)], 0), (6,)),
    "moving": (lambda x: tf.roll(tf.reverse(x, [1]), [1, 2], [1, 2]) + tf.linalg.band_part(x, 1, 0), (4, 5)),
    "one hot": (lambda x: tf.one_hot(tf.cast(tf.math.abs(x) * 3, tf.int32), 4), (5,)),
    "loop": (counting_loop, (3,)),
    "map": (lambda x: tf.map_fn(lambda row: row * tf.reduce_sum(row), x), (3,)),
    "scan": (lambda x: tf.scan(lambda sum, row: sum * 0.5 + row, x), (3,)),
    "condition": (lambda x: tf.cond(tf.reduce_sum(x) > 100, lambda: x * 2, lambda: x - 1), (3,)),
}  # fmt: skip


def freeze(call, sizes, folder, index):
    """Writes the frozen graph of `call` on an open batch, with While and If as they are."""
    function = tf.function(lambda x: call(x))
    traced = function.get_concrete_function(tf.TensorSpec([None, *sizes], tf.float32))
    frozen = convert_variables_to_constants_v2(traced, lower_control_flow=False)
    low, high = (0, 1) if len(sizes) == 3 else (-1, 1)
    x = np.random.default_rng(index).uniform(low, high, (2, *sizes)).astype(np.float32)
    path = folder / f"{index:03}.pb"
    path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
    return {"path": path.name, "x": x, "y": np.asarray(function(tf.constant(x))), "output": frozen.outputs[0].op.name}


def keras_model(make, sizes):
    keras.utils.set_random_seed(0)
    inputs = keras.Input(sizes)
    return keras.Model(inputs, make()(inputs))


def main():
    folder = Path(sys.argv[1])
    made = {}
    for index, (name, (make, sizes)) in enumerate((LAYERS | FUNCTIONS).items()):
        try:
            call = keras_model(make, sizes) if name in LAYERS else make
            made[name] = freeze(call, sizes, folder, index)
        except Exception as error:  # noqa: BLE001 - any failure is reported as the model's
            made[name] = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
    (folder / "models.pickle").write_bytes(pickle.dumps(made))


if __name__ == "__main__":
    main()
