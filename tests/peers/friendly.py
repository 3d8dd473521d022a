"""Sizes and values that an unknown model is likely to accept, the likeliest first."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

# For images, sequences, pieces of speech, and the values with them: batches, states.
PICTURES = (224, 320, 640, 48, 32, 96, 112)
SEQUENCES = (64, 16, 128, 256, 512, 576, 1024, 1280, 32, 76, 8, 4, 2, 1, 100, 300, 480, 1536, 4096, 16000, 48000)
SPEECH = (576, 512, 1280, 1536, 16000)
PAIRED = (1, 2, 16, 64, 128, 224, 512, 16000)
SPEECH_INPUTS = re.compile(r"sr|rate|sample_rate|state|h|.*audio.*|.*wave.*")
# Names that converters write for unknown sizes: each is independent.
NO_NAME = re.compile(r"|\?|-1|None|unk(nown)?_?_?\d*")


@dataclass(frozen=True)
class Input:
    """`dims`: numbers, or names of open sizes. `kind`: NumPy's name of its type, `object` for text."""

    name: str
    kind: str
    dims: tuple[int | str, ...]

    @property
    def image(self) -> bool:
        """Four dims, one of which counts channels and two of which may be height and width."""
        if len(self.dims) != 4 or not self.kind.startswith(("float", "uint8")):
            return False
        return self.dims[1] in (1, 3, 4) or self.dims[3] in (1, 3, 4)


def inputs_of(model: Any) -> list[Input]:
    """Inputs of an onnx.ModelProto without a default value."""
    import onnx

    constants = {one.name for one in model.graph.initializer}
    found = []
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        dims = tuple(dim_of(dim, f"{value.name}/{axis}") for axis, dim in enumerate(tensor.shape.dim))
        kind = "object" if tensor.elem_type == onnx.TensorProto.STRING else np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
        found.append(Input(value.name, kind, dims))
    return found


def is_quantized(model: Any) -> bool:
    """Whether it quantises reals: an answer may be a quantisation step off."""
    kinds = ("DynamicQuantize", "QLinear", "QuantizeLinear", "ConvInteger", "MatMulInteger", "QAttention", "QGemm")
    return any(node.op_type.startswith(kinds) for node in model.graph.node)


def dim_of(dim: Any, own_name: str) -> int | str:
    if dim.HasField("dim_value") and dim.dim_value > 0:
        return int(dim.dim_value)
    return own_name if NO_NAME.fullmatch(dim.dim_param) else dim.dim_param


def shapes(inputs: list[Input]) -> Iterator[dict[str, tuple[int, ...]]]:
    """By input name; a batch of 1 for an open first dim with other open dims."""
    batches = {one.dims[0] for one in inputs if len(one.dims) > 1 and isinstance(one.dims[0], str)}
    opens = list(dict.fromkeys(dim for one in inputs for dim in one.dims if isinstance(dim, str) and dim not in batches))
    fixed = dict.fromkeys(batches, 1)
    first = PICTURES if any(one.image for one in inputs) else SPEECH if any(SPEECH_INPUTS.fullmatch(one.name) for one in inputs) else ()
    sizes = tuple(dict.fromkeys(first + SEQUENCES))
    seen = set()
    for chosen in assignments(opens, sizes):
        key = tuple(chosen.items())
        if key not in seen:
            seen.add(key)
            known = fixed | chosen
            yield {one.name: tuple(known[dim] if isinstance(dim, str) else dim for dim in one.dims) for one in inputs}


def assignments(opens: list[str], sizes: tuple[int, ...]) -> Iterator[dict[str, int]]:
    if not opens:
        yield {}
        return
    if len(opens) <= 2:  # height and width, or one length
        yield from (dict.fromkeys(opens, size) for size in sizes)
    for size in sizes:  # one is the length, the others count a batch
        for one in opens:
            yield dict.fromkeys(opens, 1) | {one: size}
    yield from (dict.fromkeys(opens, size) for size in sizes)
    for first, second in itertools.permutations(opens, 2):
        for a, b in itertools.product(PAIRED, PAIRED):
            yield dict.fromkeys(opens, 1) | {first: a, second: b}


def values(inputs: list[Input], sizes: dict[str, tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    """Integers may be indices with an unknown bound: further tries have smaller ones."""
    whole = any(one.kind.startswith(("int", "uint")) for one in inputs)
    longest = max((size for shape in sizes.values() for size in shape), default=1)
    for most in (9, 2, 1) if whole else (1,):
        rng = np.random.default_rng(0)
        yield {one.name: np.asarray(value_of(one, sizes[one.name], most, longest, rng), one.kind) for one in inputs}


def value_of(one: Input, shape: tuple[int, ...], most: int, longest: int, rng: np.random.Generator) -> Any:
    if one.kind == "object":
        return np.full(shape, "text", object)
    if one.kind == "bool":
        return np.ones(shape, bool)
    if one.kind.startswith(("int", "uint")):
        return whole_numbers(one, shape, most, longest, rng)
    return rng.random(shape) if one.image else 0.1 * rng.standard_normal(shape)


def whole_numbers(one: Input, shape: tuple[int, ...], most: int, longest: int, rng: np.random.Generator) -> Any:
    name = one.name.lower()
    if name in ("sr", "rate", "sample_rate"):
        return np.full(shape, 16000, one.kind)
    if "len" in name and len(shape) < 2:
        return np.full(shape, longest, one.kind)
    if "mask" in name:
        return np.ones(shape, one.kind)
    if one.image:
        return rng.integers(0, 255, shape)
    return rng.integers(0, most, shape)
