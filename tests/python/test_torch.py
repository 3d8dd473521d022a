"""PyTorch: lanner.build of a module, torch.compile(backend="lanner"). Skipped where torch is not installed; parts on a GPU where there is none."""

import importlib
import logging
import os
import subprocess
import sys
import threading
import tomllib
import warnings

import lanner
import numpy as np
import pytest
from command import BUILD, ROOT

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch's exporter needs it")
import lanner.torch  # noqa: E402
from lanner._torch import decompositions, export, nodes, part  # noqa: E402
from torch import nn  # noqa: E402

QUICK = {"budget": 0}
pytestmark = [
    pytest.mark.filterwarnings("error:torch.compile:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Exporting a model while it is in training mode"),
]


def gpu_reason():
    if not torch.cuda.is_available():
        return "no GPU for torch"
    try:
        lanner.Tensor(np.zeros(1, np.float32)).to("cuda:0")
    except lanner.Error as error:
        return f"no GPU for Lanner: {error}"
    return ""


GPU = pytest.param("cuda", marks=pytest.mark.skipif(bool(gpu_reason()), reason=gpu_reason() or "-"))
on_gpu = pytest.mark.skipif(bool(gpu_reason()), reason=gpu_reason() or "-")


class Small(nn.Module):
    """A convolution with batch normalization behind it, and a product."""

    def __init__(self, channels=3):
        super().__init__()
        self.conv = nn.Conv2d(channels, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 5)
        nn.init.uniform_(self.norm.weight, 0.5, 2)
        nn.init.normal_(self.norm.bias)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, image):
        return self.fc(torch.relu(self.norm(self.conv(image))).mean((2, 3)))


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    torch._dynamo.reset()


@pytest.fixture
def small():
    return Small().eval()


def image(batch=2, size=8, channels=3, **options):
    return torch.randn(batch, channels, size, size, **options)


def agree(found, expected, tolerance=1e-5):
    found, expected = torch.as_tensor(found).float().cpu(), torch.as_tensor(expected).float().cpu()
    assert found.shape == expected.shape
    assert (found - expected).abs().max() <= tolerance * max(expected.abs().max(), 1e-3)


def run(engine, *values, **named):
    inputs = {binding.name: value for binding, value in zip(engine.inputs, values, strict=False)} | named
    return {name: torch.from_dlpack(value) for name, value in engine(inputs).items()}


def compiled(module, **options):
    chosen = {**QUICK, **options.pop("options", {})}
    return torch.compile(module, backend="lanner", options=chosen, **options)


@pytest.fixture
def said(caplog):
    """What torch.compile said of graphs that stay in torch with nothing."""
    caplog.set_level(logging.INFO, "lanner")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "lanner"]


# lanner.build


def test_lanner_does_not_import_torch():
    program = "import sys, lanner; sys.exit('torch' in sys.modules or 'onnxscript' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
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


@pytest.mark.parametrize("example", [{"left": torch.ones(2, 3), "scale": torch.tensor(2.0)}, {"left": torch.ones(2, 3), "right": torch.ones(2, 3), "scale": torch.tensor(2.0)}])
def test_arguments_by_name_and_outputs_by_key(example):
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


def test_open_sizes_are_tuned_for_the_example_and_keep_to_their_range(small):
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
def test_halves_compute_in_halves(kind):
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


def test_a_module_in_two_places_asks_for_the_device():
    class Placed:
        def __init__(self, device):
            self.device = device

    with pytest.raises(lanner.InvalidArgument, match="lie on cuda:0, cuda:1; .* device="):
        export.device_of([Placed("cuda:1"), Placed("cuda:0")])
    assert export.device_of([]) == export.device_of([Placed("cpu")]) == "cpu"
    assert export.device_of([Placed("cuda:3")]) == "cuda:3"


class Asked:
    """What says that it is on a GPU, and how it was asked for."""

    def __init__(self):
        self.request = None

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **request):
        self.request = request
        raise KeyError("asked")


@pytest.mark.parametrize("stream, told", [(0, 1), (77, 77)])
def test_the_stream_of_a_run_is_told_to_who_made_its_inputs(small, stream, told):
    engine, asked = lanner.build(small, image(), **QUICK), Asked()
    for call in (engine, engine.create_context()):
        with pytest.raises(KeyError):
            call({"image": asked}, stream=stream)
        assert asked.request["stream"] == told


# torch.compile


