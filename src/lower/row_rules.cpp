#include "lower/row_rules.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <lanner/tensor.h>

#include "graph/op.h"
#include "ops/axis.h"
#include "ops/permutation.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

bool same_count(const Value* value, const Dim& count) {
  const std::optional<Dim> rows = value ? row_count(*value) : std::nullopt;
  return rows && *rows == count;
}

bool is_shared(const Value* value) {
  return value && is_planned(*value);
}

/// Input `i` has the rows, all others are shared or absent.
bool only_rows(const Node& node, std::size_t i, const Dim& count) {
  for (std::size_t k = 0; k < node.inputs().size(); ++k) {
    const Value* input = node.inputs()[k];
    if (k == i ? !same_count(input, count) : input && !is_shared(input)) return false;
  }
  return true;
}

std::optional<std::vector<std::int64_t>> integers_of(const Value* value) {
  const Tensor* constant = value ? value->constant() : nullptr;
  if (!constant || constant->dtype() != DType::i64 || !constant->layout().row_major()) return std::nullopt;
  const auto numbers = constant->as<std::int64_t>();
  return std::vector<std::int64_t>(numbers.begin(), numbers.end());
}

bool names_rows(std::int64_t axis, const Value& value) {
  return ops::resolve_axis(axis, value.type.rank()) == 0;
}

bool elementwise(const Node& node, const Dim& count) {
  const std::size_t rank = node.output()->type.rank();
  return std::ranges::all_of(node.inputs(), [&](const Value* input) {
    if (!input) return true;
    if (same_count(input, count)) return input->type.rank() == rank;
    // A shared value must not lie along the rows.
    return is_shared(input) &&
           (input->type.rank() < rank || (input->type.rank() == rank && input->type.shape()[0] == 1));
  });
}

bool product(const Node& node, const Dim& count) {
  const Value *a = node.input(0), *b = node.input(1);
  if (!a || !b || !same_count(a, count) || a->type.rank() < 2) return false;
  const std::size_t rank = a->type.rank();
  if (same_count(b, count)) return rank == b->type.rank() && rank > 2;
  if (!is_shared(b) || b->type.rank() < 2) return false;
  return b->type.rank() < rank || (b->type.rank() == rank && (rank == 2 || b->type.shape()[0] == 1));
}

bool reduction(const Node& node, const Dim& count) {
  const auto axes = integers_of(node.input(1));
  return only_rows(node, 0, count) && axes && !axes->empty() &&
         std::ranges::none_of(*axes, [&](std::int64_t axis) { return names_rows(axis, *node.input(0)); });
}

bool slice(const Node& node, const Dim& count) {
  const auto axes = integers_of(node.input(3));
  return only_rows(node, 0, count) && axes &&
         std::ranges::none_of(*axes, [&](std::int64_t axis) { return names_rows(axis, *node.input(0)); });
}

bool concatenation(const Node& node, const Dim& count) {
  return std::ranges::all_of(node.inputs(), [&](const Value* input) { return same_count(input, count); }) &&
         !names_rows(node.attributes.integer("axis", 0), *node.output());
}

bool gathering(const Node& node, const Dim& count) {
  const Value *data = node.input(0), *indices = node.input(1);
  if (!data || !indices || !data->type.ranked()) return false;
  const bool along_rows = data->type.rank() > 0 && names_rows(node.attributes.integer("axis", 0), *data);
  if (same_count(indices, count)) return is_shared(data) && along_rows;
  return same_count(data, count) && is_shared(indices) && !along_rows;
}

bool resizing(const Node& node, const Dim& count) {
  const Value* scales = node.input(2);
  const Tensor* factors = scales ? scales->constant() : nullptr;
  return only_rows(node, 0, count) && !node.input(3) && factors && factors->dtype() == DType::f32 &&
         !node.attributes.has("axes") &&
         factors->elements() == static_cast<std::int64_t>(node.input(0)->type.rank()) &&
         factors->as<float>()[0] == 1;
}

bool transposition(const Node& node, const Dim& count) {
  const auto order = ops::permutation_of(&node);
  return only_rows(node, 0, count) && order && !order->empty() && order->front() == 0;
}

/// Of each row its box and the image that it names; all share the images.
bool regions_of_images(const Node& node, const Dim& count) {
  return is_shared(node.input(0)) && same_count(node.input(1), count) && same_count(node.input(2), count);
}

bool by_rows(const Node& node, const Dim& count, Device device) {
  static const std::set<std::string_view> batched{"conv",         "conv_transpose",      "max_pool",
                                                  "average_pool", "global_average_pool", "global_max_pool"};
  const std::string& kind = node.kind();
  if (node.op().view) return node.input(0) && same_count(node.input(0), count);
  if (node.op().elementwise) return elementwise(node, count);
  if (batched.contains(kind)) return only_rows(node, 0, count) && node.input(0)->type.rank() > 2;
  if (kind == "matmul") return product(node, count);
  if (kind.starts_with("reduce_")) return reduction(node, count);
  if (kind == "softmax" || kind == "log_softmax")
    return only_rows(node, 0, count) && !names_rows(node.attributes.integer("axis", -1), *node.input(0));
  if (kind == "slice") return slice(node, count);
  if (kind == "concat") return concatenation(node, count);
  if (kind == "gather") return gathering(node, count);
  if (kind == "resize") return resizing(node, count);
  if (kind == "transpose") return transposition(node, count);
  // The host's definition reads all images anew for each block.
  if (kind == "roi_align") return !device.is_host() && regions_of_images(node, count);
  return false;
}

} // namespace

std::optional<Dim> row_count(const Value& value) {
  if (!value.type.is_tensor() || value.type.dtype() == DType::string || !value.type.ranked() ||
      value.type.rank() == 0 || bit_width(value.type.dtype()) % 8 != 0)
    return std::nullopt;
  const Dims& dims = value.type.dims();
  const bool others = std::all_of(dims.begin() + 1, dims.end(),
                                  [](const Dim& dim) { return dim.is_constant() && dim.value() > 0; });
  return others && !dims[0].is_constant() ? std::optional(dims[0]) : std::nullopt;
}

std::optional<Dim> works_by_rows(const Node& node, Device device) {
  if (!node.op().pure || !node.regions().empty() || node.outputs().size() != 1 || node.kind() == "reorder")
    return std::nullopt;
  const std::optional<Dim> count = row_count(*node.output());
  // A GPU's kernels compute reals: numbers of images and the like would be fetched and brought back a block.
  if (count && !device.is_host() && !is_float(node.output()->type.dtype())) return std::nullopt;
  return count && by_rows(node, *count, device) ? count : std::nullopt;
}

bool is_heavy(const Node& node) {
  return node.kind() == "matmul" || node.kind() == "conv" || node.kind() == "conv_transpose" ||
         node.kind() == "roi_align";
}

} // namespace lanner
