"""Colours that FFmpeg has no names for: read exactly, or refused with a line."""

import subprocess

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

WIDTH, HEIGHT, FRAMES = 64, 48, 3


def ffmpeg(*arguments, given=None):
    return subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], input=given, check=True, capture_output=True, timeout=120).stdout


def has_encoder(codec):
    try:
        return subprocess.run(["ffmpeg", "-hide_banner", "-h", f"encoder={codec}"], capture_output=True, text=True, check=False).stdout.startswith("Encoder")
    except FileNotFoundError:
        return False


def pictures(bits):
    return np.random.default_rng(3).integers(0, 1 << bits, (FRAMES, HEIGHT, WIDTH, 3))


def stored(rgb):
    """Y, Cg and Co of 10 bits, by the equations of H.273 for MatrixCoefficients 16 and 17."""
    red, green, blue = (rgb[..., c] for c in range(3))
    orange = red - blue
    middle = blue + (orange >> 1)
    other = green - middle
    return np.stack([middle + (other >> 1), other + 512, orange + 512], axis=1).astype("<u2")


CODECS = {"libx264": ("h264_metadata", ["-qp", "0"]), "libx265": ("hevc_metadata", ["-x265-params", "lossless=1:log-level=none"])}


def clip(path, codec, rgb, *, code, full=1, more=""):
    if not has_encoder(codec):
        pytest.skip(f"this ffmpeg has no {codec}")
    name, options = CODECS[codec]
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv444p10le", "-s", f"{WIDTH}x{HEIGHT}", "-r", 5, "-i", "-"]
    marks = ["-bsf:v", f"{name}=matrix_coefficients={code}:video_full_range_flag={full}{more}", "-color_range", "pc" if full else "tv"]
    ffmpeg(*raw, "-c:v", codec, *options, *marks, path, given=stored(rgb).tobytes())
    return path


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts", "bare"])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("code", "name", "bits"), [(16, "ycgco-re", 8), (17, "ycgco-ro", 9)])
def test_ycgco_r_is_read_exactly(tmp_path, codec, kind, code, name, bits):
    rgb = pictures(bits)
    kind = {"libx264": "h264", "libx265": "hevc"}[codec] if kind == "bare" else kind
    path = clip(tmp_path / f"a.{kind}", codec, rgb, code=code)
    video = lanner.VideoReader(path)
    assert video.stream.color_space == name
    for frame, picture in zip(video, rgb, strict=True):
        assert frame.image.color_space == name
        planes = frame.to("gbrp" if bits == 8 else "gbrp9").planes
        for plane, channel in zip(planes, (1, 2, 0), strict=True):
            np.testing.assert_array_equal(np.asarray(plane), picture[..., channel])
    if bits == 8:
        np.testing.assert_array_equal(np.asarray(video[1].to("rgb24")), rgb[1])
    lanner.transcode(path, tmp_path / "b.mkv", codec="ffv1", format="gbrp" if bits == 8 else "gbrp9")
    again = lanner.VideoReader(tmp_path / "b.mkv")[2].to("gbrp" if bits == 8 else "gbrp9")
    np.testing.assert_array_equal(np.asarray(again.planes[2]), rgb[2][..., 0])


@pytest.mark.parametrize("codec", CODECS)
def test_ycgco_r_is_not_lost_without_a_word(tmp_path, codec):
    path = clip(tmp_path / "a.mp4", codec, pictures(8), code=16)
    with pytest.raises(lanner.Unsupported, match=r"matrix ycgco-re \(16 of H.273\) cannot be written"):
        lanner.transcode(path, tmp_path / "b.mp4", codec=codec)
    limited = clip(tmp_path / "c.mp4", codec, pictures(8), code=16, full=0)
    with pytest.raises(lanner.Unsupported, match="of matrix ycgco-re "):
        lanner.VideoReader(limited)[0].to("rgb24")
