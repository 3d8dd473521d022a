#pragma once
// Comparison of results in f32.

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <lanner/tensor.h>

namespace lanner::test {

/// Equal, NaN both, or no further apart than `share` of the largest finite magnitude that is expected.
inline void expect_close(const Tensor& got, const Tensor& expected, double share) {
  const auto a = got.as<float>(), b = expected.as<float>();
  double largest = 0;
  for (const float x : b)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(static_cast<double>(x)));
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_LE(std::abs(static_cast<double>(a[i]) - b[i]), share * largest)
        << "element " << i << " is " << a[i] << ", expected " << b[i];
  }
}

} // namespace lanner::test
