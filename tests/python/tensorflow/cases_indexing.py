"""Gather, scatter, segments, sequences and diagonals."""

import numpy as np
from operator_cases import INTEGERS, NUMBERS, REALS, Const, F, Family, count, draw, ints, longs, scalar

family = Family("indexing")
add = family.add
X = count((2, 3, 4))
I = np.int32  # noqa: E741

for dtype in [*NUMBERS, "bool"]:
    add("GatherV2", [draw((4, 3), dtype), np.array([3, 0, 0], I), scalar(0)], label="" if dtype == "float32" else dtype, open=True)
add("Gather", [X, np.array([[1, 0]], np.int64)], open=True)
for axis in [0, 1, 2, -1]:
    add("GatherV2", [X, np.array([1, 0], np.int64), scalar(axis)], label=f"axis {axis}", open=True)
    add("GatherV2", [X, np.array(1, I), scalar(axis)], label=f"scalar {axis}", open=True)
for axis, batch, shape in [(1, 1, (2, 3)), (2, 1, (2, 3)), (-1, 1, (2, 2)), (2, 2, (2, 3, 2)), (2, -1, (2, 3, 2)), (1, 1, (2,)), (2, 1, (2, 2, 2))]:
    add("GatherV2", [X, draw(shape, "int32", 1, 0, 2), scalar(axis)], {"batch_dims": batch}, f"batch {axis} {batch} {shape}", open=True, sample=axis == 2 and batch == 1)
for indices in [[[0, 1], [1, 2]], [[1], [0]], [[0, 1, 2]]]:
    add("GatherNd", [X, np.array(indices, I)], label="" if indices[0] == [0, 1] else str(indices))
for dtype in ["int64", "float16", "bool", "uint8"]:
    add("GatherNd", [draw((2, 3), dtype), np.array([[1, 2], [0, 0]], np.int64)], label=dtype)
for dtype in [*NUMBERS, "bool"]:
    if dtype not in ("int16", "uint16", "uint32", "uint64"):
        add("ScatterNd", [np.array([[1], [3], [1]], I), draw((3, 2), dtype, 1), ints(5, 2)], label="" if dtype == "float32" else dtype)
add("ScatterNd", [np.array([[1, 0], [0, 2]], np.int64), draw((2,)), np.array([2, 3], np.int64)], label="shape fed")
add("ScatterNd", [np.zeros((0, 1), I), np.zeros((0, 2), F), ints(3, 2)], label="empty")
for op in ["TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"]:
    for dtype in ["float32", "float64", "int32", "int64", "uint8"]:
        add(op, [draw((5, 2), dtype), np.array([[1], [3], [0]], I), draw((3, 2), dtype, 1)], label="" if dtype == "float32" else dtype, open=True)
    if op not in ("TensorScatterUpdate",):
        add(op, [draw((5,)), np.array([[1], [3], [1]], I), draw((3,), seed=1)], label="repeated")
add("ScatterNdNonAliasingAdd", [draw((5,)), np.array([[1], [3], [1]], I), draw((3,), seed=1)])
add("SparseToDense", [np.array([[0, 1], [1, 0]], I), ints(2, 3), draw((2,)), scalar(-1, "float32")], {"validate_indices": False})
add("SparseToDense", [np.array([1, 3], np.int64), longs(5), scalar(2), scalar(0)], {"validate_indices": False}, "list")
add("SparseToDense", [np.array(1, I), ints(3), scalar(2.5, "float32"), scalar(0, "float32")], {"validate_indices": False}, "one")
for op in ["DynamicStitch", "ParallelDynamicStitch"]:
    add(op, [[np.array([0, 2], I), np.array([[3], [1]], I)], [draw((2, 2)), draw((2, 1, 2), seed=1)]])
    add(op, [[np.array(1, I), np.array([0, 2], I)], [draw((), "int32"), draw((2,), "int32", 1)]], label="scalars")
add("DynamicPartition", [draw((5, 2)), np.array([0, 2, 0, 1, 2], I)], {"num_partitions": 4})
add("DynamicPartition", [draw((2, 3)), np.array([[0, 1, 0], [1, 1, 0]], I)], {"num_partitions": 2}, "matrix")
for dtype in ["float32", "int32", "int64", "float16", "uint8"]:
    add("Unique", [draw((8,), dtype, 4, 0, 4).round() if "float" in dtype else draw((8,), dtype, 4, 0, 4)], label="" if dtype == "float32" else dtype, open=True)
