"""Intermediate values of a model, and how far rounding them moves the results."""

from dataclasses import dataclass

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_graphs import values
from random_graphs.cases import Feed
from random_graphs.deviations import REFERENCE, RUNTIME
from random_graphs.oracle import NoOracle, Oracle
from random_graphs.values import DTYPE, is_float

ROUNDS = 10
# Allowed error of one step, by its compute type: two units in the last place.
EPSILON = {TensorProto.FLOAT: 2.4e-7, TensorProto.DOUBLE: 4.4e-16, TensorProto.FLOAT16: 1e-3, TensorProto.BFLOAT16: 8e-3}
SMALLEST = {"fp32": 1.2e-38, "fp16": 6.2e-5, "bf16": 1.2e-38}
PRECISION = {"fp32": 0.0, "fp16": 1e-3, "bf16": 8e-3}
# Absolute error of some steps, relative to the largest number where that is above one: functions near zero
# (docs/design.md, Rules), 1 + erf(x) for negative x, saturating states, interpolated positions.
ABSOLUTE = {
    "LogSoftmax": 2e-6,
    "Sigmoid": 5e-8,
    "Gelu": 1e-7,
    "LSTM": 1e-7,
    "GRU": 1e-7,
    "RNN": 1e-7,
    "Loop": 1e-7,
    "Scan": 1e-7,
    "Resize": 2e-6,
    "GridSample": 2e-6,
}
# Positions have the rounding error of numbers as large as the axis is long.
PLACES, LENGTH = ("Resize", "GridSample"), 16
SHOWN = {
    RUNTIME: {dtype for dtype in DTYPE.values() if dtype not in (TensorProto.BFLOAT16, TensorProto.INT4, TensorProto.UINT4)},
    REFERENCE: set(DTYPE.values()),
}
# Sums of so many terms that their errors exceed the effect of noise on each term.
SUMS = ("Softmax", "LogSoftmax", "GlobalAveragePool")
SELECTING = ("NonZero", "Unique", "Compress")
ROUNDING = ("QuantizeLinear", "DynamicQuantizeLinear", "Cast", "QLinearConv", "QLinearMatMul")


@dataclass
class Inner:
    """Every value of one run, by name."""

    arrays: dict[str, numpy.ndarray]

    @staticmethod
    def of(oracle: Oracle, feed: Feed) -> "Inner":
        """Values that NumPy cannot represent are left out; only the inputs where the oracle does not show more."""
        model = onnx.shape_inference.infer_shapes(oracle.model)
        present = {info.name for info in model.graph.output}
        types = {info.name: info.type.tensor_type.elem_type for info in model.graph.value_info}
        names = [name for node in model.graph.node for name in node.output if name not in present and types.get(name) in SHOWN[oracle.name]]
        model.graph.output.extend(helper.make_tensor_value_info(name, types[name], None) for name in names)
        try:
            results = oracle.run(feed, model)
        except NoOracle:
            return Inner(dict(feed))
        return Inner(dict(zip([info.name for info in model.graph.output], results, strict=True)) | feed)

    def undefined(self, model: onnx.ModelProto, precision: str) -> str:
        """Why tactics may differ here: docs/design.md promises agreement on finite numbers only."""
        largest = 6e4 if precision == "fp16" else numpy.finfo(numpy.float64).max
        for name, array in self.arrays.items():
            if is_float(array) and not (numpy.abs(array.astype(numpy.float64)) <= largest).all():
                return f"{name} holds NaN, or more than its type does"
            if is_float(array) and ((array != 0) & (numpy.abs(array) < SMALLEST[precision])).any():
                return f"{name} holds less than the normal numbers"
        for node in model.graph.node:
            if node.op_type == "Cast" and self.overflows(node):
                return f"{node.output[0]} is cast from more than its type holds"
        return ""

    def overflows(self, node: onnx.NodeProto) -> bool:
        source, result = self.arrays.get(node.input[0]), self.arrays.get(node.output[0])
        if source is None or result is None or not is_float(source) or result.dtype.kind not in "iu":
            return False
        limits = numpy.iinfo(result.dtype)
        numbers = numpy.trunc(source.astype(numpy.float64))
        return bool(((numbers < limits.min) | (numbers > limits.max)).any())


class Noise:
    """Random steps up or down, or their opposites: with both, every number is moved up once."""

    def __init__(self, seed: int, opposite: bool, precision: str):
        self.rng, self.opposite, self.precision = numpy.random.default_rng(seed), opposite, precision

    def steps(self, shape) -> numpy.ndarray:
        return numpy.asarray(self.rng.choice([-1.0, 1.0], shape) * self.rng.uniform(0.5, 1.0, shape) * (-1 if self.opposite else 1))

    def factors(self, array: numpy.ndarray, precision: str = "", terms: int = 1) -> numpy.ndarray:
        """Close to one; farther away for sums of many terms."""
        epsilon = max(EPSILON[DTYPE[array.dtype]], PRECISION[precision or self.precision])
        return 1 + epsilon * max(1.0, terms**0.5 / 8) * self.steps(array.shape)

    def applied(self, array: numpy.ndarray, precision: str = "") -> numpy.ndarray:
        return numpy.asarray(array.astype(numpy.float64) * self.factors(array, precision), array.dtype)


def noisy_feed(noise: Noise, feed: Feed) -> Feed:
    return {name: noise.applied(array) if is_float(array) else array for name, array in feed.items()}


def behind_values(model: onnx.ModelProto) -> set[str]:
    """Results of operators with data-dependent shapes, and all values computed from them."""
    names: set[str] = set()
    for node in model.graph.node:
        if node.op_type in SELECTING or names.intersection(node.input):
            names.update(node.output)
    return names


