"""lanner.Encoder on the fake driver and its fake NVENC, which codes without loss."""

import os
import subprocess
import sys

import pytest

from command import BUILD, DETECTOR

lanner = pytest.importorskip("lanner")

CODE = """
import ctypes
import numpy as np
import lanner
W, H = 160, 64
def picture(seed):
    y, x = np.mgrid[: H * 3 // 2, :W]
    return (seed * 37 + x * 3 + y * 5 + (x * y >> 3)).astype(np.uint8)
def luma_of(packets):
    frames = lanner.VideoReader(b"".join(bytes(one) for one in packets))
    return [np.asarray(frame.contiguous())[: W * H].reshape(H, W) for frame in frames]
def encode(pictures, **options):
    encoder = lanner.Encoder(width=W, height=H, format="nv12", device="cuda:0", **options)
    packets = []
    for one in pictures:
        encoder.send(one)
        packets += list(encoder)
    return packets + encoder.end()
def error_of(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except lanner.Error as error:
        return f"{type(error).__name__}: {error}"
"""


@pytest.fixture(scope="module")
def fakes():
    driver, libraries = BUILD / "lib" / "libfake_cuda.so", BUILD / "tests" / "fake_libraries"
    if not driver.exists() or not (libraries / "libnvidia-encode.so.1").exists():
        pytest.skip("the fake driver and libraries are not built here")
    return {**os.environ, "LANNER_CUDA_DRIVER": str(driver), "LANNER_LIBRARY_PATH": str(libraries), "LD_LIBRARY_PATH": str(driver.parent)}


