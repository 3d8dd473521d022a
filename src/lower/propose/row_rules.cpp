#include "lower/propose/row_rules.h"

#include <algorithm>
#include <vector>

#include <lanner/tensor.h>

#include "graph/op.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

bool same_count(const Value* value, const Dim& count) {
  const std::optional<Dim> rows = value ? row_count(*value) : std::nullopt;
  return rows && *rows == count;
}

bool is_shared(const Value* value) {
  return value && is_planned(*value);
}

/// For each input, whether it is split into the same rows or shared by all of them.
Split split_of(const Node& node, const Dim& count) {
  Split split{node, {}, {}};
  for (const Value* input : node.inputs()) {
    split.parts.push_back(same_count(input, count));
    split.shared.push_back(!input || is_shared(input));
  }
  return split;
}

/// Whether each row samples from its whole first operand, which the host's definition reads anew for each
/// block.
bool samples_shared(const Node& node) {
  return pattern_of(node) == Pattern::sampling && node.input(0) && is_shared(node.input(0));
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
  if (!node.op().pure || !node.regions().empty() || node.outputs().size() != 1 || is_conversion(node))
    return std::nullopt;
  const std::optional<Dim> count = row_count(*node.output());
  // GPU kernels compute reals: integers such as image indices would be copied to the host and back for each
  // block.
  if (count && !device.is_host() && !is_float(node.output()->type.dtype())) return std::nullopt;
  const auto& splits = node.op().traits.split;
  if (!count || !splits || (device.is_host() && samples_shared(node))) return std::nullopt;
  return splits(split_of(node, *count)) ? count : std::nullopt;
}

bool is_heavy(const Node& node) {
  return pattern_of(node) == Pattern::contraction || samples_shared(node);
}

} // namespace lanner
