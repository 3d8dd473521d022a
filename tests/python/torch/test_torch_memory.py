"""torch.compile(backend="lanner"): weights that change, layouts, types, threads. Skipped where torch is not installed."""

import threading

import pytest
from torch_support import STRICT, Small, agree, compiled, exchanged, fresh, image, loaded, nn, pointed, said, small, torch, written
from lanner._torch import export  # Behind the line that skips where torch is not installed.

pytestmark = STRICT


@pytest.mark.parametrize("change", [written, exchanged, loaded, pointed])
def test_changed_weights_are_refitted(small, said, change):
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


def test_written_inputs_are_updated():
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
            deviation = torch.std(x, dims, correction=correction, keepdim=keep)
            return variance, mean, deviation, nn.functional.instance_norm(x)

    fast, x = compiled(Spread()), image()
    with torch.no_grad():
        for one, other in zip(fast(x), Spread()(x), strict=True):
            agree(one, other)
    assert len(said()) == 1 and " in 1 engine on " in said()[0]


def test_empty_batches_run(small):
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
