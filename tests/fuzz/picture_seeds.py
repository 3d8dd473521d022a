"""Seeds of image files, clips, caches and preprocessing settings."""

import json
import struct
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "support"))
from picture_files import png_chunk, webp_frame, write_avi, write_gif, write_png, write_webp

KEY = "0123456789abcdef" * 2


DOT = b"VP8L" + struct.pack("<I", 10) + b"\x2f\0\0\0\0\x88\x88\x08\0\0"  # WebP's, of one pixel.


def written(write, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        write(path, *arguments)
        return path.read_bytes()


def tiff(tags):
    body = b"".join(struct.pack("<HHII", *tag) for tag in sorted(tags))
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + body + bytes(4)


def jpeg():
    """Gray, 8x8, every table with one code."""
    exif = b"Exif\0\0" + tiff([(0x0112, 3, 1, 6)])
    tables = b"\xff\xdb\0\x43\0" + bytes([8] * 64) + b"".join(b"\xff\xc4\0\x14" + bytes([kind, 1]) + bytes(15) + b"\0" for kind in (0, 16))
    frame = b"\xff\xc0\0\x0b\x08\0\x08\0\x08\1\1\x11\0"
    return b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + tables + frame + b"\xff\xda\0\x08\1\1\0\0\x3f\0\x3f\xff\xd9"


def webp_frames():
    """One that is cleared, a late one that blends, and two with what does not belong there."""
    alpha = b"ALPH" + struct.pack("<I", 2) + b"\0\x80"
    inner = webp_frame(DOT)
    return [
        webp_frame(DOT, duration=0, clear=True), b"EXIF" + struct.pack("<I", 1) + b"a\0", webp_frame(DOT, 2, 2, duration=40),
        webp_frame(alpha + DOT, 2, 0, blend=False), webp_frame(inner, duration=7),
    ]  # fmt: skip


def picture_seeds():
    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    text = png_chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(100))) + png_chunk(b"eXIf", tiff([(0x0112, 3, 1, 3)]))
    data = png_chunk(b"IDAT", zlib.compress(bytes(14)))
    strips = [(256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1), (278, 3, 1, 1), (279, 4, 1, 1)]
    lossless = DOT
    exif = b"EXIF" + struct.pack("<I", 26) + tiff([(0x0112, 3, 1, 8)])
    bmp = b"BM" + struct.pack("<IHHI", 58, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0) + bytes(4)
    return {
        "png": b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + text + data + png_chunk(b"IEND", b""),
        "jpeg": jpeg(), "tiff": tiff(strips), "webp": b"RIFF" + struct.pack("<I", 4 + len(lossless + exif)) + b"WEBP" + lossless + exif,
        "webp-animated": written(write_webp, 3, 3, webp_frames()),
        "bmp": bmp, "gif": written(write_gif, [(255, 0, 0)], [4]), "ppm": b"P6\n2 1\n255\nabcdef", "pgm": b"P5 1 1 65535\nab",
        "pam": b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\nabc",
    }


def clip_seeds():
    y4m = b"YUV4MPEG2 W4 H2 F25:1 Ip A1:1 C420jpeg\n" + 3 * (b"FRAME\n" + bytes(12))
    return {
        "y4m": y4m, "gif": written(write_gif, [(255, 0, 0), (0, 255, 0)], [4, 9]), "apng": written(write_png, [(1, 2, 3), (4, 5, 6)]),
        "avi": written(write_avi, [bytes(48)] * 3, 4, 4, 24), "jpeg": jpeg(),
        "webp": written(write_webp, 3, 3, webp_frames()),
    }


def cache_seeds():
    lines = [f"{KEY} 1.5e-05 2e-07 right", f"{KEY[::-1]} - - wrong it differs", f"{KEY} 2 0 -", "damaged"]
    numbers = "1e+11 1e+11 1e+10 5e+10 1e-06 2e-06 0 0 cpu"
    return {
        "timings": "\n".join(["lanner timings 4", *lines, ""]).encode(), "cut": f"lanner timings 4\n{KEY} 1".encode(),
        "machine": f"lanner machine limits 2\n{numbers}\nnan nan 1 1 1 1 1 1 x\n".encode(),
    }


def settings_seeds():
    transformers = {
        "image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": 224, "width": 224}, "resample": 3, "do_rescale": True,
        "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "do_center_crop": False,
    }
    timm = {"architecture": "resnet18", "pretrained_cfg": {"input_size": [3, 224, 224], "mean": [0.4, 0.4, 0.4], "std": [0.2, 0.2, 0.2], "interpolation": "bicubic", "crop_pct": 0.9, "crop_mode": "center"}}
    paddle = "PreProcess:\n  transform_ops:\n  - ResizeImage:\n      resize_short: 256\n  - CropImage:\n      size: 224\n  - NormalizeImage:\n      scale: 0.00392\n      mean: [0.4, 0.4, 0.4]\n      std: [0.2, 0.2, 0.2]\n"
    own = {"width": 8, "height": 8, "resize": "bilinear", "mean": [0, 0, 0], "std": [1, 1, 1]}
    return {"transformers": json.dumps(transformers).encode(), "timm": json.dumps(timm).encode(), "paddle": paddle.encode(), "own": json.dumps(own).encode()}