def test_torch_finds_the_backend():
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["torch_dynamo_backends"]
    module, _, name = entries["lanner"].partition(":")
    assert getattr(importlib.import_module(module), name) is lanner.torch.backend
    assert torch._dynamo.lookup_backend("lanner") is lanner.torch.backend
    assert importlib.reload(lanner.torch)  # Registers once.


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_a_compiled_module_runs_in_one_engine(small, said, context):
    fast, x, other = compiled(small), image(), image()
    with context():
        for given in (x, other):
            agree(fast(given), small(given))
    assert said() == ["torch.compile: 5 of 5 nodes of a graph run in 1 engine on cpu"]


def test_sizes_that_change_are_compiled_once_more(small, said):
    fast = compiled(small)
    with torch.no_grad():
        for number in (2, 3, 5, 4, 9):
            x = image(number)
            agree(fast(x), small(x))
    assert len(said()) == 2 and all("5 of 5" in line for line in said())


@pytest.mark.parametrize("how", ["marked", "dynamic"])
def test_sizes_that_are_marked_are_compiled_once(small, said, how):
    fast = compiled(small, dynamic=True if how == "dynamic" else None)
    with torch.no_grad():
        for number in (4, 2, 7):
            x = image(number)
            if how == "marked":
                torch._dynamo.mark_dynamic(x, 0)
            agree(fast(x), small(x))
    assert len(said()) == 1


class Inverse(nn.Module):
    """torch's exporter has no inverse of a matrix."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.after(torch.linalg.inv(torch.relu(self.before(x)) + 3 * torch.eye(4)))


def test_what_no_engine_takes_stays_in_torch_and_is_counted():
    model, x = Inverse().eval(), torch.randn(2, 4, 4)
    fast = compiled(model)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"of \d+ nodes of a graph run in 2 engines on cpu; torch runs .*linalg_inv_ex.default \(1\)"):
            found = fast(x)
        agree(found, model(x), 1e-4)
        agree(fast(x + 1), model(x + 1), 1e-4)


class Crossed(nn.Module):
    """Two ways through what no engine takes, beside one that needs it not."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        first = torch.linalg.inv(self.layers[0](x) + 9 * torch.eye(4))
        second = torch.linalg.inv(self.layers[1](first) + 9 * torch.eye(4))
        return self.layers[2](second) + torch.relu(x), self.layers[3](x)


def test_as_few_engines_as_turns_of_torch():
    model, x = Crossed().eval(), torch.randn(2, 4, 4)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"run in 3 engines on cpu; torch runs .*linalg_inv_ex.default \(2\)"):
            found = compiled(model)(x)
        for one, other in zip(found, model(x), strict=True):
            agree(one, other, 1e-4)


def test_what_the_exporter_refuses_is_found_and_stays_in_torch(monkeypatch):
    monkeypatch.setattr(nodes, "exporters", lambda: lambda target: True)
    model, x = Inverse().eval(), torch.randn(2, 4, 4)
    fast = compiled(model)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"run in 2 engines on cpu; torch runs .*linalg_inv_ex.default \(1\)"):
            found = fast(x)
        agree(found, model(x), 1e-4)
        agree(fast(x + 1), model(x + 1), 1e-4)


def test_what_cannot_be_built_together_stays_in_torch_with_the_reason(small, monkeypatch):
    def broken(self, *_):
        raise lanner.Unsupported("no such engine\nsecond line")

    monkeypatch.setattr(part.Part, "_build", broken)
    fast, x = compiled(small), image()
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="0 of 5 nodes of a graph run in 0 engines on cpu; torch runs .*; no such engine$"):
            agree(fast(x), small(x))


def test_each_set_of_sizes_has_an_engine_where_open_sizes_have_none(small, said, monkeypatch):
    build = part.Part._build

    def fixed_only(self, arguments, wanted, fixed):
        if fixed is None:
            raise ValueError("open sizes")
        return build(self, arguments, wanted, fixed)

    monkeypatch.setattr(part.Part, "_build", fixed_only)
    monkeypatch.setattr(part, "MOST_FIXED", 2)
    fast = compiled(small, dynamic=True)
    with torch.no_grad():
        for number in (2, 3, 2):
            x = image(number)
            agree(fast(x), small(x))
        assert said() == ["torch.compile: 5 of 5 nodes of a graph run in 1 engine on cpu"]
        x = image(4)
        with pytest.warns(RuntimeWarning, match="torch runs .*an engine for each set of sizes"):
            agree(fast(x), small(x))
        agree(fast(x), small(x))  # Said once.


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_gradients_stay_in_torch(small, mode):
    small.train(mode == "train")
    fast, x = compiled(small), image()
    with pytest.warns(RuntimeWarning, match="nodes of a graph stay in torch: gradients are wanted"):
        fast(x).sum().backward()
    found = small.conv.weight.grad.clone()
    small.zero_grad()
    small(x).sum().backward()
    agree(found, small.conv.weight.grad)


