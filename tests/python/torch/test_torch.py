"""PyTorch and Keras: lanner.build of a module. Skipped where torch is not installed."""

import importlib
import os
import subprocess
import sys
import warnings

import lanner
import pytest
from command import BUILD
from torch_support import QUICK, STRICT, Small, agree, fresh, image, nn, run, small, torch
from lanner._torch import export  # Behind the line that skips where torch is not installed.

pytestmark = STRICT


def test_lanner_does_not_import_torch():
    program = "import sys, lanner; sys.exit('torch' in sys.modules or 'onnxscript' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])}
    assert subprocess.run([sys.executable, "-c", program], check=False, env=environment).returncode == 0


def test_a_module_becomes_an_engine(small):
    engine = lanner.build(small, image(), **QUICK)
    assert [binding.name for binding in engine.inputs] == ["image"]
    assert engine.inputs[0].shape == (2, 3, 8, 8)
    x = image()
    agree(run(engine, x)["output"], small(x).detach())
    assert engine.name == "Small" and engine.explain()["target"]["device"] == "cpu"
    with pytest.raises(BufferError, match="detach"):  # torch's own
        engine({"image": image(requires_grad=True)})


class Several(nn.Module):
    def forward(self, left, right=None, *, scale):
        total = left * scale if right is None else left + right * scale
        return {"sum": total, "parts": (total - 1, [total + 1])}


@pytest.mark.parametrize("names", [("left", "scale"), ("left", "right", "scale")])
def test_arguments_by_name_and_outputs_by_key(names):
    example = {name: torch.tensor(2.0) if name == "scale" else torch.ones(2, 3) for name in names}
    engine = lanner.build(Several().eval(), example, **QUICK)
    assert [binding.name for binding in engine.inputs] == list(example)
    assert [binding.name for binding in engine.outputs] == ["sum", "parts.0", "parts.1.0"]
    given = {name: torch.randn(value.shape) for name, value in example.items()}
    found, expected = run(engine, **given), Several()(**given)
    agree(found["sum"], expected["sum"])
    agree(found["parts.1.0"], expected["parts"][1][0])


class Tuple(nn.Module):
    def forward(self, output):
        return output + 1, output, output * 2


def test_outputs_of_a_tuple_have_numbers():
    engine = lanner.build(Tuple().eval(), (torch.ones(2),), **QUICK)
    names = [binding.name for binding in engine.outputs]
    assert names[0] == "output_0" and names[2] == "output_2"
    found = run(engine, torch.tensor([3.0, 4.0]))
    assert [found[name].tolist() for name in names] == [[4, 5], [3, 4], [6, 8]]


def test_open_sizes_are_tuned_for_the_example_within_their_range(small):
    batch = torch.export.Dim("batch", min=1, max=4)
    engine = lanner.build(small, image(2), dynamic_shapes={"image": {0: batch}}, **QUICK)
    assert engine.inputs[0].shape == ("batch", 3, 8, 8)
    assert engine.explain()["profiles"] == [{"image": {"min": [1, 3, 8, 8], "opt": [2, 3, 8, 8], "max": [4, 3, 8, 8]}}]
    for number in (1, 2, 4):
        x = image(number)
        agree(run(engine, x)["output"], small(x).detach())
    with pytest.raises(lanner.InvalidArgument, match="image"):
        run(engine, image(5))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        free = lanner.build(small, image(2), dynamic_shapes=({0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC},), **QUICK)
        for x in (image(1), image(7), torch.randn(2, 3, 13, 8)):
            agree(run(free, x)["output"], small(x).detach())


def test_an_exported_program_becomes_an_engine(small):
    x = image()
    engine = lanner.build(torch.export.export(small, (x,)), **QUICK)
    agree(run(engine, x)["output"], small(x).detach())
    with pytest.raises(lanner.InvalidArgument, match="settled"):
        lanner.build(torch.export.export(small, (x,)), (x,))


def test_a_compiled_module_becomes_an_engine(small):
    x = image()
    agree(run(lanner.build(torch.compile(small), x, **QUICK), x)["output"], small(x).detach())


