"""Known intentional differences: which oracle, in which cases, and why Lanner's result is right."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from definitions.case import Case
from definitions.oracles import REFERENCE, RUNTIME, TORCH


@dataclass(frozen=True)
class Difference:
    oracle: str
    operators: tuple[str, ...]
    reason: str
    applies: Callable[[Case], bool]


DIFFERENCES: list[Difference] = []
# Cases that Lanner refuses, and the reason.
REFUSED: list[Difference] = []


def differs(oracle: str, *operators: str, reason: str, to: list[Difference] = DIFFERENCES):
    def register(applies: Callable[[Case], bool]):
        to.append(Difference(oracle, operators, reason, applies))
        return applies

    return register


def reason_of(table: list[Difference], oracle: str, case: Case) -> str:
    """Empty where the two should agree."""
    for entry in table:
        if entry.oracle == oracle and case.operator in entry.operators and entry.applies(case):
            return entry.reason
    return ""


# --- onnxruntime ---


@differs(RUNTIME, "StringSplit", reason="an empty string has no part there; by the specification it has one, as in Python")
def empty_string(case: Case) -> bool:
    return "delimiter" in case.attributes


@differs(RUNTIME, "TopK", reason="unsorted, any order is right: Lanner's is sorted")
def unsorted(case: Case) -> bool:
    return not case.attributes.get("sorted", 1)


@differs(RUNTIME, "Clip", reason="a missing bound is the largest finite number there; in onnx.reference and PyTorch there is none, and infinity stays")
def absent_bound(case: Case) -> bool:
    return case.version >= 11 and bool(np.isinf(case.inputs[0]).any())


# --- PyTorch ---


@differs(TORCH, "Resize", reason="pytorch_half_pixel reads the first element for a length of 1, by ONNX's specification; current PyTorch reads the middle")
def single_place(case: Case) -> bool:
    return case.attributes.get("coordinate_transformation_mode") == "pytorch_half_pixel" and len(case.inputs) > 3 and 1 in case.inputs[3][2:]


@differs(TORCH, "Sign", reason="the sign of a NaN is 0 there; in onnxruntime and onnx.reference it stays NaN")
def sign_of_nan(case: Case) -> bool:
    return bool(np.isnan(case.inputs[0]).any())


# --- onnx.reference, where it differs from onnxruntime, PyTorch and its exporters ---


@differs(REFERENCE, "Resize", reason="align_corners takes the fraction that a scale gives for the output's length")
def fractional_corners(case: Case) -> bool:
    return case.attributes.get("coordinate_transformation_mode") == "align_corners" and len(case.inputs) < 4


@differs(REFERENCE, "Resize", reason="positions are not float32 there, so scales such as 0.7 do not give exact integers or halves")
def rounded_places(case: Case) -> bool:
    return case.attributes.get("mode", "nearest") == "nearest"


@differs(REFERENCE, "Resize", reason="pytorch_half_pixel to one element and half_pixel_symmetric with fractional lengths read other positions")
def other_places(case: Case) -> bool:
    place = case.attributes.get("coordinate_transformation_mode")
    return (place == "pytorch_half_pixel" and case.attributes["mode"] == "cubic" and len(case.inputs) > 3) or (place == "half_pixel_symmetric" and len(case.inputs) < 4)


@differs(REFERENCE, "GridSample", reason="border with cubic clamps the position, not the elements read")
def padded_cubic(case: Case) -> bool:
    return case.attributes["mode"] in ("cubic", "bicubic") and case.attributes["padding_mode"] == "border"


@differs(REFERENCE, "RoiAlign", reason="before version 16 there was output_half_pixel only")
def early_regions(case: Case) -> bool:
    return case.version < 16


@differs(REFERENCE, "MaxUnpool", reason="indices refer to another shape than output_shape")
def given_shape(case: Case) -> bool:
    return len(case.inputs) > 2


@differs(REFERENCE, "Softmax", "LogSoftmax", "Hardmax", reason="before version 13 all axes from the given one on are taken together")
def early_softmax(case: Case) -> bool:
    axis, rank = case.attributes.get("axis", 1), case.inputs[0].ndim
    return case.version < 13 and axis % rank != rank - 1


@differs(REFERENCE, "Hardmax", reason="NaN is the maximum there; onnxruntime ignores it, as Lanner does")
def largest_nan(case: Case) -> bool:
    return case.attributes.get("axis") == 1 and case.inputs[0].shape == (2, 4)


@differs(REFERENCE, "LSTM", "GRU", "RNN", reason="clip, activations and their parameters, sequence_lens and input_forget are partly ignored")
def parts_of_cells(case: Case) -> bool:
    own = {"clip", "activations", "input_forget"} & set(case.attributes)
    return bool(own) or (len(case.inputs) > 4 and case.inputs[4] is not None)


@differs(REFERENCE, "BatchNormalization", reason="version 9 runs in training mode")
def ninth_batch_normalization(case: Case) -> bool:
    return case.version == 9


@differs(REFERENCE, "GlobalMaxPool", reason="only two spatial axes are supported")
def flat_global_pool(case: Case) -> bool:
    return case.inputs[0].ndim != 4


@differs(REFERENCE, "LRN", reason="channels after the first window are wrong")
def response(case: Case) -> bool:
    return True


@differs(REFERENCE, "LpNormalization", reason="p = 1 sums signed numbers")
def signed_norm(case: Case) -> bool:
    return case.attributes.get("p", 2) == 1


@differs(REFERENCE, "LpPool", reason="windows that ceil_mode adds at the end differ")
def last_windows(case: Case) -> bool:
    return bool(case.attributes.get("ceil_mode", 0))


@differs(REFERENCE, "MaxPool", reason="indices restart in each plane and may be negative; SAME_LOWER gives fewer outputs, ceil_mode with pads more")
def places_of_pool(case: Case) -> bool:
    a = case.attributes
    return case.outputs > 1 or a.get("auto_pad") == "SAME_LOWER" or bool(a.get("ceil_mode", 0) and any(a.get("pads", [])))


@differs(REFERENCE, "StringNormalizer", reason="stopwords are always compared case-sensitively")
def stopwords(case: Case) -> bool:
    return case.attributes.get("case_change_action") == "NONE" and not case.attributes.get("is_case_sensitive", 0)
