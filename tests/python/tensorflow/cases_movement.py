"""Shapes, slices, padding, joining, splitting and blocks."""

import numpy as np
from operator_cases import NUMBERS, Const, F, Family, count, draw, ints, longs, scalar

family = Family("movement")
add = family.add
ALL = [*NUMBERS, "bool"]
X = count((2, 3, 4))

for dtype in ALL:
    add("Reshape", [draw((2, 3), dtype), ints(3, -1)], label="" if dtype == "float32" else dtype)
    add("Transpose", [draw((2, 3), dtype), ints(1, 0)], label="" if dtype == "float32" else dtype, open=True)
    add("ConcatV2", [[draw((2, 3), dtype), draw((2, 1), dtype, 1)], scalar(-1)], label="" if dtype == "float32" else dtype, open=True)
    if dtype not in ("uint16", "uint32", "uint64"):
        add("Tile", [draw((2, 3), dtype), ints(2, 1)], label="" if dtype == "float32" else dtype, open=True)
    add("PadV2", [draw((2, 3), dtype), Const(np.array([[1, 0], [2, 1]], np.int32)), Const(draw((), dtype, 4))], label="" if dtype == "float32" else dtype, open=True)
    add("StridedSlice", [draw((4, 3), dtype), ints(1, 0), ints(4, 2), ints(2, 1)], label="" if dtype == "float32" else dtype, open=True)
for shape in [longs(6), longs(-1, 2, 1), longs(1, 6, 1), Const(np.array([], np.int32))]:
    add("Reshape", [draw((6,) if shape.value.size else (1,)), shape], label="shapes", open=True)
add("Reshape", [draw((0, 3)), ints(3, 0)], label="zero size")
add("Reshape", [draw((0, 3)), ints(-1, 3)], label="zero size open", open=True)
add("Reshape", [draw((2, 3)), np.array([3, 2], np.int32)], label="shape fed")
add("Transpose", [X, longs(2, 0, 1)], label="i64", open=True)
for axes in [[], [0], [2], [-1], [0, 2]]:
    add("Squeeze", [draw((1, 3, 1))], {"squeeze_dims": axes}, "" if not axes else str(axes), open=[1])
for axis in [0, 1, -1, 2]:
    add("ExpandDims", [draw((2, 3)), scalar(axis)], label="" if axis == 0 else str(axis), open=True)
    add("ExpandDims", [draw((2, 3)), longs(axis)], label="list")
for axis in [0, 1, 2]:
    add("ConcatV2", [[X, X + 1], scalar(axis, "int64")], label=f"axis {axis}", open=True)
    add("Pack", [[draw((2, 3)), draw((2, 3), seed=1)]], {"axis": axis - 1}, "" if axis == 0 else str(axis), open=True)
add("Concat", [scalar(1), [draw((2, 3)), draw((2, 2), seed=1)]], open=True)
add("ConcatV2", [[draw((0, 3)), draw((2, 3))], scalar(0)], label="empty")
add("Pack", [[draw(()), draw((), seed=1)]], label="scalars")
add("Pack", [[draw((2,), "int32")]], label="one")
for axis, parts in [(0, 2), (1, 3), (-1, 4)]:
    add("Split", [scalar(axis), draw((2, 3, 4))], {"num_split": parts}, "" if axis == 0 else str(axis))
    add("Unpack", [draw((2, 3, 4))], {"num": parts, "axis": axis}, "" if axis == 0 else str(axis))
add("Split", [scalar(1), draw((2, 4))], {"num_split": 2}, "open", open=True)
add("Unpack", [draw((2, 3))], {"num": 3, "axis": 1}, "open", open=[0])
add("SplitV", [draw((2, 6)), ints(1, 3, 2), scalar(1)], {"num_split": 3})
add("SplitV", [draw((2, 6)), longs(1, -1, 2), scalar(-1)], {"num_split": 3}, "rest", open=[0])
add("SplitV", [draw((6,)), longs(1, -1, 2), scalar(0)], {"num_split": 3}, "rest open", open=True)
add("SplitV", [draw((2, 6)), ints(6), scalar(1)], {"num_split": 1}, "one")
add("Fill", [ints(2, 3), scalar(1.5, "float32")])
add("Fill", [np.array([2, 3], np.int64), scalar(7)], label="shape fed")
add("Fill", [Const(np.array([], np.int32)), scalar(True, "bool")], label="scalar")
add("BroadcastTo", [draw((3, 1)), ints(2, 3, 4)], open=True)
add("BroadcastTo", [draw((), "int64"), longs(2, 0)], label="empty")
for op in ["ZerosLike", "OnesLike"]:
    for dtype in ["float32", "float16", "int64", "bool", "uint8"]:
        add(op, [draw((2, 3), dtype)], label="" if dtype == "float32" else dtype, open="rank")
