"""A case is a model, the inputs of its successive runs, and its build options."""

import json
import random
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy
import onnx
from onnx import helper

import random_graphs.families  # noqa: F401, fills the table
from random_graphs import values
from random_graphs.builder import GraphBuilder
from random_graphs.registry import FAMILIES, named
from random_graphs.values import BF16, NUMPY

OPSETS = ([7, 8, 9, 10, 11, 12], [13, 13, 14, 15, 16, 17, 18, 19, 20, 21, 21, 22, 23, 24, 25, 26])
NODES = (1, 2, 3, 4, 5, 6, 8, 10, 14)
LARGEST_FEED = 300000

Feed = dict[str, numpy.ndarray]


@dataclass(frozen=True)
class Options:
    threads: int = 1
    budget: float = 0
    plan: bool = False
    precision: str = "fp32"
    deterministic: bool = False
    device: str = "cpu"


@dataclass
class Case:
    model: onnx.ModelProto
    feeds: list[Feed]
    options: Options

    def with_options(self, **changes) -> "Case":
        return replace(self, options=replace(self.options, **changes))

    @property
    def symbols(self) -> set[str]:
        return {dim for dims in dims_of(self.model).values() for dim in dims if isinstance(dim, str)}

    def fixed(self) -> "Case":
        """Without symbols, on the first inputs only."""
        model = onnx.ModelProto.FromString(self.model.SerializeToString())
        for info in model.graph.input:
            if info.name in self.feeds[0]:
                for dim, size in zip(info.type.tensor_type.shape.dim, self.feeds[0][info.name].shape, strict=True):
                    dim.dim_value = size
        return Case(model, self.feeds[:1], self.options)

    def save(self, prefix: Path, story: str) -> None:
        """prefix.onnx, .npz and .txt, whose first line holds the options."""
        onnx.save(self.model, f"{prefix}.onnx")
        arrays = {f"{i}|{name}": stored(array) for i, feed in enumerate(self.feeds) for name, array in feed.items()}
        numpy.savez(f"{prefix}.npz", **arrays)
        text = f"{json.dumps(asdict(self.options))}\n{story}\n{onnx.printer.to_text(self.model)}\n"
        Path(f"{prefix}.txt").write_text(text, encoding="utf-8")

    @staticmethod
    def load(prefix: Path) -> "Case":
        model = onnx.load(f"{prefix}.onnx")
        types = {info.name: info.type.tensor_type.elem_type for info in model.graph.input}
        feeds: dict[int, Feed] = defaultdict(dict)
        with numpy.load(f"{prefix}.npz") as arrays:
            for key in arrays.files:
                number, name = key.split("|", 1)
                feeds[int(number)][name] = arrays[key].view(NUMPY[BF16]) if types[name] == BF16 else arrays[key]
        with open(f"{prefix}.txt", encoding="utf-8") as file:
            options = Options(**json.loads(file.readline()))
        return Case(model, [feeds[number] for number in sorted(feeds)] or [{}], options)


def stored(array: numpy.ndarray) -> numpy.ndarray:
    """NumPy's files do not support bfloat16."""
    return array.view(numpy.uint16) if array.dtype == NUMPY[BF16] else array


def dims_of(model: onnx.ModelProto) -> dict[str, list[int | str]]:
    return {
        info.name: [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim] for info in model.graph.input
    }


def generate(seed: int, family: str = "", special: bool = False, device: str = "cpu") -> Case | None:
    """The same seed gives the same case. None where none could be generated. `special`: NaN, infinities and similar among the inputs."""
    draw = random.Random(seed)
    opset = draw.choice(OPSETS[draw.random() >= 0.15])
    symbols = draw.sample(values.SYMBOL_SIZES, draw.randint(1, 2)) if draw.random() < 0.35 else []
    builder = GraphBuilder(draw, opset, {size: f"N{size}" for size in symbols}, large=draw.random() < 0.03)
    wanted = named(family) if family else list(FAMILIES.values())
    families = wanted + ([entry for entry in FAMILIES.values() if draw.random() < 0.1] if family else [])
    count = draw.choice(NODES)
    for _ in range(60):
        if len(builder.nodes) >= count:
            break
        builder.attempt(draw.choices(families, [entry.weight for entry in families])[0].add)
    if not builder.inputs or all(node.op_type == "Constant" for node in builder.nodes):
        return None
    model = finish(builder)
    return Case(model, draw_feeds(draw, model, builder, special), draw_options(draw, device))


