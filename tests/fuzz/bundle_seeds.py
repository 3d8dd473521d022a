"""Seeds of TensorFlow's checkpoints: see bundle_target.cpp for how index and shard are put together."""

import struct

from protobuf_seeds import SHAPE, binary, varint


def crc32c(content: bytes, before: int = 0) -> int:
    crc = before ^ 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(crc: int) -> bytes:
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


EXTENT = {"start": 1, "length": 2}
ENTRY = {"dtype": 1, "shape": (2, SHAPE), "shard_id": 3, "offset": 4, "size": 5, "slices": (7, {"extent": (1, EXTENT)})}


def entry(kind: int, sizes: list, offset: int, content: bytes, slices: list = (), crc: int | None = None) -> bytes:
    message = [("dtype", kind), ("shape", [("dim", [("size", size)]) for size in sizes]), ("offset", offset), ("size", len(content))]
    message += [("slices", [("extent", [("start", start), ("length", length)]) for start, length in one]) for one in slices]
    return binary(message, ENTRY) + b"\x35" + masked(crc32c(content) if crc is None else crc)


def block(rows: dict) -> bytes:
    content, previous = b"", b""
    for key, value in sorted(rows.items()):
        shared = next((i for i, (a, b) in enumerate(zip(key, previous, strict=False)) if a != b), min(len(key), len(previous)))
        content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        previous = key
    return content + struct.pack("<II", 0, 1)


def table(rows: dict) -> bytes:
    def append(content: bytes) -> bytes:
        nonlocal file
        handle = varint(len(file)) + varint(len(content))
        file += content + b"\0" + masked(crc32c(content + b"\0"))
        return handle

    file = b""
    handle = append(block(rows))
    footer = append(struct.pack("<II", 0, 1)) + append(block({max(rows): handle}))
    return file + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def slice_key(name: bytes, extents: list) -> bytes:
    return b"\0" + name + b"\0\1\1" + bytes([len(extents)]) + bytes(0x80 ^ value for extent in extents for value in extent)


def strings(texts: list) -> tuple[bytes, int]:
    lengths = masked(crc32c(b"".join(struct.pack("<I", len(text)) for text in texts)))
    crc = crc32c(b"".join(struct.pack("<I", len(text)) for text in texts) + lengths + b"".join(texts))
    return b"".join(varint(len(text)) for text in texts) + lengths + b"".join(texts), crc


def compressed(rows: dict) -> bytes:
    """A block with two restarts in snappy's format: a literal, a copy of the first restart, a literal."""
    begin = block(rows)[:-4]
    pieces = bytes([61 << 2]) + struct.pack("<H", len(begin) - 1) + begin + b"\x01\x04" + bytes([3 << 2]) + struct.pack("<I", 2)
    return varint(len(begin) + 8) + pieces


def bundle_seeds() -> dict:
    header = b"\x08\x01\x1a\x02\x08\x01"
    numbers, (texts, texts_crc) = bytes(range(24)), strings([b"", b"one", b"x" * 200])
    halves = [[(0, 2), (0, 1)], [(0, 2), (1, 2)]]
    rows = {
        b"": header, b"layer/bias": entry(1, [2, 3], 0, numbers), b"layer/words": entry(7, [3], 24, texts, crc=texts_crc),
        b"layer/kernel": entry(3, [2, 3], 0, b"", halves), slice_key(b"layer/kernel", halves[0]): entry(3, [2, 1], 0, numbers[:8]),
        slice_key(b"layer/kernel", halves[1]): entry(3, [2, 2], 8, numbers[8:]),
    }
    shard = numbers + texts

    def seed(mode: int, index: bytes) -> bytes:
        return struct.pack("<BH", mode, len(index)) + index + shard

    return {
        "file": seed(0, table(rows)), "block": seed(1, block(rows)), "snappy": seed(2, compressed(rows)),
        "one": seed(1, block({b"": header, b"w": entry(9, [3], 0, numbers)})),
    }