for dtype in ["int32", "int64", "float32", "float64"]:
    add("Range", [scalar(1, dtype), scalar(7, dtype), scalar(2, dtype)], label="" if dtype == "int32" else dtype)
    add("Range", [np.array(5, dtype), np.array(-1, dtype), np.array(-2, dtype)], label=f"down {dtype}")
for dtype in ["int32", "int64"]:
    add("Shape", [draw((2, 0, 3))], {"out_type": dtype}, "" if dtype == "int32" else dtype, open=True)
    add("Size", [draw((2, 3))], {"out_type": dtype}, "" if dtype == "int32" else dtype, open="rank")
    add("ShapeN", [[draw((2, 3)), draw((4,))]], {"out_type": dtype}, "" if dtype == "int32" else dtype, open=True)
    add("BroadcastArgs", [np.array([2, 1, 3], dtype), np.array([4, 1], dtype)], label="" if dtype == "int32" else dtype)
add("Rank", [draw((2, 0, 3))], open=True)
add("BroadcastArgs", [ints(4, 1), ints(2, 4, 5)], label="longer")
for source, target in [("NHWC", "NCHW"), ("NCHW", "NHWC")]:
    add("DataFormatVecPermute", [np.array([1, 2, 3, 4], np.int32)], {"src_format": source, "dst_format": target}, "" if source == "NHWC" else source)
    add("DataFormatVecPermute", [count((4, 2), "int64")], {"src_format": source, "dst_format": target}, f"pairs {source}")
    add("DataFormatVecPermute", [count((2, 2), "int64")], {"src_format": source, "dst_format": target}, f"spatial {source}")
    add("DataFormatDimMap", [np.array([0, 1, 2, 3, -1], np.int32)], {"src_format": source, "dst_format": target}, "" if source == "NHWC" else source)
add("ConcatOffset", [scalar(1), [ints(2, 3), ints(2, 5), ints(2, 1)]])
add("Empty", [ints(0, 3)], {"dtype": "float32"})
add("EnsureShape", [draw((2, 3))], {"shape": [None, 3]}, sample=False)

BEGIN, END, ELLIPSIS, FRESH, SHRINK = "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"
MASKED = [
    ([0, 1], [0, 3], [1, 1], {BEGIN: 1, END: 1}), ([-1, 0], [0, 2], [1, 1], {SHRINK: 1}), ([0, 0], [0, 1], [1, 1], {ELLIPSIS: 1, SHRINK: 2}),
    ([0, 0, 1], [0, 1, 3], [1, 1, 1], {BEGIN: 1, END: 1, FRESH: 2}), ([0, 0], [0, 0], [-1, 2], {BEGIN: 3, END: 3}),
    ([0, -2], [-1, 0], [1, 1], {END: 2}), ([5, 0], [-7, 9], [-2, 1], {}), ([1, 0, 0], [2, 0, 2], [1, 1, 1], {SHRINK: 1, ELLIPSIS: 2}),
    ([0], [0], [1], {FRESH: 1}), ([0, 0, 0], [0, 0, 0], [1, 1, 1], {FRESH: 5, ELLIPSIS: 2}), ([1, 1, 1], [2, 2, 2], [1, 1, 1], {SHRINK: 7}),
    ([-1, -1, -1], [0, 0, 0], [1, 1, 1], {SHRINK: 7}), ([2], [2], [1], {}), ([0, 0, 3], [2, 3, 0], [1, 1, -1], {}),
    ([0, 0, -1], [2, 3, -5], [1, 2, -1], {}), ([100], [200], [1], {}), ([0, 0], [-1, -1], [1, 1], {}), ([0, 3], [0, 0], [1, -1], {ELLIPSIS: 1}),
    ([0, 0], [0, 0], [1, 1], {ELLIPSIS: 1, FRESH: 2}), ([0, 1], [0, 2], [1, 1], {FRESH: 1, SHRINK: 3}), ([], [], [], {}),
]  # fmt: skip
for begin, end, strides, masks in MASKED:
    name = ",".join(f"{key.split('_')[0]}{value}" for key, value in masks.items())
    given = [Const(np.array(one, np.int32)) for one in (begin, end, strides)]
    add("StridedSlice", [X, *given], masks, f"masks {begin} {end} {strides} {name}", open=True, sample=masks.get(FRESH) == 2)
    if begin:
        add("StridedSlice", [X, np.array(begin, np.int64), np.array(end, np.int64), Const(np.array(strides, np.int64))], masks, f"fed {begin} {end} {strides} {name}")
