#pragma once
// Activation functions, with ONNX's attributes.

#include "ops/formulas/row.h"

namespace lanner::formulas {

/// x clamped to 0..1.
inline constexpr auto unit = [](auto x) { return at_most(at_least(x, 0), 1); };

/// gelu with the attribute `approximate` set.
inline constexpr auto gelu_by_tanh = unary("gelu_by_tanh", [](auto x) {
  return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
});

inline constexpr auto activation_list = list(
    unary("relu", [](auto x) { return at_least(x, 0); }).with_integers(),
    unary("leaky_relu", [](auto x, auto alpha) { return choose(x < 0, x * alpha, x); })
        .number("alpha", 0.01F),
    unary("thresholded_relu", [](auto x, auto alpha) { return choose(x > alpha, x, 0); }).number("alpha", 1),
    unary("elu", [](auto x, auto alpha) { return choose(x < 0, alpha * expm1(x), x); }).number("alpha", 1),
    unary("celu", [](auto x, auto alpha) { return choose(x < 0, alpha * expm1(x / alpha), x); })
        .number("alpha", 1),
    unary("selu", [](auto x, auto alpha, auto gamma) { return gamma * choose(x > 0, x, alpha * expm1(x)); })
        .number("alpha", 1.67326319217681884765625)
        .number("gamma", 1.05070102214813232421875),
    unary("hard_sigmoid", [](auto x, auto alpha, auto beta) { return unit(multiply_add(x, alpha, beta)); })
        .number("alpha", 0.2F)
        .number("beta", 0.5),
    unary("hard_swish", [](auto x) { return x * unit(multiply_add(x, 1.0 / 6, 0.5)); }),
    unary("swish", [](auto x, auto alpha) { return x / (1 + exp(-alpha * x)); }).number("alpha", 1),
    unary("mish", [](auto x) { return x * tanh(at_least(x, 0) + log1p(exp(-abs(x)))); }),
    unary("gelu", [](auto x) { return 0.5 * x * (1 + erf(x * 0.70710678118654752440)); })
        .but("approximate", "tanh", "gelu_by_tanh"),
    unary("shrink", [](auto x, auto bias,
                       auto bound) { return choose(x < -bound, x + bias, choose(x > bound, x - bias, 0)); })
        .number("bias", 0)
        .number("lambd", 0.5)
        .with_integers_as_reals(),
    binary("prelu", [](auto x, auto slope) { return choose(x < 0, x * slope, x); }).with_integers(),
    binary("swi_glu", [](auto x, auto y, auto alpha) {
      return x / (1 + exp(-alpha * x)) * y;
    }).number("alpha", 1));

} // namespace lanner::formulas
