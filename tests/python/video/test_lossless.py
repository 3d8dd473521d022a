"""VideoWriter without a loss: pictures of each pixel format come back bit by bit, or are refused in one line."""

import io
import shutil
import subprocess

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

pytestmark = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
WIDTH, HEIGHT = 64, 48
FORMATS = """
    gray8 gray9 gray10 gray12 gray14 gray16 ya8 ya16 rgb24 bgr24 rgb_planar bgr_planar rgba32 bgra32 rgb48 bgr48 rgba64 bgra64 gbrp gbrp9 gbrp10 gbrp12
    gbrp14 gbrp16 gbrap gbrap10 gbrap12 gbrap16 nv12 nv16 p010 p012 p016 p210 p212 p216 yuv410p yuv411p yuv440p yuv440p10 yuv440p12 yuv420p yuv422p yuv444p
    yuv420p9 yuv422p9 yuv444p9 yuv420p10 yuv422p10 yuv444p10 yuv420p12 yuv422p12 yuv444p12 yuv420p14 yuv422p14 yuv444p14 yuv420p16 yuv422p16 yuv444p16
    yuv444p10msb yuv444p12msb yuva420p yuva422p yuva444p yuva420p9 yuva422p9 yuva444p9 yuva420p10 yuva422p10 yuva444p10 yuva422p12 yuva444p12 yuva420p16
    yuva422p16 yuva444p16""".split()
_EVERYDAY = "rgb24 bgr24 gbrp yuv444p"
KEPT = {  # At least these, and how many in all.
    "ffv1": ("gray8 rgb24 rgba32 rgb48 rgba64 gbrap12 nv12 yuv420p yuva444p16 yuv444p16 rgb_planar", 70),
    "png": ("rgb24 rgba32 rgb48 rgba64 gray8 gray16 ya8 ya16 bgr24", 9),
    "h264": (_EVERYDAY + " yuv420p yuv422p nv12 yuv420p10 yuv444p10 gray8", 15),
    "hevc": (_EVERYDAY + " yuv420p yuv422p nv12 yuv420p12 yuv444p10 gbrp12 gray8", 20),
    "vp9": (_EVERYDAY + " yuv420p yuv422p nv12 yuv420p12 yuv444p10 yuv440p", 20),
    "libaom-av1": (_EVERYDAY + " yuv420p yuv422p nv12 yuv420p12 yuv444p10", 15),
}


def has_encoder(codec):
    found = subprocess.run(["ffmpeg", "-hide_banner", "-encoders"], capture_output=True, text=True, check=True).stdout
    names = {"h264": "libx264", "hevc": "libx265", "vp9": "libvpx-vp9"}
    return f" {names.get(codec, codec)} " in found


def noise(name):
    """A picture of this format, whose bits are noise wherever the format has some."""
    rng = np.random.default_rng(3)
    words = rng.integers(0, 2**16, (HEIGHT, WIDTH, 4), np.uint16)
    rich = lanner.Image.from_contiguous(words.reshape(HEIGHT, WIDTH * 4), "rgba64", WIDTH, HEIGHT)
    return lanner.Image.from_contiguous(rich.contiguous(name), name, WIDTH, HEIGHT)


@pytest.mark.parametrize("codec", KEPT)
def test_every_format_comes_back_or_is_refused(codec):
    """Without `format` a lossless file has that of its first picture."""
    if not has_encoder(codec):
        pytest.skip(f"this ffmpeg has no {codec}")
    kept = []
    for name in FORMATS:
        given, file = noise(name), io.BytesIO()
        try:
            with lanner.VideoWriter(file, container="matroska", width=WIDTH, height=HEIGHT, codec=codec, tuning="lossless") as out:
                out.write(given)
        except lanner.InvalidArgument as error:
            assert "of which it stores" in str(error) or "which would be converted to" in str(error), (name, error)
            continue
        assert out.notes == [], (name, out.notes)
        frame = lanner.VideoReader(file.getvalue())[0]
        found = frame if frame.format == name else frame.to(name)
        np.testing.assert_array_equal(found.contiguous().numpy(), given.contiguous().numpy(), err_msg=name)
        kept.append(name)
    least, count = KEPT[codec]
    assert set(least.split()) <= set(kept)
    assert len(kept) >= count, kept


