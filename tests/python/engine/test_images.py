"""Conversion of images from and to arrays and tensors."""

import json

import numpy as np
import pytest

from command import make_clip

lanner = pytest.importorskip("lanner")

HEIGHT, WIDTH = 6, 9


@pytest.fixture(scope="module")
def picture():
    return np.random.default_rng(3).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)


def test_tensors_become_images_and_images_tensors(picture):
    image = lanner.Image.from_array(picture)
    assert (image.width, image.height, image.format) == (WIDTH, HEIGHT, "rgb24")
    np.testing.assert_array_equal(np.asarray(image), picture)
    tensor = image.to_tensor(range=(0, 1))
    assert (tensor.shape, tensor.dtype) == ((1, 3, HEIGHT, WIDTH), "float32")
    forms = {
        "batch": tensor,
        "chw": tensor.numpy()[0],
        "hwc": tensor.numpy()[0].transpose(1, 2, 0),
        "double": tensor.numpy().astype(np.float64),
        "bytes chw": picture.transpose(2, 0, 1),
        "a view": np.repeat(picture, 2, axis=1)[:, ::2],
        "-1..1": (image.to_tensor(range=(-1, 1)), {"range": (-1, 1)}),
        "0..255": (image.to_tensor(), {"range": (0, 255)}),
        "bgr": (image.to_tensor(channels="bgr", range=(0, 1)), {"channels": "bgr"}),
    }
    for name, form in forms.items():
        array, options = form if isinstance(form, tuple) else (form, {})
        np.testing.assert_array_equal(np.asarray(lanner.Image.from_array(array, **options)), picture, err_msg=name)
    half = lanner.Image.from_array(tensor.numpy().astype(np.float16))
    np.testing.assert_allclose(np.asarray(half).astype(int), picture, atol=1)


def test_an_image_from_an_array_is_a_copy(picture):
    array = picture.copy()
    image = lanner.Image.from_array(array)
    array[:] = 0
    np.testing.assert_array_equal(np.asarray(image), picture)


def test_gray_pictures(picture):
    gray = picture[:, :, 0]
    for array in (gray, gray[:, :, None], gray[None], gray[None, None], gray / np.float32(255)):
        image = lanner.Image.from_array(array)
        assert image.format == "gray8"
        np.testing.assert_array_equal(np.asarray(image), gray)
    np.testing.assert_array_equal(np.asarray(lanner.Image(gray.copy(), "gray8")), gray)


def test_floats_are_rounded_and_clamped():
    values = np.array([[-1, 0, 0.4 / 255, 0.6 / 255, 1, 7, np.inf, -np.inf]], np.float32)
    assert np.asarray(lanner.Image.from_array(values)).tolist() == [[0, 0, 0, 1, 255, 255, 255, 0]]
    assert np.asarray(lanner.Image.from_array(values[:, [1, 4]], range=(1, 0))).tolist() == [[255, 0]]


@pytest.mark.parametrize(
    ("array", "options", "said"),
    [
        (np.zeros((3, 5, 3), np.uint8), {}, "layout=, chw or hwc"),
        (np.zeros((4, 5, 6), np.uint8), {}, "3 or 1 channels in its first or last dim"),
        (np.zeros((2, 3, 8, 8), np.float32), {}, "of one picture"),
        (np.zeros(5, np.float32), {}, "of one picture"),
        (np.zeros((0, 5, 3), np.float32), {}, "at least 1x1"),
        (np.zeros((5, 5), np.int64), {}, "an array of i64, expected uint8, or floats"),
        (np.zeros((5, 5), np.uint8), {"range": (0, 1)}, "range is of floats"),
        (np.zeros((5, 5), np.float32), {"range": (1, 1)}, "two different numbers"),
        (np.zeros((5, 5), np.float32), {"range": (0, np.nan)}, "two different numbers"),
        (np.full((5, 5), np.nan, np.float32), {}, "NaN"),
        (np.zeros((5, 5, 3), np.float32), {"layout": "chw"}, "channels in its first dim"),
        (np.zeros((5, 5, 3), np.float32), {"layout": "cwh"}, "layout 'cwh' is not one of chw"),
        (np.zeros((5, 5, 3), np.float32), {"channels": "rgba"}, "channels 'rgba' is not one of rgb, bgr"),
    ],
)
def test_arrays_that_are_no_pictures_are_rejected(array, options, said):
    with pytest.raises(lanner.InvalidArgument, match=said) as caught:
        lanner.Image.from_array(array, **options)
    assert "\n" not in str(caught.value)


