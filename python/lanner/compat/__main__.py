"""Runs a script that imports PyNvVideoCodec or TF-TRT on Lanner."""

import argparse
import os
import runpy
import sys

from lanner import compat


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m lanner.compat",
        description="Run a script, unmodified, that imports PyNvVideoCodec or TF-TRT: the first name is lanner.compat.PyNvVideoCodec there. "
        "pycuda.driver and pycuda.autoinit are a small stand-in where pycuda is not installed. TF-TRT's modules of TensorFlow are "
        "lanner.compat.trt_convert.",
    )
    parser.add_argument("--tf1", action="store_true", help="import tensorflow gives tensorflow.compat.v1, with tensorflow.contrib.tensorrt")
    parser.add_argument("-m", "--module", action="store_true", help="the script is the name of a module, as for python -m")
    parser.add_argument("script", help="Python file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets")
    given = parser.parse_args()
    if not given.module and not os.path.exists(given.script):
        parser.error(f"{given.script}: there is no such file; expected a Python script")
    try:
        compat.install(tf1=given.tf1)
    except ModuleNotFoundError as error:
        parser.error(f"--{error}")
    sys.argv = [given.script, *given.arguments]
    if given.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(given.script)))
        runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
