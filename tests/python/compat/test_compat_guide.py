"""The decoding examples of PyNvVideoCodec's guide, as scripts under `python -m lanner.compat`.

Where the guide's text is broken an example is repaired; tools/pynvvideocodec_page.py lists each repair.
"""

import hashlib

import pytest

from compat_support import COUNT, HEIGHT, WIDTH, run_script, wanted_frames, write_clip

lanner = pytest.importorskip("lanner")

BEGIN = """
import hashlib
import sys
import numpy as np
import PyNvVideoCodec as nvc
from Utils import cast_address_to_1d_bytearray
digest, count = hashlib.sha256(), 0
enc_file_path = media_file_name = sys.argv[1]
"""
END = """
print(count, digest.hexdigest())
"""
TAKE = """
            digest.update(raw_frame)
            count += 1
"""

DEMUX = """
demuxer = nvc.CreateDemuxer(filename=media_file_name)
for packet in demuxer:
    if packet.bsl:
        digest.update(bytes(cast_address_to_1d_bytearray(packet.bsl_data, packet.bsl)))
        count += 1
"""

DEVICE_BUFFER = """
demuxer = nvc.CreateDemuxer(filename=enc_file_path)
decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), cudacontext=0, cudastream=0, usedevicememory=True)
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        luma_base_addr = decoded_frame.GetPtrToPlane(0)
        new_array = cast_address_to_1d_bytearray(base_address=luma_base_addr, size=decoded_frame.framesize())
        digest.update(new_array)
        count += 1
"""

HOST_BUFFER = """
import pycuda.driver as cuda
demuxer = nvc.CreateDemuxer(filename=enc_file_path)
decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), cudacontext=0, cudastream=0, usedevicememory=False)
cuda.init()
seq_triggered = False
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        if not seq_triggered:
            decoded_frame_size = decoder.GetFrameSize()
            raw_frame = np.ndarray(shape=decoded_frame_size, dtype=np.uint8)
            seq_triggered = True
        luma_base_addr = decoded_frame.GetPtrToPlane(0)
        cuda.memcpy_dtoh(raw_frame, luma_base_addr)
        digest.update(raw_frame)
        count += 1
"""

OWN_CONTEXT = """
import pycuda.driver as cuda
cuda.init()
cuda_device = cuda.Device(0)
cuda_ctx = cuda_device.retain_primary_context()
cuda_ctx.push()
cuda_stream_decoder = cuda.Stream()
seq_triggered = False
demuxer = nvc.CreateDemuxer(filename=enc_file_path)
decoder = nvc.CreateDecoder(
    gpuid=0, codec=nvc.cudaVideoCodec.H264, cudacontext=cuda_ctx.handle, cudastream=cuda_stream_decoder.handle, usedevicememory=True
)
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        if not seq_triggered:
            decoded_frame_size = decoder.GetFrameSize()
            raw_frame = np.ndarray(shape=decoded_frame_size, dtype=np.uint8)
            seq_triggered = True
        luma_base_addr = decoded_frame.GetPtrToPlane(0)
        cuda.memcpy_dtoh(raw_frame, luma_base_addr)
        digest.update(raw_frame)
        count += 1
"""

ASYNC_ALLOCATIONS = """
import pycuda.driver as cuda
cuda.init()
cuda_device = cuda.Device(0)
cuda_ctx = cuda_device.retain_primary_context()
cuda_ctx.push()
cuda_stream_decoder = cuda.Stream()
cuda_stream_app = cuda.Stream()
demuxer = nvc.CreateDemuxer(filename=enc_file_path)
decoder = nvc.CreateDecoder(
    gpuid=0, codec=nvc.cudaVideoCodec.H264, cudacontext=cuda_ctx.handle, cudastream=cuda_stream_decoder.handle, usedevicememory=True,
    enableasyncallocations=True,
)
raw_frame = None
seq_triggered = False
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        if not seq_triggered:
            decoded_frame_size = decoder.GetFrameSize()
            raw_frame = cuda.pagelocked_empty(shape=decoded_frame_size, dtype=np.uint8, order="C", mem_flags=0)
            seq_triggered = True
        luma_base_addr = decoded_frame.GetPtrToPlane(0)
        decoder.WaitOnCUStream(cuda_stream_app.handle)
        cuda.memcpy_dtoh_async(raw_frame, luma_base_addr, cuda_stream_app)
        cuda_stream_app.synchronize()
        digest.update(raw_frame)
        count += 1
"""

DLPACK = """
demuxer = nvc.CreateDemuxer(filename=enc_file_path)
decoder = nvc.CreateDecoder(gpuid=0, codec=demuxer.GetNvCodecId(), cudacontext=0, cudastream=0, usedevicememory=True)
for packet in demuxer:
    for decoded_frame in decoder.Decode(packet):
        src_tensor = np.from_dlpack(decoded_frame)
        digest.update(np.ascontiguousarray(src_tensor))
        count += 1
"""

