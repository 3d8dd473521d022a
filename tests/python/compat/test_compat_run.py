"""`python -m lanner.compat`, the stand-in for pycuda, and the helpers called Utils."""

import importlib.util

import numpy as np
import pytest

from compat_support import COUNT, run_script, write_clip

pytest.importorskip("lanner")
from lanner.compat import Utils  # noqa: E402
from lanner.compat.stand_ins.pycuda import driver as cuda  # noqa: E402

needs_stand_in = pytest.mark.skipif(importlib.util.find_spec("pycuda") is not None, reason="pycuda is installed: scripts get that one")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


def test_a_script_gets_its_arguments_and_its_folder(folder):
    (folder / "beside.py").write_text("VALUE = 7\n")
    code = "import sys, beside, PyNvVideoCodec as nvc\nprint(__name__, sys.argv[1:], beside.VALUE, nvc.__name__, nvc.__version__)\n"
    shown = run_script(folder, code, "-i", "x y", "--gpu", "0")
    assert shown == "__main__ ['-i', 'x y', '--gpu', '0'] 7 lanner.compat.PyNvVideoCodec 2.2.4\n"


def test_a_script_of_that_name_beside_it_comes_first(folder):
    (folder / "own").mkdir()
    (folder / "own" / "Utils.py").write_text("MINE = True\n")
    assert run_script(folder / "own", "import Utils; print(Utils.MINE)") == "True\n"
    assert run_script(folder, "from Utils import AppFrame; print(AppFrame.__module__)") == "lanner.compat.Utils\n"


def test_processes_that_a_script_starts_have_the_names_too(folder):
    code = """
import multiprocessing, subprocess, sys
def work(path):
    import PyNvVideoCodec as nvc
    return len(nvc.SimpleDecoder(path))
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, sys.argv[1:]))
    print(subprocess.check_output([sys.executable, "-c", "import PyNvVideoCodec; print('there')"], text=True).strip())
"""
    clip = write_clip(folder / "clip.mp4")
    assert run_script(folder, code, clip) == f"[{COUNT}]\nthere\n"


def test_modules_run_too(folder):
    (folder / "tool.py").write_text("import PyNvVideoCodec, sys; print(__name__, sys.argv[1:])\n")
    code = "import subprocess, sys; print(subprocess.check_output([sys.executable, '-m', 'lanner.compat', '-m', 'tool', '5'], text=True), end='')"
    assert run_script(folder, code) == "__main__ ['5']\n"


