"""The Python with TensorFlow that LANNER_TENSORFLOW_PYTHON names, with which tests make models and answers."""

import os

import pytest

PYTHON = os.environ.get("LANNER_TENSORFLOW_PYTHON")
needs_tensorflow = pytest.mark.skipif(not PYTHON, reason="LANNER_TENSORFLOW_PYTHON names no Python with TensorFlow")
