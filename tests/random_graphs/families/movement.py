"""Operators that only move elements."""

import numpy

from random_graphs import values
from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import BOOL, F16, F32, F64, FLOATS, I32, I64, U8

FAR = (2**63 - 1, 2**31 - 1)
FAR_BELOW = (-(2**63), -(2**63) + 1, -(10**6))


@family("movement", 6)
def transpose(g: GraphBuilder):
    """Sometimes followed by other steps and the inverse transpose."""
    x = g.pick(ranks=[2, 3, 4, 4, 5], fresh=0.05)
    rank = g.rank(x)
    perm = g.draw.sample(range(rank), rank)
    if rank == 4 and g.chance(0.5):
        perm = g.choose([[0, 2, 3, 1], [0, 3, 1, 2]])
    y = g.node("Transpose", [x], perm=perm if g.chance(0.9) else None)
    if g.dtype(y) not in FLOATS or g.chance(0.5):
        return
    for _ in range(g.draw.randint(0, 2)):
        y = between_transposes(g, y)
    if g.rank(y) == rank:
        g.node("Transpose", [y], perm=[perm.index(i) for i in range(rank)] if g.chance(0.7) else perm)


def between_transposes(g: GraphBuilder, y: str) -> str:
    step = g.choose(["Relu", "Sigmoid", "Add", "Mul", "Pad", "Reduce", "Softmax"])
    if step in ("Relu", "Sigmoid"):
        return g.node(step, [y])
    if step in ("Add", "Mul"):
        return g.node(step, [y, g.other(y)])
    if step == "Softmax" and g.opset >= 13:
        return g.node(step, [y], axis=g.axis(g.rank(y)))
    if step == "Pad" and g.opset >= 11:
        return g.node(step, [y, g.ints([g.draw.randint(0, 2) for _ in range(2 * g.rank(y))])], mode="constant")
    if step == "Reduce" and g.opset >= 18:
        return g.node("Reduce" + g.choose(["Sum", "Max", "Mean"]), [y, g.ints([g.axis(g.rank(y))])], keepdims=1)
    return y


@family("movement", 4)
def moved_rows(g: GraphBuilder):
    """Transposes with products of rows, reshapes and slices between them, as attention's projections have them."""
    ends = [g.pick([F32], ranks=[2, 3, 3, 4], fresh=0.4, fits=lambda shape: all(shape))]
    for _ in range(g.draw.randint(3, 12)):
        y = ends.pop(g.draw.randrange(len(ends)))
        ends += row_step(g, y)
    if len(ends) > 1 and len({tuple(g.shape(end)) for end in ends}) == 1 and g.chance(0.5):
        g.node("Add", ends[:2])


def row_step(g: GraphBuilder, y: str) -> list[str]:
    shape, rank = g.shape(y), g.rank(y)
    step = g.choose(["Transpose", "Transpose", "Transpose", "Reshape", "Reshape", "MatMul", "Add", "Mul", "Relu", "Split", "Two"])
    if step == "Transpose":
        rows = g.draw.sample(range(rank - 1), rank - 1)
        perm = [*rows, rank - 1] if g.chance(0.6) else g.draw.sample(range(rank), rank)
        return [g.node("Transpose", [y], perm=perm)]
    if step == "Reshape":
        return [g.node("Reshape", [y, g.ints(regrouped(g, shape))])]
    if step == "MatMul" and rank > 1:
        return [g.node("MatMul", [y, g.random_constant(F32, [shape[-1], g.choose([1, 2, 4, 6, 8, 12])])])]
    if step in ("Add", "Mul"):
        return [g.node(step, [y, g.random_constant(F32, g.choose([[], [1], shape[-1:], [1, *shape[-1:]], shape]))])]
    if step == "Relu":
        return [g.node(step, [y])]
    if step == "Split" and g.opset >= 13:
        axis = g.draw.randrange(rank)
        if shape[axis] > 1:
            cut = g.draw.randint(1, shape[axis] - 1)
            return g.node("Split", [y, g.ints([cut, shape[axis] - cut])], [1, 1], axis=axis)
    return [y, y] if step == "Two" else [y]