add("UniqueV2", [draw((8,), "int32", 1), Const(np.array([], np.int64))])
add("UniqueV2", [draw((8,), "int32", 1), longs(0)], {"out_idx": "int64"}, "axis")
add("UniqueV2", [draw((3, 2), "int32", 1), longs(0)], label="rows", refused="unique rows")
add("UniqueWithCounts", [draw((8,), "int32", 1)])
add("UniqueWithCountsV2", [draw((8,), "int32", 1), Const(np.array([], np.int64))])
add("ListDiff", [np.array([3, 1, 4, 1, 5], I), np.array([1, 5, 9], I)], open=True)
for op in ["UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"]:
    for dtype in ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "int16"]:
        add(op, [draw((5, 2), dtype, 1), np.array([1, 0, 1, 3, -1], I), scalar(5)], label="" if dtype == "float32" else dtype, open=True)
    add(op, [draw((2, 3, 2)), np.array([[1, 0, 1], [2, -1, 0]], np.int64), scalar(3)], label="matrix")
for op in ["SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean"]:
    for dtype in ["float32", "float64", "int32", "int64"]:
        if op != "SegmentMean" or "float" in dtype:
            add(op, [draw((5, 2), dtype, 1), np.array([0, 0, 1, 3, 3], I)], label="" if dtype == "float32" else dtype)
for op in ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"]:
    add(op, [draw((5, 2)), np.array([4, 0, 1, 4], I), np.array([0, 0, 2, 2], I)])
    add(op + "WithNumSegments", [draw((5, 2)), np.array([4, 0, 1, 4], I), np.array([0, 0, 2, 2], I), scalar(4)])
for binary in [False, True]:
    add("DenseBincount", [np.array([1, 3, 1, 9], I), scalar(5), Const(np.array([], F))], {"binary_output": binary}, "" if not binary else "binary")
    add("DenseBincount", [np.array([[1, 3, 1], [0, 4, 0]], I), scalar(5), Const(np.array([], np.int32))], {"binary_output": binary}, f"rows {binary}")
add("DenseBincount", [np.array([1, 3, 1, 9], I), scalar(5), Const(np.array([0.5, 1, 2, 4], F))], label="weights")
for dtype in ["float32", "int64", "bool"]:
    add("Where", [draw((3, 4), dtype, 2, 0, 2)], label="" if dtype == "float32" else dtype, open=True)
add("Where", [np.array([0, 1.5, 0, np.nan], F)], label="list")
for axis in [-1, 0, 1]:
    for dtype in ["int32", "int64", "uint8"]:
        add("OneHot", [np.array([[0, 2], [1, 7]], dtype), scalar(3), scalar(5, "float32"), scalar(-1, "float32")], {"axis": axis}, "" if axis == -1 and dtype == "int32" else f"{axis} {dtype}", open=True)
for dtype in ["float16", "int64", "bool", "uint8"]:
    add("OneHot", [np.array([0, -1, 2, 5], I), scalar(3), scalar(1, dtype), scalar(0, dtype)], label=dtype)
for axes in [[0], [-1], [0, 2], []]:
    for dtype in ["float32", "int32", "bool"]:
        add("ReverseV2", [draw((2, 3, 4), dtype), Const(np.array(axes, I))], label="" if axes == [0] and dtype == "float32" else f"{axes} {dtype}", open=True)
add("Reverse", [X, Const(np.array([True, False, True]))])
for sequence, batch in [(1, 0), (0, 1), (2, 0), (2, 1), (0, 2)]:
    lengths = np.array([1, 3, 2, 4][: X.shape[batch]], np.int64).clip(0, X.shape[sequence])
    add("ReverseSequence", [X, lengths], {"seq_dim": sequence, "batch_dim": batch}, "" if sequence == 1 else f"{sequence} {batch}", open=True)
for shifts, axes in [([1], [1]), ([-2], [2]), ([5], [0]), ([1, -1], [0, 2]), ([2, 1], [1, 1])]:
    add("Roll", [X, ints(*shifts), ints(*axes)], label="" if shifts == [1] else f"{shifts} {axes}", open=True)