def test_layout_resolves_ambiguous_shapes(picture):
    array = np.zeros((3, 5, 3), np.uint8)
    assert lanner.Image.from_array(array, layout="hwc").height == 3
    assert lanner.Image.from_array(array, layout="chw").height == 5
    with pytest.raises(TypeError, match="range: 3 is of the wrong type.*like \\(0, 1\\)"):
        lanner.Image.from_array(picture.astype(np.float32), range=3)
    with pytest.raises(TypeError, match="layout: 3 is of the wrong type"):
        lanner.Image.from_array(picture, layout=3)
    with pytest.raises(TypeError, match="expected an array, got None"):
        lanner.Image.from_array(None)
    with pytest.raises(lanner.InvalidArgument, match="an array of string"):
        lanner.Image.from_array("x")


def test_arrays_of_images_are_pixels(picture, tmp_path):
    rgb = np.ascontiguousarray(picture)
    image = lanner.Image(rgb)
    shared = np.asarray(image)
    assert np.shares_memory(shared, rgb) and not shared.flags.writeable
    copy = np.array(image)
    assert copy.flags.writeable and not np.shares_memory(copy, rgb)
    assert np.asarray(image, dtype=np.float32).dtype == np.float32
    bgr = lanner.Image(np.ascontiguousarray(picture[:, :, ::-1]), "bgr24")
    np.testing.assert_array_equal(np.asarray(bgr), picture)
    rgba = lanner.Image(np.dstack([picture, np.full((HEIGHT, WIDTH), 9, np.uint8)]), "rgba32")
    np.testing.assert_array_equal(np.asarray(rgba), picture)
    frame = lanner.VideoReader(make_clip(tmp_path))[3]
    assert frame.format == "yuv420p"
    np.testing.assert_array_equal(np.asarray(frame.image), frame.to_rgb())
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="copy=False"):
            np.array(bgr, copy=False)
        assert np.shares_memory(np.array(image, copy=False), rgb)


def test_torch_tensors_become_images(picture):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(picture).permute(2, 0, 1).float() / 255
    np.testing.assert_array_equal(np.asarray(lanner.Image.from_array(tensor)), picture)
    assert torch.from_dlpack(lanner.Image.from_array(tensor).to_tensor(range=(0, 1))).shape == (1, 3, HEIGHT, WIDTH)


def test_the_default_resize_equals_pillow(picture):
    pillow = pytest.importorskip("PIL.Image")
    large = np.random.default_rng(5).integers(0, 256, (97, 131, 3), np.uint8)
    for size in ((32, 48), (24, 200)):
        expected = np.asarray(pillow.fromarray(large).resize(size[::-1], pillow.BILINEAR)).astype(int)
        found = lanner.Image(large).to_tensor(size=size, dtype="uint8", layout="hwc").numpy()[0]
        np.testing.assert_allclose(found.astype(int), expected, atol=1)


def test_the_default_resize_is_antialias():
    assert json.loads(lanner.Preprocess().to_json())["resize"] == "antialias"
    assert lanner.Preprocess.from_json("{}") == lanner.Preprocess(resize="antialias") == lanner.Preprocess()
    assert lanner.Preprocess.from_json('{"resize": "bilinear"}') == lanner.Preprocess(resize="bilinear")