def regrouped(g: GraphBuilder, shape: list[int]) -> list[int]:
    """The shape with one dim split in two, or two neighbours merged, or both."""
    target = list(shape)
    if len(target) < 5 and g.chance(0.6):
        i = g.draw.randrange(len(target))
        inner = g.choose([n for n in range(1, target[i] + 1) if target[i] % n == 0])
        target[i : i + 1] = [target[i] // inner, inner]
    if len(target) > 2 and g.chance(0.6):
        i = g.draw.randrange(len(target) - 1)
        target[i : i + 2] = [target[i] * target[i + 1]]
    if g.chance(0.5):
        target[g.draw.randrange(len(target))] = -1
    return target


@family("movement", 1)
def flatten(g: GraphBuilder):
    x = g.pick(fresh=0.05)
    g.require(g.opset >= 9 or g.dtype(x) in FLOATS)
    g.node("Flatten", [x], axis=g.draw.randint(0, g.rank(x)))


@family("movement", 1)
def squeeze(g: GraphBuilder):
    x = g.pick(fresh=0.05, fits=lambda shape: 1 in shape)
    rank = g.rank(x)
    ones = [i for i, dim in enumerate(g.shape(x)) if dim == 1]
    axes = g.draw.sample(ones, g.draw.randint(1, len(ones)))
    if g.opset >= 11:
        axes = [axis - rank if g.chance(0.3) else axis for axis in axes]
    if g.chance(0.15):
        return g.node("Squeeze", [x])
    return g.node("Squeeze", [x, g.ints(axes)]) if g.opset >= 13 else g.node("Squeeze", [x], axes=axes)


@family("movement", 1)
def unsqueeze(g: GraphBuilder):
    x = g.pick(fresh=0.05)
    added = g.draw.randint(1, 2)
    g.require(g.rank(x) + added <= 6)
    axes = g.draw.sample(range(g.rank(x) + added), added)
    return g.node("Unsqueeze", [x, g.ints(axes)]) if g.opset >= 13 else g.node("Unsqueeze", [x], axes=sorted(axes))


@family("movement", 2)
def reshape(g: GraphBuilder):
    x = g.pick(fresh=0.05)
    shape = g.shape(x)
    target = factors(g, int(numpy.prod(shape)))
    if not all(shape):
        target = [0 if i < len(shape) else 1 for i in range(g.draw.randint(len(shape), len(shape) + 1))]
    elif target and g.chance(0.5):
        target[g.draw.randrange(len(target))] = -1
    for i in range(min(len(target), len(shape))):
        if target[i] == shape[i] and g.chance(0.5):
            target[i] = 0
    g.node("Reshape", [x, g.ints(target)])


def factors(g: GraphBuilder, count: int) -> list[int]:
    """Numbers whose product is `count`, in any order."""
    found = []
    while count > 1 and len(found) < 4:
        found.append(g.choose([n for n in range(1, count + 1) if count % n == 0]))
        count //= found[-1]
    if count != 1 or g.chance(0.2):
        found.append(count)
    g.draw.shuffle(found)
    return found


@family("movement")
def expand(g: GraphBuilder):
    g.require(g.opset >= 8)
    x = g.pick(ranks=[0, 1, 2, 3, 4])
    shape = [dim if dim != 1 or g.chance(0.3) else g.choose([1, 2, 3]) for dim in g.shape(x)]
    shape = [1 if g.chance(0.2) else dim for dim in shape]
    g.node("Expand", [x, g.ints([g.choose([1, 2]), *shape] if g.chance(0.3) else shape)])


@family("movement")
def tile(g: GraphBuilder):
    x = g.pick(ranks=[1, 2, 3, 4])
    g.node("Tile", [x, g.ints([g.choose([1, 1, 2, 3]) for _ in g.shape(x)])])


def slice_bounds(g: GraphBuilder, dim: int) -> tuple[int, int, int]:
    """Start, end and step, in any of the equivalent spellings."""
    step = 1 if g.opset < 10 else g.choose([1, 1, 1, 2, 3, -1, -1, -2])
    start, end = sorted((g.draw.randint(0, dim), g.draw.randint(0, dim)))
    if start == end and g.chance(0.9):
        start, end = 0, max(1, dim)
    if step < 0:
        start, end = end - 1 if g.chance(0.5) else end, start - 1
        if end < 0:
            return start, g.choose([-dim - 1, *FAR_BELOW]), step
        return start, end - dim if g.chance(0.3) else end, step
    start = start - dim if g.chance(0.3) else start
    if end == dim and g.chance(0.5):
        return start, g.choose([*FAR, dim + 5]), step
    return start, end - dim if end < dim and g.chance(0.3) else end, step


@family("movement", 5)
def slice_(g: GraphBuilder):
    x = g.pick(ranks=[1, 2, 3, 4, 5], fresh=0.07)
    rank = g.rank(x)
    axes = g.draw.sample(range(rank), g.draw.randint(1, min(3, rank)))
    starts, ends, steps = zip(*(slice_bounds(g, g.shape(x)[axis]) for axis in axes), strict=True)
    if g.opset < 10:
        return g.node("Slice", [x], starts=starts, ends=ends, axes=axes)
    axes = [axis - rank if g.chance(0.3) else axis for axis in axes]
    inputs = [x, g.ints(starts), g.ints(ends), g.ints(axes)]
    if any(step != 1 for step in steps) or g.chance(0.3):
        inputs.append(g.ints(steps))
    return g.node("Slice", inputs)


@family("movement", 4)
def concat(g: GraphBuilder):
    x = g.pick(ranks=[1, 2, 3, 4, 5], fresh=0.05)
    dtype, shape, rank = g.dtype(x), g.shape(x), g.rank(x)
    axis = g.draw.randrange(rank)

    def joins(value) -> bool:
        others = [i for i in range(rank) if i != axis]
        return value.dtype == dtype and len(value.shape) == rank and all(value.shape[i] == shape[i] for i in others)

    parts = [x]
    for _ in range(g.draw.randint(0, 3)):
        if g.chance(0.75):
            parts.append(g.choose(g.candidates(joins)))
        else:
            part = list(shape)
            part[axis] = 0 if g.chance(0.03) else g.choose([1, 2, 3])
            parts.append(g.parameter(dtype, part, 0.5))
    g.draw.shuffle(parts)
    g.node("Concat", parts, axis=axis - rank if g.opset >= 11 and g.chance(0.3) else axis)


@family("movement", 3)
def split(g: GraphBuilder):
    x = g.pick(ranks=[1, 2, 3, 4], fits=lambda shape: max(shape) > 1)
    shape = g.shape(x)
    axis = g.choose([i for i, dim in enumerate(shape) if dim > 1])
    count = g.draw.randint(1, min(4, shape[axis]))
    cuts = [0, *sorted(g.draw.sample(range(1, shape[axis]), count - 1)), shape[axis]]
    sizes = [b - a for a, b in zip(cuts, cuts[1:], strict=False)]
    named_axis = axis - len(shape) if g.opset >= 11 and g.chance(0.3) else axis
    outputs = [1] * count
    if g.opset >= 18 and g.chance(0.3):
        parts = g.node("Split", [x], outputs, axis=named_axis, num_outputs=count)
    elif g.opset >= 13:
        parts = g.node("Split", [x, g.ints(sizes)], outputs, axis=named_axis)
    else:
        parts = g.node("Split", [x], outputs, axis=named_axis, split=sizes)
    if count > 1 and g.chance(0.5):
        parts = [g.node("Relu", [p]) if g.dtype(p) == F32 and g.chance(0.4) else p for p in parts]
        g.draw.shuffle(parts)
        g.node("Concat", parts, axis=axis)


@family("movement", 3)
def pad(g: GraphBuilder):
    x = g.pick([F32] * 5 + [g.choose([I32, I64, U8, F64, F16, BOOL])], ranks=[1, 2, 3, 4], fits=all)
    dtype, rank = g.dtype(x), g.rank(x)
    mode = g.choose(["constant", "constant", "reflect", "edge", "wrap"])
    mode = "edge" if mode == "wrap" and g.opset < 19 else mode
    pads = pad_sizes(g, g.shape(x), mode)
    if g.opset < 11:
        g.require(dtype in FLOATS)
        return g.node("Pad", [x], mode=mode, pads=pads, value=g.choose([None, 1.5]))
    g.require(g.opset >= 13 or dtype != BOOL)
    inputs = [x, g.ints(pads), g.constant(values.numbers(g.draw, dtype, [])) if g.chance(0.6) else ""]
    if g.opset >= 18 and g.chance(0.3):
        axes = g.draw.sample(range(rank), g.draw.randint(1, rank))
        inputs[1] = g.ints([pads[axis] for axis in axes] + [pads[axis + rank] for axis in axes])
        named_axes = [axis - rank if g.chance(0.4) else axis for axis in axes]
        inputs.append(g.constant(numpy.array(named_axes, g.choose([numpy.int32, numpy.int64]))))
    return g.node("Pad", inputs, mode=mode)


def pad_sizes(g: GraphBuilder, shape: list[int], mode: str) -> list[int]:
    most = [{"reflect": dim - 1, "wrap": dim}.get(mode, 3) for dim in shape] * 2
    return [min(limit, g.draw.randint(-1 if g.chance(0.2) else 0, 3)) if g.chance(0.5) else 0 for limit in most]