add("Roll", [draw((5,)), np.array(2, I), scalar(0)], label="scalar")
add("Roll", [draw((5,)), np.array([-7], np.int64), longs(0)], label="fed")
for dtype in ["int32", "int64"]:
    add("InvertPermutation", [np.array([2, 0, 1, 3], dtype)], label="" if dtype == "int32" else dtype, open=True)
for dtype in ["float32", "float64"]:
    for number in [1, 2, 7]:
        add("LinSpace", [scalar(-1, dtype), scalar(2.5, dtype), scalar(number)], label="" if (dtype, number) == ("float32", 7) else f"{number} {dtype}")
add("LinSpace", [scalar(0, "float32"), scalar(1, "float32"), np.array(5, I)], label="fed")
for dtype in ["float32", "float64", "int32", "int64"]:
    add("Bucketize", [draw((2, 3), dtype)], {"boundaries": [-1.0, 0.0, 2.0]}, "" if dtype == "float32" else dtype, open="rank")
add("Bucketize", [np.array([-np.inf, -1, 0, np.inf, np.nan], F)], {"boundaries": [-1.0, 0.0, 2.0]}, "edges")
for op in ["LowerBound", "UpperBound"]:
    for dtype in ["float32", "int32"]:
        for kind in ["int32", "int64"]:
            add(op, [np.sort(draw((2, 5), dtype), 1), draw((2, 3), dtype, 1)], {"out_type": kind}, "" if (dtype, kind) == ("float32", "int32") else f"{dtype} {kind}", open=True)
for lower, upper in [(0, 0), (1, -1), (-1, 1), (2, 0), (-1, -1)]:
    add("MatrixBandPart", [draw((2, 3, 4)), scalar(lower), scalar(upper)], label="" if (lower, upper) == (0, 0) else f"{lower} {upper}", open=True)
add("MatrixBandPart", [draw((3, 3), "int32"), np.array(1, np.int64), np.array(0, np.int64)], label="fed")
add("MatrixBandPart", [np.full((2, 2), np.inf, F), scalar(0), scalar(0)], label="infinity")
D = [scalar(0), scalar(-1), scalar(-1), scalar(0, "float32")]
for op, more in [("MatrixDiag", []), ("MatrixDiagV2", D), ("MatrixDiagV3", D)]:
    add(op, [draw((2, 3)), *more], open=True)
add("MatrixDiagV3", [draw((2, 3)), *D[:3], scalar(7, "float32")], label="padding")
add("MatrixDiagV3", [draw((2, 3)), scalar(1), *D[1:]], label="k", refused="other than the main")
for op, more in [("MatrixDiagPart", []), ("MatrixDiagPartV2", [D[0], D[3]]), ("MatrixDiagPartV3", [D[0], D[3]])]:
    add(op, [draw((2, 3, 4)), *more], open=True)
    add(op, [draw((2, 4, 3)), *more], label="tall")
for op, more in [("MatrixSetDiag", []), ("MatrixSetDiagV2", [D[0]]), ("MatrixSetDiagV3", [D[0]])]:
    add(op, [draw((2, 3, 4)), draw((2, 3), seed=1), *more], open=True)
    add(op, [draw((2, 4, 3)), draw((2, 3), seed=1), *more], label="tall")
add("Diag", [draw((3,))], open=True)
add("DiagPart", [draw((3, 3))], open=True)
for dtype in ["int32", "int64"]:
    add("UnravelIndex", [np.array([22, 0, 41], dtype), np.array([7, 6], dtype)], label="" if dtype == "int32" else dtype)
    add("UnravelIndex", [np.array(22, dtype), np.array([7, 3, 2], dtype)], label=f"scalar {dtype}")
for reverse in [False, True]:
    for dtype in ["float32", "int32"]:
        add("NthElement", [draw((2, 7), dtype, 1, -50, 50), scalar(3)], {"reverse": reverse}, "" if (reverse, dtype) == (False, "float32") else f"{reverse} {dtype}", open=[0])
add("Bincount", [np.array([1, 3, 1, 9], np.int32), scalar(5), Const(np.array([], np.float32))])
add("Bincount", [np.array([[1, 3], [1, 0]], np.int32), scalar(5), Const(np.array([[0.5, 1], [2, 4]], np.float32))], label="weights")
