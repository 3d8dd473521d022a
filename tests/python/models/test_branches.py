"""The sizes of an `If` branch are checked when it is entered, not before: compared with ONNX Runtime."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from single_node import by_onnxruntime

import lanner

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape, dtype=F32):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), name=f"{op}_{output.split()[0]}", **attributes)


def branch(nodes, output, **constants):
    return helper.make_graph(nodes, f"gives_{output}", [], [helper.make_tensor_value_info(output, F32, None)], list_of(constants))


def list_of(constants):
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]


def model(nodes, inputs, outputs=("y",), opset=17, **constants):
    results = [helper.make_tensor_value_info(name, F32, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, results, list_of(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


def rate_model(dims=("b", "n"), after=()):
    """A model whose branches take rates of different lengths."""
    fast = branch([node("Reshape", "x s", "a"), node("Neg", "a", "p")], "p", s=[-1, 6])
    slow = branch([node("Reshape", "x s2", "c"), node("Abs", "c", "q")], "q", s2=[1, 4])
    last = after[-1].output[0] if after else "y"
    nodes = [node("Equal", "rate k", "is_fast"), helper.make_node("If", ["is_fast"], ["y" if not after else "m"], name="by_rate", then_branch=fast, else_branch=slow), *after]
    return model(nodes, [value("x", dims), value("rate", [], I64)], (last,), k=16)


def ramp(*shape):
    return (np.arange(np.prod(shape), dtype=np.float32) - 3).reshape(shape)


def same(engine, bytes_, inputs):
    expected = by_onnxruntime(bytes_, inputs)
    got = [np.asarray(array.numpy()) for array in engine(inputs).values()]
    assert [array.shape for array in got] == [array.shape for array in expected]
    for mine, other in zip(got, expected):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("after", [False, True], ids=["result", "conv"])
def test_branch_that_is_not_taken_need_not_fit(after):
    tail = [node("Unsqueeze", "m one", "u"), node("Conv", "u w", "y")] if after else []
    bytes_ = rate_model(after=tail)
    if after:
        import onnx

        loaded = onnx.load_from_string(bytes_)
        loaded.graph.initializer.extend(list_of({"one": np.array([1]), "w": np.ones((2, 1, 3), np.float32)}))
        bytes_ = loaded.SerializeToString()
    engine = lanner.build(bytes_, budget=0, profiles=[{"x": (1, 6)}])
    for rows in (1, 2, 3):
        same(engine, bytes_, {"x": ramp(rows, 6), "rate": np.array(16)})
    same(engine, bytes_, {"x": ramp(1, 4), "rate": np.array(8)})


def test_taken_branch_must_fit_the_sizes(tmp_path):
    engine = lanner.build(rate_model(), budget=0, profiles=[{"x": (1, 6)}])
    engine.save(tmp_path / "m.plan")
    for one in (engine, lanner.load(tmp_path / "m.plan")):
        with pytest.raises(lanner.InvalidArgument, match=r"by_rate.*the branch taken does not fit: node Reshape_c: reshape: .*\[1, 6\]"):
            one({"x": ramp(1, 6), "rate": np.array(8)})
        assert one({"x": ramp(1, 6), "rate": np.array(16)})["y"].shape == (1, 6)


def test_taken_branch_must_fit_sizes_fixed_by_the_model(tmp_path):
    bytes_ = rate_model(dims=(1, 6))
    engine = lanner.build(bytes_, budget=0)
    same(engine, bytes_, {"x": ramp(1, 6), "rate": np.array(16)})
    with pytest.raises(lanner.InvalidArgument, match="the branch taken does not fit: node Reshape_c"):
        engine({"x": ramp(1, 6), "rate": np.array(8)})


def test_build_fails_if_neither_branch_fits():
    with pytest.raises(lanner.InvalidArgument, match="reshape"):
        lanner.build(rate_model(dims=(1, 5)), budget=0)


def squeezed(after, outputs=("y",), dims=("n", "m"), **constants):
    """The export of `squeeze(1)`, which does nothing where the size is not 1."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s i", "d", axis=0),
        node("Equal", "d i", "c"),
        helper.make_node("If", ["c"], ["r"], name="squeeze", then_branch=branch([node("Squeeze", "x ax", "a")], "a"), else_branch=branch([node("Identity", "x", "b")], "b")),
        *after,
    ]
    return model(nodes, [value("x", dims)], outputs, i=1, ax=[1], **constants)


