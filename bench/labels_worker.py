"""One way from a clip to labels, in a process of its own: with the commands and answers of worker.py."""

import time

from worker import serve


class Loop:
    """The loop that a user writes with the library's parts."""

    def __init__(self, job):
        import lanner
        import numpy

        self.lanner, self.numpy, self.job = lanner, numpy, job
        engine = lanner.load(job["plan"], device=job["device"])
        self.context, self.input, self.output = engine.create_context(), engine.inputs[0].name, engine.outputs[0].name
        self.version, self.how = lanner.__version__, f"ParallelDecoder, batches of {job['batch']}"

    def run(self):
        labels, batch, size = [], [], self.job["batch"]

        def flush():
            images = batch + batch[-1:] * (size - len(batch))
            scores = self.numpy.asarray(self.context({self.input: images})[self.output])
            labels.extend(scores.reshape(size, -1).argmax(1)[: len(batch)].tolist())
            batch.clear()

        for frame in self.lanner.ParallelDecoder(self.job["clip"], device=self.job["device"]):
            batch.append(frame)
            if len(batch) == size:
                flush()
        if batch:
            flush()
        return len(labels), labels


class Decode:
    """Decodes the clip's frames on the device, and nothing else."""

    def __init__(self, job):
        import lanner

        self.lanner, self.job, self.version, self.how = lanner, job, "", ""

    def run(self):
        decoder = self.lanner.ParallelDecoder(self.job["clip"], device=self.job["device"])
        self.how = decoder.decoder
        return sum(1 for _ in decoder), []


class Torch:
    """torchvision's ResNet-50 in FP16 by Inductor, on frames that PyNvVideoCodec leaves on the GPU."""

    def __init__(self, job):
        if job["device"] == "cpu":
            raise ModuleNotFoundError("PyNvVideoCodec decodes on a GPU; it is measured with --device cuda:0", name="torch")
        import PyNvVideoCodec
        import torch
        import torchvision

        self.codec, self.torch, self.job = PyNvVideoCodec, torch, job
        device = torch.device(job["device"])
        network = torchvision.models.resnet50().eval().half().to(device, memory_format=torch.channels_last)
        mean = torch.tensor([0.485, 0.456, 0.406], device=device).view(1, 3, 1, 1) * 255
        deviation = torch.tensor([0.229, 0.224, 0.225], device=device).view(1, 3, 1, 1) * 255

        def classes(pictures):
            small = torch.nn.functional.interpolate(pictures.float(), (224, 224), mode="bilinear", antialias=True)
            inputs = ((small - mean) / deviation).half().contiguous(memory_format=torch.channels_last)
            return network(inputs).argmax(1)

        self.classes = torch.compile(classes, mode="max-autotune")
        self.version = f"{PyNvVideoCodec.__version__}, torch {torch.__version__}"
        self.how = f"one session, batches of {job['batch']}"

    def run(self):
        torch, size = self.torch, self.job["batch"]
        number = int(self.job["device"].partition(":")[2] or 0)
        decoder = self.codec.SimpleDecoder(
            self.job["clip"], gpu_id=number, use_device_memory=True, output_color_type=self.codec.OutputColorType.RGBP
        )
        labels = []
        with torch.inference_mode():
            while frames := decoder.get_batch_frames(size):
                pictures = torch.stack([torch.from_dlpack(frame) for frame in frames])
                short = size - len(frames)
                if short:
                    pictures = torch.cat([pictures, pictures[-1:].expand(short, -1, -1, -1)])
                labels.append(self.classes(pictures)[: len(frames)].clone())
                if short:
                    break
            found = torch.cat(labels).tolist()
        return len(found), found


WAYS = {"loop": Loop, "decode": Decode, "torch": Torch}


class Ways:
    """The systems of this process."""

    def __init__(self):
        self.ways = {}

    def load(self, command):
        try:
            way = self.ways[command["system"]] = WAYS[command["system"]](command)
        except ModuleNotFoundError as error:
            known = error.name in ("torch", "torchvision", "PyNvVideoCodec")
            if not known:
                raise
            return {"missing": str(error) if error.name not in str(error).split("'") else f"{error.name} is not installed"}
        return {"version": way.version}

    def run(self, command):
        way = self.ways[command["system"]]
        start = time.perf_counter()
        frames, labels = way.run()
        return {"seconds": time.perf_counter() - start, "frames": frames, "labels": labels, "how": way.how}


if __name__ == "__main__":
    serve(Ways())
