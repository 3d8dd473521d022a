"""Products of matrices."""

from random_graphs.builder import GraphBuilder
from random_graphs.registry import family
from random_graphs.values import F16, F32, F64, FLOATS, I32, I64

EQUATIONS = (
    "ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "bhid,bhjd->bhij", "i,j->ij", "...ij,...jk->...ik", "ij,ij->i",
    "bij,bkj->ikb", "ij,jk", "abc,cd,de->abe", "...i->...", "iij->j",
)  # fmt: skip


def second_shape(g: GraphBuilder, shape: list[int], columns: int) -> list[int]:
    chance = g.draw.random()
    if len(shape) == 1 or chance < 0.1:
        return [shape[-1]] if g.chance(0.4) else [shape[-1], columns]
    if chance < 0.6:
        return [shape[-1], columns]
    batch = [1 if g.chance(0.4) else dim for dim in shape[:-2]]
    if g.chance(0.2):
        batch = batch[1:]
    if g.chance(0.15):
        batch = [2] + [1 if g.chance(0.5) else dim for dim in shape[:-2]]
    return [*batch, shape[-1], columns]


@family("product", 4)
def matmul(g: GraphBuilder):
    x = g.pick([F32] * 8 + [g.choose([F64, F16, I32, I64])], ranks=[1, 2, 2, 3, 4])
    dtype, shape, columns = g.dtype(x), g.shape(x), g.size()
    if len(shape) >= 2 and g.chance(0.12):
        product = g.node("MatMul", [g.random_constant(dtype, [columns, shape[-2]]), x])
    else:
        product = g.node("MatMul", [x, second(g, dtype, second_shape(g, shape, columns))])
    if dtype in FLOATS and g.chance(0.6):
        add_bias(g, product)


def second(g: GraphBuilder, dtype: int, shape: list[int]) -> str:
    """Plain, or stored transposed and then transposed."""
    if len(shape) < 2 or not g.chance(0.3):
        return g.parameter(dtype, shape, 0.55)
    stored = g.parameter(dtype, [*shape[:-2], shape[-1], shape[-2]], 0.55)
    rank = len(shape)
    return g.node("Transpose", [stored], perm=[*range(rank - 2), rank - 1, rank - 2])


def add_bias(g: GraphBuilder, product: str):
    shape = g.shape(product)
    bias = shape[-1:]
    if g.chance(0.3):
        bias = [1] * g.draw.randint(1, 3) + bias
    elif g.chance(0.2):
        bias = g.broadcastable(shape)
    c = g.parameter(g.dtype(product), bias, 0.8)
    g.node("Add", [product, c] if g.chance(0.6) else [c, product])


@family("product", 3)
def gemm(g: GraphBuilder):
    x = g.pick([F32] * 8 + [F64, F16], ranks=[2])
    dtype, trans_a, trans_b, columns = g.dtype(x), g.choose((0, 1)), g.choose((0, 1)), g.size()
    rows, depth = g.shape(x)[::-1] if trans_a else g.shape(x)
    if trans_a != trans_b and g.chance(0.1):
        y, columns = x, rows
    else:
        y = g.parameter(dtype, [columns, depth] if trans_b else [depth, columns], 0.6)
    inputs = [x, y]
    if g.opset < 11 or g.chance(0.7):
        shape = g.choose([[], [columns], [1, columns], [rows, 1], [rows, columns], [1], [1, 1]])
        inputs.append(g.parameter(dtype, shape, 0.6))
    alpha, beta = g.choose([None, None, 0.5, -2.0, 0.0]), g.choose([None, None, 0.25, 0.0, -1.0])
    g.node("Gemm", inputs, transA=trans_a or None, transB=trans_b or None, alpha=alpha, beta=beta)


def drawn_equation(g: GraphBuilder) -> str:
    """Labels in any order: in both operands or one, in the output or summed."""
    labels = g.draw.sample("abcdeh", g.draw.randint(2, 6))
    terms = [[label for label in g.draw.sample(labels, len(labels)) if g.chance(0.7)][:5] for _ in range(2 if g.chance(0.8) else 1)]
    known = sorted(set().union(*terms))
    output = [label for label in g.draw.sample(known, len(known)) if g.chance(0.7)]
    return ",".join("".join(term) for term in terms) + "->" + "".join(output)


@family("product", 1.5)
def einsum(g: GraphBuilder):
    g.require(g.opset >= 12)
    equation = drawn_equation(g) if g.chance(0.5) else g.choose(EQUATIONS)
    dims, dtype = {letter: g.choose([1, 2, 3, 4]) for letter in "abcdehijkl"}, g.choose([F32] * 6 + [F16, I64])
    operands = []
    for term in equation.split("->")[0].split(","):
        shape = [2, 3] * term.startswith("...") + [dims[letter] for letter in term.replace("...", "")]
        operands.append(g.pick([dtype], shape=shape, fresh=0.4) if g.chance(0.7) else g.random_constant(dtype, shape))
    g.node("Einsum", operands, equation=equation)
