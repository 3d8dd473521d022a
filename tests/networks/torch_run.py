"""A network in PyTorch, operator by operator, as the rival on a GPU: in FP32 or FP16, timed as one CUDA graph.

Values that depend only on shapes are computed once in advance; networks with data-dependent sizes are not supported."""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: N812
from onnx import TensorProto

from networks import float64
from networks.catalogue import Feed
from networks.executor import Executor, Library, NotHandled, reads_of

Tensor = torch.Tensor
DTYPES = {"fp32": torch.float32, "fp16": torch.float16}


class Fixed:
    """A value that is the same in every run."""

    def __init__(self, array: np.ndarray, device: str, dtype: torch.dtype):
        self.array = array
        narrow = torch.from_numpy(np.array(array)).to(device)
        self.tensor = narrow.to(dtype) if array.dtype.kind == "f" else narrow

    def ints(self) -> list[int]:
        return [int(value) for value in self.array.reshape(-1)]


def t(value: Tensor | Fixed | None) -> Tensor | None:
    return value.tensor if isinstance(value, Fixed) else value


def on_tensors(function: Callable[..., Tensor]) -> Callable:
    return lambda attributes, *inputs: function(*map(t, inputs))


# --- Convolutions, pools, norms ---


def split_pads(attributes: dict, rank: int) -> tuple[list[int], list[int]]:
    """Symmetric pads, which PyTorch accepts, and the rest for F.pad (last dim first)."""
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise NotHandled("auto_pad")
    pads = attributes.get("pads", [0] * 2 * rank)
    before, after = pads[:rank], pads[rank:]
    if before == after:
        return list(before), []
    return [0] * rank, [pad for i in reversed(range(rank)) for pad in (before[i], after[i])]


def conv(attributes: dict, x, w, bias=None) -> Tensor:
    x, w = t(x), t(w)
    rank = w.dim() - 2
    pads, rest = split_pads(attributes, rank)
    function = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    strides, dilations = (attributes.get(name, [1] * rank) for name in ("strides", "dilations"))
    return function(F.pad(x, rest) if rest else x, w, t(bias), strides, pads, dilations, attributes.get("group", 1))


def max_pool(attributes: dict, x) -> Tensor:
    kernel = attributes["kernel_shape"]
    pads, rest = split_pads(attributes, len(kernel))
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(kernel) - 1]
    x = F.pad(t(x), rest, value=-torch.inf) if rest else t(x)
    strides, dilations = (attributes.get(name, [1] * len(kernel)) for name in ("strides", "dilations"))
    return function(x, kernel, strides, pads, dilations, bool(attributes.get("ceil_mode", 0)))


def average_pool(attributes: dict, x) -> Tensor:
    kernel = attributes["kernel_shape"]
    pads, rest = split_pads(attributes, len(kernel))
    function = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[len(kernel) - 1]
    if rest:
        raise NotHandled("pads of a mean that are not symmetric")
    strides = attributes.get("strides", [1] * len(kernel))
    return function(t(x), kernel, strides, pads, bool(attributes.get("ceil_mode", 0)), bool(attributes.get("count_include_pad", 0)))


def batch_norm(attributes: dict, x, scale, bias, mean, variance) -> Tensor:
    training = bool(attributes.get("training_mode", 0))
    return F.batch_norm(t(x), *(None if training else t(v) for v in (mean, variance)), t(scale), t(bias), training, 0.0, attributes.get("epsilon", 1e-5))


def layer_norm(attributes: dict, x, scale, bias=None) -> Tensor:
    x = t(x)
    return F.layer_norm(x, x.shape[attributes.get("axis", -1) % x.dim() :], t(scale), t(bias), attributes.get("epsilon", 1e-5))


def instance_norm(attributes: dict, x, scale, bias) -> Tensor:
    return F.instance_norm(t(x), weight=t(scale), bias=t(bias), eps=attributes.get("epsilon", 1e-5))


def gemm(attributes: dict, a, b, c=None) -> Tensor:
    a, b = (t(v).T if attributes.get(name, 0) else t(v) for name, v in (("transA", a), ("transB", b)))
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    return torch.addmm(t(c), a, b, beta=beta, alpha=alpha) if c is not None else a @ b * alpha


