"""Heads against their authors' published decoding, on the same tensors: outputs of networks of torchvision and transformers with
random weights, read by both. Parts are skipped where the package is not installed."""

import numpy as np
import pytest

import lanner
from task_models import constant_network

torch = pytest.importorskip("torch", reason="torch is not installed")
from torch import nn  # noqa: E402

SCORE, IOU, MOST = 0.3, 0.45, 300
NAMES = [f"thing {number}" for number in range(5)]
THRESHOLDS = {"score_threshold": SCORE, "iou_threshold": IOU, "max_detections": MOST}


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        yield


@pytest.fixture
def detection():
    return pytest.importorskip("torchvision.models.detection", reason="torchvision is not installed")


@pytest.fixture
def transformers():
    return pytest.importorskip("transformers", reason="transformers is not installed")


def spread(values, deviation, mean=0.0):
    """Scales values so that channels, the last dim, have this mean and deviation, as larger weights of the last layer would: with
    random weights all values are alike."""
    flat = values.reshape(-1, values.shape[-1])
    assert (flat.std(0) > 0).all()
    return (values - flat.mean(0)) / flat.std(0) * deviation + torch.as_tensor(mean)


def read(tmp_path, outputs, size, picture, task=None, metadata=None):
    """A reader's result for these outputs of a network with an input of `size` (height, width), for an image of the same size."""
    arrays = {name: np.ascontiguousarray(value.numpy()) for name, value in outputs.items()}
    model = constant_network(tmp_path / "model.onnx", arrays, size[::-1], metadata)
    engine = lanner.build(model, budget=0, threads=1, preprocess={"input": lanner.Preprocess(preset="none")})
    given = engine({"input": lanner.Image.from_array(np.zeros((*picture, 3), np.uint8))})
    for name, array in arrays.items():
        np.testing.assert_array_equal(given[name].numpy(), array)
    reader = lanner.tasks.TaskReader(engine, task)
    return reader, reader(given, picture)


def clipped(boxes, picture):
    height, width = picture
    return torch.stack([side.clamp(0, limit) for side, limit in zip(boxes.unbind(1), (width, height, width, height), strict=True)], 1)


def same_detections(found, boxes, scores, labels, tolerance=1e-3):
    """The same boxes, equal scores in any order. Returns, for each found box, its index among the expected ones."""
    mine = [found.boxes.numpy(), found.scores.numpy(), found.labels.numpy()]
    boxes, scores, labels = boxes.numpy(), scores.numpy(), labels.numpy()
    assert len(found) == len(scores)
    assert (np.diff(mine[1]) <= 0).all()
    left, numbers = list(range(len(scores))), []
    for box, score, label in zip(*mine, strict=True):
        fits = [i for i in left if labels[i] == label and abs(scores[i] - score) < 2e-6 and np.abs(boxes[i] - box).max() < tolerance]
        assert fits, f"no {label} {score} {box}"
        numbers.append(fits[0])
        left.remove(fits[0])
    return numbers


# SSD and RetinaNet: torchvision's offsets, logits and anchors, and the result of its postprocess_detections.


def ssd(name, detection):
    model = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=6)
    model.topk_candidates = 10**6
    return model


def retinanet(_, detection):
    backbone = detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)
    return detection.RetinaNet(backbone, 5, min_size=128, max_size=192, topk_candidates=10**6)


ANCHORED = {"ssdlite320_mobilenet_v3_large": (ssd, "ssd"), "ssd300_vgg16": (ssd, "ssd"), "retinanet": (retinanet, "retinanet")}


def biased(logits, head):
    """With a bias of the last layer for which some two hundred scores pass."""
    probabilities = {"ssd": lambda: logits.softmax(-1)[..., 1:], "retinanet": logits.sigmoid}[head]
    step = torch.tensor([0.25, 0, 0, 0, 0, 0]) if head == "ssd" else torch.tensor([-0.25] * 5)
    while (probabilities() > SCORE).sum() > 200:
        logits += step
    return logits


