"""lanner run: images and clips through a network."""

import json
import sys

import numpy as np
import pytest

from command import DATA, DETECTOR, LABELS, ROOT, color_classifier, leftovers, make_clip, make_ppm, refuse, succeed

sys.path.insert(0, str(ROOT / "demo"))
import evaluate  # noqa: E402
import shapes  # noqa: E402

MODELS = DATA / "models"
needs_models = pytest.mark.skipif(not MODELS.exists(), reason="no real models at ../shared/data")
QUICK = ["--budget", "0", "--threads", "1"]


@pytest.fixture
def classifier(tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text(LABELS)
    return [color_classifier(tmp_path / "model.onnx"), "--labels", labels, "--range", "0,1", "--size", "8x8", *QUICK]


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_a_picture_is_classified(tmp_path, classifier):
    picture = make_ppm(tmp_path / "picture.ppm", color=(250, 120, 10))
    name, *answers = succeed("run", *classifier, "-i", picture).splitlines()
    assert name == str(picture)
    shares = [line.split() for line in answers]
    assert [label for _, label in shares] == ["red", "green", "blue"]
    logits = np.array([250, 120, 10]) / 255 * 10
    expected = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert [float(share) for share, _ in shares] == pytest.approx(expected, abs=1e-3)


def test_json_says_the_same_in_full(tmp_path, classifier):
    picture = make_ppm(tmp_path / "picture.ppm", color=(0, 40, 200))
    (row,) = rows(succeed("run", *classifier, "-i", picture, "--json", "-", "--top", "2"))
    assert (row["source"], row["frame"], row["pts"], row["width"], row["height"]) == (str(picture), 0, None, 20, 10)
    assert [(entry["label"], entry["class"]) for entry in row["top"]] == [("blue", 2), ("green", 1)]
    assert row["top"][0]["probability"] > 0.99


@pytest.mark.parametrize("batch", [1, 5])
def test_clip_prints_a_line_a_frame(tmp_path, classifier, batch):
    clip = make_clip(tmp_path, frames=12, rate=10)
    lines = succeed("run", *classifier, "-i", clip, "--batch", batch).splitlines()
    assert [line.split()[:4] for line in lines] == [["frame", str(n), "pts", f"{n / 10:.3f}"] for n in range(12)]
    assert all(label in line for line in lines for label in ("red", "green", "blue"))


def test_batch_size_does_not_change_answers(tmp_path, classifier):
    clip = make_clip(tmp_path, frames=7)
    single, batched = (rows(succeed("run", *classifier, "-i", clip, "--json", "-", "--batch", n)) for n in (1, 3))
    assert len(single) == len(batched) == 7
    for one, other in zip(single, batched, strict=True):
        assert (one["frame"], one["pts"]) == (other["frame"], other["pts"])
        assert [entry["probability"] for entry in one["top"]] == pytest.approx([entry["probability"] for entry in other["top"]], abs=1e-5)


def test_a_fixed_batch_is_filled_up(tmp_path):
    model = color_classifier(tmp_path / "model.onnx", batch=4)
    clip, picture = make_clip(tmp_path, frames=6), make_ppm(tmp_path / "picture.ppm")
    found = rows(succeed("run", model, "--range", "0,1", *QUICK, "-i", clip, picture, "--json", "-"))
    assert [row["frame"] for row in found] == [0, 1, 2, 3, 4, 5, 0]
    assert found[6]["top"][0]["label"] == "class 0"
    assert "fixed first dimension" in refuse("run", model, "--range", "0,1", *QUICK, "-i", clip, "--batch", "3")


def test_pictures_and_clips_in_any_mixture(tmp_path, classifier):
    clip, picture = make_clip(tmp_path, frames=3), make_ppm(tmp_path / "picture.ppm")
    folder = tmp_path / "marked"
    found = rows(succeed("run", *classifier, "-i", picture, clip, "-o", f"{folder}/", "--json", "-"))
    assert [(row["source"], row["frame"]) for row in found] == [(str(picture), 0), *((str(clip), n) for n in range(3))]
    assert leftovers(folder) == ["clip.mp4", "picture.png"]
    assert json.loads(succeed("probe", folder / "clip.mp4", "--json"))["streams"][0]["frames"]["count"] == 3


def test_the_model_may_come_after_the_inputs(tmp_path, classifier):
    model, *options = classifier
    picture = make_ppm(tmp_path / "picture.ppm")
    assert succeed("run", "-i", picture, model, *options) == succeed("run", model, *options, "-i", picture)
    assert "MODEL is required" in refuse("run", "-i", picture)
    assert succeed("run", "-i", picture, model, *options) == succeed("run", model, "-i", picture, *options)


def test_annotated_image_differs_only_under_the_annotation(tmp_path, classifier):
    picture = make_ppm(tmp_path / "picture.ppm", 320, 200, (90, 90, 90))
    succeed("run", *classifier, "-i", picture, "-o", tmp_path / "marked.png", "-q")
    assert json.loads(succeed("probe", tmp_path / "marked.png", "--json"))["width"] == 320
    again = [line.split()[0] for line in succeed("run", *classifier, "-i", tmp_path / "marked.png").splitlines()[1:]]
    assert float(again[0]) < 0.9  # Still nearly grey, as the panel covers only a part.


class TestPreprocessing:
    def test_missing_preprocessing_is_an_error(self, tmp_path):
        model, picture = color_classifier(tmp_path / "model.onnx"), make_ppm(tmp_path / "picture.ppm")
        said = refuse("run", model, "-i", picture, *QUICK)
        assert all(word in said for word in ("imagenet", "caffe", "imagenet-tf", "yolo", "--mean", "input"))

    def test_open_size_without_size_option_is_an_error(self, tmp_path):
        model, picture = color_classifier(tmp_path / "model.onnx", size="S"), make_ppm(tmp_path / "picture.ppm")
        assert "--size" in refuse("run", model, "-i", picture, "--preset", "none", *QUICK)

    def test_a_declared_size_must_fit(self, tmp_path):
        model, picture = color_classifier(tmp_path / "model.onnx"), make_ppm(tmp_path / "picture.ppm")
        assert "9 was declared" in refuse("run", model, "-i", picture, "--preset", "none", "--size", "9x8", *QUICK)

    def test_the_layout_must_fit(self, tmp_path):
        model, picture = color_classifier(tmp_path / "model.onnx", channels_last=True), make_ppm(tmp_path / "picture.ppm")
        assert "--layout nhwc" in refuse("run", model, "-i", picture, "--preset", "none", "--layout", "nchw", *QUICK)
        # The channels determine the layout.
        assert succeed("run", model, "-i", picture, "--preset", "none", *QUICK).splitlines()[1].endswith("class 0")
        assert succeed("run", model, "-i", picture, "--preset", "none", "--layout", "nhwc", *QUICK).splitlines()[1].endswith("class 0")

    @pytest.mark.parametrize(("options", "first"), [([], "class 0"), (["--channels", "bgr"], "class 2"), (["--mean", "250,0,0"], "class 1")])
    def test_preprocessing_flags_reach_the_network(self, tmp_path, options, first):
        model, picture = color_classifier(tmp_path / "model.onnx"), make_ppm(tmp_path / "picture.ppm")
        assert succeed("run", model, "-i", picture, "--preset", "none", *options, *QUICK).splitlines()[1].endswith(first)

    def test_command_line_over_plan_over_metadata(self, tmp_path):
        bgr = json.dumps({"channels": "bgr"})
        model = color_classifier(tmp_path / "model.onnx", metadata={"lanner.preprocess": bgr, "lanner.labels": LABELS})
        picture, plan = make_ppm(tmp_path / "picture.ppm"), tmp_path / "model.plan"

        def first(source, *arguments):
            options = ["--threads", "1"] if source == plan else QUICK
            return succeed("run", source, *arguments, "-i", picture, *options).splitlines()[1].split()[-1]

        assert first(model) == "blue"
        assert first(model, "--channels", "rgb") == "red"
        succeed("build", model, "-o", plan, "--mean", "0,0,250", *QUICK)
        assert first(plan) == "green"
        assert first(plan, "--preset", "none") == "red"

    def test_malformed_metadata_is_an_error_with_the_key(self, tmp_path):
        model = color_classifier(tmp_path / "model.onnx", metadata={"lanner.preprocess": '{"chanels": "bgr"}'})
        assert "chanels" in refuse("run", model, "-i", make_ppm(tmp_path / "picture.ppm"), *QUICK)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    clip = shapes.Clip(shapes.HELD_OUT_SEEDS[7], frames=3)
    paths = []
    for frame in clip:
        paths.append(folder / f"{frame.number}.ppm")
        paths[-1].write_bytes(f"P6 {clip.width} {clip.height} 255\n".encode() + frame.rgb.tobytes())
    clip.write_truth(folder / "truth.jsonl")
    return folder, clip, paths


class TestDetection:
    def test_boxes_are_found_where_they_were_drawn(self, scene):
        _, clip, paths = scene
        found = rows(succeed("run", DETECTOR, "-i", *paths, "--json", "-", *QUICK))
        answers = [{"frame": n, "detections": row["detections"]} for n, row in enumerate(found)]
        truth = [{"frame": n, "objects": clip.objects(n)} for n in range(len(clip))]
        measures = evaluate.evaluate(answers, truth)
        assert measures["mean_iou"] > 0.9
        assert measures["class_accuracy"] == measures["recall"] == measures["precision"] == 1

    def test_letterboxed_boxes_are_in_picture_coordinates(self, scene):
        _, clip, paths = scene
        stretched, boxed = (rows(succeed("run", DETECTOR, "-i", paths[0], "--json", "-", "--fit", fit, *QUICK))[0] for fit in ("stretch", "letterbox"))
        boxes = [[entry["box"] for entry in row["detections"]] for row in (stretched, boxed)]
        assert len(evaluate.match(*boxes)) == len(boxes[0]) == len(boxes[1])

    def test_boxes_of_rotated_pictures_and_regions_are_in_picture_coordinates(self, scene, tmp_path):
        _, clip, paths = scene
        rgb = next(iter(clip)).rgb
        lying, wide = tmp_path / "lying.ppm", tmp_path / "wide.ppm"
        lying.write_bytes(f"P6 {clip.height} {clip.width} 255\n".encode() + np.rot90(rgb).tobytes())
        wide.write_bytes(f"P6 {clip.width + 30} {clip.height + 20} 255\n".encode() + np.pad(rgb, ((20, 0), (30, 0), (0, 0))).tobytes())
        runs = (paths[0],), (lying, "--turn", "1"), (wide, "--region", f"{clip.width}x{clip.height}+30+20")
        upright, turned, part = (
            [entry["box"] for entry in rows(succeed("run", DETECTOR, "-i", *arguments, "--json", "-", *QUICK))[0]["detections"]] for arguments in runs
        )
        turned = [[clip.width - y1, x0, clip.width - y0, x1] for x0, y0, x1, y1 in turned]
        part = [[x0 - 30, y0 - 20, x1 - 30, y1 - 20] for x0, y0, x1, y1 in part]
        np.testing.assert_allclose(turned, upright, atol=0.5)
        np.testing.assert_allclose(part, upright, atol=0.5)
        assert "--turn: expected a whole number, got 'left'" in refuse("run", DETECTOR, "-i", lying, "--turn", "left", *QUICK)
        for region in ("4x4", "4+4+4x4", "4x4+1+", "1,2,3,4"):
            assert "WIDTHxHEIGHT+X+Y" in refuse("run", DETECTOR, "-i", lying, "--region", region, *QUICK)

    def test_score_and_iou_thresholds_apply(self, scene):
        _, _, paths = scene
        assert "nothing found" in succeed("run", DETECTOR, "-i", paths[0], "--score-threshold", "1", *QUICK)
        assert "--score-threshold" in refuse("run", DETECTOR, "-i", paths[0], "--score-threshold", "1.5", *QUICK)

    def test_accuracy_equals_the_python_reference(self, scene, tmp_path):
        folder, _, paths = scene
        answers = tmp_path / "answers.jsonl"
        text = succeed("run", DETECTOR, "-i", paths[0], "--json", answers, "--truth", folder / "truth.jsonl", *QUICK)
        said = {line[:16].strip(): float(line.split()[-1]) for line in text.splitlines()[1:5]}
        oracle = evaluate.evaluate(evaluate.read_lines(answers), evaluate.read_lines(folder / "truth.jsonl"))
        for name, key in (("mean IoU", "mean_iou"), ("class accuracy", "class_accuracy"), ("recall", "recall"), ("precision", "precision")):
            assert said[name] == pytest.approx(oracle[key], abs=6e-4)
        assert 0.2 < float(text.split("mAP50 ")[1].split()[0]) < 0.4
        assert oracle["mean_iou"] < 0.4  # Two of three frames have no answers and count as not found.

    def test_truth_without_json_is_refused(self, scene):
        folder, _, paths = scene
        assert "--json FILE" in refuse("run", DETECTOR, "-i", paths[0], "--truth", folder / "truth.jsonl", *QUICK)


class TestTasks:
    def test_task_none_prints_numbers(self, tmp_path, classifier):
        picture = make_ppm(tmp_path / "picture.ppm", color=(255, 51, 0))
        model, *options = classifier
        (row,) = rows(succeed("run", model, "-i", picture, "--task", "none", "--json", "-", "--range", "0,1", "--size", "8x8", *QUICK))
        output = row["outputs"]["logits"]
        assert (output["dtype"], output["shape"]) == ("f32", [1, 3])
        assert output["values"] == pytest.approx([10, 2, 0], abs=1e-3)
        assert "logits: f32[1, 3]" in succeed("run", *classifier, "-i", picture, "--task", "none")

    @pytest.mark.parametrize(("options", "said"), [(["--task", "segment"], "prototypes [N, P, h, w]"), (["--task", "segmnt"], "did you mean segment?"), (["--task", "detect"], "boxes [N, K, 4]"), (["--pad", "900"], "0 to 255")])
    def test_options_that_do_not_fit_are_refused(self, tmp_path, classifier, options, said):
        assert said in refuse("run", *classifier, "-i", make_ppm(tmp_path / "picture.ppm"), *options)

    def test_wrong_number_of_labels_is_refused(self, tmp_path, classifier):
        (tmp_path / "two.txt").write_text("a\nb\n")
        assert "2 were given" in refuse("run", *classifier[:1], "-i", make_ppm(tmp_path / "p.ppm"), "--labels", tmp_path / "two.txt", "--range", "0,1", *QUICK)


@needs_models
def test_real_network_classifies_an_orange():
    text = succeed("run", MODELS / "squeezenet_fp16.onnx", "-i", MODELS / "orange.png", "--preset", "caffe", "--labels", MODELS / "imagenet_labels.txt")
    share, label = text.splitlines()[1].split(maxsplit=1)
    assert label == "orange"
    assert float(share) == pytest.approx(0.98, abs=0.01)


def test_output_option_replaces_printed_answers(tmp_path):
    """With -o the answers are drawn: stdout has the summary, and --json still has the answers."""
    model = color_classifier(tmp_path / "m.onnx")
    pictures = [make_ppm(tmp_path / f"{name}.ppm") for name in "abc"]
    options = ["--range", "0,1", "--budget", "0", "--threads", "1"]
    alone = succeed("run", model, "-i", *pictures, *options)
    assert sum("a.ppm" in line for line in alone.splitlines()) >= 1
    text = succeed("run", model, "-i", *pictures, "-o", f"{tmp_path}/marked/", *options)
    assert text.startswith("3 images in ") and "a.ppm" not in text
    assert len(list((tmp_path / "marked").iterdir())) == 3
    lines = succeed("run", model, "-i", *pictures, "-o", f"{tmp_path}/marked/", "--json", "-", *options).splitlines()
    assert len(lines) == 3 and all(line.startswith("{") for line in lines)
