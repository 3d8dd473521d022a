"""Animated WebP, whose frames are drawn on a canvas: as Pillow (libwebp) shows it, in any order, whatever is wrong with the file."""

import hashlib
import io
import struct

import numpy as np
import pytest
from command import DATA, lanner as command, refuse, succeed
from picture_files import chunk, webp_frame, write_gif, write_webp
from PIL import Image, features

import lanner

needs_pillow = pytest.mark.skipif(not features.check("webp"), reason="this Pillow has no WebP")
WIDTH, HEIGHT = 64, 48


def still(pixels, **options):
    """A still file's chunks of picture and alpha."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "webp", **({"lossless": True, "exact": True} | options))
    content = file.getvalue()[12:]
    return content[18:] if content.startswith(b"VP8X") else content


def noise(random, width, height, alpha):
    """Pixels of every opacity, or opaque ones."""
    pixels = random.integers(0, 256, (height, width, 4), np.uint8)
    kind = random.integers(0, 3, (height, width))
    pixels[..., 3] = np.where(kind == 0, 0, np.where(kind == 1, 255, pixels[..., 3])) if alpha else 255
    return pixels


def animation(path, seed, frames=14, durations=None):
    """Frames at random places, of all ways to blend and to clear."""
    random = np.random.default_rng(seed)
    chunks = []
    for number in range(frames):
        whole = number == 0 or random.random() < 0.2
        x, y = (0, 0) if whole else (2 * int(random.integers(0, WIDTH // 4)), 2 * int(random.integers(0, HEIGHT // 4)))
        width, height = (WIDTH, HEIGHT) if whole else (int(random.integers(1, WIDTH - x + 1)), int(random.integers(1, HEIGHT - y + 1)))
        picture = still(noise(random, width, height, random.random() < 0.7))
        duration = durations[number] if durations else int(random.integers(1, 300))
        chunks.append(webp_frame(picture, x, y, width, height, duration, random.random() < 0.6, random.random() < 0.4))
    return write_webp(path, WIDTH, HEIGHT, chunks)


def by_pillow(path):
    """RGBA pictures, and their durations in milliseconds."""
    pictures, durations = [], []
    with Image.open(path) as image:
        for number in range(image.n_frames):
            image.seek(number)
            image.load()
            pictures.append(np.asarray(image.convert("RGBA")))
            durations.append(image.info["duration"])
    return pictures, durations


def pixels(frame):
    assert frame.format == "rgba32"
    return np.asarray(frame)


@needs_pillow
@pytest.mark.parametrize("seed", range(8))
def test_pixels_and_times_are_pillows(tmp_path, seed):
    clip = animation(tmp_path / "a.webp", seed)
    expected, durations = by_pillow(clip)
    video = lanner.VideoReader(clip)
    assert (video.stream.codec, video.stream.format, video.width, video.height) == ("webp", "rgba", WIDTH, HEIGHT)
    frames = list(video)
    for number, (frame, picture) in enumerate(zip(frames, expected, strict=True)):
        np.testing.assert_array_equal(pixels(frame), picture, err_msg=f"frame {number}")
    assert [frame.duration for frame in frames] == durations
    assert [frame.pts for frame in frames] == [sum(durations[:number]) for number in range(len(durations))]
    assert not any(frame.corrupt for frame in frames) and video.duration == pytest.approx(sum(durations) / 1000)


@needs_pillow
@pytest.mark.parametrize("seed", range(8))
def test_any_order_gives_the_same(tmp_path, seed):
    clip = animation(tmp_path / "a.webp", seed, frames=40)
    expected, _ = by_pillow(clip)
    video = lanner.VideoReader(clip)
    order = np.random.default_rng(seed).permutation(len(video)).tolist()
    for number in order:
        np.testing.assert_array_equal(pixels(video[number]), expected[number], err_msg=f"frame {number}")
    for frame, number in zip(video[order], order, strict=True):
        np.testing.assert_array_equal(pixels(frame), expected[number])
    for frame, picture in zip(lanner.ParallelDecoder(clip, decoders=3), expected, strict=True):
        np.testing.assert_array_equal(pixels(frame), picture)
    for frame, picture in zip(lanner.VideoReader(clip, threads=4), expected, strict=True):
        np.testing.assert_array_equal(pixels(frame), picture)


def test_decoding_begins_where_nothing_is_needed(tmp_path):
    """At frames that cover the canvas with pixels of their own, and behind one that left it empty."""
    whole, part = still(np.full((4, 4, 4), 200, np.uint8)), still(np.full((2, 2, 4), 200, np.uint8))
    opaque = still(np.full((4, 4, 3), 9, np.uint8))
    part_at = dict(x=2, y=2, width=2, height=2)
    cases = [
        (webp_frame(part, **part_at), True),  # The first.
        (webp_frame(part, **part_at), False),
        (webp_frame(whole, 0, 0, 4, 4, blend=True), False),
        (webp_frame(opaque, 0, 0, 4, 4, blend=True), True),
        (webp_frame(whole, 0, 0, 4, 4, blend=False, clear=True), True),
        (webp_frame(part, **part_at, clear=True), True),
        (webp_frame(part, **part_at), True),
        (webp_frame(part, **part_at, blend=False, clear=True), False),
        (webp_frame(part, **part_at), False),
    ]  # fmt: skip
    clip = write_webp(tmp_path / "a.webp", 4, 4, [one for one, _ in cases])
    packets = list(lanner.Demuxer(clip))
    assert [packet.key for packet in packets] == [key for _, key in cases]
    assert [packet.pts for packet in packets] == list(range(0, 900, 100))
    assert [frame.key for frame in lanner.VideoReader(clip)] == [key for _, key in cases]
    demuxer = lanner.Demuxer(clip)
    demuxer.seek(450)
    assert next(iter(demuxer)).pts == 400


@needs_pillow
def test_lossy_frames_with_and_without_alpha(tmp_path):
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    base = np.stack([x * 4 % 256, y * 5 % 256, (x + y) * 2 % 256, x * 4 % 256], axis=-1).astype(np.uint8)
    frames = [
        webp_frame(still(base[..., :3], lossless=False, quality=90), 0, 0, WIDTH, HEIGHT),
        webp_frame(still(base[:21, :33], lossless=False, quality=90), 10, 12, 33, 21, blend=True),
        webp_frame(still(base[:20, :31, :3], lossless=False, quality=90), 2, 4, 31, 20, blend=False, clear=True),
        webp_frame(still(base[:11, :9], lossless=False, quality=90), 0, 0, 9, 11),
    ]
    clip = write_webp(tmp_path / "a.webp", WIDTH, HEIGHT, frames)
    for frame, picture in zip(lanner.VideoReader(clip), by_pillow(clip)[0], strict=True):
        found, expected = pixels(frame).astype(int), picture.astype(int)
        np.testing.assert_array_equal(found[..., 3], expected[..., 3])
        assert np.abs(found - expected).max() <= 3 and np.abs(found - expected).mean() < 0.5


def test_a_found_clip():
    clip = DATA.parent / "found" / "video" / "e17.webp"
    if not clip.exists():
        pytest.skip("no clips at ../shared/found")
    video = lanner.VideoReader(clip)
    assert video.times() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 0.9]) and video.duration == pytest.approx(1.0)
    for frame, picture in zip(video, by_pillow(clip)[0], strict=True):
        assert np.abs(pixels(frame).astype(int) - picture).max() <= 3


@needs_pillow
def test_on_the_command_line(tmp_path):
    clip = animation(tmp_path / "a.webp", 1)
    expected, _ = by_pillow(clip)
    digest = hashlib.md5(b"".join(picture.tobytes() for picture in expected)).hexdigest()
    assert digest in succeed("decode", clip, "--md5")
    with open(clip, "rb") as file:
        assert digest in succeed("decode", "-", "--md5", stdin=file)
    said = succeed("probe", clip, "--exact")
    assert "webp" in said and "14" in said
    succeed("decode", clip, "--frames", "3", "-o", tmp_path / "frame.png")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "frame.png")), expected[3])


@needs_pillow
@pytest.mark.parametrize("name", ["apng", "webp", "gif", "mp4", "mkv"])
def test_transcode_keeps_times_and_alpha(tmp_path, name):
    durations = [100, 40, 250, 60, 30, 100, 70, 80, 90, 110, 20, 500, 120, 1500]
    clip = animation(tmp_path / "in.webp", 5, durations=durations)
    expected, _ = by_pillow(clip)
    options = {"webp": {"tuning": "lossless"}, "mkv": {"codec": "ffv1"}}.get(name, {})
    result = lanner.transcode(clip, tmp_path / f"out.{name}", **options)
    written = lanner.VideoReader(tmp_path / f"out.{name}")
    assert len(written) == 14 and result.frames == 14
    assert written.times() == pytest.approx([sum(durations[:number]) / 1000 for number in range(14)], abs=0.011 if name == "gif" else 0.002)
    assert written.duration == pytest.approx(sum(durations) / 1000, abs=0.011)
    if name in ("apng", "webp", "mkv"):  # FFmpeg's decoder of APNG blends some pixels wrongly.
        found_by = by_pillow(tmp_path / "out.apng")[0] if name == "apng" else [frame.contiguous("rgba").numpy() for frame in written]
        for found, picture in zip(found_by, expected, strict=True):
            np.testing.assert_array_equal(found[..., 3], picture[..., 3])
            np.testing.assert_array_equal(found[picture[..., 3] > 0], picture[picture[..., 3] > 0])


def test_round_trip_of_a_gif(tmp_path):
    delays = [10, 50, 10, 20, 150]
    clip = write_gif(tmp_path / "in.gif", [(40 * number, 0, 9) for number in range(5)], delays)
    lanner.transcode(clip, tmp_path / "a.webp", tuning="lossless")
    lanner.transcode(tmp_path / "a.webp", tmp_path / "b.gif")
    video = lanner.VideoReader(tmp_path / "b.gif")
    assert [frame.duration for frame in video] == delays
    for frame, original in zip(video, lanner.VideoReader(clip), strict=True):
        assert np.abs(np.asarray(frame.to_rgb()).astype(int) - np.asarray(original.to_rgb())).max() <= 2


def test_a_duration_of_zero_is_a_tenth_of_a_second(tmp_path):
    picture = still(np.zeros((2, 2, 4), np.uint8))
    frames = [webp_frame(picture, 0, 0, 2, 2, duration) for duration in (0, 1, 0, 16777215)]
    video = lanner.VideoReader(write_webp(tmp_path / "a.webp", 2, 2, frames))
    assert video.pts() == [0, 100, 101, 201] and [frame.duration for frame in video] == [100, 1, 100, 16777215]


@needs_pillow
def test_the_first_frame_is_the_picture(tmp_path):
    clip = animation(tmp_path / "a.webp", 3)
    np.testing.assert_array_equal(lanner.load_image(clip).contiguous().numpy(), by_pillow(clip)[0][0])
    small = write_webp(tmp_path / "b.webp", 4, 4, [webp_frame(still(np.full((2, 2, 4), 255, np.uint8)), 2, 0, 2, 2)])
    image = lanner.load_image(small).contiguous().numpy()
    assert image[..., 3].tolist() == [[0, 0, 255, 255], [0, 0, 255, 255], [0] * 4, [0] * 4]
    cut = write_webp(tmp_path / "c.webp", 4, 4, [])
    with pytest.raises(lanner.BadData, match="an animated WebP without a whole frame"):
        lanner.load_image(cut)


def test_packets_are_not_copied(tmp_path):
    demuxer = lanner.Demuxer(animation(tmp_path / "a.webp", 2))
    for name in ("webp", "mkv"):
        with pytest.raises(lanner.Unsupported, match="cannot hold webp"), lanner.Muxer(tmp_path / f"b.{name}") as muxer:
            muxer.add_stream(demuxer.streams[0])


def read(path, **options):
    """Frames that can be read, and how reading ended."""
    frames = []
    try:
        for frame in lanner.VideoReader(path, **options):
            frames.append(pixels(frame).copy())
    except lanner.Error as error:
        return frames, error
    return frames, None


@needs_pillow
def test_a_file_that_is_cut_gives_the_frames_before(tmp_path):
    clip = animation(tmp_path / "a.webp", 4, frames=6)
    whole, expected = clip.read_bytes(), by_pillow(clip)[0]
    ends, at = [], 12
    while at < len(whole):
        size = struct.unpack("<I", whole[at + 4 : at + 8])[0]
        at += 8 + size + size % 2
        if whole[at - 8 - size - size % 2 :][:4] == b"ANMF":
            ends.append(at)
    for length in range(0, len(whole), 997):
        cut = tmp_path / "cut.webp"
        cut.write_bytes(whole[:length])
        frames, error = read(cut)
        there = sum(end <= length + 1 for end in ends)
        assert len(frames) == there and (error is None) == (there > 0), length
        for frame, picture in zip(frames, expected, strict=False):
            np.testing.assert_array_equal(frame, picture)
        if there:
            _, error = read(cut, raise_on_error=True)
            assert "ends early" in str(error), length


def hostile_files():
    dot = still(np.full((2, 2, 4), 255, np.uint8))
    good = webp_frame(dot, 0, 0, 2, 2)
    huge = struct.pack("<I", 0xFFFFFFFF)
    outside = webp_frame(dot, 4, 0, 2, 2)
    return {
        "outside": ([good, outside], "2x2 at 4,0 lies outside of the canvas of 4x4"),
        "far": ([good, webp_frame(dot, 2 * 0xFFFFFF, 2 * 0xFFFFFF, 2, 2)], "lies outside of the canvas"),
        "long": ([good, good[:4] + huge + good[8:]], "ends behind the file"),
        "long unknown": ([good, b"XYZW" + huge], "ends behind the file"),
        "short": ([good, chunk(b"ANMF", bytes(7))], "ends within its fields"),
    }  # fmt: skip


@pytest.mark.parametrize("name", hostile_files())
def test_a_bad_chunk_ends_the_clip(tmp_path, name):
    frames, said = hostile_files()[name]
    clip = write_webp(tmp_path / "a.webp", 4, 4, frames)
    found, error = read(clip)
    assert len(found) == 1 and error is None
    _, error = read(clip, raise_on_error=True)
    assert isinstance(error, lanner.BadData) and said in str(error)
    first = write_webp(tmp_path / "b.webp", 4, 4, frames[1:])
    assert said in refuse("decode", first, "--md5")


@pytest.mark.parametrize("name", ["nested", "empty", "size", "long part", "damaged"])
def test_a_frame_without_a_picture_is_damage_of_that_frame(tmp_path, name):
    dot = still(np.full((2, 2, 4), 255, np.uint8))
    good = webp_frame(dot, 0, 0, 2, 2)
    bad = {
        "nested": webp_frame(good + webp_frame(good, 0, 0, 2, 2), 0, 0, 2, 2), "empty": webp_frame(b"", 0, 0, 2, 2),
        "size": webp_frame(dot, 0, 0, 1, 2), "long part": webp_frame(dot[:4] + b"\xff\xff\xff\xff" + dot[8:], 0, 0, 2, 2),
        "damaged": webp_frame(dot[:8] + b"\x2f" + b"\xff" * (len(dot) - 9), 0, 0, 2, 2),
    }[name]  # fmt: skip
    covering = webp_frame(still(np.full((4, 4, 4), 7, np.uint8)), 0, 0, 4, 4, blend=False)
    clip = write_webp(tmp_path / "a.webp", 4, 4, [good, bad, good, covering, good])
    video = lanner.VideoReader(clip)
    assert [frame.corrupt for frame in video] == [False, True, False, False]
    assert [frame.pts for frame in lanner.VideoReader(clip)] == [0, 200, 300, 400]
    _, error = read(clip, raise_on_error=True)
    assert isinstance(error, lanner.BadData) and "webp" in str(error)


def test_limits(tmp_path):
    dot = webp_frame(still(np.full((2, 2, 4), 255, np.uint8)), 0, 0, 2, 2)
    huge = write_webp(tmp_path / "huge.webp", 1 << 24, 1 << 24, [dot, dot])
    assert "pixels" in refuse("decode", huge, "--md5")
    with pytest.raises(lanner.LimitExceeded, match="pixels"):
        lanner.load_image(huge)
    clip = write_webp(tmp_path / "a.webp", 2, 2, [dot] * 9)
    assert "9 frames" in refuse("decode", clip, "--md5", "--limit", "frames=8")
    assert "packet_bytes" in refuse("decode", clip, "--md5", "--limit", "packet_bytes=20")
    wide = write_webp(tmp_path / "wide.webp", 4096, 4096, [dot] * 9)
    assert "total_bytes" in refuse("decode", wide, "--md5", "--limit", "total_bytes=40MiB")


def test_one_frame_is_a_picture(tmp_path):
    """As of a GIF: `lanner probe` and `run` take it for one; a reader of clips for a clip."""
    dot = webp_frame(still(np.full((2, 2, 4), 255, np.uint8)), 0, 0, 2, 2)
    one = write_webp(tmp_path / "one.webp", 2, 2, [dot])
    two = write_webp(tmp_path / "two.webp", 2, 2, [dot, dot])
    assert len(lanner.VideoReader(one)) == 1
    said = [command("probe", path).stdout for path in (one, two)]
    assert "frames" not in said[0] and "frames" in said[1]
