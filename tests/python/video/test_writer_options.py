"""Options of writers, alone and in pairs: each shows in the file, or is refused in one line."""

import itertools

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

CODECS = ["h264", "hevc", "av1", "vp9", "mpeg4", "mpeg2", "mjpeg", "ffv1", "png", "no such"]
# A preset is a name of the codec's own or a number.
OPTIONS = [{"crf": 12}, {"crf": 40}, {"bit_rate": 40_000}, {"bit_rate": 4_000_000}, {"preset": "slow"}, {"preset": "4"},
           {"gop": 1}, {"gop": 3}, {"fps": 12.5}]  # fmt: skip
COUNT, WIDTH, HEIGHT = 9, 96, 64
KEYFRAMES_ONLY = {"mjpeg", "png"}


def pictures():
    draw = np.random.default_rng(1)
    picture = draw.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    for i in range(COUNT):
        yield np.roll(picture, i, axis=1)


def written(path, **options):
    """The file's bytes, and None or the line by which it was refused."""
    path.unlink(missing_ok=True)
    try:
        with lanner.VideoWriter(path, width=WIDTH, height=HEIGHT, **options) as out:
            for picture in pictures():
                out.write(picture)
    except lanner.Error as error:
        assert not path.exists(), options
        assert str(error) and len(str(error).splitlines()) == 1, options
        return None, error
    return path.read_bytes(), None


def needs(codec, tmp_path):
    whole, error = written(tmp_path / "first.mkv", codec=codec)
    if codec == "no such":
        assert isinstance(error, lanner.Unsupported)
        pytest.skip("no encoder, as told")
    if error:
        pytest.skip(str(error))
    return whole


def shows(path, codec, option):
    """Whether the file is as it was asked for."""
    with lanner.VideoReader(path) as video:
        assert len(list(video)) == COUNT
        if "fps" in option:
            assert video.fps == pytest.approx(option["fps"], rel=1e-3)
        if "gop" in option:
            distances = np.diff([*video.index.keyframes, COUNT])
            assert distances.max() <= option["gop"]


@pytest.mark.parametrize("codec", CODECS)
def test_an_option_shows_in_the_file_or_is_refused(codec, tmp_path):
    plain = needs(codec, tmp_path)
    for option in OPTIONS:
        path = tmp_path / "one.mkv"
        whole, error = written(path, codec=codec, **option)
        if error:
            continue
        shows(path, codec, option)
        assert whole != plain or (codec in KEYFRAMES_ONLY and "gop" in option), (codec, option)


@pytest.mark.parametrize("codec", CODECS)
def test_pairs_of_options(codec, tmp_path):
    needs(codec, tmp_path)
    path = tmp_path / "pair.mkv"
    alone = {tuple(option.items()): written(path, codec=codec, **option) for option in OPTIONS}
    for one, other in itertools.combinations(OPTIONS, 2):
        if one.keys() == other.keys():
            continue
        whole, error = written(path, codec=codec, **one, **other)
        sides = [alone[tuple(option.items())] for option in (one, other)]
        if error:
            refused = any(side_error for _, side_error in sides)
            assert refused or {*one, *other} == {"crf", "bit_rate"}, (codec, one, other, error)
            continue
        assert not any(side_error for _, side_error in sides), (codec, one, other)
        shows(path, codec, {**one, **other})
        if codec not in KEYFRAMES_ONLY:
            assert all(whole != side for side, _ in sides), (codec, one, other)
