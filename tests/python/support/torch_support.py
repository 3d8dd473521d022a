"""What tests of PyTorch share: a small module, and how results are compared. Whole files are skipped where torch is not installed."""

import logging

import lanner
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: torch's exporter needs it")
import lanner.torch  # noqa: E402
from torch import nn  # noqa: E402

QUICK = {"budget": 0}
# Nothing stays in torch unseen.
STRICT = [
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
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # What is compared with is exact.


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


# Changes of weights.


def written(model):
    model.fc.weight.mul_(2)


def exchanged(model):
    model.fc.weight = nn.Parameter(torch.randn(5, 8))


def loaded(model):
    model.load_state_dict(Small().state_dict())


def pointed(model):
    model.norm.running_mean.data = torch.randn(8)
