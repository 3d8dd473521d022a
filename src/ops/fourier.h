#pragma once
// Discrete Fourier transforms of any length.

#include <complex>
#include <span>
#include <vector>

namespace lanner::ops {

using Complex = std::complex<double>;

/// sum over n of x[n] exp(sign * 2 pi i k n / N) for each k, not scaled; `sign` is -1 forward and 1 back.
/// Takes N * (sum of N's prime factors) steps.
std::vector<Complex> fourier_transform(std::span<const Complex> x, int sign);

} // namespace lanner::ops