def run(fakes, code):
    done = subprocess.run([sys.executable, "-c", CODE + code], env=fakes, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_pictures_come_back_wherever_they_lie(fakes):
    shown = run(fakes, """
class Planes:
    def __init__(self, tensor, first, rows):
        self.tensor, (address, _) = tensor, tensor.__cuda_array_interface__["data"]
        self.__cuda_array_interface__ = {"version": 3, "shape": (rows, W), "strides": None, "typestr": "|u1", "data": (address + first * W, False), "stream": 1}
def on_gpu(seed):
    return lanner.Tensor(picture(seed)).to("cuda:0")
def planes(seed):
    tensor = on_gpu(seed)
    return [Planes(tensor, 0, H), Planes(tensor, H, H // 2)]
image = lanner.Image.from_contiguous(on_gpu(5), "nv12", W, H)
given = [picture(0), on_gpu(1), planes(2), planes(3)[0].tensor, Planes(on_gpu(4), 0, H * 3 // 2), image]
found = luma_of(encode(given, b_frames=1, gop=30))
print([bool((one == picture(seed)[:H]).all()) for seed, one in enumerate(found)])
rgb = lanner.Tensor(np.full((H, W, 3), 128, np.uint8)).to("cuda:0")
print(int(luma_of(encode([rgb]))[0][3, 3]))
""")
    assert shown == ["[True, True, True, True, True, True]", "126"]  # 16 + 128 * 219 / 255


def test_files_are_encoded_on_the_gpu(fakes, tmp_path):
    """VideoWriter and transcode; the fake codes without a loss, so what NVENC wrote is what it was given."""
    shown = run(fakes, f"""
import os
os.chdir({str(tmp_path)!r})
W, H = 192, 128
pictures = [np.stack([picture(seed)[:H, :W]] * 3, -1).repeat(2, 0)[:H] for seed in range(6)]
with lanner.VideoWriter("a.mp4", width=W, height=H, fps=25, encoder_device="cuda:0", tuning="low_latency") as out:
    for i, one in enumerate(pictures):
        out.write(lanner.Tensor(one).to("cuda:0") if i % 2 else one)
video = lanner.VideoReader("a.mp4")
print(out.notes, video.times()[:2], video.stream.codec, len(video))
print(max(int(abs(np.asarray(one.to("rgb24")).astype(int) - other).max()) for one, other in zip(video, pictures)))
""" + """
for output, options in (("b.mkv", {"codec": "hevc"}), ("c.webm", {}), ("d.ts", {"bit_rate": 500_000})):
    result = lanner.transcode("a.mp4", output, encoder_device="cuda:0", **options)
    again = lanner.VideoReader(output)
    same = output == "c.webm" or all(bool((one.contiguous().numpy() == other.contiguous().numpy()).all()) for one, other in zip(again, video))
    print(result.notes, again.stream.codec, result.frames, same)  # The fake's pictures of AV1 are not the specification's.
with lanner.VideoWriter("e.mp4", width=W, height=H) as out:
    for one in pictures:
        out.write(lanner.Tensor(one).to("cuda:0"))
print(len(lanner.VideoReader("e.mp4")))
for options in ({"codec": "vp9"}, {"threads": 2}, {"codec_options": {"tune": "film"}}, {"preset": "slow"}, {"encoder_device": "cuda:7"}):
    print(error_of(lanner.transcode, "a.mp4", "no.mp4", **{"encoder_device": "cuda:0", **options}))
print(os.path.exists("no.mp4"))
""")
    assert shown[0] == "[] [0.0, 0.04] h264 6"
    assert int(shown[1]) <= 3  # Of the conversion to 4:2:0 of gray.
    assert shown[2:6] == ["[] hevc 6 True", "[] av1 6 True", "[] h264 6 True", "6"]
    parts = ["no codec 'vp9'; expected h264, hevc or av1", "threads 2: the GPU encodes", "codec_options tune: they are of FFmpeg's", "preset 'slow', expected P1 to P7",
             "cuda:7 does not exist"]  # fmt: skip
    for line, part in zip(shown[6:], [*parts, "False"], strict=True):
        assert part in line


def test_the_command_encodes_on_the_gpu(fakes, tmp_path):
    program = BUILD / "bin" / "lanner"
    if not program.exists():
        pytest.skip("the command is not built here")
    run(fakes, f"""
with lanner.VideoWriter({str(tmp_path / "in.mkv")!r}, width=256, height=192, codec="ffv1", fps=25) as out:
    for i in range(4):
        out.write(np.full((192, 256, 3), 40 * i, np.uint8))
""")
    lines = []
    for arguments in (["transcode", "in.mkv", "out.mp4", "-c", "hevc"], ["run", DETECTOR, "-i", "in.mkv", "-o", "marked.mp4", "-q", "--device", "cpu"]):
        done = subprocess.run([program, *map(str, arguments), "--encoder-device", "cuda:0"], env=fakes, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        lines.append(done.stderr)
    assert "lanner: note" not in lines[0]
    for name, codec in (("out.mp4", "hevc"), ("marked.mp4", "h264")):
        video = lanner.VideoReader(tmp_path / name)
        assert (video.stream.codec, len(video)) == (codec, 4)


def test_what_is_no_picture_is_refused(fakes):
    shown = run(fakes, """
class Wrong:
    def __init__(self, **facts):
        self.__cuda_array_interface__ = {"version": 3, "shape": (H, W), "typestr": "|u1", "data": (256, False), **facts}
encoder = lanner.Encoder(width=W, height=H, format="nv12", device="cuda:0")
for facts in [{}, {"shape": (H, 2 * W), "strides": (W, 1)}, {"shape": (2**62, 2**62)}, {"data": (0, False)}, {"typestr": "|u999"}]:
    print(error_of(encoder.send, Wrong(**facts)))
print(error_of(lanner.Encoder, width=64, height=64, device="cuda:0"))
print(error_of(lanner.Encoder, width=W, height=H, device="cuda:0", threads=2))
print(error_of(lanner.Encoder, width=W, height=H, device="cuda:3"))
print(error_of(lanner.Encoder, width=W, height=H, cuda_stream=1))
""")
    parts = [
        "1 arrays of 10240 bytes in a GPU's memory, expected one of all planes or one for each of 2", "gaps inside its rows", "gaps inside its rows",
        "address 0", "elements '|u999'", "Unsupported: encoder nvenc h264: size 64x64, Fake GPU encodes 145x49 to 4096x4096; take device cpu",
        "Unsupported: encoder nvenc h264: threads 2: the GPU encodes", "cuda:3 does not exist", "a CUDA stream is for encoding on a GPU",
    ]  # fmt: skip
    assert len(shown) == len(parts)
    for line, part in zip(shown, parts, strict=True):
        assert part in line


def test_capabilities(fakes):
    shown = run(fakes, """
found = {one.codec: one for one in lanner.encoder_capabilities("cuda:0")}
print(sorted(found), found["hevc"], found["hevc"].values["num_max_bframes"], found["h264"].supported)
""")
    assert shown == ["['av1', 'h264', 'hevc'] lanner.EncoderCapability(hevc, encoded) 5 True"]


def test_doctor_tells_what_is_encoded(fakes):
    program = BUILD / "bin" / "lanner"
    if not program.exists():
        pytest.skip("the command is not built here")
    done = subprocess.run([program, "doctor"], env=fakes, capture_output=True, text=True, timeout=120, check=False)
    lines = [line for line in done.stdout.splitlines() if "hevc" in line and "B-frames" in line]
    assert len(lines) == 1
    assert "8192 x 8192  at most, 129 x 33  at least, 5 B-frames, 1 engine, 10 bit, 4:4:4, lossless" in lines[0]


def test_without_a_gpu_the_refusal_says_what_would_do():
    code = CODE + 'print(error_of(lanner.Encoder, width=W, height=H, device="cuda:0"), error_of(lanner.encoder_capabilities))'
    environment = {**os.environ, "LANNER_CUDA_DRIVER": "libnosuch-cuda.so"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Unsupported: ") == 2
    assert "cpu" in done.stdout