def test_what_is_random_follows_torchs_seed():
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8)).train(), torch.randn(4, 8)
    fast = compiled(model)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="torch runs "):
            torch.manual_seed(3)
            found = fast(x)
        torch.manual_seed(3)
        agree(found, model(x))


def test_a_wrong_translation_is_found_and_stays_in_torch(small, monkeypatch):
    """torch's exporter writes normalization in training as if it were not."""
    monkeypatch.setattr(decompositions, "table", lambda: {})
    monkeypatch.setattr(nodes, "is_training", lambda node: False)
    fast, x = compiled(small.train()), image(4)
    twin = Small().train()
    twin.load_state_dict(small.state_dict())
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"torch runs .*batch_norm.* \(1\); an engine's result differs from torch's by"):
            found = fast(x)
        agree(found, twin(x), 1e-4)


def test_statistics_of_training_are_kept(small):
    small.train()
    twin = Small().train()
    twin.load_state_dict(small.state_dict())
    fast, x = compiled(small), image(4)
    with torch.no_grad():
        for _ in range(3):
            agree(fast(x), twin(x), 1e-4)
    agree(small.norm.running_mean, twin.norm.running_mean)
    assert small.norm.num_batches_tracked == twin.norm.num_batches_tracked == 3


# Weights


def written(model):
    model.fc.weight.mul_(2)


def exchanged(model):
    model.fc.weight = nn.Parameter(torch.randn(5, 8))


def loaded(model):
    model.load_state_dict(Small().state_dict())


def pointed(model):
    model.norm.running_mean.data = torch.randn(8)


@pytest.mark.parametrize("change", [written, exchanged, loaded, pointed])
def test_changed_weights_are_taken_over(small, said, change):
    fast, x = compiled(small), image()
    with torch.no_grad():
        before = fast(x)
        for _ in range(2):
            change(small)
            agree(fast(x), small(x))
            agree(fast(x), small(x))
        assert (before - fast(x)).abs().max() > 1e-3
    assert [line for line in said() if "took over" in line]


def test_weights_made_in_inference_mode_are_read_at_each_run():
    with torch.inference_mode():
        model, x = Small().eval(), image()
        fast = compiled(model)
        agree(fast(x), model(x))
        model.fc.weight.mul_(3)
        agree(fast(x), model(x))


def test_weights_may_be_shared(small, said, monkeypatch):
    built = []
    monkeypatch.setattr(export, "build_program", lambda *given, to=export.build_program: built.append(to(*given)) or built[-1])
    fast, x = compiled(small, options={"share_weights": True}), image()
    with torch.no_grad():
        agree(fast(x), small(x))
        for change in (written, exchanged, loaded, pointed):
            change(small)
            agree(fast(x), small(x))
        small.fc.weight.data.add_(1)  # Seen by nobody who counts changes.
        agree(fast(x), small(x))
    assert len(built[0].inputs) == 9 and not any(shape == (5, 8) for _, shape in built[0].weights.values())
    assert not [line for line in said() if "took over" in line]


# Memory


def test_tensors_of_any_layout(small):
    fast = compiled(small)
    with torch.no_grad():
        x = image(4)
        for given in (x, x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3), x[::2], x[:, :, ::2], image(1).expand(4, -1, -1, -1)):
            agree(fast(given), small(given))


class Layouts(nn.Module):
    def forward(self, x):
        y = torch.relu(x).permute(0, 2, 3, 1)
        return y, (x + 1).transpose(1, 2), x.flatten(), x[0], x


def test_results_have_torchs_strides():
    fast, model = compiled(Layouts()), Layouts()
    with torch.no_grad():
        for x in (image(), image().contiguous(memory_format=torch.channels_last)):
            found, expected = fast(x), model(x)
            for one, other in zip(found, expected, strict=True):
                agree(one, other)
                assert one.stride() == other.stride()
            assert found[4] is x or found[4].data_ptr() == x.data_ptr()


