"""Instance segmentation of shapes: boxes, and for each a mask as a sum of prototypes, in the form of YOLOv8-seg."""

import numpy as np
import torch
from torch.nn import functional

import export
import network
from detections import HEIGHT, WIDTH
from lessons.grid import MOMENTS, Detect, box_loss, drawn, save_yolo, targets, yolo_metadata
from network import GRID
from pictures import mirrored_boxes, moments, planes, shade, shrink
from shapes import LABELS, SCENE_FRAMES, Clip

MOST, CELLS = 5, 4
FINE = (HEIGHT // 4, WIDTH // 4)


class Masks(Detect):
    name, seed, scenes, steps, rate = "masks", 21, 400, 1200, 2e-3
    halves, start = True, "shapes.onnx"
    extras = prototypes = 16

    def network(self, layers):
        bias = [0.0] * 4 + [-4.0] * len(LABELS) + [0.0] * self.extras
        return network.grid(layers, bias, self.prototypes)

    def draw(self, seeds, rng):
        for seed in seeds:
            clip = Clip(seed, frames=SCENE_FRAMES)
            for number, frame, rgb in moments(clip, MOMENTS, rng):
                masks = [shrink(mask, FINE[1], FINE[0]) for mask in clip.masks(number)]
                masks = np.round(np.stack(masks) * 255).astype(np.uint8)
                yield shrink(rgb, WIDTH, HEIGHT).astype(np.uint8), *drawn(frame.objects, clip), masks

    def sample(self, item, rng):
        image, classes, boxes, masks = item
        across, down = rng.random(2) < 0.5
        turn = (slice(None, None, -1 if down else 1), slice(None, None, -1 if across else 1))
        boxes = mirrored_boxes(boxes, across, down)
        scores, wanted, weights, owner = targets(classes, boxes, len(LABELS))
        shown = np.zeros((MOST, *FINE), np.float32)
        shown[: len(boxes)] = masks[:, *turn].astype(np.float32) / 255
        cells, valid = np.zeros((MOST, CELLS), np.int64), np.zeros((MOST, CELLS), np.float32)
        edges = np.zeros((MOST, 4), np.float32)
        edges[: len(boxes)] = boxes
        for n in range(len(boxes)):
            near = np.where(owner == n, weights, 0).ravel()
            cells[n] = np.argsort(-near)[:CELLS]
            valid[n] = near[cells[n]] > 0.3
        return planes(shade(image[turn], rng)), scores, wanted, weights, shown, edges, cells, valid

    def loss(self, outputs, scores, boxes, weights, masks, edges, cells, valid):
        answers, prototypes = outputs["answers"], outputs["prototypes"]
        total = box_loss(answers, scores, boxes, weights)
        coefficients = answers[:, 4 + len(LABELS) :].flatten(2)
        index = cells.flatten(1)[:, None, :].expand(-1, self.extras, -1)
        picked = coefficients.gather(2, index)
        logits = torch.einsum("npk,nphw->nkhw", picked, prototypes).unflatten(1, cells.shape[1:])
        wanted = masks[:, :, None].expand_as(logits)
        entropy = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        # Masks are cut at their boxes, so pixels outside need not be right.
        inside = inside_boxes(edges)[:, :, None]
        each = (entropy * inside).sum((3, 4)) / (inside.sum((3, 4)) + 1)
        return total + 6 * (each * valid).sum() / (valid.sum() + 1)

    def save(self, weights, path):
        layers = export.OnnxLayers(weights, self.halves)
        found = self.network(layers)
        outputs = save_yolo(layers, found["answers"], [4, len(LABELS), self.extras])
        layers.node("Identity", "output1", [found["prototypes"]])
        outputs["output1"] = ["N", self.prototypes, *FINE]
        layers.save(path, self.name, (HEIGHT, WIDTH), outputs, yolo_metadata("segment", LABELS))


def inside_boxes(edges):
    """Fine cells inside boxes [N, K, 4] that are enlarged by two cells: float [N, K, h, w]."""
    margin = 2 / torch.tensor([FINE[1], FINE[0]])
    low, high = edges[..., :2] - margin, edges[..., 2:] + margin
    x = (torch.arange(FINE[1]) + 0.5) / FINE[1]
    y = (torch.arange(FINE[0]) + 0.5) / FINE[0]
    across = (x >= low[..., :1]) & (x < high[..., :1])
    down = (y >= low[..., 1:]) & (y < high[..., 1:])
    return (down[..., :, None] & across[..., None, :]).float()


assert GRID == (FINE[0] // 2, FINE[1] // 2)
