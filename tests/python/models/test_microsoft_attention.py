"""Attention as ONNX Runtime's optimisers and generators write it (domain com.microsoft) agrees with ONNX Runtime."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from single_node import agree, by_lanner, by_onnxruntime, integers, model_of, random, refused

BATCH, SEQUENCE, HEADS, SIZE = 2, 4, 2, 3
HIDDEN = HEADS * SIZE

MASKS = {
    "none": None,
    "lengths": np.array([4, 2], np.int32),
    "lengths and starts": np.array([4, 3, 0, 1], np.int32),
    "keys": np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int32),
    "queries and keys": integers(0, 2, BATCH, SEQUENCE, SEQUENCE, seed=5),
    "nothing seen": np.array([[1, 1, 1, 1], [0, 0, 0, 0]], np.int32),
}


def attention_inputs(mask=None, past=0, bias=None, v_hidden=HIDDEN, **more):
    columns = 2 * HIDDEN + v_hidden
    inputs = {
        "x": random(BATCH, SEQUENCE, 5),
        "w": random(5, columns, seed=1, scale=0.5),
        "b": random(columns, seed=2),
        "mask": mask,
        "past": random(2, BATCH, HEADS, past, SIZE, seed=3) if past else None,
        "bias": bias,
    }
    return inputs | more


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention(mask, unidirectional):
    attributes = {"num_heads": HEADS, "unidirectional": unidirectional}
    agree("Attention", attention_inputs(MASKS[mask]), attributes, constants=("w", "b"))


def test_attention_with_a_filter_and_a_scale_of_its_own():
    attributes = {"num_heads": HEADS, "mask_filter_value": -3.0, "scale": 0.75}
    agree("Attention", attention_inputs(MASKS["keys"]), attributes, constants=("w", "b"))


def test_attention_without_offset():
    """ONNX Runtime's CPU kernel crashes where the offset is left out."""
    zero = attention_inputs() | {"b": np.zeros(3 * HIDDEN, np.float32)}
    expected = by_onnxruntime(model_of("Attention", zero, {"num_heads": HEADS}), zero)
    agree("Attention", zero | {"b": None}, {"num_heads": HEADS}, expected=expected)


@pytest.mark.parametrize("bias", [(1, 1), (1, HEADS), (BATCH, HEADS)])
def test_attention_with_a_bias_of_the_scores(bias):
    inputs = attention_inputs(MASKS["keys"], bias=random(*bias, SEQUENCE, SEQUENCE, seed=7))
    agree("Attention", inputs, {"num_heads": HEADS, "unidirectional": 1})


@pytest.mark.parametrize("mask", [None, np.array([[1] * 7, [0, 1, 1, 1, 1, 1, 0]], np.int32)])
def test_attention_with_a_past(mask):
    attributes = {"num_heads": HEADS, "unidirectional": 1}
    agree("Attention", attention_inputs(mask, past=3), attributes, outputs=2, constants=("w", "b"))


def test_attention_returns_keys_and_values():
    agree("Attention", attention_inputs(), {"num_heads": HEADS}, outputs=2)


def test_attention_with_wider_values():
    inputs = attention_inputs(v_hidden=10)
    agree("Attention", inputs, {"num_heads": HEADS, "qkv_hidden_sizes": [HIDDEN, HIDDEN, 10]}, constants=("w", "b"))


def test_attention_refuses_unsupported_options():
    heads = {"num_heads": HEADS}
    refused("Attention", attention_inputs(), {"num_heads": 0}, match="attribute num_heads is 0")
    refused("Attention", attention_inputs(), {"num_heads": 4}, match="does not divide into 4 heads")
    refused("Attention", attention_inputs(), heads | {"do_rotary": 1}, match="attribute do_rotary is 1")
    refused("Attention", attention_inputs(), heads | {"qkv_hidden_sizes": [6, 6, 5]}, match="the weights have 18 columns")
    refused("Attention", attention_inputs(), heads | {"past_present_share_buffer": 1}, match="past_present_share_buffer")
    refused("Attention", attention_inputs(np.zeros(8, np.int32)), heads, match="the mask is i32.8. for a batch of 2")


