"""A video and a trained model in, answers and video out.

>>> engine = lanner.build("model.onnx", threads=2)
>>> for frame in lanner.VideoReader("clip.mp4"):
...     out = engine({"input": frame.to_tensor(size=(224, 224), preset="imagenet")})
"""

import importlib.machinery as _machinery
import os as _os
import sys as _sys

try:
    from lanner._lanner import _refuse_wrong_calls  # type: ignore[attr-defined]

    _refuse_wrong_calls()  # Makes other functions of those that the module begins with, so it comes before their names.
    from lanner._lanner import (
        AudioReader,
        AudioSamples,
        Binding,
        CalibrationTable,
        Context,
        Decoder,
        DecoderCapability,
        Demuxer,
        Encoder,
        EncoderCapability,
        Engine,
        Environment,
        Frame,
        FrameQuality,
        Image,
        Muxer,
        NodeDifference,
        Packet,
        ParallelDecoder,
        Plane,
        Preprocess,
        StreamIndex,
        StreamInfo,
        Tensor,
        TensorRange,
        TranscodeResult,
        Verification,
        VideoReader,
        VideoWriter,
        __version__,
        add_library_folders,
        decoder_capabilities,
        encoder_capabilities,
        default_threads,
        load,
        load_image,
        load_tensors,
        save_image,
        set_threads,
        transcode,
    )
except ImportError as _error:
    if "nanobind_backend" not in str(_error):
        raise
    raise ImportError(
        "lanner: this Python lacks what its module needs; run: "
        f"{_sys.executable} -m pip install 'nanobind-backend>=1.0,<2' 'numpy>=1.26' 'ml-dtypes>=0.4'",
        name="nanobind_backend",
    ) from None
from lanner._models import build
from lanner import tasks, tf
from lanner.errors import (
    BadData,
    Cancelled,
    DeviceError,
    Error,
    InputOutput,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    OutOfMemory,
    Unsupported,
)

__all__ = [
    "AudioReader",
    "AudioSamples",
    "BadData",
    "Binding",
    "CalibrationTable",
    "Cancelled",
    "Context",
    "Decoder",
    "DecoderCapability",
    "Demuxer",
    "DeviceError",
    "Encoder",
    "EncoderCapability",
    "Engine",
    "Environment",
    "Error",
    "Frame",
    "FrameQuality",
    "Image",
    "InputOutput",
    "InvalidArgument",
    "LimitExceeded",
    "Muxer",
    "NodeDifference",
    "NotFound",
    "OutOfMemory",
    "Packet",
    "ParallelDecoder",
    "Plane",
    "Preprocess",
    "StreamIndex",
    "StreamInfo",
    "Tensor",
    "TensorRange",
    "TranscodeResult",
    "Unsupported",
    "Verification",
    "VideoReader",
    "VideoWriter",
    "__version__",
    "add_library_folders",
    "build",
    "decoder_capabilities",
    "encoder_capabilities",
    "default_threads",
    "load",
    "load_image",
    "load_tensors",
    "save_image",
    "set_threads",
    "tasks",
    "tf",
    "transcode",
]


def _reopen(cls: type, source: object, options: dict[str, object]) -> object:
    """What a pickled reader becomes in another process."""
    return cls(source, **options)


def _preprocess_of(text: str) -> Preprocess:
    """What a pickled Preprocess becomes."""
    return Preprocess.from_json(text)


def _nvidia_folders() -> list[str]:
    """Where PyPI's nvidia packages keep their libraries."""
    # Not importlib.util and pathlib: they would take longer to import than all of Lanner.
    spec = _machinery.PathFinder.find_spec("nvidia")
    folders = []
    for root in (spec.submodule_search_locations if spec else None) or []:
        try:
            folders += [_os.path.join(root, name, "lib") for name in _os.listdir(root)]
        except OSError:
            continue  # An import does not fail for want of a library.
    return sorted(filter(_os.path.isdir, folders))


add_library_folders(_nvidia_folders())


def __dir__() -> list[str]:
    """What is meant to be used, and nothing that this file imports for itself."""
    return sorted({*__all__, "__doc__", "__file__", "__name__", "__path__"})