add("StridedSlice", [draw((5,)), ints(0), ints(5), np.array([2], np.int32)], label="strides fed", refused="must be known")
for begin, size in [([0, 1, 2], [1, 2, 2]), ([0, 0, 0], [-1, -1, -1]), ([1, 0, 3], [1, 3, -1]), ([0, 0, 0], [2, 3, 0])]:
    add("Slice", [X, ints(*begin), ints(*size)], label="" if begin == [0, 1, 2] else f"{begin} {size}", open=True)
    add("Slice", [X, np.array(begin, np.int64), np.array(size, np.int64)], label=f"fed {begin} {size}")
pads = np.array([[1, 2], [0, 1]], np.int32)
for dtype in ["float32", "int64", "float16", "uint8"]:
    add("Pad", [draw((2, 3), dtype), Const(pads)], label="" if dtype == "float32" else dtype, open=True)
add("Pad", [draw((2, 3)), pads.astype(np.int64)], label="fed")
add("Pad", [draw((2, 3)), Const(np.zeros((2, 2), np.int32))], label="none")
add("Pad", [draw((0, 3)), Const(pads)], label="empty")
for mode in ["REFLECT", "SYMMETRIC"]:
    for size, borders in [(4, [[1, 2], [2, 0]]), (3, [[2, 2], [1, 1]]), (4, [[0, 0], [3, 3]])]:
        add("MirrorPad", [count((size, 4)), Const(np.array(borders, np.int32))], {"mode": mode}, f"{mode} {borders}" if (mode, size) != ("REFLECT", 4) else "", open=True)
    add("MirrorPad", [draw((3, 4), "int32"), Const(np.array([[1, 1], [2, 2]], np.int64))], {"mode": mode}, f"{mode} int32")
    add("MirrorPad", [draw((3, 4)), np.array([[1, 1], [2, 2]], np.int64)], {"mode": mode}, f"{mode} fed", **({} if mode == "REFLECT" else {"refused": "must be known"}))
for op, shape in [("SpaceToDepth", (1, 4, 6, 2)), ("DepthToSpace", (1, 2, 3, 8))]:
    for dtype in ["float32", "float16", "int32", "uint8"]:
        add(op, [draw(shape, dtype)], {"block_size": 2}, "" if dtype == "float32" else dtype, open=[0, 1, 2] if op[0] == "D" else [0])
for blocks, borders, shape in [([2, 2], [[0, 0], [0, 0]], (1, 4, 6, 2)), ([2, 3], [[1, 1], [2, 1]], (2, 4, 3, 2)), ([2], [[1, 0]], (1, 3, 2))]:
    add("SpaceToBatchND", [draw(shape), ints(*blocks), Const(np.array(borders, np.int32))], label="" if shape[1] == 4 and blocks[1] == 2 else str(blocks), open=[0])
for blocks, borders, shape in [([2, 2], [[0, 0], [0, 0]], (4, 2, 3, 2)), ([2, 3], [[1, 0], [2, 1]], (12, 2, 3, 2)), ([2], [[1, 0]], (4, 3, 2))]:
    add("BatchToSpaceND", [draw(shape), ints(*blocks), Const(np.array(borders, np.int32))], label="" if shape[0] == 4 and len(blocks) == 2 else str(blocks), open=[0])
add("SpaceToBatchND", [draw((1, 4, 6, 2)), ints(2, 2), Const(np.array([[0, 0], [0, 0]], np.int32))], label="open sizes", open=[0, 1, 2])
add("BatchToSpaceND", [draw((4, 2, 3, 2)), ints(2, 2), Const(np.array([[0, 1], [1, 0]], np.int32))], label="open sizes", open=[0, 1, 2])
add("SpaceToBatch", [draw((1, 4, 4, 1)), Const(np.array([[0, 0], [0, 0]], np.int32))], {"block_size": 2})
add("BatchToSpace", [draw((4, 2, 2, 1)), Const(np.array([[0, 0], [0, 0]], np.int32))], {"block_size": 2})
