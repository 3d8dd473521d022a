"""Builds a graph node by node, and infers the type of each result by ONNX's own inference."""

import random
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_graphs import values
from random_graphs.registry import Unsuitable
from random_graphs.values import BOOL, F32, FLOATS, I4, NUMPY, U4

# Element limits of an input and of any other value: of small graphs, and of the few large ones.
LARGEST = {False: (2000, 6000), True: (60000, 200000)}


@dataclass
class Value:
    dtype: int
    shape: list[int] | None
    """None where the shape depends on data; nothing is built on such a value."""


class GraphBuilder:
    """Values have concrete sizes. A size in `symbols` stands for that symbol wherever an input has it; constants of that size are then avoided."""

    def __init__(self, draw: random.Random, opset: int, symbols: dict[int, str], large: bool = False, prefix: str = ""):
        self.draw, self.opset, self.symbols, self.large, self.prefix = draw, opset, symbols, large, prefix
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.inputs: list[str] = []
        self.values: dict[str, Value] = {}
        self.constants: dict[str, TensorProto] = {}
        self.used: set[str] = set()
        self.counter = 0

    # Known facts of values.

    def shape(self, name: str) -> list[int]:
        shape = self.values[name].shape
        self.require(shape is not None)
        return shape

    def dtype(self, name: str) -> int:
        return self.values[name].dtype

    def rank(self, name: str) -> int:
        return len(self.shape(name))

    @property
    def nested(self) -> bool:
        """The body of a loop, a scan or a branch: it has no inputs to feed."""
        return bool(self.prefix)

    # Random choices.

    def chance(self, probability: float) -> bool:
        return self.draw.random() < probability

    def choose(self, options):
        return self.draw.choice(options)

    def rng(self) -> numpy.random.Generator:
        return values.generator(self.draw)

    def size(self) -> int:
        if self.symbols and self.chance(0.25):
            return self.choose(sorted(self.symbols))
        return self.choose(values.LARGE_SIZES) if self.large else values.size(self.draw)

    def require(self, condition: bool) -> None:
        if not condition:
            raise Unsuitable

    def axis(self, rank: int, since_negative: int = 0) -> int:
        """Any axis; negative ones from the operator set on that allows them."""
        return self.draw.randint(-rank if self.opset >= since_negative else 0, rank - 1)

    # New values.

    def name(self, kind: str = "v") -> str:
        self.counter += 1
        return f"{self.prefix}{kind}{self.counter}"

    def input(self, dtype: int, shape) -> str:
        self.require(not self.nested)
        name = self.name("x")
        self.inputs.append(name)
        self.values[name] = Value(dtype, list(shape))
        return name

    def constant(self, array, dtype: int | None = None) -> str:
        """As an initializer or as a node."""
        array, name = numpy.asarray(array), self.name("c")
        if dtype in (I4, U4):
            tensor = helper.make_tensor(name, dtype, array.shape, array.ravel().tolist())
        else:
            tensor = numpy_helper.from_array(array if dtype is None else array.astype(NUMPY[dtype]), name)
        if self.opset >= 9 and self.chance(0.3):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        self.values[name] = Value(tensor.data_type, list(array.shape))
        self.constants[name] = tensor
        return name

    def ints(self, numbers) -> str:
        return self.constant(numpy.array(numbers, numpy.int64))

    def random_constant(self, dtype: int, shape) -> str:
        return self.constant(values.numbers(self.draw, dtype, shape))

    def parameter(self, dtype: int, shape, constant: float = 0.85) -> str:
        """Weights and similar: mostly constants, sometimes inputs, and rarely constants where a dim is a symbol."""
        if any(dim in self.symbols for dim in shape):
            constant = min(constant, 0.2)
        return self.random_constant(dtype, shape) if self.nested or self.chance(constant) else self.input(dtype, shape)

    def candidates(self, accepts: Callable[[Value], bool]) -> list[str]:
        """Computed values and inputs that can be built on."""
        return [n for n, v in self.values.items() if n not in self.constants and v.shape is not None and accepts(v)]

    def pick(self, dtypes=(), ranks=(), shape=None, fits: Callable[[list[int]], bool] | None = None, fresh: float = 0.1) -> str:
        """An existing value, preferably late and unused, or a new input."""

        def accepts(value: Value) -> bool:
            return (
                (not dtypes or value.dtype in dtypes)
                and (not ranks or len(value.shape) in ranks)
                and (shape is None or value.shape == list(shape))
                and (fits is None or fits(value.shape))
            )

        found = self.candidates(accepts)
        if found and not self.chance(fresh):
            unused = [name for name in found if name not in self.used]
            preferred = unused if unused and self.chance(0.6) else found
            return preferred[-1] if self.chance(0.4) else self.choose(preferred)
        return self.input(self.choose(dtypes or (F32,)), self.new_shape(ranks, fits) if shape is None else shape)

    def new_shape(self, ranks, fits) -> list[int]:
        rank = self.choose(ranks or ((0, 1, 2, 3, 4, 4, 5) if self.chance(0.95) else (6,)))
        for _ in range(50):
            shape = [self.size() for _ in range(rank)]
            if numpy.prod(shape) <= LARGEST[self.large][0] and (fits is None or fits(shape)):
                return shape
        raise Unsuitable

    def float_type(self) -> tuple[int, ...]:
        return (F32,) if self.chance(0.9) else (self.choose(FLOATS),)

    def broadcastable(self, shape) -> list[int]:
        """A shape that broadcasts with another one, mostly to it."""
        shape, chance = list(shape), self.draw.random()
        if chance < 0.3:
            return shape
        if chance < 0.4:
            return []
        result = [1 if self.chance(0.4) else dim for dim in shape[self.draw.randint(0, len(shape)) :]]
        if self.chance(0.08):
            result = [self.choose((1, 1, 2))] * max(0, len(shape) - len(result)) + result
        return [1, *result] if self.chance(0.05) else result

    def channels(self, name: str) -> list[int]:
        """The shape of one number per channel."""
        shape = self.shape(name)
        return [shape[1]] + [1] * (len(shape) - 2)

    def other(self, name: str) -> str:
        """A second operand: the value itself, another one, a constant or an input that broadcasts."""
        dtype, shape = self.dtype(name), self.shape(name)
        if self.chance(0.12):
            return name
        if self.chance(0.35):
            found = self.candidates(lambda v: v.dtype == dtype and values.broadcasts(v.shape, shape))
            if found:
                return self.choose(found)
        wanted = self.channels(name) if len(shape) > 2 and self.chance(0.4) else self.broadcastable(shape)
        return self.parameter(dtype, wanted, 0.5)

    # Nodes.

    def node(self, operator: str, inputs: list[str], outputs=1, **attributes):
        """Appends a node: returns its output, or all where there are several. `outputs` may be a list with 0 for outputs left out."""
        names = [self.name() for _ in range(outputs)] if isinstance(outputs, int) else [self.name() if o else "" for o in outputs]
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        node = helper.make_node(operator, inputs, names, **{k: v for k, v in attributes.items() if v is not None})
        for name, value in zip([n for n in names if n], self.infer(node), strict=True):
            self.values[name] = value
        self.nodes.append(node)
        self.used.update(name for name in inputs if name)
        return names[0] if outputs == 1 else names

    def infer(self, node: onnx.NodeProto) -> list[Value]:
        used = list(dict.fromkeys(name for name in node.input if name))
        graph = helper.make_graph(
            [node],
            "one",
            [helper.make_tensor_value_info(name, self.dtype(name), self.shape(name)) for name in used],
            [helper.make_empty_tensor_value_info(name) for name in node.output if name],
            [self.constants[name] for name in used if name in self.constants],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        try:
            model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        except Exception as error:  # the exception type depends on the error
            raise Unsuitable(str(error)) from error
        return [self.value_of(info.type.tensor_type) for info in model.graph.output]

    def value_of(self, tensor: onnx.TypeProto.Tensor) -> Value:
        if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            return Value(tensor.elem_type, None)
        shape = [dim.dim_value for dim in tensor.shape.dim]
        self.require(all(dim >= 0 for dim in shape) and numpy.prod(shape, dtype=float) <= LARGEST[self.large][1])
        return Value(tensor.elem_type, shape)

    def declare(self, node: onnx.NodeProto, *results: Value) -> list[str]:
        """Appends a node whose result types inference does not find."""
        for name, value in zip(node.output, results, strict=True):
            self.value_of(helper.make_tensor_type_proto(value.dtype, value.shape).tensor_type)
            self.values[name] = value
        self.nodes.append(node)
        self.used.update(node.input)
        return list(node.output)

    # Families.

    def attempt(self, add: Callable[["GraphBuilder"], object]) -> bool:
        """Lets a family add nodes; undoes them where the graph is then invalid."""
        before = {key: copy(value) for key, value in vars(self).items() if isinstance(value, (list, dict, set))}
        try:
            add(self)
        except Unsuitable:
            vars(self).update(before)
            return False
        return True

    def body(self, parameters: dict[str, Value], count: int, families) -> "GraphBuilder":
        """A nested graph of some nodes over its parameters and captures of this graph."""
        inner = GraphBuilder(self.draw, self.opset, {}, self.large, self.name("b") + "_")
        inner.values.update(parameters)
        for name, value in self.values.items():
            if value.shape is not None and self.chance(0.4):
                inner.values[name] = value
                if name in self.constants:
                    inner.constants[name] = self.constants[name]
        for _ in range(count * 4):
            if len(inner.nodes) >= count:
                break
            inner.attempt(self.choose(families).add)
        return inner

    def boolean(self, shape) -> str:
        found = self.candidates(lambda v: v.dtype == BOOL and values.broadcasts(v.shape, shape))
        return self.choose(found) if found and self.chance(0.7) else self.parameter(BOOL, self.broadcastable(shape), 0.5)
