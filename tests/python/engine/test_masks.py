"""Rows that a mask hides wholly are finite in narrow types where they are in FP32, whatever number the mask is."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner


def has_gpu():
    try:
        return lanner.Tensor(np.zeros(1, np.float32)).to("cuda:0") is not None
    except lanner.Error:
        return False


DEVICES = ["cpu", *(["cuda:0"] if has_gpu() else [])]
HEADS, TOKENS, SIZE = 4, 32, 64


def attention(spelling, number):
    """softmax(q k^T + mask) v of q, k, v and a mask of integers, 1 where a key counts, in the usual spellings."""
    f32 = np.float32
    constants = {"scale": f32(SIZE**-0.5), "number": f32(number), "one": f32(1), "zero": f32(0)}
    masked = {
        "mul": [("Cast", "m", "f", {"to": TensorProto.FLOAT}), ("Sub", "one f", "o"), ("Mul", "o number", "p"), ("Add", "scaled p", "scores")],
        "where": [("Cast", "m", "b", {"to": TensorProto.BOOL}), ("Where", "b zero number", "p"), ("Add", "scaled p", "scores")],
        "fill": [("Cast", "m", "b", {"to": TensorProto.BOOL}), ("Where", "b scaled number", "scores")],
        "max": [("Cast", "m", "f", {"to": TensorProto.FLOAT}), ("Sub", "one f", "o"), ("Mul", "o number", "p"), ("Add", "scaled p", "s"), ("Max", "s number", "scores")],
    }[spelling]
    steps = [("Transpose", "k", "t", {"perm": [0, 1, 3, 2]}), ("MatMul", "q t", "product"), ("Mul", "product scale", "scaled"), *masked]
    steps += [("Softmax", "scores", "shares", {"axis": -1}), ("MatMul", "shares v", "y")]
    nodes = [helper.make_node(op, given.split(), [made], **(more[0] if more else {})) for op, given, made, *more in steps]
    shape = ["n", HEADS, TOKENS, SIZE]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "qkv"]
    inputs.append(helper.make_tensor_value_info("m", TensorProto.INT64, ["n", 1, 1, TOKENS]))
    used = {name for node in nodes for name in node.input}
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items() if name in used]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def operands(batch):
    rng = np.random.default_rng(batch)
    # Scores are far below 0, so that a sum with the lowest number of a type would leave its range.
    given = {name: rng.standard_normal((batch, HEADS, TOKENS, SIZE)).astype(np.float32) + shift for name, shift in zip("qkv", (1.5, -1.5, 0), strict=True)}
    mask = (rng.random((batch, 1, 1, TOKENS)) < 0.7).astype(np.int64)
    mask[-1] = 0
    return given | {"m": mask}


def narrow_engine(model, precision, **options):
    """All in the narrow type where there are kernels for that; else where it is faster, if anywhere."""
    try:
        return lanner.build(model, precision=precision, strict=True, budget=0, **options)
    except lanner.Unsupported:
        return lanner.build(model, precision=precision, budget=0, **options)


@pytest.mark.filterwarnings("ignore:.*no effect:RuntimeWarning")
@pytest.mark.parametrize("number", [-3.4028234663852886e38, -1e9, -65504.0])
@pytest.mark.parametrize("spelling", ["mul", "where", "fill", "max"])
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("device", DEVICES)
def test_rows_without_a_key_are_finite(device, precision, spelling, number):
    model = attention(spelling, number)
    plain = lanner.build(model, budget=0)
    for shapes in (None, {name: [3, HEADS, TOKENS, SIZE] for name in "qkv"} | {"m": [3, 1, 1, TOKENS]}):
        narrow = narrow_engine(model, precision, device=device, shapes=shapes)
        for batch in (3,) if shapes else (1, 3):
            given = operands(batch)
            expected, got = plain(given)["y"].numpy(), narrow(given)["y"].numpy()
            assert np.isfinite(expected).all() and np.isfinite(got).all()
            seen = given["m"].reshape(batch, TOKENS).any(1)
            error = np.sqrt(((got - expected)[seen] ** 2).sum() / max((expected[seen] ** 2).sum(), 1e-30))
            assert error < 0.03, error
