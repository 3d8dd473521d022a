"""Importing this fills the table of families."""

from random_graphs.families import (  # noqa: F401
    control,
    convolution,
    elementwise,
    indexing,
    movement,
    normalization,
    patterns,
    pooling,
    product,
    quantized,
    recurrent,
    reduction,
    resizing,
    shapes,
)
