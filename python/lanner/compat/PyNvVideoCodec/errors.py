"""PyNvVideoCodec's exceptions, and what Lanner's errors become."""

import contextlib
from collections.abc import Iterator

import lanner


class PyNvVCException(Exception):
    """A call that failed. `__cause__` is Lanner's error where it came from there."""


class PyNvVCExceptionUnsupported(PyNvVCException):
    """What was asked for is beyond this machine or this build."""


@contextlib.contextmanager
def translated(where: str = "") -> Iterator[None]:
    """Errors of Lanner leave as PyNvVideoCodec's, with the same line."""
    try:
        yield
    except lanner.Error as error:
        kind = PyNvVCExceptionUnsupported if isinstance(error, lanner.Unsupported) else PyNvVCException
        raise kind(f"{where}: {error}" if where else str(error)) from error
