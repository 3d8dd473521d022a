"""Seeds of TFRecord files and tf.Example messages."""

import struct

from protobuf_seeds import binary

INTEGERS, FLOATS, TEXTS = {"value": 1}, {"value": 1}, {"value": 1}
FEATURE = {"bytes_list": (1, TEXTS), "float_list": (2, FLOATS), "int64_list": (3, INTEGERS)}
EXAMPLE = {"features": (1, {"feature": (1, {"key": 1, "value": (2, FEATURE)})})}


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + struct.pack("<I", masked_crc32c(length)) + record + struct.pack("<I", masked_crc32c(record))


def example() -> bytes:
    def feature(name: str, kind: str, *values):
        return ("feature", [("key", name), ("value", [(kind, [("value", value) for value in values])])])

    features = [feature("image", "bytes_list", "GIF89a", ""), feature("label", "int64_list", 7, -1), feature("box", "float_list", 0.25, 1.0)]
    return binary([("features", features)], EXAMPLE)


def tfrecord_seeds() -> dict[str, bytes]:
    packed = bytes.fromhex("0a0c0a0a0a0178120512030a0105") + bytes.fromhex("0a100a0e0a016612090a0712050a0300ffff")
    return {"file": framed(example()) + framed(b"") + framed(example()), "example": example(), "odd": packed}
