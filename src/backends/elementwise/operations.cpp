#include "backends/elementwise/operations.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "graph/op.h"

namespace lanner {

namespace {

std::optional<Translation> translate_clip(const GroupOp& op) {
  Numbers bounds{-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  bool constant = true;
  for (std::size_t i : {1, 2}) {
    if (!op.input(i)) continue;
    const auto bound = scalar_value(op.input(i).constant);
    constant &= bound.has_value();
    if (bound) (i == 1 ? bounds.p : bounds.q) = *bound;
  }
  // If min > max the upper bound wins, as it is applied last.
  if (constant) return Translation{&formula("clip"), bounds, {0}};
  if (op.input(1) && op.input(2)) return Translation{&formula("clamp"), {}, {0, 1, 2}};
  return Translation{&formula(op.input(1) ? "max" : "min"), {}, {0, op.input(1) ? 1U : 2U}};
}

/// x^p by simple arithmetic where that is enough.
Translation power_of(float p) {
  struct Row {
    float p;
    const char* formula;
  };
  static constexpr Row rows[] = {
      {2, "square"}, {3, "cube"}, {0.5F, "sqrt"}, {-1, "reciprocal"}, {-0.5F, "inverse_sqrt"}};
  const auto* found = std::ranges::find(rows, p, &Row::p);
  if (found != std::end(rows)) return {&formula(found->formula), {}, {0}};
  return {&formula("power"), {p, 0}, {0}};
}

/// `x + c` and similar for a constant c.
std::optional<Translation> translate_scalar(const GroupOp& op) {
  const auto left = scalar_value(op.input(0).constant), right = scalar_value(op.input(1).constant);
  if (left.has_value() == right.has_value()) return std::nullopt;
  const std::string& kind = op.kind();
  const float c = left ? *left : *right;
  const std::size_t x = left ? 1 : 0;
  const Formula& linear = formula("linear");
  if (kind == "add") return Translation{&linear, {1, c}, {x}};
  if (kind == "mul") return Translation{&linear, {c, 0}, {x}};
  if (kind == "sub") return left ? Translation{&linear, {-1, c}, {x}} : Translation{&linear, {1, -c}, {x}};
  if (kind == "pow" && right) return power_of(c);
  return std::nullopt;
}

} // namespace

std::optional<Translation> translate(const GroupOp& op) {
  if (op.kind() == "clip") return translate_clip(op);
  if (auto scalar = op.inputs.size() == 2 ? translate_scalar(op) : std::nullopt) return scalar;
  const Formula* own = op.node->op().elementwise ? find_formula(op.kind()) : nullptr;
  if (!own) return std::nullopt;
  const FormulaCall call = call_of(*own, op.attributes());
  Translation result{call.formula, call.numbers, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(own->operands); ++i) result.operands.push_back(i);
  return result;
}

const Formula* translate_variadic(const GroupOp& op) {
  const std::string& kind = op.kind();
  if (kind == "sum" || kind == "mean") return &formula("add");
  return kind == "min" || kind == "max" ? &formula(kind) : nullptr;
}

} // namespace lanner
