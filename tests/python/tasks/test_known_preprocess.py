"""Families of networks with known preprocessing: results equal those of their authors' own code."""

import json

import lanner
import numpy as np
import pytest
from command import lanner as command
from command import make_ppm, refuse, succeed
from onnx import TensorProto, helper, numpy_helper
from task_models import detector, ultralytics, write

QUICK = ["--budget", "0", "--threads", "1"]
CLOSE = 1e-4  # Relative to 1: the precision of float32.


def triangle(x):
    return max(0.0, 1 - abs(x))


def cubic(x):
    """Keys' kernel with a = -0.5, Pillow's BICUBIC."""
    x = abs(x)
    return 1.5 * x**3 - 2.5 * x**2 + 1 if x < 1 else -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def weights(size, inputs, kernel, radius, widens):
    """[size, inputs]: as in OpenCV (borders are repeated), or as in Pillow, which widens the kernel."""
    matrix, scale = np.zeros((size, inputs)), inputs / size
    wide = max(1.0, scale) if widens else 1.0
    for i in range(size):
        centre = (i + 0.5) * scale - 0.5
        for k in range(int(np.floor(centre - radius * wide)), int(np.ceil(centre + radius * wide)) + 1):
            if not widens or 0 <= k < inputs:
                matrix[i, min(max(k, 0), inputs - 1)] += kernel((k - centre) / wide)
    return matrix / matrix.sum(1, keepdims=True)


def resized(pixels, width, height, kernel=triangle, radius=1, widens=True):
    """Pixels [height, width, 3] of 0..255, not rounded."""
    down = weights(height, pixels.shape[0], kernel, radius, widens)
    across = weights(width, pixels.shape[1], kernel, radius, widens)
    return np.clip(np.einsum("yh,xw,hwc->yxc", down, across, pixels.astype(np.float64)), 0, 255)


def opencv_linear(pixels, width, height):
    return resized(pixels, width, height, widens=False)


def pillow_bicubic(pixels, width, height):
    return resized(pixels, width, height, cubic, 2)


