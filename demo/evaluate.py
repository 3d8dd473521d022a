"""Measures a detector's answers against the log of what was drawn.

    python demo/evaluate.py answers.jsonl truth.jsonl -o accuracy.json

Answers hold one JSON object a line: {"frame": n, "pts": seconds, "detections": [{"label": ..., "class": int,
"score": ..., "box": [x0, y0, x1, y1]}]}, boxes in pixels of the source; other keys are ignored. The truth is
written by shapes.Clip.write_truth. A frame without answers counts as one without detections.
"""

import argparse
import json
import math
import sys

import numpy as np

MATCH_IOU = 0.5


def box_iou(a, b):
    """Intersection over union of each box of `a` [M, 4] with each of `b` [K, 4]: float64 [M, K]."""
    a, b = (
        np.reshape(np.asarray(a, np.float64), (-1, 1, 4)),
        np.reshape(np.asarray(b, np.float64), (1, -1, 4)),
    )
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=-1)
    sizes = [np.prod(np.clip(box[..., 2:] - box[..., :2], 0, None), axis=-1) for box in (a, b)]
    union = sizes[0] + sizes[1] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def match(truth_boxes, found_boxes):
    """Pairs (truth, found, IoU) of one frame: best IoU first, each box once, down to MATCH_IOU."""
    iou = box_iou(truth_boxes, found_boxes)
    pairs = []
    while iou.size and iou.max() >= MATCH_IOU:
        row, column = np.unravel_index(int(iou.argmax()), iou.shape)
        pairs.append((int(row), int(column), float(iou[row, column])))
        iou[row, :] = -1
        iou[:, column] = -1
    return pairs


def evaluate(answers, truth):
    """The measures of a whole clip, from parsed lines (lists of objects as in the files).

    mean_iou        over all drawn boxes; one that was not found counts 0
    class_accuracy  share of the found boxes that carry the right class
    recall          share of the drawn boxes that were found
    precision       share of the answers that found a drawn box
    classes         by label: how many were drawn and found, their mean IoU
    confusion       confusion[t][d]: boxes of class t answered as class d, by the order of labels
    """
    found_by_frame = _by_frame(answers, "answers")
    truth_by_frame = _by_frame(truth, "truth")
    strangers = sorted(set(found_by_frame) - set(truth_by_frame))
    if strangers:
        raise ValueError(
            f"answers: frame {strangers[0]} is not in the truth, which has {len(truth_by_frame)} frames"
        )
    labels = _labels(truth, answers)
    drawn, hits, overlap = (np.zeros(len(labels)) for _ in range(3))
    confusion = np.zeros((len(labels), len(labels)), int)
    detections = 0
    for number, line in truth_by_frame.items():
        objects = line["objects"]
        found = found_by_frame.get(number, {}).get("detections", [])
        detections += len(found)
        for item in objects:
            drawn[item["class"]] += 1
        for t, d, iou in match([_box(o) for o in objects], [_box(f) for f in found]):
            wanted = objects[t]["class"]
            hits[wanted] += 1
            overlap[wanted] += iou
            confusion[wanted, found[d]["class"]] += 1
    return _measures(labels, len(truth_by_frame), drawn, hits, overlap, confusion, detections)


def _measures(labels, frames, drawn, hits, overlap, confusion, detections):
    def share(part, whole):
        return float(part / whole) if whole else 0.0

    return {
        "frames": frames,
        "objects": int(drawn.sum()),
        "detections": detections,
        "mean_iou": share(overlap.sum(), drawn.sum()),
        "class_accuracy": share(np.trace(confusion), hits.sum()),
        "recall": share(hits.sum(), drawn.sum()),
        "precision": share(hits.sum(), detections),
        "classes": {
            label: {"drawn": int(drawn[k]), "found": int(hits[k]), "mean_iou": share(overlap[k], drawn[k])}
            for k, label in enumerate(labels)
        },
        "labels": labels,
        "confusion": confusion.tolist(),
    }


def _by_frame(lines, name):
    frames = {}
    for line in lines:
        if line["frame"] in frames:
            raise ValueError(f"{name}: frame {line['frame']} comes twice")
        frames[line["frame"]] = line
    return frames


def _labels(truth, answers):
    labels = {}
    items = [item for line in truth for item in line["objects"]]
    items += [item for line in answers for item in line.get("detections", [])]
    for item in items:
        number, label = item["class"], item["label"]
        if not isinstance(number, int) or not 0 <= number < 1000:
            raise ValueError(f"class {number!r}: expected a whole number from 0 to 999")
        if labels.setdefault(number, label) != label:
            raise ValueError(f"class {number} is called both {labels[number]!r} and {label!r}")
    return [labels.get(k, str(k)) for k in range(max(labels, default=-1) + 1)]


def _box(item):
    box = [float(v) for v in item["box"]]
    if len(box) != 4 or not all(map(math.isfinite, box)):
        raise ValueError(f"box {item['box']}: expected four finite numbers")
    return box


def read_lines(path):
    """The JSON objects of a file with one a line."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            try:
                lines.append(json.loads(text))
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}:{number}: not JSON: {error}") from error
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("answers")
    parser.add_argument("truth")
    parser.add_argument("-o", "--output", help="where to write the measures as JSON")
    options = parser.parse_args()
    try:
        measures = evaluate(read_lines(options.answers), read_lines(options.truth))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"evaluate: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    text = json.dumps(measures, indent=1)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
