"""Standard networks in FP32 against ONNX Runtime and OpenVINO."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from pairs import alternate, summary

HERE = pathlib.Path(__file__).resolve().parent
MAKER = HERE.parents[1] / "shared" / "tools" / "make_nets.py"
INPUTS = {"mlp": (256,), "bert_base": (128, 768)}
IMAGE = (3, 224, 224)
RIVALS = ("onnxruntime", "openvino")


class Worker:
    """A system that runs one network."""

    def __init__(self, system, job):
        # Nothing that earlier builds timed: what a first build gives is what users get.
        self.cache = tempfile.TemporaryDirectory(prefix="lanner-bench-cache-")
        self.process = subprocess.Popen(
            [sys.executable, HERE / "worker.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LANNER_CACHE_DIR": self.cache.name},
        )
        self.system = system
        self.loaded = self.ask({"do": "load", "system": system, **job})

    def ask(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.system} ended with exit code {self.process.wait()}")
        return json.loads(answer)

    def seconds(self):
        return self.ask({"do": "run", "seconds": 0.15})["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.cache.cleanup()


def make_models(folder, names):
    if not MAKER.exists():
        raise RuntimeError("the networks' maker ../shared/tools/make_nets.py is missing: nets cannot be measured")
    subprocess.run([sys.executable, MAKER, folder, *names], check=True, stdout=subprocess.DEVNULL)


def rate(seconds, batch):
    return f"{seconds * 1e3:.2f} ms, {batch / seconds:.0f}/s"


def check_answers(job, ours, rival):
    """A rival that computes something else is no rival."""
    if abs(ours.loaded["sum"] - rival.loaded["sum"]) > 1e-3 * abs(rival.loaded["sum"]):
        raise RuntimeError(f"{job}: Lanner's and {rival.system}'s answers differ: {ours.loaded['sum']}, {rival.loaded['sum']}")


def measure_one(folder, name, batch, options):
    job = {
        "model": str(folder / f"{name}.onnx"),
        "input": "input",
        "shape": [batch, *INPUTS.get(name, IMAGE)],
        "threads": options.threads,
        "budget": options.budget,
    }
    label = f"{name}, batch {batch}"
    ours = Worker("lanner", job)
    rows = []
    for system in RIVALS:
        rival = Worker(system, job)
        check_answers(label, ours, rival)
        found = summary(*alternate(ours.seconds, rival.seconds, options.pairs, f"{label}, {system}"))
        rival.close()
        rows.append(
            {
                "job": label,
                "lanner": rate(found["seconds"], batch),
                "rival_name": system,
                "rival": rate(found["rival_seconds"], batch),
                "built": f"{'default' if options.budget is None else f'{options.budget:g} s'}, {ours.loaded['build']:.1f} s",
                **found,
            }
        )
    ours.close()
    min(rows, key=lambda row: row["ratio"])["best"] = True
    return rows


def measure(folder, options):
    names = options.nets.split(",")
    make_models(folder, names)
    return [
        row
        for name in names
        for batch in (int(text) for text in options.batch.split(","))
        for row in measure_one(folder, name, batch, options)
    ]