def picture(path, width, height, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    path.write_bytes(f"P6 {width} {height} 255\n".encode() + pixels.tobytes())
    return pixels


def seeing(path, shape, metadata=(), outputs=None, name="images"):
    """A network that returns its input; `outputs` are further constants, by name."""
    value = helper.make_tensor_value_info
    shown = [size if isinstance(size, int) else str(size) for size in shape]
    graph = helper.make_graph(
        [helper.make_node("Identity", [name], ["seen"])], "seeing",
        [value(name, TensorProto.FLOAT, shown)], [value("seen", TensorProto.FLOAT, shown)],
    )
    for key, array in (outputs or {}).items():
        graph.initializer.append(numpy_helper.from_array(array, key + "_value"))
        graph.node.append(helper.make_node("Identity", [key + "_value"], [key]))
        graph.output.append(value(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    return write(path, graph, metadata)


def letterbox(pixels, size, auto=False, stride=32):
    """Ultralytics' LetterBox by its documentation: centred, also enlarged, padded with gray 114."""
    height, width = pixels.shape[:2]
    ratio = min(size[0] / height, size[1] / width)
    columns, rows = round(width * ratio), round(height * ratio)
    across, down = size[1] - columns, size[0] - rows
    if auto:
        across, down = across % stride, down % stride
    top, left = round(down / 2 - 0.1), round(across / 2 - 0.1)
    whole = np.full((rows + down, columns + across, 3), 114.0)
    whole[top : top + rows, left : left + columns] = opencv_linear(pixels, columns, rows)
    return whole.transpose(2, 0, 1)[None] / 255


def resized_crop(pixels, shorter, size, resize=resized):
    """torchvision's Resize(shorter) and CenterCrop(size), to [1, 3, size, size] of 0..255."""
    height, width = pixels.shape[:2]
    longer = int(shorter * max(width, height) / min(width, height))
    columns, rows = (shorter, longer) if width < height else (longer, shorter)
    whole = resize(pixels, columns, rows)
    top, left = round((rows - size) / 2.0), round((columns - size) / 2.0)
    return whole[top : top + size, left : left + size].transpose(2, 0, 1)[None]


def seen_by(model, path):
    engine = lanner.build(model, budget=0, threads=1)
    return engine({engine.inputs[0].name: lanner.load_image(path)})["seen"].numpy()


class TestUltralytics:
    @pytest.mark.parametrize(("width", "height"), [(90, 60), (60, 90), (50, 33), (64, 64), (129, 101)])
    @pytest.mark.parametrize("task", ["detect", "segment", "pose", "obb"])
    def test_fixed_size_is_letterboxed_like_ultralytics(self, tmp_path, task, width, height):
        pixels = picture(tmp_path / "x.ppm", width, height)
        model = seeing(tmp_path / "m.onnx", [1, 3, 64, 64], ultralytics(task))
        assert np.abs(seen_by(model, tmp_path / "x.ppm") - letterbox(pixels, (64, 64))).max() < CLOSE

    @pytest.mark.parametrize(("width", "height"), [(90, 60), (60, 95), (200, 33), (64, 64), (129, 101)])
    def test_open_size_is_padded_to_the_stride(self, tmp_path, width, height):
        pixels = picture(tmp_path / "x.ppm", width, height)
        model = seeing(tmp_path / "m.onnx", [1, 3, "height", "width"], ultralytics(imgsz="[128, 128]"))
        expected = letterbox(pixels, (128, 128), auto=True)
        found = seen_by(model, tmp_path / "x.ppm")
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() < CLOSE

    @pytest.mark.parametrize(("width", "height"), [(90, 60), (61, 97), (50, 33), (48, 48)])
    def test_classifiers_get_the_centre(self, tmp_path, width, height):
        pixels = picture(tmp_path / "x.ppm", width, height)
        model = seeing(tmp_path / "m.onnx", [1, 3, 48, 48], ultralytics("classify", "[48, 48]"))
        expected = resized_crop(pixels, 48, 48) / 255
        assert np.abs(seen_by(model, tmp_path / "x.ppm") - expected).max() < CLOSE

    def test_metadata_of_version_5_is_recognised(self, tmp_path):
        pixels = picture(tmp_path / "x.ppm", 90, 60)
        names = {"stride": "32", "names": "['person', 'bicycle']"}
        model = seeing(tmp_path / "m.onnx", [1, 3, 64, 64], names, {"output0": np.zeros((1, 4, 7), np.float32)})
        assert np.abs(seen_by(model, tmp_path / "x.ppm") - letterbox(pixels, (64, 64))).max() < CLOSE

    def test_command_needs_no_flag_and_prints_the_preprocessing(self, tmp_path):
        pixels = picture(tmp_path / "bus.ppm", 90, 60)
        model = detector(tmp_path / "yolo.onnx", ultralytics())
        done = command("run", model, "-i", tmp_path / "bus.ppm", "-o", tmp_path / "x.png", "--json", tmp_path / "a", *QUICK)
        assert done.returncode == 0, done.stderr
        (line,) = [line for line in done.stderr.splitlines() if "preprocessing" in line]
        assert all(word in line for word in ("ultralytics", "task, stride, imgsz", "letterbox", "114", "bilinear", "RGB 0..1"))
        assert (tmp_path / "x.png").exists()
        (found,) = json.loads((tmp_path / "a").read_text())["detections"]
        assert found["score"] == pytest.approx(letterbox(pixels, (64, 64)).mean(), abs=1e-3)

    def test_command_pads_an_open_size_minimally(self, tmp_path):
        model = detector(tmp_path / "yolo.onnx", ultralytics(imgsz="[128, 128]"), "height", "width")
        scores = []
        for number, (width, height) in enumerate([(90, 60), (60, 90)]):
            pixels = picture(tmp_path / f"{number}.ppm", width, height, number)
            scores.append(letterbox(pixels, (128, 128), auto=True).mean())
        one = succeed("run", model, "-i", tmp_path / "0.ppm", "--json", "-", *QUICK)
        both = succeed("run", model, "-i", tmp_path / "0.ppm", tmp_path / "1.ppm", "--json", "-", *QUICK)
        found = [json.loads(line)["detections"][0]["score"] for line in (one + both).splitlines()]
        assert found == pytest.approx([scores[0], *scores], abs=1e-3)

    def test_size_not_divisible_by_the_stride_is_an_error(self, tmp_path):
        picture(tmp_path / "x.ppm", 90, 60)
        model = detector(tmp_path / "yolo.onnx", ultralytics(), "height", "width")
        said = refuse("run", model, "-i", tmp_path / "x.ppm", "--size", "300", *QUICK)
        assert "multiples of 32" in said and "--size 320x320" in said

    def test_flags_override_the_family(self, tmp_path):
        picture(tmp_path / "x.ppm", 90, 60)
        model = detector(tmp_path / "yolo.onnx", ultralytics())
        done = command("run", model, "-i", tmp_path / "x.ppm", "--fit", "stretch", *QUICK)
        assert done.returncode == 0 and "changed by the command line" in done.stderr and "stretched" in done.stderr

    def test_fp16_inputs_are_letterboxed(self, tmp_path):
        pixels = picture(tmp_path / "x.ppm", 90, 60)
        model = detector(tmp_path / "yolo.onnx", ultralytics(), dtype=TensorProto.FLOAT16)
        (found,) = json.loads(succeed("run", model, "-i", tmp_path / "x.ppm", "--json", "-", *QUICK))["detections"]
        assert found["score"] == pytest.approx(letterbox(pixels, (64, 64)).mean(), abs=2e-3)

    @pytest.mark.parametrize("key", ["imgsz", "stride"])
    def test_malformed_metadata_is_reported(self, tmp_path, key):
        picture(tmp_path / "x.ppm", 90, 60)
        model = detector(tmp_path / "yolo.onnx", {**ultralytics(), key: "[['"})
        assert f"metadata {key}" in refuse("run", model, "-i", tmp_path / "x.ppm", *QUICK)

    def test_suppression_matches_ultralytics_predict(self, tmp_path):
        model = detector(tmp_path / "yolo.onnx", ultralytics())
        reader = lanner.tasks.TaskReader(lanner.build(model, budget=0, threads=1))
        assert reader.task["iou_threshold"] == pytest.approx(0.7)


class TestBesideTheModel:
    SIZES = [(90, 60), (61, 97), (130, 130)]

    def check(self, tmp_path, name, config, shape, expected):
        (tmp_path / name).write_text(json.dumps(config))
        for number, (width, height) in enumerate(self.SIZES):
            pixels = picture(tmp_path / "x.ppm", width, height, number)
            model = seeing(tmp_path / "m.onnx", shape)
            found = seen_by(model, tmp_path / "x.ppm")
            want = expected(pixels)
            assert found.shape == want.shape
            assert np.abs(found - want).max() < 10 * CLOSE

    def test_timm(self, tmp_path):
        config = {"architecture": "resnet50", "pretrained_cfg": {
            "input_size": [3, 48, 48], "interpolation": "bicubic", "crop_pct": 0.95, "crop_mode": "center",
            "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}}
        mean, std = np.array([0.485, 0.456, 0.406])[:, None, None], np.array([0.229, 0.224, 0.225])[:, None, None]
        self.check(tmp_path, "config.json", config, ["N", 3, 48, 48],
                   lambda pixels: (resized_crop(pixels, 50, 48, pillow_bicubic) / 255 - mean) / std)

    def test_transformers_clip(self, tmp_path):
        config = {"image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 48},
                  "do_center_crop": True, "crop_size": {"height": 48, "width": 48}, "resample": 3, "do_normalize": True,
                  "image_mean": [0.5, 0.4, 0.3], "image_std": [0.3, 0.2, 0.1], "rescale_factor": 0.00392156862745098}
        mean, std = np.array([0.5, 0.4, 0.3])[:, None, None], np.array([0.3, 0.2, 0.1])[:, None, None]
        self.check(tmp_path, "preprocessor_config.json", config, ["N", "C", "H", "W"],
                   lambda pixels: (resized_crop(pixels, 48, 48, pillow_bicubic) / 255 - mean) / std)

    def test_transformers_vit_in_a_folder_onnx(self, tmp_path):
        config = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": 48, "width": 40},
                  "resample": 2, "do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "do_rescale": True}
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
        (tmp_path / "onnx").mkdir()
        pixels = picture(tmp_path / "x.ppm", 90, 60)
        expected = resized(pixels, 40, 48).transpose(2, 0, 1)[None] / 127.5 - 1
        model = seeing(tmp_path / "onnx" / "m.onnx", ["N", 3, "H", "W"])
        assert np.abs(seen_by(model, tmp_path / "x.ppm") - expected).max() < CLOSE

    def test_transformers_convnext_crops_by_a_share(self, tmp_path):
        config = {"image_processor": {
            "image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 48}, "crop_pct": 0.875,
            "resample": 3, "do_normalize": False, "do_rescale": True}}
        self.check(tmp_path, "processor_config.json", config, ["N", 3, 48, 48],
                   lambda pixels: resized_crop(pixels, 54, 48, pillow_bicubic) / 255)

    def test_transformers_detr_is_resized_without_cropping(self, tmp_path):
        config = {"image_processor_type": "DetrImageProcessor", "size": {"shortest_edge": 48, "longest_edge": 70},
                  "do_normalize": False, "do_rescale": True, "do_pad": True}
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
        model = seeing(tmp_path / "m.onnx", ["N", 3, "H", "W"])
        for (width, height), shape in [((90, 60), (48, 70)), ((60, 66), (52, 48))]:
            picture(tmp_path / "x.ppm", width, height)
            found = seen_by(model, tmp_path / "x.ppm").shape[2:]
            assert max(abs(a - b) for a, b in zip(found, shape)) <= 2 and max(found) <= 70

    def test_paddleocr_detection_uses_the_native_size(self, tmp_path):
        (tmp_path / "inference.yml").write_text(
            "Global:\n  model_name: PP-OCRv5_mobile_det\nPreProcess:\n  transform_ops:\n"
            "  - DecodeImage:\n      channel_first: false\n      img_mode: BGR\n  - DetLabelEncode: null\n"
            "  - DetResizeForTest:\n      resize_long: 96\n  - NormalizeImage:\n      mean:\n      - 0.485\n"
            "      - 0.456\n      - 0.406\n      order: hwc\n      scale: 1./255.\n      std: [0.229, 0.224, 0.225]\n"
            "  - ToCHWImage: null\n  - KeepKeys: {keep_keys: [image, shape]}\n")
        model = seeing(tmp_path / "m.onnx", ["N", 3, "H", "W"])
        pixels = picture(tmp_path / "x.ppm", 150, 70)
        found_text = opencv_linear(pixels, 96, 32)[..., ::-1]
        expected = (found_text / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        found = seen_by(model, tmp_path / "x.ppm")
        assert found.shape == (1, 3, 32, 96)
        assert np.abs(found[0].transpose(1, 2, 0) - expected).max() < 10 * CLOSE

    def test_paddleocr_recognition_aligns_lines_left(self, tmp_path):
        (tmp_path / "inference.yml").write_text(
            "PreProcess:\n  transform_ops:\n  - DecodeImage: {img_mode: BGR}\n  - MultiLabelEncode: {gtc_encode: NRTRLabelEncode}\n"
            "  - RecResizeImg:\n      image_shape: [3, 48, 320]\n  - KeepKeys: {keep_keys: [image]}\n")
        model = seeing(tmp_path / "m.onnx", ["N", 3, 48, "W"])
        pixels = picture(tmp_path / "x.ppm", 100, 24)
        expected = np.zeros((48, 320, 3))
        expected[:, :200] = (opencv_linear(pixels, 200, 48)[..., ::-1] / 255 - 0.5) / 0.5
        found = seen_by(model, tmp_path / "x.ppm")
        assert np.abs(found[0].transpose(1, 2, 0) - expected).max() < CLOSE

    @pytest.mark.parametrize("text", [
        "PreProcess: {transform_ops: [&a {NormalizeImage: {mean: [1, 2, 3]}}, *a]}", "PreProcess: {transform_ops: [Foo: 1]}",
        "[" * 5000, "PreProcess: {transform_ops: " + "[" * 100 + "]" * 100 + "}", "a: 'b", "\x00", "PreProcess:\n\ttransform_ops: 1",
    ])
    def test_hostile_yaml_is_refused(self, tmp_path, text):
        (tmp_path / "inference.yml").write_text(text)
        picture(tmp_path / "x.ppm", 90, 60)
        model = seeing(tmp_path / "m.onnx", [1, 3, 48, 48])
        assert "inference.yml" in refuse("run", model, "-i", tmp_path / "x.ppm", "--task", "none", *QUICK)

    @pytest.mark.parametrize("config", [
        {"image_processor_type": "DonutImageProcessor", "do_resize": True, "do_align_long_axis": True,
         "image_mean": [0.5] * 3, "image_std": [0.5] * 3},
        {"image_processor_type": "ViTImageProcessor", "do_resize": True, "image_mean": "abc", "image_std": [1, 1, 1]},
        {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": -3, "width": 1e300}},
    ])
    def test_unsupported_settings_are_not_guessed(self, tmp_path, config):
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
        picture(tmp_path / "x.ppm", 90, 60)
        model = seeing(tmp_path / "m.onnx", [1, 3, 48, 48])
        said = refuse("run", model, "-i", tmp_path / "x.ppm", "--task", "none", *QUICK)
        assert "preprocessor_config.json" in said and "--preset" in said

    def test_command_names_the_source_of_preprocessing(self, tmp_path):
        config = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": 48, "do_normalize": False}
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
        picture(tmp_path / "x.ppm", 90, 60)
        model = seeing(tmp_path / "m.onnx", ["N", 3, "H", "W"])
        done = command("run", model, "-i", tmp_path / "x.ppm", "--task", "none", "-q", *QUICK)
        assert done.returncode == 0, done.stderr
        done = command("run", model, "-i", tmp_path / "x.ppm", "--task", "none", *QUICK)
        assert "preprocessor_config.json of transformers next to the model (ViT)" in done.stderr
        assert "48x48" in done.stderr


class TestAsked:
    def test_error_suggests_no_default_values(self, tmp_path):
        model = seeing(tmp_path / "m.onnx", [1, 3, 48, 48])
        said = refuse("run", model, "-i", make_ppm(tmp_path / "x.ppm"), "--task", "none", *QUICK)
        assert "none" not in said and all(name in said for name in ("yolo", "imagenet", "imagenet-tf", "caffe", "clip"))

    def test_the_preset_yolo_is_ultralytics_letterbox(self, tmp_path):
        pixels = picture(tmp_path / "x.ppm", 90, 60)
        x = lanner.load_image(tmp_path / "x.ppm").to_tensor(preset="yolo", size=(64, 64)).numpy()
        assert np.abs(x - letterbox(pixels, (64, 64))).max() < CLOSE

    def test_channels_determine_the_layout(self, tmp_path):
        pixels = picture(tmp_path / "x.ppm", 48, 32)
        model = seeing(tmp_path / "m.onnx", ["N", 32, 48, 3])
        engine = lanner.build(model, budget=0, threads=1, preprocess={"images": lanner.Preprocess(range=(0, 1))})
        assert engine.preprocess["images"].to_json().find('"nhwc"') > 0
        found = engine({"images": lanner.load_image(tmp_path / "x.ppm")})["seen"].numpy()
        assert np.abs(found[0] - pixels / 255).max() < CLOSE
        succeed("run", model, "-i", tmp_path / "x.ppm", "--preset", "imagenet-tf", "--task", "none", *QUICK)
