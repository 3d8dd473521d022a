"""Clips and pictures written byte by byte: what no encoder here makes."""

import struct
import zlib

import numpy as np


def chunk(name, content):
    """Of RIFF, padded to a whole number of words."""
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def write_avi(path, frames, width, height, bits, fourcc=b"\0\0\0\0", palette=b"", rate=25, changes=()):
    """Raw frames in AVI. `palette`: 256 times B, G, R, 0. `changes`: (frame, palette) told on the way."""
    header = struct.pack("<14I", 1_000_000 // rate, 0, 0, 0x10, len(frames), 0, 1, 0, width, height, 0, 0, 0, 0)
    stream = b"vids" + struct.pack("<4sIHHIIIIIIIIHHHH", fourcc, 0x10000 if changes else 0, 0, 0, 0, 1, rate, 0, len(frames), 0, 0xFFFFFFFF, 0, 0, 0, width, height)
    colors = 256 if palette else 0
    form = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, bits, fourcc, len(frames[0]), 0, 0, colors, 0) + palette
    lists = b"hdrl" + chunk(b"avih", header) + chunk(b"LIST", b"strl" + chunk(b"strh", stream) + chunk(b"strf", form))
    movie, index = b"movi", b""
    told = dict(changes)
    for number, frame in enumerate(frames):
        if number in told:
            entries = [told[number][at : at + 4] for at in range(0, 1024, 4)]
            content = b"\0\0\0\0" + b"".join(bytes([red, green, blue, 0]) for blue, green, red, _ in entries)
            index += b"00pc" + struct.pack("<III", 0x100, len(movie), len(content))
            movie += chunk(b"00pc", content)
        index += b"00db" + struct.pack("<III", 0x10, len(movie), len(frame))
        movie += chunk(b"00db", frame)
    content = b"AVI " + chunk(b"LIST", lists) + chunk(b"LIST", movie) + chunk(b"idx1", index)
    path.write_bytes(chunk(b"RIFF", content))
    return path


def gif_codes(pixels):
    """LZW without any table: a clear code before it would grow."""
    codes = []
    for at in range(0, len(pixels), 200):
        codes += [256, *pixels[at : at + 200]]
    bits = "".join(f"{code:09b}"[::-1] for code in [*codes, 257])
    packed = bytes(int(bits[at : at + 8].ljust(8, "0")[::-1], 2) for at in range(0, len(bits), 8))
    blocks = b"".join(bytes([len(packed[at : at + 255])]) + packed[at : at + 255] for at in range(0, len(packed), 255))
    return b"\x08" + blocks + b"\0"


def write_gif(path, colors, delays, width=8, height=8):
    """A picture of one colour for each of `colors`, shown for so many hundredths of a second."""
    table = b"".join(bytes(color) for color in colors).ljust(768, b"\0")
    content = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + table
    content += b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"
    for number, delay in enumerate(delays):
        content += b"\x21\xf9\x04" + struct.pack("<BHB", 0, delay, 0) + b"\0"
        content += b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + gif_codes([number] * (width * height))
    path.write_bytes(content + b"\x3b")
    return path


def png_chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def write_png(path, colors, delay=(1, 10), width=8, height=8):
    """PNG of one colour; of several an animation (APNG)."""
    content = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    if len(colors) > 1:
        content += png_chunk(b"acTL", struct.pack(">II", len(colors), 0))
    sequence = 0
    for number, color in enumerate(colors):
        data = zlib.compress((b"\0" + bytes(color) * width) * height)
        if len(colors) > 1:
            content += png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", sequence, width, height, 0, 0, *delay, 0, 0))
            sequence += 1
        if number == 0:
            content += png_chunk(b"IDAT", data)
        else:
            content += png_chunk(b"fdAT", struct.pack(">I", sequence) + data)
            sequence += 1
    path.write_bytes(content + png_chunk(b"IEND", b""))
    return path


def webp_frame(picture, x=0, y=0, width=1, height=1, duration=100, blend=True, clear=False):
    """The chunk of an animated WebP's frame, of a still file's chunks."""
    fields = b"".join(value.to_bytes(3, "little") for value in (x // 2, y // 2, width - 1, height - 1, duration))
    return chunk(b"ANMF", fields + bytes([clear + 2 * (not blend)]) + picture)


def write_webp(path, width, height, frames, plays=0):
    """An animated WebP of such chunks."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    head = chunk(b"VP8X", b"\x12\0\0\0" + size) + chunk(b"ANIM", bytes(4) + struct.pack("<H", plays))
    path.write_bytes(chunk(b"RIFF", b"WEBP" + head + b"".join(frames)))
    return path


def set_display_matrix(mp4, a, b, c, d):
    """Rows (a b) and (c d) say where the stored picture's axes go."""
    content = bytearray(mp4.read_bytes())
    at = content.index(b"tkhd") + 44
    matrix = [a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30]
    content[at : at + 36] = struct.pack(">9i", *matrix)
    mp4.write_bytes(content)
    return mp4


def shown(picture, a, b, c, d):
    """The picture [height, width, ...] as a display matrix has it."""
    across = picture if a or d else np.swapaxes(picture, 0, 1)
    if (a or c) < 0:
        across = across[:, ::-1]
    if (b or d) < 0:
        across = across[::-1]
    return across


EIGHT_ORIENTATIONS = [(1, 0, 0, 1), (-1, 0, 0, 1), (1, 0, 0, -1), (-1, 0, 0, -1), (0, 1, 1, 0), (0, 1, -1, 0), (0, -1, 1, 0), (0, -1, -1, 0)]
