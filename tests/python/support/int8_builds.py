"""Builds with precision int8, and how exact their answers are."""

import json

import numpy as np

import lanner


def batches(values, size=8):
    return [{"x": values[i : i + size]} for i in range(0, len(values), size)]


def answers(engine, values):
    return np.concatenate([np.asarray(engine({"x": each[None]})["y"]) for each in values])


def decibels(expected, got):
    return 10 * np.log10(np.square(expected).sum() / np.square(expected - got).sum())


def int8(model, **options):
    return lanner.build(model, precision="int8", budget=0, **options)


def write_tensors(path, **tensors):
    """A safetensors file of f32 tensors."""
    header, data = {}, b""
    for name, values in tensors.items():
        raw = np.ascontiguousarray(values, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
