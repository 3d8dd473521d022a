"""The drop-in through NVDEC: on the fake driver and its fake libnvcuvid, whose pictures are computed from the packet, and on a GPU where there
is one."""

import hashlib

import numpy as np
import pytest

from command import BUILD
from compat_support import COUNT, run_script, wanted_frames, write_clip

lanner = pytest.importorskip("lanner")

CODE = """
import ctypes, sys
import numpy as np
import PyNvVideoCodec as nvc
W, H = 64, 48
kept = []
def packet(number, chroma=1, depth=8):
    data = bytes([ord("F"), int(number == 0), number, 0, number + 1, 0, chroma, depth, 0, W, 0, H, 2, 0, 0, 0])
    kept.append(ctypes.create_string_buffer(data, len(data)))
    made = nvc.PacketData()
    made.bsl, made.bsl_data, made.pts, made.key = len(data), ctypes.addressof(kept[-1]), 100 + number, int(number == 0)
    return made

def sample(seed, plane, depth=8):
    y, x = np.mgrid[: (H if plane == 0 else H // 2), :W]
    return (seed * 37 + plane * 11 + x * 3 + y * 5 + (x * y >> 3)) % (1 << depth)

def picture(seed):
    return np.concatenate([sample(seed, 0), sample(seed, 1)]).astype(np.uint8)

def decode(decoder, count=5):
    return [frame for one in [*map(packet, range(count)), nvc.PacketData()] for frame in decoder.Decode(one)]
"""


@pytest.fixture(scope="module")
def fakes(tmp_path_factory):
    driver, libraries = BUILD / "lib" / "libfake_cuda.so", BUILD / "tests" / "fake_libraries"
    if not driver.exists() or not libraries.exists():
        pytest.skip("the fake driver and libraries are not built here")
    found = {"LANNER_CUDA_DRIVER": str(driver), "LANNER_LIBRARY_PATH": str(libraries), "LD_LIBRARY_PATH": str(driver.parent)}
    return tmp_path_factory.mktemp("gpu"), found


def run(fakes, code, *arguments):
    folder, found = fakes
    return run_script(folder, CODE + code, *arguments, **found)


def test_device_frames_are_on_the_gpu(fakes):
    shown = run(fakes, """
import pycuda.driver as cuda
cuda.init()
context = cuda.Device(0).retain_primary_context()
context.push()
stream = cuda.Stream()
decoder = nvc.CreateDecoder(gpuid=0, codec=nvc.cudaVideoCodec.VP9, cudacontext=context.handle, cudastream=stream.handle, usedevicememory=True)
frames = decode(decoder)
print(decoder._decoder.device, len(frames), [frame.timestamp for frame in frames], frames[0].shape, frames[0].format, frames[0].__dlpack_device__())
for number, frame in enumerate(frames):
    host = np.empty(frame.framesize(), np.uint8)
    cuda.memcpy_dtoh(host, frame.GetPtrToPlane(0))
    assert (host == picture(number + 1).ravel()).all(), number
    luma, chroma = frame.cuda()
    assert luma.__cuda_array_interface__["data"][0] == frame.GetPtrToPlane(0) and not hasattr(luma, "__array_interface__")
    assert chroma.__cuda_array_interface__["shape"] == (H // 2, W // 2, 2)
decoder.WaitOnCUStream(stream.handle)
print("same")
""")  # fmt: skip
    assert shown.splitlines() == ["cuda:0 5 [100, 101, 102, 103, 104] (72, 64) Pixel_Format.NV12 (2, 0)", "same"]


