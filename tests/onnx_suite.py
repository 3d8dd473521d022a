"""Runs ONNX's own test suite (PyPI onnx) through build, save, load and run, and keeps docs/onnx-suite.md.

    python tests/onnx_suite.py -k lstm          # a few cases, with the reasons of those that fail
    python tests/onnx_suite.py --write          # all, and writes the results
    python tests/onnx_suite.py --check          # all, and fails if results are worse or better than the written ones
    python tests/onnx_suite.py --check --sample 3    # every third case of each operator, from its first one on
"""

import argparse
import collections
import faulthandler
import glob
import multiprocessing
import multiprocessing.connection
import os
import re
import resource
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "onnx-suite.md"
COMMAND = "python tests/onnx_suite.py --write"
GROUPS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
PASSED = "passed"
RANDOM = re.compile(r"test_bernoulli")
SECONDS_A_CASE = 120
# Where ONNX's reference evaluator, the source of the suite's numbers, differs from runtimes and exporters.
PURPOSE = "differs on purpose: "
CORNERS = "align_corners takes 2.4 for the length of 3 elements, so that no element lies in the last corner; onnxruntime, PyTorch and its exporters take 3"
DELIBERATE = {
    "node/test_resize_downsample_scales_linear_align_corners": CORNERS,
    "node/test_resize_downsample_scales_cubic_align_corners": CORNERS,
    "node/test_maxunpool_export_with_output_shape": "indices count in the smallest shape that was pooled; those of MaxPool, onnxruntime and PyTorch count in the one that is given",
}
DEVICE = "CPU"
BYTES_A_WORKER = 24 << 30


class Case:
    """One case of the suite: a model, inputs, expected outputs, tolerances."""

    def __init__(self, group: str, definition: Any):
        self.group, self.name, self.definition = group, definition.name, definition

    def model(self) -> onnx.ModelProto:
        if self.definition.model is not None:
            return self.definition.model
        return onnx.load(self.model_path())

    def model_path(self) -> str:
        if self.definition.url:
            return os.path.join(os.path.dirname(os.path.dirname(onnx.__file__)), self.definition.url)
        return os.path.join(self.definition.model_dir, "model.onnx")

    def data_sets(self, model: onnx.ModelProto) -> list[tuple[list[Any], list[Any]]]:
        if self.definition.data_sets is not None:
            return [([as_array(x) for x in inputs], [as_array(y) for y in outputs]) for inputs, outputs in self.definition.data_sets]
        if self.definition.url:
            return [self.light_data(model)]
        sets = []
        for folder in sorted(glob.glob(os.path.join(self.definition.model_dir, "test_data_set*"))):
            sets.append((load_values(folder, "input", model.graph.input), load_values(folder, "output", model.graph.output)))
        return sets

    def light_data(self, model: onnx.ModelProto) -> tuple[list[Any], list[Any]]:
        """The light models come with outputs only; the suite's own rule makes their inputs."""
        from onnx.backend.test.runner import Runner

        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [Runner.generate_dummy_data(value, name=self.name) for value in model.graph.input if value.name not in constants]
        prefix = os.path.splitext(self.model_path())[0]
        return inputs, [load_value(f"{prefix}_output_{i}.pb", value) for i, value in enumerate(model.graph.output)]

    def run(self) -> str:
        """PASSED, or the reason in one line."""
        import lanner.onnx_backend

        try:
            model = self.model()
            prepared = lanner.onnx_backend.prepare(model, DEVICE, threads=1)
            for inputs, expected in self.data_sets(model):
                outputs = list(prepared.run(inputs))
                if RANDOM.match(self.name):
                    return compare_random(expected, outputs)
                assert_similar(expected, outputs, self.definition.rtol, self.definition.atol)
        except AssertionError as error:
            known = DELIBERATE.get(f"{self.group}/{self.name}")
            return PURPOSE + known if known else "wrong result: " + one_line(error)
        except Exception as error:  # any exception of a case is its result
            return f"{type(error).__name__}: {one_line(error)}"
        return PASSED


def assert_similar(expected: Any, outputs: Any, rtol: float, atol: float) -> None:
    """The suite's own comparison, tensor by tensor, as its walk through sequences fails on scalars."""
    from onnx.backend.test.runner import Runner

    if isinstance(expected, (list, tuple)):
        assert isinstance(outputs, (list, tuple)) and len(outputs) == len(expected), f"{len(outputs)} values, expected {len(expected)}"
        for one, output in zip(expected, outputs, strict=True):
            assert_similar(one, output, rtol, atol)
    elif expected is None:
        assert outputs is None, "a value where none is expected"
    else:
        Runner.assert_similar_outputs([expected], [outputs], rtol, atol)


