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


def pictures_of(name: str, module: torch.nn.Module) -> list[tuple[int, ...]]:
    """Sizes of torchvision's weights; detectors and dense networks accept any, and get smaller ones."""
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
    side = getattr(module, "image_size", size[0])  # for a transformer, which accepts no other size
    return [(1, 3, side, side)]


def detects(name: str) -> bool:
    return models.get_model_builder(name).__module__.split(".")[2] == "detection"


def arguments_of(name: str, pictures: list[torch.Tensor]) -> tuple:
    return ([pictures[0]],) if detects(name) else tuple(pictures)


def tells_something(name: str, module: torch.nn.Module, pictures: list[torch.Tensor]) -> bool:
    """Whether the answer depends on the picture: without training signals fade from layer to layer, so all boxes have one score or none remains."""
    answer = flat(module(*arguments_of(name, pictures)))
    if detects(name):
        scores = next(tensor for tensor in answer if tensor.ndim == 1 and tensor.is_floating_point())
        return len(scores) > 1 and bool(scores.max() - scores.min() >= SPREAD)
    others = flat(module(*arguments_of(name, [1 - picture for picture in pictures])))
    return any(bool((one - other).abs().max() > SPREAD * one.abs().max()) for one, other in zip(answer, others))


def make_it_tell(name: str, module: torch.nn.Module, draw) -> None:
    """Draws weights that are initialised with zeros, sets batch normalisation's statistics from a few pictures, as training does, and lets a detector return its best boxes with any scores."""
    for weight in module.parameters():
        if weight.ndim > 1 and not weight.any():  # the last layer of a vision transformer, which is initialised with zeros
            torch.nn.init.normal_(weight, std=0.02)
    layers = [layer for layer in module.modules() if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)]
    if not layers and not detects(name):
        return
    for layer in layers:
        layer.momentum = None  # the mean of all inputs seen
        layer.reset_running_stats()
        layer.train()
    if detects(name):
        module([draw()[0] for _ in range(PICTURES)])
    else:
        module(*(torch.cat(parts) for parts in zip(*(draw() for _ in range(PICTURES)))))
    for layer in layers:
        layer.eval()
    for part in (module, getattr(module, "roi_heads", module)):
        if detects(name) and hasattr(part, "score_thresh"):
            part.score_thresh = 0.0


def flat(value) -> list[torch.Tensor]:
    """Outputs in the order in which exporters write them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [tensor for part in value for tensor in flat(part)]


def export(name: str, exporter: str, folder: Path) -> None:
    module = module_of(name)
    shapes = pictures_of(name, module)
    generator = torch.Generator().manual_seed(SEED + 1)

    def draw() -> list[torch.Tensor]:
        return [torch.rand(shape, generator=generator) for shape in shapes]

    pictures = draw()
    with torch.no_grad():
        if not tells_something(name, module, pictures):
            make_it_tell(name, module, draw)
            if not tells_something(name, module, pictures):
                raise ValueError(f"{name}: its answer does not depend on the picture, so a comparison shows nothing")
        arguments = arguments_of(name, pictures)
        answer = flat(module(*arguments))
        torch.onnx.export(module, arguments, str(folder / "model.onnx"), dynamo=exporter == "dynamo", **({} if exporter == "dynamo" else {"input_names": [f"x{i}" for i in range(len(pictures))]}))
    arrays = {f"x{i}": tensor.numpy() for i, tensor in enumerate(pictures)} | {f"y{i}": tensor.numpy() for i, tensor in enumerate(answer)}
    np.savez(folder / "answer.npz", **arrays)


def main() -> None:
    warnings.simplefilter("ignore")
    torch.backends.mha.set_fastpath_enabled(False)  # an operator that the older exporter lacks
    if sys.argv[1:] == ["--list"]:
        print("\n".join(names()))
    else:
        export(sys.argv[1], sys.argv[2], Path(sys.argv[3]))


if __name__ == "__main__":
    main()