def test_pictures_on_the_gpu_are_encoded(fakes):
    """By DecodedFrame, by planes of pycuda's memory and by DLPack; what lies on the host raises where the GPU was declared, and the other way round."""
    shown = run(fakes, """
import pycuda.driver as cuda
from Utils import AppCAI
import lanner
cuda.init()
context = cuda.Device(0).retain_primary_context()
context.push()
class Planes:
    def __init__(self):
        self.memory = cuda.mem_alloc(W * H * 3 // 2)
        self.planes = [AppCAI((H, W, 1), (W, 1, 1), "|u1", self.memory), AppCAI((H // 2, W // 2, 2), (W, 2, 1), "|u1", int(self.memory) + W * H)]
    def cuda(self):
        return self.planes
def encoder(on_host):
    return nvc.CreateEncoder(W, H, "NV12", on_host, constqp=20, tuning_info="ultra_low_latency")
def refused(on_host, frame):
    try:
        encoder(on_host).Encode(frame)
    except nvc.PyNvVCException as error:
        return "memory, but usecpuinputbuffer" in str(error)
decoder = nvc.CreateDecoder(gpuid=0, codec=nvc.cudaVideoCodec.VP9, usedevicememory=True)
frame = decode(decoder)[0]
wanted = bytes(encoder(True).Encode(picture(1)))
app = Planes()
cuda.memcpy_htod(app.memory, picture(1).reshape(-1))
tensor = lanner.Tensor(picture(1)).to("cuda:0")
print([bytes(encoder(False).Encode(one)) == wanted for one in (frame, app, tensor)])
print([refused(True, one) for one in (frame, app, tensor)], refused(False, picture(1)))
""").splitlines()  # fmt: skip
    assert shown == ["[True, True, True]", "[True, True, True] True"]


def test_tensors_over_arrays_of_cuda(fakes):
    """Of objects with __cuda_array_interface__ alone, as Numba's are; the memory is shared."""
    shown = run(fakes, """
import pycuda.driver as cuda
import lanner
cuda.init()
context = cuda.Device(0).retain_primary_context()
context.push()
stream = cuda.Stream()
class Array:
    def __init__(self, numbers, **facts):
        self.memory = cuda.to_device(numbers)
        self.__cuda_array_interface__ = {"version": 3, "shape": numbers.shape, "typestr": numbers.dtype.str, "data": (int(self.memory), False), "strides": None, "stream": 1} | facts
numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
for facts in ({}, {"stream": stream.handle}, {"strides": (12, 4)}, {"stream": None, "data": None}):
    array = Array(numbers)
    array.__cuda_array_interface__ |= {name: value for name, value in facts.items() if value is not None or name == "stream"}
    tensor = lanner.Tensor(array)
    assert tensor.device == "cuda:0" and tensor.__cuda_array_interface__["data"][0] == int(array.memory)
    address = array.memory
    del array
    assert (tensor.to("cpu").numpy() == numbers).all()
encoder = lanner.Encoder(width=W, height=H, format="NV12", tuning="ultra_low_latency")
encoder.send(Array(picture(1)))
print(len(list(encoder)))
for wrong in ({"data": (4096, False)}, {"stream": 0}):
    try:
        lanner.Tensor(Array(numbers, **wrong))
    except lanner.InvalidArgument as error:
        print(error)
""").splitlines()  # fmt: skip
    assert shown[0] == "1" and "address 0x1000" in shown[1] and "stream 0" in shown[2]


NVENC = """
W, H = 160, 64
import pycuda.driver as cuda
from Utils import AppCAI
import lanner
cuda.init()
context = cuda.Device(0).retain_primary_context()
context.push()
class Planes:
    def __init__(self, seed, pitch=160):
        self.memory = cuda.mem_alloc(pitch * H * 3 // 2)
        rows = np.zeros((H * 3 // 2, pitch), np.uint8)
        rows[:, :W] = picture(seed)
        cuda.memcpy_htod(self.memory, rows.reshape(-1))
        self.planes = [AppCAI((H, W, 1), (pitch, 1, 1), "|u1", self.memory), AppCAI((H // 2, W // 2, 2), (pitch, 2, 1), "|u1", int(self.memory) + pitch * H)]
    def cuda(self):
        return self.planes
def luma_of(stream):
    return [np.asarray(frame.contiguous())[: W * H].reshape(H, W) for frame in lanner.VideoReader(stream)]
def same(stream, *seeds):
    found = luma_of(stream)
    return len(found) == len(seeds) and all((one == picture(seed)[:H]).all() for one, seed in zip(found, seeds))
"""


