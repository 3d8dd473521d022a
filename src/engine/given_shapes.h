#pragma once
// Shapes that a caller gives a model's inputs: whether they fit it, and the graph at them.

#include <memory>
#include <optional>
#include <vector>

#include <lanner/shape.h>

#include "graph/graph.h"

namespace lanner {

/// Concrete shapes of the inputs, in input order; empty Shape for inputs that have none (sequences).
using InputShapes = std::vector<Shape>;
/// Those that are given already.
using GivenShapes = std::vector<std::optional<Shape>>;

/// All shapes but those of sequences.
GivenShapes given_shapes(const Graph& graph, const InputShapes& shapes);

/// Values of the graph's symbols that follow from shapes. Throws Error{invalid_argument} with the input,
/// expected and got where a shape does not fit type or profile.
Bindings bind_shapes(const Graph& graph, const GivenShapes& shapes);

/// Shapes with every open dim at its opt value (1 where nothing was said).
InputShapes opt_shapes(const Graph& graph);

/// Shapes with every open dim as small as was said, 0 where nothing was.
InputShapes smallest_shapes(const Graph& graph);

/// The shapes of all inputs: those that are given; of the rest, sizes that share a name with theirs follow
/// them, others are as in `base`. Throws as bind_shapes.
InputShapes completed_shapes(const Graph& graph, const GivenShapes& given, const InputShapes& base);

/// A copy of the graph, inferred for those shapes. A model may be open outside and hold a size of its export
/// inside; then Error{invalid_argument} names the inputs, the node that contradicts them and, where it is
/// found, what the model was exported for.
std::unique_ptr<Graph> graph_at(const Graph& graph, const GivenShapes& shapes);

/// The same for the smallest and the largest shapes that a build was asked for.
void check_range_ends(const Graph& graph);

} // namespace lanner