class Anchored:
    """Outputs of one of these networks, and their authors' decoding. `inside`: only of boxes within the input."""

    def __init__(self, name, detection, inside):
        make, self.head = ANCHORED[name]
        model = make(name, detection).eval()
        model.score_thresh, model.nms_thresh, model.detections_per_img = SCORE, IOU, MOST
        self.picture = (96, 144)  # RetinaNet resizes to multiples of 32, so that nothing is padded.
        images, _ = model.transform([torch.rand(3, *self.picture)])
        self.size = tuple(images.tensors.shape[2:])
        features = list(model.backbone(images.tensors).values())
        heads = model.head(features)
        anchors = model.anchor_generator(images, features)
        logits, offsets = spread(heads["cls_logits"], 2.0), spread(heads["bbox_regression"], 0.7 if inside else 2.0)
        if inside:
            boxes = model.box_coder.decode_single(offsets[0], anchors[0])
            leaves = (boxes - clipped(boxes, self.size)).abs().amax(1) > 0
            logits[0, leaves] = torch.tensor([40.0, 0, 0, 0, 0, 0] if self.head == "ssd" else [-40.0] * 5)
        logits = biased(logits, self.head)
        self.outputs = {"bbox_regression": offsets, "cls_logits": logits, "anchors": anchors[0]}
        heads, sizes = {"cls_logits": logits, "bbox_regression": offsets}, images.image_sizes
        if self.head == "retinanet":  # It separates levels, as it takes the best of each.
            counts = [9 * feature.shape[2] * feature.shape[3] for feature in features]
            heads = {key: list(value.split(counts, 1)) for key, value in heads.items()}
            anchors = [list(anchors[0].split(counts))]
        (self.expected,) = model.transform.postprocess(model.postprocess_detections(heads, anchors, sizes), sizes, [self.picture])
        model.nms_thresh = 1.0
        self.candidates = len(model.postprocess_detections(heads, anchors, sizes)[0]["scores"])

    def compare(self, tmp_path):
        reader, found = read(tmp_path, self.outputs, self.size, self.picture, {"head": self.head, "labels": NAMES, **THRESHOLDS})
        assert reader.task["head"] == self.head
        assert 20 < len(self.expected["scores"]) < self.candidates <= MOST
        boxes = clipped(self.expected["boxes"], self.picture)
        there = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])  # Those outside of the picture are left out, as docs/tasks.md says.
        labels = self.expected["labels"] - (1 if self.head == "ssd" else 0)
        same_detections(found, boxes[there], self.expected["scores"][there], labels[there])


@pytest.mark.parametrize("name", ANCHORED)
def test_offsets_from_anchors(tmp_path, detection, name):
    Anchored(name, detection, inside=True).compare(tmp_path)


@pytest.mark.parametrize("name", ANCHORED)
def test_offsets_from_anchors_beyond_the_input(tmp_path, detection, name):
    Anchored(name, detection, inside=False).compare(tmp_path)


# Lists: torchvision's detectors with their postprocessing, as their exports have it.


class Spread:
    """After a layer of a detector: its outputs with channels of this deviation."""

    def __init__(self, *deviations):
        self.deviations = deviations

    def __call__(self, layer, inputs, outputs):
        several = isinstance(outputs, tuple)
        made = [self.of(value, deviation) for value, deviation in zip(outputs if several else [outputs], self.deviations, strict=True)]
        return tuple(made) if several else made[0]

    @staticmethod
    def of(value, deviation, mean=0.0):
        last = value.movedim(1, -1) if value.dim() == 4 else value
        last = spread(last, deviation, mean)
        return last.movedim(-1, 1).contiguous() if value.dim() == 4 else last


def rcnn(name, detection, **options):
    backbone = detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)
    model = getattr(detection, name)(backbone, 5, min_size=128, max_size=192, box_score_thresh=0.1, rpn_post_nms_top_n_test=40, **options).eval()
    model.rpn.head.register_forward_hook(lambda head, inputs, outputs: tuple([Spread.of(value, 1.0) for value in part] for part in outputs))
    model.roi_heads.box_predictor.register_forward_hook(Spread(2.0, 1.0))
    return model


def lists_of(model):
    """Its lists for an image in its own size."""
    size = (128, 192)
    (lists,) = model([torch.rand(3, *size)])
    good = lists["scores"] > SCORE
    assert 10 < good.sum() < len(good)
    return size, lists, {key: value[good] for key, value in lists.items()}


def one_stage(name, detection, none=-20.0):
    """FCOS or RetinaNet: classes are numbered as in the other networks, so that training leaves no score for the first; `none` is its mean."""
    backbone = detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)
    model = getattr(detection, name)(backbone, 6, min_size=128, max_size=192, score_thresh=0.2, detections_per_img=MOST).eval()
    mean = torch.tensor([none] + [-6.0 if name == "FCOS" else -5.0] * 5)
    model.head.classification_head.register_forward_hook(lambda head, inputs, logits: Spread.of(logits, 1.5, mean))
    if name == "FCOS":  # Its distances from a point to the sides are not below 0.
        model.head.regression_head.register_forward_hook(lambda head, inputs, outputs: (Spread.of(outputs[0], 0.5, 1.0).relu(), outputs[1]))
    return model


