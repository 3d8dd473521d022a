"""Seeds of task descriptions, of ground truth for accuracy, and of calibration tables."""

import json


def truth_seeds() -> dict[str, bytes]:
    """COCO's annotations in each form, compressed run lengths, and YOLO's class names."""
    made = {}
    outline = [2, 1, 6, 1, 6, 4, 2, 4]
    forms = {
        "polygon": [outline, [0, 0, 3, 0, 0, 3]],
        "runs": {"size": [10, 20], "counts": [0, 10, 190]},
        "packed": {"size": [10, 20], "counts": "0:n5"},
        "corners": [outline],
    }
    for name, segmentation in forms.items():
        annotation = {"id": 1, "image_id": 1, "category_id": 2, "bbox": [2, 1, 4, 3], "area": 12, "iscrowd": 0}
        annotation |= {"segmentation": segmentation, "keypoints": [2, 1, 2, 6, 4, 0]}
        truth = {
            "images": [{"id": 1, "file_name": "a.png", "width": 20, "height": 10}],
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
            "annotations": [annotation],
        }
        made[f"coco-{name}"] = json.dumps(truth).encode()
    made["packed-runs"] = b"0:n5"
    made["yaml-lines"] = b"path: set # here\nval: images/val\nnames:\n  0: cat\n  1: 'big dog'\n"
    made["yaml-list"] = b"names: [cat, 'a, b',\n  \"dog\"]\nval: x\n"
    made["yaml-map"] = b"names: {0: cat, 1: dog}\n"
    made["yolo-boxes"] = b"0 0.5 0.5 0.25 0.5\n1 0.1 0.2 0 0\r\n"
    made["yolo-polygon"] = b"1 0.1 0.1 0.9 0.1 0.5 0.8\n"
    made["yolo-points"] = b"0 0.5 0.5 0.2 0.2 0.4 0.4 2 0.6 0.6 0\n0 0.5 0.5 0.2 0.2 0.4 0.4 0 0\n"
    made["yolo-corners"] = b"0 0.1 0.1 0.9 0.2 0.8 0.9 0.1 0.8\n"
    return made


def label_seeds() -> dict[str, bytes]:
    """Class names, one per line and in each form of JSON."""
    return {
        "lines": b"cat\ndog\r\n\nn07747607 orange\n",
        "list": b'["cat", "dog", "n07747607 orange"]',
        "dict": b'{"0": "cat", "1": ["n07747607", "orange"]}',
        "config": b'{"id2label": {"0": "cat", "1": "dog"}}',
        "no-name": b'{"0": "cat", "2": 3}',
    }


def calibration_seeds() -> dict[str, bytes]:
    """Calibration tables, and calibration caches of TensorRT."""
    line = '"conv1" least=-1.5 most=2.25 threshold=2 calibrator=entropy\n'
    names = '"a b\\"\\\\\\n\\xc3" least=0 most=1e-3 threshold=0.30000000000000004 calibrator=auto\n'
    return {
        "table": f"lanner calibration 1\n{line}{names}".encode(),
        "comments": f"lanner calibration 1\r\n# by hand\r\n\r\n\t{line}".encode(),
        "tensorrt": b"TRT-8401-EntropyCalibration2\ndata: 3c008912\n(Unnamed Layer* 22) [Constant]_output: 3a4b050c\n",
        "tensorrt-minmax": b"TRT-100300-MinMaxCalibration\nconv1/convolution:0: 3d0b7086\nzeros: 0\n",
    }


def task_seeds() -> dict[str, bytes]:
    """Tasks as JSON, and in the other forms found in metadata."""
    seeds = {
        "word": "detect",
        "json": '{"task": "pose", "head": "yolo_v8", "outputs": {"boxes": "o"}, "labels": ["a", "b"], "keypoints": 17, "skeleton": [[0, 1]]}',
        "numbers": '{"anchors": [1.5, -2, 3e4], "strides": [8], "box_scales": [10, 10, 5, 5], "range": [0, 1], "score_threshold": 0.25}',
        "dict": "{0: 'person', 1: \"it's\", 2: 'a\\x41\\u00e9\\n'}",
        "list": "[(17, 3), True, False, None, [], -1.5e3]",
        "deep": "[" * 100,
        "lines": "cat\ndog\r\n",
        "boxes": "cxcywh-normalised",
        "share": "0.75",
    }
    return {name: text.encode() for name, text in seeds.items()}
