"""Imports, builds and runs the node cases of ONNX's own suite with wrong types, shapes, operands and attributes.

    python tests/hostile_operators/onnx_cases.py --draws 20          # of each case; exit code 1 where something was found
    python tests/hostile_operators/onnx_cases.py --first 812 --last 813 --save found.onnx

Success and lanner.Error are the only results that a model may have. Models run in worker processes: one that ends its
process is reported by number, and the others continue.
"""

import argparse
import collections
import ctypes
import mmap
import os
import random
import resource
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy
import onnx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "build" / "python")]
import onnx_suite  # noqa: E402

INTEGERS = [0, 1, -1, 2, 3, 7, 64, 65537, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, -(1 << 31), 1 << 32, 1 << 62, (1 << 63) - 1, -(1 << 63)]
REALS = [0.0, -1.0, float("nan"), float("inf"), -float("inf"), 3e38, 1e-40, 3e9]
STRINGS = [b"", b"unknown", b"SAME_UPPER", b"VALID", b"linear", b"cubic", b"nearest", b"reflect", b"wrap", b"bidirectional", b"none", b"add", b"\xff", b"i,j->"]
SIZES = [0, 1, 2, 5, 65537, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 62]
LIMITS = {"seconds": 3, "total_bytes": "256MiB", "tensor_bytes": "64MiB"}
MOST_ELEMENTS = 1 << 20
ADDRESS_SPACE = 8 << 30
SECONDS_A_CASE = 60
NUMPY_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bool": "bool"} | {f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


def change_attribute(node: onnx.NodeProto, draw: random.Random) -> None:
    kinds = onnx.AttributeProto
    if not node.attribute:
        return
    attribute = draw.choice(node.attribute)
    if draw.random() < 0.1:
        node.attribute.remove(attribute)
    elif attribute.type == kinds.INT:
        attribute.i = draw.choice(INTEGERS)
    elif attribute.type == kinds.FLOAT:
        attribute.f = draw.choice(REALS)
    elif attribute.type == kinds.STRING:
        attribute.s = draw.choice(STRINGS)
    elif attribute.type in (kinds.INTS, kinds.FLOATS, kinds.STRINGS):
        values = {kinds.INTS: attribute.ints, kinds.FLOATS: attribute.floats, kinds.STRINGS: attribute.strings}[attribute.type]
        choices = {kinds.INTS: INTEGERS, kinds.FLOATS: REALS, kinds.STRINGS: STRINGS}[attribute.type]
        way = draw.randrange(5)
        if way == 0:
            del values[:]
        elif way == 1:
            values.append(draw.choice(choices))
        elif way == 2 and values:
            del values[-1]
        elif way == 3:
            values[:] = [draw.choice(choices)] * len(values)
        elif values:
            values[draw.randrange(len(values))] = draw.choice(choices)


def change_type(info: onnx.ValueInfoProto, draw: random.Random) -> None:
    if not info.type.HasField("tensor_type"):
        return
    tensor = info.type.tensor_type
    way = draw.randrange(5)
    if way == 0:
        tensor.elem_type = draw.randrange(1, 24)
    elif way == 1:
        del tensor.shape.dim[:]
        for _ in range(draw.randrange(7)):
            tensor.shape.dim.add().dim_value = draw.choice([1, 2, 3])
    elif way == 2:
        tensor.ClearField("shape")
    elif tensor.shape.dim:
        dim = draw.choice(tensor.shape.dim)
        if draw.random() < 0.2:
            dim.dim_param = "open"
        else:
            dim.dim_value = draw.choice(SIZES)


def change_operands(node: onnx.NodeProto, draw: random.Random) -> None:
    way = draw.randrange(4)
    if way == 0 and node.input:
        node.input[draw.randrange(len(node.input))] = ""
    elif way == 1 and node.input:
        node.input[draw.randrange(len(node.input))] = draw.choice(node.input)
    elif way == 2 and node.input:
        node.input.append(draw.choice(node.input))
    elif node.input:
        del node.input[-1]


def make_constant(model: onnx.ModelProto, draw: random.Random) -> None:
    """One input becomes an initialiser of small numbers, usual or not."""
    inputs = [info for info in model.graph.input if info.type.HasField("tensor_type")]
    if not inputs:
        return
    info = draw.choice(inputs)
    shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    if any(size < 0 for size in shape) or numpy.prod(shape, dtype=float) > 4096:
        return
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        values = numpy.array([draw.choice(INTEGERS if dtype.kind in "iu" else REALS) if draw.random() < 0.3 else draw.randrange(3) for _ in range(int(numpy.prod(shape)))])
        with numpy.errstate(all="ignore"):
            array = values.astype(dtype).reshape(shape)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, info.name))
    except (KeyError, TypeError, ValueError, OverflowError, NotImplementedError):
        return
    model.graph.input.remove(info)


