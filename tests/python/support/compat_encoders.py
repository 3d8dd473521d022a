"""Pictures, encoders and streams for the tests of lanner.compat.PyNvVideoCodec's encoder."""

import re
import subprocess

import numpy as np
import pytest

nvc = pytest.importorskip("lanner.compat.PyNvVideoCodec")
WIDTH, HEIGHT, COUNT = 96, 64, 12


def picture(number=0, width=WIDTH, height=HEIGHT):
    """NV12 with detail that moves."""
    luma = (np.add.outer(3 * np.arange(height), 5 * np.arange(width) + 7 * number) ** 2 // 13 % 256).astype(np.uint8)
    return np.concatenate([luma, np.full((height // 2, width), 128, np.uint8)])


def make(host=True, **keywords):
    try:
        return nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", host, **keywords)
    except nvc.PyNvVCExceptionUnsupported as error:
        if "no encoder" in str(error):
            pytest.skip(str(error))
        raise


def encode(encoder, count=COUNT, *arguments):
    packets = [packet for number in range(count) for packet in encoder.Encode(picture(number), *arguments)]
    return packets + list(encoder.EndEncode())


def stream(packets):
    return b"".join(packet["data"] for packet in packets)


def settings(**keywords):
    """What x264 writes of its settings into the stream."""
    text = re.search(rb"options: ([^\0]*)", stream(encode(make(**keywords), 3)))
    return dict(pair.split("=", 1) for pair in text[1].decode("latin-1").split() if "=" in pair)


def units(data, hevc=False):
    """Types of NAL units behind start codes."""
    return [(place := match.end()) and (data[place] >> 1 & 63 if hevc else data[place] & 31) for match in re.finditer(b"\0\0\1", data)]


def probed(path, data, *entries):
    path.write_bytes(data)
    done = subprocess.run(["ffprobe", "-v", "error", "-show_entries", f"stream={','.join(entries)}", "-of", "default=nw=1", str(path)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def one_line(caught, *parts):
    text = str(caught.value)
    assert len(text.splitlines()) == 1 and all(part in text for part in parts), text
