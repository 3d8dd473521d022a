#pragma once
// The source weights that an engine's constants are made of.

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

/// The values of an imported graph's source weights; `max_bytes`: of those that are this small.
WeightValues weights_of(const Graph& imported, std::uint64_t max_bytes = UINT64_MAX);
/// What a plan keeps of a source weight that became a part of others: small ones, so that the others may be
/// given alone.
inline constexpr std::uint64_t max_kept_source = 64 << 10;

/// Takes note of what the engine's constants are made of, before anything is lowered, and holds those of
/// `sources` that take part and are small.
void learn_weights(const EngineState& state, Graph& graph, const WeightValues& sources);

/// All source weights that constants of the engine are made of, by name.
std::map<std::string, Type> source_weights(const EngineState& state);
/// Of these, those that cannot be given other values: what is computed was decided by them, or a constant
/// is made of them in a way that is not kept.
std::set<std::string> fixed_weights(const EngineState& state);

/// An engine whose named source weights have these values. Throws Error{not_found, invalid_argument} that
/// names the weight. Contexts of `state` may run meanwhile.
std::shared_ptr<const EngineState> refit(const EngineState& state, const WeightValues& given);

/// Weights from outside for a plan that was saved without.
class GivenWeights {
public:
  /// A model, a safetensors file or a plan. `folder`: where the model keeps data beside it.
  GivenWeights(const SourcePtr& source, const std::filesystem::path& folder, const Limits& limits,
               const OpTable& ops);
  /// The value of a constant: that of the same recipe in a plan, else what its recipe gives.
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
