#pragma once
// Makes a variant of an engine: specialised, lowered, placed, on one stream or several.

#include <memory>
#include <span>

#include "engine/builder.h"
#include "engine/state.h"
#include "engine/variants.h"
#include "graph/graph.h"

namespace lanner {

/// As EngineBuilder::variant.
MadeVariant lowered_variant(const EngineState& state, const VariantKey& key, const VariantMaking& making,
                            double& seconds, const Control& control);

/// Readers that may take quantised weights directly.
struct WeightReaders {
  std::span<const Backend* const> backends;
  const Target& target;
  const WeightStore& constants;
};
/// A copy of `graph` for concrete input shapes, canonical again, with quantised weights dequantised unless
/// one of `readers` takes them directly.
std::unique_ptr<Graph> specialised_graph(const Graph& graph, const InputShapes& shapes, const Limits& limits,
                                         const Control& control, const WeightReaders& readers);

} // namespace lanner
