#pragma once
// Runs a tactic for a layer of bytes, and compares with the definition: bytes may differ by a step where a
// number is close to a tie.

#include <cmath>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "backends/contraction/expect_close.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/tactic_check.h"

namespace lanner::test {

inline Tensor row_major(const Tensor& tensor) {
  Tensor result = Tensor::allocate(tensor.dtype(), tensor.shape());
  copy_tensor(tensor.to({}), result);
  return result;
}

template<typename T>
void expect_within_a_step(const Tensor& got, const Tensor& expected, double share) {
  const auto a = got.as<T>(), b = expected.as<T>();
  std::size_t different = 0, wrong = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    different += a[i] != b[i];
    if (std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i])) > 1 && wrong++ == 0)
      ADD_FAILURE() << "element " << i << " is " << +a[i] << ", expected " << +b[i];
  }
  EXPECT_LE(static_cast<double>(different), 1 + share * static_cast<double>(b.size()));
  EXPECT_EQ(wrong, 0U);
}

inline void expect_agrees(const Tensor& got, const Tensor& expected, double share) {
  if (expected.dtype() == DType::i8) return expect_within_a_step<std::int8_t>(got, expected, share);
  if (expected.dtype() == DType::u8) return expect_within_a_step<std::uint8_t>(got, expected, share);
  expect_close(got, expected, 2e-5);
}

inline void run_and_compare(const NodeCase& c, const Tactic& tactic, const Target& target,
                            double share = 0.004, const Backend& backend = cpu_backend()) {
  SCOPED_TRACE(tactic.kernel + " " +
               std::string(reinterpret_cast<const char*>(tactic.config.data()), tactic.config.size()));
  ReadyTactic ready = make_ready(c, backend, tactic, target);
  ready.launch();
  const Tensor first = row_major(ready.outputs[0]);
  expect_agrees(first, c.results[0], share);
  ready.launch(); // With the workspace that the first run left.
  EXPECT_EQ(std::memcmp(row_major(ready.outputs[0]).data(), first.data(), first.bytes()), 0);
}

} // namespace lanner::test