def test_pictures_are_encoded_by_nvenc_where_they_lie(fakes):
    """The fake NVENC codes without loss, so that a decoder gives what was given."""
    shown = run(fakes, NVENC + """
def encoder(on_host, **others):
    return nvc.CreateEncoder(W, H, "NV12", on_host, tuning_info="ultra_low_latency", constqp=20, **others)
decoder = nvc.CreateDecoder(gpuid=0, codec=nvc.cudaVideoCodec.VP9, usedevicememory=True)
frame = decode(decoder)[0]
owner = Planes(1)  # AppCAI knows the address alone.
whole = AppCAI((H * 3 // 2, W), (W, 1), "|u1", owner.memory)
stream = cuda.Stream()
pictures = {"host": picture(1), "frame": frame, "planes": Planes(1), "pitched": Planes(1, 192), "whole": whole, "tensor": lanner.Tensor(picture(1)).to("cuda:0")}
for name, one in pictures.items():
    made = encoder(name == "host", cudastream=stream.handle if name == "planes" else 0)
    print(name, made._options["device"], same(bytes(made.Encode(one)) + bytes(made.EndEncode()), 1))
colours = encoder(False, colorspace="bt709")
print("colours", same(bytes(colours.Encode(Planes(2))), 2))
""").splitlines()  # fmt: skip
    names = ["host", "frame", "planes", "pitched", "whole", "tensor"]
    assert shown == [f"{name} cuda:0 True" for name in names] + ["colours True"]


def test_an_encoder_by_nvenc(fakes):
    """Order, headers, SEI, the eight fields, and what NVENC has alone."""
    shown = run(fakes, NVENC + """
encoder = nvc.CreateEncoder(W, H, "NV12", True, preset="P3", bf=2, gop=30, multipass="fullres", initqp=30, numrefl1=2, bitrate=1000000, rc="vbr", maxbitrate=2000000)
packets = [one for seed in range(7) for one in encoder.Encode(picture(seed))]
now = encoder.GetEncodeReconfigureParams()
now.averageBitrate, now.multiPass = 500000, nvc.NV_ENC_MULTI_PASS.DISABLED
print(encoder.Reconfigure(now), encoder.GetEncodeReconfigureParams().averageBitrate, encoder._encoder.restarts)
packets += list(encoder.EndEncode())
print([one["timestamp"] for one in packets], encoder.GetSequenceParams()[:5].hex())
print(same(b"".join(bytes(one["data"]) for one in packets), *range(7)))
caps = nvc.GetEncoderCaps(gpuid=0, codec="hevc")
print(caps["width_max"], caps["num_max_bframes"], caps["support_10bit_encode"], caps["support_yuv422_encode"])
""").splitlines()  # fmt: skip
    assert shown[0] == "True 500000 []"
    assert shown[1].startswith("[0, 2, 1, 4, 3, 6, 5] 00000001")
    assert shown[2:] == ["True", "8192 5 1 0"]


def test_a_transcoder_encodes_by_nvenc(fakes):
    """The fake NVENC codes without loss; a codec that it lacks is encoded by software, which is told."""
    folder, found = fakes
    with lanner.VideoWriter(folder / "whole.mkv", width=192, height=128, codec="ffv1", fps=25, format="yuv420p") as out:
        for i in range(5):
            out.write(np.full((128, 192, 3), 40 * i, np.uint8))
    script = CODE + """
import lanner
W, H = 192, 128
def transcode(output, **options):
    nvc.Transcoder("whole.mkv", output, 0, 0, 0, **options).transcode_with_mux()
    before, after = lanner.VideoReader("whole.mkv"), lanner.VideoReader(output)
    print(after.stream.codec, len(after), all((one.contiguous().numpy() == other.contiguous().numpy()).all() for one, other in zip(before, after)))
transcode("by_gpu.mp4", codec="hevc", preset="P3", bitrate=100000)
transcode("by_gpu_2.mp4", codec="h264", slice_mode=1, slice_data=500)
"""
    shown = run_script(folder, script, **found, LOGGER_LEVEL="WARN").splitlines()
    assert [line for line in shown if line.startswith(("hevc", "h264"))] == ["hevc 5 True", "h264 5 True"]


