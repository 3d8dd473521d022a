"""lanner eval: numbers against COCO's own tools and values computed by hand, and its errors."""

import json
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner
from color_folders import write_colors
from command import color_classifier, leftovers, make_ppm, refuse, succeed, without_notes
from command import lanner as command
from task_models import constant_network

QUICK = ["--budget", "0", "--threads", "1"]
NONE = lanner.Preprocess()


def make_png(path, pixels, palette=None):
    """Gray [h, w] of 8 or 16 bits, RGB [h, w, 3], or numbers [h, w] of a palette [n, 3]."""

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    height, width = pixels.shape[:2]
    kind = 3 if palette is not None else 2 if pixels.ndim == 3 else 0
    bits = 8 * pixels.dtype.itemsize
    rows = b"".join(b"\0" + row.astype(pixels.dtype.newbyteorder(">")).tobytes() for row in pixels)
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([bits, kind, 0, 0, 0])
    colors = chunk(b"PLTE", np.asarray(palette, np.uint8).tobytes()) if palette is not None else b""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + colors + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return path


def save(path, nodes, outputs, constants, width, height, metadata):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "written",
        [value("input", TensorProto.FLOAT, [1, 3, height, width])],
        [value(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


ROWS, CLASSES = 40, 3
WIDTH, HEIGHT = 240, 200
NAMES = ["ant", "bee", "cow"]


def written_network(path, kind, extra=0):
    """Answers are encoded in the image: in row k the red values of the first pixels are x0, y0, x1, y1, score, class, extra..."""
    scale = np.ones((1, 1, 6 + extra), np.float32)
    scale[0, 0, 4] = np.float32(1 / 255)
    scale[0, 0, 8::3] = np.float32(1 / 255)
    nodes = [
        helper.make_node("Slice", ["input", "start", "end", "axes"], ["part"]),
        helper.make_node("Squeeze", ["part", "one"], ["rows"]),
        helper.make_node("Mul", ["rows", "scale"], ["output0"]),
    ]
    constants = {
        "start": np.array([0, 0, 0], np.int64),
        "end": np.array([1, ROWS, 6 + extra], np.int64),
        "axes": np.array([1, 2, 3], np.int64),
        "one": np.array([1], np.int64),
        "scale": scale,
    }
    task = {"task": kind, "head": "yolo_v10", "labels": NAMES}
    if kind == "pose":
        task |= {"keypoints": extra // 3, "keypoint_values": 3}
    return save(path, nodes, {"output0": [1, ROWS, 6 + extra]}, constants, WIDTH, HEIGHT, {"lanner.task": json.dumps(task)})


def draw_box(random):
    x, y = int(random.integers(0, 200)), int(random.integers(0, 160))
    side = [4, 30, 60, 140][random.integers(4)]
    return [x, y, min(WIDTH, x + 2 + int(random.integers(side))), min(HEIGHT, y + 2 + int(random.integers(side)))]


def near(box, random):
    x0, y0, x1, y1 = (int(v + random.integers(-4, 5)) for v in box)
    x0, y0 = max(0, min(x0, WIDTH - 2)), max(0, min(y0, HEIGHT - 2))
    return [x0, y0, min(WIDTH, max(x1, x0 + 1)), min(HEIGHT, max(y1, y0 + 1))]


def draw_scene(folder, kind, pictures=30, points=0, seed=1):
    """Images, their ground truth in COCO's format and the network's future answers in COCO's format."""
    random = np.random.default_rng(seed)
    truth = {"images": [], "annotations": [], "categories": [{"id": 10 * (k + 1), "name": name} for k, name in enumerate(NAMES)]}
    said = []
    for number in range(1, pictures + 1):
        objects = [(draw_box(random), int(random.integers(CLASSES))) for _ in range(random.integers(0, 12))]
        drawn = [random.integers([[b[0], b[1]]], [[b[2] + 1, b[3] + 1]], (points, 2)) for b, _ in objects]
        for (box, label), at in zip(objects, drawn):
            sees = random.integers(0, 3, points) * (random.integers(6) > 0)
            one = {"id": len(truth["annotations"]) + 1, "image_id": number, "category_id": 10 * (label + 1), "iscrowd": int(random.integers(8) == 0)}
            one |= {"bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]]}
            one["area"] = one["bbox"][2] * one["bbox"][3] * (0.75 if random.integers(2) else 1)
            if points:
                one["keypoints"] = [v for p, s in zip(at, sees) for v in (int(p[0]), int(p[1]), int(s))]
                one["num_keypoints"] = int((sees > 0).sum())
            truth["annotations"].append(one)
        rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        for row in range(ROWS):
            if objects and random.integers(4):
                which = int(random.integers(len(objects)))
                box, label = near(objects[which][0], random), objects[which][1]
                at = np.clip(drawn[which] + random.integers(-6, 7, (points, 2)), 0, 199) if points else None
            else:
                box, label = draw_box(random), int(random.integers(CLASSES))
                at = random.integers(0, 200, (points, 2)) if points else None
            score = int(random.integers(1, 30)) * 8  # Many are equal.
            values = [*box, score, label]
            if points:
                values += [int(v) for p in at for v in (p[0], p[1], 255)]
            rgb[row, : len(values), 0] = values
            one = {"image_id": number, "category_id": 10 * (label + 1), "score": float(np.float32(score) * np.float32(1 / 255))}
            if points:
                one["keypoints"] = [float(v) for p in at for v in (p[0], p[1], 1)]
            else:
                one["bbox"] = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
            said.append(one)
        make_png(folder / f"images/{number:03d}.png", rgb)
        truth["images"].append({"id": number, "file_name": f"{number:03d}.png", "width": WIDTH, "height": HEIGHT})
    (folder / "labels.json").write_text(json.dumps(truth))
    return folder / "labels.json", said


COCO_NAMES = {
    "bbox": ["ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar_1", "ar_10", "ar_100", "ar_small", "ar_medium", "ar_large"],
    "keypoints": ["ap", "ap50", "ap75", "ap_medium", "ap_large", "ar_20", None, None, "ar_medium", "ar_large"],
}


def coco_numbers(truth, said, kind):
    coco, cocoeval = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed"), pytest.importorskip("pycocotools.cocoeval")
    known = coco.COCO(str(truth))
    evaluation = cocoeval.COCOeval(known, known.loadRes(said), kind)
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation


def expect_coco(metrics, evaluation, kind, prefix=""):
    compared = 0
    for name, value in zip(COCO_NAMES[kind], evaluation.stats):
        if name is not None and value > -1:
            assert metrics[prefix + name] == pytest.approx(value, abs=1e-9), name
            compared += 0 < value < 1
    assert compared >= 6, "the numbers are of no use"


def evaluate(model, data, *options):
    result = command("eval", model, "--data", data, "--preset", "none", "--json", "-", *options, *QUICK)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_boxes_agree_with_coco(tmp_path):
    truth, said = draw_scene(tmp_path, "detect")
    found = evaluate(written_network(tmp_path / "m.onnx", "detect"), truth)
    evaluation = coco_numbers(truth, said, "bbox")
    expect_coco(found["metrics"], evaluation, "bbox")
    precision = evaluation.eval["precision"]  # [T, R, K, A, M]
    for k, one in enumerate(found["classes"]):
        assert one["label"] == NAMES[k]
        assert one["ap50"] == pytest.approx(precision[0, :, k, 0, 2].mean(), abs=1e-9)
        assert one["ap"] == pytest.approx(precision[:, :, k, 0, 2].mean(), abs=1e-9)


def test_key_points_agree_with_coco(tmp_path):
    truth, said = draw_scene(tmp_path, "pose", points=17)
    found = evaluate(written_network(tmp_path / "m.onnx", "pose", 51), truth)
    expect_coco(found["metrics"], coco_numbers(truth, said, "keypoints"), "keypoints", "keypoint_")


def mask_network(path):
    """torchvision's lists: object k is where green is k + 1; its box, label and score are encoded in red."""
    objects = 8
    nodes = [
        helper.make_node("Slice", ["input", "start", "end", "axes"], ["part"]),
        helper.make_node("Squeeze", ["part", "lead"], ["rows"]),
        helper.make_node("Split", ["rows", "parts"], ["boxes", "score_column", "label_column"], axis=1),
        helper.make_node("Mul", ["score_column", "small"], ["scaled"]),
        helper.make_node("Squeeze", ["scaled", "second"], ["scores"]),
        helper.make_node("Squeeze", ["label_column", "second"], ["label_floats"]),
        helper.make_node("Cast", ["label_floats"], ["labels"], to=TensorProto.INT64),
        helper.make_node("Slice", ["input", "green", "blue", "second"], ["map"]),
        helper.make_node("Equal", ["map", "numbers"], ["same"]),
        helper.make_node("Cast", ["same"], ["masks"], to=TensorProto.FLOAT),
    ]
    constants = {
        "start": np.array([0, 0, 0], np.int64),
        "end": np.array([1, objects, 6], np.int64),
        "axes": np.array([1, 2, 3], np.int64),
        "lead": np.array([0, 1], np.int64),
        "second": np.array([1], np.int64),
        "parts": np.array([4, 1, 1], np.int64),
        "small": np.float32(1 / 255),
        "green": np.array([1], np.int64),
        "blue": np.array([2], np.int64),
        "numbers": np.arange(1, objects + 1, dtype=np.float32).reshape(objects, 1, 1, 1),
    }
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "masks",
        [value("input", TensorProto.FLOAT, [1, 3, HEIGHT, WIDTH])],
        [value("boxes", TensorProto.FLOAT, [objects, 4]), value("labels", TensorProto.INT64, [objects]), value("scores", TensorProto.FLOAT, [objects]), value("masks", TensorProto.FLOAT, [objects, 1, HEIGHT, WIDTH])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"lanner.task": json.dumps({"task": "segment", "head": "torchvision", "labels": NAMES})})
    onnx.save(model, path)
    return path, objects


def test_masks_agree_with_coco(tmp_path):
    pytest.importorskip("pycocotools", reason="pycocotools is not installed")
    from pycocotools import mask as tool

    model, objects = mask_network(tmp_path / "m.onnx")
    random = np.random.default_rng(4)
    truth = {"images": [], "annotations": [], "categories": [{"id": k + 1, "name": name} for k, name in enumerate(NAMES)]}
    said = []
    for number in range(1, 21):
        rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        ground = np.zeros((HEIGHT, WIDTH), np.uint8)
        labels = random.integers(CLASSES, size=objects)
        for k in range(objects):
            x0, y0, x1, y1 = box = draw_box(random)
            ground[y0:y1, x0:x1] = k + 1
            x0, y0, x1, y1 = near(box, random)
            rgb[y0:y1, x0:x1, 1] = k + 1
        for k in range(objects):
            inside = (ground == k + 1).astype(np.uint8)
            if inside.any():
                packed = tool.encode(np.asfortranarray(inside))
                one = {"id": len(truth["annotations"]) + 1, "image_id": number, "category_id": int(labels[k]) + 1, "iscrowd": int(random.integers(8) == 0), "area": int(inside.sum())}
                one["bbox"] = [float(v) for v in tool.toBbox(packed)]
                if k % 3 == 0:  # A polygon, which may cover slightly different pixels.
                    x, y, w, h = one["bbox"]
                    one["segmentation"] = [[x, y, x + w, y + h / 3, x + w * 0.7, y + h, x, y + h * 0.9], [x, y, x + 3.3, y, x, y + 7.7]]
                elif k % 3 == 1:
                    one["segmentation"] = {"size": packed["size"], "counts": packed["counts"].decode()}
                else:
                    flat = inside.T.reshape(-1).astype(int)
                    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat]))).tolist()
                    one["segmentation"] = {"size": packed["size"], "counts": np.diff([0, *edges, flat.size]).tolist()}
                truth["annotations"].append(one)
            inside = (rgb[..., 1] == k + 1).astype(np.uint8)
            score = int(random.integers(1, 20)) * 12
            if inside.any():
                packed = tool.encode(np.asfortranarray(inside))
                x, y, w, h = (int(v) for v in tool.toBbox(packed))
                rgb[k, :6, 0] = [x, y, x + w, y + h, score, labels[k] + 1]
                said.append({"image_id": number, "category_id": int(labels[k]) + 1, "score": float(np.float32(score) * np.float32(1 / 255)), "segmentation": packed})
        make_png(tmp_path / f"{number}.png", rgb)
        truth["images"].append({"id": number, "file_name": f"{number}.png", "width": WIDTH, "height": HEIGHT})
    (tmp_path / "labels.json").write_text(json.dumps(truth))
    found = evaluate(model, tmp_path / "labels.json")
    expect_coco(found["metrics"], coco_numbers(tmp_path / "labels.json", said, "segm"), "bbox", "mask_")


