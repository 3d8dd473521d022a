"""Windows, normalisations, products, recurrent layers, interpolation, boxes."""

from collections.abc import Iterable

import numpy as np

from definitions.case import C, Case, between, f32, i64, integers, operator, reals


def windows(version: int, rank: int = 2) -> Iterable[dict]:
    """Attributes of a window of size 3 along each of two axes."""
    yield {"kernel_shape": [3, 2]}
    yield {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    yield {"kernel_shape": [3, 2], "pads": [0, 1, 2, 0], "strides": [2, 1]}
    yield {"kernel_shape": [3, 3], "strides": [2, 3]}
    for auto_pad in ("VALID", "SAME_UPPER", "SAME_LOWER", "NOTSET"):
        yield {"kernel_shape": [3, 2], "auto_pad": auto_pad, "strides": [2, 2]}


@operator("MaxPool", "AveragePool", "LpPool")
def pools(version: int) -> Iterable[Case]:
    x = reals(2, 3, 9, 8)
    for window in windows(version):
        yield C(x, **window)
        yield C(x, **window, p=3)
        if "auto_pad" not in window:
            yield C(x, **window, ceil_mode=1)
            yield C(x, **window, dilations=[2, 1])
            yield C(x, **window, dilations=[1, 2], ceil_mode=1)
        for include in (0, 1):
            yield C(x, **window, count_include_pad=include)
            if "auto_pad" not in window:
                yield C(x, **window, count_include_pad=include, ceil_mode=1)
        for order in (0, 1):
            yield C(x, **window, storage_order=order, outputs=2)
    yield C(reals(1, 2, 7), kernel_shape=[3], strides=[2])
    yield C(reals(1, 2, 5, 6, 4), kernel_shape=[2, 3, 2])


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pools(version: int) -> Iterable[Case]:
    for shape in ((2, 3, 5, 4), (1, 2, 6), (1, 2, 3, 2, 4)):
        yield C(reals(*shape))
        for p in (1, 3):
            yield C(reals(*shape), p=p)


@operator("MaxUnpool")
def unpool(version: int) -> Iterable[Case]:
    x, places = reals(1, 2, 2, 2), np.array([0, 3, 8, 14], np.int64).reshape(1, 1, 2, 2)
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield C(x, np.concatenate([places, places + 16], 1), **window)
    yield C(reals(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]]), i64(1, 1, 5, 5), **window)
    yield C(x, np.concatenate([places, places + 25], 1), i64(1, 2, 5, 5), **window, constants=[2])
    yield C(reals(1, 1, 2, 2), np.array([[[[0, 2], [3, 8]]]]), kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1])


def convolutions(version: int) -> Iterable[dict]:
    yield {}
    yield from ({key: value for key, value in window.items() if key != "kernel_shape"} for window in windows(version) if window["kernel_shape"] == [3, 2])
    yield {"kernel_shape": [3, 2]}
    yield {"dilations": [2, 1]}
    yield {"dilations": [2, 3], "pads": [2, 3, 2, 3]}


