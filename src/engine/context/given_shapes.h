#pragma once
// Shapes that a caller gives a model's inputs: whether they fit it, and the graph at them.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
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

/// Shapes with every open dim at its opt value. Nothing where a size or rank is open that nobody said, but
/// for sizes of `states` (numbers of inputs) alone: those are 1, where the model takes that.
std::optional<InputShapes> opt_shapes(const Graph& graph, std::span<const std::size_t> states = {});

/// Shapes with every open dim as small as was said, 0 where nothing was.
InputShapes smallest_shapes(const Graph& graph);

/// The shapes of all inputs: those that are given; of the rest, sizes that share a name with theirs follow
/// them, others are as in `base`, else their opt ones. Nothing where one of them stays open. Throws as
/// bind_shapes.
std::optional<InputShapes> completed_shapes(const Graph& graph, const GivenShapes& given,
                                            const std::optional<InputShapes>& base);

/// Values of symbols that are said: opt ones, and those of a range of one size.
Bindings known_sizes(const Graph& graph);

/// The shapes of all inputs whose symbols have these values, of which none is missing; of inputs of any rank
/// that of a scalar.
InputShapes shapes_with(const Graph& graph, const Bindings& sizes);

/// Whether the model takes these shapes, as far as inference tells.
bool takes_shapes(const Graph& graph, const GivenShapes& shapes);

/// Sizes that the model's constants have or, where they are shapes themselves, hold; and 1.
std::set<std::int64_t> sizes_inside(const Graph& graph);

/// `x: f32[N, 3], mask: i64[*]`: inputs with sizes or a rank that nobody said, but for `states` alone; empty
/// where there are none.
std::string open_inputs_text(const Graph& graph, std::span<const std::size_t> states = {});

/// A copy of the graph, inferred for those shapes. A model may be open outside and hold a size of its export
/// inside; then Error{invalid_argument} names the inputs, the node that contradicts them and, where it is
/// found, what the model was exported for.
std::unique_ptr<Graph> graph_at(const Graph& graph, const GivenShapes& shapes);

/// The same for the smallest and the largest shapes that a build was asked for.
void check_range_ends(const Graph& graph);

} // namespace lanner
