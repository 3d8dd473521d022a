#include "ops/moves.h"

#include <map>
#include <string_view>

#include "graph/op.h"

namespace lanner::ops {

bool hands_on(const Node& node, std::size_t i) {
  /// Inputs from the first on.
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

bool moves_elements_of(const Node& node, std::size_t i) {
  const std::size_t* count = moved_inputs(node);
  return count && i < *count;
}

bool is_renamed(const Node& node) {
  return (node.op().view && node.kind() != "reorder") || node.kind() == "optional_get_element";
}

} // namespace lanner::ops
