#include "ops/movement/movement_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "graph/op.h"
#include "ops/detection/suppression.h"

namespace lanner::ops {

bool hands_on(const Node& node, std::size_t i) {
  /// How many of the first inputs may be passed through.
  static const std::map<std::string_view, std::size_t> counts{{"sequence_construct", SIZE_MAX},
                                                              {"sequence_at", 1},
                                                              {"sequence_insert", 2},
                                                              {"sequence_erase", 1},
                                                              {"sequence_length", 1},
                                                              {"optional", 1},
                                                              {"optional_has_element", 1},
                                                              {"shape", 1},
                                                              {"size", 1}};
  const auto found = counts.find(node.kind());
  return (found != counts.end() && i < found->second) || (i == 0 && is_renamed(node));
}

/// How many of the first inputs are moved; null for other operators.
static const std::size_t* moved_inputs(const Node& node) {
  static const std::map<std::string_view, std::size_t> counts{{"gather", 2},
                                                              {"gather_elements", 2},
                                                              {"scatter_elements", 3},
                                                              {"slice", 1},
                                                              {"expand", 1},
                                                              {"transpose", 1},
                                                              {"concat", SIZE_MAX},
                                                              {"split", 1},
                                                              {"pad", 1},
                                                              {"tile", 1},
                                                              {"constant_of_shape", 0}};
  const auto found = counts.find(node.kind());
  return found == counts.end() ? nullptr : &found->second;
}

bool moves_elements(const Node& node) {
  return moved_inputs(node) != nullptr;
}

static bool is_row_kind(const Node& node) {
  static const std::set<std::string_view> kinds{
      "softmax",    "log_softmax", "reduce_mean",         "reduce_sum",
      "reduce_max", "reduce_min",  "global_average_pool", "global_max_pool"};
  return kinds.contains(node.kind());
}

static bool is_computed(const Type& type, bool by_rows) {
  if (!type.is_tensor()) return false;
  const DType dtype = type.dtype();
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 ||
         (dtype == DType::boolean && !by_rows);
}

/// How many of the first inputs are used in computation; 0 for other operators, and for other types.
static std::size_t computed_inputs(const Node& node) {
  const bool by_rows = is_row_kind(node);
  if (!by_rows && (!node.op().elementwise || is_renamed(node) || node.kind() == "reorder")) return 0;
  const std::size_t count = by_rows ? 1 : node.inputs().size();
  for (std::size_t i = 0; i < count; ++i)
    if (node.input(i) && !is_computed(node.input(i)->type, by_rows)) return 0;
  for (const auto& output : node.outputs())
    if (!is_computed(output->type, by_rows)) return 0;
  return count;
}

bool finds_elements(const Node& node) {
  return node.kind() == "non_zero" || node.kind() == "non_max_suppression";
}

bool runs_late(const Node& node) {
  return moves_elements(node) || finds_elements(node) || computed_inputs(node) > 0;
}

bool reads_elements_of(const Node& node, std::size_t i) {
  if (finds_elements(node)) return i < (node.kind() == "non_zero" ? 1 : 2);
  const std::size_t* moved = moved_inputs(node);
  return i < (moved ? *moved : computed_inputs(node));
}

std::uint64_t min_bytes_there(const Node& node) {
  // Each box is compared with all selected ones.
  return node.kind() == "non_max_suppression" ? 16 << 10 : 256 << 10;
}

Room room_of(const Node& node, std::span<const Tensor> inputs) {
  const Shape& first = inputs[0].shape();
  if (node.kind() == "non_zero") return {Shape{static_cast<std::int64_t>(first.rank()), first.elements()}, 1};
  const Shape& scores = inputs[1].shape();
  const std::int64_t selected = std::min(thresholds_of(inputs).most, scores[2]);
  return {Shape{scores[0] * scores[1] * selected, 3}, 0};
}

bool is_renamed(const Node& node) {
  return (node.op().view && node.kind() != "reorder") || node.kind() == "optional_get_element";
}

} // namespace lanner::ops
