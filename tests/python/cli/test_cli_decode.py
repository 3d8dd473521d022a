"""lanner decode: raw pixels and digests of a clip; explain and bench of a clip."""

import hashlib
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

import lanner

from command import COMMAND, DATA, leftovers, make_clip, make_y4m, refuse, succeed

JVT = DATA / "video" / "jvt"
FRAMES, WIDTH, HEIGHT = 30, 64, 48
SIZE = WIDTH * HEIGHT * 3 // 2


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clip"), frames=FRAMES)


@pytest.fixture(scope="module")
def pixels(clip):
    path = clip.with_name("all.yuv")
    succeed("decode", clip, "-o", path)
    return path.read_bytes()


def test_pixels_equal_the_encoded_ones(tmp_path):
    source = make_y4m(tmp_path / "source.y4m", frames=5)
    told = succeed("decode", source, "-o", tmp_path / "out.yuv", "--device", "cpu")
    raw = b"".join(frame[6:] for frame in split(source.read_bytes().partition(b"\n")[2], SIZE + 6))
    assert (tmp_path / "out.yuv").read_bytes() == raw
    assert told.startswith("64x48 yuv420p, 5 frames by ffmpeg rawvideo")


def split(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)]


def test_md5_is_of_the_pixels(clip, pixels):
    assert len(pixels) == FRAMES * SIZE
    assert succeed("decode", clip, "--md5") == hashlib.md5(pixels).hexdigest() + "\n"


def test_pipe_output_equals_file_output(clip, pixels):
    piped = subprocess.run([COMMAND, "decode", clip, "-o", "-"], capture_output=True, check=True)
    assert (piped.stdout, piped.stderr) == (pixels, b"")


@pytest.mark.parametrize("asked", ["3", "0:30:7", "-1,0,5:2:-1,5", "::-10", "25:"])
def test_frames_option_selects_like_python_slices(clip, pixels, tmp_path, asked):
    frames = split(pixels, SIZE)
    wanted = []
    for part in asked.split(","):
        numbers = [int(number) if number else None for number in part.split(":")]
        wanted += [frames[numbers[0]]] if len(numbers) == 1 else frames[slice(*numbers)]
    succeed("decode", clip, "--frames", asked, "-o", tmp_path / "some.yuv")
    assert (tmp_path / "some.yuv").read_bytes() == b"".join(wanted)


def test_at_option_selects_frames_on_screen(clip, pixels, tmp_path):
    reader = lanner.VideoReader(clip)
    begins = reader.times()
    late = begins[7] + 0.9 * (begins[8] - begins[7])
    succeed("decode", clip, "--at", f"{late:.6f},{begins[2] + 0.001:.6f}", "-o", tmp_path / "some.yuv")
    frames = split(pixels, SIZE)
    assert (tmp_path / "some.yuv").read_bytes() == frames[7] + frames[2]
    succeed("decode", clip, "--at", "500ms", "-o", tmp_path / "at%02d.png")
    assert leftovers(tmp_path, "some.yuv") == [f"at{reader.index_at(0.5):02d}.png"]
    assert "500 s" in refuse("decode", clip, "--at", "500")
    for wrong in ("a", "1,", ",1", "-1", ""):
        assert "expected a time like" in refuse("decode", clip, "--at", wrong)
    assert "excludes" in refuse("decode", clip, "--at", "1", "--frames", "1").lower()


def test_parallel_decoding_gives_the_same_pixels(clip, pixels):
    digest = hashlib.md5(pixels).hexdigest() + "\n"
    for decoders in (1, 2, 5):
        assert succeed("decode", clip, "--md5", "--decoders", decoders) == digest


