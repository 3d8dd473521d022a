"""The zoo's networks: their inputs, the shapes that they run at, and the numbers that they run on.

What an input gets, by its name and type; every sample has a seed of its own (network, number of the sample):

| input | gets |
|---|---|
| `ids`, `input_ids`, `src` | whole numbers below the number of rows of the table that they index |
| `token_type_ids` | zeros, then ones from the middle on |
| `attention_mask` | ones; zeros over up to a quarter: at the end, before a past at the start |
| `past_k0`, `past_v0`, ... | normal, deviation 0.1 |
| `image` of a detector, which normalises itself | uniform from 0 to 1 |
| `b`, the second picture of a pair | the first one, moved by two pixels |
| other floats: images, clips, encoders' states | normal |
"""

import gzip
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

ROOT = Path(__file__).resolve().parents[2]
SHARED = next((folder for folder in (ROOT.parent / "shared", ROOT / "shared") if (folder / "data" / "zoo").is_dir()), ROOT.parent / "shared")
ZOO = SHARED / "data" / "zoo"
DETECTORS = {"tv_fasterrcnn_mobilenet_320", "tv_fcos_resnet50", "tv_keypointrcnn_resnet50", "tv_retinanet_resnet50", "tv_ssd300_vgg16", "tv_ssdlite320"}

BATCH = ("batch", "s62")
# Open sizes other than the batch: as exported, and for the second shape.
SIZES = {
    "seq": (32, 20),
    "dseq": (8, 5),
    "eseq": (12, 20),
    "past": (12, 20),
    "h": (224, 160),
    "w": (224, 288),
    "height": (224, 160),
    "width": (224, 288),
}
# A decoder with a past takes few new tokens.
SIZES_WITH_PAST = {**SIZES, "seq": (4, 1)}
OTHER_BATCH, FURTHER = 3, 3

Sizes = Mapping[str, int]
Feed = dict[str, np.ndarray]


@dataclass(frozen=True)
class Input:
    name: str
    dtype: np.dtype
    dims: tuple[int | str, ...]

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims)


@dataclass(frozen=True)
class Case:
    """One shape of a network: `batch` samples, each of these open sizes."""

    label: str
    batch: int
    sizes: tuple[tuple[str, int], ...]
    further: int = 0
    """The number of runs on other samples, as one sample's error may be luck."""

    @property
    def key(self) -> str:
        """Sizes of one sample."""
        return ",".join(f"{name}={size}" for name, size in self.sizes) or "fixed"


