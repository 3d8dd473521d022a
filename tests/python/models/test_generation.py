"""A decoder as used by ONNX Runtime's generators: a prompt, then token by token, with a cache that grows or is shared."""

import re

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import lanner

HIDDEN, HEADS, GROUPS, WIDTH, LAYERS, WORDS, BLOCK = 64, 4, 2, 16, 2, 50, 32
MICROSOFT = "com.microsoft"


class Writer:
    """Nodes and weights of a model, as the builder of onnxruntime-genai lays them out."""

    def __init__(self):
        self.random = np.random.default_rng(3)
        self.nodes, self.weights = [], []

    def node(self, op, inputs, outputs, domain=MICROSOFT, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def scale(self, name):
        return self.weight(name, self.random.uniform(0.5, 1.5, HIDDEN).astype(np.float32))

    def product(self, x, y, depth, columns):
        """A product with 4-bit weights."""
        blocks = depth // BLOCK
        numbers = self.weight(f"{y}.b", self.random.integers(0, 256, (columns, blocks, BLOCK // 2)).astype(np.uint8))
        scales = self.weight(f"{y}.scales", self.random.uniform(0.01, 0.03, (columns, blocks)).astype(np.float32))
        self.node("MatMulNBits", [x, numbers, scales], [y], K=depth, N=columns, bits=4, block_size=BLOCK)

    def layer(self, i, normalised, residual):
        n = f"layer{i}."
        self.product(normalised, n + "qkv", HIDDEN, (HEADS + 2 * GROUPS) * WIDTH)
        inputs = [n + "qkv", "", "", f"past.{i}.key", f"past.{i}.value", "lengths", "total", "cos", "sin"]
        outputs = [n + "attention", f"present.{i}.key", f"present.{i}.value"]
        self.node("GroupQueryAttention", inputs, outputs, num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)
        self.product(n + "attention", n + "o", HEADS * WIDTH, HIDDEN)
        self.node("SkipSimplifiedLayerNormalization", [residual, n + "o", self.scale(n + "norm")], [n + "n", "", "", n + "sum"], epsilon=1e-5)
        self.product(n + "n", n + "gate", HIDDEN, 2 * HIDDEN)
        self.product(n + "n", n + "up", HIDDEN, 2 * HIDDEN)
        self.node("QuickGelu", [n + "gate"], [n + "silu"], alpha=1.0)
        self.node("Mul", [n + "silu", n + "up"], [n + "wide"], domain="")
        self.product(n + "wide", n + "down", 2 * HIDDEN, HIDDEN)
        next_norm = self.scale(n + "next")
        self.node("SkipSimplifiedLayerNormalization", [n + "sum", n + "down", next_norm], [n + "out", "", "", n + "residual"], epsilon=1e-5)
        return n + "out", n + "residual"

    def lengths(self):
        """From the mask: each row's number of tokens minus one, and the length of the longest row."""
        self.node("ReduceSum", ["attention_mask", self.weight("one", np.array([1]))], ["sum"], domain="", keepdims=0)
        self.node("Sub", ["sum", "one"], ["less"], domain="")
        self.node("Cast", ["less"], ["lengths"], domain="", to=TensorProto.INT32)
        self.node("Shape", ["attention_mask"], ["shape"], domain="")
        self.node("Gather", ["shape", self.weight("second", np.array(1))], ["columns"], domain="")
        self.node("Cast", ["columns"], ["total"], domain="", to=TensorProto.INT32)


def decoder():
    writer = Writer()
    angles = np.arange(32)[:, None] / 100.0 ** (np.arange(WIDTH // 2) * 2 / WIDTH)
    writer.weight("cos", np.cos(angles).astype(np.float32))
    writer.weight("sin", np.sin(angles).astype(np.float32))
    writer.lengths()
    table = writer.weight("words", writer.random.standard_normal((WORDS, HIDDEN)).astype(np.float32))
    writer.node("Gather", [table, "input_ids"], ["embedded"], domain="")
    writer.node("SimplifiedLayerNormalization", ["embedded", writer.scale("first")], ["normalised"], domain="", epsilon=1e-5)
    x, residual = "normalised", "embedded"
    for i in range(LAYERS):
        x, residual = writer.layer(i, x, residual)
    writer.product(x, "logits", HIDDEN, WORDS)
    value = helper.make_tensor_value_info
    cache = {f"{layer}.{side}" for layer in range(LAYERS) for side in ("key", "value")}
    inputs = [value(name, TensorProto.INT64, ["batch", size]) for name, size in (("input_ids", "sequence"), ("attention_mask", "total_length"))]
    inputs += [value(f"past.{name}", TensorProto.FLOAT, ["batch", GROUPS, "past", WIDTH]) for name in sorted(cache)]
    outputs = [value("logits", TensorProto.FLOAT, ["batch", "sequence", WORDS])]
    outputs += [value(f"present.{name}", TensorProto.FLOAT, ["batch", GROUPS, "present", WIDTH]) for name in sorted(cache)]
    graph = helper.make_graph(writer.nodes, "decoder", inputs, outputs, writer.weights)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


@pytest.fixture(scope="module")
def model():
    return decoder()


@pytest.fixture(scope="module")
def oracle(model):
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def steps(prompt, count):
    """Tokens per step: the prompt, then one at a time."""
    random = np.random.default_rng(5)
    yield random.integers(0, WORDS, (2, prompt))
    for _ in range(count):
        yield random.integers(0, WORDS, (2, 1))


@pytest.mark.parametrize("capacity", [0, 12], ids=["growing", "shared"])
def test_a_decoder(model, oracle, capacity):
    engine = lanner.build(model, budget=0)
    names = [binding.name for binding in engine.outputs]
    cache = {value.name: np.zeros((2, GROUPS, capacity, WIDTH), np.float32) for value in oracle.get_inputs() if value.name.startswith("past")}
    seen = 0
    for tokens in steps(prompt=4, count=4):
        seen += tokens.shape[1]
        inputs = {"input_ids": tokens, "attention_mask": np.ones((2, seen), np.int64)} | cache
        got = engine(inputs)
        expected = dict(zip([value.name for value in oracle.get_outputs()], oracle.run(None, inputs), strict=True))
        for name in names:
            mine, other = got[name].numpy(), expected[name]
            assert mine.shape == other.shape
            if name != "logits":
                mine, other = mine[:, :, :seen], other[:, :, :seen]
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=2e-4)
        cache = {name: expected[name.replace("past", "present")] for name in cache}


def test_its_sizes_follow_from_its_inputs(model):
    """So memory is planned before the run, and no size is computed at run time."""
    engine = lanner.build(model, budget=0)
    names = set(re.findall(r"[a-z_]+", str([binding.shape for binding in engine.outputs])))
    assert names == {"batch", "sequence", "past", "total_length", "max"}
