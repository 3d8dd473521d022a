"""Other products' Python interfaces over Lanner: `lanner.compat.PyNvVideoCodec`, and TF-TRT's `lanner.compat.trt_convert`.

    python -m lanner.compat script.py ...

runs a script that imports PyNvVideoCodec, and pycuda where that is not installed, or TensorFlow's TF-TRT.
docs/pynvvideocodec.md, docs/tf-trt.md.
"""

import importlib.util
import os
import sys
from pathlib import Path

__all__ = ["folders", "install"]

_HERE = Path(__file__).parent


def folders() -> list[str]:
    """Folders whose modules scripts import by the names of those products; the one for pycuda only where it is missing."""
    found = [str(_HERE / "modules")]
    if importlib.util.find_spec("pycuda") is None:
        found.append(str(_HERE / "stand_ins"))
    return found


def install(*, tf1: bool = False) -> None:
    """Makes `import PyNvVideoCodec` give this package's, here and in Python processes that this one starts; and TF-TRT's
    modules of TensorFlow, here.

    tf1: `import tensorflow` gives tensorflow.compat.v1 with tensorflow.contrib.tensorrt
    """
    if importlib.util.find_spec("tensorflow") is not None:
        from lanner.compat import tensorflow_names

        tensorflow_names.install(tf1=tf1)
    elif tf1:
        raise ModuleNotFoundError("tf1: TensorFlow is not installed in this Python", name="tensorflow")
    wanted = folders()
    sys.path[:0] = [folder for folder in wanted if folder not in sys.path]
    # Processes that are started find the package by its folder too, where it is not installed.
    kept = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    more = [folder for folder in [*wanted, str(_HERE.parents[1])] if folder not in kept]
    os.environ["PYTHONPATH"] = os.pathsep.join(more + kept)