class Writes(nn.Module):
    def forward(self, x, kept):
        kept.add_(x.sum())
        return torch.sigmoid(x) * kept


def test_inputs_that_are_written():
    fast, x = compiled(Writes()), torch.randn(3)
    kept, twin = torch.zeros(3), torch.zeros(3)
    with torch.no_grad():
        for _ in range(3):
            agree(fast(x, kept), Writes()(x, twin))
            agree(kept, twin)


@pytest.mark.parametrize("correction, dims, keep", [(0, (2, 3), True), (1, None, False), (None, (0,), False)])
def test_variances(said, correction, dims, keep):
    class Spread(nn.Module):
        def forward(self, x):
            variance, mean = torch.var_mean(x, dims, correction=correction, keepdim=keep)
            return variance, mean, torch.std(x, dims, correction=correction, keepdim=keep), torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)

    fast, x = compiled(Spread()), image()
    with torch.no_grad():
        for one, other in zip(fast(x), Spread()(x), strict=True):
            agree(one, other)
    assert len(said()) == 1 and " in 1 engine on " in said()[0]


def test_batches_of_nothing(small):
    fast = compiled(small, dynamic=True)
    with torch.no_grad():
        for number in (2, 0, 3):
            x = image(number)
            found, expected = fast(x), small(x)
            assert found.shape == expected.shape
            agree(found.sum(), expected.sum(), 1e-4)


class Types(nn.Module):
    def forward(self, x, index, mask):
        picked = torch.where(mask, x, -x)[index]
        return picked > 0, picked.to(torch.float64), index + 1, picked.argmax(-1)


def test_types():
    fast, model = compiled(Types()), Types()
    x, index, mask = torch.randn(4, 3), torch.tensor([2, 0]), torch.rand(4, 3) > 0.5
    with torch.no_grad():
        for one, other in zip(fast(x, index, mask), model(x, index, mask), strict=True):
            assert one.dtype == other.dtype and torch.equal(one, other)


def test_autocast(small):
    fast, x = compiled(small), image()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        found, expected = fast(x), small(x)
    assert found.dtype == expected.dtype == torch.bfloat16
    agree(found, expected, 0.03)


def test_threads_share_a_compiled_module(small):
    fast, wrong = compiled(small), []
    with torch.no_grad():
        fast(image())

    def work(seed):
        x = image(generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            expected = small(x)
            for _ in range(20):
                if (fast(x) - expected).abs().max() > 1e-4:
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    "options, message",
    [
        ({"budgets": 1}, "unknown option 'budgets'; known are budget, "),
        ({"device": "cpu"}, "unknown option 'device'"),
        ({"precision": "fp99"}, "fp99"),
        ({"budget": "much"}, "budget"),
        ({"share_weights": 1}, "share_weights: 1 is of the wrong type; expected bool"),
    ],
)
def test_options_are_checked(small, options, message):
    with torch.no_grad(), pytest.raises(Exception, match=message):
        compiled(small, options=options)(image())


def test_modes_are_refused(small):
    with torch.no_grad(), pytest.raises(Exception, match="backend lanner has no mode 'max-autotune'"):
        torch.compile(small, backend="lanner", mode="max-autotune")(image())


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, x):
        return self.layer(x) + nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


@pytest.mark.parametrize("device", ["cpu", GPU])
def test_attention_runs_in_an_engine(said, device):
    model, x = Attention().eval().to(device), torch.randn(2, 7, 16, device=device)
    quick = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # One operator for the whole layer, which no exporter knows.
    try:
        with torch.no_grad():
            agree(compiled(model)(x), model(x), 1e-4)
    finally:
        torch.backends.mha.set_fastpath_enabled(quick)
    assert len(said()) == 1 and " in 1 engine on " in said()[0]


# Networks of torchvision, with random weights.

NETWORKS = {
    "resnet18": lambda models: models.resnet18(),
    "mobilenet_v3_small": lambda models: models.mobilenet_v3_small(),
    "vit": lambda models: models.VisionTransformer(32, 8, 2, 3, 48, 96, num_classes=10),
    "lraspp": lambda models: models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None),
}


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name, device, said):
    models = pytest.importorskip("torchvision.models", reason="torchvision is not installed")
    model = NETWORKS[name](models).eval()
    if name == "vit":
        nn.init.normal_(model.heads.head.weight)
    model, x = model.to(device), torch.randn(2, 3, 32, 32, device=device)
    with torch.no_grad():
        expected = model(x)
        plain = expected["out"] if isinstance(expected, dict) else expected
        engine = lanner.build(model, x, **QUICK)
        assert {binding.name for binding in engine.outputs} == (set(expected) if isinstance(expected, dict) else {"output"})
        result = next(iter(run(engine, x).values()))
        assert result.device.type == device
        agree(result, plain, 1e-4)
        found = compiled(model)(x)
        agree(found["out"] if isinstance(found, dict) else found, plain, 1e-4)
    assert len(said()) == 1 and " in 1 engine on " in said()[0]


