"""A clip to labels: `lanner run` against a loop in Python over the same parts, against PyNvVideoCodec with torch, and against decoding
alone, which is an upper bound."""

import json
import os
import re
import subprocess
import time

import video
from pairs import alternate, summary
from systems import HERE, Broken, Missing, Worker

SCRIPT = HERE / "labels_worker.py"
SAME = 0.99  # Share of equal labels: another order of sums decides between two equally likely classes.
RIVALS = {"loop": "loop in Python", "torch": "PyNvVideoCodec and torch.compile", "decode": "decoding alone"}


class Command:
    """`lanner run` in a new process each time."""

    def __init__(self, plan, clip, options):
        self.answers, self.whole, self.labels = plan.with_suffix(".jsonl"), [], None
        self.command = [video.COMMAND, "run", plan, "-i", clip, "--device", options.device, "--batch", options.run_batch]
        self.command += ["--task", "classify", "--json", self.answers]

    def __call__(self):
        """Seconds of the clip alone, as printed by the command: the other systems' models are loaded beforehand too."""
        start = time.perf_counter()
        done = subprocess.run([str(part) for part in self.command], capture_output=True, text=True, check=False)
        self.whole.append(time.perf_counter() - start)
        told = re.search(r"(\d+) frames in [\d.]+ s, ([\d.]+) a second", done.stdout)
        if done.returncode or not told:
            raise Broken(f"lanner run ended with code {done.returncode}: {done.stderr.strip()[-500:]}")
        self.frames = int(told[1])
        self.labels = [json.loads(line)["top"][0]["class"] for line in self.answers.read_text(encoding="utf-8").splitlines()]
        return self.frames / float(told[2])


def make_plan(folder, model, options):
    """Built once: only the clip is measured."""
    plan, size = folder / "labels.plan", "3x224x224"
    shape = f"{options.run_input}:1x{size}:{options.run_batch}x{size}:{options.run_batch}x{size}"
    command = [video.COMMAND, "build", model, "-o", plan, "--device", options.device, "--shape", shape]
    command += ["--preset", "imagenet", "--image-input"]
    if options.device != "cpu":
        command += ["--precision", "fp16"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the network could not be built: {done.stderr.strip()[-500:]}")
    return plan


def same_labels(ours, theirs):
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / max(1, len(ours)) if len(ours) == len(theirs) else 0.0


def against(command, name, loading, options, label):
    """A row of the command against one rival, or why there is none."""
    row = {"job": label, "rival_name": RIVALS[name]}
    try:
        with Worker(SCRIPT) as worker:
            version = worker.load(name, loading)["version"]
            answer = {}

            def run():
                answer.update(worker.ask({"do": "run", "system": name}))
                return answer["seconds"]

            run(), command()  # Files are in memory and kernels made.
            own, other = alternate(command, run, options.pairs, f"{label}, {RIVALS[name]}")
    except Missing as missing:
        return row | {"skipped": str(missing)}
    except Broken as broken:
        return row | {"failed": str(broken)}
    if name == "loop" and same_labels(command.labels, answer["labels"]) < SAME:
        share = same_labels(command.labels, answer["labels"])
        return row | {"failed": f"the labels differ: {share:.1%} of {len(command.labels)} are those of the command"}
    found = summary(own, other)
    whole = sorted(command.whole)[len(command.whole) // 2]
    ours = f"lanner run, {command.frames} frames, whole process {whole:.1f} s"
    return video.row(label, ours, f"{RIVALS[name]} {version}".strip(), answer["how"], found, (command.frames, answer["frames"]))


def measure(folder, model, options):
    """Rows. `model` is an ONNX file of a classifier that takes [N, 3, 224, 224]."""
    long = options.device != "cpu"
    clip = video.clip_of(options.clips or folder, "H.264", long)
    plan = make_plan(folder, model, options)
    command = Command(plan, clip, options)
    loading = {"plan": str(plan), "clip": str(clip), "device": options.device, "batch": options.run_batch, "cores": os.cpu_count()}
    label = f"one 1080p H.264 file to labels, {options.device}, batches of {options.run_batch}"
    return [against(command, name, loading, options, label) for name in RIVALS]
