"""Functions of PyTorch, exported by both of its exporters, agree with PyTorch. Skipped where torch is not installed."""

import io

import lanner
import pytest
from torch_support import QUICK, agree, fresh, image, nn, run, torch  # noqa: F401

F = nn.functional

RESIZED = {
    f"interpolate {mode} {'corners' if corners else 'centres'} {size or scale}": (
        lambda x, mode=mode, corners=corners, size=size, scale=scale: F.interpolate(
            x, size=size, scale_factor=scale, mode=mode, align_corners=corners, recompute_scale_factor=None if scale is None else True
        )
    )
    for mode in ("bilinear", "bicubic")
    for corners in (False, True)
    for size, scale in (((3, 11), None), (None, 0.5), (None, 1.7))
}
SAMPLED = {
    f"grid_sample {mode} {padding} {corners}": (
        lambda x, mode=mode, padding=padding, corners=corners: F.grid_sample(x, torch.tanh(x[:, :2].permute(0, 2, 3, 1)) * 1.5, mode, padding, corners)
    )
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for corners in (False, True)
}
POOLED = {
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool2d ceil": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "max_pool2d dilated": lambda x: F.max_pool2d(x, 2, 1, 0, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "avg_pool2d ceil": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "avg_pool2d without padding": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
}
OTHERS = {
    **{f"softmax {dim}": (lambda x, dim=dim: F.softmax(x, dim)) for dim in (0, 1, 2, 3)},
    **{f"log_softmax {dim}": (lambda x, dim=dim: F.log_softmax(x, dim)) for dim in (1, 3)},
    **{name: getattr(F, name) for name in "elu celu gelu hardsigmoid hardswish leaky_relu mish relu relu6 selu silu softplus softsign".split()},
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "pad reflect": lambda x: F.pad(x, (1, 2, 3, 1), "reflect"),
    "pad replicate": lambda x: F.pad(x, (1, 2, 3, 1), "replicate"),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": lambda x: F.instance_norm(x),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "cumsum": lambda x: x.cumsum(2),
    "argmax": lambda x: x.argmax(1).float(),
    "topk": lambda x: x.topk(3, 3)[0],
    "norm": lambda x: x.norm(dim=1),
    "std": lambda x: x.std(dim=(2, 3)),
    "tril": lambda x: x.tril(-1),
    "where": lambda x: torch.where(x > 0, x, x.exp()),
    "einsum": lambda x: torch.einsum("bchw,bdhw->bcd", x, x),
}
FUNCTIONS = {**RESIZED, **SAMPLED, **POOLED, **OTHERS}


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("by_dynamo", [False, True], ids=["torchscript", "dynamo"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_exported_functions(name, by_dynamo):
    model, x = Function(FUNCTIONS[name]).eval(), image(2, 8, 4)
    file = io.BytesIO()
    try:
        if by_dynamo:
            torch.onnx.export(model, (x,), dynamo=True, verbose=False).save(file)
        else:
            torch.onnx.export(model, (x,), file, dynamo=False, opset_version=20)
    except Exception as error:  # each exporter lacks some functions, with various exceptions
        pytest.skip(f"this exporter does not export it: {str(error).splitlines()[0][:100]}")
    with torch.no_grad():
        expected = model(x)
    engine = lanner.build(file.getvalue(), **QUICK)
    agree(next(iter(run(engine, x).values())), expected, 1e-4)
