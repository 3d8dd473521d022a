#pragma once
// Division by a number known before launch, as one multiplication. Shared by host and device code.
//
// Source: T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994.

#include <cstdint>

#include "image/cuda/host_device.h"

namespace lanner::cuda {

/// Exclusive upper bound of dividends.
inline constexpr std::int64_t divisor_limit = std::int64_t{1} << 31;

/// Divides numbers below divisor_limit.
struct Divisor {
  std::uint32_t multiplier = 0, shift = 0; ///< A multiplier of 0 stands for a divisor of 1.

  LANNER_HOST_DEVICE std::uint32_t quotient(std::uint32_t number) const {
    if (multiplier == 0) return number;
    const std::uint64_t product = std::uint64_t{number} * multiplier;
    return static_cast<std::uint32_t>(product >> 32) >> shift;
  }
};

/// `divisor` is from 1 to below divisor_limit.
inline Divisor divisor_of(std::int64_t divisor) {
  if (divisor <= 1) return {};
  std::uint32_t bits = 0;
  while ((std::int64_t{1} << bits) < divisor) ++bits;
  const std::uint64_t power = std::uint64_t{1} << (31 + bits);
  const auto d = static_cast<std::uint64_t>(divisor);
  return {static_cast<std::uint32_t>((power + d - 1) / d), bits - 1};
}

} // namespace lanner::cuda
