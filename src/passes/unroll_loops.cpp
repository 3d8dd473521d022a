#include <algorithm>

#include "graph/copy.h"
#include "graph/infer.h"
#include "ops/control/control_flow.h"
#include "ops/definition/recipe.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

/// Elements of a sequence filled by a loop have unknown sizes; to know them, a plan may grow by so many
/// nodes.
constexpr std::int64_t max_iterations = 64;
constexpr std::size_t max_nodes = 512;

bool is_true(const Value* value) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  return tensor && tensor->dtype() == DType::boolean && tensor->elements() == 1 &&
         ops::read_condition(*tensor, "loop: condition");
}

/// Whether the body of a started loop always asks for another iteration.
bool always_goes_on(const Node& loop) {
  const Region& body = *loop.regions()[0];
  const Value* next = body.outputs()[0];
  if (next->producer()) return is_true(next);
  const std::size_t own = body.parameters().size() - loop.captures();
  if (next->index() == 1) return true;
  return next->index() >= own && is_true(loop.inputs()[loop.own_inputs().size() + next->index() - own]);
}

std::size_t nodes_in(const Region& region) {
  std::size_t count = region.nodes().size();
  for (const auto& node : region.nodes())
    for (const auto& inner : node->regions()) count += nodes_in(*inner);
  return count;
}

/// The number of iterations of a loop that carries a sequence, where it is known and small.
std::optional<std::int64_t> iterations(const Node& loop) {
  if (loop.kind() != "loop" || loop.own_inputs().size() != loop.outputs().size() + 2) return std::nullopt;
  const bool fills = std::ranges::any_of(loop.own_inputs().subspan(2), [](const Value* value) {
    return value && value->type.kind() == Type::Kind::sequence;
  });
  const auto count = constant_integers(loop.input(0));
  if (!fills || !count || count->size() != 1 || (loop.input(1) && !is_true(loop.input(1))) ||
      !always_goes_on(loop))
    return std::nullopt;
  const std::int64_t made = std::max<std::int64_t>(count->front(), 0);
  const bool few =
      made <= max_iterations && static_cast<std::size_t>(made) * nodes_in(*loop.regions()[0]) <= max_nodes;
  return few ? std::optional(made) : std::nullopt;
}

void unroll(Node& loop, std::int64_t count) {
  Graph& graph = loop.region()->graph();
  const auto own = loop.own_inputs();
  std::vector<Value*> carried(own.begin() + 2, own.end());
  Value* go = count > 0 ? graph.constant(Tensor::scalar(true), "going", &loop) : nullptr;
  for (std::int64_t iteration = 0; iteration < count; ++iteration) {
    std::vector<Value*> arguments = {graph.constant(Tensor::scalar(iteration), "turn", &loop), go};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    for (Value* capture : loop.inputs().last(loop.captures())) arguments.push_back(capture);
    const std::vector<Value*> results = inline_region(*loop.regions()[0], arguments, &loop);
    carried.assign(results.begin() + 1, results.end());
  }
  replace_by_copies(loop, carried);
}

} // namespace

bool unroll_loops(Graph& graph) {
  const bool changed = for_each_node(graph, [&](Node& node) {
    const auto count = iterations(node);
    if (!count) return false;
    note_decided(graph, node.input(0));
    unroll(node, *count);
    return true;
  });
  if (changed) infer_types(graph); // the nodes after these now have inputs of known sizes
  return changed;
}

} // namespace lanner::passes
