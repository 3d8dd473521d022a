#pragma once
// Shared by tests of generated sources: memory that detects writes outside of it, and kernels that are
// compiled together.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/dtype.h>

#include "emulated_gpu/emulated_kernels.h"
#include "tensor/float16.h"

namespace lanner::cuda {

using test::EmulatedKernels;
using Doubles = std::vector<double>;

inline constexpr DType types[] = {DType::f32, DType::f16, DType::bf16};
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                        infinity = std::numeric_limits<double>::infinity();

/// Elements in memory, with guard elements at both ends. `off`: offset from an aligned address.
class Memory {
public:
  Memory(DType type, std::int64_t elements, std::int64_t off = 0)
      : type_(type), elements_(elements), off_(fence + off),
        bytes_(std::size_t(elements + 2 * fence + off) * size() + 16) {
    for (std::int64_t i = -off_; i < elements_ + fence; ++i) set(i, -77);
  }
  void* data() { return at(0); }
  double get(std::int64_t i) const {
    if (type_ == DType::f32) return read<float>(i);
    const auto bits = read<std::uint16_t>(i);
    return type_ == DType::f16 ? half_to_float(bits) : bfloat16_to_float(bits);
  }
  void set(std::int64_t i, double value) {
    const auto single = static_cast<float>(value);
    if (type_ == DType::f32)
      write(i, single);
    else
      write(i, type_ == DType::f16 ? float_to_half(single) : float_to_bfloat16(single));
  }
  Memory& draw(std::mt19937& random) {
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < elements_; ++i) set(i, normal(random));
    return *this;
  }
  bool fences_stand() const {
    for (std::int64_t i = 1; i <= fence; ++i)
      if (get(-i) != -77 || get(elements_ + i - 1) != -77) return false;
    return true;
  }
  std::int64_t elements() const { return elements_; }

private:
  static constexpr std::int64_t fence = 64;
  std::size_t size() const { return static_cast<std::size_t>(bit_width(type_) / 8); }
  char* at(std::int64_t i) const {
    const auto first = (reinterpret_cast<std::uintptr_t>(bytes_.data()) + 15) / 16 * 16;
    return reinterpret_cast<char*>(first) + (i + off_) * static_cast<std::int64_t>(size());
  }
  template<typename T>
  T read(std::int64_t i) const {
    T value;
    std::memcpy(&value, at(i), sizeof value);
    return value;
  }
  template<typename T>
  void write(std::int64_t i, T value) {
    std::memcpy(at(i), &value, sizeof value);
  }

  DType type_;
  std::int64_t elements_, off_;
  std::vector<char> bytes_;
};

inline double tolerance(DType type) {
  return type == DType::f32 ? 2e-6 : type == DType::f16 ? 2e-3 : 1.6e-2;
}

inline void expect_near(double got, double expected, DType type, const std::string& what) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected) << what << ": " << got;
    return;
  }
  EXPECT_NEAR(got, expected, tolerance(type) * (1 + std::abs(expected))) << what;
}

/// Cases whose kernels are compiled together, then run.
class CudaSources : public testing::Test {
protected:
  void SetUp() override {
    if (!EmulatedKernels::possible())
      GTEST_SKIP() << "no C++ compiler c++, or no checkout, to run kernels by";
  }
  std::size_t add(const std::string& source, const char* name, std::function<void(std::size_t)> check) {
    const std::size_t number = kernels.add(source, name);
    if (check) checks_.emplace_back(number, std::move(check));
    return number;
  }
  void run_all() {
    kernels.compile();
    for (const auto& [number, check] : checks_) check(number);
  }
  EmulatedKernels kernels;
  std::mt19937 random{7};

private:
  std::vector<std::pair<std::size_t, std::function<void(std::size_t)>>> checks_;
};

} // namespace lanner::cuda