def test_what_nvenc_does_not_encode_is_encoded_by_software(fakes):
    folder, found = fakes
    script = CODE + """
made = nvc.CreateEncoder(W, H, "NV12", True, constqp=20)
print("device" in made._options, len(bytes(made.Encode(picture(1))) + bytes(made.EndEncode())) > 0)
"""
    shown = run_script(folder, script, **found, LOGGER_LEVEL="WARN")
    assert shown.splitlines()[-1] == "False True"


def test_host_frames_of_a_gpu(fakes):
    shown = run(fakes, """
decoder = nvc.CreateDecoder(gpuid=0, codec=nvc.cudaVideoCodec.VP9, usedevicememory=False)
frames = decode(decoder)
for number, frame in enumerate(frames):
    assert (np.from_dlpack(frame) == picture(number + 1)).all(), number
print(decoder._decoder.device, len(frames), frames[0].__dlpack_device__(), hasattr(frames[0].cuda()[0], "__cuda_array_interface__"))
""")  # fmt: skip
    assert shown == "cuda:0 5 (1, 0) False\n"


def test_capabilities_of_the_gpu(fakes):
    shown = run(fakes, """
print(nvc.GetDecoderCaps(0, nvc.cudaVideoCodec.VP9, nvc.cudaVideoChromaFormat(1), 8)["supported"])
try:
    nvc.GetDecoderCaps(gpuid=7)
except nvc.PyNvVCExceptionUnsupported as error:
    print(error)
""")  # fmt: skip
    first, second = shown.splitlines()
    assert first == "1" and second.startswith("gpuid 7: there is no such GPU: ")


def test_what_the_gpu_does_not_decode_comes_from_the_cpu(fakes):
    folder, _ = fakes
    clip = write_clip(folder / "clip.mkv", count=4, codec="ffv1")
    shown = run(fakes, """
import logging
logging.getLogger("PyNvVideoCodec").addHandler(logging.StreamHandler(sys.stdout))
decoder = nvc.SimpleDecoder(sys.argv[1], use_device_memory=True)
frames = decoder[:]
print(len(frames), frames[0].__dlpack_device__(), decoder._source.reader.decoder)
host = nvc.SimpleDecoder(sys.argv[1], use_device_memory=False)
print(host[0].__dlpack_device__())
""", clip)  # fmt: skip
    lines = shown.splitlines()
    assert lines[0].startswith("decoding on the CPU: ") and "ffv1" in lines[0]
    assert lines[1].startswith("4 (2, 0) ffmpeg ffv1") and lines[-1] == "(1, 0)"


REAL = """
import hashlib
import pycuda.driver as cuda
cuda.init()
context = cuda.Device(0).retain_primary_context()
context.push()
stream = cuda.Stream()
demuxer = nvc.CreateDemuxer(sys.argv[1])
decoder = nvc.CreateDecoder(0, demuxer.GetNvCodecId(), context.handle, stream.handle, usedevicememory=True)
digest, count = hashlib.sha256(), 0
for packet in demuxer:
    for frame in decoder.Decode(packet):
        raw = np.ndarray(frame.framesize(), np.uint8)
        cuda.memcpy_dtoh(raw, frame.GetPtrToPlane(0))
        digest.update(raw)
        count += 1
simple = nvc.SimpleDecoder(sys.argv[1], use_device_memory=False)
same = all((np.from_dlpack(one) == np.from_dlpack(two)).all() for one, two in zip(simple[::7], list(simple)[::7]))
print(decoder._decoder.device, count, digest.hexdigest(), same, simple._source.reader.decoder)
"""


def test_a_real_gpu_gives_the_frames_of_the_cpu(tmp_path):
    clip = write_clip(tmp_path / "clip.mp4", width=192, height=160)
    try:
        lanner.VideoReader(clip, device="cuda:0")
    except lanner.Error as error:
        pytest.skip(f"no GPU that decodes: {error}")
    found = hashlib.sha256()
    for frame in wanted_frames(clip):
        found.update(frame.tobytes())
    shown = run_script(tmp_path, CODE + REAL, clip, LANNER_CUDA_DRIVER="")
    assert shown == f"cuda:0 {COUNT} {found.hexdigest()} True nvdec h264 on cuda:0\n"
