"""A test case of one node: operands, attributes, and a model of that node."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

FIRST, LAST = 7, 23

Array = np.ndarray


@dataclass
class Case:
    """Operands of one node (None: left out); those whose indices are in `constants` are part of the model."""

    inputs: list[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    constants: tuple[int, ...] = ()
    operator: str = ""
    version: int = 0
    number: int = 0  # Index among those with the same shapes and attributes.

    @property
    def name(self) -> str:
        shapes = ",".join("-" if x is None else f"{x.dtype}{list(x.shape)}".replace(" ", "") for x in self.inputs)
        attributes = ",".join(f"{key}={plain(value)}" for key, value in self.attributes.items())
        return f"{self.operator}-{self.version}({shapes}){{{attributes}}}" + (f"->{self.outputs}" if self.outputs > 1 else "") + (f"#{self.number}" if self.number else "")

    @property
    def opset(self) -> int:
        return max(self.version, FIRST)

    def feed(self) -> dict[str, Array]:
        return {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None and i not in self.constants}

    def model(self) -> onnx.ModelProto:
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        while names and not names[-1]:
            names.pop()
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.operator, names, results, name="the_node", **self.attributes)
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in self.feed().items()]
        constants = [numpy_helper.from_array(self.inputs[i], f"x{i}") for i in self.constants if self.inputs[i] is not None]
        graph = helper.make_graph([node], "one_node", inputs, [onnx.ValueInfoProto(name=name) for name in results], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


def plain(value: Any) -> str:
    if isinstance(value, onnx.TensorProto):
        return f"tensor{list(value.dims)}"
    return "sparse" if isinstance(value, onnx.SparseTensorProto) else str(value).replace(" ", "")


def C(*inputs: Array | None, outputs: int = 1, constants: Iterable[int] = (), **attributes: Any) -> Case:
    return Case(list(inputs), attributes, outputs, tuple(constants))


Generator = Callable[[int], Iterable[Case]]
OPERATORS: dict[str, Generator] = {}
# Why an operator, or an attribute ("Operator.attribute"), has no case.
LEFT_OUT: dict[str, str] = {}


def operator(*names: str) -> Callable[[Generator], Generator]:
    def register(generator: Generator) -> Generator:
        for name in names:
            assert name not in OPERATORS, name
            OPERATORS[name] = generator
        return generator

    return register


@cache
def schemas() -> dict[str, list[defs.OpSchema]]:
    """By operator, the schemas valid in some operator set from FIRST to LAST, oldest first."""
    versions: dict[str, list[defs.OpSchema]] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, []).append(schema)
    found = {}
    for name, every in versions.items():
        every.sort(key=lambda schema: schema.since_version)
        ends = [schema.since_version for schema in every[1:]] + [LAST + 1]
        kept = [schema for schema, end in zip(every, ends, strict=True) if schema.since_version <= LAST and end > FIRST and not schema.deprecated]
        if kept:
            found[name] = kept
    return dict(sorted(found.items()))


def cases_of(name: str) -> Iterator[Case]:
    seen: dict[str, int] = {}
    for schema in schemas()[name]:
        for case in OPERATORS[name](schema.since_version):
            case.operator, case.version = name, schema.since_version
            # Generators give the newest version's attributes; older versions have fewer.
            if all(attribute in schema.attributes for attribute in case.attributes) and len(case.inputs) <= schema.max_input and case.outputs <= schema.max_output:
                case.number = seen.setdefault(plain_name := case.name, 0)
                seen[plain_name] += 1
                yield case


def every_case() -> list[Case]:
    return [case for name in schemas() if name in OPERATORS for case in cases_of(name)]


def uncovered() -> list[str]:
    """Operators without a case, and attributes that no case of a version has, except those in LEFT_OUT."""
    missing = []
    for name, versions in schemas().items():
        if name in LEFT_OUT:
            continue
        if name not in OPERATORS:
            missing.append(name)
            continue
        cases = list(cases_of(name))
        for schema in versions:
            own = [case for case in cases if case.version == schema.since_version]
            if not own:
                missing.append(f"{name}-{schema.since_version}")
            used = {attribute for case in own for attribute in case.attributes}
            missing += [f"{name}-{schema.since_version}.{attribute}" for attribute in schema.attributes if attribute not in used and f"{name}.{attribute}" not in LEFT_OUT]
    return missing


# --- Operands: deterministic ---


def reals(*shape: int, seed: int = 0, dtype: Any = np.float32, scale: float = 1.0) -> Array:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(dtype)


def between(low: float, high: float, *shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(dtype)


def integers(low: int, high: int, *shape: int, seed: int = 0, dtype: Any = np.int64) -> Array:
    return np.random.default_rng([seed, *shape]).integers(low, high, shape).astype(dtype)


def i64(*values: int) -> Array:
    return np.array(values, np.int64)


def f32(*values: float) -> Array:
    return np.array(values, np.float32)
