"""Arithmetic, comparisons, functions of one number, activations, casts and bits."""

import numpy as np
from operator_cases import INTEGERS, NUMBERS, REALS, SIGNED, TYPES, Const, F, Family, count, draw, scalar

family = Family("elementwise")
add = family.add
INF, NAN = np.inf, np.nan
EDGES = np.array([-INF, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, 3.0, INF, NAN], F)


def pair(dtype, low=-7, high=7):
    """Operands that broadcast against each other; the second has no zero."""
    a, b = draw((2, 1, 3), dtype, 1, low, high), draw((4, 1), dtype, 2, 1, high)
    if dtype != "bool" and not dtype.startswith("u"):
        b = b.copy()
        b[::2] = -b[::2]
    return a, b


for op, types in {
    "Add": [*REALS, *SIGNED, "uint8"], "AddV2": NUMBERS, "Sub": NUMBERS, "Mul": NUMBERS,
    "RealDiv": REALS, "Div": NUMBERS, "FloorDiv": NUMBERS, "TruncateDiv": INTEGERS,
    "Maximum": NUMBERS, "Minimum": NUMBERS, "SquaredDifference": [*REALS, "int32", "int64"],
    "FloorMod": NUMBERS, "Mod": ["float32", "float64", "int32", "int64"], "TruncateMod": ["float32", "float64", "int32", "int64"],
    "Equal": [*NUMBERS, "bool"], "NotEqual": [*NUMBERS, "bool"], "Less": NUMBERS, "LessEqual": NUMBERS,
    "Greater": NUMBERS, "GreaterEqual": NUMBERS, "DivNoNan": REALS, "MulNoNan": REALS,
    "Atan2": REALS, "Xdivy": REALS, "NextAfter": [], "BitwiseAnd": INTEGERS, "BitwiseOr": INTEGERS,
    "BitwiseXor": INTEGERS,
}.items():  # fmt: skip
    for dtype in types:
        add(op, pair(dtype), label="" if dtype == types[0] else dtype, open=True)

for op in ["Maximum", "Minimum", "Equal", "NotEqual", "Less", "GreaterEqual", "FloorDiv", "FloorMod", "DivNoNan", "MulNoNan"]:
    add(op, [EDGES[:, None], EDGES[None, :]], label="edges")
for op in ["AddV2", "Maximum", "Less"]:
    add(op, [draw((0, 3)), draw((1, 3))], label="empty")
    add(op, [draw(()), draw(())], label="scalars", open="rank")
add("Atan2", [EDGES[:, None], EDGES[None, :]], label="edges")
add("AddN", [[draw((2, 3), seed=i) for i in range(3)]], open=True)
add("AccumulateNV2", [[draw((2, 3), seed=i) for i in range(3)]], {"shape": [2, 3]}, sample=False)
for dtype in ["int32", "float16", "int64"]:
    add("AddN", [[draw((2, 3), dtype, i) for i in range(3)]], label=dtype)
add("Pow", [draw((2, 3), low=0.1), draw((3,), seed=1)], open=True)
add("Pow", [np.array([-2, -1, 0, 0.5, 3], F), np.array([3, 2, 0, -1, 0.5], F)], label="signs")
for dtype in ["float64", "float16", "bfloat16"]:
    add("Pow", [draw((2, 3), dtype, low=0.1), draw((3,), dtype, 1)], label=dtype)
for dtype in ["int32", "int64"]:
    add("Pow", [draw((2, 3), dtype), draw((3,), dtype, 1, 0, 3)], label=dtype)
for op in ["Xlogy", "Xlog1py"]:
    for dtype in REALS:
        add(op, [draw((2, 3), dtype), draw((3,), dtype, 1, 0.1, 4)], label="" if dtype == "float32" else dtype, open=True)
    add(op, [np.array([0, 0, 1, 0], F), np.array([0, NAN, 0, -3], F)], label="zeros")