def test_format_option_converts_pixels(clip, pixels, tmp_path):
    succeed("decode", clip, "--format", "nv12", "--frames", "4", "-o", tmp_path / "nv12")
    luma, u, v = np.split(np.frombuffer(split(pixels, SIZE)[4], np.uint8), [WIDTH * HEIGHT, WIDTH * HEIGHT * 5 // 4])
    assert (tmp_path / "nv12").read_bytes() == luma.tobytes() + np.stack([u, v], 1).tobytes()
    succeed("decode", clip, "--format", "rgb24", "-o", tmp_path / "rgb")
    assert (tmp_path / "rgb").stat().st_size == FRAMES * WIDTH * HEIGHT * 3


def test_bad_options_and_input_are_refused(clip, tmp_path):
    assert "frame 30 is out of range: the clip has 30 frames" in refuse("decode", clip, "--frames", "30")
    for wrong in ("a", "1:2:0", "", "1:2:3:4"):
        assert "expected numbers and slices" in refuse("decode", clip, "--frames", wrong)
    assert "rgb24" in refuse("decode", clip, "--format", "rgb")
    message = refuse("decode", clip, "--device", "cuda:99", "-o", tmp_path / "out.yuv")
    assert "libnvcuvid" in message or "cuda:99" in message
    plain = shutil.copy(clip, tmp_path / "clip")
    assert "would overwrite" in refuse("decode", plain, "-o", plain)
    assert "give one" in refuse("decode", clip, "-o", "-", "--md5")
    assert leftovers(tmp_path, "clip") == []


def test_png_and_jpg_outputs_are_images(clip, tmp_path):
    lanner = pytest.importorskip("lanner")
    rgb = np.asarray(lanner.VideoReader(clip, format="rgb24")[7])
    succeed("decode", clip, "--frames", "7", "-o", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    np.testing.assert_array_equal(lanner.load_image(tmp_path / "x.png").to_rgb(), rgb)
    said = succeed("decode", clip, "--frames", "7", "-o", tmp_path / "x.JPG")
    assert (tmp_path / "x.JPG").read_bytes().startswith(b"\xff\xd8") and "64x48" in said
    difference = np.abs(np.asarray(lanner.load_image(tmp_path / "x.JPG").to_rgb()).astype(int) - rgb)
    assert difference.mean() < 3
    assert len(succeed("decode", clip, "--frames", "7", "--md5", "-o", tmp_path / "y.png")) == 33
    assert leftovers(tmp_path, "x.png", "x.JPG", "y.png") == []


def test_numbered_images_have_their_frame_numbers(clip, tmp_path):
    lanner = pytest.importorskip("lanner")
    succeed("decode", clip, "--frames", "9,2,-1,9", "-o", tmp_path / "a%03d.png")
    assert leftovers(tmp_path, "a002.png", "a009.png", "a029.png") == []
    frame = lanner.VideoReader(clip, format="rgb24")[29]
    np.testing.assert_array_equal(lanner.load_image(tmp_path / "a029.png").to_rgb(), np.asarray(frame))
    (tmp_path / "all").mkdir()
    succeed("decode", clip, "-o", tmp_path / "all" / "100%-%d%d.png")
    assert leftovers(tmp_path / "all") == sorted(f"100%-{i}%d.png" for i in range(FRAMES))


@pytest.mark.parametrize(
    ("name", "frames", "said"),
    [
        ("x.png", "0:2", "is one picture for several frames; choose one with --frames N, or number them"),
        ("x.png", "", "is one picture for several frames"),
        ("x.bmp", "1", "written as .png or .jpg"),
        ("x%d.WebP", "1", "written as .png or .jpg"),
        ("x.mp4", "", "lanner transcode makes a clip"),
        ("x.MKV", "3", "lanner transcode makes a clip"),
        ("no/x.png", "3", "its folder does not exist"),
        ("no/x%d.png", "3", "its folder does not exist"),
    ],
)
def test_unsupported_image_outputs_are_refused(clip, tmp_path, name, frames, said):
    assert said in refuse("decode", clip, "-o", tmp_path / name, *(["--frames", frames] if frames else []))
    assert leftovers(tmp_path) == []


def test_numbered_image_does_not_overwrite_the_clip(clip, tmp_path):
    source = shutil.copy(clip, tmp_path / "a3.png")
    before = source.read_bytes()
    assert "would overwrite" in refuse("decode", source, "--frames", "3", "-o", tmp_path / "a%d.png")
    assert source.read_bytes() == before and leftovers(tmp_path, "a3.png") == []


def test_damage_is_an_error_unless_concealed(clip, tmp_path):
    cut = tmp_path / "cut.mp4"
    whole = clip.read_bytes()
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    message = refuse("decode", cut, "-o", tmp_path / "out.yuv")
    assert message.startswith("decode ") and leftovers(tmp_path, "cut.mp4") == []


def test_explain_shows_decoder_and_reason(clip):
    found = json.loads(succeed("explain", clip, "--json", "--device", "cpu"))
    assert (found["codec"], found["frames"], found["reason"]) == ("h264", FRAMES, "asked for")
    assert found["decoder"].startswith("ffmpeg h264")
    assert found["entries"]["clean"] >= 1 and found["spans"]["longest"] <= FRAMES
    assert "because  auto: " in succeed("explain", clip, "--device", "auto")


def test_bench_counts_every_frame(clip):
    found = json.loads(succeed("bench", clip, "--json", "--duration", "600s", "--device", "cpu", "--format", "rgb24"))
    assert found["frames"] == FRAMES and found["frames_per_second"] > 0


@pytest.mark.skipif(not JVT.exists(), reason="no conformance streams at ../shared/data")
def test_conformance_streams_have_their_digests():
    for line in (JVT / "md5.txt").read_text().splitlines():
        digest, name = line.replace("*", " ").split()[:2]
        assert succeed("decode", JVT / name, "--md5", "--format", "yuv420p") == digest + "\n", name


def test_frames_are_scaled(clip, tmp_path):
    small = np.asarray(lanner.VideoReader(clip)[7].to_tensor(size=(24, 32), layout="nhwc", dtype="uint8").numpy()[0])
    said = succeed("decode", clip, "--frames", "7", "--size", "32x24", "-o", tmp_path / "x.png")
    assert said.startswith("32x24 rgb24, 1 frame by")
    np.testing.assert_array_equal(lanner.load_image(tmp_path / "x.png").to_rgb(), small)
    for size in ("32x", "x24"):
        succeed("decode", clip, "--frames", "7", "--size", size, "-o", tmp_path / "y.png")
        assert (tmp_path / "y.png").read_bytes() == (tmp_path / "x.png").read_bytes()
    succeed("decode", clip, "--frames", "7,8", "--size", "32x24", "--format", "rgb24", "-o", tmp_path / "rgb")
    raw = (tmp_path / "rgb").read_bytes()
    assert len(raw) == 2 * 32 * 24 * 3
    assert np.abs(np.frombuffer(raw, np.uint8)[: small.size].reshape(small.shape).astype(int) - small).max() <= 4
    digest = succeed("decode", clip, "--size", "32x24", "--format", "rgb24", "--frames", "7,8", "--md5")
    assert digest == hashlib.md5(raw).hexdigest() + "\n"


def test_scaled_pixels_keep_their_format(clip, tmp_path):
    said = succeed("decode", clip, "--frames", "7", "--size", "33x", "-o", tmp_path / "small.yuv")
    assert said.startswith("33x25 yuv420p, 1 frame by")
    assert (tmp_path / "small.yuv").stat().st_size == 33 * 25 + 2 * 17 * 13
    deep = tmp_path / "deep.yuv"
    succeed("decode", clip, "--frames", "7", "--size", "32x24", "--format", "yuv444p10", "-o", deep)
    succeed("decode", clip, "--frames", "7", "--size", "32x24", "--format", "yuv444p", "-o", tmp_path / "flat.yuv")
    words, flat = np.fromfile(deep, "<u2"), np.fromfile(tmp_path / "flat.yuv", np.uint8)
    assert np.abs(words / 4 - flat).max() <= 2 and (words % 4 != 0).any()


@pytest.mark.parametrize("wrong", ["", "x", "32", "0x24", "-3x", "65536x1", "1x65536", "32x24x1", "a", "32xb"])
def test_invalid_sizes_are_refused(clip, tmp_path, wrong):
    said = refuse("decode", clip, "--size", wrong, "-o", tmp_path / "x%d.png")
    assert "like 320x180" in said and leftovers(tmp_path) == []
    assert "the other one" in refuse("decode", clip, "--size", "x65535", "-o", tmp_path / "x%d.png")


def test_missing_gpu_is_not_reported_by_decode(tmp_path):
    clip = make_clip(tmp_path, frames=3)
    environment = {**os.environ, "LD_LIBRARY_PATH": "", "CUDA_VISIBLE_DEVICES": ""}
    told = succeed("decode", clip, "-o", tmp_path / "f.yuv", "--format", "yuv420p", env=environment)
    assert "3 frames by ffmpeg" in told and "libcuda" not in told and "no GPU" not in told
