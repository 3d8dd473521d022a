#include <lanner/error.h>

#include "importers/builder.h"
#include "importers/node_order.h"

namespace lanner {

/// Why a node cannot be converted; empty where it is.
std::string GraphBuilder::try_node(const ImportNode& node) {
  Scope* const scope = scope_;
  const std::uint32_t depth = depth_;
  try {
    add_node(node);
    return {};
  } catch (const Error& error) {
    const bool whole = error.code() == ErrorCode::limit_exceeded || error.code() == ErrorCode::cancelled ||
                       error.code() == ErrorCode::out_of_memory;
    if (whole) throw;
    scope_ = scope;
    depth_ = depth;
    current_ = nullptr;
    calls_.clear();
    return error.message();
  }
}

NodeTrial GraphBuilder::try_nodes(const UnconvertedType& type_of) {
  NodeTrial trial;
  Scope body;
  begin(body);
  const auto visible = [&](std::string_view name) { return is_visible(name); };
  for (const ImportNode* node : in_dependence_order(model_.graph.nodes, visible)) {
    std::string reason = try_node(*node);
    if (reason.empty()) continue;
    trial.reasons.emplace(node->name, std::move(reason));
    for (std::size_t i = 0; i < node->outputs.size(); ++i) {
      if (node->outputs[i].empty() || body.values.contains(node->outputs[i])) continue;
      Value* value = graph_->add_input(graph_->unique_name(identifier(node->outputs[i])), type_of(*node, i));
      inference_->declare(*value);
      define(node->outputs[i], value);
    }
  }
  for (const auto& [name, value] : body.values)
    if (value) trial.types.emplace(name, value->type);
  return trial;
}

} // namespace lanner
