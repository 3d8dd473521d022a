"""Rotated boxes are suppressed as in Ultralytics: as Gaussians, and suppressed boxes suppress others."""

import lanner
import numpy as np
import pytest
from task_models import detector, ultralytics


def covariance(boxes):
    across, down = boxes[:, 2] ** 2 / 12, boxes[:, 3] ** 2 / 12
    cosine, sine = np.cos(boxes[:, 4]), np.sin(boxes[:, 4])
    return across * cosine**2 + down * sine**2, across * sine**2 + down * cosine**2, (across - down) * cosine * sine


def prob_iou(one, other):
    """[N, M] for boxes [N, 5] and [M, 5]: 1 minus the Hellinger distance of the Gaussians (arXiv 2106.06072)."""
    a, b, c = (p[:, None] + q[None] for p, q in zip(covariance(one), covariance(other)))
    x, y = one[:, 0, None] - other[None, :, 0], one[:, 1, None] - other[None, :, 1]
    determinant = a * b - c**2
    apart = 0.25 * (a * y**2 + b * x**2 - 2 * c * x * y) / (determinant + 1e-7)
    own, others = ((p * q - r**2).clip(0) for p, q, r in (covariance(one), covariance(other)))
    shapes = 0.5 * np.log(determinant / (4 * np.sqrt(own[:, None] * others[None]) + 1e-7) + 1e-7)
    return 1 - np.sqrt(1 - np.exp(-(apart + shapes).clip(1e-7, 100)) + 1e-7)


def kept(boxes, scores, labels, threshold):
    order = np.argsort(-scores, kind="stable")
    shifted = boxes[order].astype(np.float64)
    shifted[:, :2] += 1e5 * labels[order, None]  # Boxes of other classes are far apart.
    ious = np.triu(prob_iou(shifted, shifted), 1)
    return order[(ious > threshold).sum(0) == 0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_suppression_matches_numpy(tmp_path, seed, threshold):
    rng = np.random.default_rng(seed)
    count, classes = 336, 3  # Cells of 128 x 128 by strides of 8, 16 and 32.
    boxes = np.stack([rng.uniform(20, 108, count), rng.uniform(20, 108, count), rng.uniform(4, 40, count),
                      rng.uniform(4, 16, count), rng.uniform(-0.7, 2.3, count)], 1).astype(np.float32)
    scores, labels = rng.uniform(0.3, 1, count).astype(np.float32), rng.integers(0, classes, count)
    output = np.zeros((1, 5 + classes, count), np.float32)
    output[0, :4], output[0, 4 + classes] = boxes[:, :4].T, boxes[:, 4]
    output[0, 4 + labels, np.arange(count)] = scores
    names = {"names": "{0: 'a', 1: 'b', 2: 'c'}"}
    model = detector(tmp_path / "obb.onnx", {**ultralytics("obb"), **names}, 128, 128, count, classes, 1)
    engine = lanner.build(model, budget=0, threads=1)
    reader = lanner.tasks.TaskReader(engine, {"iou_threshold": threshold, "max_detections": count})
    found = reader({"output0": output}, (128, 128))
    expected = kept(boxes, scores, labels, threshold)
    assert 10 < len(expected) < count
    assert np.allclose(np.sort(found.scores.numpy()), np.sort(scores[expected]))