for op in ["Xdivy", "DivNoNan", "MulNoNan"]:
    add(op, [np.array([0, 0, 1, 0, INF], F), np.array([0, NAN, 0, -3, 0], F)], label="zeros")
for dtype in ["float32", "float64"]:
    add("ApproximateEqual", [np.array([1, 2, 3], dtype), np.array([1.00000001, 2.1, 3], dtype)], {"tolerance": 0.01}, "" if dtype == "float32" else dtype)
for op in ["LeftShift", "RightShift"]:
    for dtype in INTEGERS:
        add(op, [draw((2, 3), dtype, 1, -100, 100), draw((3,), dtype, 2, 0, 6)], label="" if dtype == "int8" else dtype, open=True)
for op in ["Invert", "PopulationCount"]:
    for dtype in INTEGERS:
        add(op, [draw((2, 3), dtype, 1, -100, 100)], label="" if dtype == "int8" else dtype, open=True)
for op in ["LogicalAnd", "LogicalOr"]:
    add(op, [draw((2, 1), "bool"), draw((1, 3), "bool", 1)], open=True)
add("LogicalNot", [draw((2, 3), "bool")], open="rank")

UNARY = {
    "Abs": (REALS + SIGNED, -3, 3), "Neg": (REALS + SIGNED, -3, 3), "Sign": (REALS + SIGNED, -3, 3),
    "Square": (REALS + ["int32", "int64"], -3, 3), "Exp": (REALS, -3, 3), "Expm1": (REALS, -3, 3),
    "Log": (REALS, 0.1, 4), "Log1p": (REALS, -0.9, 4), "Sqrt": (REALS, 0, 4), "Rsqrt": (REALS, 0.1, 4),
    "Reciprocal": (REALS, 0.2, 4), "Inv": (REALS, 0.2, 4), "Sin": (REALS, -3, 3), "Cos": (REALS, -3, 3),
    "Tan": (REALS, -1, 1), "Asin": (REALS, -1, 1), "Acos": (REALS, -1, 1), "Atan": (REALS, -3, 3),
    "Sinh": (REALS, -3, 3), "Cosh": (REALS, -3, 3), "Tanh": (REALS, -3, 3), "Asinh": (REALS, -3, 3),
    "Acosh": (REALS, 1.1, 4), "Atanh": (REALS, -0.9, 0.9), "Erf": (REALS, -3, 3), "Erfc": (REALS, -1, 1),
    "Sigmoid": (REALS, -3, 3), "Floor": (REALS, -3, 3), "Ceil": (REALS, -3, 3), "Rint": (["float32", "float64"], -3, 3),
    "Round": (REALS, -3, 3), "Relu": (NUMBERS, -3, 3), "Relu6": (NUMBERS, -9, 9),
    "Elu": (REALS, -3, 3), "Selu": (REALS, -3, 3), "Softplus": (REALS, -3, 3), "Softsign": (REALS, -3, 3),
    "LeakyRelu": (REALS, -3, 3), "IsNan": (REALS, -3, 3), "IsInf": (REALS, -3, 3), "IsFinite": (REALS, -3, 3),
    "Lgamma": ([], 0, 0), "L2Loss": (REALS, -3, 3),
}  # fmt: skip
for op, (types, low, high) in UNARY.items():
    for dtype in types:
        add(op, [draw((2, 3), dtype, 3, low, high)], label="" if dtype == types[0] else dtype, open="rank")
for op in ["Abs", "Neg", "Sign", "Exp", "Expm1", "Floor", "Ceil", "Rint", "Round", "Relu", "Relu6", "Elu", "Selu", "Softplus",
           "Softsign", "LeakyRelu", "IsNan", "IsInf", "IsFinite", "Sigmoid", "Tanh", "Square", "Reciprocal", "Erf"]:  # fmt: skip
    add(op, [EDGES], label="edges")
