// A `pad` of the spatial dims is merged into the convolution or pooling after it, where the result is the
// same.

#include <algorithm>
#include <cmath>

#include "ops/definition/bounds.h"
#include "ops/definition/recipe.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

/// Begins, then ends, of the spatial dims; nothing for a pad that pads other dims or removes elements.
static std::optional<std::vector<std::int64_t>> spatial_pads(const Node& pad) {
  const auto pads = constant_integers(pad.input(1));
  if (!pads || pad.input(3) || pad.attributes.string("mode", "constant") != "constant") return std::nullopt;
  const std::size_t rank = pads->size() / 2;
  if (rank < 3 || std::ranges::any_of(*pads, [](std::int64_t size) { return size < 0; })) return std::nullopt;
  for (std::size_t i : {std::size_t{0}, std::size_t{1}, rank, rank + 1}) {
    if ((*pads)[i] != 0) return std::nullopt;
  }
  std::vector<std::int64_t> spatial(pads->begin() + 2, pads->begin() + static_cast<std::ptrdiff_t>(rank));
  spatial.insert(spatial.end(), pads->begin() + static_cast<std::ptrdiff_t>(rank) + 2, pads->end());
  return spatial;
}

static std::optional<double> fill_of(const Node& pad) {
  if (!pad.input(2)) return 0.0;
  return constant_scalar(pad.input(2));
}

// The padding that the window itself implies: zeros for a convolution; -infinity for max pooling; zeros for
// average pooling that counts them.
static bool agrees(const Node& window, double fill) {
  if (window.kind() == "conv") return fill == 0;
  if (window.attributes.integer("ceil_mode", 0) != 0) return false;
  // Max pooling's index output refers to its input tensor, whose sizes would change.
  if (window.kind() == "max_pool")
    return std::isinf(fill) && fill < 0 && (window.outputs().size() < 2 || window.output(1)->unused());
  const auto pads = window.attributes.integers("pads");
  const bool unpadded = std::ranges::all_of(pads, [](std::int64_t size) { return size == 0; });
  return window.kind() == "average_pool" && fill == 0 &&
         (unpadded || window.attributes.flag("count_include_pad"));
}

static bool absorb(Node& window) {
  const bool slides =
      window.kind() == "conv" || window.kind() == "max_pool" || window.kind() == "average_pool";
  if (!slides || window.attributes.string("auto_pad", "NOTSET") != "NOTSET") return false;
  const Node* pad = producer(window.input(0), "pad");
  const auto added = pad ? spatial_pads(*pad) : std::nullopt;
  const auto fill = pad ? fill_of(*pad) : std::nullopt;
  if (!added || !fill || !agrees(window, *fill)) return false;
  std::vector<std::int64_t> pads =
      window.attributes.integers("pads", std::vector<std::int64_t>(added->size(), 0));
  if (pads.size() != added->size()) return false;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    // Both are at least 0 here. Padding that the window does not support stays a node.
    if ((*added)[i] > ops::largest_window_size - pads[i]) return false;
    pads[i] += (*added)[i];
  }
  window.attributes.set("pads", pads);
  if (window.kind() == "average_pool") window.attributes.set("count_include_pad", std::int64_t{1});
  note_decided(window.region()->graph(), pad->input(2));
  take_sources(window, *pad);
  window.set_input(0, pad->input(0));
  return true;
}

bool absorb_pads(Graph& graph) {
  return for_each_node(graph, absorb);
}

} // namespace lanner::passes
