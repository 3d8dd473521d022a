"""A converted SavedModel through TensorFlow's C API, as a C program would: TensorFlow's Python package is not imported.

    python inside_c_api.py TENSORFLOW_FOLDER LIBRARY SAVED_MODEL INPUT OUTPUT FILE

FILE is an .npz with `x`, which gets `y` beside it: FILE.y.npy. INPUT and OUTPUT are operations' names.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np

FOLDER, LIBRARY, MODEL, INPUT, OUTPUT, FILE = sys.argv[1:]
ctypes.CDLL(str(Path(FOLDER) / "libtensorflow_framework.so.2"), mode=ctypes.RTLD_GLOBAL)
api = ctypes.CDLL(str(Path(FOLDER) / "libtensorflow_cc.so.2"), mode=ctypes.RTLD_GLOBAL)
P, I, S, N = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t


class Output(ctypes.Structure):
    _fields_ = [("operation", P), ("index", I)]


def function(name, result, *arguments):
    found = getattr(api, name)
    found.restype, found.argtypes = result, list(arguments)
    return found


status = function("TF_NewStatus", P)()
code, message = function("TF_GetCode", I, P), function("TF_Message", S, P)


def checked(what):
    if code(status):
        sys.exit(f"{what}: {message(status).decode()}")


load_library = function("TF_LoadLibrary", P, S, P)
load_session = function("TF_LoadSessionFromSavedModel", P, P, P, S, ctypes.POINTER(S), I, P, P, P)
operation = function("TF_GraphOperationByName", P, P, S)
allocate = function("TF_AllocateTensor", P, I, ctypes.POINTER(ctypes.c_int64), I, N)
data, size, rank, dim = (function(f"TF_{name}", result, P, *more) for name, result, more in (("TensorData", P, ()), ("TensorByteSize", N, ()), ("NumDims", I, ()), ("Dim", ctypes.c_int64, (I,))))
run = function("TF_SessionRun", None, P, P, ctypes.POINTER(Output), ctypes.POINTER(P), I, ctypes.POINTER(Output), ctypes.POINTER(P), I, P, I, P, P)

if load_library(LIBRARY.encode(), status) is None:
    checked("TF_LoadLibrary")
graph = function("TF_NewGraph", P)()
session = load_session(function("TF_NewSessionOptions", P)(), None, MODEL.encode(), (S * 1)(b"serve"), 1, graph, None, status)
checked("TF_LoadSessionFromSavedModel")
x = np.load(FILE)["x"]
tensor = allocate(1, (ctypes.c_int64 * x.ndim)(*x.shape), x.ndim, x.nbytes)
ctypes.memmove(data(tensor), x.ctypes.data, x.nbytes)
results = (P * 1)()
run(session, None, Output(operation(graph, INPUT.encode()), 0), (P * 1)(tensor), 1, Output(operation(graph, OUTPUT.encode()), 0), results, 1, None, 0, None, status)
checked("TF_SessionRun")
y = np.empty([dim(results[0], i) for i in range(rank(results[0]))], np.float32)
ctypes.memmove(y.ctypes.data, data(results[0]), size(results[0]))
np.save(FILE + ".y.npy", y)
assert "tensorflow" not in sys.modules
