#include "ops/definition/expansion.h"

#include "base/check.h"
#include "graph/op.h"

namespace lanner {

std::vector<Value*> emit_expansion(Node& node) {
  const OpDef& op = node.op();
  check(op.expand != nullptr, ErrorCode::internal, "{} has no expansion", op.name);
  ExpandContext context{node.region()->graph(), node, {}};
  op.expand(context);
  check(context.results.size() == node.outputs().size(), ErrorCode::internal,
        "{}: its expansion gives {} values for {} outputs", op.name, context.results.size(),
        node.outputs().size());
  for (std::size_t i = 0; i < context.results.size(); ++i) {
    check(context.results[i] || node.output(i)->unused(), ErrorCode::internal,
          "{}: its expansion gives nothing for output {}", op.name, i);
  }
  return context.results;
}

void expand_node(Node& node) {
  Node* const first = node.region()->previous(&node);
  const std::vector<Value*> results = emit_expansion(node);
  for (Node* made = node.region()->previous(&node); made != first; made = node.region()->previous(made)) {
    if (made->sources.empty()) made->sources = node.sources;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) node.output(i)->replace_all_uses(results[i]);
  }
  node.region()->erase(&node);
}

} // namespace lanner
