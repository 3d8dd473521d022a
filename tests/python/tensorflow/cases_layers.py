"""Convolutions, pooling, normalisation, products and what TensorFlow's optimiser fuses with them."""

import numpy as np
from operator_cases import REALS, Const, F, Family, count, draw, ints, scalar

family = Family("layers")
add = family.add
# Sums of many products, whose order differs.
SUMS = {"tolerance": 1e-5, "why": "the order of a long sum"}


def label_of(*parts):
    return " ".join(str(part) for part in parts if part not in ("", "float32"))


for dtype in [*REALS, "int32"]:
    add("Conv2D", [draw((2, 5, 4, 3), dtype), Const(draw((3, 2, 3, 4), dtype, 1))], {"strides": [1, 1, 1, 1], "padding": "SAME"},
        label_of(dtype), open=[0], **({} if dtype != "float32" else SUMS))  # fmt: skip
for padding in ["SAME", "VALID"]:
    for size in [6, 7]:
        for stride in [1, 2, 3]:
            for dilation in [1, 2]:
                if stride == 1 or dilation == 1:
                    add("Conv2D", [draw((1, size, size, 2)), Const(draw((3, 2, 2, 3), seed=1))],
                        {"strides": [1, stride, stride, 1], "padding": padding, "dilations": [1, dilation, dilation, 1]},
                        label_of(padding, size, stride, dilation), open=[0, 1, 2], **SUMS)  # fmt: skip
add("Conv2D", [draw((1, 4, 5, 2)), Const(draw((3, 2, 2, 3), seed=1))],
    {"strides": [1, 2, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0]}, "explicit", open=[0, 1, 2], sample=True, **SUMS)  # fmt: skip
add("Conv2D", [draw((1, 4, 4, 4)), Const(draw((3, 3, 2, 6), seed=1))], {"strides": [1, 1, 1, 1], "padding": "SAME"}, "groups", open=[0, 1, 2], sample=True, **SUMS)
add("Conv2D", [draw((1, 4, 4, 2)), draw((3, 3, 2, 3), seed=1)], {"strides": [1, 1, 1, 1], "padding": "SAME"}, "filter fed", **SUMS)
for padding, stride, dilation in [("SAME", 1, 1), ("VALID", 2, 1), ("SAME", 2, 1)]:
    for dtype in ["float32", "float64", "float16"]:
        if dtype == "float32" or (stride, dilation) == (1, 1):
            add("DepthwiseConv2dNative", [draw((1, 5, 6, 3), dtype), Const(draw((3, 2, 3, 2), dtype, 1))],
                {"strides": [1, stride, stride, 1], "padding": padding, "dilations": [1, dilation, dilation, 1]},
                label_of(padding, stride, dilation, dtype) if (padding, stride, dilation, dtype) != ("SAME", 1, 1, "float32") else "",
                open=[0, 1, 2], **(SUMS if dtype == "float32" else {}))  # fmt: skip
add("DepthwiseConv2dNative", [draw((1, 4, 4, 2)), Const(draw((3, 3, 2, 1), seed=1))],
    {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 2, 0, 0]}, "explicit", **SUMS)  # fmt: skip
for padding, size, stride in [("SAME", 6, 2), ("SAME", 5, 2), ("VALID", 7, 2), ("VALID", 8, 2), ("SAME", 3, 1), ("VALID", 5, 1), ("SAME", 9, 3)]:
    add("Conv2DBackpropInput", [ints(1, size, size, 2), Const(draw((3, 3, 2, 4), seed=1)), draw((1, 3, 3, 4))],
        {"strides": [1, stride, stride, 1], "padding": padding}, label_of(padding, size, stride) if size != 6 else "", **SUMS)  # fmt: skip
for dtype in ["float64", "float16", "int32"]:
    add("Conv2DBackpropInput", [ints(1, 6, 6, 2), Const(draw((3, 3, 2, 4), dtype, 1)), draw((1, 3, 3, 4), dtype)],
        {"strides": [1, 2, 2, 1], "padding": "SAME"}, dtype)  # fmt: skip
add("Conv2DBackpropInput", [ints(1, 5, 6, 2), Const(draw((2, 3, 2, 4), seed=1)), draw((1, 3, 3, 4))],
    {"strides": [1, 2, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 1, 1, 0, 0, 0]}, "explicit", **SUMS)  # fmt: skip
