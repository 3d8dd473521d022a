"""Decompression bombs: pictures of a few kilobytes that unpack to gigabytes or take seconds."""

import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from peak_memory import OWN
from picture_files import png_chunk

lanner = pytest.importorskip("lanner")

MIB = 1 << 20
LIMIT = 256 * MIB
BESIDE = 192 * MIB
LOAD = OWN + """
import sys, lanner
try:
    picture = lanner.load_image(sys.argv[1], limits={"total_bytes": %d})
    print("shape", picture.width, picture.height)
except lanner.Error as error:
    print(type(error).__name__, error)
print(peak())
""" % LIMIT


def load(path):
    done = subprocess.run([sys.executable, "-c", LOAD, str(path)], capture_output=True, text=True, timeout=300, check=True)
    said, peak = done.stdout.rsplit("\n", 2)[:2]
    assert int(peak) < LIMIT + BESIDE, said
    return said


def deflated_zeros(count, level=9):
    packer = zlib.compressobj(level)
    parts = [packer.compress(bytes(min(MIB, count - at))) for at in range(0, count, MIB)]
    return b"".join(parts) + packer.flush()


def png(width, height, depth, color, data, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + extra + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def test_a_png_bomb_is_rejected_before_allocation(tmp_path):
    path = tmp_path / "large.png"
    path.write_bytes(png(16000, 16000, 16, 6, b"x\xda" + bytes(900)))
    said = load(path)
    assert "over the limit total_bytes" in said and str(path) in said


def test_memory_of_a_converted_picture_is_counted(tmp_path):
    path = tmp_path / "palette.png"
    data = deflated_zeros(12001 * 12000)
    path.write_bytes(png(12000, 12000, 8, 3, data, png_chunk(b"PLTE", bytes(range(6)))))
    assert "over the limit total_bytes" in load(path)


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt", b"iCCP"])
def test_texts_and_profiles_of_a_png_are_not_unpacked(tmp_path, kind):
    packed = deflated_zeros(300 * MIB)
    head = {b"zTXt": b"a\0\0", b"iTXt": b"a\0\1\0\0\0", b"iCCP": b"a\0\0"}[kind]
    plain = zlib.compress(b"\0\xff\x80\x00" * 1)
    path = tmp_path / "bomb.png"
    path.write_bytes(png(1, 1, 8, 2, plain, png_chunk(kind, head + packed) * 2))
    assert load(path) == "shape 1 1"
    assert np.asarray(lanner.load_image(path)).reshape(-1).tolist() == [255, 128, 0]


def exif(orientation, entries=()):
    """A TIFF directory with the orientation and other tags: tag, type, count, value or offset."""
    tags = sorted([(0x0112, 3, 1, orientation), *entries])
    body = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + body + bytes(4)


def app1(tiff):
    content = b"Exif\0\0" + tiff
    return b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content


def saved_jpeg(path, segments):
    picture = np.zeros((16, 32, 3), np.uint8)
    picture[:, 16:] = 255
    lanner.save_image(path, lanner.Image.from_array(picture))
    plain = path.read_bytes()
    path.write_bytes(plain[:2] + segments + plain[2:])
    return path


def test_a_jpegs_orientation_is_applied(tmp_path):
    plain = lanner.load_image(saved_jpeg(tmp_path / "plain.jpg", b""))
    turned = lanner.load_image(saved_jpeg(tmp_path / "turned.jpg", app1(exif(6))))
    big = b"MM\0*" + struct.pack(">IH", 8, 1) + struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0) + bytes(4)
    other = lanner.load_image(saved_jpeg(tmp_path / "other.jpg", app1(big)))
    assert (plain.width, plain.height) == (32, 16)
    assert (turned.width, turned.height) == (other.width, other.height) == (16, 32)


def test_tags_that_share_bytes_are_not_read(tmp_path):
    # As text each takes 250 KB, and all of them 1 GB.
    count = 4500
    tags = exif(3, [(0x9286 + i % 64, 1, 60000 - 1, 8) for i in range(count)])
    path = saved_jpeg(tmp_path / "tags.jpg", app1(tags + bytes(65000 - len(tags))))
    assert load(path) == "shape 32 16"


def test_endless_scans_are_rejected(tmp_path):
    size = 16000
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, size, size, 1) + b"\1\x11\0"
    table = b"\xff\xc4" + struct.pack(">H", 2 + 17 + 1) + b"\0" + b"\1" + bytes(15) + b"\0"
    scan = b"\xff\xda" + struct.pack(">HBBB", 8, 1, 1, 0) + b"\0\0\0" + b"\0"
    path = tmp_path / "scans.jpg"
    path.write_bytes(b"\xff\xd8" + frame + table + scan * 2000 + b"\xff\xd9")
    assert "pixels" in load(path) and "scans" in load(path)


def test_memory_of_progressive_jpeg_coefficients_is_counted(tmp_path):
    size = 12000  # 144 MB of samples, twice as much of coefficients
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, size, size, 1) + b"\1\x11\0"
    path = tmp_path / "coefficients.jpg"
    path.write_bytes(b"\xff\xd8" + frame + b"\xff\xda\0\x08\1\1\0\0\0\0" + bytes(100) + b"\xff\xd9")
    assert "over the limit total_bytes" in load(path)


def test_a_tiffs_tags_may_not_exceed_the_file(tmp_path):
    strips = [(256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1), (278, 3, 1, 1), (279, 4, 1, 1)]
    path = tmp_path / "tags.tif"
    path.write_bytes(exif(1, strips) + bytes(100))
    assert load(path) == "shape 1 1"
    path.write_bytes(exif(1, strips + [(33550, 12, 100_000, 8)] * 60) + bytes(1_000_000))
    assert "tags hold" in load(path)


def test_picture_bombs_in_a_clip_are_rejected(tmp_path):
    packed = deflated_zeros(300 * MIB)
    path = tmp_path / "bomb.png"
    path.write_bytes(png(1, 1, 8, 2, zlib.compress(b"\0\xff\x80\x00"), png_chunk(b"zTXt", b"a\0\0" + packed) * 3))
    code = OWN + "import sys, lanner\nprint(len(list(lanner.VideoReader(sys.argv[1]))), peak())"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=300, check=True)
    frames, peak = map(int, done.stdout.split())
    assert frames == 1 and peak < 300 * MIB
