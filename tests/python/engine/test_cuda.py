"""Whole networks on a GPU. Skipped, with the reason, where there is none."""

import importlib.util
import subprocess
import sys

import lanner
import numpy as np
import pytest
from command import DATA, ROOT

ort = pytest.importorskip("onnxruntime")
GPU = "cuda:0"


def reason_for_no_gpu() -> str:
    try:
        lanner.Tensor(np.zeros(1, np.float32)).to(GPU)
    except lanner.Error as error:
        return str(error)
    return ""


pytestmark = pytest.mark.skipif(bool(reason_for_no_gpu()), reason=f"no GPU: {reason_for_no_gpu()}")

# Largest difference from onnxruntime on the CPU, as a share of the largest value.
TOLERANCE = {"fp32": 2e-5, "fp16": 5e-3}
NETWORKS = ["resnet50", "mobilenet_v2", "mlp"]


@pytest.fixture(scope="session")
def networks(tmp_path_factory):
    script = ROOT.parent / "shared" / "tools" / "make_nets.py"
    if not script.exists():
        pytest.skip("../shared/tools is not here: the standard networks are made there")
    folder = tmp_path_factory.mktemp("nets")
    subprocess.run([sys.executable, script, folder, *NETWORKS], check=True, stdout=subprocess.DEVNULL)
    return folder


def difference(found, expected):
    return np.abs(found.astype(np.float32) - expected.astype(np.float32)).max() / np.abs(expected).max()


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("name", NETWORKS)
def test_cuda_networks_agree_with_the_cpu(networks, name, precision):
    path = networks / f"{name}.onnx"
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    shape = [2 if isinstance(size, str) else size for size in given.shape]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    expected = session.run(None, {given.name: x})[0]
    engine = lanner.build(path, device=GPU, precision=precision, budget=0, shapes={given.name: tuple(shape)})
    context = engine.create_context()
    for _ in range(3):  # the second run is recorded, the third replays it
        result = next(iter(context({given.name: x}).values())).numpy()
        assert difference(result, expected) < TOLERANCE[precision]
    backends = {(node["backend"], node["kernel"]) for node in engine.explain()["nodes"]}
    assert {backend for backend, _ in backends} <= {"cuda", "alias"}, backends
    assert not any(kernel.startswith("copy_to") for _, kernel in backends)


def test_cuda_squeezenet_classifies_the_orange(tmp_path):
    model = DATA / "models" / "squeezenet_fp16.onnx"
    if not model.exists():
        pytest.skip("../shared/data is not here")
    labels = (DATA / "models" / "imagenet_labels.txt").read_text().splitlines()
    try:
        picture = lanner.load_image(DATA / "models" / "orange.png")
    except lanner.Unsupported as error:
        pytest.skip(str(error))
    preset = lanner.Preprocess(preset="caffe", size=(224, 224), dtype="float16")
    engine = lanner.build(model, device=GPU, budget=0, preprocess={"data_0": preset})
    engine.save(tmp_path / "orange.plan")
    for one in (engine, lanner.load(tmp_path / "orange.plan")):
        scores = next(iter(one({"data_0": picture}).values())).numpy().ravel()
        assert "orange" in labels[scores.argmax()]
        assert abs(float(scores.max()) - 0.98) < 0.02


def test_cuda_out_of_memory_fails_only_that_call(networks):
    engine = lanner.build(networks / "mlp.onnx", device=GPU, budget=0)
    name = engine.inputs[0].name
    context = engine.create_context()
    x = np.ones([size if isinstance(size, int) else 1 for size in engine.inputs[0].shape], np.float32)
    before = next(iter(context({name: x}).values())).numpy()
    with pytest.raises(lanner.OutOfMemory, match="cuda:0"):
        fill_the_gpu()
    after = next(iter(context({name: x}).values())).numpy()
    assert (before == after).all()


def fill_the_gpu():
    held = []
    block = lanner.Tensor(np.empty(1 << 32, np.uint8))
    while True:
        held.append(block.to(GPU))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_cuda_shares_memory_and_streams_with_torch(networks):
    import torch

    engine = lanner.build(networks / "mlp.onnx", device=GPU, budget=0)
    name, result = engine.inputs[0].name, engine.outputs[0].name
    shape = [size if isinstance(size, int) else 1 for size in engine.inputs[0].shape]
    x = torch.randn(shape, device="cuda")
    expected = torch.as_tensor(engine({name: x.cpu().numpy()})[result].numpy())
    context = engine.create_context()
    got = torch.from_dlpack(context({name: x})[result])
    assert got.is_cuda
    torch.testing.assert_close(got.cpu(), expected, rtol=1e-4, atol=1e-5)
    stream = torch.cuda.Stream()
    own = torch.zeros_like(got)
    for _ in range(4):
        context.enqueue({name: x}, stream.cuda_stream, outputs={result: own})
    stream.synchronize()
    torch.testing.assert_close(own.cpu(), expected, rtol=1e-4, atol=1e-5)
