#pragma once
// Shapes to try a network at whose model leaves sizes open.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/context/given_shapes.h"
#include "graph/graph.h"

namespace lanner {

/// What is known before any size is looked for.
struct SampleWishes {
  GivenShapes given = {};                   ///< By input.
  std::optional<InputShapes> opt = {};      ///< Of the engine, where it has any.
  std::int64_t batch = 0;                   ///< Of open first dims, before opt ones; 0: opt ones, else 1.
  std::span<const std::size_t> states = {}; ///< Numbers of inputs that begin at 0.
};

/// Shapes of all inputs that the model takes, as far as inference tells: those that are given and opt ones;
/// of the rest 1 in a batch, 0 in a state, 224 in the height and width of a picture, and where these do not
/// fit the smallest sizes that are found to. Throws Error{invalid_argument} where none are found, and as
/// bind_shapes.
InputShapes sample_shapes(const Graph& graph, const SampleWishes& wishes);

} // namespace lanner
