"""Preprocessing and decoding of outputs in NumPy.

It follows the model's metadata, and is used by training and tests, where no engine of
this project takes part; in the demo `lanner run` does this work.
"""

import numpy as np

from evaluate import box_iou
from shapes import LABELS

WIDTH, HEIGHT = 320, 192
SCORE_THRESHOLD = 0.4
IOU_THRESHOLD = 0.5


def resize(rgb, width=WIDTH, height=HEIGHT):
    """Bilinear with half-pixel centres, both sides stretched; uint8 [h, w, 3] to float32 0..255."""
    picture = rgb.astype(np.float32)
    for axis, size in ((0, height), (1, width)):
        length = picture.shape[axis]
        place = np.clip((np.arange(size) + 0.5) * (length / size) - 0.5, 0, length - 1)
        low = place.astype(int)
        part = (place - low).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(3)])
        picture = (
            picture.take(low, axis) * (1 - part) + picture.take(np.minimum(low + 1, length - 1), axis) * part
        )
    return picture


def to_input(rgb):
    """One frame as the network's input: float32 [1, 3, HEIGHT, WIDTH], 0..1."""
    return np.ascontiguousarray((resize(rgb) / np.float32(255)).transpose(2, 0, 1)[None])


def to_detections(boxes, scores, width, height):
    """One frame's outputs, boxes [K, 4] (0..1) and scores [K, C], as answers in pixels, best first."""
    classes, best = scores.argmax(axis=1), scores.max(axis=1)
    order = np.argsort(-best, kind="stable")
    order = order[best[order] >= SCORE_THRESHOLD]
    kept = []
    while order.size:
        first, order = order[0], order[1:]
        kept.append(first)
        order = order[box_iou(boxes[first], boxes[order])[0] < IOU_THRESHOLD]
    scale = np.array([width, height, width, height])
    return [
        {
            "label": LABELS[classes[k]],
            "class": int(classes[k]),
            "score": float(best[k]),
            "box": (boxes[k] * scale).tolist(),
        }
        for k in kept
    ]
