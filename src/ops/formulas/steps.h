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

/// Of stored integers as reals: the operand of dequantize_linear, the result of quantize_linear. The numbers
/// of `quantize` are the least and the most stored integer; NaN becomes the least.
inline constexpr auto quantization_list = list(
    unary("dequantize", [](auto x, auto zero, auto scale) { return (x - zero) * scale; }).number().number(),
    ternary("dequantize_by", [](auto x, auto scale, auto zero) { return (x - zero) * scale; }),
    binary("quantize",
           [](auto x, auto scale, auto least, auto most) {
             const auto whole = round(x / scale);
             return at_most(choose(whole >= least, whole, least), most);
           })
        .number()
        .number(),
    ternary("quantize_by",
            [](auto x, auto scale, auto zero, auto least, auto most) {
              const auto whole = round(x / scale) + zero;
              return at_most(choose(whole >= least, whole, least), most);
            })
        .number()
        .number());

} // namespace lanner::formulas
