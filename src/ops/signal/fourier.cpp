#include "ops/signal/fourier.h"

#include <cstdint>
#include <numbers>

namespace lanner::ops {

namespace {

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) return factor;
  return n;
}

// Cooley and Tukey, "An Algorithm for the Machine Calculation of Complex Fourier Series", 1965.
class Transform {
public:
  Transform(std::size_t count, int sign) : roots_(count) {
    for (std::size_t k = 0; k < count; ++k)
      roots_[k] =
          std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count));
  }

  /// Transforms x[0], x[step], ... (`count` of them).
  ComplexList run(const Complex* x, std::size_t count, std::size_t step) const {
    if (count == 1) return {*x};
    const std::size_t parts = smallest_factor(count), size = count / parts;
    CountedVector<ComplexList> sub;
    sub.reserve(parts);
    for (std::size_t p = 0; p < parts; ++p) sub.push_back(run(x + p * step, size, step * parts));
    ComplexList result(count);
    for (std::size_t k = 0; k < count; ++k) {
      check_deadline();
      for (std::size_t p = 0; p < parts; ++p) result[k] += sub[p][k % size] * roots_[p * k % count * step];
    }
    return result;
  }

private:
  ComplexList roots_;
};

} // namespace

ComplexList fourier_transform(std::span<const Complex> x, int sign) {
  if (x.empty()) return {};
  return Transform(x.size(), sign).run(x.data(), x.size(), 1);
}

} // namespace lanner::ops