def test_the_exit_status_and_errors_are_the_scripts(folder):
    assert run_script(folder, "raise SystemExit(3)", code_of_exit=3) == ""
    assert "ZeroDivisionError" in run_script(folder, "1 / 0", code_of_exit=1)
    import subprocess
    import sys

    from compat_support import environment

    done = subprocess.run([sys.executable, "-m", "lanner.compat", "nothing.py"], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith("nothing.py: there is no such file; expected a Python script")


def test_logger_level(folder):
    code = "import PyNvVideoCodec, logging\nlogging.getLogger('PyNvVideoCodec').warning('hello')\n"
    quiet, loud = (run_script(folder, code + "raise SystemExit(1)", code_of_exit=1, **more) for more in ({}, {"LOGGER_LEVEL": "info"}))
    assert quiet == "" and loud == "[WARNING] PyNvVideoCodec: hello\n"
    assert "'loud' is not one of TRACE" in run_script(folder, code, code_of_exit=1, LOGGER_LEVEL="loud")


@needs_stand_in
def test_pycuda_stand_in_for_scripts(folder):
    code = """
import numpy as np
import pycuda.autoinit as context
import pycuda.driver as cuda
from pycuda.compiler import SourceModule
print(context.device.name() == cuda.Device(0).name(), cuda.Device.count() >= 1)
try:
    SourceModule("")
except NotImplementedError as error:
    print(error)
"""
    lines = run_script(folder, code).splitlines()
    assert lines[0] == "True True" and lines[1].startswith("pycuda.compiler.SourceModule: ")


@pytest.fixture
def driver():
    """The stand-in on the host, whatever the machine has."""
    from lanner.compat.stand_ins.pycuda._backends import HostBackend

    before, cuda._backend = cuda._backend, HostBackend()
    yield cuda
    cuda._backend = before


def test_host_memory_copies(driver):
    host = np.arange(1000, dtype=np.int32).reshape(10, 100)
    memory = driver.to_device(host)
    other = driver.mem_alloc_like(host)
    stream = driver.Stream()
    driver.memcpy_dtod_async(other, memory, host.nbytes, stream)
    stream.synchronize()
    back = driver.pagelocked_empty(host.shape, host.dtype)
    driver.memcpy_dtoh_async(back, other, stream)
    assert stream.is_done() and np.array_equal(back, host) and np.array_equal(driver.from_device_like(memory, host), host)
    driver.memset_d8(memory, 3, host.nbytes)
    assert set(driver.from_device(memory, host.nbytes, np.uint8)) == {3} and not driver.pagelocked_zeros(5, np.uint8).any()
    event = driver.Event().record(stream).synchronize()
    stream.wait_for_event(event)
    assert memory.size == host.nbytes == 4000 and driver.mem_get_info()[1] == driver.Device(0).total_memory()


def test_host_misuse_is_an_error(driver):
    memory = driver.mem_alloc(10)
    memory.free()
    for call in (memory.free, lambda: int(memory), lambda: driver.mem_alloc(0), lambda: driver.mem_alloc(2**62), lambda: driver.Device(1), driver.Context.pop, lambda: driver.memcpy_dtoh(np.empty(4, np.uint8), 0)):
        with pytest.raises(driver.Error) as caught:
            call()
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ValueError, match="gaps"):
        driver.memcpy_dtoh(np.empty((4, 4), np.uint8)[:, ::2], 1)
    fixed = np.zeros(4, np.uint8)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        driver.memcpy_dtoh(fixed, 1)
    context = driver.Device(0).retain_primary_context()
    context.push()
    assert context.handle and driver.Context.get_device().number == 0
    driver.Context.synchronize()
    context.pop()
    context.detach()


def test_calls_before_init_are_an_error(monkeypatch):
    monkeypatch.setattr(cuda, "_backend", None)
    with pytest.raises(cuda.LogicError, match=r"call init\(\) first"):
        cuda.mem_alloc(4)


SIZES = {"NV12": 1.5, "YUV420": 1.5, "IYUV": 1.5, "YUV444": 3, "NV16": 2, "P010": 3, "YUV420_10BIT": 3, "P210": 4, "YUV444_16BIT": 6, "ARGB": 4, "ABGR": 4}


@pytest.mark.parametrize("format", SIZES)
def test_app_frames_cover_their_memory(format):
    frame = Utils.AppFrame(64, 48, format)
    assert frame.frameSize == SIZES[format] * 64 * 48
    views = frame.cuda() if isinstance(frame.cuda(), list) else [frame.cuda()]
    end = int(frame.gpuAlloc)
    for view in views:
        interface = view.__cuda_array_interface__
        assert interface["data"] == (end, False)
        end += int(np.prod(interface["shape"])) * int(interface["typestr"][2:])
    assert end == int(frame.gpuAlloc) + frame.frameSize


def test_utils_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="not one of NV12"):
        Utils.AppFrame(64, 48, "nv12?")
    with pytest.raises(ValueError, match="pixels"):
        Utils.AppFrame(0, 48, "NV12")
    memory = np.arange(16, dtype=np.uint8)
    assert np.array_equal(Utils.cast_address_to_1d_bytearray(memory.ctypes.data, 16), memory)
    for address, size in ((0, 4), (memory.ctypes.data, -1)):
        with pytest.raises(ValueError):
            Utils.cast_address_to_1d_bytearray(address, size)
