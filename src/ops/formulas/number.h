#pragma once
// The element type of the reference kernels: numbers of a C++ type, with the precision of the C library.
// Integers wrap around; division by zero gives zero.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/truncate.h"

namespace lanner::formulas {

template<typename T>
class Number {
public:
  static constexpr bool whole = std::is_integral_v<T>;
  T value;

  Number(T number) : value(number) {} // NOLINT(google-explicit-constructor): formulas contain literals
  template<typename Literal>
  requires(std::is_arithmetic_v<Literal> && !std::is_same_v<Literal, T>) Number(Literal number)
      : value(static_cast<T>(number)) {} // NOLINT(google-explicit-constructor)

  friend Number operator+(Number a, Number b) {
    if constexpr (whole)
      return wrapped(a.bits() + b.bits());
    else
      return a.value + b.value;
  }
  friend Number operator-(Number a, Number b) {
    if constexpr (whole)
      return wrapped(a.bits() - b.bits());
    else
      return a.value - b.value;
  }
  friend Number operator*(Number a, Number b) {
    if constexpr (whole)
      return wrapped(a.bits() * b.bits());
    else
      return a.value * b.value;
  }
  friend Number operator/(Number a, Number b) {
    if constexpr (whole) {
      if (b.value == T{0}) return T{0};
      // The smallest integer divided by -1.
      if constexpr (std::is_signed_v<T>)
        if (b.value == T{-1}) return -a;
      return static_cast<T>(a.value / b.value);
    } else {
      return a.value / b.value;
    }
  }
  friend Number operator-(Number a) {
    if constexpr (whole)
      return wrapped(-a.bits());
    else
      return -a.value;
  }
  friend bool operator<(Number a, Number b) { return a.value < b.value; }
  friend bool operator<=(Number a, Number b) { return a.value <= b.value; }
  friend bool operator>(Number a, Number b) { return a.value > b.value; }
  friend bool operator>=(Number a, Number b) { return a.value >= b.value; }
  friend bool operator==(Number a, Number b) { return a.value == b.value; }
  friend bool operator!=(Number a, Number b) { return a.value != b.value; }

  friend Number choose(bool condition, Number a, Number b) { return condition ? a : b; }
  friend Number multiply_add(Number a, Number b, Number c) { return a * b + c; }
  friend Number at_least(Number x, Number bound) { return x < bound ? bound : x; }
  friend Number at_most(Number x, Number bound) { return x > bound ? bound : x; }
  friend Number smaller(Number x, Number y) { return x < y || x != x ? x : y; }
  friend Number larger(Number x, Number y) { return x > y || x != x ? x : y; }
  friend Number abs(Number x) {
    if constexpr (!whole)
      return std::abs(x.value);
    else if constexpr (std::is_signed_v<T>)
      return x.value < 0 ? -x : x;
    else
      return x;
  }

  friend Number sqrt(Number x) { return std::sqrt(x.value); }
  friend Number floor(Number x) { return std::floor(x.value); }
  friend Number ceil(Number x) { return std::ceil(x.value); }
  // nearbyint rounds halves to even in the default rounding mode, which Lanner never changes.
  friend Number round(Number x) { return std::nearbyint(x.value); }
  friend Number exp(Number x) { return std::exp(x.value); }
  friend Number expm1(Number x) { return std::expm1(x.value); }
  friend Number log(Number x) { return std::log(x.value); }
  friend Number log1p(Number x) { return std::log1p(x.value); }
  friend Number tanh(Number x) { return std::tanh(x.value); }
  friend Number erf(Number x) { return std::erf(x.value); }
  friend Number pow(Number x, Number y) { return std::pow(x.value, y.value); }
  friend Number sin(Number x) { return std::sin(x.value); }
  friend Number cos(Number x) { return std::cos(x.value); }
  friend Number tan(Number x) { return std::tan(x.value); }
  friend Number asin(Number x) { return std::asin(x.value); }
  friend Number acos(Number x) { return std::acos(x.value); }
  friend Number atan(Number x) { return std::atan(x.value); }
  friend Number sinh(Number x) { return std::sinh(x.value); }
  friend Number cosh(Number x) { return std::cosh(x.value); }
  friend Number asinh(Number x) { return std::asinh(x.value); }
  friend Number acosh(Number x) { return std::acosh(x.value); }
  friend Number atanh(Number x) { return std::atanh(x.value); }

private:
  std::uint64_t bits() const { return static_cast<std::uint64_t>(value); }
  static Number wrapped(std::uint64_t bits) { return static_cast<T>(bits); }
};

/// Converts a formula's result to an element.
template<typename Out, typename T>
Out element(Number<T> number) {
  if constexpr (std::is_floating_point_v<T> && std::is_integral_v<Out> && !std::is_same_v<Out, bool>)
    return truncated<Out>(number.value);
  else
    return static_cast<Out>(number.value);
}
template<typename Out>
Out element(bool truth) {
  return static_cast<Out>(truth);
}

} // namespace lanner::formulas
