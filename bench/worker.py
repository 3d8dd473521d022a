"""One system in a process of its own: reads commands as JSON lines, answers with JSON lines.

{"do": "load", ...} makes a network ready, {"do": "run", "seconds": s} answers with the mean seconds of a run.
"""

import json
import sys
import time

import numpy as np


def lanner_runner(job):
    import lanner

    settings = {} if job["budget"] is None else {"budget": job["budget"]}
    engine = lanner.build(job["model"], shapes={job["input"]: job["shape"]}, threads=job["threads"], **settings)
    context = engine.create_context()
    return lambda x: context({job["input"]: x})


def onnxruntime_runner(job):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {job["input"]: x})


def openvino_runner(job):
    import openvino

    core = openvino.Core()
    model = core.read_model(job["model"])
    model.reshape({job["input"]: job["shape"]})
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": job["threads"],
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    return lambda x: request.infer({job["input"]: x}, share_inputs=True, share_outputs=True)


RUNNERS = {"lanner": lanner_runner, "onnxruntime": onnxruntime_runner, "openvino": openvino_runner}


def mean_seconds(run, x, seconds):
    """Runs for about `seconds`, at least three times, after one run that is not counted."""
    run(x)
    count, start = 0, time.perf_counter()
    while count < 3 or time.perf_counter() - start < seconds:
        run(x)
        count += 1
    return (time.perf_counter() - start) / count


def main():
    run, x = None, None
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "load":
            start = time.perf_counter()
            run = RUNNERS[command["system"]](command)
            build = time.perf_counter() - start
            x = np.random.default_rng(0).standard_normal(command["shape"]).astype(np.float32)
            outputs = run(x)
            first = list(outputs.values())[0] if hasattr(outputs, "values") else outputs[0]
            answer = {"sum": float(np.abs(np.asarray(first, dtype=np.float64)).sum()), "build": build}
        else:
            answer = {"seconds": mean_seconds(run, x, command["seconds"])}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
