"""A network on a GPU, in a process of its own: with the commands and answers of worker.py.

Inputs are on the GPU in FP16 and results stay there; runs are queued one after the other, and the measured time is from
the start of the first to the end of the last. Both systems replay CUDA graphs: Lanner's contexts record theirs, Inductor's are recorded here.
"""

import time

from worker import serve

WARM_UP, LEAST = 5, 10
CHOICES = ("default", "max-autotune-no-cudagraphs")  # Of torch.compile; graphs are recorded here for both.


def mlp():
    """24 layers of 256: measures only the cost of launches."""
    from torch import nn

    return nn.Sequential(*(layer for _ in range(24) for layer in (nn.Linear(256, 256), nn.ReLU())))


def bert():
    import torch
    from transformers import BertConfig, BertModel

    class Encoder(torch.nn.Module):
        """BERT-base after its word embedding, as in make_nets.py."""

        def __init__(self):
            super().__init__()
            self.encoder = BertModel(BertConfig(attn_implementation="sdpa"), add_pooling_layer=False).encoder

        def forward(self, hidden):
            return self.encoder(hidden, attention_mask=None)[0]

    return Encoder()


def module_of(name):
    """In evaluation mode, with random weights."""
    import torch

    torch.manual_seed(1)
    if name in OWN:
        return OWN[name]().eval()
    import torchvision

    module = getattr(torchvision.models, name)(weights=None)
    settle(module)
    return fill_zeros(module).eval()


def fill_zeros(module):
    """Some heads are initialised with zeros, so their outputs would be zeros for any computation."""
    import torch

    for parameter in module.parameters():
        if parameter.dim() > 1 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    return module


def settle(module):
    """With random weights activations grow or vanish from layer to layer; running statistics of batch normalizations keep them in range."""
    import torch

    layers = [layer for layer in module.modules() if isinstance(layer, torch.nn.BatchNorm2d)]
    for layer in layers:
        layer.momentum = None
        layer.train()
    with torch.no_grad():
        if layers:
            module(torch.randn(16, 3, 224, 224))


OWN = {"mlp": mlp, "bert_base": bert}


def feed(shape, batch):
    import torch

    return torch.randn((batch, *shape), generator=torch.Generator().manual_seed(1)).half()


class Export:
    """Writes the weights, and the ONNX file that Lanner builds, with an open batch."""

    def __init__(self, job):
        import torch

        module = module_of(job["network"])
        torch.save(module.state_dict(), job["weights"])
        torch.backends.mha.set_fastpath_enabled(False)
        torch.onnx.export(
            module, (torch.randn((2, *job["shape"])),), job["model"], input_names=["input"], output_names=["output"], dynamo=True,
            external_data=False, dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=4096)},), verbose=False,
        )
        self.version, self.how = torch.__version__, ""


class Queued:
    """Queues runs one after the other on a stream of torch."""

    def __init__(self, job):
        import torch

        torch.cuda.set_device(job["device"])
        self.torch, self.stream = torch, torch.cuda.Stream()

    def seconds(self, seconds, least):
        """Mean seconds of a run, over as many as fill `seconds`, at least `least`."""
        torch = self.torch
        with torch.cuda.stream(self.stream):
            one = self.timed(max(3, least // 4))
            return self.timed(max(least, int(seconds / one)))

    def timed(self, runs):
        start, end = self.torch.cuda.Event(enable_timing=True), self.torch.cuda.Event(enable_timing=True)
        start.record(self.stream)
        for _ in range(runs):
            self.queue()
        end.record(self.stream)
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / runs

    def first_values(self):
        self.queue()
        self.stream.synchronize()
        return self.result.flatten()[:4096].float().cpu().tolist()


class Lanner(Queued):
    """Built as users do, with the default budget unless another is given."""

    def __init__(self, job):
        import lanner

        super().__init__(job)
        self.input = feed(job["shape"], job["batch"]).to(job["device"])
        settings = {} if job["budget"] is None else {"budget": job["budget"]}
        engine = lanner.build(
            job["model"], device=job["device"], precision="fp16", shapes={"input": list(self.input.shape)},
            storages={"input": "row:float16", "output": "row:float16"}, **settings,
        )
        self.context = engine.create_context()
        self.result = self.torch.empty(engine.outputs[0].shape, dtype=self.torch.half, device=job["device"])
        self.version, self.how = lanner.__version__, f"budget {'default' if job['budget'] is None else job['budget']}"
        for _ in range(WARM_UP):
            self.queue()
        self.stream.synchronize()

    def queue(self):
        self.context.enqueue({"input": self.input}, self.stream.cuda_stream, outputs={"output": self.result})


class Inductor(Queued):
    """torch.compile with frozen FP16 weights; the fastest of its modes and memory formats."""

    def __init__(self, job):
        super().__init__(job)
        torch = self.torch
        import torch._inductor.config as settings

        settings.freezing = True
        torch.set_grad_enabled(False)
        torch.backends.cudnn.benchmark = True
        self.version = torch.__version__
        formats = [torch.contiguous_format]
        if len(job["shape"]) == 3:
            formats = [torch.channels_last] + formats * job["both_formats"]
        tried = [self.tried(job, mode, order) for mode in CHOICES[: 1 + job["max_autotune"]] for order in formats]
        _, self.given, self.graph, self.result, self.how = min(tried, key=lambda one: one[0])

    def tried(self, job, mode, memory_format):
        """Seconds of a run, its inputs, its graph, its outputs, and how it was made."""
        torch = self.torch
        given, self.graph, result = self.record(job, mode, memory_format)
        how = f"{mode}, {'channels last' if memory_format == torch.channels_last else 'row-major'}"
        return self.seconds(0.05, LEAST), given, self.graph, result, how

    def record(self, job, mode, memory_format):
        torch = self.torch
        module = module_of(job["network"])
        module.load_state_dict(torch.load(job["weights"], weights_only=True))
        module = module.to(job["device"]).half()
        given = feed(job["shape"], job["batch"]).to(job["device"])
        if given.dim() == 4:
            module, given = module.to(memory_format=memory_format), given.contiguous(memory_format=memory_format)
        torch._dynamo.reset()
        compiled = torch.compile(module, mode=None if mode == "default" else mode)
        with torch.inference_mode(), torch.cuda.stream(self.stream):
            for _ in range(WARM_UP):
                compiled(given)
            self.stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream):
                result = compiled(given)
        return given, graph, result

    def queue(self):
        self.graph.replay()


SYSTEMS = {"export": Export, "lanner": Lanner, "inductor": Inductor}


class Systems:
    """The system of this process."""

    def load(self, command):
        start = time.perf_counter()
        try:
            self.system = SYSTEMS[command["system"]](command)
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "torchvision", "transformers", "onnxscript"):
                raise
            return {"missing": f"{error.name} is not installed"}
        values = self.system.first_values() if isinstance(self.system, Queued) else []
        return {"version": self.system.version, "how": self.system.how, "values": values, "build": time.perf_counter() - start}

    def run(self, command):
        return {"seconds": self.system.seconds(command["seconds"], command["least"])}


if __name__ == "__main__":
    serve(Systems())
