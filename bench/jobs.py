"""The measured networks: the standard ones, and those of the zoo that PyTorch users export."""

import dataclasses
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
MAKER = SHARED / "tools" / "make_nets.py"
INPUTS = {"mlp": (256,), "bert_base": (128, 768)}
IMAGE = (3, 224, 224)
# qdq: a file that onnxruntime's quantiser wrote, the same for every system.
PRECISIONS = ("fp32", "bf16", "int8", "qdq")
# Where runs take milliseconds, how threads wait matters most.
SMALL = (
    "hf_bert",
    "timm_levit_128s",
    "timm_mobilenetv4_conv_small",
    "tv_mobilenet_v3_large",
    "tv_mobilenet_v3_small",
    "tv_shufflenet_v2_x1_0",
    "tv_squeezenet1_1",
)


@dataclasses.dataclass(frozen=True)
class Job:
    """A network at a batch size and a precision, its model and its inputs in files."""

    network: str
    batch: int
    model: pathlib.Path
    feed: pathlib.Path
    precision: str = PRECISIONS[0]

    @property
    def label(self):
        return ", ".join([self.network, f"batch {self.batch}", *([self.precision] if self.precision != PRECISIONS[0] else [])])


@dataclasses.dataclass(frozen=True)
class Skipped:
    """A job that is not measured, and why."""

    label: str
    reason: str


def names(text):
    return [name for name in text.split(",") if name]


def made(folder, *chosen):
    """Lets make_nets.py write these networks; returns the path of the first."""
    if not MAKER.exists():
        raise RuntimeError(
            f"{MAKER}: not found, it makes the standard networks; put shared/ beside the checkout, or give --nets '' or --run-model FILE"
        )
    subprocess.run([sys.executable, MAKER, folder, *chosen], check=True, stdout=subprocess.DEVNULL)
    return folder / f"{chosen[0]}.onnx"


def standard(folder, options):
    """Networks that make_nets.py writes."""
    chosen = names(options.nets)
    if not chosen:
        return
    made(folder, *chosen)
    for name in chosen:
        for batch in options.batch:
            shape = (batch, *INPUTS.get(name, IMAGE))
            feed = {"input": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
            yield written(folder, name, batch, folder / f"{name}.onnx", feed)


def zoo(folder, options):
    """Networks of the zoo at their exported sizes. A model exists while its jobs are measured."""
    chosen = [one for name in names(options.zoo) for one in (SMALL if name == "small" else (name,))]
    if not chosen:
        return
    sys.path.append(str(ROOT / "tests"))
    from networks import catalogue

    if not catalogue.ZOO.is_dir():
        yield from (Skipped(name, f"the zoo is missing: no {catalogue.ZOO}; put shared/ beside the checkout") for name in chosen)
        return
    unknown = sorted(set(chosen) - set(catalogue.names()))
    if unknown:
        raise RuntimeError(f"--zoo: no network {', '.join(unknown)} in {catalogue.ZOO}; ./dev networks --list names those there are")
    for name in chosen:
        yield from of_zoo(catalogue, catalogue.Network(name), folder, options.batch)


def of_zoo(catalogue, network, folder, batches):
    model = folder / f"{network.name}.onnx"
    catalogue.write_model(network.name, model)
    exported = network.cases()[0]
    for batch in batches:
        if batch != exported.batch and not network.batch_dim:
            yield Skipped(f"{network.name}, batch {batch}", f"its batch size is fixed at {exported.batch}")
            continue
        samples = [network.sample(exported, number) for number in range(batch)]
        feed = {name: np.concatenate([one[name] for one in samples]) for name in samples[0]} if batch > 1 else samples[0]
        yield written(folder, network.name, batch, model, feed)
    model.unlink()


def written(folder, name, batch, model, feed):
    path = folder / f"{name}-{batch}.npz"
    np.savez(path, **feed)
    return Job(name, batch, model, path)


def chosen(folder, options):
    """Each job in order, in each precision."""
    for makes in (standard, zoo):
        for job in makes(folder, options):
            if isinstance(job, Skipped):
                yield job
                continue
            for precision in options.precision:
                yield dataclasses.replace(job, precision=precision)
