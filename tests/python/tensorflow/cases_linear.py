"""Linear algebra beyond products."""

import numpy as np
from operator_cases import Family, draw

family = Family("linear")
add = family.add
M = draw((2, 3, 3)) + 4 * np.eye(3, dtype=np.float32)
for dtype in ["float32", "float64"]:
    name = "" if dtype == "float32" else dtype
    loose = {"tolerance": 1e-5 if dtype == "float32" else 1e-12, "why": "elimination in another order"}
    for adjoint in [False, True]:
        add("MatrixInverse", [M.astype(dtype)], {"adjoint": adjoint}, name if not adjoint else f"adjoint {name}", open=[0], **loose)
    add("MatrixDeterminant", [M.astype(dtype)], label=name, open=[0], **loose)
    add("Cross", [draw((2, 3), dtype), draw((2, 3), dtype, 1)], label=name, open=[0], tolerance=1e-5, why="differences")
add("Cross", [draw((2, 3), "int32"), draw((2, 3), "int32", 1)], label="int32")
