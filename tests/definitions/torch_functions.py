"""Nodes as PyTorch computes them: the functions that its exporter translates to these operators."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from definitions.case import Case


class NoTorch(Exception):
    """PyTorch has no such function, or is not installed."""


Function = Callable[[Any, Any, Case, list[Any]], Any]
FUNCTIONS: dict[str, Function] = {}


@cache
def installed() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def torch_function(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return register


def answer(case: Case) -> Sequence[Any]:
    torch = installed()
    function = FUNCTIONS.get(case.operator)
    if torch is None or function is None:
        raise NoTorch("torch is not installed" if torch is None else "no function")
    operands = [None if x is None or x.dtype.kind in "OUS" else torch.from_numpy(np.ascontiguousarray(x)) for x in case.inputs]
    try:
        results = function(torch, torch.nn.functional, case, operands)
    except (NotImplementedError, RuntimeError, ValueError, IndexError) as error:
        raise NoTorch(str(error).splitlines()[0][:120]) from error
    if results is None:
        raise NoTorch("not with these attributes")
    return [result.numpy() for result in (results if isinstance(results, tuple) else (results,))]


def has_only(case: Case, *names: str) -> bool:
    return set(case.attributes) <= set(names)


PLAIN = {
    **{name: name.lower() for name in "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh Sqrt Tan Tanh".split()},
    "IsNaN": "isnan",
    "Identity": "clone",
}


def plain(name: str) -> None:
    @torch_function(name)
    def function(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
        return getattr(torch, PLAIN[name])(x[0])


for one in PLAIN:
    plain(one)


@torch_function("Elu", "Celu", "LeakyRelu", "HardSwish", "Softplus", "Softsign", "Mish", "Gelu", "Selu")
def activation(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    alpha = case.attributes.get("alpha", 0.01 if case.operator == "LeakyRelu" else 1.0)
    if case.operator == "Gelu":
        return F.gelu(x[0], approximate=case.attributes.get("approximate", "none"))
    if case.operator == "Selu":
        return F.selu(x[0]) if not case.attributes else None
    if case.operator in ("Elu", "Celu", "LeakyRelu"):
        return {"Elu": F.elu, "Celu": F.celu, "LeakyRelu": F.leaky_relu}[case.operator](x[0], alpha)
    return {"HardSwish": F.hardswish, "Softplus": F.softplus, "Softsign": F.softsign, "Mish": F.mish}[case.operator](x[0])


@torch_function("Clip")
def clip(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    low, high = (case.attributes.get("min"), case.attributes.get("max")) if case.attributes else (*x[1:], None, None)[:2]
    return x[0] if low is None and high is None else torch.clamp(x[0], low, high)


@torch_function("Softmax", "LogSoftmax")
def softmax(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    if case.version < 13:
        return None
    return (F.softmax if case.operator == "Softmax" else F.log_softmax)(x[0], case.attributes.get("axis", -1))


@torch_function("MaxPool")
def max_pool(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    a = case.attributes
    pads = a.get("pads", [0, 0, 0, 0])
    if x[0].dim() != 4 or "auto_pad" in a or pads[:2] != pads[2:] or case.outputs > 1:
        return None
    return F.max_pool2d(x[0], a["kernel_shape"], a.get("strides", [1, 1]), pads[:2], a.get("dilations", [1, 1]), bool(a.get("ceil_mode", 0)))


@torch_function("AveragePool")
def average_pool(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    a = case.attributes
    pads = a.get("pads", [0, 0, 0, 0])
    if x[0].dim() != 4 or "auto_pad" in a or pads[:2] != pads[2:] or "dilations" in a:
        return None
    return F.avg_pool2d(x[0], a["kernel_shape"], a.get("strides", [1, 1]), pads[:2], bool(a.get("ceil_mode", 0)), bool(a.get("count_include_pad", 0)))


@torch_function("MaxUnpool")
def max_unpool(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    if "pads" in case.attributes or x[0].shape[1] != 1:
        return None  # Its indices restart in each plane.
    size = None if len(x) < 3 else [int(i) for i in x[2][2:]]
    return F.max_unpool2d(x[0], x[1], case.attributes["kernel_shape"], case.attributes["strides"], output_size=size)


@torch_function("Conv")
def conv(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    a = case.attributes
    pads = a.get("pads", [0, 0, 0, 0])
    if x[0].dim() != 4 or "auto_pad" in a or pads[:2] != pads[2:]:
        return None
    return F.conv2d(*x, stride=a.get("strides", [1, 1]), padding=pads[:2], dilation=a.get("dilations", [1, 1]), groups=a.get("group", 1))


@torch_function("ConvTranspose")
def conv_transpose(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    a = case.attributes
    pads = a.get("pads", [0, 0, 0, 0])
    if x[0].dim() != 4 or "auto_pad" in a or "output_shape" in a or pads[:2] != pads[2:]:
        return None
    return F.conv_transpose2d(
        *x, stride=a.get("strides", [1, 1]), padding=pads[:2], output_padding=a.get("output_padding", [0, 0]), groups=a.get("group", 1), dilation=a.get("dilations", [1, 1])
    )


@torch_function("GridSample")
def grid_sample(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    a = case.attributes
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(a["mode"], a["mode"])
    return F.grid_sample(*x, mode, a["padding_mode"], bool(a["align_corners"]))


@torch_function("AffineGrid")
def affine_grid(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    return F.affine_grid(x[0], [int(i) for i in x[1]], bool(case.attributes["align_corners"]))


@torch_function("Resize")
def resize(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    """What `interpolate` is exported as, with sizes or with scales from which sizes follow."""
    a = case.attributes
    place, mode = a.get("coordinate_transformation_mode", "half_pixel"), a.get("mode", "nearest")
    places = ("align_corners",) if mode != "nearest" and place == "align_corners" else ("half_pixel", "pytorch_half_pixel") if mode != "nearest" else ("asymmetric",)
    if not has_only(case, "coordinate_transformation_mode", "mode", "nearest_mode") or place not in places or case.version < 11:
        return None
    if mode == "nearest" and a.get("nearest_mode") != "floor":
        return None
    more = {} if mode == "nearest" else {"align_corners": place == "align_corners"}
    name = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}[mode]
    if len(x) > 3:
        return F.interpolate(x[0], size=[int(i) for i in x[3][2:]], mode=name, **more)
    return F.interpolate(x[0], scale_factor=[float(i) for i in x[2][2:]], mode=name, recompute_scale_factor=False, **more)


@torch_function("LayerNormalization")
def layer_normalization(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    if case.outputs > 1:
        return None
    return F.layer_norm(x[0], list(x[1].shape), *x[1:], eps=case.attributes.get("epsilon", 1e-5))


@torch_function("InstanceNormalization")
def instance_normalization(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    return F.instance_norm(x[0], weight=x[1], bias=x[2], eps=case.attributes.get("epsilon", 1e-5))


@torch_function("LRN")
def response(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    a = case.attributes
    return F.local_response_norm(x[0], a["size"], a.get("alpha", 1e-4), a.get("beta", 0.75), a.get("bias", 1.0))


@torch_function("CumSum")
def cum_sum(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    return torch.cumsum(x[0], int(x[1])) if not (case.attributes["exclusive"] or case.attributes["reverse"]) else None


@torch_function("Trilu")
def trilu(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    return (torch.triu if case.attributes.get("upper", 1) else torch.tril)(x[0], int(x[1]) if len(x) > 1 else 0)


@torch_function("DepthToSpace")
def depth_to_space(torch: Any, F: Any, case: Case, x: list[Any]) -> Any:
    return F.pixel_shuffle(x[0], case.attributes["blocksize"]) if case.attributes.get("mode") == "CRD" else None