# On a GPU


@on_gpu
def test_a_module_on_a_gpu_becomes_an_engine_there(small):
    small.cuda()
    x = image(device="cuda")
    engine = lanner.build(small, x, **QUICK)
    result = engine({"image": x})["output"]
    assert result.device == "cuda:0"
    agree(torch.from_dlpack(result), small(x).detach(), 1e-4)
    other = Small().eval()
    refitted = engine.refit({name: other.state_dict()[name] for name in engine.weights})
    agree(torch.from_dlpack(refitted({"image": x})["output"]), other.cuda()(x).detach(), 1e-4)


@on_gpu
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_halves_on_a_gpu(small, kind, said):
    small.cuda().to(getattr(torch, kind))
    x = image(device="cuda", dtype=getattr(torch, kind))
    fast = compiled(small)
    with torch.inference_mode():
        found = fast(x)
        assert found.dtype == x.dtype and found.is_cuda
        agree(found, small(x), 0.03)
    assert len(said()) == 1


def delay():
    """Keeps the current stream at work for some milliseconds."""
    torch.cuda._sleep(50_000_000)


@on_gpu
def test_runs_are_queued_on_torchs_stream(small):
    small.cuda()
    fast, side = compiled(small), torch.cuda.Stream()
    source = [image(device="cuda") for _ in range(6)]
    x = torch.zeros_like(source[0])
    with torch.no_grad():
        expected = [small(one) for one in source]
        fast(x)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            for one, wanted in zip(source, expected, strict=True):
                delay()
                x.copy_(one)  # Done long after the call below returns: a run elsewhere would read what was there before.
                found = fast(x)
                x.zero_()
                copy = found.clone()
                del found
                side.synchronize()
                agree(copy, wanted, 1e-4)


@on_gpu
def test_a_call_of_an_engine_waits_for_torchs_stream(small):
    small.cuda()
    engine, side = lanner.build(small, image(device="cuda"), **QUICK), torch.cuda.Stream()
    source, x = image(device="cuda"), image(device="cuda") * 0
    expected = small(source).detach()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for options in ({}, {"stream": side.cuda_stream}):
            x.zero_()
            delay()
            x.copy_(source)
            agree(torch.from_dlpack(engine({"image": x}, **options)["output"]), expected, 1e-4)


@on_gpu
def test_a_compiled_module_takes_no_more_memory_of_torch(small):
    small.cuda()
    fast, x = compiled(small), image(64, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            found = fast(x)
        addresses = set()
        before = torch.cuda.memory_allocated()
        for _ in range(8):
            del found
            found = fast(x)
            addresses.add(found.data_ptr())
        assert torch.cuda.memory_allocated() == before
        assert len(addresses) == 1  # So the run is one recorded graph.


@on_gpu
def test_changed_weights_are_taken_over_on_a_gpu(small):
    small.cuda()
    fast, x = compiled(small), image(device="cuda")
    with torch.no_grad():
        fast(x)
        for change in (written, lambda model: model.load_state_dict(Small().state_dict())):
            change(small)
            agree(fast(x), small(x), 1e-4)
        shared = compiled(small, options={"share_weights": True})
        agree(shared(x), small(x), 1e-4)
        written(small)
        agree(shared(x), small(x), 1e-4)


@on_gpu
def test_layouts_on_a_gpu(small):
    small.cuda()
    fast = compiled(small)
    with torch.no_grad():
        x = image(4, device="cuda")
        for given in (x, x.contiguous(memory_format=torch.channels_last), x[::2], x[:, :, ::2]):
            agree(fast(given), small(given), 1e-4)
        small.to(memory_format=torch.channels_last)
        agree(compiled(small)(x), small(x), 1e-4)


# Keras


def test_a_keras_model_becomes_an_engine():
    """With Keras over torch, whose export is torch's."""
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
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run([sys.executable, "-c", program], check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
