"""torch.compile(backend="lanner"): which of an engine's results count as equal to torch's, and unbounded sizes."""

import lanner
import numpy as np
import pytest
from torch_support import STRICT, agree, compiled, fresh, image, nn, said, small, torch  # noqa: F401
from lanner._torch import comparison, part  # Behind the line that skips where torch is not installed.

pytestmark = STRICT


def check(found, expected, wide=None, halves=False, exact=False):
    comparison.check([found], [expected], None if wide is None else [wide], halves, exact)


# --- The comparison ---


def test_rounding_differences_are_accepted():
    truth = torch.randn(4, 64, 9, dtype=torch.float64)
    torchs, engines = truth.float(), (truth + 1e-6 * torch.randn_like(truth)).float()
    check(engines, torchs, truth)
    check(engines, torchs)  # without a float64 run too


@pytest.mark.parametrize("shape", [(1, 1000), (2, 1000), (1000,), (1, 1000, 1, 1), ()])
def test_class_scores_may_differ_by_the_largest_ones_rounding(shape):
    truth = torch.randn(shape, dtype=torch.float64)
    check((truth + 1e-6 * torch.randn(shape)).float(), truth.float(), truth)  # some are nearly 0


@pytest.mark.parametrize("share", [0.038, 1e-3, 1e-4])
def test_differences_beyond_rounding_are_rejected(share):
    truth = torch.randn(4, 64, 9, dtype=torch.float64)
    engines = truth.float()
    engines[1, 2, 3] += share * truth.abs().max()
    for wide in (truth, None) if share > 1e-4 else (truth,):
        with pytest.raises(lanner.Unsupported, match="differs from torch's by .* around element 597, rounding explains"):
            check(engines, truth.float(), wide)


def test_tolerance_grows_with_torchs_own_rounding():
    truth = torch.randn(4, 64, 9, dtype=torch.float64)
    torchs = (truth + 1e-3 * torch.randn_like(truth)).float()
    engines = (truth + 1e-3 * torch.randn_like(truth)).float()
    check(engines, torchs, truth)
    with pytest.raises(lanner.Unsupported):
        check((truth + 0.1).float(), torchs, truth)


def test_small_values_among_large_ones_have_their_own_tolerance():
    boxes, scores = 600 * torch.rand(1, 4, 80, dtype=torch.float64), torch.rand(1, 8, 80, dtype=torch.float64)
    truth = torch.cat([boxes, scores], 1)
    engines = truth.clone()
    engines[0, 7] += 2e-3  # of 600 that would be nothing
    with pytest.raises(lanner.Unsupported, match="differs from torch's"):
        check(engines.float(), truth.float(), truth)


@pytest.mark.parametrize("value, name", [(float("nan"), "has NaN"), (float("inf"), "is infinite"), (-float("inf"), "is infinite")])
def test_nan_and_infinity_must_be_at_torchs_indices(value, name):
    plain, special = torch.ones(2, 3), torch.ones(2, 3)
    special[1, 1] = value
    check(special, special.clone(), special.double())
    for found, expected in ((plain, special), (special, plain)):
        for halves in (False, True):
            with pytest.raises(lanner.Unsupported, match=f"{name} at other indices than torch's"):
                check(found, expected, expected.double(), halves=halves)


def test_sixteen_bit_and_integer_results_have_their_own_tolerance():
    truth = torch.randn(100)
    check(truth * 1.01, truth, halves=True)
    with pytest.raises(lanner.Unsupported, match="0.05 is the most in halves"):
        check(truth * 1.2, truth, halves=True)
    counts = torch.arange(100)
    other = counts.clone()
    other[3] = 7
    check(other, counts)  # an index between two equal scores
    with pytest.raises(lanner.Unsupported, match="differs from torch's in 0.01 of its elements, 0 is the most"):
        check(other, counts, exact=True)
    check(torch.empty(0), torch.empty(0))


