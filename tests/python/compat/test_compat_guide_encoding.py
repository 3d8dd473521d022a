"""The encoding examples of PyNvVideoCodec's guide, as scripts under `python -m lanner.compat`.

Where the guide's text is broken an example is repaired; tools/pynvvideocodec_page.py lists each repair. What a script writes is decoded again.
"""

import numpy as np
import pytest

from compat_support import run_script

lanner = pytest.importorskip("lanner")
WIDTH, HEIGHT, COUNT = 1920, 1080, 3

MINIMAL = """
import PyNvVideoCodec as nvc
encoder = nvc.CreateEncoder(1920,1080, "NV12", False)
print(type(encoder).__name__)
"""

BYTES = """
import sys
import PyNvVideoCodec as nvc
import numpy as np
dec_file = open("in.yuv", "rb")
encoder = nvc.CreateEncoder(1920, 1080, "NV12", True)
frame_size = int(1920 * 1080 * 1.5)
chunk = np.fromfile(dec_file, np.uint8, count=frame_size)
if chunk.size != 0:
    bitstream = encoder.Encode(chunk)  # encode frame one by one
"""

APP_FRAME = """
import PyNvVideoCodec as nvc
import numpy as np
import pycuda.driver as cuda
import pycuda.autoinit
from Utils import AppCAI
class AppFrame:
    def __init__(self, width, height, format):
        if format == "NV12":
            nv12_frame_size = int(width * height * 3 / 2)
            self.gpuAlloc = cuda.mem_alloc(nv12_frame_size)
            self.cai = []
            self.cai.append(AppCAI((height, width, 1), (width, 1, 1), "|u1", self.gpuAlloc))
            chroma_alloc = int(self.gpuAlloc) + width * height
            self.cai.append(AppCAI((int(height / 2), int(width / 2), 2), (width, 2, 1), "|u1", chroma_alloc))
            self.frameSize = nv12_frame_size
    def cuda(self):
        return self.cai
encoder = nvc.CreateEncoder(1920, 1080, "NV12", False)
input_frame = AppFrame(1920, 1080, "NV12")
cuda.memcpy_htod(input_frame.gpuAlloc, np.fromfile("in.yuv", np.uint8, count=input_frame.frameSize))
bitstream = encoder.Encode(input_frame)
"""

TENSOR = """
import PyNvVideoCodec as nvc
import numpy as np
import pycuda.driver as cuda
import pycuda.autoinit
from Utils import AppCAI
encoder = nvc.CreateEncoder(1920,1080, "NV12", False)
memory = cuda.mem_alloc(1620 * 1920)
cuda.memcpy_htod(memory, np.fromfile("in.yuv", np.uint8, count=1620 * 1920))
bitstream = bytearray()
for shape, strides in [([1620, 1920], (1920, 1)), ([1, 1, 1620, 1920], (1620 * 1920, 1620 * 1920, 1920, 1))]:
    input_tensor = AppCAI(shape, strides, "|u1", memory)
    bitstream += bytearray(encoder.Encode(input_tensor))
"""

TORCH = """
import PyNvVideoCodec as nvc
import numpy as np
import torch
encoder = nvc.CreateEncoder(1920,1080, "NV12", False)
cuda0 = torch.device('cuda:0')
input_tensor = torch.ones([1620, 1920], dtype=torch.uint8, device=cuda0)
bitstream = encoder.Encode(input_tensor)
"""

END = """
import PyNvVideoCodec as nvc
import numpy as np
dec_file, enc_file = open("in.yuv", "rb"), open("out.h264", "wb")
width, height, fmt, use_cpu_memory, config_params = 1920, 1080, "NV12", True, {"preset": "P1", "tuning_info": "low_latency"}
frame_size = int(1920 * 1080 * 1.5)
encoder = nvc.CreateEncoder(width, height, fmt, use_cpu_memory, **config_params)  # create encoder object
for i in range(100):
    chunk = np.fromfile(dec_file, np.uint8, count=frame_size)
    if chunk.size != 0:
        bitstream = encoder.Encode(chunk)  # encode frame one by one
        enc_file.write(bytearray(bitstream))
bitstream = encoder.EndEncode()  # flush encoder queue
enc_file.write(bytearray(bitstream))
"""

RECONFIGURE = """
import PyNvVideoCodec as nvc
import numpy as np
encoder = nvc.CreateEncoder(1920,1080, "NV12", True)
t = encoder.GetEncodeReconfigureParams()
t.averageBitrate = int(t.averageBitrate / 2)
t.vbvBufferSize = int(t.averageBitrate * t.frameRateDen / t.frameRateNum)
t.vbvInitialDelay = t.vbvBufferSize
encoder.Reconfigure(t)
print(encoder.GetEncodeReconfigureParams())
"""

# Behind an example that shows one call: what it left in the encoder.
WRITE = """
with open("out.h264", "wb") as file:
    file.write(bitstream)
    file.write(bytearray(encoder.EndEncode()))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("guide_encoding")
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    with open(made / "in.yuv", "wb") as file:
        for number in range(COUNT):
            file.write(((x + 2 * y + 16 * number) // 8 % 200 + 20).astype(np.uint8).tobytes())
            file.write(np.full(WIDTH * HEIGHT // 2, 128, np.uint8).tobytes())
    return made


def decoded(folder):
    frames = [frame.contiguous("nv12").numpy() for frame in lanner.VideoReader(folder / "out.h264", rotate=False)]
    (folder / "out.h264").unlink()
    return frames


def assert_close(folder, frames, wanted):
    assert len(frames) == len(wanted)
    raw = np.fromfile(folder / "in.yuv", np.uint8).reshape(COUNT, -1)
    for frame, number in zip(frames, wanted, strict=True):
        assert np.abs(frame.reshape(-1).astype(int) - raw[number]).mean() < 3


def test_guide_create_encoder(folder):
    assert run_script(folder, MINIMAL).strip() == "PyNvEncoder"


@pytest.mark.parametrize(("code", "wanted"), [(BYTES, [0]), (APP_FRAME, [0]), (TENSOR, [0, 0])], ids=["bytes", "AppFrame", "tensor"])
def test_guide_encode(folder, code, wanted):
    run_script(folder, code + WRITE)
    assert_close(folder, decoded(folder), wanted)


def test_guide_encode_torch_on_cuda(folder):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    run_script(folder, TORCH + WRITE, LANNER_CUDA_DRIVER="libcuda.so.1")
    (frame,) = decoded(folder)
    assert np.abs(frame.astype(int) - 1).mean() < 1


def test_guide_end_encode(folder):
    run_script(folder, END)
    assert_close(folder, decoded(folder), [0, 1, 2])


def test_guide_reconfigure(folder):
    shown = run_script(folder, RECONFIGURE)
    assert "averageBitrate=5000000, vbvBufferSize=166666" in shown and "vbvInitialDelay=166666" in shown
