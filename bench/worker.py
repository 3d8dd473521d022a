"""Systems in a process of their own: reads commands as JSON lines, answers with JSON lines.

| command | does |
|---|---|
| `{"do": "enter", ...}` | moves the process into a cgroup |
| `{"do": "load", "system": ...}` | makes a network ready in a system |
| `{"do": "run", "system": ...}` | answers with the seconds of each run of it |
| `{"do": "turns", "systems": ...}` | answers with those of several systems that alternate |
"""

import json
import os
import pathlib
import signal
import sys
import time

import busy
import cgroup
import numpy as np
import quantize

TESTS = pathlib.Path(__file__).resolve().parents[1] / "tests"

UNGUARDED = -100  # dB


def model_of(job, feed, quantized=("qdq",)):
    """Path of the ONNX file to load: the network's own, or for the precisions `quantized` the one of onnxruntime's quantiser."""
    return quantize.by_onnxruntime(job["model"], feed) if job["precision"] in quantized else job["model"]


def lanner_runner(job, feed):
    import lanner

    settings = {"device": "cpu"}  # Where there is a GPU too, which the default would take.
    if job["budget"] is not None:
        settings["budget"] = job["budget"]
    if job["precision"] == "bf16":
        settings["precision"] = "bf16"
    elif job["precision"] == "int8":  # What does not gain by INT8 may be BF16, as in OpenVINO.
        # The rivals' quantisers have no guard: with Lanner's, networks of random weights would stay in BF16.
        settings |= {"precision": ["int8", "bf16"], "calibration_data": quantize.samples(feed), "least_snr": UNGUARDED}
    shapes = {name: list(array.shape) for name, array in feed.items()}
    context = lanner.build(model_of(job, feed), shapes=shapes, threads=job["threads"], **settings).create_context()
    return lambda: context(feed)


def onnxruntime_runner(job, feed):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    if job["precision"] == "bf16":
        raise Missing("onnxruntime has no BF16 on a CPU")
    model = model_of(job, feed, quantized=("int8", "qdq"))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feed)


def openvino_runner(job, feed):
    import openvino

    core = openvino.Core()
    model = quantize.by_nncf(job["model"], feed) if job["precision"] == "int8" else core.read_model(model_of(job, feed))
    model.reshape({name: list(array.shape) for name, array in feed.items()})
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": job["threads"], "NUM_STREAMS": 1}
    # Of quantised networks OpenVINO chooses the precision of the rest itself: BF16 where the processor has it.
    if job["precision"] in ("fp32", "bf16"):
        settings["INFERENCE_PRECISION_HINT"] = {"fp32": "f32", "bf16": "bf16"}[job["precision"]]
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    return lambda: request.infer(feed, share_inputs=True, share_outputs=True)


def torch_runner(job, feed):
    """In eager mode, as scripts that do not compile run it."""
    import torch

    sys.path.append(str(TESTS))
    from networks.torch_run import TorchNetwork

    if job["precision"] != "fp32":
        raise Missing("PyTorch is measured in FP32 alone")
    torch.set_num_threads(job["threads"])
    return TorchNetwork(pathlib.Path(job["model"]), feed, "fp32", device="cpu").results


RUNNERS = {"lanner": lanner_runner, "onnxruntime": onnxruntime_runner, "openvino": openvino_runner, "torch": torch_runner}


class Missing(Exception):
    """A system cannot run this precision, or a package is not installed."""


class Systems:
    """The systems of this process, each with a network loaded."""

    def __init__(self):
        self.runs = {}

    def enter(self, command):
        cgroup.enter(command["folder"])
        return {}

    def load(self, command):
        name = command["system"]
        start = time.perf_counter()
        with np.load(command["feed"]) as arrays:
            feed = dict(arrays)
        try:
            run = RUNNERS[name](command, feed)
        except Missing as missing:
            return {"missing": str(missing)}
        except ModuleNotFoundError as error:
            if error.name not in (name, "nncf"):
                raise
            return {"missing": f"{error.name} is not installed"}
        build = time.perf_counter() - start
        outputs = run()
        first = list(outputs.values())[0] if hasattr(outputs, "values") else outputs[0]
        self.runs[name] = run
        version = getattr(sys.modules.get(name), "__version__", "")
        return {"sum": float(np.abs(np.asarray(first, dtype=np.float64)).sum()), "build": build, "version": version}

    def run(self, command):
        found = self.in_turn([command["system"]], command["seconds"], command["least"], 1)
        return {"times": found[command["system"]]}

    def turns(self, command):
        names = command["systems"]
        return {"times": self.in_turn(names, command["seconds"] * len(names), command["least"], command["burst"])}

    def in_turn(self, names, seconds, least, burst):
        """Seconds of each run, of as many bursts of all as fill `seconds`; a first burst is not counted."""
        for name in names:
            for _ in range(burst):
                self.runs[name]()
        times = {name: [] for name in names}
        start = time.perf_counter()
        while len(times[names[0]]) < least or time.perf_counter() - start < seconds:
            for name in names:
                run, mine = self.runs[name], times[name]
                for _ in range(burst):
                    begun = time.perf_counter()
                    run()
                    mine.append(time.perf_counter() - begun)
        return times


def serve(systems):
    """Answers commands by the methods of `systems` that they name, until the input ends."""
    if len(sys.argv) > 1:
        busy.end_with_parent(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the terminal; the parent ends this one.
    # Output of libraries must not mix with answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(systems, command["do"])(command)
        except Exception as error:
            answer = {"failed": " ".join(f"{type(error).__name__}: {error}".split())}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(Systems())
