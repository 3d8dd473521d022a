"""TFRecord files without TensorFlow."""

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lanner import _lanner
from lanner.errors import NotFound


def _files(path: Any) -> list[Any]:
    if isinstance(path, (str, os.PathLike)):
        name = os.fspath(path)
        if isinstance(name, str) and glob.has_magic(name) and not os.path.exists(name):
            if files := sorted(glob.glob(name)):
                return list(files)
            raise NotFound(f"{name}: no file matches this pattern")
        return [path]
    return [path] if isinstance(path, (bytes, bytearray, memoryview)) or hasattr(path, "read") else list(path)


def records(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    raw: bool = False,
    limits: Mapping[str, float | str] | None = None,
) -> Iterator[dict[str, list[bytes] | list[float] | list[int]]] | Iterator[bytes]:
    """The records of TFRecord files, in order: of each, a tf.Example, its features by name as lists of bytes, floats or integers.
    Checksums are checked. Raises BadData for a damaged file, Unsupported for a compressed one.

    path: a file, a pattern like `validation-*`, or several files
    raw: yield the records' bytes, whatever they are
    limits: as in lanner.build; `packet_bytes` limits a record
    """
    files = _files(path)

    def each() -> Iterator[Any]:
        for file in files:
            for record in _lanner.RecordReader(file, limits=limits):
                yield record if raw else _lanner.parse_example(record, limits=limits)

    return each()
