"""Models of one node, run by Lanner and by ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ValueInfoProto, helper, numpy_helper

import lanner

DOMAIN = "com.microsoft"


def typed(array):
    return helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)


ALL = {rank: range(rank) for rank in range(8)}
FIRST = {rank: [0] for rank in range(8)}


def shape_of(name, array, open_axes):
    return [f"{name}{axis}" if axis in open_axes.get(array.ndim, ()) else size for axis, size in enumerate(array.shape)]


def model_of(op, inputs, attributes=None, outputs=1, domain=DOMAIN, version=17, constants=(), open_axes=None, types=None):
    """`inputs` maps names to arrays, None for one that is left out; those in `constants` are part of the model.
    `outputs` is a number or, for outputs of which some are left out, a list of whether each is there; `types` are
    those that ONNX Runtime does not find. `open_axes` tells, by rank, which sizes the model leaves open."""
    wanted = [True] * outputs if isinstance(outputs, int) else outputs
    names = [name if array is not None else "" for name, array in inputs.items()]
    while names and not names[-1]:
        names.pop()
    results = [f"y{i}" if there else "" for i, there in enumerate(wanted)]
    node = helper.make_node(op, names, results, name="the_node", domain=domain, **(attributes or {}))
    given = {name: np.asarray(array) for name, array in inputs.items() if array is not None}
    graph = helper.make_graph(
        [node],
        "one_node",
        [
            helper.make_tensor_value_info(name, typed(array), shape_of(name, array, open_axes or {}))
            for name, array in given.items()
            if name not in constants
        ],
        [ValueInfoProto(name=name) if name not in (types or {}) else helper.make_tensor_value_info(name, types[name], None) for name in results if name],
        [numpy_helper.from_array(given[name], name) for name in constants if name in given],
    )
    imports = [helper.make_opsetid("", version)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def by_onnxruntime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return session.run(None, {name: np.asarray(inputs[name]) for name in names})


def by_lanner(model, inputs):
    """Built for the shapes of these inputs, which the importer does not see."""
    shapes = {name: np.shape(array) for name, array in inputs.items() if array is not None}
    names = [value.name for value in onnx.load_from_string(model).graph.input]
    engine = lanner.build(model, budget=0, shapes={name: shapes[name] for name in names})
    results = engine({binding.name: inputs[binding.name] for binding in engine.inputs})
    return [results[binding.name].numpy() for binding in engine.outputs]


def assert_close(got, expected, rtol, atol):
    assert len(got) == len(expected)
    for mine, other in zip(got, expected, strict=True):
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape
        if mine.dtype.kind in "OUT":
            assert mine.tolist() == other.tolist()
            continue
        if mine.dtype.kind in "iu":
            mine, other = mine.astype(np.int64), other.astype(np.int64)
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=atol)


def agree(op, inputs, attributes=None, outputs=1, rtol=1e-5, atol=1e-5, expected=None, **model):
    """Both give the same, or Lanner gives `expected`, with sizes that the model tells and with open ones."""
    given = {name: np.asarray(array) for name, array in inputs.items() if array is not None}
    others = by_onnxruntime(model_of(op, inputs, attributes, outputs, **model), given) if expected is None else expected
    for open_axes in (None, FIRST, ALL):
        try:
            got = by_lanner(model_of(op, inputs, attributes, outputs, open_axes=open_axes, **model), given)
        except lanner.Unsupported as error:
            if open_axes is None or "must be known before running" not in str(error):
                raise
            continue
        assert_close(got, others, rtol, atol)


def refused(op, inputs, attributes=None, outputs=1, match="", **model):
    """By an error of one line that names the node."""
    with pytest.raises(lanner.Error, match=match) as caught:
        lanner.build(model_of(op, inputs, attributes, outputs, **model), budget=0)
    assert "\n" not in str(caught.value)
    assert "the_node" in str(caught.value)


def random(*shape, seed=0, dtype=np.float32, scale=1.0):
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(dtype)


def integers(low, high, *shape, seed=0, dtype=np.int32):
    return np.random.default_rng([seed, *shape]).integers(low, high, shape).astype(dtype)
