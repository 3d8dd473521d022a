#include "ops/traits.h"

#include <algorithm>
#include <utility>

#include "graph/op.h"
#include "ops/definition/axis.h"

namespace lanner::ops {

Traits of_pattern(Pattern pattern) {
  Traits traits;
  traits.pattern = pattern;
  return traits;
}

Traits movement() {
  return {.pattern = Pattern::movement, .range = preserved_range()};
}

Traits stepwise() {
  return {.pattern = Pattern::elementwise, .discontinuous = true, .split = splits_elements};
}

Traits elementwise_within(double least, double most) {
  return {.pattern = Pattern::elementwise, .range = fixed_range(least, most), .split = splits_elements};
}

ValueRange preserved_range() {
  return {ValueRange::Kind::preserved};
}

ValueRange fixed_range(double least, double most) {
  return {ValueRange::Kind::fixed, least, most};
}

bool splits_first(const Split& split) {
  if (split.parts.empty() || !split.parts[0]) return false;
  return std::all_of(split.shared.begin() + 1, split.shared.end(), [](bool shared) { return shared; });
}

bool splits_images(const Split& split) {
  return splits_first(split) && split.node.input(0)->type.rank() > 2;
}

bool splits_elements(const Split& split) {
  const std::size_t rank = split.node.output()->type.rank();
  for (std::size_t i = 0; i < split.parts.size(); ++i) {
    const Value* input = split.node.input(i);
    if (!input) continue;
    // A shared operand must not extend along axis 0.
    const bool fits = split.parts[i]
                          ? input->type.rank() == rank
                          : split.shared[i] && (input->type.rank() < rank ||
                                                (input->type.rank() == rank && input->type.shape()[0] == 1));
    if (!fits) return false;
  }
  return true;
}

bool is_first_axis(std::int64_t axis, const Value& value) {
  return resolve_axis(axis, value.type.rank()) == 0;
}

SplitRule splits_beside_axis(std::int64_t fallback) {
  return [fallback](const Split& split) {
    return splits_first(split) &&
           !is_first_axis(split.node.attributes.integer("axis", fallback), *split.node.input(0));
  };
}

SplitRule splits_beside_axes_of(std::size_t i) {
  return [i](const Split& split) {
    const Value* axes = split.node.input(i);
    const Tensor* constant = axes ? axes->constant() : nullptr;
    if (!splits_first(split) || !constant || constant->dtype() != DType::i64 ||
        !constant->layout().row_major() || constant->elements() == 0)
      return false;
    return std::ranges::none_of(constant->as<std::int64_t>(),
                                [&](std::int64_t axis) { return is_first_axis(axis, *split.node.input(0)); });
  };
}

/// The first operand, if its shape is known.
static const Value* static_operand(const Node& node) {
  const Value* input = node.input(0);
  return input && input->type.is_tensor() && input->type.is_static() ? input : nullptr;
}

/// Elements of the axes [begin, end).
static double elements_between(const Node& node, std::size_t begin, std::size_t end) {
  const Value* input = static_operand(node);
  if (!input) return 1;
  const Shape& shape = input->type.shape();
  double length = 1;
  for (std::size_t i = begin; i < std::min(end, shape.rank()); ++i) length *= static_cast<double>(shape[i]);
  return std::max(1.0, length);
}

/// The axis of the first operand that a node gives; the rank where it gives none.
static std::size_t named_axis(const Node& node, std::int64_t axis) {
  const Value* input = static_operand(node);
  if (!input) return 0;
  const auto rank = static_cast<std::int64_t>(input->type.rank());
  if (axis < 0) axis += rank;
  return static_cast<std::size_t>(axis < 0 || axis >= rank ? rank : axis);
}

double line_along_axis(const Node& node) {
  const std::size_t axis = named_axis(node, node.attributes.integer("axis", -1));
  return elements_between(node, axis, axis + 1);
}

double line_from_axis(const Node& node) {
  return elements_between(node, named_axis(node, node.attributes.integer("axis", -1)), SIZE_MAX);
}

double line_of_image(const Node& node) {
  return elements_between(node, 2, SIZE_MAX);
}

double line_of_channels(const Node& node) {
  const std::int64_t groups = std::max<std::int64_t>(1, node.attributes.integer("num_groups", 1));
  return std::max(1.0, elements_between(node, 1, SIZE_MAX) / static_cast<double>(groups));
}

double line_of_axes(const Node& node) {
  double length = 1;
  for (const std::int64_t axis : node.attributes.integers("axes", {0, 2, 3})) {
    const std::size_t named = named_axis(node, axis);
    length *= elements_between(node, named, named + 1);
  }
  return length;
}

double line_of_axis_input(const Node& node) {
  const Tensor* axis = node.input(1) ? node.input(1)->constant() : nullptr;
  if (!axis || axis->dtype() != DType::i64 || axis->elements() != 1) return 1;
  const std::size_t named = named_axis(node, axis->as<std::int64_t>()[0]);
  return elements_between(node, named, named + 1);
}

std::uint64_t element_count(const Value* value) {
  return value && value->type.is_static() ? static_cast<std::uint64_t>(value->type.shape().elements()) : 0;
}

bool has_rank(const Value* value, std::size_t least) {
  return value && value->type.is_tensor() && value->type.ranked() && value->type.rank() >= least;
}

} // namespace lanner::ops
