"""Chains of sizes computed by a model: known sizes become numbers before their expressions grow, and data-dependent ones
never make a build fail."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from single_node import by_onnxruntime

import lanner


class Chain:
    """Consecutive nodes, with the constants that they read."""

    def __init__(self, dims, opset=17):
        self.nodes, self.constants, self.dims, self.opset, self.count = [], {}, dims, opset, 0

    def add(self, op, *inputs, **attributes):
        self.count += 1
        name = f"{op.lower()}_{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def ints(self, *values):
        name = "c" + "_".join(str(value).replace("-", "m") for value in values)
        self.constants[name] = np.array(values, np.int64)
        return name

    def size(self, x, axis):
        """One dim of `x`, as a list of one element."""
        return self.add("Gather", self.add("Shape", x), self.ints(axis), axis=0)

    def model(self, last):
        self.nodes.append(helper.make_node("Identity", [last], ["y"], name="last"))
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.dims)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8).SerializeToString()


def lacking(chain, x, axis, window):
    """The amount missing to a multiple of `window` along an axis."""
    rest = chain.add("Mod", chain.size(x, axis), chain.ints(window))
    return chain.add("Mod", chain.add("Sub", chain.ints(window), rest), chain.ints(window))


def padded_as_exported(chain, x, bottom, right):
    """The pads as torch's exporter writes them: its own order converted to ONNX's by reshaping, flipping and transposing."""
    own = chain.add("Concat", chain.ints(0), right, chain.ints(0), bottom, axis=0)
    more = chain.add("ConstantOfShape", chain.ints(4), value=numpy_helper.from_array(np.array([0])))
    pairs = chain.add("Reshape", chain.add("Concat", own, more, axis=0), chain.ints(-1, 2))
    flipped = chain.add("Slice", pairs, chain.ints(-1), chain.ints(-9223372036854775807), chain.ints(0), chain.ints(-1))
    pads = chain.add("Reshape", chain.add("Transpose", flipped, perm=[1, 0]), chain.ints(-1))
    return chain.add("Pad", x, chain.add("Cast", pads, to=TensorProto.INT64))


def windows(chain, x):
    """A shifted-window block (Swin) without its weights: padded, split into windows of 7 and merged again."""
    height, width = chain.size(x, 2), chain.size(x, 3)
    whole = padded_as_exported(chain, x, lacking(chain, x, 2, 7), lacking(chain, x, 3, 7))
    rolled = chain.add("Concat", chain.add("Slice", whole, chain.ints(3), chain.ints(9223372036854775807), chain.ints(2)), chain.add("Slice", whole, chain.ints(0), chain.ints(3), chain.ints(2)), axis=2)
    rows = chain.add("Div", chain.size(whole, 2), chain.ints(7))
    cut = chain.add("Reshape", rolled, chain.add("Concat", chain.ints(1), rows, chain.ints(7), chain.size(whole, 3), axis=0))
    back = chain.add("Reshape", chain.add("Neg", cut), chain.add("Concat", chain.ints(1), chain.ints(1), chain.add("Mul", rows, chain.ints(7)), chain.ints(-1), axis=0))
    low = chain.add("Slice", back, chain.ints(0), height, chain.ints(2))
    return chain.add("Slice", low, chain.ints(0), width, chain.ints(3))


def overlap(chain, x):
    """The smaller of two computed ends: such sizes do not cancel."""
    width = chain.size(x, 3)
    half = chain.add("Div", chain.add("Add", chain.add("Mul", width, chain.ints(3)), chain.ints(2)), chain.ints(4))
    end = chain.add("Min", half, chain.add("Sub", chain.add("Mul", chain.size(x, 2), chain.ints(5)), half))
    begin = chain.add("Max", chain.ints(0), chain.add("Sub", end, chain.ints(9)))
    part = chain.add("Slice", x, begin, end, chain.ints(3))
    return chain.add("Concat", part, x, axis=3)


def kept(chain, x):
    """As `overlap`, and back to about the original size."""
    more = overlap(chain, x)
    half = chain.add("Div", chain.add("Add", chain.size(more, 3), chain.ints(3)), chain.ints(2))
    return chain.add("Slice", more, chain.ints(0), chain.add("Max", half, chain.ints(2)), chain.ints(3))


def flattened(chain, x):
    """Rows and columns merged, and split again by the sizes of another value."""
    down = kept(chain, x)
    flat = chain.add("Reshape", down, chain.add("Concat", chain.ints(1), chain.add("Mul", chain.size(down, 2), chain.size(down, 3)), axis=0))
    return chain.add("Reshape", flat, chain.add("Shape", down))


STEPS = {"windows": windows, "kept": kept, "flattened": flattened}


def chain_of(step, depth, dims):
    chain = Chain(dims)
    x = "x"
    for _ in range(depth):
        x = STEPS[step](chain, x)
    return chain.model(x)


def picture(height, width):
    return (np.arange(height * width, dtype=np.float32) + 1).reshape(1, 1, height, width)


def same(engine, model, x):
    (expected,) = by_onnxruntime(model, {"x": x})
    got = engine({"x": x})["y"].numpy()
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("depth", [50])
@pytest.mark.parametrize("step", STEPS)
def test_known_sizes_are_numbers(step, depth):
    """Every value has a known size once the model is built."""
    model = chain_of(step, depth, (1, 1, 12, 10))
    engine = lanner.build(model, budget=0)
    same(engine, model, picture(12, 10))
    assert not [node for node in engine.explain()["nodes"] if node["backend"] == "interpreter"]


@pytest.mark.parametrize("depth", [50])
@pytest.mark.parametrize("step", STEPS)
def test_open_sizes_never_fail_a_build(step, depth, tmp_path):
    model = chain_of(step, depth, (1, 1, "h", "w"))
    engine = lanner.build(model, budget=0, profiles=[{"x": (1, 1, 12, 10)}])
    for height, width in ((12, 10), (14, 7), (9, 31)):
        same(engine, model, picture(height, width))
    engine.save(tmp_path / "m.plan")
    same(lanner.load(tmp_path / "m.plan"), model, picture(9, 31))


def test_three_hundred_steps():
    model = chain_of("kept", 300, (1, 1, "h", "w"))
    engine = lanner.build(model, budget=0, profiles=[{"x": (1, 1, 8, 8)}])
    same(engine, model, picture(8, 8))


@pytest.mark.parametrize("depth", [20])
@pytest.mark.parametrize("step", STEPS)
def test_data_dependent_sizes(step, depth):
    """The same, starting from a value with a data-dependent size."""
    chain = Chain((1, 1, "h", "w"))
    flat = chain.add("Compress", chain.add("Reshape", "x", chain.ints(-1)), chain.add("Greater", chain.add("Reshape", "x", chain.ints(-1)), "limit"), axis=0)
    chain.constants["limit"] = np.array(4.5, np.float32)
    x = chain.add("Reshape", flat, chain.ints(1, 1, 4, -1))
    for _ in range(depth):
        x = STEPS[step](chain, x)
    model = chain.model(x)
    engine = lanner.build(model, budget=0, profiles=[{"x": (1, 1, 6, 10)}])
    for height, width in ((6, 10), (4, 13)):
        same(engine, model, picture(height, width))
