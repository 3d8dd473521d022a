"""Tokens, positions and experts as ONNX Runtime's tools for language models write them (domain com.microsoft)."""

import numpy as np
import pytest
from single_node import agree, integers, random, refused

COUNTS = np.array([2, 4, 1], np.int32)
KEPT = np.array([0, 1, 4, 5, 6, 7, 8])


# ONNX Runtime has GPU kernels only for these.
def test_padding_is_removed_and_restored():
    x = random(3, 4, 5)
    offsets = np.concatenate([KEPT, [2, 3, 9, 10, 11]]).reshape(3, 4).astype(np.int32)
    ends, most = np.array([0, 2, 6, 7], np.int32), np.array([4], np.int32)
    rows = x.reshape(12, 5)
    agree("RemovePadding", {"x": x, "n": COUNTS}, outputs=4, expected=[rows[KEPT], offsets, ends, most])
    restored = np.zeros_like(rows)
    restored[KEPT] = rows[KEPT]
    agree("RestorePadding", {"x": rows[KEPT], "o": offsets}, expected=[restored.reshape(3, 4, 5)])


def bucket(distance, buckets, both_ways, farthest):
    """By the definition of T5."""
    start = 0
    if both_ways:
        buckets //= 2
        start = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    near = buckets // 2
    if distance < near:
        return start + distance
    return start + min(near + int(np.log(distance / near) / np.log(farthest / near) * (buckets - near)), buckets - 1)


@pytest.mark.parametrize("both_ways", [0, 1])
def test_relative_position_bias(both_ways):
    buckets, heads, length, farthest = 8, 3, 25, 20
    table = random(buckets, heads)
    places = np.array([[bucket(k - q, buckets, both_ways, farthest) for k in range(length)] for q in range(length)])
    inputs = {"table": np.ascontiguousarray(table.T).reshape(buckets, heads), "q": np.array([length]), "k": np.array([length])}
    attributes = {"max_distance": farthest, "is_bidirectional": both_ways}
    agree("RelativePositionBias", inputs, attributes, constants=("q", "k"), expected=[table[places].transpose(2, 0, 1)[None]])
    refused("RelativePositionBias", inputs, {"max_distance": 2}, match="expected more distances than buckets")


def test_gated_relative_position_bias():
    batch, heads, length, size, width = 2, 2, 3, 4, 6
    x, x_bias, places = random(batch, length, heads * size), random(heads * size, seed=1), random(1, heads, length, length, seed=2)
    weights, bias, eco = random(size, width, seed=3), random(width, seed=4), random(1, heads, 1, 1, seed=5)
    q = (x + x_bias).reshape(batch, length, heads, size).transpose(0, 2, 1, 3)
    sums = (q @ weights + bias).reshape(batch, heads, length, 2, width // 2).sum(-1)
    gates = 1 / (1 + np.exp(-sums))
    expected = (gates[..., :1] * (gates[..., 1:] * eco - 1) + 2) * places
    inputs = {"x": x, "xb": x_bias, "p": places, "w": weights, "b": bias, "e": eco}
    agree("GatedRelativePositionBias", inputs, {"num_heads": heads}, expected=[expected.astype(np.float32)])


def test_recurrent_states():
    batch, length, heads, size = 2, 3, 2, 4
    inputs = {name: random(batch, length, heads * size, seed=seed, scale=0.5) for seed, name in enumerate("qkv")}
    inputs |= {"past": random(batch, heads, size, size, seed=4), "decay": -np.abs(random(batch, length, heads, seed=5)), "beta": np.abs(random(batch, length, heads, seed=6))}
    agree("LinearAttention", inputs, {"q_num_heads": heads, "kv_num_heads": heads}, outputs=2, atol=1e-4)
    conv = {"x": random(2, 4, 5), "w": random(4, 1, 3, seed=1), "b": random(4, seed=2), "past": random(2, 4, 2, seed=3)}
    agree("CausalConvWithState", conv, {"activation": "silu"}, outputs=2)
    refused("CausalConvWithState", conv, {"dilation": 2}, outputs=2, match="attribute dilation is 2")


TOKENS, HIDDEN, INTER, EXPERTS = 5, 16, 32, 4


def expert_inputs(columns=INTER, third=False, bias=True):
    return {
        "x": random(TOKENS, HIDDEN),
        "router": random(TOKENS, EXPERTS, seed=1),
        "w1": random(EXPERTS, columns, HIDDEN, seed=2, scale=0.3),
        "b1": random(EXPERTS, columns, seed=3) if bias else None,
        "w2": random(EXPERTS, HIDDEN, INTER, seed=4, scale=0.3),
        "b2": random(EXPERTS, HIDDEN, seed=5) if bias else None,
        "w3": random(EXPERTS, INTER, HIDDEN, seed=6, scale=0.3) if third else None,
    }


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity"])
@pytest.mark.parametrize("normalised", [0, 1])
def test_mixture_of_experts(k, activation, normalised):
    attributes = {"k": k, "activation_type": activation, "normalize_routing_weights": normalised}
    agree("MoE", expert_inputs(bias=k == 1), attributes, atol=1e-4)


def test_mixture_of_gated_experts():
    attributes = {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 1.5}
    agree("MoE", expert_inputs(2 * INTER), attributes, atol=1e-4)
    wide = expert_inputs(2 * INTER) | {"x": random(1, TOKENS, HIDDEN)}
    agree("MoE", wide, attributes, atol=1e-4)


def test_unsupported_mixtures_are_refused():
    refused("MoE", expert_inputs(), {"activation_type": "sine"}, match="attribute activation_type: 'sine'")
    refused("MoE", expert_inputs(), {"use_sparse_mixer": 1}, match="use_sparse_mixer is 1")
    refused("MoE", expert_inputs(), {"activation_type": "swiglu"}, match="swiglu_fusion is 0 without weights of a third layer")


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("block", [None, 16])
def test_quantised_mixture_of_experts(bits, block):
    each = 8 // bits

    def layer(rows, depth, seed):
        shape = (EXPERTS, rows) if block is None else (EXPERTS, rows, depth // block)
        return integers(0, 256, EXPERTS, rows, depth // each, seed=seed, dtype=np.uint8), np.random.default_rng(seed).uniform(0.001, 0.005, shape).astype(np.float32)

    first, second = layer(INTER, HIDDEN, 2), layer(HIDDEN, INTER, 3)
    inputs = {"x": random(TOKENS, HIDDEN), "router": random(TOKENS, EXPERTS, seed=1), "w1": first[0], "s1": first[1], "b1": None, "w2": second[0], "s2": second[1]}
    attributes = {"k": 2, "activation_type": "silu", "expert_weight_bits": bits, "normalize_routing_weights": 1}
    if block:
        attributes["block_size"] = block
    # ONNX Runtime rounds data to 8 bits where weights have 8 bits.
    agree("QMoE", inputs, attributes, rtol=0, atol=2e-2 if bits == 8 else 1e-4, constants=("w1", "s1", "w2", "s2"))
