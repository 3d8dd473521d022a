"""Writes cases with TensorFlow's answers as lines that the compiled tests read (tests/importers/tensorflow_samples.h)."""

import numpy as np
from operator_cases import Const

DATA_TYPES = {
    "float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF", "bfloat16": "DT_BFLOAT16",
    "int8": "DT_INT8", "int16": "DT_INT16", "int32": "DT_INT32", "int64": "DT_INT64",
    "uint8": "DT_UINT8", "uint16": "DT_UINT16", "uint32": "DT_UINT32", "uint64": "DT_UINT64", "bool": "DT_BOOL",
}  # fmt: skip
LARGEST = 600


def number(value):
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return f"{float(value):.9g}"


def tensor(array):
    array = np.asarray(array)
    numbers = " ".join(number(one) for one in array.ravel().tolist())
    sizes = ",".join(str(size) for size in array.shape)
    return f"{DATA_TYPES[array.dtype.name]} [{sizes}] {numbers}".rstrip()


def input_lines(case, types):
    for place, (value, kind) in enumerate(zip(case.inputs, types, strict=False)):
        for part, one in enumerate(value if isinstance(value, list) else [value]):
            name = f"x{place}_{part}" if isinstance(value, list) else f"x{place}"
            held = one.value if isinstance(one, Const) else one
            yield f"{'constant' if isinstance(one, Const) else 'fed'} {name} {kind} {tensor(held)}"


def attribute_line(name, kind, values):
    shown = [one.decode() if isinstance(one, bytes) else one for one in values]
    return f"attribute {name} {kind} " + " ".join(one if isinstance(one, str) else number(one) for one in shown)


def size_of(case, record):
    held = [one for value in case.inputs for one in (value if isinstance(value, list) else [value])]
    arrays = [one.value if isinstance(one, Const) else one for one in held] + list(record["answers"].values())
    return sum(np.asarray(one).size for one in arrays)


def is_sample(case, record):
    texts = any(np.asarray(one).dtype.kind in "OSU" for one in record.get("answers", {}).values())
    return case.sample and not record["error"] and not texts


def write_samples(cases, made):
    lines = [f"# Written by tests/python/tensorflow/test_operators.py from TensorFlow {made['version']}'s answers."]
    for case in cases:
        record = made["cases"][case.name]
        if not is_sample(case, record):
            continue
        assert size_of(case, record) <= LARGEST, f"{case.name}: {size_of(case, record)} numbers are many for a sample"
        types, allowed = made["types"][case.op]
        lines += ["", f"case {case.op} {case.name}"]
        lines += [f"types {name} {' '.join(kinds)}" for name, kinds in allowed.items() if kinds]
        lines += input_lines(case, types)
        lines += [
            attribute_line(name, kind, values).rstrip()
            for name, (kind, values) in sorted(record["attributes"].items())
            if not name.startswith("_")
        ]
        lines += [f"tolerance {case.tolerance}"] if case.tolerance else []
        # Other results of batch normalisation are for training, and not always filled.
        shown = list(record["answers"].items())[: 1 if "BatchNorm" in case.op else None]
        lines += [f"answer {name} {tensor(array)}" for name, array in shown]
    return "\n".join(lines) + "\n"
