"""Differences of answers of any structure."""

from typing import Any

import numpy as np


# For smaller outputs, such as scores of absent objects, onnxruntime's own sigmoid has few exact digits.
LEAST_SCALE = 1e-3


# Rows of a detector that suppresses by itself: boxes with lower scores are chosen by noise.
LEAST_SCORE = 1e-4


class Apart(Exception):
    """Answers that cannot be compared element by element; one line says why."""


def error_between(found: Any, expected: Any, name: str = "output") -> float:
    """The largest difference as a share of the largest expected value (at least LEAST_SCALE); of what are no reals, the share that differs. Lists and dicts count by
    their worst part. Throws Apart where shapes, parts or positions of NaN and infinities differ."""
    if isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            raise Apart(f"{name}: other keys")
        return max((error_between(found[key], expected[key], name) for key in expected), default=0.0)
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            raise Apart(f"{name}: another number of parts")
        return max((error_between(one, other, name) for one, other in zip(found, expected, strict=True)), default=0.0)
    return array_error(np.asarray(found), np.asarray(expected), name)


def array_error(found: Any, expected: Any, name: str) -> float:
    if found.shape != expected.shape:
        raise Apart(f"{name}: shape {list(found.shape)}, onnxruntime's is {list(expected.shape)}")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind not in "fc" or found.dtype.kind not in "fc":
        return float(np.mean(found != expected))
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True) or not np.isfinite(found[finite]).all():
        raise Apart(f"{name}: NaN or infinity at other places")
    if not finite.any():
        return 0.0
    if are_boxes(found) and are_boxes(expected):
        return max(error_of_boxes(one, other) for one, other in zip(found, expected, strict=True))
    scale = max(np.abs(expected[finite]).max(), LEAST_SCALE)
    return float(np.abs(found[finite] - expected[finite]).max() / scale)


def are_boxes(array: Any) -> bool:
    """Whether rows are x1, y1, x2, y2, score, class, best first, as YOLOv10 and YOLO26 output them: [n, k, 6]."""
    if array.ndim != 3 or array.shape[2] != 6 or array.shape[1] < 2:
        return False
    scores, labels = array[..., 4], array[..., 5]
    falls = (np.diff(scores, axis=1) <= 0).all()
    return bool(falls and ((scores >= 0) & (scores <= 1)).all() and (labels == np.round(labels)).all())


def error_of_boxes(found: Any, expected: Any) -> float:
    """For one picture, each row against the nearest unmatched one, as equal scores come in any order; if all scores are noise, only the scores."""
    scale = np.array([max(np.abs(expected[:, :4]).max(), LEAST_SCALE)] * 4 + [max(expected[:, 4].max(), LEAST_SCALE), 1.0])
    worst = float(np.abs(found[:, 4] - expected[:, 4]).max() / scale[4])
    left = list(range(len(found)))
    for row in expected[expected[:, 4] >= LEAST_SCORE]:
        apart = np.abs((found[left] - row) / scale).max(1)
        worst = max(worst, float(apart.min()))
        left.pop(int(apart.argmin()))
    return worst