for op in ["Expm1", "Log1p"]:
    add(op, [np.array([1e-8, -1e-8, 1e-4, -1e-4, 0.3, 0], F)], label="small")
    add(op, [np.array([1e-3, -1e-3, 0.03, 0], np.float16)], label="small-half")
add("Log1p", [np.array([-1, INF, NAN, -2, 1e30, 0], F)], label="edges")
add("Softplus", [np.array([-100, -20, 20, 100, 1000], F)], label="large")
add("Erfc", [np.array([2.0, -3.0, INF, -INF], F)], label="tails", tolerance=1e-4, why="1 + erf(-x), as gelu needs it")
for alpha in [0.0, 0.3, 1.5]:
    add("LeakyRelu", [EDGES], {"alpha": alpha}, "alpha")
add("ClipByValue", [draw((2, 3)), scalar(-1, "float32"), scalar(1, "float32")], open=True)
add("ClipByValue", [draw((2, 3), "int32"), scalar(-1), scalar(1)], label="int32")
add("ClipByValue", [draw((2, 3)), draw((2, 3), seed=1, low=-2, high=0), draw((2, 3), seed=2, low=0, high=2)], label="tensors")
add("ClipByValue", [EDGES, scalar(-1, "float32"), scalar(1, "float32")], label="edges")
# TensorFlow's float sums of a row are less exact than ours.
LOG = {"Softmax": {}, "LogSoftmax": {"tolerance": 3e-5, "why": "the logarithm of a sum near 1"}}
for op in ["Softmax", "LogSoftmax"]:
    for dtype in REALS:
        add(op, [draw((2, 5), dtype)], label="" if dtype == "float32" else dtype, open=True, **(LOG[op] if dtype == "float32" else {}))
    add(op, [draw((2, 3, 4))], label="rank 3", open=True, **LOG[op])
    add(op, [draw((4,))], label="rank 1", **LOG[op])

# From a real to a narrower integer TensorFlow itself leaves values outside of the type undefined.
for source in [*NUMBERS, "bool"]:
    for target in [*NUMBERS, "bool"]:
        if source != target:
            add("Cast", [draw((2, 3), source, 5, 0, 3)], {"DstT": target}, "" if (source, target) == ("float32", "float64") else f"{source}-{target}")
add("Cast", [np.array([-1.7, -0.5, 0, 0.5, 2.7, 100.9], F)], {"DstT": "int32"}, "truncates", open="rank")
add("Cast", [np.array([300, -1, 255, 256], np.int32)], {"DstT": "uint8"}, "wraps")
add("Cast", [np.array([0, 0.3, -2, NAN, INF], F)], {"DstT": "bool"}, "to bool")
add("Cast", [np.array([1 + 2**-8, 3.14159, 1e-40], F)], {"DstT": "bfloat16"}, "rounds")
add("Cast", [np.array([1 + 2**-8, 3.14159], F)], {"DstT": "bfloat16", "Truncate": True}, "truncates mantissa", refused="not cut off")
for dtype in [*NUMBERS, "bool"]:
    add("SelectV2", [draw((2, 1), "bool"), draw((2, 3), dtype), draw((3,), dtype, 1)], label="" if dtype == "float32" else dtype, open=True)
add("Select", [draw((2,), "bool"), draw((2, 3)), draw((2, 3), seed=1)], open="rank")
add("Select", [np.array(True), draw((2, 3)), draw((2, 3), seed=1)], label="scalar")
add("Select", [draw((2, 3), "bool"), draw((2, 3)), draw((2, 3), seed=1)], label="same", open="rank")
add("Bitcast", [draw((2, 3))], {"type": "int32"})
add("Bitcast", [draw((2, 3), "int32")], {"type": "float32"}, "back")
add("Bitcast", [draw((2, 2), "uint8")], {"type": "int8"}, "bytes")
for op in ["Identity", "StopGradient", "Snapshot", "PreventGradient"]:
    add(op, [draw((2, 3))], open="rank")
add("IdentityN", [[draw((2, 3)), draw((2,), "int32")]])
