#include "passes/rewriting/magnitude.h"

#include <algorithm>
#include <cmath>

namespace lanner::passes {

namespace {

/// As in std::numeric_limits; no digits for a type that passes compute no constants in.
struct FloatFormat {
  int digits = 0, max_exponent = 0;
};

FloatFormat format_of(DType type) {
  switch (type) {
  case DType::f64:
    return {53, 1024};
  case DType::f32:
    return {24, 128};
  case DType::bf16:
    return {8, 128};
  case DType::f16:
    return {11, 16};
  default:
    return {};
  }
}

bool fits_in(double number, int digits) {
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(number, &exponent), digits);
  return scaled == std::trunc(scaled);
}

bool adds_exactly(double a, double b, int digits) {
  const double sum = a + b;
  return sum - a == b && sum - b == a && fits_in(sum, digits);
}

} // namespace

bool is_moderate_size(double number, DType type) {
  const int bound = format_of(type).max_exponent / 2;
  return bound > 0 && std::abs(number) <= std::ldexp(1, bound);
}

bool is_moderate_factor(double factor, DType type) {
  return factor == 0 ? is_moderate_size(0, type)
                     : is_moderate_size(factor, type) && is_moderate_size(1 / factor, type);
}

bool is_moderate_term(double term, DType type) {
  const int digits = format_of(type).digits;
  return digits > 0 && std::abs(term) <= std::ldexp(1, digits * 2 / 3);
}

bool joins_as_product(double a, double b, DType type) {
  return is_moderate_factor(a, type) && is_moderate_factor(b, type) && is_moderate_factor(a * b, type);
}

bool joins_as_sum(double a, double b, DType type) {
  if (!is_moderate_term(a, type) || !is_moderate_term(b, type)) return false;
  if (a == 0 || b == 0) return true;
  const int digits = format_of(type).digits;
  const double least = std::min(std::abs(a), std::abs(b)), most = std::max(std::abs(a), std::abs(b));
  return std::signbit(a) == std::signbit(b) && most <= std::ldexp(least, digits / 2) &&
         adds_exactly(a, b, digits);
}

bool is_normal_or_zero(double number, DType type) {
  const FloatFormat format = format_of(type);
  const double least = std::ldexp(1, 2 - format.max_exponent), most = std::ldexp(1, format.max_exponent);
  return format.digits > 0 && (number == 0 || (std::abs(number) >= least && std::abs(number) < most));
}

} // namespace lanner::passes