def lstm(attributes: dict, x, w, r, b=None, lengths=None, h=None, c=None, p=None) -> tuple[Tensor, ...]:
    """PyTorch orders gates i, f, g, o; ONNX i, o, f, c."""
    if lengths is not None or p is not None or attributes.get("direction") == b"reverse":
        raise NotHandled("this form of LSTM")
    size, directions = attributes["hidden_size"], t(w).shape[0]

    def reordered(weights: Tensor) -> Tensor:
        i, o, f, g = weights.split(size)
        return torch.cat([i, f, g, o])

    biases = t(b) if b is not None else t(w).new_zeros(directions, 8 * size)
    flat = [reordered(part) for d in range(directions) for part in (t(w)[d], t(r)[d], biases[d, : 4 * size], biases[d, 4 * size :])]
    zeros = t(x).new_zeros(directions, t(x).shape[1], size)
    states = tuple(zeros if state is None else t(state) for state in (h, c))
    y, h, c = torch.lstm(t(x), states, flat, True, 1, 0.0, False, directions == 2, False)
    return y.unflatten(2, (directions, size)).transpose(1, 2), h, c


# --- Shapes and places ---


def axes_of(attributes: dict, axes: Fixed | None) -> list[int]:
    return axes.ints() if axes is not None else list(attributes.get("axes", []))


def reduction(function: Callable[..., Tensor]) -> Callable:
    def run(attributes: dict, x, axes=None) -> Tensor:
        dims = axes_of(attributes, axes) or list(range(t(x).dim()))
        return function(t(x), dims, bool(attributes.get("keepdims", 1)))

    return run


def reshape(attributes: dict, x, shape) -> Tensor:
    x, kept = t(x), not attributes.get("allowzero", 0)
    return x.reshape([x.shape[i] if size == 0 and kept else size for i, size in enumerate(shape.ints())])


def slice_(attributes: dict, x, starts, ends, axes=None, steps=None) -> Tensor:
    x = t(x)
    dims = axes.ints() if axes is not None else range(len(starts.ints()))
    strides = steps.ints() if steps is not None else [1] * len(starts.ints())
    for start, end, dim, step in zip(starts.ints(), ends.ints(), dims, strides, strict=True):
        places = range(x.shape[dim])[slice(start, end if end >= -x.shape[dim] or step > 0 else None, step)]
        if step > 0:
            x = x[(slice(None),) * (dim % x.dim()) + (slice(places.start, places.stop, step),)]
        else:
            x = x.flip(dim)[(slice(None),) * (dim % x.dim()) + (slice(x.shape[dim] - 1 - places.start, x.shape[dim] - 1 - places.stop, -step),)]
    return x


def split(attributes: dict, x, sizes=None) -> tuple[Tensor, ...]:
    x, axis = t(x), attributes.get("axis", 0)
    if sizes is None:
        raise NotHandled("split without sizes")
    return x.split(sizes.ints(), axis)


def squeeze(attributes: dict, x, axes=None) -> Tensor:
    return t(x).squeeze(tuple(axes.ints())) if axes is not None else t(x).squeeze()


def unsqueeze(attributes: dict, x, axes) -> Tensor:
    x = t(x)
    rank = x.dim() + len(axes.ints())
    for axis in sorted(axis % rank for axis in axes.ints()):
        x = x.unsqueeze(axis)
    return x


def gather(attributes: dict, x, indices) -> Tensor:
    x, indices, axis = t(x), t(indices), attributes.get("axis", 0)
    axis %= x.dim()
    indices = torch.where(indices < 0, indices + x.shape[axis], indices)
    return x.index_select(axis, indices.reshape(-1)).reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


def pad(attributes: dict, x, pads, value=None, axes=None) -> Tensor:
    mode, x = attributes.get("mode", b"constant").decode(), t(x)
    if axes is not None:
        raise NotHandled("pads of some axes")
    rank, amounts = x.dim(), pads.ints()
    flat = [amount for i in reversed(range(rank)) for amount in (amounts[i], amounts[rank + i])]
    if mode == "constant":
        return F.pad(x, flat, value=float(value.array.reshape(-1)[0]) if value is not None and value.array.size else 0.0)
    return F.pad(x, flat[: 2 * (rank - 2)], mode={"edge": "replicate"}.get(mode, mode))