def noisy_model(noise: Noise, model: onnx.ModelProto, inner: Inner, left_alone: set[str] = frozenset()) -> onnx.ModelProto:
    """The model with a product after each float value, and shifted scales before roundings to integers."""
    result = onnx.ModelProto.FromString(model.SerializeToString())
    graph = result.graph
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        proto = onnx.NodeProto.FromString(node.SerializeToString())
        behind = []
        if node.op_type not in ("Constant", "Identity"):
            for i, name in enumerate(node.output):
                array = inner.arrays.get(name)
                if name and name not in left_alone and array is not None and is_float(array) and array.size:
                    proto.output[i] = name + "_exact"
                    behind += disturb(noise, graph, name, array, absolute_of(node, inner), terms_of(node, inner))
        if node.op_type in ROUNDING:
            move_scales(noise, graph, proto, inner)
        nodes += [proto, *behind]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    return result


def terms_of(node: onnx.NodeProto, inner: Inner) -> int:
    """Upper bound on the number of terms summed for one number of the output."""
    source = inner.arrays.get(node.input[0]) if node.input else None
    return source.size if source is not None and (node.op_type in SUMS or node.op_type.startswith("Reduce")) else 1


def absolute_of(node: onnx.NodeProto, inner: Inner) -> float:
    source = inner.arrays.get(node.input[0]) if node.op_type in PLACES else None
    longest = LENGTH if source is None else max(LENGTH, *source.shape)
    return ABSOLUTE.get(node.op_type, 0.0) * longest / LENGTH


def disturb(noise: Noise, graph: onnx.GraphProto, name: str, array: numpy.ndarray, absolute: float, terms: int) -> list[onnx.NodeProto]:
    graph.initializer.append(numpy_helper.from_array(numpy.asarray(noise.factors(array, terms=terms), array.dtype), name + "_factors"))
    shifted = absolute > 0 and array.dtype != numpy.float64
    product = name + "_product" if shifted else name
    nodes = [helper.make_node("Mul", [name + "_exact", name + "_factors"], [product])]
    if shifted:
        largest = numpy.abs(array.astype(numpy.float64), where=numpy.isfinite(array), out=numpy.zeros(array.shape)).max(initial=1)
        shifts = numpy.asarray(absolute * largest * noise.steps(array.shape), array.dtype)
        graph.initializer.append(numpy_helper.from_array(shifts, name + "_shifts"))
        nodes.append(helper.make_node("Add", [product, name + "_shifts"], [name]))
    return nodes


def move_scales(noise: Noise, graph: onnx.GraphProto, node: onnx.NodeProto, inner: Inner) -> None:
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for i, name in enumerate(node.input):
        array = known.get(name, inner.arrays.get(name))
        if array is not None and is_float(array) and i > 0:
            moved = f"{node.output[0]}_scale{i}"
            graph.initializer.append(numpy_helper.from_array(noise.applied(array, "fp32"), moved))
            node.input[i] = moved


Spread = list[numpy.ndarray | None]


def spread(oracle: Oracle, feed: Feed, expected: list[numpy.ndarray], inner: Inner, precision: str) -> Spread:
    """How far rounding moves each number of the results; for integers whether it does. None where even a shape changes."""
    largest: Spread = [numpy.zeros(array.shape) for array in expected]
    for round_ in range(ROUNDS):
        noise = Noise(round_ // 2, bool(round_ % 2), precision)
        moved = run_with_noise(noise, oracle, feed, inner)
        for i, (array, other) in enumerate(zip(expected, moved, strict=True)):
            before = largest[i]
            fits = before is not None and array.shape == other.shape
            largest[i] = numpy.maximum(before, distance(array, other)) if fits else None
    return [whole_choices(oracle.model, info.name, moved) for info, moved in zip(oracle.model.graph.output, largest, strict=True)]


def whole_choices(model: onnx.ModelProto, output: str, moved: numpy.ndarray | None) -> numpy.ndarray | None:
    """Where rounding changes which number is the maximum, it may be any of about the same size, not only those found by the noise."""
    maker = next((node for node in model.graph.node if output in node.output), None)
    if moved is None or not moved.ndim or maker is None or maker.op_type != "Hardmax":
        return moved
    flattens = next(entry.version for entry in model.opset_import if not entry.domain) < 13
    given = [helper.get_attribute_value(attribute) for attribute in maker.attribute if attribute.name == "axis"]
    axis = (given or [1 if flattens else -1])[0] % moved.ndim
    axes = tuple(range(axis, moved.ndim)) if flattens else (axis,)
    return numpy.broadcast_to(moved.max(axis=axes, keepdims=True, initial=0), moved.shape)


def run_with_noise(noise: Noise, oracle: Oracle, feed: Feed, inner: Inner) -> list[numpy.ndarray]:
    """Where the oracle does not accept the model with noise between its nodes: without noise on values whose shape changes, else on the inputs only."""
    moved = noisy_feed(noise, feed)
    for left_alone in (set(), behind_values(oracle.model)):
        try:
            return oracle.run(moved, noisy_model(noise, oracle.model, inner, left_alone))
        except NoOracle:
            continue
    return oracle.run(moved)


def distance(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    """Difference of numbers; infinite between a number and NaN."""
    if DTYPE.get(a.dtype) not in values.FLOATS:
        return (a != b).astype(numpy.float64)
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    with numpy.errstate(invalid="ignore"):
        apart = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0.0, numpy.abs(a - b))
    return numpy.where(numpy.isnan(apart), numpy.inf, apart)
