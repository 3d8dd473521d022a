#pragma once
// Elements of formulas (ops/formulas/row.h), as vectors of simd.h or single floats. Included by exactly the
// files that are compiled for one instruction set.

#include <math.h>

#include <type_traits>

#include "backends/cpu/vector_math.h"

namespace lanner::LANNER_SIMD {

// Single floats, for formulas that call the C library anyway: splitting vectors for that costs more.
inline float splat_as(float x, float /*like*/) {
  return x;
}
inline F splat_as(float x, F /*like*/) {
  return splat(x);
}
inline float magnitude(float x) {
  return __builtin_fabsf(x);
}
inline float multiply_add(float a, float b, float c) {
  return multiply_add(splat(a), splat(b), splat(c))[0];
}

/// `V`: F or float.
template<typename V>
class Elements {
public:
  V value;

  explicit Elements(V x) : value(x) {}
  template<typename Literal>
  requires std::is_arithmetic_v<Literal> Elements(Literal x)
      : value(splat_as(static_cast<float>(x), V{})) {} // NOLINT: literals stand in formulas

  /// A condition: for F, all bits set where it holds.
  struct Mask {
    decltype(V{} < V{}) bits;
  };

  friend Elements operator+(Elements a, Elements b) { return Elements(a.value + b.value); }
  friend Elements operator-(Elements a, Elements b) { return Elements(a.value - b.value); }
  friend Elements operator*(Elements a, Elements b) { return Elements(a.value * b.value); }
  friend Elements operator/(Elements a, Elements b) { return Elements(a.value / b.value); }
  friend Elements operator-(Elements a) { return Elements(-a.value); }
  friend Mask operator<(Elements a, Elements b) { return {a.value < b.value}; }
  friend Mask operator<=(Elements a, Elements b) { return {a.value <= b.value}; }
  friend Mask operator>(Elements a, Elements b) { return {a.value > b.value}; }
  friend Mask operator>=(Elements a, Elements b) { return {a.value >= b.value}; }
  friend Mask operator==(Elements a, Elements b) { return {a.value == b.value}; }
  friend Mask operator!=(Elements a, Elements b) { return {a.value != b.value}; }

  friend Elements choose(Mask condition, Elements a, Elements b) {
    return Elements(condition.bits ? a.value : b.value);
  }
  friend Elements multiply_add(Elements a, Elements b, Elements c) {
    return Elements(multiply_add(a.value, b.value, c.value));
  }
  friend Elements at_least(Elements x, Elements bound) { return choose(x < bound, bound, x); }
  friend Elements at_most(Elements x, Elements bound) { return choose(x > bound, bound, x); }
  friend Elements smaller(Elements x, Elements y) { return choose(either(x < y, x != x), x, y); }
  friend Elements larger(Elements x, Elements y) { return choose(either(x > y, x != x), x, y); }
  friend Elements abs(Elements x) { return Elements(magnitude(x.value)); }
  friend Elements floor(Elements x) {
    const Elements whole = round(x);
    return choose(whole > x, whole - 1, whole);
  }
  friend Elements ceil(Elements x) { return -floor(-x); }
  friend Elements sqrt(Elements x) { return each<square_root>(x); }
  friend Elements round(Elements x) { return each<nearest>(x); }
  friend Elements exp(Elements x) { return each<exponential>(x); }
  friend Elements expm1(Elements x) { return each<exponential_less_one>(x); }
  friend Elements log(Elements x) { return each<logarithm>(x); }
  friend Elements log1p(Elements x) { return each<logarithm_of_one_plus>(x); }
  friend Elements tanh(Elements x) { return each<hyperbolic_tangent>(x); }
  friend Elements erf(Elements x) { return each<error_function>(x); }

  // Not std::sin and similar: those are inline, and the linker could use this file's copy, with its
  // instruction set, everywhere.
  friend Elements pow(Elements x, Elements y) {
    if constexpr (std::is_same_v<V, float>) {
      return Elements(::powf(x.value, y.value));
    } else {
      for (int i = 0; i < lanes; ++i) x.value[i] = ::powf(x.value[i], y.value[i]);
      return x;
    }
  }
  friend Elements sin(Elements x) { return called<::sinf>(x); }
  friend Elements cos(Elements x) { return called<::cosf>(x); }
  friend Elements tan(Elements x) { return called<::tanf>(x); }
  friend Elements asin(Elements x) { return called<::asinf>(x); }
  friend Elements acos(Elements x) { return called<::acosf>(x); }
  friend Elements atan(Elements x) { return called<::atanf>(x); }
  friend Elements sinh(Elements x) { return called<::sinhf>(x); }
  friend Elements cosh(Elements x) { return called<::coshf>(x); }
  friend Elements asinh(Elements x) { return called<::asinhf>(x); }
  friend Elements acosh(Elements x) { return called<::acoshf>(x); }
  friend Elements atanh(Elements x) { return called<::atanhf>(x); }

private:
  static Mask either(Mask a, Mask b) { return {static_cast<decltype(a.bits)>(a.bits | b.bits)}; }

  template<F (*function)(F)>
  static Elements each(Elements x) {
    if constexpr (std::is_same_v<V, float>)
      return Elements(function(splat(x.value))[0]);
    else
      return Elements(function(x.value));
  }
  template<float (*function)(float)>
  static Elements called(Elements x) {
    if constexpr (std::is_same_v<V, float>) {
      return Elements(function(x.value));
    } else {
      for (int i = 0; i < lanes; ++i) x.value[i] = function(x.value[i]);
      return x;
    }
  }
};

} // namespace lanner::LANNER_SIMD
