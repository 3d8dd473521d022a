#pragma once
// Layout of a graph on a page.

#include <array>
#include <string>
#include <vector>

#include <lanner/cancel.h>

#include "output/json_text.h"

namespace lanner::tool {

/// A drawn node: an operator, or several that a large graph's drawing combines.
struct DrawnNode {
  std::string title, detail, group; ///< Operator, output type, kind for its colour.
  std::string tip;                  ///< Tooltip.
  std::vector<std::size_t> from;    ///< Nodes whose outputs it reads; always earlier ones.
  double x = 0, y = 0;              ///< Centre, in points.
};

/// A curve between nodes: a start, then cubic Bezier triples.
using Curve = std::vector<std::array<double, 2>>;

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<Curve> curves;
  double width = 0, height = 0;
  std::size_t operators = 0; ///< In the graph, before nodes were combined.
};

inline constexpr double node_width = 150, node_height = 40; ///< Points.

/// The nodes of Engine::graph_json or explain_json (which has kernels and fused sources too), combined where
/// there are many.
Drawing to_drawing(const Json& graph);
/// Lays out nodes and curves: by Graphviz where `dot` is found and finishes within ten seconds, else by
/// layers.
void place(Drawing& drawing, const CancelToken& cancel);
/// By layers only: every node below those it reads.
void place_by_layers(Drawing& drawing);

} // namespace lanner::tool