@pytest.mark.parametrize("picture", [(128, 192), (384, 960)])
@pytest.mark.parametrize("name", ["FasterRCNN", "FCOS", "RetinaNet"])
def test_lists_of_boxes(tmp_path, detection, name, picture):
    size, lists, expected = lists_of((rcnn if name == "FasterRCNN" else one_stage)(name, detection))
    reader, found = read(tmp_path, lists, size, picture, {"score_threshold": SCORE})
    assert reader.reason.startswith("detect, head torchvision")
    scale = torch.tensor([picture[1] / size[1], picture[0] / size[0]] * 2)
    same_detections(found, expected["boxes"] * scale, expected["scores"], expected["labels"] - 1)


@pytest.mark.parametrize("name", ["FCOS", "RetinaNet"])
def test_lists_with_classes_from_0(tmp_path, detection, name):
    """For a network trained in that way the number of the first class must be given."""
    size, lists, expected = lists_of(one_stage(name, detection, -5.0))
    assert (expected["labels"] == 0).any()
    _, found = read(tmp_path, lists, size, size, {"score_threshold": SCORE, "first_class": 0})
    same_detections(found, expected["boxes"], expected["scores"], expected["labels"])


def test_lists_with_classes_from_0_keep_all_boxes(tmp_path, detection):
    size, lists, _ = lists_of(one_stage("RetinaNet", detection, -5.0))
    with pytest.raises(lanner.Error, match="first_class"):
        read(tmp_path, lists, size, size, {"score_threshold": SCORE})


def masks_of(tmp_path, detection):
    model = rcnn("MaskRCNN", detection)
    model.roi_heads.mask_predictor.register_forward_hook(Spread(2.0))
    size, lists, expected = lists_of(model)
    reader, found = read(tmp_path, lists, size, size, {"score_threshold": SCORE})
    assert reader.reason.startswith("segment, head torchvision")
    numbers = same_detections(found, expected["boxes"], expected["scores"], expected["labels"] - 1)
    masks = (expected["masks"][numbers, 0] > 0.5).numpy()
    assert masks.any((1, 2)).all()
    return found, masks, found.boxes.numpy()[:, :, None]


def test_masks_within_their_boxes(tmp_path, detection):
    found, masks, boxes = masks_of(tmp_path, detection)
    x, y = np.arange(masks.shape[2]) + 0.5, np.arange(masks.shape[1]) + 0.5
    across, down = (boxes[:, 0] <= x) & (x < boxes[:, 2]), (boxes[:, 1] <= y) & (y < boxes[:, 3])
    inside = across[:, None, :] & down[:, :, None]
    np.testing.assert_array_equal(found.masks.numpy(), masks & inside)
    assert (masks & ~inside).sum() < 0.1 * masks.sum()


@pytest.mark.xfail(strict=True, reason="torchvision's masks go a little beyond the boxes, where Lanner cuts them")
def test_masks(tmp_path, detection):
    found, masks, _ = masks_of(tmp_path, detection)
    np.testing.assert_array_equal(found.masks.numpy(), masks)


@pytest.mark.parametrize("picture", [(128, 192), (384, 960)])
def test_lists_with_key_points(tmp_path, detection, picture):
    model = rcnn("KeypointRCNN", detection, num_keypoints=17)
    model.roi_heads.keypoint_predictor.register_forward_hook(Spread(2.0))
    size, lists, expected = lists_of(model)
    reader, found = read(tmp_path, lists, size, picture, {"score_threshold": SCORE})
    assert reader.reason.startswith("pose, head torchvision")
    scale = torch.tensor([picture[1] / size[1], picture[0] / size[0]])
    numbers = same_detections(found, expected["boxes"] * scale.repeat(2), expected["scores"], expected["labels"] - 1)
    points = expected["keypoints"][numbers]
    np.testing.assert_allclose(found.keypoints.numpy()[..., :2], points[..., :2] * scale, rtol=1e-5)
    np.testing.assert_array_equal(found.keypoints.numpy()[..., 2], points[..., 2])


# Suppression on its own.


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("count", [1, 300, 3000])
def test_suppression(count, threshold):
    ops = pytest.importorskip("torchvision.ops", reason="torchvision is not installed")
    corners = torch.rand(count, 2) * 200
    boxes = torch.cat([corners, corners + torch.rand(count, 2) * 60], 1)
    scores, labels = torch.rand(count).mul(500).round() / 500, torch.randint(0, 4, (count,))
    assert count == 1 or len(scores.unique()) < count  # The first of equal scores remains in both.
    kept = ops.nms(boxes, scores, threshold)
    assert lanner.tasks.suppress(boxes, scores, iou_threshold=threshold) == kept.tolist()
    kept = ops.batched_nms(boxes, scores, labels, threshold)
    mine = lanner.tasks.suppress(boxes, scores, labels, iou_threshold=threshold)
    assert sorted(mine) == sorted(kept.tolist())
    np.testing.assert_array_equal(scores[mine], scores[kept])


