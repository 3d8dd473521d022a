#pragma once
// Sample shapes for a model with open sizes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/context/given_shapes.h"
#include "graph/graph.h"

namespace lanner {

/// Constraints on the sizes.
struct SampleWishes {
  GivenShapes given = {};              ///< By input.
  std::optional<InputShapes> opt = {}; ///< Opt shapes of the engine, if it has any.
  std::int64_t batch = 0;              ///< For open first dims, instead of opt sizes; 0: opt sizes, else 1.
  std::span<const std::size_t> states = {}; ///< Indices of inputs that start with size 0.
};

/// Shapes of all inputs that the model accepts, as far as shape inference can tell: given and opt ones; else
/// 1 for a batch, 0 for a state, 224 for the height and width of a picture, and where these do not fit the
/// smallest sizes found that do. Throws Error{invalid_argument} where none are found, and as bind_shapes.
InputShapes sample_shapes(const Graph& graph, const SampleWishes& wishes);

} // namespace lanner
