"""Lines that TF-TRT wrote to TensorFlow's log, at the levels that TensorFlow's environment variables ask for."""

import datetime
import fnmatch
import logging
import os
import sys

INFO, WARNING, ERROR = 0, 1, 2


def _number(name: str) -> int:
    try:
        return int(os.environ.get(name, "0") or 0)
    except ValueError:
        return 0


def verbosity(module: str) -> int:
    """The level that TF_CPP_VMODULE, else TF_CPP_MIN_VLOG_LEVEL, gives to a source file of TF-TRT's, like `segment`."""
    for entry in os.environ.get("TF_CPP_VMODULE", "").split(","):
        pattern, _, level = entry.partition("=")
        if level.strip().isdigit() and fnmatch.fnmatchcase(module, pattern.strip()):
            return int(level)
    return _number("TF_CPP_MIN_VLOG_LEVEL")


def write(severity: int, module: str, text: str) -> None:
    """A line as TensorFlow's C++ code writes it, unless TF_CPP_MIN_LOG_LEVEL is above its severity."""
    if severity < _number("TF_CPP_MIN_LOG_LEVEL"):
        return
    now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")
    print(f"{now}: {'IWE'[severity]} lanner/compat/trt_convert/{module}] {text}", file=sys.stderr, flush=True)


def verbose(level: int, module: str, text: str) -> None:
    """A line for those who asked for this level of the module."""
    if verbosity(module) >= level:
        write(INFO, module, text)


def warn(text: str) -> None:
    """A warning of TF-TRT's Python code, by TensorFlow's logger."""
    if "tensorflow" in sys.modules:
        from tensorflow.python.platform import tf_logging

        tf_logging.warning(text)
    else:
        logging.getLogger("tensorflow").warning(text)


_told: set[str] = set()


def tell_once(text: str) -> None:
    """A line, once in a process, about something that is asked for and has no effect."""
    if text not in _told:
        _told.add(text)
        warn(text)