@operator("Conv")
def conv(version: int) -> Iterable[Case]:
    x, w, b = reals(2, 4, 9, 8), reals(6, 4, 3, 2, seed=1), reals(6, seed=2)
    for window in convolutions(version):
        yield C(x, w, **window)
        yield C(x, w, b, **window, constants=[1, 2])
    for group in (2, 4):
        yield C(x, reals(8, 4 // group, 3, 2, seed=1), reals(8, seed=2), group=group)
    yield C(reals(1, 2, 7), reals(3, 2, 3, seed=1))
    yield C(reals(1, 2, 5, 6, 4), reals(3, 2, 2, 3, 2, seed=1))


@operator("ConvTranspose")
def conv_transpose(version: int) -> Iterable[Case]:
    x, w, b = reals(2, 4, 5, 6), reals(4, 3, 3, 2, seed=1), reals(3, seed=2)
    for window in convolutions(version):
        yield C(x, w, **window)
        yield C(x, w, b, **window, constants=[1, 2])
    yield C(x, w, strides=[2, 2], output_padding=[1, 1])
    yield C(x, w, strides=[2, 2], output_padding=[1, 0], pads=[1, 0, 1, 0])
    yield C(x, w, strides=[2, 2], output_shape=[10, 12])
    yield C(x, w, strides=[2, 2], output_shape=[11, 12], auto_pad="SAME_LOWER")
    yield C(x, reals(4, 2, 3, 2, seed=1), reals(4, seed=2), group=2)


@operator("ConvInteger")
def conv_integer(version: int) -> Iterable[Case]:
    x, w = integers(0, 255, 2, 4, 9, 8, dtype=np.uint8), integers(0, 255, 6, 4, 3, 2, seed=1, dtype=np.uint8)
    zero = np.array(3, np.uint8)
    for window in convolutions(version):
        yield C(x, w, zero, **window)
        yield C(x, w, zero, np.array(100, np.uint8), **window)
    yield C(x, integers(0, 255, 6, 2, 3, 2, seed=1, dtype=np.uint8), group=2)


@operator("QLinearConv")
def quantized_conv(version: int) -> Iterable[Case]:
    scales = [np.array(s, np.float32) for s in (0.02, 0.03, 0.15)]
    zero = np.array(128, np.uint8)
    x, w = integers(0, 255, 1, 4, 9, 8, dtype=np.uint8), integers(0, 255, 6, 4, 3, 2, seed=1, dtype=np.uint8)
    for window in convolutions(version):
        yield C(x, scales[0], zero, w, scales[1], zero, scales[2], zero, **window, constants=[1, 2, 3, 4, 5, 6, 7])
    yield C(x, scales[0], zero, integers(0, 255, 6, 2, 3, 2, seed=1, dtype=np.uint8), scales[1], zero, scales[2], zero, group=2, constants=[1, 2, 3, 4, 5, 6, 7])


@operator("DeformConv")
def deform_conv(version: int) -> Iterable[Case]:
    x, w = reals(1, 4, 7, 7), reals(2, 4, 3, 3, seed=1)
    yield C(x, w, reals(1, 18, 5, 5, seed=2, scale=0.3))
    yield C(x, w, reals(1, 18, 5, 5, seed=2, scale=0.3), reals(2, seed=3), between(0, 1, 1, 9, 5, 5, seed=4), kernel_shape=[3, 3])
    yield C(x, w, reals(1, 36, 4, 4, seed=2, scale=0.3), pads=[1, 1, 1, 1], strides=[2, 2], offset_group=2)
    yield C(x, w, reals(1, 18, 3, 3, seed=2, scale=0.3), dilations=[2, 2])
    yield C(x, reals(2, 2, 3, 3, seed=1), reals(1, 18, 5, 5, seed=2, scale=0.3), group=2)


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(version: int) -> Iterable[Case]:
    for shape in ((2, 3, 4, 5), (3, 7)):
        yield C(reals(*shape))
        for axis in range(-len(shape) if version >= 11 else 0, len(shape)):
            yield C(reals(*shape), axis=axis)
    yield C(f32(1, np.nan, 2, -np.inf, 1, 0, 5, 3).reshape(2, 4), axis=1)


@operator("BatchNormalization")
def batch_normalization(version: int) -> Iterable[Case]:
    x = reals(2, 3, 4, 5)
    own = [reals(3, seed=1), reals(3, seed=2), reals(3, seed=3), between(0.5, 2, 3, seed=4)]
    yield C(x, *own)
    for attributes in ({"epsilon": 0.1}, {"momentum": 0.5}, {"spatial": 1}, {"training_mode": 0}):
        yield C(x, *own, **attributes)
    yield C(x, *own, training_mode=1, momentum=0.7, outputs=3)


@operator("InstanceNormalization")
def instance_normalization(version: int) -> Iterable[Case]:
    for attributes in ({}, {"epsilon": 0.1}):
        yield C(reals(2, 3, 4, 5), reals(3, seed=1), reals(3, seed=2), **attributes)


@operator("GroupNormalization")
def group_normalization(version: int) -> Iterable[Case]:
    for attributes in ({}, {"epsilon": 0.1}, {"stash_type": 1}):
        yield C(reals(2, 6, 4, 5), reals(6, seed=1), reals(6, seed=2), num_groups=3, **attributes)


@operator("LayerNormalization")
def layer_normalization(version: int) -> Iterable[Case]:
    x = reals(2, 3, 4)
    yield C(x, reals(4, seed=1))
    for attributes in ({}, {"epsilon": 0.1}, {"stash_type": 1}, {"axis": -1}):
        yield C(x, reals(4, seed=1), reals(4, seed=2), **attributes)
    yield C(x, reals(3, 4, seed=1), reals(3, 4, seed=2), axis=1)
    yield C(x, reals(3, 4, seed=1), axis=-2, outputs=3)


@operator("RMSNormalization")
def rms_normalization(version: int) -> Iterable[Case]:
    x = reals(2, 3, 4)
    for attributes in ({}, {"epsilon": 0.1}, {"stash_type": 1}, {"axis": -1}):
        yield C(x, reals(4, seed=1), **attributes)
    yield C(x, reals(3, 4, seed=1), axis=1)


@operator("LRN")
def response(version: int) -> Iterable[Case]:
    for attributes in ({"size": 3}, {"size": 5, "alpha": 0.1}, {"size": 3, "beta": 0.5, "bias": 2.0}):
        yield C(reals(2, 7, 4, 5), **attributes)


@operator("LpNormalization")
def lp_normalization(version: int) -> Iterable[Case]:
    for attributes in ({}, {"axis": 0}, {"axis": 1, "p": 1}, {"p": 2}):
        yield C(reals(3, 4, 5), **attributes)


@operator("MeanVarianceNormalization")
def mean_variance(version: int) -> Iterable[Case]:
    for attributes in ({}, {"axes": [0, 2, 3]}, {"axes": [1]}):
        yield C(reals(2, 3, 4, 5), **attributes)


@operator("MatMul")
def matmul(version: int) -> Iterable[Case]:
    for a, b in (((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2))):
        yield C(reals(*a), reals(*b, seed=1))


@operator("Gemm")
def gemm(version: int) -> Iterable[Case]:
    for turned_a in (0, 1):
        for turned_b in (0, 1):
            a, b = reals(*((4, 3) if turned_a else (3, 4))), reals(*((5, 4) if turned_b else (4, 5)), seed=1)
            for shape in ((3, 5), (5,), (3, 1), (1,)):
                yield C(a, b, reals(*shape, seed=2), transA=turned_a, transB=turned_b)
            yield C(a, b, reals(3, 5, seed=2), transA=turned_a, transB=turned_b, alpha=0.5, beta=2.0)


@operator("MatMulInteger")
def matmul_integer(version: int) -> Iterable[Case]:
    a, b = integers(0, 255, 3, 4, dtype=np.uint8), integers(-128, 127, 4, 5, dtype=np.int8)
    yield C(a, b)
    yield C(a, b, np.array(7, np.uint8), np.array(-3, np.int8))
    yield C(a, b, np.array(7, np.uint8), integers(-9, 9, 5, dtype=np.int8))


@operator("QLinearMatMul")
def quantized_matmul(version: int) -> Iterable[Case]:
    a, b = integers(0, 255, 3, 4, dtype=np.uint8), integers(0, 255, 4, 5, seed=1, dtype=np.uint8)
    scale, zero = [np.array(s, np.float32) for s in (0.02, 0.03, 0.05)], np.array(120, np.uint8)
    yield C(a, scale[0], zero, b, scale[1], zero, scale[2], zero)
    # Powers of two, so that ties are exact; the second matrix has twice the scales of the first.
    half, wide = np.array(0.5, np.float32), np.array(16, np.float32)
    columns = f32(0.25, 0.5, 0.125, 0.25, 0.5)
    stack = integers(0, 255, 2, 4, 5, seed=2, dtype=np.uint8)
    scales = np.stack([columns, 2 * columns]).reshape(2, 1, 5)
    yield C(integers(0, 255, 2, 3, 4, dtype=np.uint8), half, zero, stack, scales, np.full((2, 1, 5), 120, np.uint8), wide, zero)


@operator("Einsum")
def einsum(version: int) -> Iterable[Case]:
    yield C(reals(3, 4), equation="ij->ji")
    yield C(reals(3, 4), equation="ij->i")
    yield C(reals(2, 3, 4), reals(2, 4, 5, seed=1), equation="bij,bjk->bik")
    yield C(reals(3, 3), equation="ii->i")
    yield C(reals(2, 3, 4), reals(4, 5, seed=1), equation="...j,jk->...k")


@operator("Det")
def det(version: int) -> Iterable[Case]:
    yield C(reals(4, 4))
    yield C(reals(2, 3, 3))


def recurrent(gates: int, states: int):
    def generator(version: int) -> Iterable[Case]:
        steps, batch, width, size = 4, 3, 5, 6
        x = reals(steps, batch, width)
        for direction in ("forward", "reverse", "bidirectional"):
            count = 2 if direction == "bidirectional" else 1
            w, r = reals(count, gates * size, width, seed=1, scale=0.5), reals(count, gates * size, size, seed=2, scale=0.5)
            b = reals(count, 2 * gates * size, seed=3, scale=0.5)
            own = {"hidden_size": size, "direction": direction, "outputs": 1 + states}
            yield C(x, w, r, **own)
            yield C(x, w, r, b, **own, clip=0.5)
            start = [reals(count, batch, size, seed=4 + i) for i in range(states)]
            yield C(x, w, r, b, np.array([4, 2, 3], np.int32), *start, **own)
            yield C(x, w, r, None, None, *start, **own)
            names = {1: ["Relu"], 3: ["Sigmoid", "Relu"], 4: ["Sigmoid", "Relu", "Tanh"]}[gates]
            yield C(x, w, r, b, **own, activations=names * count)
            leaky = {1: ["LeakyRelu"], 3: ["HardSigmoid", "LeakyRelu"], 4: ["HardSigmoid", "LeakyRelu", "Tanh"]}[gates]
            numbers = {"activation_alpha": [0.2] * len(leaky) * count, "activation_beta": [0.5] * len(leaky) * count}
            yield C(x, w, r, b, **own, activations=leaky * count, **numbers)
            yield C(x, w, r, b, **own, linear_before_reset=1)
            yield C(x, w, r, b, **own, linear_before_reset=0)
            yield C(x, w, r, b, **own, input_forget=1)
            yield C(x.transpose(1, 0, 2).copy(), w, r, b, **own, layout=1)
            if gates == 4:
                yield C(x, w, r, b, None, *start, reals(count, 3 * size, seed=9, scale=0.5), **own)

    return generator


operator("RNN")(recurrent(1, 1))
operator("GRU")(recurrent(3, 1))
operator("LSTM")(recurrent(4, 2))


@operator("Upsample")
def upsample(version: int) -> Iterable[Case]:
    x = reals(1, 2, 3, 4)
    for mode in ("nearest", "linear"):
        for scales in ((1, 1, 2, 3), (1, 1, 1.5, 2)):
            if version < 9:
                yield C(x, mode=mode, scales=[float(s) for s in scales])
            else:
                yield C(x, f32(*scales), mode=mode, constants=[1])
    if version < 9:
        yield C(x, scales=[1.0, 1.0, 2.0, 2.0])


PLACES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "half_pixel_symmetric")
SIZES = ((7, 9), (14, 18), (3, 4), (10, 5), (1, 1), (2, 12))


@operator("Resize")
def resize(version: int) -> Iterable[Case]:
    x = reals(1, 2, 7, 9)
    roi = np.zeros(0, np.float32)
    if version < 11:
        for mode in ("nearest", "linear"):
            yield C(x, f32(1, 1, 2, 3), mode=mode, constants=[1])
            yield C(x, f32(1, 1, 0.5, 0.7), mode=mode, constants=[1])
        return
    for mode in ("nearest", "linear", "cubic"):
        for place in PLACES:
            if (place == "tf_half_pixel_for_nn" and (mode != "nearest" or version >= 13)) or (place == "half_pixel_symmetric" and version < 19):
                continue
            own = {"mode": mode, "coordinate_transformation_mode": place}
            if place == "tf_half_pixel_for_nn":
                own["nearest_mode"] = "floor"
            for scales in ((2, 3), (0.5, 0.7), (0.3, 1.6), (1.3, 0.45)):
                yield C(x, roi, f32(1, 1, *scales), **own, constants=[1, 2])
            for sizes in SIZES:
                yield C(x, roi, np.zeros(0, np.float32), i64(1, 2, *sizes), **own, constants=[1, 2, 3])
    yield from resize_details(version, x, roi)


def resize_details(version: int, x: np.ndarray, roi: np.ndarray) -> Iterable[Case]:
    to = {"constants": [1, 2, 3]}
    none = np.zeros(0, np.float32)
    for sizes in ((3, 4), (11, 20)):
        whole = i64(1, 2, *sizes)
        for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            yield C(x, roi, none, whole, nearest_mode=nearest, **to)
            yield C(x, roi, none, whole, nearest_mode=nearest, coordinate_transformation_mode="asymmetric", **to)
        for cubic in ({"cubic_coeff_a": -0.5}, {"exclude_outside": 1}, {"cubic_coeff_a": -0.5, "exclude_outside": 1}):
            yield C(x, roi, none, whole, mode="cubic", **cubic, **to)
        for mode in ("linear", "cubic"):
            yield C(x, roi, none, whole, mode=mode, antialias=1, **to)
            yield C(x, roi, none, whole, mode=mode, antialias=1, exclude_outside=1, **to)
        yield C(x, roi, none, i64(*sizes), axes=[2, 3], mode="linear", **to)
        yield C(x, roi, none, i64(*sizes[::-1]), axes=[3, 2], mode="linear", **to)
        for policy in ("stretch", "not_larger", "not_smaller"):
            yield C(x, roi, none, i64(*sizes), axes=[2, 3], mode="linear", keep_aspect_ratio_policy=policy, **to)
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    yield C(x, f32(0, 0, 0.2, 0.1, 1, 1, 0.8, 0.7), none, i64(1, 2, 4, 5), **crop, **to)
    yield C(x, f32(0, 0, -0.2, 0.1, 1, 1, 0.8, 1.3), none, i64(1, 2, 4, 5), extrapolation_value=7.0, **crop, **to)


@operator("GridSample")
def grid_sample(version: int) -> Iterable[Case]:
    x, grid = reals(2, 3, 5, 6), reals(2, 4, 4, 2, seed=1)
    for mode in ("linear", "nearest", "cubic") if version >= 20 else ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                yield C(x, grid, mode=mode, padding_mode=padding, align_corners=align)
                if version >= 20 and mode != "cubic":
                    yield C(reals(1, 2, 3, 4, 5), reals(1, 2, 3, 4, 3, seed=1), mode=mode, padding_mode=padding, align_corners=align)


@operator("AffineGrid")
def affine_grid(version: int) -> Iterable[Case]:
    for align in (0, 1):
        yield C(reals(2, 2, 3), i64(2, 3, 4, 5), align_corners=align, constants=[1])
        yield C(reals(1, 3, 4), i64(1, 3, 2, 4, 5), align_corners=align, constants=[1])


@operator("RoiAlign")
def roi_align(version: int) -> Iterable[Case]:
    x, boxes, images = reals(2, 3, 8, 9), f32(0.5, 1, 5, 6, 2, 2, 2.5, 7, -2, -1, 12, 11).reshape(3, 4), i64(0, 1, 1)
    shape = {"output_height": 3, "output_width": 2}
    for mode in ("avg", "max"):
        for place in ("half_pixel", "output_half_pixel"):
            for ratio in (0, 2):
                yield C(x, boxes, images, **shape, mode=mode, coordinate_transformation_mode=place, sampling_ratio=ratio)
        yield C(x, boxes, images, **shape, mode=mode, sampling_ratio=2)
        yield C(x, boxes * 2, images, **shape, mode=mode, sampling_ratio=2, spatial_scale=0.5)
    yield C(x, boxes, images)


@operator("MaxRoiPool")
def max_roi_pool(version: int) -> Iterable[Case]:
    boxes = f32(0, 0, 1, 5, 6, 1, 2, 2, 3, 7).reshape(2, 5)
    yield C(reals(2, 3, 8, 9), boxes, pooled_shape=[2, 3])
    yield C(reals(2, 3, 8, 9), boxes * f32(1, 2, 2, 2, 2), pooled_shape=[2, 2], spatial_scale=0.5)


@operator("NonMaxSuppression")
def non_max_suppression(version: int) -> Iterable[Case]:
    rng = np.random.default_rng(3)
    low = rng.uniform(0, 10, (2, 12, 2))
    corners = np.concatenate([low, low + rng.uniform(1, 4, (2, 12, 2))], 2).astype(np.float32)
    scores = (rng.integers(0, 9, (2, 3, 12)) / 8).astype(np.float32)
    most, overlap, threshold = i64(5), f32(0.3), f32(0.5)
    yield C(corners, scores, most)
    yield C(corners, scores, most, overlap)
    for center in (0, 1):
        yield C(corners, scores, most, overlap, threshold, center_point_box=center)
    yield C(corners, scores, i64(0), overlap, threshold)
    yield C(corners, scores, most, overlap, f32(0.0))
    yield C(corners, scores, most, None, threshold)


@operator("Attention")
def attention(version: int) -> Iterable[Case]:
    q, k, v = reals(2, 4, 3, 8), reals(2, 4, 5, 8, seed=1), reals(2, 4, 5, 8, seed=2)
    yield C(q, k, v)
    for attributes in ({"is_causal": 1}, {"scale": 0.1}, {"softcap": 2.0}, {"softmax_precision": 1}):
        yield C(q, k, v, **attributes)
    yield C(q, k, v, reals(3, 5, seed=3))
    yield C(q, k, v, integers(0, 2, 3, 5, seed=3).astype(bool) | np.eye(3, 5, dtype=bool))
    for mode in (0, 1, 2, 3):
        yield C(q, k, v, reals(3, 5, seed=3), None, None, qk_matmul_output_mode=mode, outputs=4)
    yield C(reals(2, 3, 32), reals(2, 5, 16, seed=1), reals(2, 5, 16, seed=2), q_num_heads=4, kv_num_heads=2)
    yield C(q, k, v, None, reals(2, 4, 2, 8, seed=4), reals(2, 4, 2, 8, seed=5), outputs=3)


@operator("RotaryEmbedding")
def rotary(version: int) -> Iterable[Case]:
    x, cos, sin = reals(2, 4, 3, 8), reals(50, 4, seed=1), reals(50, 4, seed=2)
    places = integers(0, 50, 2, 3)
    yield C(x, cos, sin, places)
    yield C(x, cos, sin, places, interleaved=1)
    yield C(x, cos[:, :2].copy(), sin[:, :2].copy(), places, rotary_embedding_dim=4)
    yield C(reals(2, 3, 32), cos, sin, places, num_heads=4)
    yield C(x, reals(2, 3, 4, seed=1), reals(2, 3, 4, seed=2))


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def losses(version: int) -> Iterable[Case]:
    x, labels, weights = reals(4, 5, 3), integers(0, 5, 4, 3), between(0.5, 2, 5)
    for reduction in ("mean", "sum", "none"):
        yield C(x, labels, reduction=reduction)
        yield C(x, labels, weights, reduction=reduction)
        yield C(x, labels, weights, reduction=reduction, ignore_index=2)
