"""How far answers are apart, whatever they are made of."""

from typing import Any

import numpy as np


# Of outputs that are all smaller, such as scores of what is not there, onnxruntime's own sigmoid leaves a digit.
LEAST_SCALE = 1e-3


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
    scale = max(np.abs(expected[finite]).max(), LEAST_SCALE)
    return float(np.abs(found[finite] - expected[finite]).max() / scale)
