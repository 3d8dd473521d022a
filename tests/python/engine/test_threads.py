"""Threads of kernels: in a plain process, in a forked child, and together with another OpenMP."""

import ctypes
import pathlib
import subprocess
import sys

import pytest

lanner = pytest.importorskip("lanner")

SHAPES = pathlib.Path(__file__).resolve().parents[3] / "demo" / "shapes.onnx"
START = f"""
import ctypes, multiprocessing, numpy, lanner
picture = numpy.random.default_rng(0).random((1, 3, 192, 320), dtype=numpy.float32)
def scores(threads):
    engine = lanner.build({str(SHAPES)!r}, shapes={{"input": (1, 3, 192, 320)}}, threads=threads, budget=0)
    return numpy.asarray(engine({{"input": picture}})["scores"])
def same(threads):
    numpy.testing.assert_allclose(scores(threads), alone, rtol=1e-4, atol=1e-5)
def child(work):
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(120)
    return process.exitcode
def refused():
    try:
        scores(2)
    except lanner.Unsupported as error:
        assert "spawn" in str(error), error
    else:
        raise AssertionError("not refused")
"""


def run(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def library(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        pytest.skip(f"no {name} here")


def test_a_forked_child_has_its_own_threads():
    run(START + "alone = scores(1); same(3); assert child(lambda: same(3)) == 0; same(2)")


def test_another_openmp_of_the_process_is_not_disturbed():
    library("libgomp.so.1")
    run(
        "import ctypes; gomp = ctypes.CDLL('libgomp.so.1', ctypes.RTLD_GLOBAL); gomp.omp_set_num_threads(5)"
        + START
        + "alone = scores(1); same(3); assert gomp.omp_get_max_threads() == 5; assert child(lambda: same(3)) == 0"
    )


@pytest.mark.parametrize("name", ["libdnnl.so.2", "libdnnl.so.3"])
def test_a_onednn_loaded_before_keeps_its_own_threads(name):
    if subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{name}')"], capture_output=True).returncode:
        pytest.skip(f"no {name} here")
    run(
        f"import ctypes; ctypes.CDLL('{name}'); gomp = ctypes.CDLL('libgomp.so.1'); gomp.omp_set_num_threads(5)"
        + START
        + "alone = scores(1); same(2); assert gomp.omp_get_max_threads() == 5; assert child(refused) == 0"
    )


def test_default_threads_apply_where_no_number_is_given(monkeypatch):
    monkeypatch.setenv("LANNER_THREADS", "3")
    script = "build = lambda: lanner.build({!r}, budget=0).threads; "
    script = "import lanner; " + script.format(str(SHAPES))
    assert run(script + "first = build(); lanner.set_threads(2); print(first, build(), lanner.default_threads())") == "3 2 2\n"
    assert run(script + "lanner.set_threads(2); lanner.set_threads(0); print(build())") == "3\n"
    with pytest.raises(lanner.InvalidArgument, match="threads is 5000: expected 1 to 4096"):
        lanner.set_threads(5000)


def test_no_thread_is_left_after_the_last_engine():
    count = "count = lambda: sum(open(f'/proc/self/task/{task}/comm').read() == 'lanner-team\\n' for task in os.listdir('/proc/self/task')); "
    script = count + f"engine = lanner.build({str(SHAPES)!r}, threads=3, budget=0); context = engine.create_context(); shape = (1, 3, 192, 320); "
    script += "run = lambda: context({'input': numpy.zeros(shape, numpy.float32)}); run(); del engine; run(); print(count() >= 2); "
    assert run("import os, numpy, lanner; " + script + "del context; print(count())") == "True\n0\n"
