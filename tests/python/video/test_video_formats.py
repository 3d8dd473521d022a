"""Pixel formats that clips come in: packed and rare chroma, palettes, odd depths, alpha, stored mirrored."""

import struct

import numpy as np
import pytest

from command import DATA, make_clip, succeed
from picture_files import EIGHT_ORIENTATIONS, set_display_matrix, shown, write_avi, write_gif

lanner = pytest.importorskip("lanner")

FOUND = DATA.parent / "found" / "video"
WIDTH, HEIGHT = 32, 16


def found(name):
    if not (FOUND / name).exists():
        pytest.skip("no clips at ../shared/found")
    return FOUND / name


def smooth(width, height, low, high):
    """A ramp whose chroma neighbours are close, so that interpolation is within a level of it."""
    return (low + (high - low) * (np.arange(width) / width)[None, :] * (np.arange(1, height + 1) / height)[:, None]).astype(np.uint8)


def planes_of_ramp(across, down):
    luma = smooth(WIDTH, HEIGHT, 30, 220)
    cb, cr = smooth(WIDTH // across, HEIGHT // down, 100, 110), smooth(WIDTH // across, HEIGHT // down, 140, 128)
    return luma, cb, cr


def packed(order, luma, cb, cr):
    pair = {"y": luma[:, 0::2], "Y": luma[:, 1::2], "u": cb, "v": cr}
    return np.stack([pair[name] for name in order], axis=-1).tobytes()


@pytest.mark.parametrize(("fourcc", "order"), [(b"YUY2", "yuYv"), (b"UYVY", "uyvY"), (b"YVYU", "yvYu")])
def test_packed_422(tmp_path, fourcc, order):
    planes = planes_of_ramp(2, 1)
    clip = write_avi(tmp_path / "a.avi", [packed(order, *planes)] * 3, WIDTH, HEIGHT, 16, fourcc)
    video = lanner.VideoReader(clip)
    for frame in (next(iter(video)), video[2]):
        assert frame.format == "yuv422p"
        for plane, expected in zip(frame.planes, planes, strict=True):
            np.testing.assert_array_equal(np.asarray(plane), expected)
    assert video[1].to_rgb().shape == (HEIGHT, WIDTH, 3)
    assert succeed("decode", clip, "--md5") != ""
    succeed("decode", clip, "--frames", "1", "-o", tmp_path / "a.png")
    succeed("transcode", clip, tmp_path / "a.mp4")


@pytest.mark.parametrize(("fourcc", "form", "across", "down"), [(b"Y41B", "yuv411p", 4, 1), (b"YUV9", "yuv410p", 4, 4), (b"YVU9", "yuv410p", 4, 4)])
def test_quarter_chroma(tmp_path, fourcc, form, across, down):
    luma, cb, cr = planes_of_ramp(across, down)
    clip = write_avi(tmp_path / "a.avi", [b"".join(plane.tobytes() for plane in (luma, cb, cr))], WIDTH, HEIGHT, 12, fourcc)
    frame = lanner.VideoReader(clip)[0]
    assert frame.format == form
    if fourcc == b"YVU9":
        cb, cr = cr, cb
    for plane, expected in zip(frame.planes, (luma, cb, cr), strict=True):
        np.testing.assert_array_equal(np.asarray(plane), expected)
    assert frame.to("rgb24").format == "rgb24"
    whole = frame.to("yuv444p")
    np.testing.assert_array_equal(np.asarray(whole.planes[0]), luma)
    for plane, small in zip(whole.planes[1:], (cb, cr), strict=True):
        values = np.asarray(plane).astype(int)
        if down == 1:  # Samples lie at the left pixel of their four.
            np.testing.assert_array_equal(values[:, ::4], small)
        assert values.min() >= small.min() and values.max() <= small.max()
        assert np.abs(values - np.repeat(np.repeat(small, down, 0), across, 1)).max() <= 4


def test_dv_of_ntsc():
    frame = lanner.VideoReader(found("ntsc_1frame.dv"))[0]
    assert (frame.format, frame.to_rgb().shape) == ("yuv411p", (480, 720, 3))


def raw_rgb(fourcc_and_bits):
    """One red to green ramp in the layout of the format, with what it must be in RGB."""
    red = np.tile(np.arange(WIDTH) * 8, (HEIGHT, 1)).astype(np.uint8)
    rgb = np.stack([red, 255 - red, np.full_like(red, 16)], -1)
    name, bits = fourcc_and_bits
    if name == "bgr24":  # Rows from the last to the first.
        return rgb[::-1, :, ::-1].tobytes(), rgb
    if name == "rgb555":
        five = (rgb >> 3).astype(np.uint16)
        stored = (five[..., 0] << 10 | five[..., 1] << 5 | five[..., 2])[::-1]
        return stored.astype("<u2").tobytes(), (five * 255 + 15) // 31
    raise AssertionError(bits)


@pytest.mark.parametrize("form", [("bgr24", 24), ("rgb555", 16)])
def test_raw_rgb(tmp_path, form):
    content, rgb = raw_rgb(form)
    clip = write_avi(tmp_path / "a.avi", [content] * 2, WIDTH, HEIGHT, form[1])
    np.testing.assert_array_equal(np.asarray(lanner.VideoReader(clip)[1].to_rgb()), rgb)


def write_y4m(path, form, planes):
    """One frame; samples above 8 bits are little endian."""
    content = b"".join(plane.astype(plane.dtype.newbyteorder("<")).tobytes() for plane in planes)
    path.write_bytes(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip A1:1 C{form}\nFRAME\n".encode() + content)
    return path


@pytest.mark.parametrize("bits", [9, 10, 12])
def test_deep_gray(tmp_path, bits):
    top = (1 << bits) - 1
    gray = np.linspace(0, top, WIDTH * HEIGHT).astype(np.uint16).reshape(HEIGHT, WIDTH)
    frame = lanner.VideoReader(write_y4m(tmp_path / "a.y4m", f"mono{bits}", [gray]))[0]
    assert frame.format == f"gray{bits}"
    np.testing.assert_array_equal(np.asarray(frame), gray)
    np.testing.assert_allclose(np.asarray(frame.to("gray16")), gray * (65535 / top), atol=0.5)


@pytest.mark.parametrize(("form", "across", "down", "bits"), [("420p9", 2, 2, 9), ("422p14", 2, 1, 14), ("444p14", 1, 1, 14), ("422p12", 2, 1, 12)])
def test_odd_depths(tmp_path, form, across, down, bits):
    rng = np.random.default_rng(3)
    sizes = [(HEIGHT, WIDTH), *[(HEIGHT // down, WIDTH // across)] * 2]
    planes = [rng.integers(16 << (bits - 8), 235 << (bits - 8), size).astype(np.uint16) for size in sizes]
    frame = lanner.VideoReader(write_y4m(tmp_path / "a.y4m", form, planes))[0]
    assert frame.format == f"yuv{form}"
    for plane, expected in zip(frame.planes, planes, strict=True):
        np.testing.assert_array_equal(np.asarray(plane), expected)


def test_alpha_beside_the_colours(tmp_path):
    rng = np.random.default_rng(4)
    planes = [rng.integers(0, 256, (HEIGHT, WIDTH)).astype(np.uint8) for _ in range(4)]
    frame = lanner.VideoReader(write_y4m(tmp_path / "a.y4m", "444alpha", planes))[0]
    assert frame.format == "yuva444p" and len(frame.planes) == 4
    for plane, expected in zip(frame.planes, planes, strict=True):
        np.testing.assert_array_equal(np.asarray(plane), expected)
    np.testing.assert_array_equal(np.asarray(frame.alpha), planes[3])
    np.testing.assert_array_equal(np.asarray(frame.to("rgba32"))[..., 3], planes[3])
    assert frame.to("rgb24").alpha is None


def palette(shift):
    return b"".join(bytes([(number * 3 + shift) % 256, (number + shift) % 256, 255 - number, 0]) for number in range(256))


def paletted(colors, numbers):
    table = np.frombuffer(colors, np.uint8).reshape(256, 4)[:, 2::-1]
    return table[numbers]


def numbers_of(frame):
    return (np.arange(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH) + 7 * frame).astype(np.uint8)


def test_any_frame_has_its_palette(tmp_path):
    """The container tells the colours beside the first packet alone."""
    frames = [numbers_of(number)[::-1].tobytes() for number in range(12)]
    clip = write_avi(tmp_path / "a.avi", frames, WIDTH, HEIGHT, 8, palette=palette(0))
    for number in (5, 11, 0, 3):
        frame = lanner.VideoReader(clip)[number]
        np.testing.assert_array_equal(np.asarray(frame.to_rgb()), paletted(palette(0), numbers_of(number)))
    video = lanner.VideoReader(clip)
    linear = [np.asarray(frame.to_rgb()) for frame in video]
    for number in range(11, -1, -1):
        np.testing.assert_array_equal(np.asarray(video[number].to_rgb()), linear[number])


def test_a_palette_that_changes(tmp_path):
    frames = [numbers_of(number)[::-1].tobytes() for number in range(12)]
    clip = write_avi(tmp_path / "a.avi", frames, WIDTH, HEIGHT, 8, palette=palette(0), changes=[(6, palette(90))])
    linear = [np.asarray(frame.to_rgb()) for frame in lanner.VideoReader(clip)]
    np.testing.assert_array_equal(linear[3], paletted(palette(0), numbers_of(3)))
    np.testing.assert_array_equal(linear[8], paletted(palette(90), numbers_of(8)))
    for number in (8, 3, 6, 5, 11):
        np.testing.assert_array_equal(np.asarray(lanner.VideoReader(clip)[number].to_rgb()), linear[number])


def test_alpha_among_the_colours(tmp_path):
    rng = np.random.default_rng(0)
    bgra = rng.integers(0, 256, (HEIGHT, WIDTH, 4)).astype(np.uint8)
    clip = write_avi(tmp_path / "a.avi", [bgra.tobytes()], WIDTH, HEIGHT, 32, b"BGRA")
    frame = lanner.VideoReader(clip)[0]
    assert frame.format == "bgra32"
    np.testing.assert_array_equal(np.asarray(frame.to("rgba32")), bgra[..., [2, 1, 0, 3]])
    np.testing.assert_array_equal(np.asarray(frame.to("rgba32").to("bgra32")), bgra)
    assert (np.asarray(frame.to("rgb24").to("rgba32"))[..., 3] == 255).all()


def test_alpha_in_a_plane_of_its_own():
    video = lanner.VideoReader(found("alpha_yuva420p.mkv"))
    alpha = np.asarray(video[0].to("rgba32"))[..., 3]
    assert video[0].format == "yuva420p" and alpha.min() < 255
    np.testing.assert_array_equal(np.asarray(next(iter(video)).to("bgra32"))[..., 3], alpha)
    frame = lanner.VideoReader(found("alpha_bgra.mkv"))[0]
    np.testing.assert_array_equal(np.asarray(frame.to("rgba32"))[..., 3], np.asarray(frame)[..., 3])
    assert np.asarray(frame.to("rgba32"))[0, 0, 3] == 0


def test_transparent_gif(tmp_path):
    clip = write_gif(tmp_path / "a.gif", [(250, 0, 0), (0, 250, 0)], [10, 10])
    assert [frame.format for frame in lanner.VideoReader(clip)] == ["bgra32"] * 2


@pytest.fixture(scope="module")
def upright(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clip"), frames=3, width=WIDTH * 2, height=HEIGHT * 2)


@pytest.mark.parametrize("matrix", EIGHT_ORIENTATIONS)
def test_eight_orientations(upright, tmp_path, matrix):
    clip = tmp_path / "a.mp4"
    clip.write_bytes(upright.read_bytes())
    set_display_matrix(clip, *matrix)
    stored = lanner.VideoReader(clip, rotate=False)
    expected = shown(np.asarray(stored[1].to_rgb()).astype(int), *matrix)
    for video in (lanner.VideoReader(clip), lanner.VideoReader(clip, prefetch=2), lanner.ParallelDecoder(clip)):
        frames = list(video)
        assert [(frame.mirror, frame.rotation) for frame in frames] == [(False, 0)] * 3
        assert np.abs(np.asarray(frames[1].to_rgb()).astype(int) - expected).max() <= 2
    assert stored.stream.mirror == (matrix[0] * matrix[3] < matrix[1] * matrix[2])
    succeed("transcode", clip, tmp_path / "b.mkv", "--codec", "ffv1")
    written = np.asarray(lanner.VideoReader(tmp_path / "b.mkv")[1].to_rgb()).astype(int)
    assert written.shape == expected.shape and np.abs(written - expected).mean() < 2


def test_stored_frames_with_threads_ahead(upright, tmp_path):
    clip = tmp_path / "a.mp4"
    clip.write_bytes(upright.read_bytes())
    set_display_matrix(clip, 0, 1, -1, 0)
    frames = list(lanner.VideoReader(clip, prefetch=4, rotate=False))
    assert [(frame.rotation, frame.width) for frame in frames] == [(90, WIDTH * 2)] * 3
