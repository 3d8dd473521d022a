"""Runs calibration data through a model in the TensorFlow of this process, which is imported when it is needed."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from typing import Any

from lanner.errors import InvalidArgument, Unsupported


def _line(error: Exception) -> str:
    return " ".join(str(getattr(error, "message", None) or error).split())[:400]


def is_installed() -> bool:
    """Whether this Python has TensorFlow, or a module in its place."""
    if "tensorflow" in sys.modules:
        return sys.modules["tensorflow"] is not None
    return importlib.util.find_spec("tensorflow") is not None


class Loaded:
    """A SavedModel in a session of its own, whose variables have their first values."""

    def __init__(self, folder: str) -> None:
        try:
            tensorflow = importlib.import_module("tensorflow")
            loader = importlib.import_module("tensorflow.python.saved_model.loader_impl")
        except ImportError as error:
            raise Unsupported(
                f"calibration runs the model inside TensorFlow, which cannot be imported ({_line(error)}); pip install tensorflow-cpu, "
                "or give the ranges of a table, or leave precision int8 out"
            ) from error
        self._session = tensorflow.compat.v1.Session(graph=tensorflow.Graph())
        try:
            with self._session.graph.as_default():
                signature = loader.SavedModelLoader(folder).load(self._session, ["serve"]).signature_def["calibration"]
        except Exception as error:
            raise InvalidArgument(f"calibration: TensorFlow cannot load the model: {_line(error)}") from error
        self._inputs = {name: info.name for name, info in signature.inputs.items()}
        self._outputs = {name: info.name for name, info in signature.outputs.items()}

    def __call__(self, number: int, batch: Mapping[str, Any]) -> Any:
        """What the signature `calibration` gives for a batch: arrays by name."""
        try:
            return self._session.run(self._outputs, {self._inputs[name]: value.numpy() for name, value in batch.items()})
        except Exception as error:
            raise InvalidArgument(f"calibration: batch {number}: TensorFlow cannot run it: {_line(error)}") from error
