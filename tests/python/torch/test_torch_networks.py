"""Networks of torchvision with random weights, attention, and GPU features. Skipped where torch is not installed, in part where there is no GPU."""

import lanner
import pytest
from torch_support import GPU, QUICK, STRICT, Small, agree, compiled, fresh, image, nn, on_gpu, run, said, small, torch, written

pytestmark = STRICT


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
def test_networks(name, device, said, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # The engine rounds no f32 unless asked to.
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
def test_sixteen_bit_modules_on_a_gpu(small, kind, said):
    small.cuda().to(getattr(torch, kind))
    x = image(device="cuda", dtype=getattr(torch, kind))
    fast = compiled(small)
    with torch.inference_mode():
        found = fast(x)
        assert found.dtype == x.dtype and found.is_cuda
        agree(found, small(x), 0.03)
    assert len(said()) == 1


def delay():
    """Keeps the current stream busy for some milliseconds."""
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
def test_a_compiled_module_does_not_increase_torch_memory(small):
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
def test_changed_weights_are_refitted_on_a_gpu(small):
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
