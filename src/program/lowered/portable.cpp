#include "program/lowered/portable.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/op.h"
#include "ops/definition/recipe.h"
#include "ops/table/named.h"

namespace lanner {
namespace {

/// Whether the operator is made by lowering: fused groups, conversions between storages, row blocks.
bool is_lowered(const Node& node) {
  return is_group(node) || is_conversion(node) || ops::is_row_blocks(node);
}

void check_value(const Value& value) {
  check(value.storage.is_default(), ErrorCode::bad_data,
        "the portable graph stores %{} as {}; only a lowered graph says storages", value.name(),
        value.storage.to_string());
}

void check_region(const Region& region) {
  for (const auto& parameter : region.parameters()) check_value(*parameter);
  for (const auto& node : region.nodes()) {
    check_deadline();
    check(!node->tactic.chosen() && node->tactic == TacticChoice{}, ErrorCode::bad_data,
          "node {} of the portable graph names kernel {}:{}; only a lowered graph names kernels",
          node->label(), node->tactic.backend, node->tactic.kernel);
    check(node->stream() == 0, ErrorCode::bad_data,
          "node {} of the portable graph is for stream {}; only a lowered graph has streams", node->label(),
          node->stream());
    check(!is_lowered(*node), ErrorCode::bad_data,
          "node {} of the portable graph is a {}, which only lowering makes", node->label(), node->kind());
    check(!is_constant(*node) || recipe_of(*node).literal(), ErrorCode::bad_data,
          "constant {} has a recipe in the graph; expected it in the plan's table of weights", node->label());
    for (const auto& output : node->outputs()) check_value(*output);
    for (const auto& inner : node->regions()) check_region(*inner);
  }
}

} // namespace

void check_portable(const Graph& graph) {
  check_region(graph.body());
}

} // namespace lanner
