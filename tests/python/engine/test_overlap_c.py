"""The C interface: outputs whose memory overlaps inputs or other outputs are right, or rejected."""

import ctypes

import numpy as np
import pytest
from command import BUILD
from overlap_cases import SHAPE, SIZE, X, build, part
from onnx import helper

lanner = pytest.importorskip("lanner")
NAME = b"dltensor_versioned"


class Capi:
    def __init__(self):
        self.library = ctypes.CDLL(str(BUILD / "lib" / "liblanner.so"))
        self.library.lanner_error_message.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        error = ctypes.c_void_p()
        status = getattr(self.library, name)(*arguments, ctypes.byref(error))
        if status == 0:
            return
        text = self.library.lanner_error_message(error).decode()
        self.library.lanner_error_destroy(error)
        raise RuntimeError(text)

    def bind(self, function, context, name, array):
        self.call(function, context, name.encode(), ctypes.c_void_p(managed(array)))


def managed(array):
    """A DLManagedTensorVersioned owned by the callee, taken from its capsule."""
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = array.__dlpack__(max_version=(1, 0))
    pointer = python.PyCapsule_GetPointer(capsule, NAME)
    python.PyCapsule_SetName(capsule, b"used_dltensor_versioned")
    return pointer


@pytest.fixture(scope="module")
def capi():
    if int(np.__version__.split(".")[0]) < 2:
        pytest.skip("numpy before 2 gives no versioned DLPack tensors")
    return Capi()


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["square"]),
        helper.make_node("Softmax", ["square"], ["y"]),
        helper.make_node("Sub", ["x", "y"], ["z"]),
    ]
    path = tmp_path_factory.mktemp("plan") / "two.plan"
    build(nodes, {"x": SHAPE}, {"y": SHAPE, "z": SHAPE}).save(path)
    return path


@pytest.fixture
def context(capi, plan):
    engine, made = ctypes.c_void_p(), ctypes.c_void_p()
    capi.call("lanner_engine_load", str(plan).encode(), None, ctypes.byref(engine))
    capi.call("lanner_context_create", engine, None, ctypes.byref(made))
    yield made
    capi.library.lanner_context_destroy(made)
    capi.library.lanner_engine_destroy(engine)


@pytest.mark.parametrize("begin", [0, 1, 8, 15])
@pytest.mark.parametrize("name", ["y", "z"])
def test_an_output_in_its_input_is_right(capi, context, plan, begin, name):
    right = lanner.load(plan)({"x": X.copy()})[name].numpy()
    memory = np.zeros(4 * SIZE, np.float32)
    memory[:SIZE] = X.ravel()
    capi.bind("lanner_context_bind", context, "x", part(memory, 0))
    capi.bind("lanner_context_bind_output", context, name, part(memory, begin))
    capi.call("lanner_context_run", context)
    np.testing.assert_array_equal(part(memory, begin), right)


@pytest.mark.parametrize("begin", [0, 1, 15])
def test_two_outputs_in_one_memory_are_rejected(capi, context, begin):
    memory = np.zeros(4 * SIZE, np.float32)
    capi.bind("lanner_context_bind", context, "x", X.copy())
    capi.bind("lanner_context_bind_output", context, "y", part(memory, 0))
    capi.bind("lanner_context_bind_output", context, "z", part(memory, begin))
    with pytest.raises(RuntimeError, match="^outputs y and z: the memory bound for them overlaps; give each memory of its own$"):
        capi.call("lanner_context_run", context)
    capi.bind("lanner_context_bind_output", context, "z", part(memory, SIZE))
    capi.call("lanner_context_run", context)