def changed(model: onnx.ModelProto, draw: random.Random) -> bytes:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for _ in range(draw.choice([1, 1, 2, 3])):
        node = draw.choice(copy.graph.node)
        way = draw.randrange(8)
        if way < 3:
            change_attribute(node, draw)
        elif way < 5 and copy.graph.input:
            change_type(draw.choice(copy.graph.input), draw)
        elif way == 5:
            change_operands(node, draw)
        elif way == 6:
            make_constant(copy, draw)
        else:
            for info in copy.graph.output:
                info.type.Clear()
    return copy.SerializeToString()


def inputs_for(engine: Any, given: list[Any]) -> dict[str, Any] | None:
    """The case's own values where they fit, else ones; nothing where an input cannot be allocated here."""
    brought = {value.shape + (value.dtype.name,): value for value in given if isinstance(value, numpy.ndarray)}
    values = {}
    for binding in engine.inputs:
        shape = tuple(size if isinstance(size, int) and size >= 0 else 2 for size in binding.shape or ())
        name = NUMPY_NAMES.get(str(binding.dtype))
        if name is None or numpy.prod(shape, dtype=float) > MOST_ELEMENTS:
            return None
        values[binding.name] = brought.get((*shape, name), numpy.ones(shape, name))
    return values


def end_of(content: bytes, given: list[Any]) -> str:
    """The result of the model: `ran`, `built`, `refused`, or a finding."""
    import lanner

    try:
        engine = lanner.build(content, budget=0.0, threads=1, limits=LIMITS)
        values = inputs_for(engine, given)
        if values is None:
            return "built"
        engine.create_context()(values)
        return "ran"
    except lanner.Error as error:
        return f"found: a message of several lines: {error}" if "\n" in str(error) else "refused"
    except MemoryError:
        return "refused"
    except Exception as error:  # any exception is a finding
        return f"found: {type(error).__name__}: {error}"


class Board:
    """Shared memory between a worker and its supervisor."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 64)
        self.number = ctypes.c_int64.from_buffer(self.memory)


def work(cases: list[Any], options: argparse.Namespace, first: int, board: Board, pipe: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for number in range(first, options.last):
        board.number.value = number
        content, given, name = case_at(cases, options, number)
        end = end_of(content, given)
        os.write(pipe, f"{number}\t{name}\t{end.replace(chr(10), ' ')[:300]}\n".encode(errors="replace"))
    os._exit(0)


def case_at(cases: list[Any], options: argparse.Namespace, number: int) -> tuple[bytes, list[Any], str]:
    case = cases[number // options.draws]
    model = case.model()
    data = case.data_sets(model)
    return changed(model, random.Random(f"{options.seed} {number}")), data[0][0] if data else [], case.name


def watch(process: int, board: Board) -> str:
    """Waits; how the worker ended, empty where it succeeded."""
    seen, since = -1, time.monotonic()
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else signal.strsignal(-code) or str(code) if code < 0 else f"exit code {code}"
        if board.number.value != seen:
            seen, since = board.number.value, time.monotonic()
        if time.monotonic() - since > SECONDS_A_CASE:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return f"does not end in {SECONDS_A_CASE} s"
        time.sleep(0.02)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10, help="changed models of each case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=sys.maxsize)
    parser.add_argument("-k", default="", help="only cases whose name this pattern finds")
    parser.add_argument("--save", help="file that gets the model numbered --first; nothing is run")
    options = parser.parse_args()
    cases = [case for case in onnx_suite.load_cases(options.k) if case.group == "node"]
    options.last = min(options.last, len(cases) * options.draws)
    if options.save:
        Path(options.save).write_bytes(case_at(cases, options, options.first)[0])
        return 0
    ends: collections.Counter[str] = collections.Counter()
    board, first = Board(), options.first
    log = os.memfd_create("ends")
    while first < options.last:
        process = os.fork()
        if process == 0:
            work(cases, options, first, board, log)
        failure = watch(process, board)
        if not failure:
            break
        number = board.number.value
        os.write(log, f"{number}\t{case_at(cases, options, number)[2]}\tfound: {failure}\n".encode())
        first = number + 1
    os.lseek(log, 0, os.SEEK_SET)
    with os.fdopen(log) as lines:
        for line in lines:
            end = line.rstrip("\n").split("\t")[2]
            ends["found" if end.startswith("found") else end] += 1
            if end.startswith("found"):
                print(line, end="")
    print(f"{len(cases)} cases, seed {options.seed}: " + ", ".join(f"{count} {end}" for end, count in sorted(ends.items())))
    return 1 if ends["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