@dataclass(frozen=True)
class Network:
    name: str

    @cached_property
    def header(self) -> onnx.ModelProto:
        """The graph without its large weights."""
        with gzip.open(ZOO / f"{self.name}.onnx.gz") as file:
            return onnx.load(file)

    @cached_property
    def inputs(self) -> list[Input]:
        constants = {tensor.name for tensor in self.header.graph.initializer}
        return [input_of(value) for value in self.header.graph.input if value.name not in constants]

    @property
    def is_detector(self) -> bool:
        return self.name in DETECTORS

    @cached_property
    def has_past(self) -> bool:
        return any("past" in value.dims for value in self.inputs)

    @cached_property
    def batch_dim(self) -> str:
        """Name of every input's open first dim; empty where the batch is fixed."""
        firsts = {value.dims[0] for value in self.inputs}
        return next((name for name in BATCH if firsts == {name}), "")

    def sizes(self, which: int) -> tuple[tuple[str, int], ...]:
        """Sizes of open dims other than the batch: 0 as exported, 1 the second shape."""
        table = SIZES_WITH_PAST if self.has_past else SIZES
        names = sorted({dim for value in self.inputs for dim in value.dims if isinstance(dim, str)} - {self.batch_dim, "total"})
        unknown = [name for name in names if name not in table]
        if unknown:
            raise ValueError(f"{self.name}: no sizes are known for the open dims {', '.join(unknown)}; add them to SIZES")
        return tuple((name, table[name][which]) for name in names)

    def cases(self, batches: tuple[int, ...] = ()) -> list[Case]:
        """The exported shape, a second one where any size is open, and further batches at the exported sizes."""
        cases = [Case("exported", 1, self.sizes(0), FURTHER)]
        if self.batch_dim or self.sizes(0):
            cases.append(Case("other", OTHER_BATCH if self.batch_dim else 1, self.sizes(1)))
        return cases + [Case(f"batch {batch}", batch, self.sizes(0)) for batch in batches if self.batch_dim]

    def shapes(self, case: Case) -> dict[str, tuple[int, ...]]:
        sizes = dict(case.sizes)
        sizes["total"] = sizes.get("past", 0) + sizes.get("seq", 0)
        sizes[self.batch_dim] = case.batch
        return {value.name: value.shape(sizes) for value in self.inputs}

    def sample(self, case: Case, number: int) -> Feed:
        """Inputs of one sample, the same in any batch."""
        shapes = self.shapes(Case(case.label, 1, case.sizes))
        random = np.random.default_rng([zlib.crc32(self.name.encode()), number])
        feed: Feed = {}
        for value in self.inputs:
            feed[value.name] = numbers(self, value, shapes[value.name], number, random, feed)
        return feed

    def rows_of_table(self, name: str) -> int:
        """Rows of the constant that this input indexes."""
        dims = {tensor.name: tensor.dims for tensor in self.header.graph.initializer}
        same = {name}
        for node in self.header.graph.node:
            if node.op_type in ("Cast", "Identity", "Reshape") and node.input[0] in same:
                same |= set(node.output)
            if node.op_type == "Gather" and node.input[1] in same and node.input[0] in dims:
                return dims[node.input[0]][0]
        raise ValueError(f"{self.name}: input {name} indexes no table that is known")


def input_of(value: onnx.ValueInfoProto) -> Input:
    tensor = value.type.tensor_type
    return Input(value.name, helper.tensor_dtype_to_np_dtype(tensor.elem_type), tuple(dim.dim_param or dim.dim_value for dim in tensor.shape.dim))


def numbers(network: Network, value: Input, shape: tuple[int, ...], sample: int, random: np.random.Generator, before: Feed) -> np.ndarray:
    """Values by the table above; `before` has the preceding inputs."""
    if value.name in ("ids", "input_ids", "src"):
        return random.integers(0, network.rows_of_table(value.name), shape, value.dtype)
    if value.name == "token_type_ids":
        return np.broadcast_to(np.arange(shape[-1]) >= shape[-1] // 2, shape).astype(value.dtype)
    if value.name == "attention_mask":
        hidden = shape[-1] // (4 + 4 * (sample % 3))
        kept = np.arange(shape[-1]) >= hidden if network.has_past else np.arange(shape[-1]) < shape[-1] - hidden
        return np.broadcast_to(kept, shape).astype(value.dtype)
    if value.dtype != np.float32:
        raise ValueError(f"{network.name}: nothing is known of input {value.name} of type {value.dtype}")
    if network.is_detector:
        return random.random(shape, np.float32)
    if value.name == "b" and "a" in before:
        return np.roll(before["a"], 2, axis=-1)
    noise = random.standard_normal(shape, np.float32)
    return noise * np.float32(0.1) if value.name.startswith("past_") else noise


def names() -> list[str]:
    return sorted(path.name.removesuffix(".onnx.gz") for path in ZOO.glob("*.onnx.gz"))


def write_model(name: str, path: Path) -> None:
    """The whole network with weights drawn from statistics, written next to `path` first."""
    sys.path.insert(0, str(SHARED / "tools"))
    import zoo

    with gzip.open(ZOO / f"{name}.onnx.gz") as file:
        model = zoo.fill(onnx.load(file))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    onnx.save(model, partial)
    partial.rename(path)
