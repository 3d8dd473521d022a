"""Seeds of video packets, and of a clip's index."""


def bitstream_seeds() -> dict[str, bytes]:
    made = {}

    def stream(codec: int, extradata: bytes, *packets: bytes) -> bytes:
        return bytes([codec, len(extradata)]) + extradata + b"".join(bytes([len(p)]) + p for p in packets)

    start = b"\0\0\0\1"
    recovery = start + b"\x06\x06\x01\x84\x80" + start + b"\x41\x9a\x02"
    made["h264"] = stream(0, b"", start + b"\x67\x42\0\x1e" + start + b"\x65\x88\x84", recovery)
    avcc = b"\1\x42\0\x1e\xff\xe1\0\4\x67\x42\0\x1e\1\0\2\x68\xce"
    made["h264-avcc"] = stream(0, avcc, b"\0\0\0\3\x65\x88\x84", b"\0\0\0\2\x41\x9a")
    made["hevc"] = stream(1, b"", start + b"\x26\1\xaf\x08", start + b"\x2a\1\xaf", start + b"\x10\1\xd0")
    hvcc = b"\1" + bytes(20) + b"\3\0"
    made["hevc-hvcc"] = stream(1, hvcc, b"\0\0\0\4\x26\1\xaf\x08", b"\0\0\0\3\x12\1\xd0")
    suffix_sei = start + b"\x50\1\x84\3\0\0\3\1\x80"
    made["hevc-sei"] = stream(1, b"", start + b"\x4e\1\xff\1\2ab\x80" + suffix_sei)
    made["av1-metadata"] = stream(5, b"", b"\x12\0\x2a\4\4\xb5z\x80\x2e\x08\3\1\2\x80")
    vop = b"\0\0\1\xb6"
    divx = b"\0\0\1\xb2DivX503b1393p" + b"\0\0\1\x20\0\x84\x40\0\0\0"
    packed = (divx + vop + b"\x10\x60", vop + b"\x50\x60" + vop + b"\x90\x60", vop + b"\x50\x20")
    made["mpeg4-packed"] = stream(6, b"", *packed)
    made["vp8"] = stream(2, b"", b"\x10\2\0\x9d\1\x2a\x40\1\xf0\0", b"\x31\0\0")
    made["vp9"] = stream(3, b"", b"\x82\x49\x83\x42\0", b"\x86\0", b"\x8a\0\xc1\1\0\xc1")
    return made


def elementary_stream_seeds() -> dict[str, bytes]:
    made = {}

    def stream(codec: int, extradata: bytes, *packets: bytes) -> bytes:
        return bytes([codec, len(extradata)]) + extradata + b"".join(bytes([len(p)]) + p for p in packets)

    start = b"\0\0\0\1"
    avcc = b"\1\x42\0\x1e\xff\xe1\0\4\x67\x42\0\x1e\1\0\2\x68\xce"
    made["h264"] = stream(0, avcc, b"\0\0\0\3\x65\x88\x84", b"\0\0\0\2\x41\x9a")
    layered = start + b"\x67\x42\0\x1e" + start + b"\x6e\x40\0\0" + start + b"\x65\x88" + start + b"\x74\0\0\0"
    made["h264-layers"] = stream(128, start + b"\x68\xce", layered, layered)
    hvcc = b"\1" + bytes(20) + b"\3\1\x20\0\1\0\2\x40\1"
    made["hevc"] = stream(1, hvcc, b"\0\0\0\4\x26\1\xaf\x08", b"\0\0\0\3\x12\1\xd0")
    made["av1"] = stream(2, b"\x81\0\0\0\x0a\1\0", b"\x12\0\x32\2\1\1", b"\x0a\1\0")
    packed = start + b"\xb6\x40" + start + b"\xb6\x80"
    made["mpeg4"] = stream(4, b"\0\0\1\x20\1", packed, b"\0\0\1\xb6\x40", packed)
    made["mjpeg"] = stream(7, b"", b"\xff\xd8\xff\xdb\0\3\1\xff\xda\0\2\7", b"\xff\xd8\xff\xc4\0\2")
    made["vc1"] = stream(5, b"\x20\0\0\1\x0f\xca", b"\1\2\3\4", b"\0\0\1\x0d\5")
    return made


def leb128(value: int) -> bytes:
    result = b""
    while value >= 128:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])


def zigzag(value: int) -> bytes:
    return leb128(value * 2 if value >= 0 else -value * 2 - 1)


def index_seeds() -> dict[str, bytes]:
    """The contents described in src/video/index/index_file.h, after its key and identity."""
    made = {}
    starts = {0: 1, 4: 3, 8: 2, 12: 4, 16: 5}
    order = [0, 3, 1, 2, 7, 5, 4, 6, 8, 9, 10, 11, 12, 14, 13, 15, 16, 17]
    for name, settled, step in (("predicted", 0, 512), ("settled", 1, 3003)):
        body = b"\0" + zigzag(1) + zigzag(90000) + leb128(settled) + leb128(len(order))
        before = 0
        for i, place in enumerate(order):
            flags = starts.get(i, 0) | (8 if i in starts else 0) | 16 | (64 if i % 4 == 3 else 0) | 256 | 1024
            body += leb128(flags) + zigzag((place - before) * step) + zigzag(777) + zigzag(step if i == 0 else 0) + leb128(5000 - i)
            before = place
        if settled:
            body += leb128(len(order))
            before = 0
            for i in sorted(range(len(order)), key=order.__getitem__):
                body += b"\1" + zigzag(i - before) + zigzag(step) + zigzag(step if order[i] == 0 else 0)
                before = i
        made[name] = body
    return made
