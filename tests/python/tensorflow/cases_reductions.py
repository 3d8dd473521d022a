"""Reductions, extremes and their places, sums along an axis."""

import numpy as np
from operator_cases import INTEGERS, NUMBERS, REALS, Const, F, Family, draw, ints, longs, scalar

family = Family("reductions")
add = family.add
X = draw((2, 3, 4))
NAN, INF = np.nan, np.inf

for op in ["Sum", "Mean", "Prod", "Max", "Min"]:
    types = NUMBERS if op != "Mean" else [*REALS, "int32"]
    for dtype in types:
        add(op, [draw((2, 3), dtype, 1, -2 if op != "Mean" else 1, 3), ints(1)], label="" if dtype == "float32" else dtype)
    for axes in [[0], [-1], [0, 2], [0, 1, 2], []]:
        for keep in [False, True]:
            add(op, [X, Const(np.array(axes, np.int64))], {"keep_dims": keep}, f"{axes} {keep}", open=True)
    add(op, [X, scalar(1)], label="scalar axis", open=True)
    add(op, [X, np.array([1], np.int32)], label="axes fed")
    add(op, [draw((0, 3)), ints(0)], label="empty")
add("Max", [np.array([[1, NAN, 2], [INF, 1, -INF]], F), ints(1)], label="nan")
add("Min", [np.array([[1, NAN, 2], [INF, 1, -INF]], F), ints(1)], label="nan")
for op in ["All", "Any"]:
    for axes, keep in [([0], False), ([1], True), ([0, 1], False), ([], False)]:
        add(op, [draw((2, 3), "bool", 5), Const(np.array(axes, np.int32))], {"keep_dims": keep}, "" if axes == [0] else f"{axes}", open=True)
    add(op, [np.zeros((0, 2), bool), ints(0)], label="empty")
for dtype in REALS:
    add("EuclideanNorm", [draw((2, 3), dtype), ints(1)], label="" if dtype == "float32" else dtype, open=True)
for op in ["ArgMax", "ArgMin"]:
    for dtype in [*NUMBERS, "bool"]:
        add(op, [draw((3, 5), dtype, 2), scalar(1)], label="" if dtype == "float32" else dtype, open=True)
    for axis in [0, -1, -2]:
        for kind in ["int32", "int64"]:
            add(op, [draw((3, 4, 2)), scalar(axis, "int64")], {"output_type": kind}, f"{axis} {kind}", open=True)
    add(op, [np.array([[1, 3, 3], [2, 2, 1]], F), scalar(1)], label="ties")
    add(op, [np.array([[INF, -INF, 0], [-INF, INF, INF], [NAN, NAN, NAN]], F), scalar(1)], label="infinity")
    add(op, [draw((4,)), scalar(0)], label="list", open=True)
for dtype in NUMBERS:
    add("TopKV2", [draw((2, 6), dtype, 3, -50, 50), scalar(3)], label="" if dtype == "float32" else dtype, open=[0])
for k in [0, 1, 6]:
    add("TopKV2", [draw((2, 6)), scalar(k)], label=f"k {k}", open=True)
add("TopKV2", [draw((6,)), np.array(2, np.int32)], label="k fed")
add("TopKV2", [draw((6,)), scalar(2)], {"index_type": "int64"}, "int64 indices")
add("TopKV2", [np.array([3, 1, 3, 2, 3], F), scalar(4)], label="ties")
for op in ["Cumsum", "Cumprod"]:
    for dtype in [*REALS, *INTEGERS]:
        add(op, [draw((2, 4), dtype, 1, 1, 3), scalar(1)], label="" if dtype == "float32" else dtype, open=True)
    for exclusive, reverse in [(True, False), (False, True), (True, True)]:
        add(op, [X, scalar(-1)], {"exclusive": exclusive, "reverse": reverse}, f"{exclusive} {reverse}", open=True)
    add(op, [X, np.array(0, np.int32)], label="axis fed")
scores = np.array([[0.1, 0.9, 0.3], [0.5, 0.2, 0.8]], F)
add("InTopKV2", [scores, np.array([2, 0], np.int32), scalar(2)])
add("InTopK", [scores, np.array([0, 2], np.int64)], {"k": 1})
