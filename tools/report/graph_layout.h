#pragma once
// Places for the nodes of a graph on a page.

#include <array>
#include <string>
#include <vector>

#include <lanner/cancel.h>

#include "output/json_text.h"

namespace lanner::tool {

/// A node of a picture: an operator, or several of them that a large graph's picture shows as one.
struct DrawnNode {
  std::string title, detail, group; ///< Operator, output's type, kind for its colour.
  std::string tip;                  ///< What a reader sees who points at it.
  std::vector<std::size_t> from;    ///< Nodes whose outputs it reads; always earlier ones.
  double x = 0, y = 0;              ///< Centre, in points.
};

/// A curve from node to node: a start, then cubic Bezier triples.
using Curve = std::vector<std::array<double, 2>>;

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<Curve> curves;
  double width = 0, height = 0;
  std::size_t operators = 0; ///< Of the graph, before any were shown as one.
};

inline constexpr double node_width = 150, node_height = 40; ///< Points.

/// The nodes of Engine::graph_json or explain_json (which carry kernels and fused sources too), grouped where
/// there are many.
Drawing to_drawing(const Json& graph);
/// Places nodes and curves: by Graphviz where `dot` is found and done within ten seconds, else by layers.
void place(Drawing& drawing, const CancelToken& cancel);
/// By layers alone: every node below those it reads.
void place_by_layers(Drawing& drawing);

} // namespace lanner::tool