for padding, stride in [("SAME", 1), ("VALID", 2), ("SAME", 2)]:
    add("Conv3D", [draw((1, 4, 5, 4, 2)), Const(draw((2, 3, 2, 2, 3), seed=1))],
        {"strides": [1, stride, stride, stride, 1], "padding": padding}, label_of(padding, stride) if (padding, stride) != ("SAME", 1) else "",
        open=[0, 1, 2, 3], **SUMS)  # fmt: skip
add("Conv3D", [draw((1, 4, 4, 4, 2), "float64"), Const(draw((2, 2, 2, 2, 3), "float64", 1))], {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}, "float64")
for padding, size in [("SAME", 4), ("VALID", 5)]:
    add("Conv3DBackpropInputV2", [ints(1, size, size, size, 2), Const(draw((3, 3, 3, 2, 2), seed=1)), draw((1, 2, 2, 2, 2))],
        {"strides": [1, 2, 2, 2, 1], "padding": padding}, "" if size == 4 else padding, **SUMS)  # fmt: skip

for op in ["MaxPool", "AvgPool"]:
    for padding in ["SAME", "VALID"]:
        for kernel, stride in [(2, 2), (3, 2), (3, 1), (2, 3)]:
            for size in [5, 6]:
                add(op, [draw((1, size, size + 1, 2))], {"ksize": [1, kernel, kernel, 1], "strides": [1, stride, stride, 1], "padding": padding},
                    label_of(padding, kernel, stride, size) if (padding, kernel, size) != ("SAME", 2, 5) or stride == 3 else "",
                    open=[0, 1, 2])  # fmt: skip
    for dtype in [one for one in REALS if one != "float32"]:
        add(op, [draw((1, 5, 5, 2), dtype)], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}, dtype)
    add(op + "3D", [draw((1, 4, 5, 4, 2))], {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 2, 1, 1], "padding": "SAME"}, open=[0, 1, 2, 3])
    add(op + "3D", [draw((1, 4, 5, 4, 2))], {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}, "VALID")
for dtype in ["int32", "uint8", "int8", "int16", "uint16"]:
    add("MaxPool", [draw((1, 5, 5, 2), dtype, 0, -100, 100)], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}, dtype)
add("MaxPool", [draw((1, 4, 4, 2), "int64")], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}, "int64", refused="64-bit integers")
add("MaxPool", [draw((1, 4, 5, 2))], {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}, "explicit", sample=True)
add("MaxPool", [np.full((1, 3, 3, 1), -5, F)], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}, "negative")
add("MaxPoolV2", [draw((1, 5, 5, 2)), ints(1, 3, 3, 1), ints(1, 2, 2, 1)], {"padding": "SAME"}, open=[0, 1, 2])
for batch in [False, True]:
    for padding in ["SAME", "VALID"]:
        add("MaxPoolWithArgmax", [draw((2, 5, 4, 3))], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": padding, "include_batch_in_index": batch},
            label_of(padding, "batch" if batch else "") if padding == "VALID" or batch else "", open=[0, 1, 2])  # fmt: skip
