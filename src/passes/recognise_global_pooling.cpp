// A mean over all spatial dims, however it is expressed, becomes global_average_pool.

#include <algorithm>

#include "passes/passes.h"
#include "passes/rewriting/reshape_target.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

bool reduces_spatial(const Node& node) {
  if (node.kind() != "reduce_mean") return false;
  const Type& type = node.input(0)->type;
  auto axes = constant_integers(node.input(1));
  if (!axes || !type.ranked() || type.rank() < 3 || type.rank() > 5) return false;
  const auto rank = static_cast<std::int64_t>(type.rank());
  for (std::int64_t& axis : *axes) axis = axis < 0 ? axis + rank : axis;
  std::ranges::sort(*axes);
  if (static_cast<std::int64_t>(axes->size()) != rank - 2) return false;
  for (std::int64_t i = 2; i < rank; ++i) {
    if ((*axes)[static_cast<std::size_t>(i - 2)] != i) return false;
  }
  return is_float(type.dtype());
}

bool pools_all(const Node& node) {
  if (node.kind() != "average_pool") return false;
  const Type& type = node.input(0)->type;
  if (!type.ranked() || type.rank() < 3) return false;
  const auto kernel = node.attributes.integers("kernel_shape"), pads = node.attributes.integers("pads");
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (!(type.dims()[i + 2] == Dim(kernel[i]))) return false;
  }
  const auto dilations = node.attributes.integers("dilations");
  return node.attributes.string("auto_pad", "NOTSET") == "NOTSET" &&
         std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; }) &&
         std::ranges::all_of(dilations, [](std::int64_t step) { return step == 1; });
}

bool recognise(Node& node) {
  if (!reduces_spatial(node) && !pools_all(node)) return false;
  const Type& in = node.input(0)->type;
  Dims dims{in.dims()[0], in.dims()[1]};
  const Type flat = in.with_dims(dims);
  dims.resize(in.rank(), Dim(1));
  const Type pooled = in.with_dims(dims);
  const auto target = reshape_target(pooled, flat);
  const bool flattens = node.output()->type.rank() == 2;
  if (flattens && !target) return false;
  Value* result = emit_before(node, "global_average_pool", std::vector<Value*>{node.input(0)}, {}, pooled);
  if (flattens) result = emit_reshape(node, result, *target, flat);
  replace(node, result);
  return true;
}

} // namespace

bool recognise_global_pooling(Graph& graph) {
  return for_each_node(graph, recognise);
}

} // namespace lanner::passes
