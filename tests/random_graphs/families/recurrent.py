"""Recurrent nets. `clip` is not generated: onnxruntime applies it at another point and onnx.reference not at all, so there is no oracle."""

import numpy

from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import F32

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# Bounded ones: states that overflow their type cannot be compared.
ACTIVATIONS = ("Tanh", "Sigmoid", "HardSigmoid", "Softsign")
STEPS = {"LSTM": 3, "GRU": 2, "RNN": 1}


@family("recurrent", 2)
def recurrent_net(g: GraphBuilder):
    operator = g.choose(list(GATES))
    x = g.pick([F32], ranks=[3], fits=all)
    batch_first = g.opset >= 14 and g.chance(0.1)
    length, batch, width = g.shape(x)
    if batch_first:
        length, batch = batch, length
    direction = g.choose(["forward", "reverse", "bidirectional"])
    ways, hidden = 2 if direction == "bidirectional" else 1, g.draw.randint(1, 5)
    gates = GATES[operator] * hidden
    state = [batch, ways, hidden] if batch_first else [ways, batch, hidden]
    # Small ones: a state that drifts away amplifies rounding at every step.
    recurrence = g.constant((g.rng().integers(-3, 4, [ways, gates, hidden]) / 8).astype(numpy.float32))
    inputs = [x, g.parameter(F32, [ways, gates, width]), recurrence]
    inputs.append(g.parameter(F32, [ways, 2 * gates]) if g.chance(0.6) else "")
    inputs.append(g.constant(g.rng().integers(1, length + 1, batch).astype(numpy.int32)) if g.chance(0.35) else "")
    inputs.append(g.parameter(F32, state) if g.chance(0.4) else "")
    if operator == "LSTM":
        inputs.append(g.parameter(F32, state) if g.chance(0.4) else "")
        inputs.append(g.parameter(F32, [ways, 3 * hidden]) if g.chance(0.4) else "")
    outputs = 3 if operator == "LSTM" else 2
    g.node(
        operator,
        inputs,
        g.choose([1, outputs, [0] + [1] * (outputs - 1)]),
        hidden_size=hidden,
        direction=direction,
        layout=1 if batch_first else None,
        linear_before_reset=1 if operator == "GRU" and g.chance(0.5) else None,
        input_forget=1 if operator == "LSTM" and g.chance(0.2) else None,
        activations=g.draw.choices(ACTIVATIONS, k=STEPS[operator]) * ways if g.chance(0.1) else None,
    )