def resize(attributes: dict, x, roi=None, scales=None, sizes=None) -> Tensor:
    """Each axis by the matrix of the definition."""
    x = t(x)
    for axis in range(x.dim()):
        size = x.shape[axis]
        result = sizes.ints()[axis] if sizes is not None and sizes.array.size else int(np.floor(size * scales.array[axis]))
        if result == size:
            continue
        scale = result / size if sizes is not None and sizes.array.size else float(scales.array[axis])
        matrix = CACHE.kept((size, result, scale, str(attributes)), x, lambda: float64.resize_matrix(attributes, size, result, scale))  # noqa: B023
        x = torch.tensordot(matrix, x, dims=([1], [axis])).movedim(0, axis)
    return x


def cast(attributes: dict, x) -> Tensor:
    x, to = t(x), attributes["to"]
    if to in (TensorProto.FLOAT, TensorProto.FLOAT16):
        return x.to(CACHE.dtype)
    return x.to({TensorProto.INT64: torch.int64, TensorProto.INT32: torch.int32, TensorProto.BOOL: torch.bool}[to])


def clip(attributes: dict, x, low=None, high=None) -> Tensor:
    return t(x).clamp(*(None if bound is None else float(bound.array.reshape(-1)[0]) for bound in (low, high)))


def grid_sample(attributes: dict, x, grid) -> Tensor:
    return F.grid_sample(t(x), t(grid), "bilinear", attributes.get("padding_mode", b"zeros").decode(), bool(attributes.get("align_corners", 0)))


def einsum(attributes: dict, *operands) -> Tensor:
    return torch.einsum(attributes["equation"].decode().replace(" ", ""), *map(t, operands))


def depth_to_space(attributes: dict, x) -> Tensor:
    if attributes.get("mode", b"DCR") == b"CRD":
        return F.pixel_shuffle(t(x), attributes["blocksize"])
    raise NotHandled("depth to space in this order")