def test_large_modules_go_through_a_file(small, monkeypatch):
    monkeypatch.setattr(export, "LARGE", 0)
    x = image()
    agree(run(lanner.build(small, x, **QUICK), x)["output"], small(x).detach())


def test_weights_keep_their_names(small):
    engine = lanner.build(small, image(), **QUICK)
    assert set(engine.weights) == {name for name in small.state_dict() if "num_batches" not in name}
    other, x = Small().eval(), image()
    agree(run(engine.refit({name: other.state_dict()[name] for name in engine.weights}), x)["output"], other(x).detach())


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_sixteen_bit_modules_compute_in_sixteen_bits(kind):
    dtype = getattr(torch, kind)
    model, x = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)).eval(), torch.randn(3, 16)
    expected = model(x).detach()
    engine = lanner.build(model.to(dtype), x.to(dtype), **QUICK)
    assert engine.inputs[0].dtype == {"float16": "f16", "bfloat16": "bf16"}[kind]
    result = engine({engine.inputs[0].name: x.to(dtype)})["output"]
    agree(torch.from_dlpack(result), expected, 0.03)


class Branches(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


def test_errors_of_a_build(small, tmp_path, monkeypatch):
    with pytest.raises(lanner.InvalidArgument, match="build Small: .* give example_inputs"):
        lanner.build(small)
    with pytest.raises(TypeError, match="'fp16' has no name"):
        lanner.build(small, image(), "fp16")
    with pytest.raises(TypeError, match="unknown option 'budgets'"):
        lanner.build(small, image(), budgets=1)
    for name in ("example_inputs", "dynamic_shapes"):
        with pytest.raises(TypeError, match=f"{name}: expected"):
            lanner.build(b"no model", **{name: (1,)})
    with pytest.raises(Exception, match="(?s)[Dd]ata.dependent") as kept:  # torch's own
        lanner.build(Branches().eval(), torch.ones(2))
    assert type(kept.value).__module__.startswith("torch.")
    with pytest.raises(lanner.Unsupported, match="lies on meta"):
        lanner.build(Small().eval().to("meta"), image(device="meta"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    with pytest.raises(lanner.NotFound, match="pip install onnxscript"):
        lanner.build(small, image())


def test_a_module_on_two_devices_asks_for_the_device():
    class Placed:
        def __init__(self, device):
            self.device = device

    with pytest.raises(lanner.InvalidArgument, match="lie on cuda:0, cuda:1; .* device="):
        export.device_of([Placed("cuda:1"), Placed("cuda:0")])
    assert export.device_of([]) == export.device_of([Placed("cpu")]) == "cpu"
    assert export.device_of([Placed("cuda:3")]) == "cuda:3"


class Asked:
    """A tensor that claims to be on a GPU and records the DLPack request."""

    def __init__(self):
        self.request = None

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **request):
        self.request = request
        raise KeyError("asked")


@pytest.mark.parametrize("stream, told", [(0, 1), (77, 77)])
def test_the_stream_of_a_run_is_passed_to_dlpack_producers(small, stream, told):
    engine, asked = lanner.build(small, image(), **QUICK), Asked()
    for call in (engine, engine.create_context()):
        with pytest.raises(KeyError):
            call({"image": asked}, stream=stream)
        assert asked.request["stream"] == told


def test_a_keras_model_becomes_an_engine():
    """Uses Keras with the torch backend, which exports through torch."""
    if importlib.util.find_spec("keras") is None:
        pytest.skip("keras is not installed")
    program = """
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras, lanner, numpy as np
model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(2)])
x = np.random.default_rng(0).standard_normal((1, 8, 8, 3)).astype("float32")
expected = model.predict(x, verbose=0)
engine = lanner.build(model, device="cpu", budget=0)
found = next(iter(engine({engine.inputs[0].name: x}).values())).numpy()
np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
try:
    lanner.build(model, example_inputs=x)
except TypeError as error:
    assert "example_inputs" in str(error)
else:
    raise AssertionError("example_inputs were taken")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", program], check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
