"""Networks in FP16 on a GPU against torch.compile (Inductor), inputs and results in GPU memory, CUDA graphs on both sides."""

import math
import pathlib
import subprocess

from pairs import alternate, summary
from systems import HERE, Broken, Missing, Worker

SCRIPT = HERE / "cuda_worker.py"
LEAST_RUNS = 10
# Network to the batches measured; shapes are of one input.
NETWORKS = {
    "resnet50": (1, 8, 32, 128),
    "mobilenet_v2": (1, 128),
    "vgg16": (1, 128),
    "vit_b_16": (1, 32),
    "bert_base": (1, 32),
    "swin_t": (1, 32),
    "convnext_tiny": (1, 32),
    "efficientnet_b0": (1, 32),
    "densenet121": (1, 32),
    "mlp": (1,),
}
SHAPES = {"bert_base": (128, 768), "mlp": (256,)}
IMAGE = (3, 224, 224)
# Tolerance for FP16: another order of sums, and rounding of activations.
LARGEST_ERROR = 0.05


def clocks(device):
    """Clocks of the GPU's processors and memory in MHz and its power in W, as reported by the driver now."""
    query = ["nvidia-smi", "-i", device.partition(":")[2] or "0", "--query-gpu=clocks.sm,clocks.mem,power.draw", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(zip(("sm_mhz", "memory_mhz", "watts"), (float(part) for part in done.stdout.strip().split(", ")), strict=True))


def error_of(ours, theirs):
    """Root mean square of the differences, relative to that of the rival's values."""
    if len(ours) != len(theirs) or not ours:
        raise Broken(f"the outputs differ in size: {len(ours)} and {len(theirs)} values were compared")
    if not any(theirs):
        raise Broken("the rival's output has only zeros, so errors cannot be measured")
    difference = math.sqrt(sum((a - b) ** 2 for a, b in zip(ours, theirs, strict=True)))
    return difference / math.sqrt(sum(b * b for b in theirs))


def rate(seconds, batch):
    return f"{seconds * 1e3:.3f} ms, {batch / seconds:,.0f}/s"


def job_of(network, folder, options):
    """Settings of all processes of a network."""
    job = {"network": network, "shape": SHAPES.get(network, IMAGE), "model": str(folder / f"{network}.onnx"), "device": options.device}
    job |= {"weights": str(folder / f"{network}.pt"), "budget": options.budget}
    return job | {"max_autotune": options.max_autotune, "both_formats": options.both_formats}


def measured(job, batch, options):
    """One row."""
    network, job = job["network"], job | {"batch": batch}
    label = f"{network}, batch {batch}, FP16"
    row = {"job": label, "network": network, "batch": batch, "rival_name": "Inductor"}
    try:
        with Worker(SCRIPT) as rival:
            theirs = rival.load("inductor", job)
            with Worker(SCRIPT) as own:
                ours = own.load("lanner", job)
                error = error_of(ours["values"], theirs["values"])
                ask = {"do": "run", "seconds": options.seconds, "least": LEAST_RUNS}
                times = alternate(lambda: own.ask(ask)["seconds"], lambda: rival.ask(ask)["seconds"], options.pairs, label)
                found = summary(*times) | {"error": error, "clocks": clocks(options.device)}
    except Missing as missing:
        return row | {"skipped": str(missing)}
    except Broken as broken:
        return row | {"failed": str(broken)}
    if not error <= LARGEST_ERROR:
        return row | {"failed": f"the outputs differ: by {error:.2%} of their root mean square"}
    told = {"lanner": rate(found["seconds"], batch), "rival": rate(found["rival_seconds"], batch), "how": theirs["how"]}
    versions = {"lanner_version": ours["version"], "rival_version": theirs["version"]}
    return row | told | versions | {"build": ours["build"], "rival_build": theirs["build"]} | found


def chosen(options):
    """Pairs of a network and the batches measured."""
    names = [name for name in options.cuda_nets.split(",") if name]
    unknown = sorted(set(names) - set(NETWORKS))
    if unknown:
        raise RuntimeError(f"no network '{', '.join(unknown)}': expected {', '.join(NETWORKS)}")
    return [(name, NETWORKS[name]) for name in names or NETWORKS]


def measure(folder, options, add):
    """Passes rows to `add` as they are measured."""
    for network, batches in chosen(options):
        job = job_of(network, folder, options)
        try:
            with Worker(SCRIPT) as exporter:
                exporter.load("export", job)
        except (Missing, Broken) as error:
            why = {"skipped" if isinstance(error, Missing) else "failed": str(error)}
            for batch in batches:
                add({"job": f"{network}, batch {batch}, FP16", "network": network, "batch": batch, "rival_name": "Inductor", **why})
            continue
        for batch in batches:
            add(measured(job, batch, options))
        for written in (job["model"], job["weights"]):
            pathlib.Path(written).unlink()
