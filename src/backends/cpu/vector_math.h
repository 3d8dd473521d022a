#pragma once
// Vector math functions of floats, accurate to a few ulp. Polynomials are minimax fits on the intervals
// given.

#include "backends/cpu/simd.h"

namespace lanner::LANNER_SIMD {

/// c[0] + c[1] x + c[2] x^2 ...
template<typename... C>
inline F polynomial(F x, C... coefficients) {
  const float c[] = {coefficients...};
  F sum = splat(c[sizeof...(C) - 1]);
  for (int i = static_cast<int>(sizeof...(C)) - 2; i >= 0; --i) sum = multiply_add(sum, x, splat(c[i]));
  return sum;
}

/// x * 2^n for integer n from -252 to 254, including subnormal results and infinity.
inline F scale_by_power(F x, F n) {
#if defined(__AVX512F__)
  return F(_mm512_scalef_ps(__m512(x), __m512(n)));
#else
  const I whole = to_int(n), half = whole >> 1;
  return x * as_float((half + 127) << 23) * as_float((whole - half + 127) << 23);
#endif
}

/// e^x = 2^n e^r, r in [-ln 2 / 2, ln 2 / 2].
inline F exponential(F x) {
  const F bounded = at_least(at_most(x, 89.0F), -104.0F);
  const F n = nearest(bounded * 1.44269504F);
  F r = multiply_add(n, splat(-0.693359375F), bounded);
  r = multiply_add(n, splat(2.12194440e-4F), r);
  const F p = polynomial(r, 0.5F, 0.1666667F, 0.041666508F, 0.008332352F, 0.0013928886F, 0.00020436604F);
  return scale_by_power(multiply_add(p, r * r, r + 1.0F), n);
}

/// ln x = n ln 2 + ln m, m in [sqrt 1/2, sqrt 2).
inline F logarithm(F x) {
  const I tiny = x < 1.17549435e-38F;
  const F normal = tiny ? x * 16777216.0F : x;
  const I bits = as_bits(normal) - 0x3F3504F3; // sqrt 1/2
  const F n = to_float(bits >> 23) - (tiny ? splat(24) : splat(0));
  const F f = as_float((bits & 0x7FFFFF) + 0x3F3504F3) - 1.0F;
  const F p = polynomial(f, 0.33333316F, -0.2500081F, 0.20002286F, -0.16624554F, 0.14181192F, -0.13128753F,
                         0.1288165F, -0.07859618F);
  F low = f * f * multiply_add(p, f, splat(-0.5F));
  low = multiply_add(n, splat(-2.12194440e-4F), low);
  F result = multiply_add(n, splat(0.693359375F), f + low);
  result = x == 0.0F ? splat(-__builtin_inff()) : result;
  result = x < 0.0F ? splat(__builtin_nanf("")) : result;
  return ((x == __builtin_inff()) | (x != x)) ? x : result;
}

/// ln(1 + x) for x in [0, 1]. The ratio corrects the rounding of 1 + x (Kahan).
inline F logarithm_of_one_plus(F x) {
  const F sum = x + 1.0F, kept = sum - 1.0F;
  return kept == 0.0F ? x : logarithm(sum) * (x / kept);
}

inline F logistic(F x) {
  return 1.0F / (1.0F + exponential(-x));
}

inline F hyperbolic_tangent(F x) {
  const F size = magnitude(x), z = x * x;
  const F p =
      polynomial(z, -0.33333328F, 0.13332795F, -0.05385407F, 0.021010082F, -0.006113193F); // |x| < 0.625
  const F small = multiply_add(p * z, x, x);
  const F large = 1.0F - 2.0F / (exponential(size + size) + 1.0F);
  return size < 0.625F ? small : with_sign_of(large, x);
}

/// x P(x^2) below 1; above it 1 - erfc with ln erfc as a polynomial; 1 from 4 on.
inline F error_function(F x) {
  const F size = magnitude(x), z = x * x;
  const F small = x * polynomial(z, 1.1283791F, -0.37612626F, 0.112836F, -0.026854444F, 0.0051895357F,
                                 -0.0008020842F, 7.889123e-05F);
  const F bounded = at_most(size, 4.0F);
  const F large = 1.0F - exponential(polynomial(bounded, 0.00020435796F, -1.1296612F, -0.63303965F,
                                                -0.10863897F, 0.025373533F, -0.004282372F, 0.00046378482F,
                                                -2.5314279e-05F, 2.5128887e-07F));
  return size < 1.0F ? small : with_sign_of(large, x);
}

/// e^x - 1, without cancellation near 0.
inline F exponential_less_one(F x) {
  const F small = x * polynomial(x, 1.0F, 0.5F, 0.16666667F, 0.041666667F, 0.0083333333F, 0.0013888889F);
  return magnitude(x) < 0.3F ? small : exponential(x) - 1.0F;
}

inline F softplus(F x) {
  return at_least(x, 0.0F) + logarithm_of_one_plus(exponential(-magnitude(x)));
}

} // namespace lanner::LANNER_SIMD
