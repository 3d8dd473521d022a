"""Reference implementations that run a node."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from definitions import torch_functions
from definitions.case import Array, Case

RUNTIME, REFERENCE, TORCH = "onnxruntime", "onnx.reference", "torch"


class NoAnswer(Exception):
    """This oracle does not have the operator, or not with these attributes."""


def by_runtime(case: Case, model: onnx.ModelProto) -> Sequence[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(None, case.feed())
    except Exception as error:  # it raises many types
        raise NoAnswer(str(error).splitlines()[0][:120]) from error
    if not all(isinstance(result, np.ndarray) for result in results):
        raise NoAnswer("no dense tensor")
    return results


def by_reference(case: Case, model: onnx.ModelProto) -> Sequence[Any]:
    try:
        return ReferenceEvaluator(model).run(None, case.feed())
    except Exception as error:
        raise NoAnswer(f"{type(error).__name__}: {error}"[:120]) from error


def by_torch(case: Case, model: onnx.ModelProto) -> Sequence[Any]:
    try:
        return torch_functions.answer(case)
    except torch_functions.NoTorch as error:
        raise NoAnswer(str(error)) from error


ORACLES = {RUNTIME: by_runtime, REFERENCE: by_reference, TORCH: by_torch}


def by_lanner(case: Case, model: onnx.ModelProto) -> Sequence[Any]:
    import lanner

    engine = lanner.build(model.SerializeToString(), budget=0, device="cpu", threads=1)
    feed = case.feed()
    results = engine({binding.name: feed[binding.name] for binding in engine.inputs})
    return [results[binding.name].numpy() for binding in engine.outputs]


# Relative to the number and to the largest of the result.
RELATIVE = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-5, np.dtype(np.float16): 4e-3}


def difference(expected: Any, got: Any) -> str:
    """The difference, or an empty string."""
    if expected is None:
        return ""
    expected, got = np.asarray(expected), np.asarray(got)
    if got.dtype.kind == "V" and got.dtype.itemsize == expected.dtype.itemsize == 1:
        expected = expected.view(got.dtype)  # onnxruntime returns the bytes of small floats.
    if expected.dtype != got.dtype and not (expected.dtype.kind in "OUS" and got.dtype.kind in "OUS"):
        return f"type {got.dtype}, expected {expected.dtype}"
    if expected.shape != got.shape:
        return f"shape {list(got.shape)}, expected {list(expected.shape)}"
    if expected.dtype.kind in "OUSb":
        wrong = expected != got
    else:
        wide, found = expected.astype(np.float64), got.astype(np.float64)
        finite = np.abs(wide[np.isfinite(wide)])
        with np.errstate(invalid="ignore"):
            room = RELATIVE.get(expected.dtype, 0.0) * (np.abs(wide) + min(1.0, finite.max(initial=0.0)))
            close = (np.abs(wide - found) <= room) | (wide == found) | (np.isnan(wide) & np.isnan(found))
        wrong = ~close
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{got[place]} at {list(place)}, expected {expected[place]}; {int(wrong.sum())} of {wrong.size} wrong"


def compare(expected: Sequence[Array], got: Sequence[Array]) -> str:
    for i, (one, other) in enumerate(zip(expected, got, strict=False)):
        if found := difference(one, other):
            return f"output {i}: {found}"
    return ""
