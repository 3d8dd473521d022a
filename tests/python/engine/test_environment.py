"""Log, threads, memory and limits of engines, set by an environment or a call."""

import ctypes
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import command
import numpy as np
import onnx
import pytest
from command import SECONDS, refuse, succeed
from onnx import TensorProto, helper

lanner = pytest.importorskip("lanner")

SIZE = 262144


@pytest.fixture(scope="module")
def model():
    """One loop over many elements, and a weight."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Softsign", ["x"], ["s"]), helper.make_node("Mul", ["s", "w"], ["y"])]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [SIZE], np.full(SIZE, 2, np.float32))
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, [SIZE])], [value("y", TensorProto.FLOAT, [SIZE])], [weight]
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


@pytest.fixture(scope="module")
def x():
    return np.linspace(-5, 5, SIZE, dtype=np.float32)


def right(result, x):
    return np.allclose(np.asarray(result["y"]), 2 * x / (1 + np.abs(x)), atol=1e-6)


def build(model, environment, **options):
    return lanner.build(model, environment=environment, budget=0, threads=2, **options)


def test_engines_of_environments_have_separate_logs(model, recwarn):
    lines = [], []
    logs = [lambda level, text, own=own: own.append((level, text)) for own in lines]
    environments = [lanner.Environment(log=log) for log in logs]
    build(model, environments[1], precision="fp16")
    assert not lines[0]
    assert all("fused" in text for level, text in lines[1] if level not in ("debug", "warning"))
    [text] = [text for level, text in lines[1] if level == "warning"]
    assert "fp16 has no effect" in text
    assert not recwarn.list  # the log has it
    with pytest.warns(RuntimeWarning, match="fp16 has no effect"):
        build(model, lanner.Environment(), precision="fp16")


def test_an_exception_in_a_log_callback_is_ignored(model, x, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: raised.append(told.exc_value))
    engine = build(model, lanner.Environment(log=lambda level, text: 1 / 0), precision="fp16")
    assert right(engine({"x": x}), x)
    assert {type(error) for error in raised} == {ZeroDivisionError}


def test_loops_run_on_an_executor(model, x):
    pool = ThreadPoolExecutor(2)
    counts, threads = [], set()

    def run(count, piece):
        def one(number):
            threads.add(threading.get_ident())
            piece(number)

        counts.append(count)
        list(pool.map(one, range(count)))

    engine = build(model, lanner.Environment(executor=run))
    assert right(engine({"x": x}), x)
    assert sum(counts) >= 2
    assert threading.get_ident() not in threads
    before = sum(counts)
    assert right(build(model, lanner.Environment())({"x": x}), x)
    assert sum(counts) == before


def test_a_call_may_have_its_own_executor(model, x):
    counts = {"environment": 0, "call": 0}

    def counting(name):
        def run(count, piece):
            counts[name] += count
            for number in reversed(range(count)):
                piece(number)

        return run

    context = build(model, lanner.Environment(executor=counting("environment"))).create_context()
    counts["environment"] = 0
    assert right(context({"x": x}, executor=counting("call")), x)
    assert counts["environment"] == 0
    assert counts["call"] >= 2
    assert right(context.enqueue({"x": x}, 0, executor=counting("call")), x)
    assert right(context({"x": x}), x)
    assert counts["environment"] >= 2


def test_pieces_that_an_executor_skips_are_run(model, x, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: raised.append(str(told.exc_value)))

    def run(count, piece):
        piece(count - 1)
        piece(count - 1)  # again: rejected, and the rest is skipped

    context = build(model, lanner.Environment()).create_context()
    assert right(context({"x": x}, executor=run), x)
    assert raised
    assert all("expected one that was not run yet" in text for text in raised)
    with pytest.raises(TypeError, match="executor: 3 cannot be called"):
        context({"x": x}, executor=3)


class Allocation(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_int32), ("device_index", ctypes.c_int32), ("pinned", ctypes.c_int32),
        ("reserved", ctypes.c_int32), ("bytes", ctypes.c_uint64), ("alignment", ctypes.c_uint64),
    ]


class Heap:
    """A lanner_allocator."""

    def __init__(self):
        self.held = {}
        self.given = 0
        self.refuses = False
        take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Allocation))
        give = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Allocation))
        self.functions = take(self.take), give(self.give_back)
        allocate, release = (ctypes.cast(function, ctypes.c_void_p).value for function in self.functions)
        self.addresses = allocate, release, 0

    def take(self, _, wanted):
        if self.refuses:
            return None
        wanted = wanted.contents
        block = ctypes.create_string_buffer(wanted.bytes + wanted.alignment)
        address = ctypes.addressof(block)
        address += -address % wanted.alignment
        self.held[address] = block
        self.given += 1
        return address

    def give_back(self, _, memory, _wanted):
        del self.held[memory]


def test_memory_comes_from_an_allocator(model, x):
    heap, of_call = Heap(), Heap()
    engine = build(model, lanner.Environment(allocator=heap.addresses))
    context = engine.create_context()
    before = heap.given
    result = context({"x": x})
    assert heap.given > before
    assert right(result, x)
    kept = context({"x": x}, allocator=of_call.addresses)
    assert kept["y"].numpy().ctypes.data in of_call.held
    of_call.refuses = True
    with pytest.raises(lanner.Error, match="the program's allocator refused"):
        context({"x": x}, allocator=of_call.addresses)
    del engine, context, result
    assert not heap.held
    assert right(kept, x)
    assert len(of_call.held) == 1
    del kept
    assert not of_call.held
    with pytest.raises(TypeError, match="allocator: "):
        lanner.Environment(allocator=(1, 2))
    with pytest.raises(lanner.Error, match="its function release is missing"):
        lanner.Environment(allocator=(1, 0, 0))


def test_limits_apply_to_all_engines_together(model):
    environment = lanner.Environment(limits={"total_bytes": "12MiB"})
    engines = [build(model, environment)]
    with pytest.raises(lanner.Error, match="all engines of the environment: .* in the limits of the environment"):
        engines += [build(model, environment) for _ in range(20)]
        pytest.fail("20 engines of a megabyte each")
    with pytest.raises(lanner.Error, match="over the limit file_bytes of 10;"):
        build(model, lanner.Environment(limits={"file_bytes": 10}))
    with pytest.raises(lanner.Error, match="expected NAME=VALUE"):
        lanner.Environment(limits={"no_such": 10})


def test_threads_of_engines_without_a_number(model):
    assert lanner.build(model, environment=lanner.Environment(threads=3), budget=0).threads == 3


def test_kernels_come_from_the_named_backends(model, x, tmp_path):
    assert lanner.Environment().backends == ["cuda", "onednn", "cpu", "reference"]
    only = lanner.Environment(backends=("reference",))
    assert only.backends == ["reference"]
    engine = build(model, only)
    assert {node["backend"] for node in engine.explain()["nodes"]} == {"reference"}
    assert right(engine({"x": x}), x)
    build(model, lanner.Environment(backends=["cpu"])).save(tmp_path / "m.plan")
    with pytest.warns(RuntimeWarning, match="tuned again .* no backend here offers kernel cpu:"):
        loaded = lanner.load(tmp_path / "m.plan", environment=only)
    assert right(loaded({"x": x}), x)
    with pytest.raises(lanner.InvalidArgument, match="unknown backend 'mkl'; expected cuda, onednn"):
        lanner.Environment(backends=["mkl"])


def test_backends_from_the_command(model, tmp_path):
    (tmp_path / "m.onnx").write_bytes(model)
    succeed("build", tmp_path / "m.onnx", "-o", tmp_path / "m.plan", "--backends", "cpu,reference", "--budget", "0")
    assert "cpu:" in succeed("explain", tmp_path / "m.plan")
    loaded = command.lanner("explain", tmp_path / "m.plan", "--backends", "reference")
    assert loaded.returncode == 0 and loaded.stdout.count("reference:reference") == 2
    assert "tuned again" in loaded.stderr and "no backend here offers kernel cpu:" in loaded.stderr
    assert "device cuda:0 needs the backend cuda" in refuse(
        "build", tmp_path / "m.onnx", "-o", tmp_path / "n.plan", "--backends", "cpu", "--device", "cuda:0"
    )
    assert "backend 'mkl'" in refuse("explain", tmp_path / "m.onnx", "--backends", "mkl")


def test_a_process_ends_with_engines_that_hold_callables(model, tmp_path):
    (tmp_path / "m.onnx").write_bytes(model)
    script = """
import lanner
run = lambda count, piece: [piece(i) for i in range(count)]
environment = lanner.Environment(log=print, executor=run)
engine = lanner.build("m.onnx", environment=environment, budget=0, threads=2, precision="fp16")
context = engine.create_context()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "fp16 has no effect" in done.stdout
    assert not done.stderr
