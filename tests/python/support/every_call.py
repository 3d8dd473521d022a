"""Calls each function of the package with what does not fit: run by test_every_call.py, for one object after the other.

python every_call.py KIND FOLDER: prints a line for each call that told of its fault in a wrong way.
"""

import gc
import inspect
import os
import re
import sys
import warnings

import numpy as np
from onnx import TensorProto, helper

import lanner

WRONG = [
    None, True, -1, 0, 2**31, 2**63, 2**64, -(2**70), 1.5, float("nan"), float("inf"), -1e300, "", "no such", "a\nb\x1b[1m", "\ud800",
    "\udcff", "a\0b", b"bytes", b"\xff\0", [], [None], [1, 2, 3], (1, 2), (2**64,) * 2, {}, {"x": None}, {"\ud800": 1}, {1: 2}, {1}, object(),
    np.zeros((0, 3)), np.zeros(3, np.complex64), range(3), len, int, lambda *_: 1 / 0,
]  # fmt: skip
BAD_TEXT = ("incompatible function arguments", "std::", "unexpected", "Invoked with", "bad_cast", "nanobind")
ALLOWED = (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError, OSError, MemoryError, ZeroDivisionError, BufferError, RuntimeWarning, lanner.Error)
# What would wait, take all threads' numbers, or is Python's own business.
LEFT_OUT = {"__class__", "__getattribute__", "__setattr__", "__delattr__", "__new__", "__init_subclass__", "__subclasshook__", "__reduce_ex__", "__sizeof__", "__dir__", "__format__", "__hash__", "__repr__", "__str__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}  # fmt: skip


LAST = {"close", "__exit__", "end"}  # After these an object takes no calls.


def network():
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x", TensorProto.FLOAT, (1, 3))], [value("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def make_clip(folder):
    path = os.path.join(folder, "clip.mkv")
    with lanner.VideoWriter(path, width=32, height=16, codec="ffv1") as out:
        for i in range(4):
            out.write(np.full((16, 32, 3), i, np.uint8))
    return path


def classifier():
    """Means of the channels of pictures of 8 x 8."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, ("N", 3, 8, 8))], [value("y", TensorProto.FLOAT, ("N", 3))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    spec = lanner.Preprocess(range=(0, 1), size=(8, 8))
    return lanner.build(model.SerializeToString(), budget=0, threads=1, device="cpu", preprocess={"x": spec})


def make_crop_runner(_):
    return lanner.tasks.CropRunner(classifier(), {"task": "classify", "labels": ["red", "green", "blue"]})


def make_evaluation(folder):
    """Of a picture of each class."""
    for k, name in enumerate(["red", "green", "blue"]):
        pixels = np.zeros((8, 8, 3), np.uint8)
        pixels[..., k] = 200
        place = os.path.join(folder, "pictures", name)
        os.makedirs(place)
        lanner.save_image(os.path.join(place, "one.png"), lanner.Image(pixels))
    task = {"task": "classify", "labels": ["red", "green", "blue"]}
    return lanner.tasks.evaluate(classifier(), os.path.join(folder, "pictures"), task=task)


def make_torch(_):
    import lanner.torch

    return lanner.torch


def make_encoder(_):
    return lanner.Encoder(width=32, height=16, codec="ffv1")


def make_muxer(folder):
    return lanner.Muxer(os.path.join(folder, "muxed.mkv"))


def make_demuxer(folder):
    return lanner.Demuxer(make_clip(folder))


def make_packet(folder):
    return next(make_demuxer(folder))


def make_decoder(folder):
    return lanner.Decoder(make_demuxer(folder).streams[0], threads=1, device="cpu")


# Made only where they are asked for.
MADE = {"encoder": make_encoder, "crop_runner": make_crop_runner, "evaluation": make_evaluation, "torch": make_torch, "demuxer": make_demuxer,
        "packet": make_packet, "decoder": make_decoder, "muxer": make_muxer, "calibration": lambda _: lanner.CalibrationTable({"x": (-1, 1)})}  # fmt: skip


def objects(folder):
    engine = lanner.build(network(), budget=0, threads=1, device="cpu")
    scores = lanner.Tensor(np.array([[0.1, 0.7, 0.2]], np.float32))
    image = lanner.Image(np.zeros((8, 8, 3), np.uint8))
    spec = lanner.Preprocess(size=(8, 8))
    reader = lanner.tasks.TaskReader(engine, "classify", spec)
    return {
        "lanner": lanner,
        "tasks": lanner.tasks,
        "engine": engine,
        "context": engine.create_context(),
        "tensor": scores,
        "image": image,
        "preprocess": spec,
        "video": lanner.VideoReader(make_clip(folder)),
        "parallel": lanner.ParallelDecoder(make_clip(folder)),
        "frame": lanner.VideoReader(make_clip(folder))[0],
        "task_reader": reader,
        "result": reader({"y": scores}, image),
        "writer": lanner.VideoWriter(os.path.join(folder, "out.mkv"), width=32, height=16, codec="ffv1"),
        "environment": lanner.Environment(threads=1),
    }


def signature_of(function):
    """Names of the parameters that can be given by name."""
    in_class = getattr(function, "__init__", None) if inspect.isclass(function) else getattr(type(getattr(function, "__self__", None)), function.__name__, None)
    texts = getattr(function, "__nb_signature__", None) or getattr(in_class, "__nb_signature__", None)
    if texts:
        return list(dict.fromkeys(re.findall(r"[(,] *(?:\*, )?(\w+):", " ".join(text for text, *_ in texts))))
    try:
        return [name for name in inspect.signature(function).parameters if name != "self"]
    except (TypeError, ValueError):
        return []


def callables(target):
    for name in sorted(dir(target), key=lambda name: (name in LAST, name)):
        if name in LEFT_OUT or (name.startswith("_") and not name.startswith("__")):
            continue
        try:
            member = getattr(target, name)
        except Exception as error:
            yield f"{name} (a property)", None, error
            continue
        ours = str(getattr(member, "__module__", "")).startswith("lanner") or type(getattr(type(target), name, None)).__name__ in ("nb_method", "nb_func")
        if callable(member) and ours and not (inspect.isclass(member) and issubclass(member, BaseException)):
            yield name, member, None


def try_properties(kind, target):
    """Setting and deleting of each property; what can be set gets its own value back."""
    for name in sorted(dir(type(target))):
        if name.startswith("_") or not isinstance(getattr(type(target), name), property):
            continue
        before = getattr(target, name)
        for value in WRONG:
            attempt(f"{kind}.{name} = ", lambda value=value, name=name: setattr(target, name, value), shown=value)
        attempt(f"del {kind}.{name}", lambda name=name: delattr(target, name))
        attempt(f"{kind}.{name} = ", lambda name=name, before=before: setattr(target, name, before), shown=before)


def check(name, given, error):
    text = str(error)
    if isinstance(error, TypeError) and "got an unexpected keyword argument" in text:
        return  # Python's own line, of a function that is written in Python.
    if not isinstance(error, ALLOWED):
        print(f"{name}{given}: {type(error).__name__} is not allowed: {text[:300]!r}")
    elif len(text.splitlines()) > 1 or any(part in text for part in BAD_TEXT) or len(text) > 6000:
        print(f"{name}{given}: {text[:300]!r}")


calls = 0


def attempt(name, function, *arguments, shown=None, **options):
    global calls
    calls += 1
    try:
        result = function(*arguments, **options)
        if hasattr(result, "close"):
            result.close()
    except BaseException as error:
        check(name, f"(*{repr(arguments)[:120]}, **{repr(options)[:120]}) {shown!r:.120}", error)


def try_all(name, function):
    parameters = signature_of(function)
    attempt(name, function)
    attempt(name, function, *[None] * 30)
    attempt(name, function, no_such_option=1)
    attempt(name, function, **{"\ud800\n": 1})
    for value in WRONG:
        attempt(name, function, value)
        attempt(name, function, value, value)
    for parameter in parameters:
        attempt(name, function, **{parameter + "s": 1})
        for value in WRONG:
            attempt(name, function, **{parameter: value})
            first = [one for one in parameters if one != parameter][:1]
            attempt(name, function, **{parameter: value, **{one: network() for one in first}})


def main():
    kind, folder = sys.argv[1:]
    warnings.simplefilter("ignore")
    os.chdir(folder)
    target = MADE[kind](folder) if kind in MADE else objects(folder)[kind]
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    if not inspect.ismodule(target):
        try_properties(kind, target)
    for name, member, error in callables(target):
        if error is not None:
            check(name, "", error)
        else:
            try_all(f"{kind}.{name}", member)
    gc.collect()
    leaked = len(os.listdir("/proc/self/fd")) - before
    if leaked > 4:
        print(f"{kind}: {leaked} file handles are left")
    print(f"{calls} calls")


if __name__ == "__main__":
    main()