@pytest.mark.parametrize("mask", ["none", "lengths", "keys"])
@pytest.mark.parametrize("columns", [False, True])
def test_quantized_attention(mask, columns):
    width = 3 * HIDDEN
    inputs = {
        "x": integers(0, 255, BATCH, SEQUENCE, 5, dtype=np.uint8),
        # 7-bit values: on CPUs with AVX2 only, ONNX Runtime adds two 8-bit products in 16 bits, which would
        # otherwise overflow.
        "w": integers(-64, 64, 5, width, dtype=np.int8),
        "b": random(width, seed=2),
        "x_scale": np.float32(0.01),
        "w_scale": np.linspace(0.005, 0.02, width, dtype=np.float32) if columns else np.float32(0.01),
        "mask": MASKS[mask],
        "x_zero": np.uint8(120),
        "w_zero": np.zeros(width, np.int8) if columns else np.int8(3),
    }
    agree("QAttention", inputs, {"num_heads": HEADS, "unidirectional": int(columns)}, constants=("w", "b", "w_scale", "w_zero"))


def test_quantized_attention_with_a_past():
    width = 3 * HIDDEN
    inputs = {
        "x": integers(0, 255, BATCH, SEQUENCE, 5, dtype=np.uint8),
        "w": integers(0, 255, 5, width, dtype=np.uint8),
        "b": random(width, seed=2),
        "x_scale": np.float32(0.01),
        "w_scale": np.float32(0.01),
        "mask": None,
        "x_zero": np.uint8(120),
        "w_zero": np.uint8(100),
        "past": random(2, BATCH, HEADS, 3, SIZE, seed=3),
    }
    agree("QAttention", inputs, {"num_heads": HEADS, "unidirectional": 1}, outputs=2)


def heads_inputs(keys=5, v_size=SIZE, **more):
    return {
        "q": random(BATCH, SEQUENCE, HIDDEN),
        "k": random(BATCH, keys, HIDDEN, seed=1),
        "v": random(BATCH, keys, HEADS * v_size, seed=2),
        "b": None,
        "mask": None,
        "bias": None,
        "past_k": None,
        "past_v": None,
    } | more


@pytest.mark.parametrize("v_size", [SIZE, 5])
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_attention(v_size, bias):
    inputs = heads_inputs(v_size=v_size)
    if bias:
        inputs["b"] = random(2 * HIDDEN + HEADS * v_size, seed=4)
    agree("MultiHeadAttention", inputs, {"num_heads": HEADS}, constants=("b",))


@pytest.mark.parametrize(
    "mask",
    [np.array([5, 2], np.int32), np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0]], np.int32), integers(0, 2, BATCH, SEQUENCE, 5, seed=5)],
    ids=["lengths", "keys", "queries and keys"],
)
def test_multi_head_attention_with_a_mask(mask):
    agree("MultiHeadAttention", heads_inputs(mask=mask), {"num_heads": HEADS, "mask_filter_value": -5.0})


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_attention_with_a_past(unidirectional):
    past = {name: random(BATCH, HEADS, 3, SIZE, seed=seed) for name, seed in (("past_k", 6), ("past_v", 7))}
    inputs = heads_inputs(keys=SEQUENCE, bias=random(1, HEADS, SEQUENCE, SEQUENCE + 3, seed=8), **past)
    agree("MultiHeadAttention", inputs, {"num_heads": HEADS, "unidirectional": unidirectional}, outputs=3)


def test_multi_head_attention_returns_its_scores():
    agree("MultiHeadAttention", heads_inputs(), {"num_heads": HEADS}, outputs=[True, False, False, True], types={"y3": TensorProto.FLOAT})


def test_multi_head_attention_to_keys_in_heads():
    inputs = heads_inputs(b=random(3 * HIDDEN, seed=4)) | {name: random(BATCH, HEADS, 5, SIZE, seed=seed) for name, seed in (("k", 1), ("v", 2))}
    agree("MultiHeadAttention", inputs, {"num_heads": HEADS, "scale": 0.3})


