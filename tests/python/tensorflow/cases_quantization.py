"""Quantisation simulated on real numbers."""

import numpy as np
from operator_cases import Const, F, Family, draw, scalar

family = Family("quantization")
add = family.add
X = draw((3, 4), low=-8, high=8)


def real(value):
    return scalar(value, "float32")


for low, high in [(-6, 6), (0, 6), (-1, 2.3), (-3.1, 0), (1, 5), (-5, -2)]:
    for bits in [8, 4, 16]:
        for narrow in [False, True]:
            name = "" if (low, bits, narrow) == (-6, 8, False) else f"{low} {high} {bits} {narrow}"
            attributes = {"num_bits": bits, "narrow_range": narrow}
            add("FakeQuantWithMinMaxVars", [X, real(low), real(high)], attributes, name, open="rank", tolerance=2e-5, why="steps of a rounded scale")
            add("FakeQuantWithMinMaxArgs", [X], attributes | {"min": float(low), "max": float(high)}, name, tolerance=2e-5, why="as above")
add("FakeQuantWithMinMaxVars", [X, np.array(-2, F), np.array(3, F)], {}, "range fed", tolerance=2e-5, why="as above")
add("FakeQuantWithMinMaxVars", [X, real(0), real(0)], {}, "no range")
lows, highs = np.array([-6, 0, -1, -3], F), np.array([6, 6, 2.3, 0.5], F)
for narrow in [False, True]:
    add("FakeQuantWithMinMaxVarsPerChannel", [X, Const(lows), Const(highs)], {"narrow_range": narrow}, "" if not narrow else "narrow", open=True, tolerance=2e-5, why="as above")
add("FakeQuantWithMinMaxVarsPerChannel", [X, lows, highs], {}, "range fed", tolerance=2e-5, why="as above")
for op, more in [("QuantizeAndDequantizeV2", []), ("QuantizeAndDequantizeV3", [scalar(8)]), ("QuantizeAndDequantizeV4", [])]:
    for given in [True, False]:
        for is_signed in [True, False]:
            for low, high, narrow in [(-6, 6, False), (-1, 2.3, True), (0, 6, False)]:
                if is_signed or low == 0:
                    name = "" if (given, is_signed, low) == (True, True, -6) else f"{given} {is_signed} {low} {narrow}"
                    x = X if is_signed else np.abs(X)
                    add(op, [x, real(low), real(high), *more], {"signed_input": is_signed, "range_given": given, "narrow_range": narrow}, name, open="rank", tolerance=2e-5, why="as above")
for op in ["QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"]:
    for mode in ["HALF_TO_EVEN", "HALF_UP"]:
        add(op, [np.array([-2.5, -1.5, 0.5, 1.5, 2.5, 3.4], F), real(-127), real(127)], {"range_given": True, "round_mode": mode, "narrow_range": True}, mode)
    for axis, count in [(0, 3), (1, 4)]:
        lows, highs = np.linspace(-4, -1, count).astype(F), np.linspace(1, 5, count).astype(F)
        add(op, [X, Const(lows), Const(highs)], {"axis": axis}, f"axis {axis}", tolerance=2e-5, why="as above")
        # TensorFlow's CPU kernel takes given ranges only for the whole tensor.
        steps = np.expand_dims(np.maximum(lows / F(-128), highs / F(127)), 1 - axis)
        expected = np.round(np.clip(X, steps * -128, steps * 127) / steps) * steps
        add(op, [X, Const(lows), Const(highs)], {"range_given": True, "axis": axis}, f"axis {axis} given", expected=expected, sample=axis == 1)
        add(op, [X, lows, highs], {"range_given": True, "axis": axis}, f"axis {axis} fed", expected=expected)
    add(op, [X, np.array(-3, F), np.array(4, F)], {"range_given": True}, "range fed", tolerance=2e-5, why="as above")
    add(op, [X, real(-3), real(4)], {"range_given": True, "num_bits": 4}, "4 bits", tolerance=2e-5, why="as above")
add("QuantizeAndDequantizeV3", [X, real(-3), real(4), np.array(8, np.int32)], {"range_given": True}, "bits fed", refused="number of bits")