AFTER = {
    "nothing": ([node("Identity", "r", "y")], {}),
    "softmax": ([node("Softmax", "r", "y", axis=-1)], {}),
    "arithmetic": ([node("Mul", "r r", "p"), node("Add", "p one", "y")], {"one": np.float32(1)}),
    "reduce": ([node("ReduceMean", "r", "y", axes=[0], keepdims=0)], {}),
    "shape": ([node("Shape", "r", "t"), node("ConstantOfShape", "t", "z"), node("Sub", "z r", "y")], {}),
    "reshape": ([node("Reshape", "r t", "p"), node("MatMul", "p w", "y")], {"t": np.array([-1, 1]), "w": np.ones((1, 5), np.float32)}),
    "concat": ([node("Concat", "r r", "y", axis=0)], {}),
    "transpose": ([node("Transpose", "r", "y")], {}),
    "slice": ([node("Slice", "r from e a0", "y")], {"from": np.array([1]), "e": np.array([9]), "a0": np.array([0])}),
    "gather": ([node("Gather", "r g", "y", axis=0)], {"g": np.array([1, 0])}),
    "unsqueeze": ([node("Unsqueeze", "r a0", "y")], {"a0": np.array([0])}),
    "layer norm": ([node("LayerNormalization", "r one", "y", axis=-1)], {"one": np.ones(1, np.float32)}),
    "clip": ([node("Clip", "r lo hi", "y")], {"lo": np.float32(-1), "hi": np.float32(1)}),
    "top": ([node("TopK", "r k", "y i2", axis=0)], {"k": np.array([2])}),
}


@pytest.mark.parametrize("case", AFTER)
@pytest.mark.parametrize("dims", [("n", "m"), (3, 4), (3, 1)], ids=str)
def test_branches_of_unequal_rank(case, dims):
    after, constants = AFTER[case]
    bytes_ = squeezed(after, dims=dims, **constants)
    engine = lanner.build(bytes_, budget=0, profiles=[{"x": (3, 4)}] if isinstance(dims[0], str) else None)
    shapes = [(3, 4), (3, 1), (5, 2)] if isinstance(dims[0], str) else [dims]
    for shape in shapes:
        same(engine, squeezed(after, **constants), {"x": ramp(*shape)})  # ONNX Runtime refuses a size that the other branch does not accept


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_matrices_of_older_versions_after_branches_of_unequal_rank(op, axis):
    """Before version 13 these operators flatten an input of any rank to a matrix."""
    condition = [node("Gather", "s i", "d", axis=0), node("Equal", "d one", "c")]
    squeeze = helper.make_node("If", ["c"], ["r"], name="squeeze", then_branch=branch([node("Squeeze", "x", "a", axes=[2])], "a"), else_branch=branch([node("Identity", "x", "b")], "b"))
    bytes_ = model([node("Shape", "x", "s"), *condition, squeeze, node(op, "r", "y", axis=axis)], [value("x", ("n", "m", "k"))], opset=11, i=2, one=1)
    engine = lanner.build(bytes_, budget=0, profiles=[{"x": (2, 3, 4)}])
    for size in (4, 1):
        same(engine, bytes_, {"x": ramp(2, 3, size)})


def test_a_convolution_after_branches_of_unequal_rank():
    after = [node("Reshape", "r t", "p"), node("Conv", "p w", "q"), node("Relu", "q", "y")]
    bytes_ = squeezed(after, t=np.array([1, 1, -1]), w=np.ones((2, 1, 2), np.float32))
    engine = lanner.build(bytes_, budget=0, profiles=[{"x": (3, 4)}])
    for shape in ((3, 4), (3, 1)):
        same(engine, bytes_, {"x": ramp(*shape)})