@pytest.mark.parametrize(("name", "codec"), [("a.mkv", "ffv1"), ("a.mkv", "png"), ("a.avi", "huffyuv"), ("a.mkv", "utvideo"), ("a.mov", "qtrle")])
def test_rgb_stays_rgb_in_codecs_without_a_loss(tmp_path, name, codec):
    if not has_encoder(codec):
        pytest.skip(f"this ffmpeg has no {codec}")
    pixels = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    with lanner.VideoWriter(tmp_path / name, width=WIDTH, height=HEIGHT, codec=codec) as out:
        out.write(pixels)
    np.testing.assert_array_equal(np.asarray(lanner.VideoReader(tmp_path / name)[0].to("rgb24")), pixels)
    with lanner.VideoWriter(tmp_path / name, width=WIDTH, height=HEIGHT, codec="ffv1" if codec == "ffv1" else "h264", format="yuv420p") as out:
        out.write(pixels)
    assert lanner.VideoReader(tmp_path / name).stream.format == "yuv420p"


@pytest.mark.parametrize(("name", "kept"), [("a.avi", "bgr24 gray8 yuv420p yuv422p nv12"), ("a.mov", "rgb24 bgr24 rgba32")])
def test_raw_pixels_are_kept_or_refused_by_containers_that_do_not_name_them(tmp_path, name, kept):
    for pixel_format in ("rgb24", "bgr24", "gbrp", "gray8", "gray10", "rgba32", "nv12", "yuv420p", "yuv422p", "yuv444p", "yuv420p10"):
        given = noise(pixel_format)
        options = {"width": WIDTH, "height": HEIGHT, "codec": "rawvideo", "format": pixel_format}
        try:
            with lanner.VideoWriter(tmp_path / name, **options) as out:
                out.write(given)
        except lanner.Unsupported as error:
            assert "would be read as other pixels" in str(error)
            assert pixel_format not in kept.split()
            continue
        frame = lanner.VideoReader(tmp_path / name)[0]
        np.testing.assert_array_equal(frame.to(pixel_format).contiguous().numpy(), given.contiguous().numpy(), err_msg=pixel_format)


def test_a_clip_of_rgb_stays_rgb(tmp_path):
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.2", "-pix_fmt", "bgr0", "-c:v", "ffv1", tmp_path / "a.mkv"], check=True)
    for options in ({"codec": "ffv1"}, {"tuning": "lossless"}):
        lanner.transcode(tmp_path / "a.mkv", tmp_path / "b.mkv", **options)
        for before, after in zip(lanner.VideoReader(tmp_path / "a.mkv"), lanner.VideoReader(tmp_path / "b.mkv"), strict=True):
            np.testing.assert_array_equal(np.asarray(after.to("rgb24")), np.asarray(before.to("rgb24")))


def test_alpha_is_not_dropped_in_silence(tmp_path):
    """FFV1's RGB of 8 bits has a byte beside it, which is not alpha."""
    picture = np.random.default_rng(2).integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8)
    with lanner.VideoWriter(tmp_path / "a.mkv", width=WIDTH, height=HEIGHT, codec="ffv1", format="rgb24") as out:
        out.write(picture)
    assert out.notes == ["opacity of rgba32 pictures is left out: the file's pixel format is bgr0"]
    with pytest.raises(lanner.InvalidArgument, match="tuning lossless with a picture of rgba32"):
        with lanner.VideoWriter(tmp_path / "a.mkv", width=WIDTH, height=HEIGHT, codec="ffv1", format="rgb24", tuning="lossless") as out:
            out.write(picture)
