#pragma once
// Source weights of an engine's constants.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <lanner/source.h>
#include <lanner/tensor.h>

#include "engine/state.h"

namespace lanner {

using WeightValues = std::map<std::string, Tensor>;

/// The values of an imported graph's source weights, of up to `max_bytes` each.
WeightValues weights_of(const Graph& imported, std::uint64_t max_bytes = UINT64_MAX);
/// Plans store source weights up to this size that were folded into others, so that a refit may give the
/// others alone.
inline constexpr std::uint64_t max_kept_source = 64 << 10;

/// Registers the recipes of the engine's constants before lowering, and keeps small `sources` used in them.
void learn_weights(const EngineState& state, Graph& graph, const WeightValues& sources);

/// All source weights of the engine's constants, by name.
std::map<std::string, Type> source_weights(const EngineState& state);
/// Those of them that a refit cannot change: their values decided what is computed, or the recipe of a
/// constant made of them was lost.
std::set<std::string> fixed_weights(const EngineState& state);

/// An engine with these values of the named source weights. Throws Error{not_found, invalid_argument} that
/// names the weight. Contexts of `state` may run meanwhile.
std::shared_ptr<const EngineState> refit(const EngineState& state, const WeightValues& given);

/// Weights from another file for a plan that was saved without them.
class GivenWeights {
public:
  /// `source`: a model, a safetensors file or a plan. `folder`: of the model's external data.
  GivenWeights(const SourcePtr& source, const std::filesystem::path& folder, const Limits& limits,
               const OpTable& ops);
  /// The value of a constant: that of the same recipe in a plan, else computed by its recipe.
  Tensor value(const Recipe& recipe, const Type& type) const;
  const WeightValues& sources() const { return sources_; }

private:
  std::string name_;
  Limits limits_;
  const OpTable& ops_; ///< The environment's, which outlives this.
  WeightValues sources_;
  std::map<Recipe, Tensor> constants_;
};

} // namespace lanner
