"""Whether a model of torchvision answers as in torch. Numbers have one bound. A detector chooses: rounding may move a score over a
threshold, change the order of equal scores, or make the heat map of a box a pixel wider (its width is rounded up); so its answer is compared
box by box, and the share of boxes that are torch's is what counts."""

from dataclasses import dataclass

import numpy as np

from networks.boxes import overlaps
from networks.comparison import NEAR_CORNER, NEAR_SCORE, SAME_BOX

Arrays = list[np.ndarray]
Row = dict

# The largest difference of numbers, relative to the largest number of the output.
CLOSE = 1e-3
# The same for a box's masks and key points, which are sampled at positions that depend on its corners.
CLOSE_OF_A_BOX = 1e-2
# Shares of torch's boxes: enough whoever finds more; where it is less, onnxruntime may miss as many but for one, and never below the other.
ENOUGH, LEAST = 0.9, 0.5


@dataclass(frozen=True)
class Detections:
    """Of one picture, in the order of the file's outputs. `further`: masks, key points and so on, one row for each box."""

    boxes: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    further: Arrays


def detections_of(arrays: Arrays) -> Detections | None:
    """None if not a detector's: [n, 4], integers [n] and others [n] first, the last two in any order."""
    if len(arrays) < 3 or arrays[0].ndim != 2 or arrays[0].shape[1] != 4 or len({len(array) for array in arrays}) != 1:
        return None
    if any(array.ndim != 1 for array in arrays[1:3]) or {array.dtype.kind for array in arrays[1:3]} != {"i", "f"}:
        return None
    labels, scores = sorted(arrays[1:3], key=lambda array: array.dtype.kind == "f")
    return Detections(arrays[0].astype(np.float64), labels, scores.astype(np.float64), [array.astype(np.float64) for array in arrays[3:]])


def largest(arrays: Arrays) -> list[float]:
    return [max(float(np.abs(array).max(initial=0)), 1e-30) for array in arrays]


def difference(got: Arrays, expected: Arrays) -> float:
    """The largest difference, relative to the largest number of its output; infinite where shapes differ."""
    if [array.shape for array in got] != [array.shape for array in expected]:
        return float("inf")
    parts = zip(got, expected, largest(expected), strict=True)
    return max((float(np.abs(mine.astype(np.float64) - theirs).max() / most) for mine, theirs, most in parts if mine.size), default=0.0)


def found_boxes(got: Detections, expected: Detections) -> Row:
    """How many of torch's boxes have a match of their own: `found`, of `boxes` (the larger count), and the largest `difference` of these."""
    free, found, apart = np.ones(len(got.scores), bool), 0, 0.0
    near, bounds = NEAR_CORNER * largest([expected.boxes])[0], largest(expected.further)
    for place in range(len(expected.scores)):
        if not free.any():
            break
        box = expected.boxes[place]
        corners = np.abs(got.boxes - box).max(1)
        fits = free & (got.labels == expected.labels[place]) & (np.abs(got.scores - expected.scores[place]) <= NEAR_SCORE)
        fits &= (corners <= near) | (overlaps(box, got.boxes) >= SAME_BOX)
        further = further_differences(got, expected, place, bounds)
        fits &= further <= CLOSE_OF_A_BOX
        if not fits.any():
            continue
        best = int(np.where(fits, corners, np.inf).argmin())
        free[best] = False
        found += 1
        apart = max(apart, float(corners[best]) / largest([expected.boxes])[0], float(further[best]))
    return {"boxes": max(len(got.scores), len(expected.scores)), "found": found, "difference": apart}


def further_differences(got: Detections, expected: Detections, place: int, bounds: list[float]) -> np.ndarray:
    """The distance of each of our boxes from torch's at `place`, in its further values."""
    result = np.zeros(len(got.scores))
    for mine, theirs, most in zip(got.further, expected.further, bounds, strict=True):
        if mine.shape[1:] != theirs.shape[1:]:
            return np.full(len(result), np.inf)
        result = np.maximum(result, np.abs(mine - theirs[place]).reshape(len(mine), -1).max(1, initial=0) / most)
    return result


def judged(got: Arrays, expected: Arrays) -> Row:
    """The fields of a log row about an answer."""
    mine, theirs = detections_of(got), detections_of(expected)
    if mine and theirs and len(mine.further) == len(theirs.further):
        return found_boxes(mine, theirs)
    if [array.shape for array in got] != [array.shape for array in expected]:
        return {"shapes": f"{[list(array.shape) for array in got]}, expected {[list(array.shape) for array in expected]}"}
    return {"difference": difference(got, expected)}


def share(row: Row, key: str = "found") -> float:
    return row[key] / row["boxes"] if row["boxes"] else 1.0


def is_right(row: Row) -> bool:
    if "found" not in row:
        return row.get("difference", 1) <= CLOSE
    return share(row) >= ENOUGH or (share(row) >= LEAST and row["found"] + 1 >= row.get("rival_found", row["boxes"]))


def told(row: Row) -> str:
    """The text of the table's cell."""
    if "shapes" in row:
        return f"**no**: sizes {row['shapes']}"
    if "found" not in row or row["found"] == row["boxes"]:
        return "as torch" if is_right(row) else "**no**"
    boxes = f"{row['found']} of {row['boxes']} boxes as torch" + (f", onnxruntime {row['rival_found']}" if "rival_found" in row else "")
    return boxes if is_right(row) else f"**no**: {boxes}"