def test_the_float64_run_computes_in_float64():
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    x, weight = torch.randn(4, 300), torch.randn(300, 300)
    graph = make_fx(lambda x, w: torch.softmax((x @ w).to(torch.float64).to(torch.float32), -1))(x, weight)
    (found,) = comparison.in_float64(graph, [x, weight])
    assert found.dtype == torch.float64
    expected = torch.softmax(x.double() @ weight.double(), -1)
    assert (found - expected).abs().max() < 1e-14
    assert comparison.in_float64(torch.fx.symbolic_trace(lambda x: x.reshape(7)), [x]) is None  # no such shape


# --- torch.compile ---


def altered(monkeypatch, change):
    """An engine with other results, like that of a wrong export."""
    run = part.Runner.run
    monkeypatch.setattr(part.Runner, "run", lambda *arguments: [change(one) for one in run(*arguments)])


def test_a_part_off_by_a_thousandth_stays_in_torch_with_a_warning(small, monkeypatch):
    altered(monkeypatch, lambda result: result * 1.001)
    fast, x = compiled(small), image()
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match=r"0 of 5 nodes .*; an engine's result differs from torch's by .*, rounding explains"):
            found = fast(x)
        assert torch.equal(found, small(x))
        assert torch.equal(fast(x), small(x))  # Told once.


def test_a_part_that_loses_a_nan_stays_in_torch_with_a_warning(monkeypatch):
    altered(monkeypatch, lambda result: torch.nan_to_num(result))
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
    with torch.no_grad(), pytest.warns(RuntimeWarning, match="has NaN at other indices than torch's"):
        found = compiled(lambda x: x / x + 1)(x)
    assert found.isnan().tolist() == [[True, False], [False, False]]


def limited(*_):
    raise lanner.LimitExceeded("9 bytes are too many; raise the limit: total_bytes")


def test_a_part_too_large_to_build_stays_in_torch_with_one_warning(small, monkeypatch):
    monkeypatch.setattr(part.Part, "_build", limited)
    fast, x = compiled(small), image()
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="0 of 5 nodes .*; 9 bytes are too many"):
            agree(fast(x), small(x))
        agree(fast(x), small(x))


def test_exceeding_the_callers_limit_is_an_error(small, monkeypatch):
    monkeypatch.setattr(part.Part, "_build", limited)
    with torch.no_grad(), pytest.raises(lanner.LimitExceeded):
        compiled(small, options={"limits": {"total_bytes": "4GiB"}})(image())


# --- Sizes without a bound ---


def test_products_of_open_sizes_have_no_bound(said):
    def expanded(x, y):
        return x[:, None].expand(-1, 4, -1).reshape(x.shape[0] * 4, x.shape[1]) + y.sum()

    fast = compiled(expanded, dynamic=True)
    with torch.no_grad():
        for rows, columns in ((2, 7), (5, 9), (3, 7)):
            x, y = torch.randn(rows, columns), torch.randn(3)
            agree(fast(x, y), expanded(x, y))
    assert len(said()) == 1 and said()[0].startswith("torch.compile: 4 of 4 nodes of a graph run in ")


class Rows(nn.Module):
    def forward(self, x):
        return (x[:, None] * x[:, :, None]).reshape(x.shape[0], -1)


@pytest.mark.parametrize("dim", [lambda: torch.export.Dim("rows"), lambda: torch.export.Dim("rows", min=1), lambda: torch.export.Dim.DYNAMIC])
def test_an_unbounded_dim_accepts_any_size(dim):
    engine = lanner.build(Rows().eval(), torch.randn(4, 5), dynamic_shapes={"x": {0: dim()}}, budget=0)
    for rows in (1, 4, 70000):
        x = torch.randn(rows, 5)
        found = torch.from_dlpack(engine({engine.inputs[0].name: x})[engine.outputs[0].name])
        assert np.array_equal(found, Rows()(x))
    with pytest.raises(lanner.InvalidArgument):
        engine({engine.inputs[0].name: torch.randn(4, 6)})
