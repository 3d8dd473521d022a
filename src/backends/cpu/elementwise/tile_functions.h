#pragma once
// The instructions as templates over the vectors of simd.h. Included once by each file that is compiled for
// one instruction set.

#include <math.h>

#include "backends/cpu/elementwise/instruction.h"
#include "backends/cpu/vector_math.h"

namespace lanner::LANNER_SIMD {

template<int operands, typename Function>
void run(float* out, const float* x, const float* y, const float* z, std::int64_t count, Function function) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(out + i, function(load(x + i), operands > 1 ? load(y + i) : F{}, operands > 2 ? load(z + i) : F{}));
  const std::int64_t rest = count - i;
  if (rest == 0) return;
  const F last = function(load_some(x + i, rest), operands > 1 ? load_some(y + i, rest) : F{},
                          operands > 2 ? load_some(z + i, rest) : F{});
  store_some(out + i, last, rest);
}

/// An instruction by a function of vectors that knows the numbers.
template<int operands, auto function>
void tile(float* out, const float* x, const float* y, const float* z, std::int64_t count, Numbers n) {
  run<operands>(out, x, y, z, count, [n](F a, F b, F c) { return function(a, b, c, n); });
}

/// An instruction by a function of the C library, element by element. Not std::sin and the like: those are
/// inline, and the linker could give this file's copy, with its instruction set, to everyone.
template<float (*function)(float)>
void tile_each(float* out, const float* x, const float*, const float*, std::int64_t count, Numbers) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = function(x[i]);
}

inline F truth_of(I mask) {
  return mask ? splat(1) : splat(0);
}
inline F floor_of(F x) {
  const F whole = nearest(x);
  return whole > x ? whole - 1.0F : whole;
}
inline F unit(F x) {
  return at_most(at_least(x, 0.0F), 1.0F);
}
/// Of two numbers; NaN when one is.
inline F smaller(F x, F y) {
  return ((x < y) | (x != x)) ? x : y;
}
inline F larger(F x, F y) {
  return ((x > y) | (x != x)) ? x : y;
}

inline void raise_tile(float* out, const float* x, const float* y, const float*, std::int64_t count,
                       Numbers) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = ::powf(x[i], y[i]);
}

inline void power_tile(float* out, const float* x, const float* y, const float* z, std::int64_t count,
                       Numbers n) {
  if (n.p == 2.0F) return run<1>(out, x, y, z, count, [](F a, F, F) { return a * a; });
  if (n.p == 3.0F) return run<1>(out, x, y, z, count, [](F a, F, F) { return a * a * a; });
  if (n.p == 0.5F) return run<1>(out, x, y, z, count, [](F a, F, F) { return square_root(a); });
  if (n.p == -1.0F) return run<1>(out, x, y, z, count, [](F a, F, F) { return 1.0F / a; });
  if (n.p == -0.5F) return run<1>(out, x, y, z, count, [](F a, F, F) { return 1.0F / square_root(a); });
  for (std::int64_t i = 0; i < count; ++i) out[i] = ::powf(x[i], n.p);
}

#define LANNER_TILE(opcode, operands, expression)                                                            \
  table[static_cast<std::size_t>(Opcode::opcode)] =                                                          \
      tile<operands, [](F x, [[maybe_unused]] F y, [[maybe_unused]] F z, [[maybe_unused]] Numbers n) -> F {  \
        return (expression);                                                                                 \
      }>

inline void fill_unary(TileFunctions& table) {
  LANNER_TILE(move, 1, x);
  LANNER_TILE(negate, 1, -x);
  LANNER_TILE(absolute, 1, magnitude(x));
  LANNER_TILE(reciprocal, 1, 1.0F / x);
  LANNER_TILE(square_root, 1, square_root(x));
  LANNER_TILE(exponential, 1, exponential(x));
  LANNER_TILE(logarithm, 1, logarithm(x));
  LANNER_TILE(logistic, 1, logistic(x));
  LANNER_TILE(hyperbolic_tangent, 1, hyperbolic_tangent(x));
  LANNER_TILE(error_function, 1, error_function(x));
  LANNER_TILE(floor, 1, floor_of(x));
  LANNER_TILE(ceiling, 1, -floor_of(-x));
  LANNER_TILE(nearest, 1, nearest(x));
  LANNER_TILE(sign, 1, x > 0.0F ? splat(1) : x < 0.0F ? splat(-1) : x);
  LANNER_TILE(logical_not, 1, truth_of(x == 0.0F));
  LANNER_TILE(is_nan, 1, truth_of(x != x));
  LANNER_TILE(truth, 1, truth_of(x != 0.0F));
  LANNER_TILE(linear, 1, multiply_add(x, splat(n.p), splat(n.q)));
  LANNER_TILE(clip, 1, at_most(at_least(x, n.p), n.q));
}

