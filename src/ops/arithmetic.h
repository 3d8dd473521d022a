#pragma once
// Functions of two numbers that several operators apply: of elements, and of expressions where inference
// follows them. Integers wrap around.

#include <cstdint>
#include <optional>
#include <type_traits>

#include "graph/dim.h"

namespace lanner::ops {

struct Add {
  template<typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return a + b;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return a + b; }
};

struct Subtract {
  template<typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    else
      return a - b;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return a - b; }
};

struct Multiply {
  template<typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
      return a * b;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return a * b; }
};

// A NaN among the operands is the answer.
struct Minimum {
  template<typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return min(a, b); }
};

struct Maximum {
  template<typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return max(a, b); }
};

} // namespace lanner::ops
