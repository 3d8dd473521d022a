"""A video and a trained model in, answers and video out.

>>> engine = lanner.build("model.onnx", threads=2)
>>> for frame in lanner.VideoReader("clip.mp4"):
...     out = engine({"input": frame.to_tensor(size=(224, 224), preset="imagenet")})
"""

from lanner._lanner import (
    Binding,
    Context,
    Engine,
    Frame,
    Image,
    Preprocess,
    StreamInfo,
    Tensor,
    VideoReader,
    VideoWriter,
    __version__,
    build,
    load,
    load_image,
    save_image,
)
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
    "BadData",
    "Binding",
    "Cancelled",
    "Context",
    "DeviceError",
    "Engine",
    "Error",
    "Frame",
    "Image",
    "InputOutput",
    "InvalidArgument",
    "LimitExceeded",
    "NotFound",
    "OutOfMemory",
    "Preprocess",
    "StreamInfo",
    "Tensor",
    "Unsupported",
    "VideoReader",
    "VideoWriter",
    "__version__",
    "build",
    "load",
    "load_image",
    "save_image",
]
