"""A network cut into pieces that each run on the float64 run's values: an error within a piece
shows, and the network's amplification of rounding does not."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

from networks import comparison, float64, parts, verdict
from networks.answers import HALVES
from networks.catalogue import Feed, Network
from networks.executor import reads_of
from networks.jobs import Job, Row, Stage, Subject, arrays_of, halves_by_torch, has_torch, onnxruntime_session, torch_network

PIECES, RUNS = 8, 3
LEAST_MASK = 1e8


@dataclass(frozen=True)
class Found:
    """Distances of one piece, by output."""

    ours: dict[str, dict]
    rival: dict[str, dict]

    def wrong(self, precision: str) -> str:
        told = ((name, verdict.wrong_output(one, self.rival.get(name), precision)) for name, one in self.ours.items())
        return "; ".join(f"{name}: {text}" for name, text in told if text)


class Cutter:
    """One network at one shape, with every value of its float64 run."""

    def __init__(self, job: Job, stage: Stage):
        self.job, self.stage, self.subject = job, stage, Subject(job, stage)
        network = Network(job.network)
        self.model = onnx.load(job.store.model(network, job.part))
        graph = self.model.graph
        self.nodes, self.types = list(graph.node), parts.element_types(self.model)
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        feed = job.store.feed(network, job.case())
        self.from_data = set(feed)
        for node in self.nodes:
            if node.op_type != "Shape" and reads_of(node) & self.from_data:
                self.from_data |= set(node.output)
        stage("float64 run of every value")
        names = [name for node in self.nodes for name in node.output if name]
        self.values = feed | float64.run(self.model, feed, names)

    def value(self, name: str) -> np.ndarray:
        """In the network's types: FP32 where float64 runs widen."""
        array = self.values[name]
        return array.astype(np.float32) if array.dtype == np.float64 else array

    def piece(self, first: int, end: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        """The nodes from `first` up to `end` as a model, and its inputs. Values that depend only on shapes are constants."""
        nodes = self.nodes[first:end]
        made = {name for node in nodes for name in node.output if name}
        read = set().union(*map(reads_of, nodes)) - made
        later = set().union(*map(reads_of, self.nodes[end:])) | {value.name for value in self.model.graph.output}
        told = later & self.from_data
        outputs = [name for node in nodes for name in node.output if name in told and self.values[name].dtype == np.float64]
        feed = {name: self.value(name) for name in sorted(read & self.from_data)}
        fixed = [self.constants.get(name) or numpy_helper.from_array(self.value(name), name) for name in sorted(read - self.from_data)]
        inputs = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in feed.items()]
        graph = onnx.helper.make_graph(nodes, f"nodes {first} to {end}", inputs, [parts.output_of(self.types, name) for name in outputs], fixed)
        return onnx.helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version), feed

    def leaves_halves(self, first: int, end: int) -> bool:
        """Whether a value of the piece exceeds FP16's range; masks do so on purpose, by far."""
        arrays = (np.abs(self.values[name]) for node in self.nodes[first:end] for name in node.output if name)
        return any(((array > np.finfo(np.float16).max) & (array < LEAST_MASK)).any() for array in arrays if array.dtype == np.float64)

    def found(self, first: int, end: int) -> Found:
        """Lanner's and the rival's distances from a float64 run of the piece on the same numbers."""
        self.stage(f"nodes {first} to {end} of {len(self.nodes)}")
        model, feed = self.piece(first, end)
        names = [value.name for value in model.graph.output]
        if not names or not feed or (self.job.precision == HALVES and self.leaves_halves(first, end)):
            return Found({}, {})
        expected = float64.run(model, feed, names)
        engine = self.subject.build_model(model, {name: array.shape for name, array in feed.items()})
        context, placed = engine.create_context(), self.subject.placed(feed)
        ours = comparison.worst([comparison.distances(arrays_of(context(placed)), expected) for _ in range(RUNS)])
        return Found(ours, self.rival(model, feed, expected))

    def rival(self, model: onnx.ModelProto, feed: Feed, expected: comparison.Arrays) -> dict[str, dict]:
        """Distances of the runtimes of `jobs.rival`."""
        there = self.distances_by_torch(model, feed, expected) if has_torch(self.job.device) else {}
        if there and halves_by_torch(self.job):
            return there
        found = self.distances_by_onnxruntime(model, feed, expected)
        if not there or self.job.precision == HALVES:
            return found
        return {name: verdict.laxer(one, there[name]) for name, one in found.items()}

    def distances_by_torch(self, model: onnx.ModelProto, feed: Feed, expected: comparison.Arrays) -> dict[str, dict]:
        """None for operators that PyTorch lacks."""
        try:
            return comparison.distances(self.by_torch(model, feed), expected)
        except RuntimeError:
            return {}

    def distances_by_onnxruntime(self, model: onnx.ModelProto, feed: Feed, expected: comparison.Arrays) -> dict[str, dict]:
        """In FP32, which is stricter, if the conversion to FP16 breaks the piece by putting casts of an inner graph's values
        outside of that graph."""
        halved = parts.in_halves(model) if self.job.precision == HALVES else model
        try:
            session = onnxruntime_session(halved.SerializeToString(), self.job.threads)
        except Exception:  # each of its error codes has a class of its own
            if halved is model:
                raise
            session = onnxruntime_session(model.SerializeToString(), self.job.threads)
        return comparison.distances(dict(zip(expected, session.run(list(expected), feed), strict=True)), expected)

    def by_torch(self, model: onnx.ModelProto, feed: Feed) -> comparison.Arrays:
        copied = onnx.ModelProto.FromString(model.SerializeToString())
        return torch_network(self.job, copied, feed).run(feed)


def check_pieces(job: Job, stage: Stage) -> Row:
    """Some pieces of similar size, each on its own."""
    cutter = Cutter(job, stage)
    found = [cutter.found(*piece) for piece in ends_of(PIECES, len(cutter.nodes))]
    ours, rival = ({name: one for piece in found for name, one in getattr(piece, side).items()} for side in ("ours", "rival"))
    return {"outputs": ours, "rival_outputs": rival}


def locate(job: Job, stage: Stage) -> Row:
    """The smallest piece that is wrong on its own, by bisection."""
    cutter = Cutter(job, stage)
    (first, end), text = wrong_piece(cutter)
    while text and end - first > 1:
        middle = (first + end) // 2
        for half in ((first, middle), (middle, end)):
            if wrong := cutter.found(*half).wrong(job.precision):
                (first, end), text = half, wrong
                break
        else:
            break
    if not text:
        return {"nodes": [], "text": f"none of {PIECES} pieces is wrong by itself: rounding that the network as a whole amplifies"}
    return {"nodes": [f"{node.name or node.output[0]} ({node.op_type})" for node in cutter.nodes[first:end]], "text": text}


def ends_of(count: int, nodes: int) -> list[tuple[int, int]]:
    ends = [nodes * i // count for i in range(count + 1)]
    return list(zip(ends, ends[1:], strict=False))


def wrong_piece(cutter: Cutter) -> tuple[tuple[int, int], str]:
    """A wrong piece, and how it is wrong; preferably a large one, as smaller ones amplify less."""
    count = 2
    while count <= PIECES:
        for piece in ends_of(count, len(cutter.nodes)):
            if text := cutter.found(*piece).wrong(cutter.job.precision):
                return piece, text
        count *= 2
    return (0, 0), ""
