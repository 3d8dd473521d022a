#pragma once
// Arithmetic, comparison and logic. Booleans are 0 and 1.

#include "ops/formulas/row.h"

namespace lanner::formulas {

inline constexpr auto arithmetic_list =
    list(binary("add", [](auto x, auto y) { return x + y; }).with_integers(),
         binary("sub", [](auto x, auto y) { return x - y; }).with_integers(),
         binary("mul", [](auto x, auto y) { return x * y; }).with_integers(),
         binary("div", [](auto x, auto y) { return x / y; }).with_integers());

inline constexpr auto equal = binary("equal", [](auto x, auto y) { return x == y; });
inline constexpr auto comparison_list =
    list(binary("less", [](auto x, auto y) { return x < y; }),
         binary("less_or_equal", [](auto x, auto y) { return x <= y; }),
         binary("greater", [](auto x, auto y) { return x > y; }),
         binary("greater_or_equal", [](auto x, auto y) { return x >= y; }));

inline constexpr auto is_nan = unary("is_nan", [](auto x) { return x != x; });

inline constexpr auto logic_list = list(binary("and", [](auto x, auto y) { return x * y; }),
                                        binary("or", [](auto x, auto y) { return larger(x, y); }),
                                        binary("xor", [](auto x, auto y) { return x != y; }));

inline constexpr auto logical_not = unary("not", [](auto x) { return x == 0; });

/// Applied pairwise to the operands of variadic operators.
inline constexpr auto extreme_list = list(binary("min", [](auto x, auto y) { return smaller(x, y); }),
                                          binary("max", [](auto x, auto y) { return larger(x, y); }));

} // namespace lanner::formulas
