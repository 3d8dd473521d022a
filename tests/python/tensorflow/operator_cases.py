"""Cases of TensorFlow's operators, as data: the oracle and the test read the same ones. Only NumPy is needed."""

import dataclasses
import importlib

import ml_dtypes
import numpy as np

F = np.float32
TYPES = {
    "float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_,
}  # fmt: skip
REALS = ["float32", "float64", "float16", "bfloat16"]
SIGNED = ["int32", "int64", "int16", "int8"]
INTEGERS = [*SIGNED, "uint8", "uint16", "uint32", "uint64"]
NUMBERS = REALS + INTEGERS
FAMILIES = ["elementwise", "layers", "movement", "reductions", "images", "indexing", "quantization", "linear"]

# Relative differences allowed: a few units in the last place.
TOLERANCE = {"float32": 2e-6, "float64": 4e-15, "float16": 4e-3, "bfloat16": 3.2e-2}


@dataclasses.dataclass
class Const:
    """An input that is a constant of the graph. Others are fed."""

    value: np.ndarray


@dataclasses.dataclass
class Case:
    """One node: its inputs in the operator's order (a list for a list of tensors) and attributes.

    open: which sizes of fed inputs a second graph leaves unknown: True for all, "rank" for the rank too, or axes.
    tolerance: relative, where that of the type is too narrow; `why` says the reason.
    refused: part of the message with which Lanner refuses the node.
    sample: also a compiled test's case (tests/importers/tensorflow_samples).
    expected: the answer, for nodes that TensorFlow's CPU device does not run.
    like: for the same, a node that it runs (inputs, attributes) and the order of dims that makes its answer this one's.
    """

    family: str
    op: str
    label: str
    inputs: list
    attributes: dict
    open: object = None
    tolerance: float = 0
    why: str = ""
    refused: str = ""
    sample: bool = False
    expected: np.ndarray | None = None
    like: tuple | None = None

    @property
    def name(self):
        return f"{self.op}-{self.label}" if self.label else self.op


class Family:
    """Collects the cases of one family; labels are made unique."""

    def __init__(self, name):
        self.name, self.cases, self.labels = name, [], {}

    def add(self, op, inputs, attributes=None, label="", **more):
        number = self.labels[(op, label)] = self.labels.get((op, label), 0) + 1
        label = label if number == 1 else f"{label}{'-' if label else ''}{number}"
        more.setdefault("sample", number == 1 and label == "" and not more.get("refused"))
        self.cases.append(Case(self.name, op, label, inputs, attributes or {}, **more))


def all_cases():
    return [case for name in FAMILIES for case in importlib.import_module(f"cases_{name}").family.cases]


def draw(shape, dtype="float32", seed=0, low=-3.0, high=3.0):
    """Varied numbers of a type; of integers from `low` to `high`, negative ones only where the type has them."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if "int" in dtype:
        least = int(low) if not dtype.startswith("u") else max(int(low), 0)
        return rng.integers(least, int(high) + 1, shape).astype(TYPES[dtype])
    return rng.uniform(low, high, shape).astype(np.float32).astype(TYPES[dtype])


def count(shape, dtype="float32"):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(TYPES[dtype])


def ints(*values):
    return Const(np.array(values, np.int32))


def longs(*values):
    return Const(np.array(values, np.int64))


def scalar(value, dtype="int32"):
    return Const(np.array(value, TYPES[dtype]))
