"""GIF, APNG and WebP: colours, alpha, times, the last frame's duration and how often they play; read back here and by Pillow."""

import io

import numpy as np
import pytest
from command import make_clip, refuse, succeed
from picture_files import write_gif
from PIL import Image

import lanner

ALL = ["gif", "apng", "webp"]
DELAYS = [10, 50, 10, 20, 150]  # Hundredths of a second.


def colourful(width=64, height=48, frames=5):
    """A gradient in all colours, and a white square that moves."""
    y, x = np.mgrid[:height, :width]
    base = np.stack([x * 255 // (width - 1), y * 255 // (height - 1), (x + y) * 255 // (width + height - 2)], axis=-1)
    pictures = np.repeat(base[None].astype(np.uint8), frames, axis=0)
    for number, picture in enumerate(pictures):
        picture[8:16, 4 + 8 * number : 12 + 8 * number] = 255
    return pictures


def with_hole(pictures):
    """RGBA, with a hole that moves."""
    whole = np.concatenate([pictures, np.full((*pictures.shape[:3], 1), 255, np.uint8)], axis=-1)
    for number, picture in enumerate(whole):
        picture[24:40, 4 + 8 * number : 20 + 8 * number, 3] = 0
    return whole


def write(path, pictures, **options):
    height, width = pictures[0].shape[:2]
    with lanner.VideoWriter(path, width=width, height=height, fps=10, **options) as out:
        for picture in pictures:
            out.write(picture)
        return out.notes


def read(path):
    """RGBA pictures and their durations in milliseconds, by Pillow."""
    with Image.open(path) as image:
        pictures, durations = [], []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            image.load()
            pictures.append(np.asarray(image.convert("RGBA")))
            durations.append(image.info.get("duration"))
        return np.stack(pictures), durations


def error(one, other):
    return np.abs(one.astype(int) - other.astype(int)).mean()


@pytest.mark.parametrize("name", ALL)
def test_what_is_written_is_read_back(tmp_path, name):
    pictures = colourful()
    assert write(tmp_path / f"a.{name}", pictures, **({"tuning": "lossless"} if name == "webp" else {})) == []
    clip = lanner.VideoReader(tmp_path / f"a.{name}")
    assert clip.stream.codec == name and clip.times() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    for frame, picture in zip(clip, pictures, strict=True):
        pixels = np.asarray(frame.image.to_rgb())
        assert error(pixels, picture) <= (8 if name == "gif" else 0)


@pytest.mark.parametrize("name", ALL)
def test_pillow_reads_the_same(tmp_path, name):
    pictures = colourful()
    write(tmp_path / f"a.{name}", pictures)
    found, durations = read(tmp_path / f"a.{name}")
    assert durations == [100] * 5
    assert error(found[..., :3], pictures) < {"gif": 8, "apng": 1e-9, "webp": 6}[name]
    assert (found[..., 3] == 255).all()


def test_a_gif_has_colours_of_its_pictures(tmp_path):
    """Not those of a fixed palette, of which none is this orange."""
    pictures = np.full((3, 32, 32, 3), (251, 139, 23), np.uint8)
    pictures[:, :, :16] = (13, 87, 201)
    write(tmp_path / "a.gif", pictures)
    found, _ = read(tmp_path / "a.gif")
    assert error(found[..., :3], pictures) < 3


def local_palettes(path):
    """Pictures of a GIF with a palette of their own (GIF89a, 20)."""
    data, count = path.read_bytes(), 0
    flags = data[10]
    at = 13 + (3 << (flags % 8 + 1) if flags & 0x80 else 0)
    while data[at] != 0x3B:
        if data[at] == 0x2C:
            flags = data[at + 9]
            count += flags >> 7
            at += 11 + (3 << (flags % 8 + 1) if flags & 0x80 else 0)
        else:
            at += 2
        while data[at]:
            at += data[at] + 1
        at += 1
    return count


def test_a_gif_has_one_palette_or_one_for_each_picture(tmp_path):
    pictures = [np.full((32, 32, 3), (40 * i, 255 - 40 * i, 99), np.uint8) for i in range(6)]
    write(tmp_path / "one.gif", pictures)
    write(tmp_path / "each.gif", pictures, codec_options={"stats_mode": "single"})
    # FFmpeg writes the first one twice.
    assert (local_palettes(tmp_path / "one.gif"), local_palettes(tmp_path / "each.gif")) == (1, 6)
    for name in ("one", "each"):
        assert error(read(tmp_path / f"{name}.gif")[0][..., :3], np.stack(pictures)) < 3


def test_options_of_the_palette(tmp_path):
    pictures = colourful()
    write(tmp_path / "few.gif", pictures, codec_options={"max_colors": "4", "dither": "none"})
    found, _ = read(tmp_path / "few.gif")
    assert len(np.unique(found[0].reshape(-1, 4), axis=0)) <= 4
    for options, said in [({"max_colors": "1000"}, "palettegen refuses max_colors=1000"), ({"dither": "a:b"}, "expected one word"),
                          ({"nosuch": "1"}, "no option 'nosuch'")]:  # fmt: skip
        with pytest.raises(lanner.Error, match=said):
            write(tmp_path / "no.gif", pictures, codec_options=options)
    assert not (tmp_path / "no.gif").exists()


@pytest.mark.parametrize("name", ALL)
def test_alpha_is_kept(tmp_path, name):
    pictures = with_hole(colourful())
    write(tmp_path / f"a.{name}", pictures, **({"tuning": "lossless"} if name == "webp" else {}))
    found, _ = read(tmp_path / f"a.{name}")
    np.testing.assert_array_equal(found[..., 3], pictures[..., 3])
    shown = pictures[..., 3] > 0
    assert error(found[shown], pictures[shown]) <= (8 if name == "gif" else 0)


def test_half_alpha_is_kept_where_the_format_has_it(tmp_path):
    pictures = with_hole(colourful())
    pictures[..., 3] //= 2
    for name, options in (("apng", {}), ("webp", {}), ("webp", {"tuning": "lossless"})):
        write(tmp_path / f"a.{name}", pictures, **options)
        assert error(read(tmp_path / f"a.{name}")[0][..., 3], pictures[..., 3]) < 1


def test_lossless_webp_of_rgb(tmp_path):
    pictures = colourful()
    write(tmp_path / "a.webp", pictures, tuning="lossless")
    np.testing.assert_array_equal(read(tmp_path / "a.webp")[0][..., :3], pictures)


@pytest.mark.parametrize("name", ALL)
def test_each_frame_keeps_its_duration_the_last_one_too(tmp_path, name):
    clip = write_gif(tmp_path / "in.gif", [(40 * number, 0, 9) for number in range(5)], DELAYS)
    result = lanner.transcode(clip, tmp_path / f"out.{name}")
    assert result.notes == [] and result.frames == 5 and result.seconds == pytest.approx(2.4)
    assert read(tmp_path / f"out.{name}")[1] == [10 * delay for delay in DELAYS]
    video = lanner.VideoReader(tmp_path / f"out.{name}")
    assert video.duration == pytest.approx(2.4) and len(video) == 5


def test_rgba_goes_through_transcode(tmp_path):
    pictures = with_hole(colourful())
    write(tmp_path / "in.apng", pictures)
    for name in ALL:
        assert lanner.transcode(tmp_path / "in.apng", tmp_path / f"out.{name}").notes == []
        np.testing.assert_allclose(read(tmp_path / f"out.{name}")[0][..., 3], pictures[..., 3], atol=2)


def test_a_clip_that_begins_late_begins_at_once(tmp_path):
    with lanner.VideoWriter(tmp_path / "in.mkv", width=64, height=48, codec="ffv1") as out:
        for number, picture in enumerate(colourful()):
            out.write(picture, seconds=5 + number / 10)
    for name in ALL:
        assert lanner.transcode(tmp_path / "in.mkv", tmp_path / f"out.{name}").seconds == pytest.approx(0.5, abs=0.07)
        assert read(tmp_path / f"out.{name}")[1][:4] == [100] * 4


@pytest.mark.parametrize(("plays", "gif", "others"), [(None, 0, 0), (0, 0, 0), (1, None, 1), (3, 2, 3)])
def test_how_often_it_plays(tmp_path, plays, gif, others):
    """A GIF counts how often it is repeated; one without a count plays once."""
    for name in ALL:
        write(tmp_path / f"a.{name}", colourful(), plays=plays)
        with Image.open(tmp_path / f"a.{name}") as image:
            assert image.info.get("loop") == (gif if name == "gif" else others), name


def test_other_containers_play_once(tmp_path):
    with pytest.raises(lanner.InvalidArgument, match="plays 2: is of GIF, APNG and WebP, the container is mp4"):
        write(tmp_path / "a.mp4", colourful(), plays=2)
    with pytest.raises(lanner.InvalidArgument, match="plays 70000, expected 0 to 65535"):
        write(tmp_path / "a.gif", colourful(), plays=70000)
    assert "--plays" in refuse("transcode", make_clip(tmp_path), tmp_path / "a.gif", "--plays", "-1")


@pytest.mark.parametrize("name", ALL)
def test_they_hold_one_codec(tmp_path, name):
    with pytest.raises(lanner.InvalidArgument, match=f"container {name} holds the codec {name} alone, got h264; give codec {name}"):
        write(tmp_path / f"a.{name}", colourful(), codec="h264")
    for options, said in [({"bit_rate": 100_000}, "bit_rate 100000"), ({"gop": 5}, "gop 5"), ({"crf": 20}, "crf|constant quality")]:
        with pytest.raises(lanner.Error, match=said):
            write(tmp_path / f"a.{name}", colourful(), **options)


def test_quality_of_webp(tmp_path):
    for quality in (5, 95):
        write(tmp_path / f"{quality}.webp", colourful(), codec_options={"quality": str(quality)})
    low, high = (read(tmp_path / f"{quality}.webp")[0][..., :3] for quality in (5, 95))
    assert error(high, colourful()) < error(low, colourful())


def test_a_gif_for_a_pipe(tmp_path):
    file = io.BytesIO()
    assert write(file, colourful(), container="gif") == []
    assert len(read(io.BytesIO(file.getvalue()))[0]) == 5
    with pytest.raises(lanner.Unsupported, match="cannot be written without going back"):
        write(io.BytesIO(), colourful(), container="apng")


def test_a_rate_that_players_do_not_show_is_told(tmp_path):
    with lanner.VideoWriter(tmp_path / "a.gif", width=64, height=48, fps=60) as out:
        for picture in colourful():
            out.write(picture)
        assert len(out.notes) == 1 and out.notes[0].startswith("60 frames a second: GIF counts in hundredths")
    assert sum(read(tmp_path / "a.gif")[1]) == pytest.approx(1000 * 5 / 60, abs=10)


def test_sizes_may_be_odd(tmp_path):
    for name in ALL:
        write(tmp_path / f"a.{name}", colourful(61, 45))
        assert read(tmp_path / f"a.{name}")[0].shape == (5, 45, 61, 4)


def test_one_picture(tmp_path):
    for name in ALL:
        write(tmp_path / f"a.{name}", colourful(frames=1))
        assert read(tmp_path / f"a.{name}")[0].shape[0] == 1


def test_on_the_command_line(tmp_path):
    clip = make_clip(tmp_path, frames=5, rate=10)
    for name in ALL:
        succeed("transcode", clip, tmp_path / f"out.{name}", "--plays", 1)
        pictures, durations = read(tmp_path / f"out.{name}")
        assert len(pictures) == 5 and durations == [100] * 5
    succeed("transcode", clip, tmp_path / "out.png", "--format", "apng")
    assert len(read(tmp_path / "out.png")[0]) == 5