FRAMES = {"device buffer": DEVICE_BUFFER, "host buffer": HOST_BUFFER, "own context": OWN_CONTEXT, "async allocations": ASYNC_ALLOCATIONS, "dlpack": DLPACK}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("guide")


@pytest.fixture(scope="module")
def clip(folder):
    return write_clip(folder / "clip.mp4")


@pytest.fixture(scope="module")
def digest(clip):
    found = hashlib.sha256()
    for frame in wanted_frames(clip):
        found.update(frame.tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("name", FRAMES)
def test_guide_decode(folder, clip, digest, name):
    assert run_script(folder, BEGIN + FRAMES[name] + END, clip).split() == [str(COUNT), digest]


def test_guide_demux(folder, clip):
    count, _ = run_script(folder, BEGIN + DEMUX + END, clip).split()
    assert int(count) == COUNT


def test_guide_torch(folder, clip, digest):
    """The guide's loop over torch.from_dlpack; on the CPU here, so no device of CUDA's is named."""
    pytest.importorskip("torch", reason="torch is not installed")
    code = DLPACK.replace("np.from_dlpack(decoded_frame)", "torch.from_dlpack(decoded_frame)").replace("ascontiguousarray(src_tensor)", "ascontiguousarray(src_tensor.numpy())")
    assert run_script(folder, "import torch\n" + BEGIN + code + END, clip).split() == [str(COUNT), digest]


def test_guide_printed_signature_of_create_decoder(folder, clip):
    """The call that the guide shows with every default, and the defaults of the signature that it prints below."""
    shown = run_script(
        folder,
        BEGIN + """
decoder = nvc.CreateDecoder(gpuid=0,codec=nvc.cudaVideoCodec.H264,cudacontext=0,cudastream=0,usedevicememory=True, enableasyncallocations=False)
print(type(decoder).__name__, nvc._PyNvVideoCodec.cudaVideoCodec.H264)
import inspect
print({name: one.default for name, one in inspect.signature(nvc.CreateDecoder).parameters.items()})
""",
        clip,
    )  # fmt: skip
    first, second = shown.splitlines()
    assert first == "PyNvDecoder cudaVideoCodec.H264"
    assert second.startswith("{'gpuid': 0, 'codec': <cudaVideoCodec.H264: 4>, 'cudacontext': 0, 'cudastream': 0, 'usedevicememory': False")


def test_guide_frame_protocols(folder, clip):
    """repr, cuda(), nvcv_image(), shape(), strides(), dtype() and __dlpack_device__() of an NV12 frame."""
    shown = run_script(
        folder,
        BEGIN + """
import warnings
warnings.simplefilter("ignore")
demuxer = nvc.CreateDemuxer(filename=enc_file_path)
decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId(), usedevicememory=True)
for packet in demuxer:
    for decodedFrame in decoder.Decode(packet):
        print(decodedFrame)
        print(decodedFrame.cuda(), [view.__cuda_array_interface__["shape"] for view in decodedFrame.cuda()])
        print(decodedFrame.nvcv_image())
        print(decodedFrame.shape(), decodedFrame.shape, decodedFrame.strides(), decodedFrame.strides, decodedFrame.dtype(), decodedFrame.dtype)
        print(decodedFrame.__dlpack_device__())
        sys.exit()
""",
        clip,
    ).splitlines()  # fmt: skip
    views = f"[<CAIMemoryView [{HEIGHT}, {WIDTH}, 1]>, <CAIMemoryView [{HEIGHT // 2}, {WIDTH // 2}, 2]>]"
    rows = (HEIGHT * 3 // 2, WIDTH)
    assert shown == [
        f"<DecodedFrame [timestamp=0, format=Pixel_Format.NV12, {views}]>", f"{views} [({HEIGHT}, {WIDTH}, 1), ({HEIGHT // 2}, {WIDTH // 2}, 2)]",
        f"[<CAIMemoryView [{HEIGHT * 3 // 2}, {WIDTH}, 1]>]", f"{rows} {rows} ({WIDTH}, 1) ({WIDTH}, 1) |u1 |u1", "(1, 0)",
    ]  # fmt: skip


def test_guide_app_frame(folder, clip):
    """The class that the guide shows for planes in device memory."""
    shown = run_script(
        folder,
        BEGIN + """
import pycuda.driver as cuda
from Utils import AppFrame
frame = AppFrame(64, 48, "NV12")
host = np.arange(frame.frameSize, dtype=np.uint32).astype(np.uint8)
cuda.memcpy_htod(frame.gpuAlloc, host)
back = np.empty_like(host)
cuda.memcpy_dtoh(back, frame.gpuAlloc)
luma, chroma = (plane.__cuda_array_interface__ for plane in frame.cuda())
print((back == host).all(), luma["shape"], chroma["shape"], chroma["strides"], chroma["data"][0] - luma["data"][0])
""",
        clip,
    )  # fmt: skip
    assert shown.split("\n")[0] == f"True (48, 64, 1) (24, 32, 2) (64, 2, 1) {48 * 64}"
