"""ONNX's operators in float64: in NumPy where onnx.reference is slow, else by onnx.reference.

Written from the ONNX specification only, so that it shares no code with what it judges."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from networks.boxes import non_max_suppression, roi_align
from networks.executor import Executor, Library, NotHandled

Array = np.ndarray
SMALLER = (TensorProto.FLOAT, TensorProto.FLOAT16)


def widened(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype in (np.float32, np.float16) else array


def constant(tensor: onnx.TensorProto) -> Array:
    return widened(numpy_helper.to_array(tensor))


def by_reference(node: onnx.NodeProto, opset: int, inputs: Sequence[Array | None]) -> list[Array]:
    """One node by onnx.reference, with the types widened."""
    node = onnx.NodeProto.FromString(node.SerializeToString())
    for attribute in node.attribute:
        if attribute.HasField("t"):
            attribute.t.CopyFrom(numpy_helper.from_array(constant(attribute.t)))
        if attribute.name in ("to", "dtype") and attribute.i in SMALLER:
            attribute.i = TensorProto.DOUBLE
    named = {name: array for name, array in zip(node.input, inputs, strict=True) if name}
    results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.GraphProto(name="node", node=[node], input=[onnx.ValueInfoProto(name=name) for name in named], output=results)
    evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    found = iter(evaluator.run(None, named))
    return [widened(np.asarray(next(found))) if name else None for name in node.output]


# --- Sliding windows: convolutions and pools, one tap of the kernel after the other ---


def windows(attributes: dict, size: Sequence[int], kernel: Sequence[int]) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Strides, dilations, pads before and after (including those of ceil_mode), and sizes of the result."""
    rank = len(kernel)
    strides, dilations = (list(attributes.get(name, [1] * rank)) for name in ("strides", "dilations"))
    spans = [dilation * (taps - 1) + 1 for dilation, taps in zip(dilations, kernel, strict=True)]
    if attributes.get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID"):
        pads = list(attributes.get("pads", [0] * 2 * rank))
        before, after = pads[:rank], pads[rank:]
    else:
        totals = [max(0, (-(-n // s) - 1) * s + span - n) for n, s, span in zip(size, strides, spans, strict=True)]
        less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
        before, after = (less, more) if attributes["auto_pad"] == b"SAME_UPPER" else (more, less)
    results = []
    for i, (n, span, stride) in enumerate(zip(size, spans, strides, strict=True)):
        room = n + before[i] + after[i] - span
        result = room // stride + 1
        # With ceil_mode a last window may extend beyond the end, but not begin after it.
        if attributes.get("ceil_mode", 0) and room % stride and result * stride < n + before[i]:
            result += 1
        results.append(result)
    after = [max(a, (r - 1) * s + span - n - b) for a, r, s, span, n, b in zip(after, results, strides, spans, size, before, strict=True)]
    return strides, dilations, before, after, results


def padded(x: Array, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> Array:
    return np.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)], constant_values=value) if any(before) or any(after) else x


def tap(x: Array, place: Sequence[int], strides: Sequence[int], dilations: Sequence[int], result: Sequence[int]) -> Array:
    """The elements under one tap of the kernel, for all windows."""
    starts = [p * d for p, d in zip(place, dilations, strict=True)]
    return x[(..., *(slice(b, b + (r - 1) * s + 1, s) for b, s, r in zip(starts, strides, result, strict=True)))]


def conv(attributes: dict, x: Array, w: Array, bias: Array | None = None) -> Array:
    kernel, groups = w.shape[2:], attributes.get("group", 1)
    strides, dilations, before, after, result = windows(attributes, x.shape[2:], kernel)
    x = padded(x, before, after)
    n, m = x.shape[0], w.shape[0]
    weights = w.reshape(groups, m // groups, w.shape[1], *kernel)
    y = np.zeros((n, groups, m // groups, math.prod(result)))
    for place in np.ndindex(*kernel):
        seen = tap(x, place, strides, dilations, result).reshape(n, groups, w.shape[1], -1)
        factor = weights[(..., *place)]
        y += factor * seen if w.shape[1] == 1 else factor @ seen
    y = y.reshape(n, m, *result)
    return y if bias is None else y + bias.reshape(-1, *[1] * len(kernel))


def conv_transpose(attributes: dict, x: Array, w: Array, bias: Array | None = None) -> Array:
    kernel, groups, rank = w.shape[2:], attributes.get("group", 1), w.ndim - 2
    if attributes.get("auto_pad", b"NOTSET") != b"NOTSET" or "output_shape" in attributes:
        raise NotHandled
    strides, dilations, extra = (list(attributes.get(name, [default] * rank)) for name, default in (("strides", 1), ("dilations", 1), ("output_padding", 0)))
    pads = list(attributes.get("pads", [0] * 2 * rank))
    n, c = x.shape[:2]
    full = [(x.shape[2 + i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 + extra[i] for i in range(rank)]
    y = np.zeros((n, groups * w.shape[1], *full))
    flat = x.reshape(n, groups, c // groups, -1)
    weights = w.reshape(groups, c // groups, w.shape[1], *kernel).swapaxes(1, 2)
    for place in np.ndindex(*kernel):
        tap(y, place, strides, dilations, x.shape[2:])[...] += (weights[(..., *place)] @ flat).reshape(n, -1, *x.shape[2:])
    y = y[(..., *(slice(pads[i], full[i] - pads[rank + i]) for i in range(rank)))]
    return y if bias is None else y + bias.reshape(-1, *[1] * rank)


def max_pool(attributes: dict, x: Array) -> Array:
    kernel = attributes["kernel_shape"]
    strides, dilations, before, after, result = windows(attributes, x.shape[2:], kernel)
    x = padded(x, before, after, -np.inf)
    y = np.full((*x.shape[:2], *result), -np.inf)
    for place in np.ndindex(*kernel):
        np.maximum(y, tap(x, place, strides, dilations, result), out=y)
    return y


def average_pool(attributes: dict, x: Array) -> Array:
    kernel, rank = attributes["kernel_shape"], x.ndim - 2
    strides, dilations, before, after, result = windows(attributes, x.shape[2:], kernel)
    counted = np.ones((1, 1, *x.shape[2:]))
    if attributes.get("count_include_pad", 0):
        pads = attributes.get("pads", [0] * 2 * rank)
        counted = padded(counted, pads[:rank], pads[rank:], 1.0)
        beyond = [0] * rank, [a - p for a, p in zip(after, pads[rank:], strict=True)]
    else:
        beyond = before, after
    x, counted = padded(x, before, after), padded(counted, *beyond)
    sums, counts = np.zeros((*x.shape[:2], *result)), np.zeros((1, 1, *result))
    for place in np.ndindex(*kernel):
        sums += tap(x, place, strides, dilations, result)
        counts += tap(counted, place, strides, dilations, result)
    return sums / counts


# --- Interpolation ---


def coordinates(mode: bytes, size: int, result: int, scale: float) -> Array:
    i = np.arange(result, dtype=np.float64)
    if mode == b"half_pixel" or (mode == b"pytorch_half_pixel" and result > 1):
        return (i + 0.5) / scale - 0.5
    if mode == b"pytorch_half_pixel":
        return i * 0
    if mode == b"align_corners":
        return i * (size - 1) / max(result - 1, 1)
    if mode == b"asymmetric":
        return i / scale
    raise NotHandled


def cubic_weights(part: Array, a: float) -> list[Array]:
    """Weights of the four elements around a position at the fraction `part` after the second (Keys, 1981)."""
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (part, 1 - part)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (part + 1, 2 - part)]
    return [far[0], near[0], near[1], far[1]]


def resize_matrix(attributes: dict, size: int, result: int, scale: float) -> Array:
    """Weights of the elements along one axis for each element of the result."""
    places = coordinates(attributes.get("coordinate_transformation_mode", b"half_pixel"), size, result, scale)
    mode, matrix, rows = attributes.get("mode", b"nearest"), np.zeros((result, size)), np.arange(result)
    if mode == b"nearest":
        rounding = {b"floor": np.floor, b"ceil": np.ceil, b"round_prefer_floor": lambda x: np.ceil(x - 0.5), b"round_prefer_ceil": lambda x: np.floor(x + 0.5)}
        taken = [(rounding[attributes.get("nearest_mode", b"round_prefer_floor")](places), np.ones(result))]
    elif mode == b"linear":
        low = np.floor(places)
        taken = [(low, low + 1 - places), (low + 1, places - low)]
    else:
        low = np.floor(places)
        taken = [(low + i - 1, weight) for i, weight in enumerate(cubic_weights(places - low, attributes.get("cubic_coeff_a", -0.75)))]
    for index, weight in taken:
        np.add.at(matrix, (rows, np.clip(index, 0, size - 1).astype(np.int64)), weight)
    return matrix


def resize(attributes: dict, x: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None) -> Array:
    known = {"mode", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a"}
    if any(value not in (0, 0.0, b"stretch") for name, value in attributes.items() if name not in known | {"extrapolation_value"}):
        raise NotHandled
    for axis in range(x.ndim):
        size = x.shape[axis]
        if sizes is not None and sizes.size:
            result, scale = int(sizes[axis]), float(sizes[axis]) / size
        else:
            result, scale = math.floor(size * scales[axis]), float(scales[axis])
        if result != size or scale != 1:
            x = np.moveaxis(np.tensordot(resize_matrix(attributes, size, result, scale), x, (1, axis)), 0, axis)
    return x


def grid_sample(attributes: dict, x: Array, grid: Array) -> Array:
    mode = attributes.get("mode", b"linear")
    if mode not in (b"linear", b"bilinear") or attributes.get("padding_mode", b"zeros") != b"zeros" or x.ndim != 4:
        raise NotHandled
    n, _, *size = x.shape
    places = []
    for axis, extent in ((1, size[0]), (0, size[1])):
        at = grid[..., axis]
        places.append((at + 1) / 2 * (extent - 1) if attributes.get("align_corners", 0) else ((at + 1) * extent - 1) / 2)
    lows = [np.floor(place) for place in places]
    batch = np.arange(n).reshape(-1, 1, 1)
    y = np.zeros((n, *grid.shape[1:3], x.shape[1]))
    for step in itertools.product((0, 1), repeat=2):
        index = [low + s for low, s in zip(lows, step, strict=True)]
        inside = np.logical_and.reduce([(i >= 0) & (i <= extent - 1) for i, extent in zip(index, size, strict=True)])
        weight = math.prod(1 - np.abs(place - i) for place, i in zip(places, index, strict=True)) * inside
        rows, columns = (np.clip(i, 0, extent - 1).astype(np.int64) for i, extent in zip(index, size, strict=True))
        y += weight[..., None] * x[batch, :, rows, columns]
    return y.transpose(0, 3, 1, 2)


# --- Other operators that onnx.reference computes in Python loops ---


def erf(_: dict, x: Array) -> Array:
    return np.frompyfunc(math.erf, 1, 1)(x).astype(np.float64)


def gather_nd(attributes: dict, x: Array, indices: Array) -> Array:
    if attributes.get("batch_dims", 0):
        raise NotHandled
    return x[tuple(np.moveaxis(indices, -1, 0))]


def scatter_nd(attributes: dict, x: Array, indices: Array, updates: Array) -> Array:
    if attributes.get("reduction", b"none") != b"none":
        raise NotHandled
    y = x.copy()
    y[tuple(np.moveaxis(indices, -1, 0))] = updates
    return y


def places_along(axis: int, x: Array, indices: Array) -> tuple[Array, ...]:
    """The full index of each element of `indices`, which holds the position along one axis."""
    places = list(np.indices(indices.shape))
    places[axis] = np.where(indices < 0, indices + x.shape[axis], indices)
    return tuple(places)


def gather_elements(attributes: dict, x: Array, indices: Array) -> Array:
    return x[places_along(attributes.get("axis", 0), x, indices)]


def scatter_elements(attributes: dict, x: Array, indices: Array, updates: Array) -> Array:
    if attributes.get("reduction", b"none") != b"none":
        raise NotHandled
    y = x.copy()
    y[places_along(attributes.get("axis", 0), x, indices)] = updates
    return y


FUNCTIONS = {
    "AveragePool": average_pool,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Erf": erf,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "GridSample": grid_sample,
    "MaxPool": max_pool,
    "NonMaxSuppression": non_max_suppression,
    "Resize": resize,
    "RoiAlign": roi_align,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
}

LIBRARY = Library(constant, FUNCTIONS, by_reference, np.stack)


def run(model: onnx.ModelProto, feed: dict[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """Values of the model in float64, by name."""
    wide = {name: widened(array) for name, array in feed.items()}
    return dict(zip(names, Executor(model, LIBRARY).run(wide, names), strict=True))
