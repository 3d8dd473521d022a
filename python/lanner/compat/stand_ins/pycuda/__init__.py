"""A small stand-in for pycuda: memory, streams and contexts, by CUDA's driver where there is one, else in host memory."""

VERSION = (0, 0)
VERSION_STATUS = "lanner"
VERSION_TEXT = "0.0lanner"
