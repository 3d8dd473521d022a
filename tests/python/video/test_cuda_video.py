"""Video on a GPU from Python: frames by NVDEC, shared with frameworks, equal to the CPU's."""

import numpy as np
import pytest

from command import DATA, make_clip

lanner = pytest.importorskip("lanner")

GPU = "cuda:0"
COUNT = 40


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = make_clip(tmp_path_factory.mktemp("clip"), frames=COUNT, width=192, height=160)
    try:
        lanner.VideoReader(path, device=GPU)
    except lanner.Error as error:
        pytest.skip(f"no GPU that decodes: {error}")
    return path


def planes_of(frame):
    """As 4:2:0 planes, whatever the storage."""
    frame = frame.cpu()
    return [np.asarray(plane) for plane in (frame if frame.format == "yuv420p" else frame.to("yuv420p")).planes]


def assert_same(frame, other):
    for one, two in zip(planes_of(frame), planes_of(other), strict=True):
        np.testing.assert_array_equal(one, two)


def test_frames_are_the_cpus(clip):
    gpu, cpu = lanner.VideoReader(clip, device=GPU), lanner.VideoReader(clip)
    assert len(gpu) == COUNT and gpu.decoder == "nvdec h264 on cuda:0"
    for frame, other in zip(gpu, cpu, strict=True):
        assert (frame.device, frame.format, frame.pts, frame.index) == (GPU, "nv12", other.pts, other.index)
        assert_same(frame, other)
    wanted = np.random.default_rng(3).integers(0, COUNT, 30).tolist()
    for frame, other in zip(gpu[wanted], cpu[wanted], strict=True):
        assert_same(frame, other)


def test_many_decoders_and_held_frames(clip):
    cpu = list(lanner.VideoReader(clip))
    held = [frame for _ in range(5) for frame in lanner.ParallelDecoder(clip, device=GPU, decoders=3)]
    assert len(held) == 5 * COUNT
    for i, frame in enumerate(held):
        assert_same(frame, cpu[i % COUNT])


def test_output_and_auto(clip):
    frame = lanner.VideoReader(clip, device=GPU, output="cpu")[7]
    assert frame.device == "cpu"
    assert_same(frame, lanner.VideoReader(clip)[7])
    up = lanner.VideoReader(clip, device="cpu", output=GPU)[7]
    assert up.device == GPU
    assert_same(up, frame)
    reader = lanner.VideoReader(clip, device="auto")
    assert reader.decoder_reason.startswith("auto: cuda:0 decodes h264")


def test_formats_tensors_and_batches(clip):
    spec = {"size": (64, 96), "preset": "imagenet"}
    gpu, cpu = lanner.VideoReader(clip, device=GPU), lanner.VideoReader(clip)
    batch = gpu.batch([3, 30, 3], **spec)
    assert batch.device == GPU
    np.testing.assert_allclose(batch.to("cpu"), cpu.batch([3, 30, 3], **spec), atol=0.02)
    np.testing.assert_allclose(gpu[5].to_tensor(**spec).to("cpu"), cpu[5].to_tensor(**spec), atol=0.02)
    rgb = lanner.VideoReader(clip, device=GPU, format="rgb24")[9]
    assert (rgb.device, rgb.format) == (GPU, "rgb24")
    difference = np.asarray(rgb.cpu()).astype(int) - np.asarray(cpu[9].to_rgb())
    assert np.abs(difference).max() <= 1


def test_frameworks_share_the_memory(clip):
    torch = pytest.importorskip("torch")
    reader = lanner.VideoReader(clip, device=GPU)
    frame, cpu = reader[11], lanner.VideoReader(clip)[11]
    luma = torch.from_dlpack(frame.planes[0])
    assert luma.is_cuda and luma.data_ptr() == frame.planes[0].ptr
    np.testing.assert_array_equal(luma.cpu().numpy(), cpu.planes[0])
    assert frame.planes[0].__cuda_array_interface__["data"][0] == luma.data_ptr()
    with pytest.raises(AttributeError, match="GPU"):
        _ = frame.planes[0].__array_interface__
    held = luma.clone()
    del frame, reader
    assert torch.equal(held, luma)


def test_a_callers_stream_orders_frames(clip):
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    reader = lanner.VideoReader(clip, device=GPU, cuda_stream=stream.cuda_stream)
    cpu = lanner.VideoReader(clip)
    with torch.cuda.stream(stream):
        lumas = [torch.from_dlpack(frame.planes[0]).clone() for frame in reader]
    stream.synchronize()
    for luma, frame in zip(lumas, cpu, strict=True):
        np.testing.assert_array_equal(luma.cpu().numpy(), frame.planes[0])
    assert lanner.VideoReader(clip, device=GPU)[0].__cuda_array_interface__["stream"] is None


def test_what_the_gpu_does_not_decode_goes_to_the_cpu(clip):
    ten_bits = DATA / "video" / "torchcodec" / "h264_10bits.mp4"
    if not ten_bits.exists():
        pytest.skip("no real clips at ../shared/data")
    try:
        reader = lanner.VideoReader(ten_bits, device=GPU)
    except lanner.Unsupported:
        reader = lanner.VideoReader(ten_bits, device="auto")
        assert reader.decoder.startswith("ffmpeg h264") and "does not decode h264" in reader.decoder_reason
    assert len(list(reader)) == 30
