#pragma once
// Binary functions shared by several operators: on elements, and on expressions where inference tracks them.
// Integers wrap around.

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

// A NaN operand is the result.
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
