"""Files as quantisers write them, beside ONNX Runtime: torch.ao's exported graphs, NNCF's, ONNX Runtime's own in 16 and 4 bits."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from single_node import by_lanner, by_onnxruntime

STEP = 0.2  # of the results of torch_ao()


class Graph:
    """Nodes and constants of a model whose input is x and whose output is y."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], {}

    def normal(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{output}_{op}", **attributes))
        return output

    def constant(self, name, value):
        self.constants[name] = np.asarray(value)
        return name

    def model(self, x, y, opset):
        tensors = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", x), ("y", y))]
        graph = helper.make_graph(self.nodes, "net", infos[:1], infos[1:], tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


class TorchAo(Graph):
    """Values in u8 or s8 with any zero point, weights by channel along axis 0, biases in f32 or of dequantised i32. `narrow`: 7 bits, which
    a Clip between the two nodes bounds."""

    def __init__(self, kind=np.uint8, weights=np.int8, channels=True, bias="f32", narrow=False):
        super().__init__()
        self.kind, self.weight_kind, self.channels, self.bias_kind, self.narrow = kind, weights, channels, bias, narrow
        self.scales = {}

    def rounded(self, x, name, reach, zero):
        scale, zero = reach / (127 if self.narrow else 255), self.kind(zero // 2 if self.narrow else zero)
        self.scales[name] = np.float32(scale)
        parameters = [self.constant(f"{name}_s", np.float32(scale)), self.constant(f"{name}_z", zero)]
        stored = self.node("QuantizeLinear", [x, *parameters], f"{name}_q")
        if self.narrow:
            ends = [self.constant(f"{name}_{end}", self.kind(value)) for end, value in (("least", 0), ("most", 127))]
            stored = self.node("Clip", [stored, *ends], f"{name}_c")
        return self.node("DequantizeLinear", [stored, *parameters], name)

    def weights(self, name, value):
        most = np.abs(value).reshape(len(value), -1).max(1) if self.channels else np.abs(value).max()
        scale, zero = np.float32(most / 127), 128 if self.weight_kind == np.uint8 else 0
        spread = scale.reshape(-1, *[1] * (value.ndim - 1)) if self.channels else scale
        self.scales[name] = scale
        inputs = [
            self.constant(f"{name}_q", (np.rint(value / spread) + zero).astype(self.weight_kind)),
            self.constant(f"{name}_s", scale),
            self.constant(f"{name}_z", np.full(scale.shape, zero, self.weight_kind)),
        ]
        return self.node("DequantizeLinear", inputs, name, **({"axis": 0} if self.channels else {}))

    def bias(self, name, size, x, weights):
        value = self.normal(size, scale=0.2)
        if self.bias_kind == "f32":
            return self.constant(name, value)
        scale = np.float32(self.scales[x] * self.scales[weights])
        inputs = [self.constant(f"{name}_q", np.rint(value / scale).astype(np.int32)), self.constant(f"{name}_s", scale)]
        if self.bias_kind == "zero point":
            inputs.append(self.constant(f"{name}_z", np.zeros(scale.shape, np.int32)))
        return self.node("DequantizeLinear", inputs, name, **({"axis": 0} if self.channels else {}))

    def conv(self, x, name, shape, **attributes):
        weights = self.weights(f"{name}_w", self.normal(*shape, scale=0.3))
        return self.node("Conv", [x, weights, self.bias(f"{name}_b", shape[0], x, weights)], name, **attributes)


def torch_ao(zero=117, gemm=True, opset=13, **kinds):
    g = TorchAo(**kinds)
    first = g.conv(g.rounded("x", "x0", 8, zero), "c1", (16, 3, 3, 3), pads=[1] * 4, strides=[2, 2])
    least = 0 if g.kind == np.uint8 else -128
    x1 = g.rounded(g.node("Relu", [first], "r1"), "x1", 6, least)
    depthwise = g.conv(x1, "c2", (16, 1, 3, 3), pads=[1] * 4, group=16)
    ends = [g.constant("nothing", np.float32(0)), g.constant("six", np.float32(6))]
    x2 = g.rounded(g.node("Clip", [depthwise, *ends], "r2"), "x2", 6, least)
    x3 = g.rounded(g.conv(x2, "c3", (16, 16, 1, 1)), "x3", 12, 120 + least)
    x4 = g.rounded(g.node("Add", [x3, x1], "sum"), "x4", 16, 100 + least)
    x5 = g.rounded(g.node("GlobalAveragePool", [x4], "mean"), "x5", 16, 100 + least)
    rows, weights = g.node("Flatten", [x5], "rows"), g.weights("w4", g.normal(10, 16, scale=0.3))
    g.scales["rows"] = g.scales["x5"]
    bias = g.bias("b4", 10, "rows", weights)
    if gemm:
        logits = g.node("Gemm", [rows, weights, bias], "logits", transB=1)
    else:
        product = g.node("MatMul", [rows, g.node("Transpose", [weights], "turned", perm=[1, 0])], "product")
        logits = g.node("Add", [product, bias], "logits")
    g.node("DequantizeLinear", [g.node("QuantizeLinear", [logits, g.constant("ys", np.float32(STEP)), g.constant("yz", g.kind(60))], "yq"), "ys", "yz"], "y")
    return g.model(["n", 3, 24, 20], ["n", 10], opset)


KINDS = [
    {},
    {"zero": 0},
    {"zero": 255},
    {"channels": False},
    {"bias": "i32"},
    {"bias": "zero point"},
    {"channels": False, "bias": "i32"},
    {"narrow": True},
    {"narrow": True, "bias": "i32"},
    {"weights": np.uint8},
    {"gemm": False},
    {"kind": np.int8, "zero": -3},
    {"opset": 21},
]


@pytest.mark.parametrize("batch", [0, 1, 2, 33])
@pytest.mark.parametrize("kinds", KINDS, ids=str)
def test_torch_ao(kinds, batch):
    model = torch_ao(**kinds).SerializeToString()
    x = {"x": np.random.default_rng(3).standard_normal((batch, 3, 24, 20), np.float32)}
    (got,), (expected,) = by_lanner(model, x), by_onnxruntime(model, x)
    assert got.shape == expected.shape
    steps = np.abs(got - expected) / STEP
    assert steps.size == 0 or steps.max() < 1.01


def layers(opset):
    """Convolutions with a residual sum, pools and a product, in FP32."""
    g = Graph(4)

    def conv(x, name, channels, outputs, **attributes):
        weights = g.constant(f"{name}_w", g.normal(outputs, channels, 3, 3, scale=(9 * channels / 2) ** -0.5))
        made = g.node("Conv", [x, weights, g.constant(f"{name}_b", g.normal(outputs, scale=0.2))], f"{name}_c", pads=[1] * 4, **attributes)
        return g.node("Relu", [made], name)

    first = conv("x", "a", 3, 16, strides=[2, 2])
    total = g.node("Add", [first, conv(first, "b", 16, 16)], "sum")
    pooled = g.node("MaxPool", [conv(total, "c", 16, 24)], "pooled", kernel_shape=[2, 2], strides=[2, 2])
    rows = g.node("Flatten", [g.node("GlobalAveragePool", [pooled], "mean")], "rows")
    g.node("Gemm", [rows, g.constant("fc_w", g.normal(10, 24, scale=0.3)), g.constant("fc_b", g.normal(10))], "y", transB=1)
    return g.model([2, 3, 24, 20], [2, 10], opset)


def batches():
    random = np.random.default_rng(6)
    return [{"x": random.standard_normal((2, 3, 24, 20), np.float32)} for _ in range(4)]


def near(model):
    """The results are those of ONNX Runtime but for what a few rounded ties make of them."""
    for batch in batches():
        (got,), (expected,) = by_lanner(model, batch), by_onnxruntime(model, batch)
        np.testing.assert_allclose(got, expected, rtol=0, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize(("values", "weights"), [("QUInt16", "QInt8"), ("QInt16", "QInt8"), ("QInt16", "QInt16"), ("QUInt8", "QInt4"), ("QUInt8", "QUInt4"), ("QUInt8", "QUInt8")])
def test_16_and_4_bits_of_onnxruntime(tmp_path, values, weights, channels):
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.batches = iter(batches())

        def get_next(self):
            return next(self.batches, None)

    onnx.save(layers(21), tmp_path / "net.onnx")
    types = {"activation_type": quantization.QuantType[values], "weight_type": quantization.QuantType[weights]}
    quantization.quantize_static(tmp_path / "net.onnx", tmp_path / "quantised.onnx", Reader(), per_channel=channels, **types)
    near((tmp_path / "quantised.onnx").read_bytes())


def test_nncf():
    nncf = pytest.importorskip("nncf", reason="NNCF is not installed")
    made = nncf.quantize(layers(13), nncf.Dataset(batches()), subset_size=4)
    assert any(node.op_type == "QuantizeLinear" for node in made.graph.node)
    near(made.SerializeToString())


@pytest.mark.parametrize("mode", ["INT8_SYM", "INT8_ASYM", "INT4_SYM", "INT4_ASYM"])
def test_weights_compressed_by_nncf(mode):
    nncf = pytest.importorskip("nncf", reason="NNCF is not installed")
    g = Graph(7)
    g.node("Relu", [g.node("MatMul", ["x", g.constant("w", g.normal(128, 96))], "m")], "y")
    options = {} if "8" in mode else {"group_size": 32, "all_layers": True}
    made = nncf.compress_weights(g.model(["n", 128], ["n", 96], 21), mode=nncf.CompressWeightsMode[mode], **options).SerializeToString()
    for rows in (1, 9):
        x = {"x": g.normal(rows, 128)}
        (got,) = by_lanner(made, x)
        np.testing.assert_allclose(got, by_onnxruntime(made, x)[0], rtol=1e-4, atol=1e-4 * np.abs(got).max())
