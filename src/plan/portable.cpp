#include "plan/portable.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/op.h"
#include "ops/recipe.h"

namespace lanner {
namespace {

/// What groups of nodes, conversions between storages and blocks of counted rows become.
constexpr std::array<std::string_view, 3> lowered_kinds{"fused", "reorder", "by_rows"};

void check_value(const Value& value) {
  check(value.storage.is_default(), ErrorCode::bad_data,
        "the portable graph stores %{} as {}; only a lowered graph says storages", value.name(),
        value.storage.to_string());
}

void check_region(const Region& region) {
  for (const auto& parameter : region.parameters()) check_value(*parameter);
  for (const auto& node : region.nodes()) {
    check(!node->tactic.chosen() && node->tactic == TacticChoice{}, ErrorCode::bad_data,
          "node {} of the portable graph names kernel {}:{}; only a lowered graph names kernels",
          node->label(), node->tactic.backend, node->tactic.kernel);
    check(node->stream() == 0, ErrorCode::bad_data,
          "node {} of the portable graph is for stream {}; only a lowered graph has streams", node->label(),
          node->stream());
    check(std::ranges::find(lowered_kinds, node->kind()) == lowered_kinds.end(), ErrorCode::bad_data,
          "node {} of the portable graph is a {}, which only lowering makes", node->label(), node->kind());
    check(node->kind() != "constant" || recipe_of(*node).literal(), ErrorCode::bad_data,
          "constant {} has a recipe in the graph; the table of weights tells them", node->label());
    for (const auto& output : node->outputs()) check_value(*output);
    for (const auto& inner : node->regions()) check_region(*inner);
  }
}

} // namespace

void check_portable(const Graph& graph) {
  check_region(graph.body());
}

} // namespace lanner
