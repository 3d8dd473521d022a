"""ONNX's backend interface over Lanner, for ONNX's own test suite and for programs written against `onnx.backend`.

>>> import lanner.onnx_backend as backend
>>> backend.prepare(onnx.load("model.onnx")).run([x])

Every model goes the whole way: built, saved as a plan, loaded from it, run.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

import lanner


def _device_name(device: str) -> str:
    kind, _, index = device.partition(":")
    return "cpu" if kind.upper() == "CPU" else f"{kind.lower()}:{index or 0}"


def _has_gpu(device: str) -> bool:
    try:
        lanner.Tensor(numpy.zeros(1, numpy.float32)).to(device)
    except lanner.Error:
        return False
    return True


def _array(value: Any) -> Any:
    """What users of the interface expect: arrays, lists of them, None for an optional that holds nothing."""
    if isinstance(value, list):
        return [_array(element) for element in value]
    return None if value is None else value.numpy()


class LannerRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, engine: lanner.Engine):
        self.engine = engine
        self._outputs = namedtupledict("Outputs", [output.name for output in engine.outputs])

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs on a list in the order of the model's inputs, on a dict by name, or on one array; gives a tuple whose elements
        also have the outputs' names."""
        names = [binding.name for binding in self.engine.inputs]
        if isinstance(inputs, numpy.ndarray):
            inputs = [inputs]
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(names):
                raise lanner.InvalidArgument(f"{len(inputs)} inputs given, the model has {len(names)}: {', '.join(names)}")
            inputs = dict(zip(names, inputs, strict=True))
        results = self.engine(inputs)
        return self._outputs(*(_array(results[output.name]) for output in self.engine.outputs))


def _value_info(name: str, value: Any) -> onnx.ValueInfoProto:
    if isinstance(value, (list, tuple)):
        kind = onnx.helper.np_dtype_to_tensor_dtype(numpy.asarray(value[0]).dtype) if value else onnx.TensorProto.FLOAT
        return onnx.helper.make_tensor_sequence_value_info(name, kind, None)
    array = numpy.asarray(value)
    kind = onnx.TensorProto.STRING if array.dtype.kind in "OUS" else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)


def _model_of_node(node: onnx.NodeProto, inputs: Sequence[Any], opset_version: int) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model of one node; `inputs` are those of the node that have a name, None among them meaning absent."""
    node = onnx.NodeProto.FromString(node.SerializeToString())
    named = [i for i, name in enumerate(node.input) if name]
    if len(named) != len(inputs):
        raise lanner.InvalidArgument(f"{len(inputs)} inputs given, the node has {len(named)}")
    feeds: dict[str, Any] = {}
    for place, value in zip(named, inputs, strict=True):
        if value is None:
            node.input[place] = ""
        else:
            feeds[node.input[place]] = value
    graph = onnx.GraphProto(name=node.name or node.op_type, node=[node])
    graph.input.extend(_value_info(name, value) for name, value in feeds.items())
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    opsets = [onnx.helper.make_opsetid("", opset_version)]
    if node.domain not in ("", "ai.onnx"):
        opsets.append(onnx.helper.make_opsetid(node.domain, 1))
    return onnx.helper.make_model(graph, opset_imports=opsets), feeds


class LannerBackend(Backend):
    """The interface as a class; the module's functions of the same names are its methods."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `prepare` takes the model."""
        try:
            cls.prepare(model, device, **kwargs)
        except lanner.Error:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> LannerRep:
        """Builds without timing kernels, unless `budget` says otherwise, saves a plan and loads it. `model` may also be a path
        or bytes; further arguments are those of `lanner.build`."""
        threads = kwargs.get("threads", 0)
        with tempfile.TemporaryDirectory(prefix="lanner-") as folder:
            plan = os.path.join(folder, "model.plan")
            lanner.build(model, device=_device_name(device), **{"budget": 0.0, **kwargs}).save(plan)
            return LannerRep(lanner.load(plan, threads=threads))

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> tuple[Any, ...]:
        """Runs one operator. `opset_version` is the newest that the package onnx knows unless given."""
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        model, feeds = _model_of_node(node, inputs, version)
        return cls.prepare(model, device, **kwargs).run(feeds)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        kind = device.partition(":")[0].upper()
        return kind == "CPU" or (kind == "CUDA" and _has_gpu(_device_name(device)))


is_compatible = LannerBackend.is_compatible
prepare = LannerBackend.prepare
run_model = LannerBackend.run_model
run_node = LannerBackend.run_node
supports_device = LannerBackend.supports_device
