"""Cases where the oracles are known not to follow ONNX; the other oracle is used there, or none.

Each entry was observed with onnxruntime 1.31 or onnx 1.23 and checked by hand against the operator's specification."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy
import onnx

from random_graphs import positions
from random_graphs.facts import Node, nodes_of

RUNTIME, REFERENCE = "onnxruntime", "onnx.reference"


@dataclass(frozen=True)
class Deviation:
    oracle: str
    operators: tuple[str, ...]
    reason: str
    applies: Callable[[Node], bool]


DEVIATIONS: list[Deviation] = []


def deviates(oracle: str, *operators: str, reason: str):
    def register(applies: Callable[[Node], bool]):
        DEVIATIONS.append(Deviation(oracle, operators, reason, applies))
        return applies

    return register


def of_model(model: onnx.ModelProto) -> dict[str, str]:
    """By oracle, the first reason not to use it."""
    found: dict[str, str] = {}
    for node in nodes_of(model):
        for entry in DEVIATIONS:
            if node.operator in entry.operators and entry.oracle not in found and entry.applies(node):
                found[entry.oracle] = f"{node.operator}: {entry.reason}"
    return found


def same_padding(node: Node) -> bool:
    return node.attribute("auto_pad", "").startswith("SAME")


def kernel_of(node: Node) -> list[int]:
    weights = 3 if node.operator == "QLinearConv" else 1
    return node.attribute("kernel_shape") or ((node.shapes[weights] if node.has(weights) else None) or [])[2:]


UNDECIDED = "a position is so close to the middle of two elements, or to the edge, that rounding decides"
REDUCTIONS = tuple(f"Reduce{name}" for name in "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split())
WINDOWS = ("Conv", "ConvInteger", "QLinearConv", "MaxPool", "AveragePool", "LpPool")


@deviates(RUNTIME, *WINDOWS, reason="SAME with dilations, or strides larger than the kernel, pads differently")
def same_with_gaps(node: Node) -> bool:
    wide = any(s > k for s, k in zip(node.attribute("strides", []), kernel_of(node), strict=False))
    return same_padding(node) and (wide or any(d > 1 for d in node.attribute("dilations", [])))


@deviates(RUNTIME, *WINDOWS, reason="a window larger than the padded input gives an output where the stride is even larger")
def beyond_input(node: Node) -> bool:
    sizes, kernel = (node.shapes[0] or [])[2:], kernel_of(node)
    pads, dilations = node.attribute("pads", [0] * 2 * len(kernel)), node.attribute("dilations", [1] * len(kernel))
    rooms = [size + before + after for size, before, after in zip(sizes, pads, pads[len(kernel) :], strict=False)]
    return not same_padding(node) and any(d * (k - 1) + 1 > room for d, k, room in zip(dilations, kernel, rooms, strict=False))


@deviates(RUNTIME, "ConvTranspose", reason="SAME does not give input times stride")
def transposed_same(node: Node) -> bool:
    return same_padding(node)


@deviates(REFERENCE, "ConvTranspose", reason="SAME with output_padding gives more than input times stride")
def transposed_same_and_more(node: Node) -> bool:
    return same_padding(node) and any(node.attribute("output_padding", []))


@deviates(RUNTIME, "ConvTranspose", reason="an empty input crashes the process")
def transposed_empty(node: Node) -> bool:
    return any(shape is not None and 0 in shape for shape in [*node.shapes, *node.outputs])


@deviates(RUNTIME, "Resize", reason="an axis cropped to its own size is copied")
def crop_to_same_size(node: Node) -> bool:
    if node.attribute("coordinate_transformation_mode") != "tf_crop_and_resize":
        return False
    if node.shapes[0] is None or node.outputs[0] is None:
        return True
    axes = enumerate(zip(node.shapes[0], node.outputs[0], strict=True))
    return any(old == new and positions.stretch(node, axis, old, new)[:2] != (0, 1) for axis, (old, new) in axes)


@deviates(REFERENCE, "Resize", reason="align_corners takes the fraction that a scale gives for the output's length")
def fractional_corners(node: Node) -> bool:
    scales = node.constant(2)
    if node.attribute("coordinate_transformation_mode") != "align_corners" or not node.has(2) or (scales is not None and not scales.size):
        return False
    return node.shapes[0] is None or not numpy.equal(numpy.mod(scaled_lengths(node), 1), 0).all()


def scaled_lengths(node: Node) -> numpy.ndarray:
    scales, axes = node.constant(2), node.attribute("axes")
    lengths = numpy.array(node.shapes[0] if axes is None else [node.shapes[0][axis] for axis in axes])
    return numpy.full(1, 0.5) if scales is None else lengths * scales


@deviates(RUNTIME, "Resize", reason="keep_aspect_ratio_policy rounds differently")
def aspect_kept(node: Node) -> bool:
    return node.attribute("keep_aspect_ratio_policy", "stretch") != "stretch"


@deviates(RUNTIME, "Resize", reason=UNDECIDED)
@deviates(REFERENCE, "Resize", reason=UNDECIDED)
def undecided_places(node: Node) -> bool:
    return positions.only_rounding_decides(node)


@deviates(RUNTIME, "InstanceNormalization", reason="for one element or equal ones the mean is subtracted last, with cancellation")
def one_place(node: Node) -> bool:
    return node.shapes[0] is None or numpy.prod(node.shapes[0][2:]) <= 1


@deviates(RUNTIME, "LRN", reason="an even size is refused")
@deviates(REFERENCE, "LRN", reason="a window of even size is positioned differently")
def even_response(node: Node) -> bool:
    return node.attribute("size", 1) % 2 == 0


@deviates(RUNTIME, "MaxPool", reason="a window of only -inf gives the lowest finite number")
def padded_with_infinity(node: Node) -> bool:
    before = node.producers[0]
    return before is not None and before.operator == "Pad" and before.constant(2) is not None and numpy.isinf(before.constant(2)).any()


@deviates(REFERENCE, "LRN", reason="channels after the first window are wrong")
def response(_: Node) -> bool:
    return True


@deviates(REFERENCE, "Clip", reason="min > max gives min, not max")
def crossed_limits(node: Node) -> bool:
    if "min" in node.attributes or "max" in node.attributes:
        return node.attribute("min", -numpy.inf) > node.attribute("max", numpy.inf)
    least, most = node.constant(1), node.constant(2)
    return node.has(1) and node.has(2) and (least is None or most is None or least > most)


@deviates(REFERENCE, "LSTM", "GRU", "RNN", reason="sequence_lens, directions and layouts are partly ignored")
def short_sequences(node: Node) -> bool:
    return node.has(4) or node.attribute("direction", "forward") != "forward" or bool(node.attribute("layout", 0))


@deviates(REFERENCE, "LSTM", "GRU", "RNN", reason="activations and input_forget are ignored")
def other_cell(node: Node) -> bool:
    return any(name in node.attributes for name in ("activations", "input_forget"))


@deviates(REFERENCE, "BatchNormalization", reason="the definitions before operator set 14 differ")
def old_batch_normalization(node: Node) -> bool:
    return node.opset < 14


@deviates(REFERENCE, "Softmax", "LogSoftmax", "Hardmax", reason="before operator set 13 all dims from the axis on are taken together")
def old_softmax(node: Node) -> bool:
    return node.opset < 13


@deviates(RUNTIME, *REDUCTIONS, reason="with an empty input, dims named by negative axes are kept")
def empty_reduction(node: Node) -> bool:
    return node.shapes[0] is None or 0 in node.shapes[0]


@deviates(REFERENCE, "Loop", reason="results of iterations are concatenated, not stacked")
def stacked_results(node: Node) -> bool:
    return len(node.outputs) > len(node.inputs) - 2


@deviates(REFERENCE, "Split", reason="sizes that do not add up are accepted")
def loose_split(node: Node) -> bool:
    sizes, shape = node.constant(1), node.shapes[0]
    return sizes is not None and shape is not None and sizes.sum() != shape[node.attribute("axis", 0)]


@deviates(RUNTIME, "GatherND", reason="different batch dims are accepted")
def loose_batches(node: Node) -> bool:
    unknown = node.shapes[0] is None or node.shapes[1] is None
    return node.attribute("batch_dims", 0) > 0 and (unknown or node.shapes[0][0] != node.shapes[1][0])


@deviates(REFERENCE, "GlobalMaxPool", reason="only two spatial dims are supported")
def flat_global_pool(node: Node) -> bool:
    return node.shapes[0] is None or len(node.shapes[0]) != 4


@deviates(REFERENCE, "MaxPool", "AveragePool", "LpPool", reason="SAME with a stride larger than the input gives no output")
def same_beyond_input(node: Node) -> bool:
    return same_padding(node) and any(s > 1 for s in node.attribute("strides", []))


@deviates(REFERENCE, "MaxPool", reason="indices restart in each plane")
def indices_of_planes(node: Node) -> bool:
    return len(node.outputs) > 1


@deviates(REFERENCE, "MaxPool", reason="asymmetric padding, and that of ceil_mode, is not fully supported")
def uneven_padding(node: Node) -> bool:
    pads = node.attribute("pads", [])
    return len(set(pads)) > 1 or bool(node.attribute("ceil_mode", 0) and any(pads))


@deviates(REFERENCE, "QLinearConv", reason="results are not rounded to nearest")
def truncated_conv(_: Node) -> bool:
    return True


@deviates(REFERENCE, "Resize", reason="half_pixel_symmetric with antialias, and pytorch_half_pixel to one element, read other positions")
def other_places(node: Node) -> bool:
    mode = node.attribute("coordinate_transformation_mode")
    to_one = node.outputs[0] is None or 1 in node.outputs[0]
    return (mode == "half_pixel_symmetric" and bool(node.attribute("antialias"))) or (mode == "pytorch_half_pixel" and to_one)


@deviates(REFERENCE, "Resize", reason="linear and cubic read other elements where a position is an integer except for rounding")
def at_whole_places(node: Node) -> bool:
    return node.attribute("mode") in ("linear", "cubic") and positions.whole_but_for_rounding(node)


@deviates(REFERENCE, "GridSample", reason="cubic with border clamps the position, not the elements read")
def padded_cubic(node: Node) -> bool:
    return node.attribute("mode") in ("cubic", "bicubic") and node.attribute("padding_mode") == "border"


@deviates(REFERENCE, "RoiAlign", reason="regions are shifted by half a pixel even before operator set 16")
def early_regions(node: Node) -> bool:
    return node.opset < 16


@deviates(REFERENCE, "MaxUnpool", reason="indices refer to another shape than output_shape")
def given_output_shape(node: Node) -> bool:
    return node.has(2)


@deviates(RUNTIME, "Loop", reason="without an iteration the sizes of stacked results come from the body's declarations")
def no_iteration(node: Node) -> bool:
    trips = node.constant(0)
    return node.has(0) and (trips is None or not trips.any())


@deviates(REFERENCE, "DynamicQuantizeLinear", reason="an input of zeros only has another scale")
def range_of_zeros(_: Node) -> bool:
    return True


@deviates(RUNTIME, "Gemm", reason="a product with depth 0 ignores beta")
def empty_product(node: Node) -> bool:
    return any(shape is None or 0 in shape for shape in node.shapes[:2])


@deviates(REFERENCE, "ConvTranspose", reason="the first group's bias is added to all groups")
def grouped_bias(node: Node) -> bool:
    return node.attribute("group", 1) > 1 and node.has(2)


@deviates(REFERENCE, "LpPool", "AveragePool", reason="windows that ceil_mode adds at the end differ")
def last_windows(node: Node) -> bool:
    return bool(node.attribute("ceil_mode", 0))


@deviates(REFERENCE, "Unique", reason="a negative axis is wrong")
def unique_from_behind(node: Node) -> bool:
    return node.attribute("axis", 0) < 0


@deviates(REFERENCE, "Unique", reason="unsorted with indices, slices are taken along axis 0")
def unique_unsorted(node: Node) -> bool:
    return node.attribute("axis", 0) > 0 and not node.attribute("sorted", 1) and len(node.outputs) > 1


@deviates(REFERENCE, "HardSwish", reason="1/6 is rounded to FP32")
def narrow_sixth(node: Node) -> bool:
    return node.dtype == onnx.TensorProto.DOUBLE


@deviates(RUNTIME, "QuantizeLinear", reason="4-bit numbers differ where the processor has AVX-512")
def four_bits(node: Node) -> bool:
    return node.dtype in (onnx.TensorProto.INT4, onnx.TensorProto.UINT4)


@deviates(REFERENCE, "ReduceSumSquare", reason="32-bit sums are computed in 64 bits")
def wide_sum(node: Node) -> bool:
    return node.dtype in (onnx.TensorProto.INT32, onnx.TensorProto.UINT32)


@deviates(REFERENCE, "MeanVarianceNormalization", reason="mean of squares minus squared mean cancels")
def cancelled_variance(_: Node) -> bool:
    return True


@deviates(REFERENCE, "LpNormalization", reason="p = 1 sums signed numbers")
def signed_norm(node: Node) -> bool:
    return node.attribute("p", 2) % 2 == 1


@deviates(REFERENCE, "LayerNormalization", reason="the mean and the inverse deviation of 16-bit values have the values' type, not that of stash_type")
def statistics_of_halves(node: Node) -> bool:
    return node.dtype in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16) and len(node.outputs) > 1