def test_a_branch_within_a_branch():
    inner = helper.make_node("If", ["big"], ["p"], name="inner", then_branch=branch([node("Reshape", "x s6", "i6")], "i6"), else_branch=branch([node("Reshape", "x s4", "i4")], "i4"))
    outer = helper.make_node("If", ["on"], ["y"], name="outer", then_branch=branch([inner], "p"), else_branch=branch([node("Reshape", "x s5", "i5")], "i5"))
    bytes_ = model([outer], [value("x", ("b", "n")), value("on", [], TensorProto.BOOL), value("big", [], TensorProto.BOOL)], s6=[-1, 2, 3], s4=[1, 2, 2], s5=[1, 5])
    engine = lanner.build(bytes_, budget=0, profiles=[{"x": (1, 6)}])
    yes, no = np.array(True), np.array(False)
    same(engine, bytes_, {"x": ramp(1, 6), "on": yes, "big": yes})
    same(engine, bytes_, {"x": ramp(2, 6), "on": yes, "big": yes})
    same(engine, bytes_, {"x": ramp(1, 4), "on": yes, "big": no})
    same(engine, bytes_, {"x": ramp(1, 5), "on": no, "big": no})
    with pytest.raises(lanner.InvalidArgument, match="the branch taken does not fit"):
        engine({"x": ramp(1, 5), "on": yes, "big": no})


def test_a_branch_within_a_loop():
    """The first iterations take one branch and the last another; one never fits."""
    choice = helper.make_node("If", ["early"], ["next"], name="by_round", then_branch=branch([node("Add", "carried x", "t")], "t"), else_branch=branch([node("Reshape", "carried s", "e")], "e"))
    body = helper.make_graph(
        [node("Less", "round two", "early"), choice, node("Identity", "going", "still")],
        "body",
        [value("round", [], I64), value("going", [], TensorProto.BOOL), value("carried", None)],
        [value("still", [], TensorProto.BOOL), value("next", None)],
        list_of({"two": np.array(2), "s": np.array([1, 7])}),
    )
    bytes_ = model([helper.make_node("Loop", ["rounds", "", "x"], ["y"], name="rounds_of", body=body)], [value("x", ("b", "n")), value("rounds", [], I64)])
    engine = lanner.build(bytes_, budget=0, profiles=[{"x": (1, 6)}])
    same(engine, bytes_, {"x": ramp(1, 6), "rounds": np.array(2)})
    same(engine, bytes_, {"x": ramp(1, 7), "rounds": np.array(4)})
    with pytest.raises(lanner.InvalidArgument, match="Reshape_e"):
        engine({"x": ramp(1, 6), "rounds": np.array(3)})


def test_a_loop_within_a_branch():
    body = helper.make_graph(
        [node("Reshape", "carried s", "next"), node("Identity", "going", "still")],
        "body",
        [value("round", [], I64), value("going", [], TensorProto.BOOL), value("carried", None)],
        [value("still", [], TensorProto.BOOL), value("next", None)],
        list_of({"s": np.array([1, 7])}),
    )
    looped = helper.make_node("Loop", ["two", "", "x"], ["t"], name="inside", body=body)
    choice = helper.make_node("If", ["on"], ["y"], name="choice", then_branch=branch([looped], "t"), else_branch=branch([node("Neg", "x", "e")], "e"))
    bytes_ = model([choice], [value("x", ("b", "n")), value("on", [], TensorProto.BOOL)], two=2)
    engine = lanner.build(bytes_, budget=0, profiles=[{"x": (1, 6)}])
    same(engine, bytes_, {"x": ramp(2, 6), "on": np.array(False)})
    same(engine, bytes_, {"x": ramp(1, 7), "on": np.array(True)})


def test_a_data_dependent_rank():
    """The condition is data, so the rank of the result does not follow from sizes."""
    nodes = [
        node("ReduceSum", "x", "t", keepdims=0),
        node("Greater", "t zero", "c"),
        helper.make_node("If", ["c"], ["r"], name="choice", then_branch=branch([node("ReduceMax", "x", "a", axes=[1], keepdims=0)], "a"), else_branch=branch([node("Identity", "x", "b")], "b")),
        node("Exp", "r", "p"),
        node("ReduceSum", "p", "y", keepdims=0),
        node("Relu", "r", "z"),
    ]
    bytes_ = model(nodes, [value("x", ("b", "n"))], ("y", "z"), zero=np.float32(0))
    engine = lanner.build(bytes_, budget=0)
    same(engine, bytes_, {"x": ramp(2, 3) + 5})
    same(engine, bytes_, {"x": ramp(2, 3) - 5})
