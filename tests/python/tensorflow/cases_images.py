"""Resizing, colours, patches, boxes."""

import numpy as np
from operator_cases import Const, F, Family, count, draw, ints, scalar

family = Family("images")
add = family.add
MODES = [({}, "legacy"), ({"align_corners": True}, "corners"), ({"half_pixel_centers": True}, "centers")]
for op in ["ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"]:
    loose = {"tolerance": 3e-2, "why": "TensorFlow reads cubic weights from a table of 1,024"} if op.endswith("cubic") else {"tolerance": 1e-5, "why": "places of samples are rounded"}
    for attributes, name in MODES:
        for size in [(5, 7), (6, 6), (2, 3), (1, 1), (9, 4), (4, 5)]:
            add(op, [draw((1, 4, 5, 2)), ints(*size)], attributes, f"{name} {size}" if (name, size) != ("centers", (5, 7)) else "", open=[0, 1, 2], **loose)
    for dtype in ["uint8", "float16", "int32", "float64"]:
        add(op, [draw((1, 4, 5, 2), dtype, 0, 0, 200), ints(7, 3)], {"half_pixel_centers": True}, dtype, **loose)
    add(op, [draw((1, 4, 5, 2)), np.array([6, 7], np.int32)], {"half_pixel_centers": True}, "size fed", **loose)
for corners in [False, True]:
    for size in [(2, 3), (3, 5), (8, 10), (7, 3), (4, 5)]:
        add("ResizeArea", [draw((1, 4, 5, 2)), ints(*size)], {"align_corners": corners}, "" if size == (2, 3) and not corners else f"{size} {corners}", open=[0], tolerance=1e-5, why="sums")
add("ResizeArea", [draw((1, 4, 5, 2), "uint8", 0, 0, 200), ints(3, 2)], label="uint8", tolerance=1e-5, why="sums")
for kernel in ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]:
    for antialias in [True, False]:
        for size, scale in [((3, 3), (0.5, 0.6)), ((9, 7), (1.5, 1.4))]:
            add("ScaleAndTranslate", [draw((1, 6, 5, 2)), ints(*size), Const(np.array(scale, F)), Const(np.array([0, 0], F))],
                {"kernel_type": kernel, "antialias": antialias}, f"{kernel} {antialias} {size}" if (kernel, antialias, size) != ("lanczos3", True, (3, 3)) else "",
                tolerance=3e-5, why="sums of weights")  # fmt: skip
add("ScaleAndTranslate", [draw((1, 6, 5, 2)), ints(4, 4), Const(np.array([0.7, 0.9], F)), Const(np.array([0.5, -1], F))], {"kernel_type": "triangle", "antialias": True}, "moved", tolerance=3e-5, why="sums")
RGB = draw((2, 3, 3, 3), low=0, high=1)
EDGES = np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0.2], [0.2, 0.7, 0.7], [0.9, 0.1, 0.9]], F)
for x, name in [(RGB, ""), (EDGES, "edges")]:
    add("RGBToHSV", [x], label=name, open=[0], tolerance=1e-5, why="hues")
    add("HSVToRGB", [x], label=name, open=[0], tolerance=1e-5, why="hues")
add("RGBToHSV", [RGB.astype(np.float64)], label="float64", tolerance=1e-6, why="hues")
for factor in [0.3, 1.7]:
    add("AdjustSaturation", [RGB, scalar(factor, "float32")], label="" if factor == 0.3 else "more", tolerance=3e-5, why="hues", open=[0, 1, 2])
for delta in [0.3, -0.7]:
    add("AdjustHue", [RGB, scalar(delta, "float32")], label="" if delta == 0.3 else "back", tolerance=3e-5, why="hues", open=[0, 1, 2])
add("AdjustContrastv2", [RGB, scalar(1.5, "float32")], open=[0, 1, 2], tolerance=1e-5, why="means")
for padding in ["VALID", "SAME"]:
    for size, stride, rate in [((2, 2), (2, 2), (1, 1)), ((3, 2), (1, 2), (1, 1)), ((2, 3), (2, 1), (2, 1)), ((1, 1), (2, 2), (1, 1))]:
        for dtype in ["float32", "int32"]:
            add("ExtractImagePatches", [draw((1, 5, 6, 2), dtype)], {"ksizes": [1, *size, 1], "strides": [1, *stride, 1], "rates": [1, *rate, 1], "padding": padding},
                "" if (padding, size, dtype) == ("VALID", (2, 2), "float32") else f"{padding} {size} {dtype}", open=[0, 1, 2] if padding == "VALID" else [0])  # fmt: skip
        add("Dilation2D", [draw((1, 5, 6, 2)), Const(draw((*size, 2), seed=1))], {"strides": [1, *stride, 1], "rates": [1, *rate, 1], "padding": padding},
            "" if (padding, size) == ("VALID", (2, 2)) else f"{padding} {size}", open=[0, 1, 2] if padding == "VALID" else [0])  # fmt: skip

