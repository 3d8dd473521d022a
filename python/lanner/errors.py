"""The exceptions of Lanner. Each is an `Error`; most are also the built-in exception that fits."""


class Error(Exception):
    """The base of all; raised itself for a bug of Lanner."""

    code = "internal"


class InvalidArgument(Error, ValueError):
    """An argument or option is invalid, or does not fit the model or the file."""

    code = "invalid_argument"


class NotFound(Error, FileNotFoundError):
    """A file, a name inside a model or a library does not exist."""

    code = "not_found"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class BadData(Error, ValueError):
    """A model, plan, image, video or text is malformed or damaged."""

    code = "bad_data"


class LimitExceeded(Error):
    """A limit on the resources that a file may use would be exceeded; docs/limits.md."""

    code = "limit_exceeded"


class Unsupported(Error, NotImplementedError):
    """Valid, but beyond what this build, machine or device can do."""

    code = "unsupported"


class OutOfMemory(Error, MemoryError):
    """The operating system or the GPU has no memory left."""

    code = "out_of_memory"


class InputOutput(Error, OSError):
    """The operating system refused to read or write."""

    code = "io"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class Cancelled(Error):
    """The call was cancelled."""

    code = "cancelled"


class DeviceError(Error):
    """A GPU driver or a vendor library failed."""

    code = "device"


BY_CODE = {
    kind.code: kind
    for kind in (
        InvalidArgument,
        NotFound,
        BadData,
        LimitExceeded,
        Unsupported,
        OutOfMemory,
        InputOutput,
        Cancelled,
        DeviceError,
        Error,
    )
}