def draw_options(draw: random.Random, device: str) -> Options:
    return Options(
        threads=draw.choice([1, 1, 2, 3]),
        budget=draw.choice([0, 0, 0.02, 0.05]),
        plan=draw.random() < 0.2,
        precision=draw.choice(["fp32"] * 12 + ["fp16", "bf16"]),
        deterministic=draw.random() < 0.05,
        device=device,
    )


def names_read(nodes) -> set[str]:
    """From these nodes and the graphs nested in them."""
    found = set()
    for node in nodes:
        found.update(node.input)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found |= names_read(attribute.g.node) | {info.name for info in attribute.g.output}
    return found


def choose_outputs(builder: GraphBuilder, read: set[str]) -> list[str]:
    """All unused values, some of the rest, and sometimes an input or a constant itself."""
    draw = builder.draw
    made = [name for node in builder.nodes if node.op_type != "Constant" for name in node.output if name]
    outputs = [name for name in made if name not in read or draw.random() < 0.12]
    if draw.random() < 0.04:
        outputs.append(builder.inputs[0])
    if draw.random() < 0.04 and builder.initializers:
        outputs.append(builder.initializers[0].name)
    draw.shuffle(outputs)
    return outputs


def finish(builder: GraphBuilder) -> onnx.ModelProto:
    draw, symbols = builder.draw, builder.symbols
    read = names_read(builder.nodes)
    outputs = choose_outputs(builder, read)

    def info(name: str, dims):
        return helper.make_tensor_value_info(name, builder.dtype(name), dims)

    def symbolic(shape: list[int]) -> list[int | str]:
        # The number of channels of an image stays: weights depend on it.
        return [dim if i == 1 and len(shape) > 2 else symbols.get(dim, dim) for i, dim in enumerate(shape)]

    inputs = [info(name, symbolic(builder.shape(name))) for name in builder.inputs if name in read or name in outputs]
    if draw.random() < 0.05 and builder.initializers:  # a default that may be overridden
        tensor = draw.choice(builder.initializers)
        inputs.append(info(tensor.name, list(tensor.dims)))
    results = [info(name, None if symbols else builder.values[name].shape) for name in outputs]
    graph = helper.make_graph(builder.nodes, "random", inputs, results, builder.initializers)
    version = 8 if builder.opset < 19 else 10 if builder.opset < 24 else 11
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", builder.opset)], ir_version=version)


def draw_feeds(draw: random.Random, model: onnx.ModelProto, builder: GraphBuilder, special: bool) -> list[Feed]:
    """The typical sizes first; then others where there are symbols, else the same sizes again."""
    dims = {name: shape for name, shape in dims_of(model).items() if name in builder.inputs}
    typical = {symbol: size for size, symbol in builder.symbols.items()}
    used = sorted({dim for shape in dims.values() for dim in shape if isinstance(dim, str)})
    sizes = [typical]
    for _ in range(3 if used else 1):
        other = {symbol: max(1, typical[symbol] + draw.choice([-3, -2, -1, 1, 2, 3, 5, typical[symbol]])) for symbol in used}
        sizes.append(typical | other)
    feeds = []
    for size in sizes:
        shapes = {name: [size.get(dim, dim) for dim in shape] for name, shape in dims.items()}
        feeds.append({name: values.numbers(draw, builder.dtype(name), shape, special) for name, shape in shapes.items()})
    return feeds[:1] + [feed for feed in feeds[1:] if sum(array.size for array in feed.values()) <= LARGEST_FEED]