rng = np.random.default_rng(0)


def boxes_of(count, seed=0):
    random = np.random.default_rng(seed)
    corner, size = random.uniform(0, 0.6, (count, 2)), random.uniform(0.2, 0.5, (count, 2))
    return np.concatenate([corner, corner + size], 1).astype(F)


BOXES, SCORES = boxes_of(12), rng.permutation(12).astype(F) / 12
settings = [scalar(5), scalar(0.4, "float32"), scalar(0.2, "float32")]
add("NonMaxSuppression", [BOXES, SCORES, scalar(5)], {"iou_threshold": 0.4})
add("NonMaxSuppressionV2", [BOXES, SCORES, scalar(5), settings[1]], open=[0])
add("NonMaxSuppressionV3", [BOXES, SCORES, *settings], open=[0])
add("NonMaxSuppressionV3", [BOXES, SCORES, np.array(3, np.int32), *settings[1:]], label="count fed")
add("NonMaxSuppressionV3", [BOXES[:, [2, 3, 0, 1]], SCORES, *settings], label="flipped")
add("NonMaxSuppressionV3", [BOXES, SCORES, scalar(5), scalar(0.4, "float32"), scalar(2, "float32")], label="none")
for pad in [False, True]:
    add("NonMaxSuppressionV4", [BOXES, SCORES, scalar(9), *settings[1:]], {"pad_to_max_output_size": pad}, "" if not pad else "padded", open=[0])
    add("NonMaxSuppressionV5", [BOXES, SCORES, scalar(9), *settings[1:], scalar(0, "float32")], {"pad_to_max_output_size": pad}, "" if not pad else "padded", open=[0])
add("NonMaxSuppressionV5", [BOXES, SCORES, *settings, scalar(0.5, "float32")], label="soft", refused="soft")
for own, classes, per_class, total, padded, clip in [(1, 2, 3, 5, False, True), (2, 2, 3, 5, False, True), (1, 3, 2, 10, True, False), (1, 1, 4, 30, False, True), (3, 3, 4, 6, False, False)]:
    boxes = np.stack([np.stack([boxes_of(9, 10 * b + c) for c in range(own)], 1) for b in range(2)])
    scores = np.random.default_rng(3).permutation(2 * 9 * classes).reshape(2, 9, classes).astype(F) / (18 * classes)
    add("CombinedNonMaxSuppression", [boxes + F(0.3) * (not clip), scores, scalar(per_class), scalar(total), scalar(0.4, "float32"), scalar(0.1, "float32")],
        {"pad_per_class": padded, "clip_boxes": clip}, "" if (own, classes) == (1, 2) else f"{own} {classes}", open=[0])  # fmt: skip
crops = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [0.9, 0.8, 0.1, 0.2], [-0.3, 0.2, 1.3, 0.8], [0.4, 0.4, 0.4, 0.4]], F)
of_box = np.array([0, 1, 1, 0, 0], np.int32)
for method in ["bilinear", "nearest"]:
    for size in [(3, 4), (1, 1), (2, 5)]:
        add("CropAndResize", [draw((2, 6, 5, 2)), crops, of_box, ints(*size)], {"method": method, "extrapolation_value": 0.5},
            "" if (method, size) == ("bilinear", (3, 4)) else f"{method} {size}", open=[0], tolerance=3e-5, why="places of samples are rounded")  # fmt: skip
    add("CropAndResize", [draw((2, 6, 5, 2), "uint8", 0, 0, 200), crops, of_box, ints(3, 3)], {"method": method}, f"{method} uint8", open=True, tolerance=3e-5, why="as above")

turn = np.array([[0.8, 0.3, 0.2, -0.2, 0.9, 0.7, 0, 0], [1.1, 0, -0.6, 0.1, 0.7, 0.4, 0.02, -0.03]], F)
for fill in ["CONSTANT", "NEAREST"]:
    for interpolation in ["BILINEAR", "NEAREST"]:
        add("ImageProjectiveTransformV3", [draw((2, 6, 5, 2)), turn, ints(4, 7), scalar(0, "float32")], {"interpolation": interpolation, "fill_mode": fill},
            "" if (fill, interpolation) == ("CONSTANT", "BILINEAR") else f"{fill} {interpolation}", open=[0, 1, 2], tolerance=5e-5, why="places of samples are rounded")  # fmt: skip
add("ImageProjectiveTransformV2", [draw((2, 6, 5, 2)), turn[:1], np.array([6, 5], np.int32)], {"interpolation": "BILINEAR"}, tolerance=5e-5, why="as above")
add("ImageProjectiveTransformV3", [draw((1, 3, 3, 1)), turn[:1], ints(4, 7), scalar(0, "float32")], {"interpolation": "BILINEAR", "fill_mode": "WRAP"}, "wrap", refused="CONSTANT with 0")
