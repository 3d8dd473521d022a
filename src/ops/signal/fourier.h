#pragma once
// Discrete Fourier transforms of any length.

#include <complex>
#include <span>

#include "base/limits/counted_vector.h"

namespace lanner::ops {

using Complex = std::complex<double>;
using ComplexList = CountedVector<Complex>;

/// sum over n of x[n] exp(sign * 2 pi i k n / N) for each k, not scaled; `sign` is -1 forward and 1 back.
/// Takes N * (sum of N's prime factors) steps. Throws what check_deadline() throws.
ComplexList fourier_transform(std::span<const Complex> x, int sign);

} // namespace lanner::ops
