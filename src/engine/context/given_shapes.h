#pragma once
// Shapes that a caller gives for a model's inputs: validation, and the graph specialised to them.

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
/// Shapes by input; unset where not given.
using GivenShapes = std::vector<std::optional<Shape>>;

/// All shapes but those of sequences.
GivenShapes given_shapes(const Graph& graph, const InputShapes& shapes);

/// Values of the graph's symbols that follow from shapes. Throws Error{invalid_argument} with the input,
/// expected and got where a shape does not fit type or profile.
Bindings bind_shapes(const Graph& graph, const GivenShapes& shapes);

/// Shapes with every open dim at its opt value. Nothing where a size or rank without a value is open, except
/// sizes of `states` (input indices) alone: those are 1, where the model accepts that.
std::optional<InputShapes> opt_shapes(const Graph& graph, std::span<const std::size_t> states = {});

/// Shapes with every open dim at its min value, 0 where there is none.
InputShapes smallest_shapes(const Graph& graph);

/// The shapes of all inputs: the given ones; in the others, sizes that share a name with theirs are equal,
/// the rest are as in `base`, else their opt values. Nothing where one of them stays open. Throws as
/// bind_shapes.
std::optional<InputShapes> completed_shapes(const Graph& graph, const GivenShapes& given,
                                            const std::optional<InputShapes>& base);

/// Known values of symbols: opt values, and ranges of one size.
Bindings known_sizes(const Graph& graph);

/// The shapes of all inputs for these values, which must cover all symbols; inputs of any rank are scalars.
InputShapes shapes_with(const Graph& graph, const Bindings& sizes);

/// Whether the model accepts these shapes, as far as shape inference can tell.
bool takes_shapes(const Graph& graph, const GivenShapes& shapes);

/// Sizes of the model's constants, values of constants that are shapes, and 1.
std::set<std::int64_t> sizes_inside(const Graph& graph);

/// `x: f32[N, 3], mask: i64[*]`: inputs with open sizes or rank that have no value, without `states`; empty
/// where there are none.
std::string open_inputs_text(const Graph& graph, std::span<const std::size_t> states = {});

/// A copy of the graph, inferred for those shapes. A model may have open inputs but a fixed size of its
/// export inside; then Error{invalid_argument} names the inputs, the node that contradicts them and, where
/// found, the shapes that the model was exported for.
std::unique_ptr<Graph> graph_at(const Graph& graph, const GivenShapes& shapes);

/// Checks the same for the smallest and the largest shapes of a build.
void check_range_ends(const Graph& graph);

} // namespace lanner
