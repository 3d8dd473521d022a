"""TFRecord files of tf.Example messages, and a small TensorFlow model of pictures, written without TensorFlow."""

import struct

from protobuf_records import integer, text, varint

TABLE = []
for number in range(256):
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(record):
    length = struct.pack("<Q", len(record))
    return length + masked_crc(length) + record + masked_crc(record)


def example(**features):
    """bytes, a float or an integer by name; `__` in a name is `/`."""

    def feature(value):
        if isinstance(value, bytes):
            return text(1, text(1, value))
        if isinstance(value, float):
            return text(2, varint(1 << 3 | 5) + struct.pack("<f", value))
        return text(3, integer(1, value))

    entries = (text(1, text(1, name.replace("__", "/")) + text(2, feature(value))) for name, value in features.items())
    return text(1, b"".join(entries))


def write_records(path, records):
    path.write_bytes(b"".join(map(framed, records)))
    return path


def brightest_channel(path):
    """A frozen GraphDef, which says which channel of 4 x 4 pictures is brightest."""
    dims = "".join(f"dim {{ size: {size} }} " for size in (-1, 4, 4, 3))
    path.write_text(
        f"""node {{ name: "image" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
  attr {{ key: "shape" value {{ shape {{ {dims} }} }} }} }}
node {{ name: "axes" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }}
  attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ dim {{ size: 2 }} }} int_val: 1 int_val: 2 }} }} }} }}
node {{ name: "mean" op: "Mean" input: "image" input: "axes" attr {{ key: "T" value {{ type: DT_FLOAT }} }}
  attr {{ key: "Tidx" value {{ type: DT_INT32 }} }} attr {{ key: "keep_dims" value {{ b: false }} }} }}
node {{ name: "twice" op: "AddV2" input: "mean" input: "mean" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
node {{ name: "probabilities" op: "Softmax" input: "twice" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
"""
    )
    return path