@pytest.fixture
def colors(tmp_path):
    """Five images in folders of their class, one of them in the wrong folder."""
    return write_colors(tmp_path)


def test_classification_from_folders(tmp_path, colors):
    model = color_classifier(tmp_path / "m.onnx")
    options = ["--labels", tmp_path / "labels.txt"]
    for batch in (1, 2, 8):
        found = evaluate(model, colors, *options, "--batch", batch)
        assert (found["task"], found["images"], found["failed"]) == ("classify", 5, 0)
        assert found["metrics"] == {"top1": 0.8, "class_mean": pytest.approx(2.5 / 3)}
        assert [(one["label"], one["count"], one["top1"]) for one in found["classes"]] == [("red", 2, 1), ("green", 1, 1), ("blue", 2, 0.5)]
        (worst,) = found["worst"]
        assert worst["source"].endswith("wrong.ppm") and worst["caption"].startswith("is blue; said red")
    words = succeed("eval", model, "--data", colors, "--preset", "none", *options, *QUICK)
    assert "top-1" in words and "0.8000" in words and "wrong.ppm: is blue; said red" in words
    result = command("eval", model, "--data", colors, "--preset", "none", *QUICK)  # Without labels: in order, blue first.
    assert "in the order of their names" in result.stderr and result.returncode == 0
    assert "wrong.ppm: is blue; said" not in result.stdout and "is red; said blue" in result.stdout  # Names of the folders.