FUNCTIONS = {
    "Abs": on_tensors(torch.abs),
    "Add": on_tensors(torch.add),
    "And": on_tensors(torch.logical_and),
    "ArgMax": lambda a, x: t(x).argmax(a.get("axis", 0), bool(a.get("keepdims", 1))),
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Cast": cast,
    "Ceil": on_tensors(torch.ceil),
    "Clip": clip,
    "Concat": lambda a, *x: torch.cat([t(one) for one in x], a["axis"]),
    "Conv": conv,
    "CumSum": lambda a, x, axis: t(x).cumsum(axis.ints()[0]),
    "DepthToSpace": depth_to_space,
    "Div": on_tensors(lambda a, b: a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")),
    "Einsum": einsum,
    "Equal": on_tensors(torch.eq),
    "Erf": on_tensors(torch.erf),
    "Exp": on_tensors(torch.exp),
    "Expand": lambda a, x, shape: t(x).expand(torch.broadcast_shapes(t(x).shape, tuple(shape.ints()))),
    "Flatten": lambda a, x: t(x).reshape(int(np.prod(t(x).shape[: a.get("axis", 1)])), -1),
    "Floor": on_tensors(torch.floor),
    "Gather": gather,
    "GatherElements": lambda a, x, i: t(x).gather(a.get("axis", 0), t(i)),
    "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: t(x).mean(tuple(range(2, t(x).dim())), True),
    "Greater": on_tensors(torch.gt),
    "GreaterOrEqual": on_tensors(torch.ge),
    "GridSample": grid_sample,
    "HardSigmoid": lambda a, x: (t(x) * a.get("alpha", 0.2) + a.get("beta", 0.5)).clamp(0, 1),
    "HardSwish": on_tensors(F.hardswish),
    "Identity": lambda a, x: t(x),
    "InstanceNormalization": instance_norm,
    "IsNaN": on_tensors(torch.isnan),
    "LSTM": lstm,
    "LayerNormalization": layer_norm,
    "LeakyRelu": lambda a, x: F.leaky_relu(t(x), a.get("alpha", 0.01)),
    "Less": on_tensors(torch.lt),
    "LessOrEqual": on_tensors(torch.le),
    "Log": on_tensors(torch.log),
    "MatMul": on_tensors(torch.matmul),
    "Max": lambda a, *x: functools.reduce(torch.maximum, map(t, x)),
    "MaxPool": max_pool,
    "Min": lambda a, *x: functools.reduce(torch.minimum, map(t, x)),
    "Mul": on_tensors(torch.mul),
    "Neg": on_tensors(torch.neg),
    "Not": on_tensors(torch.logical_not),
    "Or": on_tensors(torch.logical_or),
    "Pad": pad,
    "Pow": on_tensors(torch.pow),
    "ReduceL2": reduction(lambda x, dims, keep: torch.linalg.vector_norm(x, 2, dims, keep)),
    "ReduceMax": reduction(torch.amax),
    "ReduceMean": reduction(torch.mean),
    "ReduceSum": reduction(torch.sum),
    "Relu": on_tensors(F.relu),
    "Reshape": reshape,
    "Resize": resize,
    "Sigmoid": on_tensors(torch.sigmoid),
    "Slice": slice_,
    "Softmax": lambda a, x: F.softmax(t(x), a.get("axis", -1)),
    "Split": split,
    "Sqrt": on_tensors(torch.sqrt),
    "Squeeze": squeeze,
    "Sub": on_tensors(torch.sub),
    "Tanh": on_tensors(torch.tanh),
    "Tile": lambda a, x, repeats: t(x).repeat(repeats.ints()),
    "Transpose": lambda a, x: t(x).permute(a["perm"]),
    "Unsqueeze": unsqueeze,
    "Where": on_tensors(torch.where),
}


class Cache:
    """Matrices made at the first run, which a recorded graph must find at the same addresses."""

    def __init__(self):
        self.tensors, self.dtype = {}, torch.float32

    def kept(self, key: tuple, like: Tensor, make: Callable[[], np.ndarray]) -> Tensor:
        key = (*key, like.dtype)
        if key not in self.tensors:
            self.tensors[key] = torch.from_numpy(make()).to(like)
        return self.tensors[key]


CACHE = Cache()


def no_other(node: onnx.NodeProto, opset: int, inputs: Sequence) -> Sequence:
    raise NotHandled(f"no function for {node.op_type} in this form")


class TorchNetwork:
    """One network, whose model it may change, at the shapes of `feed`."""

    def __init__(self, model: onnx.ModelProto, feed: Feed, precision: str, device: str = "cuda"):
        self.device, CACHE.dtype = device, DTYPES[precision]
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.names = [value.name for value in model.graph.output]
        self.fixed = self.computed_ahead(model, feed)
        library = Library(lambda tensor: Fixed(np.empty(0), "cpu", torch.float32), FUNCTIONS, no_other, torch.stack)
        self.executor = Executor(model, library)
        self.inputs = self.placed(feed)

    def computed_ahead(self, model: onnx.ModelProto, feed: Feed) -> dict[str, Fixed]:
        """Leaves in `model` only the nodes that depend on the inputs' values, and returns the others' results."""
        from_data, kept = set(feed), []
        for node in model.graph.node:
            if node.op_type != "Shape" and reads_of(node) & from_data:
                from_data |= set(node.output)
                kept.append(node)
        wanted = sorted(set().union(*map(reads_of, kept)) - from_data)
        tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        made = [name for name in wanted if name not in tensors]
        arrays = {name: tensors[name] for name in wanted if name in tensors} | (float64.run(model, feed, made) if made else {})
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
        del model.graph.node[:], model.graph.initializer[:]
        model.graph.node.extend(nodes)
        return {name: self.fixed_of(array) for name, array in arrays.items()}

    def fixed_of(self, array: np.ndarray) -> Fixed:
        fixed = Fixed(array, self.device, CACHE.dtype)
        if array.ndim == 4 and array.dtype.kind == "f":
            fixed.tensor = fixed.tensor.contiguous(memory_format=torch.channels_last)
        return fixed

    def placed(self, feed: Feed) -> dict[str, Tensor]:
        return {name: self.fixed_of(array).tensor for name, array in feed.items()}

    def results(self) -> list[Tensor]:
        with torch.inference_mode():
            return self.executor.run(self.fixed | self.inputs, self.names)

    def run(self, feed: Feed) -> dict[str, np.ndarray]:
        self.inputs = self.placed(feed)
        found = ((name, result.float() if result.is_floating_point() else result) for name, result in zip(self.names, self.results(), strict=True))
        return {name: result.cpu().numpy() for name, result in found}

    def recorded(self) -> Callable[[], None]:
        """Runs the whole network as one CUDA graph and waits for it."""
        for _ in range(3):
            self.results()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.kept = self.results()

        def run() -> None:
            graph.replay()
            torch.cuda.synchronize()

        return run
