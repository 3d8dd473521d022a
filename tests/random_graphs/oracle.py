"""Runs models by onnxruntime without its optimisations, or by onnx.reference where that cannot."""

import warnings

import ml_dtypes
import numpy
import onnx
from onnx.reference import ReferenceEvaluator

from random_graphs import deviations
from random_graphs.cases import Feed
from random_graphs.deviations import REFERENCE, RUNTIME


class NoOracle(Exception):
    """No oracle can run this model or these inputs."""


class Runtime:
    name = RUNTIME

    def __init__(self, model: onnx.ModelProto):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(self, feed: Feed) -> list:
        if any(array.dtype == ml_dtypes.bfloat16 for array in feed.values()):
            raise NoOracle("onnxruntime takes no bfloat16 from NumPy")
        return self.session.run(None, feed)


class Reference:
    name = REFERENCE

    def __init__(self, model: onnx.ModelProto):
        self.evaluator = ReferenceEvaluator(model)

    def run(self, feed: Feed) -> list:
        return self.evaluator.run(None, feed)


class Oracle:
    """The first of the two that is allowed and able to run the model on its first inputs."""

    def __init__(self, model: onnx.ModelProto, feed: Feed):
        self.model, self.deviating, reasons = model, deviations.of_model(model), []
        for kind in (Runtime, Reference):
            if kind.name in self.deviating:
                reasons.append(f"{kind.name}: {self.deviating[kind.name]}")
                continue
            try:
                self.chosen = kind(model)
                self.chosen.run(feed)
                return
            except Exception as error:  # both may raise anything
                reasons.append(f"{kind.name}: {str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__}")
        raise NoOracle("; ".join(reasons))

    @property
    def name(self) -> str:
        return self.chosen.name

    def run(self, feed: Feed, model: onnx.ModelProto | None = None) -> list[numpy.ndarray]:
        """On its own model, or on a variant of it, which is prepared for this one run."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                evaluator = self.chosen if model is None else type(self.chosen)(model)
                return [numpy.asarray(array) for array in evaluator.run(feed)]
            except Exception as error:
                raise NoOracle(f"{self.name}: {error}") from error

    def second(self) -> "Reference | None":
        """The other oracle's results, where there is one."""
        if self.name == REFERENCE or REFERENCE in self.deviating:
            return None
        try:
            return Reference(self.model)
        except Exception:
            return None