def compare_random(expected: list[Any], outputs: list[Any]) -> str:
    """Cases that hold the random numbers of another implementation: never counted as passed, even by chance."""
    for one, output in zip(expected, outputs, strict=True):
        assert (output.shape, output.dtype) == (one.shape, one.dtype), f"{output.dtype}{output.shape}, expected {one.dtype}{one.shape}"
        assert numpy.isin(output, (0, 1)).all(), "values other than 0 and 1"
    return "random: type, shape and range agree, the numbers are each implementation's own"


def as_array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def load_values(folder: str, kind: str, infos: Any) -> list[Any]:
    count = len(glob.glob(os.path.join(folder, f"{kind}_*.pb")))
    return [load_value(os.path.join(folder, f"{kind}_{i}.pb"), infos[i]) for i in range(count)]


def load_value(path: str, info: onnx.ValueInfoProto) -> Any:
    content = Path(path).read_bytes()
    if info.type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if info.type.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def one_line(error: BaseException) -> str:
    """The message without parts that change from run to run: folders, tables of values."""
    text = re.sub(r"\S*/lanner-[^/\s]*/", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if isinstance(error, AssertionError):
        lines = [line for line in lines if line.startswith(("Mismatched", "Max absolute", "nan location", "inf location", "Output ", "(shapes"))] or lines
    return " ".join(lines[:4])[:200] or "no message"


def load_cases(pattern: str = "") -> list[Case]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [Case(group, definition) for group in GROUPS for definition in load_model_tests(kind=group)]
    return [case for case in cases if re.search(pattern, f"{case.group}/{case.name}")]


def serve(cases: list[Case], pipe: multiprocessing.connection.Connection) -> None:
    """A worker: runs the cases whose indices it receives. It was forked, so it has every case loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_A_WORKER, BYTES_A_WORKER))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    while (number := pipe.recv()) is not None:
        pipe.send(cases[number].run())


class Worker:
    """A process that runs one case after the other, restarted after a case that ends it."""

    def __init__(self, cases: list[Case]):
        self.cases, self.number = cases, -1
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(self.cases, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, number: int) -> None:
        self.number, self.deadline = number, time.monotonic() + SECONDS_A_CASE
        self.pipe.send(number)

    def result(self) -> str | None:
        """The result of the current case; None while it runs."""
        if self.pipe.poll():
            try:
                return self.pipe.recv()
            except EOFError:
                self.process.join()
                return self.restart(f"crashed: the process died with {death_of(self.process.exitcode)}")
        if time.monotonic() > self.deadline:
            self.process.kill()
            return self.restart(f"hangs: stopped after {SECONDS_A_CASE} s")
        return None

    def restart(self, result: str) -> str:
        self.process.join()
        self.pipe.close()
        self.start()
        return result

    def stop(self) -> None:
        self.pipe.send(None)
        self.process.join()


def death_of(status: int | None) -> str:
    return signal.Signals(-status).name if status and status < 0 else f"status {status}"


def run_cases(cases: list[Case], workers: int, progress: Any = None) -> dict[str, str]:
    """Result by `group/name`."""
    results: dict[str, str] = {}
    # The slow ones first, so that no worker runs alone with one at the end.
    waiting = sorted(range(len(cases)), key=lambda number: GROUPS.index(cases[number].group))
    pool = [Worker(cases) for _ in range(min(workers, len(cases)))]
    busy: list[Worker] = []
    try:
        while waiting or busy:
            for worker in pool:
                if worker not in busy and waiting:
                    worker.give(waiting.pop())
                    busy.append(worker)
            multiprocessing.connection.wait([worker.pipe for worker in busy], timeout=1)
            for worker in list(busy):
                result = worker.result()
                if result is not None:
                    case = cases[worker.number]
                    results[f"{case.group}/{case.name}"] = result
                    busy.remove(worker)
                    if progress:
                        progress(case, result)
        for worker in pool:
            worker.stop()
    finally:
        for worker in pool:
            if worker.process.is_alive():
                worker.process.kill()
    return results


def operator_of(case: Case, by_name: dict[str, Case]) -> str:
    """The operator of a node case; an expanded case belongs to the operator of the case it expands."""
    if case.group != "node":
        return "(models)"
    plain = by_name.get(re.sub(r"_expanded.*$", "", case.name), case)
    return next((node.op_type for node in plain.definition.model.graph.node if node.op_type != "Constant"), "Constant")


def sample_of(cases: list[Case], every: int) -> list[Case]:
    """Every so many cases of each operator, and of each group of models, from its first case on."""
    by_name = {case.name: case for case in cases if case.group == "node"}
    met: collections.Counter[tuple[str, str]] = collections.Counter()
    chosen = []
    for case in cases:
        kind = case.group, operator_of(case, by_name)
        if met[kind] % every == 0:
            chosen.append(case)
        met[kind] += 1
    return chosen


def table(heading: str, keys: dict[str, str], results: dict[str, str]) -> list[str]:
    """Rows `key | passed | cases`, `keys` being the key of each case."""
    total: collections.Counter[str] = collections.Counter(keys.values())
    passed: collections.Counter[str] = collections.Counter(keys[name] for name, result in results.items() if result == PASSED)
    order = GROUPS if set(total) <= set(GROUPS) else sorted(total)
    rows = [f"| {heading} | passed | cases |", "|---|---|---|"]
    rows += [f"| {key} | {passed[key]} | {total[key]} |" for key in order]
    return [*rows, f"| all | {passed.total()} | {total.total()} |", ""]


def report(cases: list[Case], results: dict[str, str]) -> str:
    by_name = {case.name: case for case in cases if case.group == "node"}
    names = {f"{case.group}/{case.name}": case for case in cases}
    lines = [
        "# ONNX's test suite", "",
        f"Generated by `{COMMAND}` with onnx {onnx.__version__}; do not edit. Every case goes through build, save, load and run",
        "on the CPU; tolerances are the suite's own. `./dev test` fails when a case that passed does not pass any more.", "",
    ]
    lines += table("group", {name: case.group for name, case in names.items()}, results)
    lines += ["## Differences on purpose", "", "Cases of which onnxruntime and PyTorch give what Lanner gives; more of them stand in `tests/definitions/differences.py`.", ""]
    lines += ["| case | reason |", "|---|---|", *[f"| {name.partition('/')[2]} | {reason} |" for name, reason in DELIBERATE.items()], ""]
    for group in GROUPS:
        lines += [f"## {group}", ""]
        lines += [f"- {case.name}: {results[name]}" for name, case in sorted(names.items()) if case.group == group]
        lines += [""]
    lines += ["## By operator", ""]
    lines += table("operator", {name: operator_of(case, by_name) for name, case in names.items()}, results)
    return "\n".join(lines)


def read_report(path: Path = REPORT) -> dict[str, str]:
    results, group = {}, ""
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("## "):
            group = line[3:]
        elif match := re.fullmatch(r"- (test_\w+): (.*)", line):
            results[f"{group}/{match[1]}"] = match[2]
    return results


def differences(recorded: dict[str, str], results: dict[str, str]) -> list[str]:
    """Why the written result differs from the new one; empty if nothing changed."""
    lost = [f"no longer passes: {name}: {results[name]}" for name in sorted(results) if recorded.get(name) == PASSED != results[name]]
    lost += [f"no longer differs as it is meant to: {name}: {results[name]}" for name in sorted(results) if name in DELIBERATE and not results[name].startswith((PURPOSE, PASSED))]
    gained = [name for name in results if name in recorded and results[name] == PASSED != recorded[name]]
    unknown = [name for name in results if name not in recorded]
    news = [f"passes now, but {REPORT.name} says otherwise: {name}" for name in sorted(gained)[:5]]
    news += [f"is missing in {REPORT.name}: {name}" for name in sorted(unknown)[:5]]
    if news:
        news.append(f"{len(gained) + len(unknown)} cases have news; run: {COMMAND}")
    return lost + news


class Progress:
    """Prints failures as they come, and the progress."""

    def __init__(self, count: int, verbose: bool):
        self.count, self.verbose, self.done, self.passed = count, verbose, 0, 0

    def __call__(self, case: Case, result: str) -> None:
        self.done += 1
        self.passed += result == PASSED
        if self.verbose:
            print(f"{case.group}/{case.name}: {result}")
        elif result != PASSED and DEVICE != "CPU":
            print(f"{case.group}/{case.name}: {result}")
        elif self.done % 200 == 0:
            print(f"{self.done} of {self.count}, {self.passed} passed", file=sys.stderr)


def set_device(device: str) -> None:
    """Before workers are forked."""
    global DEVICE
    DEVICE = device


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", metavar="REGEX", help="only cases whose `group/name` it matches")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth case of each operator")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 2))
    parser.add_argument("--write", action="store_true", help=f"write docs/{REPORT.name}; with -k, only those cases change")
    parser.add_argument("--check", action="store_true", help="fail on differences from the written result")
    parser.add_argument("--device", default=DEVICE, help="CPU, or CUDA:0: a GPU's results are shown, never written")
    options = parser.parse_args()
    if options.device != DEVICE and (options.write or options.check):
        parser.error("--write and --check are for the CPU")
    set_device(options.device)
    sys.path.insert(0, str(ROOT / "build" / "python"))
    every = load_cases()
    cases = [case for case in sample_of(every, options.sample) if re.search(options.k, f"{case.group}/{case.name}")]
    if not cases:
        print(f"no case matches {options.k}", file=sys.stderr)
        return 2
    results = run_cases(cases, options.workers, Progress(len(cases), bool(options.k)))
    print(f"{sum(result == PASSED for result in results.values())} of {len(cases)} cases passed")
    recorded = read_report()
    if options.write:
        REPORT.write_text(report(every, {f"{case.group}/{case.name}": "not run" for case in every} | recorded | results))
    found = differences(recorded, results) if options.check else []
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