add("MaxPoolWithArgmax", [draw((2, 4, 4, 3))], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID", "Targmax": "int32"}, "int32")

for dtype in ["float32", "float64", "float16", "bfloat16", "int32", "int64"]:
    add("BiasAdd", [draw((2, 3, 4), dtype), draw((4,), dtype, 1)], label=label_of(dtype), open=True)
add("BiasAdd", [draw((2, 3, 4)), draw((3,), seed=1)], {"data_format": "NCHW"}, "NCHW", open=[0, 2])
add("BiasAdd", [draw((2, 3)), draw((3,), seed=1)], label="rank 2", open="rank")
add("BiasAddV1", [draw((2, 3)), draw((3,), seed=1)])
for op in ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"]:
    parameters = [Const(draw((3,), seed=i, low=0.5, high=2)) for i in range(4)]
    add(op, [draw((2, 3, 3, 3)), *parameters], {"is_training": False, "epsilon": 0.001}, open=True, tolerance=2e-5, why="TensorFlow folds scale and variance in another order")
    add(op, [draw((2, 3, 3, 3)), *parameters], {"is_training": True}, "training", refused="training=False")
    if op != "FusedBatchNorm":
        add(op, [draw((2, 3, 3, 3), "float16"), *parameters], {"is_training": False}, "float16")
add("FusedBatchNormV3", [draw((1, 2, 2, 2, 3)), *parameters], {"is_training": False, "data_format": "NDHWC"}, "rank 5", tolerance=2e-5, why="as above")
for radius, bias, alpha, beta in [(5, 1, 1, 0.5), (1, 2, 0.3, 0.75), (2, 1, 1e-4, 0.75)]:
    add("LRN", [draw((1, 2, 2, 7))], {"depth_radius": radius, "bias": float(bias), "alpha": float(alpha), "beta": beta}, "" if radius == 5 else str(radius), tolerance=1e-5, why="powers", open=[0, 1, 2])

for a, b in [(False, False), (True, False), (False, True), (True, True)]:
    left, right = draw((3, 2) if a else (2, 3)), draw((4, 3) if b else (3, 4), seed=1)
    add("MatMul", [left, right], {"transpose_a": a, "transpose_b": b}, label_of("ta" if a else "", "tb" if b else ""), open=True)
    for op in ["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"]:
        pair = [np.stack([left, left + 1]), np.stack([right, right * 2])]
        add(op, pair, {"adj_x": a, "adj_y": b, **({"Tout": "float32"} if op.endswith("3") else {})}, label_of("ta" if a else "", "tb" if b else ""), open=True)
for dtype in ["float64", "float16", "bfloat16", "int32", "int64"]:
    add("MatMul", [draw((2, 3), dtype), draw((3, 4), dtype, 1)], label=dtype)
for dtype in ["float64", "float16", "int32", "int64", "int16"]:
    add("BatchMatMulV2", [draw((2, 2, 3), dtype), draw((3, 4), dtype, 1)], label=label_of("broadcast", dtype))
add("BatchMatMulV3", [draw((2, 2, 3), "int8"), draw((3, 4), "int8", 1)], {"Tout": "int32"}, "int8 to int32", sample=True)
add("MatMul", [draw((0, 3)), draw((3, 4))], label="empty")
add("MatMul", [draw((2, 0)), draw((0, 4))], label="no terms")
for equation, shapes in [("ab,bc->ac", [(2, 3), (3, 4)]), ("bhqd,bhkd->bhqk", [(1, 2, 3, 4), (1, 2, 5, 4)]), ("abc->cab", [(2, 3, 4)]),
                         ("...ij,...jk->...ik", [(2, 2, 3), (3, 4)]), ("ij->", [(2, 3)]), ("bfd,dhk->bfhk", [(2, 3, 4), (4, 2, 3)]),
                         ("i,j->ij", [(2,), (3,)]), ("ii->i", [(3, 3)])]:  # fmt: skip
    add("Einsum", [[draw(shape, seed=i) for i, shape in enumerate(shapes)]], {"equation": equation}, "" if equation == "ab,bc->ac" else equation, open=True, **SUMS)

x, w, bias = draw((1, 4, 4, 2)), Const(draw((3, 3, 2, 3), seed=1)), Const(draw((3,), seed=2))
norm = [Const(draw((3,), seed=i, low=0.5, high=2)) for i in range(4)]
for steps, arguments in [(["BiasAdd"], [bias]), (["BiasAdd", "Relu"], [bias]), (["BiasAdd", "Relu6"], [bias]), (["BiasAdd", "Elu"], [bias]),
                         (["BiasAdd", "LeakyRelu"], [bias]), (["FusedBatchNorm"], norm), (["FusedBatchNorm", "Relu"], norm)]:  # fmt: skip
    add("_FusedConv2D", [x, w, arguments, []], {"fused_ops": steps, "strides": [1, 1, 1, 1], "padding": "SAME", "epsilon": 0.001,
        "leakyrelu_alpha": 0.3, "num_args": len(arguments)}, "" if steps == ["BiasAdd"] else " ".join(steps), **SUMS)  # fmt: skip
for steps in [["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Relu6"], ["BiasAdd", "LeakyRelu"], ["BiasAdd", "Tanh"], ["BiasAdd", "Sigmoid"]]:
    add("_FusedMatMul", [draw((2, 3)), Const(draw((4, 3), seed=1)), [Const(draw((4,), seed=2))]], {"fused_ops": steps, "transpose_b": True, "leakyrelu_alpha": 0.3},
        "" if steps == ["BiasAdd"] else " ".join(steps), **SUMS)  # fmt: skip


def channels_first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def first(values):
    """A list with a number for each dim, as NCHW or NCDHW."""
    return [values[0], values[-1], *values[1:-1]]


# TensorFlow's CPU device runs most layers with channels last only.
x, w, cube = draw((2, 5, 6, 4)), Const(draw((3, 2, 4, 3), seed=1)), draw((1, 4, 5, 4, 2))
strides = [1, 2, 1, 1]
for op, more in [("Conv2D", [w]), ("DepthwiseConv2dNative", [Const(draw((3, 2, 4, 2), seed=1))])]:
    for padding in ["SAME", "VALID"]:
        attributes = {"strides": strides if op == "Conv2D" else [1, 2, 2, 1], "padding": padding}
        add(op, [channels_first(x), *more], {"strides": first(attributes["strides"]), "padding": padding, "data_format": "NCHW"}, f"NCHW {padding}",
            like=([x, *more], attributes, (0, 3, 1, 2)), open=[0, 2, 3], sample=padding == "SAME", **SUMS)  # fmt: skip
padded = {"strides": strides, "padding": "EXPLICIT"}
add("Conv2D", [channels_first(x), w], {"strides": first(strides), "padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 0, 1, 2, 0, 3], "data_format": "NCHW"}, "NCHW explicit",
    like=([x, w], padded | {"explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0]}, (0, 3, 1, 2)), **SUMS)  # fmt: skip
for op in ["MaxPool", "AvgPool"]:
    attributes = {"ksize": [1, 3, 2, 1], "strides": strides, "padding": "SAME"}
    add(op, [channels_first(x)], {"ksize": [1, 1, 3, 2], "strides": first(strides), "padding": "SAME", "data_format": "NCHW"}, "NCHW",
        like=([x], attributes, (0, 3, 1, 2)), open=[0, 2, 3], sample=True)  # fmt: skip
    attributes = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": "SAME"}
    add(op + "3D", [channels_first(cube)], {"ksize": [1, 1, 2, 3, 2], "strides": [1, 1, 2, 1, 2], "padding": "SAME", "data_format": "NCDHW"}, "NCDHW",
        like=([cube], attributes, (0, 4, 1, 2, 3)))  # fmt: skip
kernel = Const(draw((2, 3, 2, 2, 3), seed=1))
add("Conv3D", [channels_first(cube), kernel], {"strides": [1] * 5, "padding": "SAME", "data_format": "NCDHW"}, "NCDHW", like=([cube, kernel], {"strides": [1] * 5, "padding": "SAME"}, (0, 4, 1, 2, 3)), **SUMS)
back = [Const(draw((3, 3, 2, 4), seed=1)), draw((1, 3, 3, 4))]
add("Conv2DBackpropInput", [ints(1, 2, 6, 6), back[0], channels_first(back[1])], {"strides": [1, 1, 2, 2], "padding": "SAME", "data_format": "NCHW"}, "NCHW",
    like=([ints(1, 6, 6, 2), *back], {"strides": [1, 2, 2, 1], "padding": "SAME"}, (0, 3, 1, 2)), **SUMS)  # fmt: skip
four = [Const(draw((4,), seed=i, low=0.5, high=2)) for i in range(4)]
add("FusedBatchNormV3", [channels_first(x), *four], {"is_training": False, "data_format": "NCHW"}, "NCHW",
    expected=channels_first((x - four[2].value) / np.sqrt(four[3].value + F(1e-4)) * four[0].value + four[1].value), tolerance=2e-5, why="as above", sample=True)  # fmt: skip
for op, shape in [("SpaceToDepth", (1, 4, 6, 2)), ("DepthToSpace", (1, 2, 3, 8))]:
    blocks = draw(shape)
    add(op, [channels_first(blocks)], {"block_size": 2, "data_format": "NCHW"}, "NCHW", like=([blocks], {"block_size": 2}, (0, 3, 1, 2)))
