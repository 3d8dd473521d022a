// What masks the scores of a softmax, often the lowest f32, becomes a number that a narrow type holds with
// room for the scores that are added to it. Rounded to the narrow type it would be an infinity, and a row
// without any other score NaN. e^x of either is 0.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/constant_math.h"
#include "passes/rewriting/rewrite.h"
#include "tensor/largest_finite.h"

namespace lanner::passes {
namespace {

constexpr int deepest = 64; // nodes between a constant and its softmax, and between a factor and its cast

bool is_one_of(const Node& node, std::initializer_list<std::string_view> kinds) {
  return std::ranges::find(kinds, node.kind()) != kinds.end();
}

bool moves(const Node& node) {
  return node.op().view || pattern_of(node) == Pattern::movement;
}

bool is_whole(double number) {
  return std::trunc(number) == number; // false for NaN
}

class Masks {
public:
  /// Whether all elements are whole numbers by the way in which they are computed: bools and integers that
  /// were cast, and sums and products of those. Times a mask's value they give 0 or another mask's value.
  bool whole(const Value* value, int depth = 0) {
    if (!value || !value->type.is_tensor() || depth > deepest) return false;
    const DType type = value->type.dtype();
    if (!is_float(type)) return is_integer(type) || type == DType::boolean;
    const auto [found, added] = whole_.emplace(value, false);
    if (added) found->second = computes_whole(*value, depth);
    return whole_.at(value);
  }

  /// Whether a value reaches nothing but softmaxes, as a term of their operands.
  bool ends_in_softmax(const Value& value, int depth = 0) {
    if (value.unused() || depth > deepest) return false;
    const auto [found, added] = ends_.emplace(&value, false);
    if (added) {
      const bool all = std::ranges::all_of(
          value.uses(), [&](const Use& use) { return use.node && masks(value, use, depth + 1); });
      ends_[&value] = all;
    }
    return ends_.at(&value);
  }

private:
  bool computes_whole(const Value& value, int depth) {
    if (value.constant()) {
      const auto numbers = constant_reals(&value);
      return numbers && std::ranges::all_of(*numbers, is_whole);
    }
    const Node* node = value.producer();
    if (!node || !(moves(*node) || is_one_of(*node, {"add", "sub", "mul", "min", "max", "neg"})))
      return false;
    return std::ranges::all_of(node->inputs(),
                               [&](const Value* each) { return !each || whole(each, depth + 1); });
  }

  bool masks(const Value& value, const Use& use, int depth) {
    const Node& node = *use.node;
    if (is_one_of(node, {"softmax", "log_softmax"})) return true;
    if (node.kind() == "attention") return use.index == 3; // added to its scores
    bool leads = moves(node) || is_one_of(node, {"add", "sub", "min", "max"});
    if (node.kind() == "mul") leads = whole(node.input(1 - use.index)) && node.input(1 - use.index) != &value;
    leads = leads && node.outputs().size() == 1 && is_float(node.output()->type.dtype());
    return leads && ends_in_softmax(*node.output(), depth);
  }

  std::map<const Value*, bool> whole_, ends_;
};

/// Whether elements are beyond the bound, and all are finite: an infinity stays one.
bool exceeds(const Value& value, double bound) {
  const auto numbers = constant_reals(&value);
  return numbers && std::ranges::all_of(*numbers, [](double x) { return std::isfinite(x); }) &&
         std::ranges::any_of(*numbers, [&](double x) { return std::abs(x) > bound; });
}

/// Constants that are bounded.
std::vector<Node*> masks_of(Graph& graph, double bound) {
  Masks masks;
  std::vector<Node*> found;
  for_each_node(graph, [&](Node& node) {
    const bool real = is_constant(node) && node.output()->type.dtype() == DType::f32;
    if (real && masks.ends_in_softmax(*node.output()) && exceeds(*node.output(), bound))
      found.push_back(&node);
    return false;
  });
  return found;
}

bool bound_mask(Node& node, double bound) {
  Node* const reader = node.region()->next(&node); // it is no output of its region, so there is one
  ConstantMath math(*reader);
  Value* const lowest = math.cast(math.number(-bound), DType::f32);
  Value* const highest = math.cast(math.number(bound), DType::f32);
  Value* const bounded = math.apply("min", {math.apply("max", {node.output(), lowest}), highest});
  if (!bounded) return false;
  take_name(*bounded, *node.output());
  replace(node, bounded);
  return true;
}

} // namespace

bool bound_masks(Graph& graph, DType narrow) {
  // Half of the range is left for scores.
  const double bound = largest_finite(narrow) / 2;
  bool changed = false;
  for (Node* const mask : masks_of(graph, bound)) changed = bound_mask(*mask, bound) || changed;
  return changed;
}

} // namespace lanner::passes
