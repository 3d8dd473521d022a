"""What code writes, raises and reads from the environment, for cases in TensorFlow's Python."""

import contextlib
import io
import logging
import os
import re


@contextlib.contextmanager
def variables(**values):
    """Environment variables for a while; None: not set."""
    before = {name: os.environ.get(name) for name in values}
    try:
        for source in (values,):
            for name, value in source.items():
                os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


@contextlib.contextmanager
def said():
    """Collects what is written to stderr and to TensorFlow's logger: call the result for the text."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("tensorflow")
    logger.addHandler(handler)
    try:
        with contextlib.redirect_stderr(stream):
            yield stream.getvalue
    finally:
        logger.removeHandler(handler)


@contextlib.contextmanager
def raises(kind, pattern):
    try:
        yield
    except kind as error:
        assert re.search(pattern, str(error)), f"{pattern!r} is not in: {error}"
        return
    raise AssertionError(f"nothing was raised; expected {kind}")
