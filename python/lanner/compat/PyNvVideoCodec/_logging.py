"""What PyNvVideoCodec's environment variable LOGGER_LEVEL asks for: messages on stderr."""

import logging
import os

_LEVELS = {"TRACE": 5, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.CRITICAL}

logger = logging.getLogger("PyNvVideoCodec")


def _configure(level: str | None) -> None:
    """Quiet unless a level is given, as PyNvVideoCodec is."""
    if level is None:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        return
    if level.upper() not in _LEVELS:
        raise ValueError(f"LOGGER_LEVEL: '{level}' is not one of {', '.join(_LEVELS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(levelname)s] PyNvVideoCodec: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(_LEVELS[level.upper()])
    logger.propagate = False


_configure(os.environ.get("LOGGER_LEVEL"))