def test_multi_head_attention_on_packed_inputs():
    packed = heads_inputs() | {"q": random(BATCH, SEQUENCE, HEADS, 3, SIZE), "k": None, "v": None}
    sides = [packed["q"][:, :, :, i].reshape(BATCH, SEQUENCE, HIDDEN) for i in range(3)]
    plain = heads_inputs() | dict(zip("qkv", sides, strict=True))
    expected = by_onnxruntime(model_of("MultiHeadAttention", plain, {"num_heads": HEADS}), plain)
    agree("MultiHeadAttention", packed, {"num_heads": HEADS}, expected=expected)
    both = plain | {"k": np.stack([side.reshape(BATCH, SEQUENCE, HEADS, SIZE) for side in sides[1:]], 3), "v": None}
    agree("MultiHeadAttention", both, {"num_heads": HEADS}, expected=expected)


def test_multi_head_attention_refuses_unsupported_options():
    heads = {"num_heads": HEADS}
    refused("MultiHeadAttention", heads_inputs(past_k=random(BATCH, HEADS, 8, SIZE)), heads, match="one of past_key and past_value is given")
    refused("MultiHeadAttention", heads_inputs(k=None, v=None), heads, match="expected rank 5 where no key is given")
    refused("MultiHeadAttention", heads_inputs(b=random(7)), heads, match="the bias is f32.7.")


def decoder_inputs(**more):
    """A cache for 8 tokens that holds 3."""
    return {
        "q": random(BATCH, 1, HIDDEN),
        "k": random(BATCH, 1, HIDDEN, seed=1),
        "v": random(BATCH, 1, HIDDEN, seed=2),
        "mask": None,
        "bias": None,
        "past_k": random(BATCH, HEADS, 8, SIZE, seed=3),
        "past_v": random(BATCH, HEADS, 8, SIZE, seed=4),
        "length": np.array([3], np.int32),
        "beams": np.array([1], np.int32),
        "indirection": None,
        "b": None,
    } | more


def test_decoder_attention():
    attributes = {"num_heads": HEADS, "past_present_share_buffer": 1}
    agree("DecoderMaskedMultiHeadAttention", decoder_inputs(), attributes, outputs=3)
    mask = np.array([[1, 1, 1, 1], [0, 1, 1, 1]], np.int32)
    agree("DecoderMaskedMultiHeadAttention", decoder_inputs(mask=mask, b=random(3 * HIDDEN, seed=5)), attributes, outputs=3)
    beams = decoder_inputs(indirection=np.zeros((BATCH, 1, 8), np.int32))
    refused("DecoderMaskedMultiHeadAttention", beams, attributes, outputs=3, match="input cache_indirection is given")


def test_decoder_attention_to_an_encoder():
    inputs = {"q": random(BATCH, 1, HIDDEN), "k": random(BATCH, HEADS, 5, SIZE, seed=1), "v": random(BATCH, HEADS, 5, SIZE, seed=2)}
    agree("DecoderMaskedMultiHeadAttention", inputs, {"num_heads": HEADS})


def attended(q, k, v):
    """One sequence: [tokens, heads * size] each."""
    sides = [x.reshape(len(x), HEADS, SIZE).transpose(1, 0, 2).astype(np.float64) for x in (q, k, v)]
    scores = sides[0] @ sides[1].transpose(0, 2, 1) / np.sqrt(SIZE)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ sides[2]).transpose(1, 0, 2).reshape(len(q), HIDDEN).astype(np.float32)


# ONNX Runtime has GPU kernels only for these.
def test_packed_sequences():
    tokens, ends = 7, np.array([0, 1, 3, 7], np.int32)
    offsets = np.zeros((3, 4), np.int32)
    x, w, b = random(tokens, 5), random(5, 3 * HIDDEN, seed=1), random(3 * HIDDEN, seed=2)
    sides = np.split(x @ w + b, 3, axis=1)
    expected = [np.concatenate([attended(*(side[i:j] for side in sides)) for i, j in zip(ends[:-1], ends[1:], strict=True)])]
    agree("PackedAttention", {"x": x, "w": w, "b": b, "offsets": offsets, "ends": ends}, {"num_heads": HEADS}, expected=expected)
    separate = dict(zip("qkv", np.split(x @ w, 3, axis=1), strict=True)) | {"b": b, "offsets": offsets, "ends": ends}
    agree("PackedMultiHeadAttention", separate, {"num_heads": HEADS}, expected=expected)
    packed = np.stack([side.reshape(tokens, HEADS, SIZE) for side in sides], 2)
    together = {"q": packed, "k": None, "v": None, "b": None, "offsets": offsets, "ends": ends}
    agree("PackedMultiHeadAttention", together, {"num_heads": HEADS}, expected=expected)