def test_unmatched_names_are_an_error(tmp_path, colors):
    model = color_classifier(tmp_path / "m.onnx")
    (tmp_path / "labels.txt").write_text("red\ngreeen\nblue\n")
    said = refuse("eval", model, "--data", colors, "--preset", "none", "--labels", tmp_path / "labels.txt", *QUICK)
    assert "'green' is not among the network's 3 labels; did you mean greeen?" in said
    make_ppm((colors / "alpha").mkdir() or colors / "alpha/x.ppm")
    assert "got 4 folders of classes, the network has 3 without names" in refuse("eval", model, "--data", colors, "--preset", "none", *QUICK)


def test_unreadable_pictures_are_reported_and_counted(tmp_path, colors):
    (colors / "red/broken.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    model = color_classifier(tmp_path / "m.onnx")
    result = command("eval", model, "--data", colors, "--preset", "none", "--labels", tmp_path / "labels.txt", "--json", tmp_path / "out.json", *QUICK)
    assert result.returncode == 2
    told = without_notes(result.stderr).splitlines()
    assert len(told) == 2 and "broken.png" in told[0] and told[1] == "lanner: eval: 1 of 6 pictures could not be read"
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["images"], found["failed"], found["metrics"]["top1"]) == (5, 1, 0.8)


def test_report_is_self_contained(tmp_path, colors):
    evil = colors / "red/<script>alert(1)<.ppm"
    make_ppm(evil, color=(9, 9, 250))
    model = color_classifier(tmp_path / "m.onnx")
    succeed("eval", model, "--data", colors, "--preset", "none", "--labels", tmp_path / "labels.txt", "--report", tmp_path / "r.html", *QUICK)
    page = (tmp_path / "r.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;" in page
    assert page.count("data:image/jpeg;base64,") == 2  # The two wrong ones.
    assert "http://" not in page and "https://" not in page
    assert "top-1" in page and "taken for red (1)" in page


def test_semantic_masks_as_images(tmp_path):
    scores = np.zeros((1, 3, 4, 6), np.float32)
    scores[0, 0] = 1
    scores[0, 1, :, 3:] = 2
    metadata = {"lanner.task": json.dumps({"task": "semantic", "labels": ["sky", "sea", "sun"]})}
    model = constant_network(tmp_path / "m.onnx", {"classes": scores}, size=(6, 4), metadata=metadata)
    numbers = np.zeros((4, 6), np.uint8)
    numbers[:, 4:] = 1
    numbers[0] = 255
    make_png(tmp_path / "data/images/a.png", np.zeros((4, 6, 3), np.uint8))
    make_png(tmp_path / "data/images/extra.png", np.zeros((4, 6, 3), np.uint8))
    forms = {
        "gray": lambda path: make_png(path, numbers),
        "deep": lambda path: make_png(path, numbers.astype(np.uint16)),
        "palette": lambda path: make_png(path, numbers, np.stack([np.arange(256)[::-1], np.arange(256), np.full(256, 7)], 1)),
    }
    for form, write in forms.items():
        write(tmp_path / "data/masks/a.png")
        found = evaluate(model, tmp_path / "data")
        # 9 of sky right, 3 pixels of sky classified as sea, 6 of sea right.
        assert found["metrics"]["miou"] == pytest.approx((9 / 12 + 6 / 9) / 2), form
        assert found["metrics"]["pixel_accuracy"] == pytest.approx(15 / 18)
        assert any("1 picture without a mask left out" in note for note in found["notes"])
    make_png(tmp_path / "data/masks/a.png", np.zeros((4, 6, 3), np.uint8))
    options = ["--data", tmp_path / "data", "--preset", "none", *QUICK]
    told = command("eval", model, *options)
    assert told.returncode == 2 and "is an image in colours" in told.stderr
    make_png(tmp_path / "data/masks/a.png", numbers[:3])
    assert "has 6x3 pixels, its image 6x4" in command("eval", model, *options).stderr
    make_png(tmp_path / "data/masks/a.png", numbers + np.uint8(3) * (numbers == 0))
    assert "a pixel is 3, the network has 3 classes" in command("eval", model, *options).stderr
    make_png(tmp_path / "data/masks/a.png", numbers, np.zeros((256, 3)))
    assert "occurs twice in its palette" in command("eval", model, *options).stderr


def test_thresholds_are_low_unless_given(tmp_path):
    truth, _ = draw_scene(tmp_path, "detect", pictures=3)
    model = written_network(tmp_path / "m.onnx", "detect")
    options = ["eval", model, "--data", truth, "--preset", "none", *QUICK]
    assert "note: detections from a score of 0.001 on, 300 a picture at most, suppressed by the network alone" in command(*options).stderr
    assert "from a score of 0.5 on" in command(*options, "--score-threshold", "0.5").stderr
    low, high = evaluate(model, truth), evaluate(model, truth, "--score-threshold", "0.9")
    assert low["metrics"]["ar_100"] > high["metrics"]["ar_100"]


def test_boxes_from_yolo_folders(tmp_path):
    model = written_network(tmp_path / "m.onnx", "detect")
    for name in ("one", "two"):
        rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        rgb[0, :6, 0] = [24, 20, 72, 60, 255, 1]
        make_png(tmp_path / f"set/images/{name}.png", rgb)
    (tmp_path / "set/labels").mkdir()
    (tmp_path / "set/labels/one.txt").write_text("0 0.2 0.2 0.2 0.2\n")
    (tmp_path / "set/data.yaml").write_text("names: [bee, cow]\nval: images\n")
    found = evaluate(model, tmp_path / "set")
    assert found["metrics"]["ap50"] == pytest.approx(1) and found["images"] == 2  # The false answer in picture two comes later: equal scores count in order.
    assert found["worst"][0]["caption"] == "F1 0.00: 0 of 0 found, 1 false"
    assert any("1 picture without a label file" in note for note in found["notes"])


def test_outputs_do_not_overwrite_the_data(tmp_path, colors):
    model = color_classifier(tmp_path / "m.onnx")
    before = {path: path.read_bytes() for path in colors.rglob("*.ppm")}
    options = ["--labels", tmp_path / "labels.txt", "--preset", "none", *QUICK]
    for option in ("--json", "--report"):
        for victim in (colors / "red/a.ppm", model, tmp_path / "labels.txt"):
            assert "would overwrite" in refuse("eval", model, "--data", colors, *options, option, victim)
    assert {path: path.read_bytes() for path in colors.rglob("*.ppm")} == before


def test_tasks_without_a_measure_are_refused(tmp_path):
    model = constant_network(tmp_path / "m.onnx", {"depth": np.zeros((1, 1, 4, 4), np.float32)}, size=(4, 4))
    said = refuse("eval", model, "--data", tmp_path, "--preset", "none", "--task", "depth", *QUICK)
    assert "task depth cannot be evaluated; expected classify" in said


def test_wrong_data_is_an_error(tmp_path, colors):
    model = written_network(tmp_path / "m.onnx", "detect")
    options = ["--preset", "none", *QUICK]
    assert "is not a dataset for task detect; expected a JSON file of COCO" in refuse("eval", model, "--data", colors, *options)
    assert "no such file or folder" in refuse("eval", model, "--data", tmp_path / "no.json", *options)
    (tmp_path / "bad.json").write_text("{")
    assert "bad.json" in refuse("eval", model, "--data", tmp_path / "bad.json", *options)
    truth, _ = draw_scene(tmp_path, "detect", pictures=2)
    before = truth.read_bytes()
    assert "would overwrite" in refuse("eval", model, "--data", truth, "--json", truth, *options)
    assert truth.read_bytes() == before
    (tmp_path / "images/001.png").unlink()
    (tmp_path / "images/002.png").unlink()
    assert "give the folder of the images" in refuse("eval", model, "--data", truth, *options)
    assert leftovers(tmp_path / "images") == []


def test_python_gives_the_same_metrics(tmp_path, colors):
    model = color_classifier(tmp_path / "m.onnx")
    engine = lanner.build(model, budget=0, threads=1, preprocess={"input": NONE})
    (colors / "red/broken.png").write_bytes(b"x")
    steps = []
    with pytest.warns(UserWarning, match=r"1 of 6 pictures could not be read: .*broken\.png"):
        found = lanner.tasks.evaluate(engine, colors, task={"labels": ["red", "green", "blue"]}, progress=lambda *step: steps.append(step))
    assert found.metrics == {"top1": 0.8, "class_mean": pytest.approx(2.5 / 3)}
    assert (found.task, found.images, len(found.failures)) == ("classify", 5, 1)
    assert found.per_class[2]["remark"] == "taken for red (1)"
    assert found.worst[0]["source"].endswith("wrong.ppm")
    assert json.loads(found.to_json())["metrics"] == found.metrics
    assert repr(found) == "lanner.tasks.Evaluation(classify, 5 pictures, top1 0.8000, class_mean 0.8333)"
    assert "<th" in found._repr_html_() and "0.8000" in found._repr_html_()
    truth, answer = found.draw_worst(0)
    assert (truth.width, truth.height) == (answer.width, answer.height) == (20, 10)
    assert steps[-1] == ("eval", 6, 6)
    with pytest.raises(lanner.InvalidArgument, match="no picture 1 of 1"):
        found.draw_worst(1)
    with pytest.raises(lanner.Error, match="not among the network's"):
        lanner.tasks.evaluate(engine, colors, task={"labels": ["a", "b", "c"]})
    with pytest.raises(TypeError):
        lanner.tasks.evaluate(engine, colors, batches=2)
