#pragma once
// Functions of two numbers that several operators apply: of elements, and of expressions where inference
// follows them. Integers wrap around.

#include <optional>

#include "graph/type/dim.h"
#include "ops/formulas/number.h"

namespace lanner::ops {

struct Add {
  template<typename T>
  T operator()(T a, T b) const {
    return (formulas::Number(a) + formulas::Number(b)).value;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return a + b; }
};

struct Subtract {
  template<typename T>
  T operator()(T a, T b) const {
    return (formulas::Number(a) - formulas::Number(b)).value;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return a - b; }
};

struct Multiply {
  template<typename T>
  T operator()(T a, T b) const {
    return (formulas::Number(a) * formulas::Number(b)).value;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return a * b; }
};

// A NaN among the operands is the answer.
struct Minimum {
  template<typename T>
  T operator()(T a, T b) const {
    return smaller(formulas::Number(a), formulas::Number(b)).value;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return min(a, b); }
};

struct Maximum {
  template<typename T>
  T operator()(T a, T b) const {
    return larger(formulas::Number(a), formulas::Number(b)).value;
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) { return max(a, b); }
};

} // namespace lanner::ops