def in_type(element, inputs, attributes):
    """Attention of several heads in an element type, between casts from and to f32."""
    names = [f"{name}_cast" if array is not None and array.dtype == np.float32 else name if array is not None else "" for name, array in inputs.items()]
    given = {name: array for name, array in inputs.items() if array is not None}
    nodes = [helper.make_node("Cast", [name], [f"{name}_cast"], to=element) for name, array in given.items() if array.dtype == np.float32]
    nodes.append(helper.make_node("MultiHeadAttention", names, ["z"], domain="com.microsoft", num_heads=HEADS, **attributes))
    nodes.append(helper.make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in given.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return by_lanner(helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString(), given)[0]


@pytest.mark.parametrize("element", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_queries_that_see_no_key_attend_to_all_of_them_alike(element):
    """The lowest number of f32 is an infinity in types of 16 bits, whose softmax would be NaN."""
    masked = heads_inputs(mask=np.array([[1] * 5, [0] * 5], np.int32))
    all_masked = in_type(element, masked, {"mask_filter_value": float(np.finfo(np.float32).min)})
    early = heads_inputs(keys=SEQUENCE - 1)  # the first query is before the first key
    one_early = in_type(element, early, {"unidirectional": 1})
    assert np.isfinite(all_masked).all() and np.isfinite(one_early).all()
    if element != TensorProto.FLOAT16:  # whose lowest number does not swallow the scores that it is added to in f32
        np.testing.assert_allclose(all_masked[1], np.repeat(masked["v"].mean(1)[1:], SEQUENCE, 0), atol=0.02)
        np.testing.assert_allclose(one_early[:, 0], early["v"].mean(1), atol=0.02)


def caches(rows, half):
    angles = np.arange(rows)[:, None] / 100.0 ** (np.arange(half) / half)
    return {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("places", ["all", "first"])
def test_rotary_embedding(interleaved, places):
    given = np.array([2], np.int64) if places == "first" else integers(0, 9, 2, 3, dtype=np.int64)
    attributes = {"interleaved": interleaved}
    agree("RotaryEmbedding", {"x": random(2, 3, 16), "p": given} | caches(9, 4), attributes)
    agree("RotaryEmbedding", {"x": random(2, 2, 3, 8), "p": given} | caches(9, 4), attributes)
    partly = attributes | {"num_heads": 2, "rotary_embedding_dim": 4}
    agree("RotaryEmbedding", {"x": random(2, 3, 16), "p": given} | caches(9, 2), partly)


def test_rotary_embedding_refuses_wrong_caches():
    inputs = {"x": random(1, 2, 3, 4), "p": integers(0, 3, 1, 3, dtype=np.int64)} | caches(9, 4)
    refused("RotaryEmbedding", inputs, match="cos_cache is f32.9, 4., which is wider than half a head of 4")


GROUPS, WIDTH = 2, 32  # heads of keys, size of each


def group_inputs(sequence, lengths, past=None, packed=False, total=None, heads=4, **more):
    batch = len(lengths)
    q, k, v = (random(batch, sequence, n * WIDTH, seed=seed) for n, seed in ((heads, 0), (GROUPS, 1), (GROUPS, 2)))
    cache = None if past is None else (random(batch, GROUPS, past, WIDTH, seed=3), random(batch, GROUPS, past, WIDTH, seed=4))
    return {
        "q": np.concatenate([q, k, v], 2) if packed else q,
        "k": None if packed else k,
        "v": None if packed else v,
        "past_k": cache and cache[0],
        "past_v": cache and cache[1],
        "lengths": np.array(lengths, np.int32) - 1,
        "total": np.array([max(lengths) if total is None else total], np.int32),
        "cos": None,
        "sin": None,
    } | more


def agree_on_tokens(inputs, attributes, lengths, **options):
    """Values after the end of a sequence are undefined."""
    attributes = {"num_heads": 4, "kv_num_heads": GROUPS} | attributes
    model = model_of("GroupQueryAttention", inputs, attributes, 3, constants=("cos", "sin", "total"), **options)
    got, expected = by_lanner(model, inputs), by_onnxruntime(model, inputs)
    sequence = inputs["q"].shape[1]
    for mine, other in zip(got, expected, strict=True):
        assert mine.shape == other.shape
    for b, length in enumerate(lengths):
        first = inputs["total"][0] == sequence
        tokens = length if first else sequence
        np.testing.assert_allclose(got[0][b, :tokens], expected[0][b, :tokens], rtol=1e-5, atol=1e-5)
        for mine, other in zip(got[1:], expected[1:], strict=True):
            np.testing.assert_allclose(mine[b, :, :length], other[b, :, :length], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rotary", [0, 1])
@pytest.mark.parametrize(
    ("sequence", "lengths", "past"),
    [(5, [5, 5], None), (5, [5, 3], None), (5, [5, 5], 0), (1, [7, 4], 6), (1, [7, 4], 12), (3, [8], 5)],
)
def test_group_query_attention(packed, rotary, sequence, lengths, past):
    inputs = group_inputs(sequence, lengths, past, packed)
    if rotary:
        inputs |= caches(16, WIDTH // 2)
    for open_axes in (None, {1: [0], 3: [0, 1], 4: [0, 2]}):
        agree_on_tokens(inputs, {"do_rotary": rotary}, lengths, open_axes=open_axes)


@pytest.mark.parametrize(
    "attributes",
    [{"scale": 0.2}, {"softcap": 1.5}, {"local_window_size": 2}, {"smooth_softmax": 1}, {"softcap": 0.7, "local_window_size": 3}],
    ids=str,
)
@pytest.mark.parametrize(("sequence", "lengths", "past"), [(6, [6, 4], None), (1, [7, 4], 6), (2, [7], 5)])
def test_group_query_attention_and_its_attributes(attributes, sequence, lengths, past):
    agree_on_tokens(group_inputs(sequence, lengths, past), attributes, lengths)


def test_group_query_attention_with_a_bias_and_sinks():
    bias = random(1, 4, 2, 7, seed=9)
    inputs = group_inputs(2, [7], 5, places=None, bias=bias)
    agree_on_tokens(inputs, {}, [7])
    agree_on_tokens(inputs | {"sink": random(4, seed=10)}, {}, [7])


def test_group_query_attention_at_given_positions():
    places = np.array([[6], [4]], np.int64)
    inputs = group_inputs(1, [7, 5], 6, **caches(16, WIDTH // 2), places=places)
    agree_on_tokens(inputs, {"do_rotary": 1}, [7, 5])
    agree_on_tokens(inputs, {"do_rotary": 1, "rotary_interleaved": 1}, [7, 5])


def test_group_query_attention_rotates_a_part():
    inputs = group_inputs(1, [4, 3], 4, **caches(16, WIDTH // 4))
    agree_on_tokens(inputs, {"do_rotary": 1}, [4, 3])


@pytest.mark.parametrize("output", [1, 2])
def test_group_query_attention_returns_its_scores(output):
    inputs = group_inputs(3, [3, 3])
    attributes = {"num_heads": 4, "kv_num_heads": GROUPS, "qk_output": output}
    model = model_of("GroupQueryAttention", inputs, attributes, 4)
    got, expected = by_lanner(model, inputs)[3], by_onnxruntime(model, inputs)[3]
    seen = np.tril(np.ones((3, 3), bool))
    np.testing.assert_allclose(np.where(seen, got, 0), np.where(seen, expected, 0), rtol=1e-5, atol=1e-5)


def test_group_query_attention_refuses_unsupported_options():
    heads = {"num_heads": 4, "kv_num_heads": GROUPS}
    refused("GroupQueryAttention", group_inputs(3, [3]), heads | {"sliding_window_cache": 1}, 3, match="sliding_window_cache is 1")
    refused("GroupQueryAttention", group_inputs(3, [3]), heads | {"k_quant_type": "PER_TENSOR"}, 3, match="k_quant_type is 'PER_TENSOR'")
    refused("GroupQueryAttention", group_inputs(3, [3]), heads | {"kv_num_heads": 3}, 3, match="does not divide")
