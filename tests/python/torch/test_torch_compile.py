"""torch.compile(backend="lanner"): what runs in engines and what stays in torch. Skipped where torch is not installed."""

import importlib
import tomllib

import lanner
import pytest
from command import ROOT
from torch_support import STRICT, Small, agree, compiled, fresh, image, nn, said, small, torch
from lanner._torch import decompositions, nodes, part  # Behind the line that skips where torch is not installed.

pytestmark = STRICT


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


def test_changing_sizes_are_recompiled_once(small, said):
    fast = compiled(small)
    with torch.no_grad():
        for number in (2, 3, 5, 4, 9):
            x = image(number)
            agree(fast(x), small(x))
    assert len(said()) == 2 and all("5 of 5" in line for line in said())


@pytest.mark.parametrize("how", ["marked", "dynamic"])
def test_sizes_marked_dynamic_are_compiled_once(small, said, how):
    fast = compiled(small, dynamic=True if how == "dynamic" else None)
    with torch.no_grad():
        for number in (4, 2, 7):
            x = image(number)
            if how == "marked":
                torch._dynamo.mark_dynamic(x, 0)
            agree(fast(x), small(x))
    assert len(said()) == 1


class Inverse(nn.Module):
    """torch's exporter does not support the matrix inverse."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.after(torch.linalg.inv(torch.relu(self.before(x)) + 3 * torch.eye(4)))


def test_unsupported_operators_stay_in_torch_and_are_counted():
    model, x = Inverse().eval(), torch.randn(2, 4, 4)
    fast = compiled(model)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"of \d+ nodes of a graph run in 2 engines on cpu; torch runs .*linalg_inv_ex.default \(1\)"):
            found = fast(x)
        agree(found, model(x), 1e-4)
        agree(fast(x + 1), model(x + 1), 1e-4)


class Crossed(nn.Module):
    """Two paths through unsupported operators, and one without."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        first = torch.linalg.inv(self.layers[0](x) + 9 * torch.eye(4))
        second = torch.linalg.inv(self.layers[1](first) + 9 * torch.eye(4))
        return self.layers[2](second) + torch.relu(x), self.layers[3](x)


def test_engines_are_no_more_than_torch_stages():
    model, x = Crossed().eval(), torch.randn(2, 4, 4)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"run in 3 engines on cpu; torch runs .*linalg_inv_ex.default \(2\)"):
            found = compiled(model)(x)
        for one, other in zip(found, model(x), strict=True):
            agree(one, other, 1e-4)


def test_nodes_rejected_by_the_exporter_stay_in_torch(monkeypatch):
    monkeypatch.setattr(nodes, "exporters", lambda: lambda target: True)
    model, x = Inverse().eval(), torch.randn(2, 4, 4)
    fast = compiled(model)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"run in 2 engines on cpu; torch runs .*linalg_inv_ex.default \(1\)"):
            found = fast(x)
        agree(found, model(x), 1e-4)
        agree(fast(x + 1), model(x + 1), 1e-4)


def test_parts_that_cannot_be_built_stay_in_torch_with_the_reason(small, monkeypatch):
    def broken(self, *_):
        raise lanner.Unsupported("no such engine\nsecond line")

    monkeypatch.setattr(part.Part, "_build", broken)
    fast, x = compiled(small), image()
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="0 of 5 nodes of a graph run in 0 engines on cpu; torch runs .*; no such engine$"):
            agree(fast(x), small(x))


def test_fixed_size_engines_replace_an_unbuildable_open_one(small, said, monkeypatch):
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


def test_random_operators_follow_torchs_seed():
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8)).train(), torch.randn(4, 8)
    fast = compiled(model)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="torch runs "):
            torch.manual_seed(3)
            found = fast(x)
        torch.manual_seed(3)
        agree(found, model(x))


def test_a_wrongly_exported_operator_stays_in_torch(small, monkeypatch):
    """torch's exporter writes normalization in training mode as in inference mode."""
    monkeypatch.setattr(decompositions, "table", lambda: {})
    monkeypatch.setattr(nodes, "is_training", lambda node: False)
    fast, x = compiled(small.train()), image(4)
    twin = Small().train()
    twin.load_state_dict(small.state_dict())
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"torch runs .*batch_norm.* \(1\); an engine's result differs from torch's by"):
            found = fast(x)
        agree(found, twin(x), 1e-4)


def test_running_statistics_of_training_are_kept(small):
    small.train()
    twin = Small().train()
    twin.load_state_dict(small.state_dict())
    fast, x = compiled(small), image(4)
    with torch.no_grad():
        for _ in range(3):
            agree(fast(x), twin(x), 1e-4)
    agree(small.norm.running_mean, twin.norm.running_mean)
    assert small.norm.num_batches_tracked == twin.norm.num_batches_tracked == 3


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


def test_modes_are_rejected(small):
    with torch.no_grad(), pytest.raises(Exception, match="backend lanner has no mode 'max-autotune'"):
        torch.compile(small, backend="lanner", mode="max-autotune")(image())


@pytest.mark.parametrize("is_causal", [False, True])
def test_gpu_attention_operators_equal_attention(is_causal):
    query, key, value = (torch.randn(2, 3, 5, 8) for _ in range(3))
    bias = None if is_causal else torch.randn(2, 3, 5, 5)
    expected = nn.functional.scaled_dot_product_attention(query, key, value, bias, is_causal=is_causal)
    agree(decompositions.efficient_attention(query, key, value, bias, False, is_causal=is_causal)[0], expected)
    agree(decompositions.cudnn_attention(query, key, value, bias, False, is_causal=is_causal)[0], expected)
    plain = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal, scale=0.5)
    agree(decompositions.flash_attention(query, key, value, 0, is_causal, scale=0.5)[0], plain)
