"""What Lanner raises. Every exception is an `Error`; most are also the built-in one that fits."""


class Error(Exception):
    """A failure that Lanner reports in one line. `code` is the C++ name of its kind, such as "bad_data"."""

    code = "internal"


class InvalidArgument(Error, ValueError):
    """The caller asked for something that makes no sense."""

    code = "invalid_argument"


class NotFound(Error, FileNotFoundError):
    """A file, name or library that was asked for does not exist."""

    code = "not_found"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class BadData(Error, ValueError):
    """Bytes from outside are malformed."""

    code = "bad_data"


class LimitExceeded(Error):
    """A bound on what a file may make Lanner do would be passed."""

    code = "limit_exceeded"


class Unsupported(Error, NotImplementedError):
    """Valid, but not something this build or device can do."""

    code = "unsupported"


class OutOfMemory(Error, MemoryError):
    """Memory was refused."""

    code = "out_of_memory"


class InputOutput(Error, OSError):
    """The operating system refused a read or a write."""

    code = "io"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class Cancelled(Error):
    """The caller asked to stop."""

    code = "cancelled"


class DeviceError(Error):
    """A driver or vendor library failed."""

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
