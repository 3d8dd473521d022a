#pragma once
// Formulas that kernels use for operators whose reference kernel supports more than numbers (any type, absent
// operands, several types), and for operators with constant operands.

#include "ops/formulas/row.h"

namespace lanner::formulas {

inline constexpr auto step_list =
    list(unary("identity", [](auto x) { return x; }), //
         unary("truth", [](auto x) { return x != 0; }),
         unary("linear", [](auto x, auto p, auto q) { return multiply_add(x, p, q); }).number().number(),
         unary("clip", [](auto x, auto p, auto q) { return at_most(at_least(x, p), q); }).number().number(),
         ternary("clamp", [](auto x, auto y, auto z) { return smaller(larger(x, y), z); }),
         ternary("where", [](auto x, auto y, auto z) { return choose(x != 0, y, z); }),
         binary("pow", [](auto x, auto y) { return pow(x, y); }).by_library(),
         unary("power", [](auto x, auto p) { return pow(x, p); }).by_library().number(),
         unary("square", [](auto x) { return x * x; }), //
         unary("cube", [](auto x) { return x * x * x; }),
         unary("inverse_sqrt", [](auto x) { return 1 / sqrt(x); }));

} // namespace lanner::formulas