# Classes and maps.


def test_classes(tmp_path):
    models = pytest.importorskip("torchvision.models", reason="torchvision is not installed")
    logits = spread(models.shufflenet_v2_x0_5(weights=None, num_classes=1000).eval()(torch.rand(1, 3, 64, 64)).T, 3.0).T
    values, numbers = logits.softmax(1)[0].topk(7)
    _, found = read(tmp_path, {"logits": logits}, (64, 64), (50, 70), {"task": "classify", "top": 7})
    np.testing.assert_array_equal(found.labels.numpy(), numbers)
    np.testing.assert_allclose(found.scores.numpy(), values, rtol=2e-6)


WEIGHTS = {"ResNet18_Weights.IMAGENET1K_V1": 256, "EfficientNet_V2_S_Weights.IMAGENET1K_V1": 384, "ResNet50_Weights.IMAGENET1K_V2": 232}


@pytest.mark.parametrize("name, resized", WEIGHTS.items())
def test_presets_match_the_transforms_of_weights(name, resized):
    """Lanner's presets equal the transforms of torchvision's weights, within one of 255 levels."""
    models = pytest.importorskip("torchvision.models", reason="torchvision is not installed")
    transforms = models.get_weight(name).transforms()
    assert transforms.resize_size == [resized] and transforms.interpolation.value == "bilinear"
    size = transforms.crop_size[0]
    pixels = torch.randint(0, 256, (3, 600, 800), dtype=torch.uint8)
    expected = transforms(pixels)
    image = lanner.Image.from_array(np.ascontiguousarray(pixels.permute(1, 2, 0)))
    made = image.to_tensor(preset="imagenet", size=(resized, resized), fit="crop").numpy()[0]
    margin = (resized - size) // 2
    made = made[:, margin : margin + size, margin : margin + size]
    assert made.shape == expected.shape == (3, size, size)
    levels = np.abs(made - expected.numpy()) * 255 * np.float32([0.229, 0.224, 0.225])[:, None, None]
    assert levels.max() <= 1


@pytest.mark.parametrize("name", ["lraspp_mobilenet_v3_large", "fcn_resnet50"])
def test_semantic_maps(tmp_path, name):
    models = pytest.importorskip("torchvision.models.segmentation", reason="torchvision is not installed")
    model = getattr(models, name)(weights=None, weights_backbone=None, num_classes=5).eval()
    logits = Spread.of(model(torch.rand(1, 3, 96, 128))["out"], 1.0)
    reader, found = read(tmp_path, {"out": logits}, (96, 128), (96, 128))
    assert reader.reason.startswith("semantic, 5 classes")
    assert len(np.unique(found.classes.numpy())) == 5
    np.testing.assert_array_equal(found.classes.numpy(), logits[0].argmax(0))


# transformers: small models, and the results of the image processors' post_process functions.

SMALL = {
    "d_model": 32,
    "num_queries": 40,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "num_labels": 5,
}
RESNET = {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "layer_type": "basic"}


def convolutional(kind):
    def make(transformers):
        backbone = transformers.ResNetConfig(**RESNET, out_features=["stage2", "stage3", "stage4"] if kind == "DeformableDetr" else ["stage4"])
        config = getattr(transformers, f"{kind}Config")(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, **SMALL)
        return getattr(transformers, f"{kind}ForObjectDetection")(config)

    return make


def yolos(transformers):
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "image_size": [96, 128], "num_detection_tokens": 40}
    return transformers.YolosForObjectDetection(transformers.YolosConfig(num_labels=5, **sizes))


