"""Networks with a part of their weights in the GPU's memory: correctness, and slowdown compared with all of them there.

    python bench/weight_budgets.py resnet50.onnx bert_base.onnx --parts 1,0.5,0.1

The budget is a share of all weights' bytes, but at least the smallest that works. The engine with all weights
on the GPU and the one with a budget run alternately; medians, and the median of the ratios with its 95 % interval.
"""

import argparse
import sys
import time

import lanner
import numpy as np
from pairs import alternate, summary


def feed_of(engine, seed=0):
    """Random inputs of the opt shapes; open sizes are 1. Integers are small, as tokens and masks are."""
    random = np.random.default_rng(seed)
    feed = {}
    for binding in engine.inputs:
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in binding.shape]
        real = binding.dtype.startswith(("f", "bf"))
        values = random.standard_normal(shape) if real else random.integers(0, 2, shape)
        feed[binding.name] = lanner.Tensor(values.astype({"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32}[binding.dtype])).to("cuda:0")
    return feed


def answers(context, feed):
    return {name: tensor.numpy().astype(np.float64) for name, tensor in context(feed).items()}


def difference(found, expected):
    return max(float(np.abs(found[name] - value).max() / max(np.abs(value).max(), 1e-30)) for name, value in expected.items())


def timer(context, feed, runs):
    def seconds():
        start = time.perf_counter()
        for _ in range(runs):
            context(feed)
        return (time.perf_counter() - start) / runs

    return seconds


def mib(count):
    return f"{count / 2**20:.1f}"


def row(path, part, plan, pairs, precision):
    resident = lanner.load(plan)
    budgeted = lanner.load(plan)
    weights = resident.explain()["memory"]["weights"]
    budgeted.weight_budget = max(int(part * weights["all"]), budgeted.min_weight_budget)
    feed = feed_of(resident)
    one, other = resident.create_context(), budgeted.create_context()
    expected = answers(one, feed)
    worst = max(difference(answers(other, feed), expected) for _ in range(5))  # as they are, recorded, replayed
    start = time.perf_counter()
    answers(one, feed)
    runs = max(1, int(0.05 / max(time.perf_counter() - start, 1e-6)))
    found = summary(*alternate(timer(other, feed, runs), timer(one, feed, runs), pairs, f"{path} {part:.0%}"))
    placed = budgeted.explain()["memory"]["weights"]
    print(
        f"| {path} {precision} | {part:.0%} | {mib(placed['all'])} | {mib(budgeted.weight_budget)} | {mib(placed['resident'])} + {mib(placed['ring'])} "
        f"| {found['seconds'] * 1e3:.3f} | {found['rival_seconds'] * 1e3:.3f} | {1 / found['ratio']:.2f} ({1 / found['interval'][1]:.2f} to {1 / found['interval'][0]:.2f}) "
        f"| {worst:.1e} |",
        flush=True,
    )
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="ONNX files; open sizes are 1 or set by --shape")
    parser.add_argument("--parts", default="1,0.5,0.1", help="of all weights")
    parser.add_argument("--shape", action="append", default=[], help="INPUT=1x128")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--budget", type=float, default=10, help="seconds of timing kernels")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=1e-6, help="of the largest value: kernels are the same")
    options = parser.parse_args()
    shapes = {name: tuple(int(size) for size in sizes.split("x")) for name, sizes in (text.split("=") for text in options.shape)}
    print("| network | part | weights MiB | budget MiB | stay + ring MiB | ms | ms, all there | times | difference |\n|---|---|---|---|---|---|---|---|---|")
    worst = 0.0
    for path in options.models:
        engine = lanner.build(path, device="cuda:0", precision=options.precision, budget=options.budget, shapes=shapes)
        plan = path + ".weight-budgets.plan"
        engine.save(plan)
        del engine
        for part in (float(text) for text in options.parts.split(",")):
            worst = max(worst, row(path, part, plan, options.pairs, options.precision))
    if not worst <= options.tolerance:
        sys.exit(f"answers differ by {worst:.1e} of the largest value, expected at most {options.tolerance:.1e}")


if __name__ == "__main__":
    main()
