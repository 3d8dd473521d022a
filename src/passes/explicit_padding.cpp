// `auto_pad` becomes `pads` where the sizes are known.

#include "ops/convolution/window.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

static bool slides(const Node& node) {
  const std::string& kind = node.kind();
  return kind == "conv" || kind == "max_pool" || kind == "average_pool" || kind == "lp_pool";
}

static std::vector<std::int64_t> spatial(const Type& type) {
  const Shape shape = type.shape();
  return {shape.begin() + 2, shape.end()};
}

static std::vector<std::int64_t> kernel_of(const Node& node) {
  return node.kind() == "conv" ? spatial(node.input(1)->type) : node.attributes.integers("kernel_shape");
}

static bool make_explicit(Node& node) {
  if (!slides(node) || node.attributes.string("auto_pad", "NOTSET") == "NOTSET" ||
      !node.input(0)->type.ranked())
    return false;
  const std::size_t rank = node.input(0)->type.rank() - 2;
  const auto window = ops::WindowAttributes::read(node.attributes, rank);
  std::vector<std::int64_t> pads(2 * rank, 0);
  if (window.same()) {
    const bool sizes_known = node.input(0)->type.is_static() && node.output()->type.is_static() &&
                             (node.kind() != "conv" || node.input(1)->type.is_static());
    if (!sizes_known) return false;
    const auto resolved = ops::resolve_window(window, spatial(node.input(0)->type),
                                              spatial(node.output()->type), kernel_of(node));
    pads = resolved.begin;
    pads.insert(pads.end(), resolved.end.begin(), resolved.end.end());
  }
  node.attributes.erase("auto_pad");
  node.attributes.set("pads", pads);
  return true;
}

bool explicit_padding(Graph& graph) {
  return for_each_node(graph, make_explicit);
}

} // namespace lanner::passes