def rt_detr(transformers):
    backbone = transformers.RTDetrResNetConfig(**RESNET, out_features=["stage2", "stage3", "stage4"])
    sizes = {"encoder_hidden_dim": 32, "encoder_in_channels": [16, 24, 32], "decoder_in_channels": [32, 32, 32], "encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
    config = transformers.RTDetrConfig(backbone_config=backbone, d_model=32, num_queries=40, num_labels=5, num_denoising=0, **sizes, **heads)
    return transformers.RTDetrForObjectDetection(config)


QUERIES = {
    "Detr": (convolutional("Detr"), "detr"),
    "Yolos": (yolos, "detr"),
    "ConditionalDetr": (convolutional("ConditionalDetr"), "rt_detr"),
    "DeformableDetr": (convolutional("DeformableDetr"), "rt_detr"),
    "RTDetr": (rt_detr, "rt_detr"),
}


@pytest.mark.parametrize("picture", [(96, 128), (75, 311)])
@pytest.mark.parametrize("name", QUERIES)
def test_queries(tmp_path, transformers, name, picture):
    make, head = QUERIES[name]
    model = make(transformers).eval()
    for weights in model.parameters():
        if weights.dim() > 1:  # The class initialises them so small that all queries are alike.
            nn.init.xavier_normal_(weights, 2.0)
    outputs = model(torch.rand(1, 3, 96, 128))
    logits = spread(outputs.logits, 2.0, -2.0 if head == "rt_detr" else 0.0)
    boxes = spread(torch.logit(outputs.pred_boxes), 1.0).sigmoid()
    outputs.logits, outputs.pred_boxes = logits, boxes
    processor = getattr(transformers, f"{name}ImageProcessor")()
    (expected,) = processor.post_process_object_detection(outputs, threshold=SCORE, target_sizes=[picture])
    assert 10 < len(expected["scores"]) < (40 if head == "detr" else 80)
    task = {"score_threshold": SCORE, "max_detections": 40 if name == "RTDetr" else 100}
    reader, found = read(tmp_path, {"logits": logits, "pred_boxes": boxes}, (96, 128), picture, task | {"labels": NAMES})
    assert reader.task["head"] == head
    same_detections(found, clipped(expected["boxes"], picture), expected["scores"], expected["labels"])


@pytest.mark.parametrize("channels", [5, 6])
def test_labels_of_the_metadata_distinguish_heads(tmp_path, channels):
    outputs = {"logits": torch.zeros(1, 40, channels), "pred_boxes": torch.full((1, 40, 4), 0.5)}
    reader, _ = read(tmp_path, outputs, (96, 128), (96, 128), None, {"id2label": repr(dict(enumerate(NAMES)))})
    assert reader.task["head"] == ("rt_detr" if channels == 5 else "detr")


@pytest.mark.parametrize("picture", [(96, 128), (24, 32), (75, 311), (13, 11)])
def test_segformer(tmp_path, transformers, picture):
    sizes = {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 1, 1], "decoder_hidden_size": 16}
    model = transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig(num_labels=6, **sizes)).eval()
    outputs = model(torch.rand(1, 3, 96, 128))
    outputs.logits = Spread.of(outputs.logits, 1.0)
    assert outputs.logits.shape == (1, 6, 24, 32)
    result = transformers.SegformerImageProcessor().post_process_semantic_segmentation(outputs, target_sizes=[picture])[0]
    reader, found = read(tmp_path, {"logits": outputs.logits}, (96, 128), picture, "semantic")
    best = nn.functional.interpolate(outputs.logits, picture, mode="bilinear")[0].topk(2, 0).values
    clear = (best[0] - best[1]).numpy() > 1e-4
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(found.classes.numpy()[clear], result.numpy()[clear])


def depth_of(tmp_path, transformers, picture):
    sizes = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32, "image_size": 64, "patch_size": 16}
    neck = {"neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 16, "backbone_out_indices": [0, 1, 2, 3], "is_hybrid": False}
    outputs = transformers.DPTForDepthEstimation(transformers.DPTConfig(**sizes, **neck)).eval()(torch.rand(1, 3, 64, 64))
    outputs.predicted_depth = spread(outputs.predicted_depth.flatten()[:, None], 2.0, 10.0).reshape(outputs.predicted_depth.shape)
    (expected,) = transformers.DPTImageProcessor().post_process_depth_estimation(outputs, target_sizes=[picture])
    _, found = read(tmp_path, {"predicted_depth": outputs.predicted_depth}, (64, 64), picture, "depth")
    return outputs.predicted_depth, found.depth.numpy(), expected["predicted_depth"].numpy()


def test_depth(tmp_path, transformers):
    _, depth, expected = depth_of(tmp_path, transformers, (64, 64))
    np.testing.assert_allclose(depth, expected, rtol=1e-6)


def test_depth_is_interpolated_linearly_where_transformers_uses_cubic(tmp_path, transformers):
    """As docs/tasks.md says: a cubic kernel overshoots the network's depths."""
    own, depth, expected = depth_of(tmp_path, transformers, (96, 160))
    np.testing.assert_allclose(depth, nn.functional.interpolate(own[None], (96, 160), mode="bilinear")[0, 0], rtol=1e-5)
    assert 0 < np.abs(depth - expected).mean() < 0.1 * own.std()
