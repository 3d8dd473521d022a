"""One model of torchvision with random weights as ONNX, and its answer: run by a Python that has torch and torchvision.

    python torchvision_export.py --list
    python torchvision_export.py NAME EXPORTER FOLDER    # FOLDER/model.onnx, and FOLDER/answer.npz: x0, x1, ... and y0, y1, ..."""

import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from torchvision import models

SEED = 0
PICTURES = 4
SPREAD = 1e-4


def names() -> list[str]:
    return [name for name in models.list_models() if not name.startswith("quantized_")]


def module_of(name: str):
    options = {"weights_backbone": None} if "weights_backbone" in inspect.signature(models.get_model_builder(name)).parameters else {}
    torch.manual_seed(SEED)
    return models.get_model(name, weights=None, **options).eval()


def pictures_of(name: str) -> list[tuple[int, ...]]:
    """Sizes as the weights of torchvision say; detectors and networks of each pixel take any, and get smaller ones."""
    folder = models.get_model_builder(name).__module__.split(".")[2]
    weights = models.get_model_weights(name).DEFAULT
    if folder == "optical_flow":
        return [(1, 3, 128, 160)] * 2
    if folder == "segmentation":
        return [(1, 3, 224, 256)]
    if folder == "detection":
        return [(3, 320, 320)]
    transforms = weights.transforms()
    size = transforms.crop_size
    if folder == "video":
        height, width = size if len(size) == 2 else size * 2
        return [(1, 3, weights.meta.get("min_temporal_size", 8) if name.startswith(("s3d", "mvit")) else 8, height, width)]
    return [(1, 3, size[0], size[0])]


def tells_nothing(answer: list[torch.Tensor]) -> bool:
    """Whether a detector gives all its boxes one score: which of them it names is chance then."""
    scores = next(tensor for tensor in answer if tensor.ndim == 1 and tensor.is_floating_point())
    return len(scores) > 1 and bool(scores.max() - scores.min() < SPREAD)


def see_pictures(module: torch.nn.Module, pictures: list[torch.Tensor]) -> None:
    """Takes the statistics of batch normalisation from these, as training does: without them signals fade from layer to layer."""
    layers = [layer for layer in module.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    for layer in layers:
        layer.momentum = None  # the mean of all that it saw
        layer.reset_running_stats()
        layer.train()
    module(pictures)
    for layer in layers:
        layer.eval()


def flat(value) -> list[torch.Tensor]:
    """Outputs in the order in which exporters write them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [tensor for part in value for tensor in flat(part)]


def export(name: str, exporter: str, folder: Path) -> None:
    module = module_of(name)
    shapes = pictures_of(name)
    generator = torch.Generator().manual_seed(SEED + 1)
    inputs = [torch.rand(shape, generator=generator) for shape in shapes]
    detects = models.get_model_builder(name).__module__.split(".")[2] == "detection"
    arguments = ([inputs[0]],) if detects else tuple(inputs)
    with torch.no_grad():
        answer = flat(module(*arguments))
        if detects and tells_nothing(answer):
            see_pictures(module, [torch.rand(shapes[0], generator=generator) for _ in range(PICTURES)])
            answer = flat(module(*arguments))
        torch.onnx.export(module, arguments, str(folder / "model.onnx"), dynamo=exporter == "dynamo", **({} if exporter == "dynamo" else {"input_names": [f"x{i}" for i in range(len(inputs))]}))
    arrays = {f"x{i}": tensor.numpy() for i, tensor in enumerate(inputs)} | {f"y{i}": tensor.numpy() for i, tensor in enumerate(answer)}
    np.savez(folder / "answer.npz", **arrays)


def main() -> None:
    warnings.simplefilter("ignore")
    torch.backends.mha.set_fastpath_enabled(False)  # one operator that the older exporter has no word for
    if sys.argv[1:] == ["--list"]:
        print("\n".join(names()))
    else:
        export(sys.argv[1], sys.argv[2], Path(sys.argv[3]))


if __name__ == "__main__":
    main()