inline void fill_activations(TileFunctions& table) {
  LANNER_TILE(relu, 1, at_least(x, 0.0F));
  LANNER_TILE(leaky_relu, 1, x < 0.0F ? x * n.p : x);
  LANNER_TILE(elu, 1, x < 0.0F ? n.p * exponential_less_one(x) : x);
  LANNER_TILE(celu, 1, x < 0.0F ? n.p * exponential_less_one(x / n.p) : x);
  LANNER_TILE(selu, 1, n.q * (x > 0.0F ? x : n.p * exponential_less_one(x)));
  LANNER_TILE(softplus, 1, softplus(x));
  LANNER_TILE(softsign, 1, x / (1.0F + magnitude(x)));
  LANNER_TILE(gelu, 1, 0.5F * x * (1.0F + error_function(x * 0.70710678F)));
  LANNER_TILE(gelu_by_tanh, 1,
              0.5F * x * (1.0F + hyperbolic_tangent(0.79788456F * (x + 0.044715F * x * x * x))));
  LANNER_TILE(hard_sigmoid, 1, unit(multiply_add(x, splat(n.p), splat(n.q))));
  LANNER_TILE(hard_swish, 1, x * unit(multiply_add(x, splat(1.0F / 6), splat(0.5F))));
  LANNER_TILE(swish, 1, x / (1.0F + exponential(-n.p * x)));
  LANNER_TILE(mish, 1, x * hyperbolic_tangent(softplus(x)));
  LANNER_TILE(threshold, 1, x > n.p ? x : splat(0));
  LANNER_TILE(shrink, 1, x < -n.q ? x + n.p : x > n.q ? x - n.p : splat(0));
}

inline void fill_library(TileFunctions& table) {
  const auto set = [&](Opcode opcode, TileFunction function) {
    table[static_cast<std::size_t>(opcode)] = function;
  };
  set(Opcode::power, power_tile);
  set(Opcode::raise, raise_tile);
  set(Opcode::sine, tile_each<::sinf>);
  set(Opcode::cosine, tile_each<::cosf>);
  set(Opcode::tangent, tile_each<::tanf>);
  set(Opcode::arc_sine, tile_each<::asinf>);
  set(Opcode::arc_cosine, tile_each<::acosf>);
  set(Opcode::arc_tangent, tile_each<::atanf>);
  set(Opcode::hyperbolic_sine, tile_each<::sinhf>);
  set(Opcode::hyperbolic_cosine, tile_each<::coshf>);
  set(Opcode::area_sine, tile_each<::asinhf>);
  set(Opcode::area_cosine, tile_each<::acoshf>);
  set(Opcode::area_tangent, tile_each<::atanhf>);
}

inline void fill_several(TileFunctions& table) {
  LANNER_TILE(add, 2, x + y);
  LANNER_TILE(subtract, 2, x - y);
  LANNER_TILE(multiply, 2, x * y);
  LANNER_TILE(divide, 2, x / y);
  LANNER_TILE(minimum, 2, smaller(x, y));
  LANNER_TILE(maximum, 2, larger(x, y));
  LANNER_TILE(parametric_relu, 2, x < 0.0F ? x * y : x);
  LANNER_TILE(equal, 2, truth_of(x == y));
  LANNER_TILE(less, 2, truth_of(x < y));
  LANNER_TILE(less_or_equal, 2, truth_of(x <= y));
  LANNER_TILE(logical_and, 2, x * y);
  LANNER_TILE(logical_or, 2, larger(x, y));
  LANNER_TILE(logical_xor, 2, truth_of(x != y));
  LANNER_TILE(choose, 3, x != 0.0F ? y : z);
  LANNER_TILE(clamp, 3, smaller(larger(x, y), z));
}

#undef LANNER_TILE

inline TileFunctions make_tile_functions() {
  TileFunctions table{};
  fill_unary(table);
  fill_activations(table);
  fill_library(table);
  fill_several(table);
  return table;
}

} // namespace lanner::LANNER_SIMD
