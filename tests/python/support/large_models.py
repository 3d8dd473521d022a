"""Model files of many parts, as somebody sends who means harm: each makes a reader or a build do much work.

CASES maps a name to the function that makes the file's bytes of a number of parts."""

import large_chains
import large_foreign
import large_graphs
import large_nests

ONNX = [*large_graphs.CASES, *large_chains.CASES, *large_nests.CASES]
CASES = {make.__name__: make for make in [*ONNX, *large_foreign.CASES]}
