"""Files written by ONNX Runtime's own tools: each imports, runs and agrees with ONNX Runtime."""

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime import quantization

import lanner

SHARED = Path(__file__).resolve().parents[4] / "shared"
ZOO = SHARED / "tools" / "zoo.py"
SIZES = {"batch": 2, "seq": 5, "dseq": 5, "eseq": 7, "past": 3, "total": 8}
NETWORKS = ["hf_bert", "hf_gpt2_past", "hf_llama_past", "hf_t5_decoder", "hf_siglip_vision", "tv_resnet50", "tv_mobilenet_v2", "timm_levit_128s"]
MICROSOFT = "com.microsoft"

pytestmark = pytest.mark.skipif(not ZOO.exists(), reason="no networks at ../shared/tools/zoo.py")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")

    def network(name):
        path = folder / f"{name}.onnx"
        if not path.exists():
            subprocess.run([sys.executable, ZOO, folder, name], check=True, capture_output=True)
        return path

    return network


@pytest.fixture(autouse=True)
def quiet():
    """Its tools emit many warnings."""
    onnxruntime.set_default_logger_severity(4)
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def session(path, level="ORT_DISABLE_ALL", written=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.log_severity_level = 4
    if written:
        options.optimized_model_filepath = str(written)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs_of(path, batch=None):
    random = np.random.default_rng(11)
    inputs = {}
    for value in session(path).get_inputs():
        shape = [SIZES[size] if isinstance(size, str) else size for size in value.shape]
        if batch and isinstance(value.shape[0], str):
            shape[0] = batch
        if value.type == "tensor(int64)":
            ones = "mask" in value.name
            inputs[value.name] = np.ones(shape, np.int64) if ones else random.integers(0, 2 if "type" in value.name else 100, shape)
        else:
            inputs[value.name] = random.standard_normal(shape).astype(np.float32)
    return inputs


def kinds(path):
    """Operators outside ONNX's own domain."""
    return {node.op_type for node in onnx.load(path, load_external_data=False).graph.node if node.domain == MICROSOFT}


def results(path, inputs):
    engine = lanner.build(path, budget=0)
    given = engine({binding.name: inputs[binding.name] for binding in engine.inputs})
    return {binding.name: given[binding.name].numpy() for binding in engine.outputs}


def error(got, expected):
    """The norm of the difference, relative to the norm of the expected result."""
    return np.linalg.norm(got.astype(np.float64) - expected) / max(np.linalg.norm(expected), 1e-6)


def assert_agrees(path, inputs, most, oracle=None):
    oracle = oracle or session(path)
    expected = dict(zip([value.name for value in oracle.get_outputs()], oracle.run(None, inputs), strict=True))
    for name, got in results(path, inputs).items():
        assert got.shape == expected[name].shape
        assert error(got, expected[name]) < most, name


@pytest.mark.parametrize("name", NETWORKS)
def test_optimised(zoo, tmp_path, name):
    path, written = zoo(name), tmp_path / "extended.onnx"
    session(path, "ORT_ENABLE_EXTENDED", written)
    assert kinds(written)
    assert_agrees(written, inputs_of(path), 1e-4, session(path))


@pytest.mark.parametrize("name", ["hf_bert", "tv_mobilenet_v2"])
def test_optimised_for_one_machine(zoo, tmp_path, name):
    """Machine-specific layouts are refused; without them such a file is like any other."""
    path, written = zoo(name), tmp_path / "all.onnx"
    session(path, "ORT_ENABLE_ALL", written)
    if any(node.domain.endswith("nchwc") for node in onnx.load(written).graph.node):
        with pytest.raises(lanner.Unsupported, match="ORT_ENABLE_EXTENDED"):
            lanner.build(written, budget=0)
    else:
        assert_agrees(written, inputs_of(path), 1e-4, session(path))


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, inputs):
        self.given = iter(inputs)

    def get_next(self):
        return next(self.given, None)


@pytest.fixture(scope="module")
def quantised(zoo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantised")

    def network(name, form, each):
        path = folder / f"{name}.{form}.{each}.onnx"
        if not path.exists():
            quantization.quantize_static(
                zoo(name),
                path,
                Calibration([inputs_of(zoo(name), batch=1)]),
                quant_format=quantization.QuantFormat[form],
                per_channel=each,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
                reduce_range=True,  # as ONNX Runtime advises for CPUs with AVX2 only, where two 8-bit products overflow
            )
        return path

    return network


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_EXTENDED"])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("name", ["tv_mobilenet_v2", "timm_levit_128s"])
def test_quantised_by_calibration(quantised, tmp_path, name, form, level):
    path = quantised(name, form, each=form == "QDQ")
    if level != "ORT_DISABLE_ALL":
        written = tmp_path / "written.onnx"
        session(path, level, written)
        path = written
    assert form == "QDQ" or kinds(path)
    # An early rounding difference of one 8-bit step is visible at the end: ONNX Runtime's own levels of
    # optimisation differ by 0.13 for LeViT.
    assert_agrees(path, inputs_of(path, batch=1), 0.3)


DYNAMIC = ["hf_bert", "hf_gpt2_past", "hf_llama_past", "hf_t5_decoder", "cl_lstm_tagger"]


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_EXTENDED"])
@pytest.mark.parametrize("name", DYNAMIC)
def test_quantised_while_running(zoo, tmp_path, name, level):
    path, written = tmp_path / "dynamic.onnx", tmp_path / "written.onnx"
    quantization.quantize_dynamic(zoo(name), path, reduce_range=True)
    if level != "ORT_DISABLE_ALL":
        session(path, level, written)
        assert kinds(written)
        path = written
    assert_agrees(path, inputs_of(path), 0.05)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("name", "operators"), [("hf_llama_past", ["MatMul"]), ("hf_bert", ["MatMul", "Gather"])])
def test_weights_of_four_bits(zoo, tmp_path, name, operators, symmetric):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    path = tmp_path / "four_bits.onnx"
    quantiser = MatMulNBitsQuantizer(onnx.load(zoo(name)), block_size=32, is_symmetric=symmetric, op_types_to_quantize=operators)
    quantiser.process()
    quantiser.model.save_model_to_file(str(path))
    assert kinds(path) == ({"MatMulNBits"} if len(operators) == 1 else {"MatMulNBits", "GatherBlockQuantized"})
    assert_agrees(path, inputs_of(path), 1e-3)


@pytest.mark.parametrize(
    ("name", "kind"), [("hf_bert", "bert"), ("hf_gpt2_past", "gpt2"), ("hf_t5_decoder", "t5"), ("hf_siglip_vision", "clip"), ("hf_llama_past", "gpt2")]
)
def test_optimised_as_a_transformer(zoo, tmp_path, name, kind):
    from onnxruntime.transformers.optimizer import optimize_model

    path = tmp_path / "transformer.onnx"
    optimize_model(str(zoo(name)), model_type=kind, num_heads=4, hidden_size=256, opt_level=0).save_model_to_file(str(path))
    assert kinds(path)
    assert_agrees(path, inputs_of(zoo(name)), 1e-4, session(zoo(name)))
