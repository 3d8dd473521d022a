"""Boxes of detectors in float64: regions pooled, overlaps, suppression of all but the best."""

import numpy as np

from networks.executor import NotHandled

Array = np.ndarray


def region_matrix(start: float, extent: float, bins: int, samples: int, size: int) -> Array:
    """Mean of the samples of each bin along one axis, as weights of a feature map's elements (bilinear)."""
    at = start + (np.arange(bins * samples) + 0.5) * extent / (bins * samples)
    outside = (at < -1) | (at > size)
    at = np.clip(at, 0, size - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, size - 1)
    matrix, rows = np.zeros((bins * samples, size)), np.arange(bins * samples)
    np.add.at(matrix, (rows, low), np.where(outside, 0, 1 - (at - low)))
    np.add.at(matrix, (rows, high), np.where(outside, 0, at - low))
    return matrix.reshape(bins, samples, size).mean(1)


def roi_align(attributes: dict, x: Array, rois: Array, batches: Array) -> Array:
    half_pixel = attributes.get("coordinate_transformation_mode", b"half_pixel") == b"half_pixel"
    bins = attributes.get("output_height", 1), attributes.get("output_width", 1)
    samples = attributes.get("sampling_ratio", 0)
    if attributes.get("mode", b"avg") != b"avg" or samples <= 0:
        raise NotHandled
    y = np.zeros((len(rois), x.shape[1], *bins))
    for i, (roi, batch) in enumerate(zip(rois, batches, strict=True)):
        left, top, right, bottom = roi * attributes.get("spatial_scale", 1.0) - (0.5 if half_pixel else 0.0)
        height, width = bottom - top, right - left
        if not half_pixel:
            height, width = max(height, 1.0), max(width, 1.0)
        rows = region_matrix(top, height, bins[0], samples, x.shape[2])
        columns = region_matrix(left, width, bins[1], samples, x.shape[3])
        used = np.flatnonzero(rows.any(0))
        y[i] = rows[:, used] @ x[batch][:, used] @ columns.T
    return y


def corners(boxes: Array) -> Array:
    """Each box with its smaller coordinates first."""
    return np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)


def overlaps(box: Array, boxes: Array) -> Array:
    """Intersection over union of a box with others."""
    sides = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    shared = np.clip(sides, 0, None).prod(1)
    total = (box[2:] - box[:2]).prod() + (boxes[:, 2:] - boxes[:, :2]).prod(1) - shared
    return np.divide(shared, total, out=np.zeros(len(boxes)), where=total > 0)


def best_of(boxes: Array, scores: Array, limit: int, overlap: float, least: float) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > least]
    chosen: list[int] = []
    while len(order) and len(chosen) < limit:
        chosen.append(int(order[0]))
        order = order[1:][overlaps(boxes[order[0]], boxes[order[1:]]) <= overlap]
    return chosen


def non_max_suppression(
    attributes: dict, boxes: Array, scores: Array, limit: Array | None = None, overlap: Array | None = None, least: Array | None = None
) -> Array:
    if attributes.get("center_point_box", 0):
        raise NotHandled
    count = int(limit.reshape(-1)[0]) if limit is not None else 0
    threshold = float(overlap.reshape(-1)[0]) if overlap is not None else 0.0
    floor = float(least.reshape(-1)[0]) if least is not None else -np.inf
    rows = []
    for batch, classes in enumerate(scores):
        framed = corners(boxes[batch])
        for label, row in enumerate(classes):
            rows += [(batch, label, i) for i in best_of(framed, row, count, threshold, floor)]
    return np.array(rows, np.int64).reshape(-1, 3)
