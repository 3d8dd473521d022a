#include "engine/source_weights.h"

#include <algorithm>

#include "base/check.h"
#include "engine/builder.h"
#include "engine/plan_file/plan_layout.h"
#include "engine/plan_file/plan_weights.h"
#include "ops/table/table.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

/// Opens a safetensors file; for a model the error says that this library cannot read it.
Safetensors weights_file(const Content& content, const std::string& name, const Limits& limits) {
  try {
    return Safetensors::open(content, name, limits);
  } catch (const Error& error) {
    if (find_builder()) throw;
    throw Error(error.code(), error.message() + "; this library (liblanner-runtime) reads no models: give a "
                                                "safetensors file or a whole plan");
  }
}

} // namespace

WeightValues weights_of(const Graph& imported, std::uint64_t max_bytes) {
  WeightValues values;
  for_each_constant(imported.body(), [&](const Node& node) {
    const Recipe recipe = recipe_of(node);
    const Tensor& tensor = *node.output()->constant();
    if (!recipe.weight.empty() && tensor.bytes() <= max_bytes) values.emplace(recipe.weight, tensor);
  });
  return values;
}

void learn_weights(const EngineState& state, Graph& graph, const WeightValues& sources) {
  state.constants().learn(graph);
  for (const auto& [name, type] : source_weights(state)) {
    const auto found = sources.find(name);
    if (found == sources.end() || found->second.bytes() > max_kept_source) continue;
    if (Type(found->second.dtype(), found->second.shape()) == type)
      state.constants().add({name, {}}, found->second.clone());
  }
}

std::map<std::string, Type> source_weights(const EngineState& state) {
  std::map<std::string, Type> weights;
  for (const auto& constant : state.constants().of_weights())
    weights.merge(sources_of(constant->recipe, constant->type(), state.graph->ops(), state.limits));
  return weights;
}

std::set<std::string> fixed_weights(const EngineState& state) {
  std::set<std::string> fixed = decided_weights(*state.graph);
  for (const auto& [key, made] : state.variants().list())
    fixed.merge(decided_weights(made->program->graph()));
  for (const auto& constant : state.constants().of_weights())
    if (constant->recipe.lost())
      for (const auto& [name, type] :
           sources_of(constant->recipe, constant->type(), state.graph->ops(), state.limits))
        fixed.insert(name);
  return fixed;
}

GivenWeights::GivenWeights(const SourcePtr& source, const std::filesystem::path& folder, const Limits& limits,
                           const OpTable& ops)
    : name_(source->name()), limits_(limits), ops_(ops) {
  const Content content = read_all(source, limits);
  const EngineBuilder* builder = find_builder();
  if (builder && builder->model_format(content.bytes)) {
    const SourcePtr model = open_bytes(content.bytes, content.owner, name_);
    sources_ = builder->model_weights(model, folder, limits, ops_);
    return;
  }
  const Safetensors file = weights_file(content, name_, limits);
  if (!file.metadata().contains(plan_key)) {
    for (const SafetensorsEntry& entry : file.entries())
      sources_.emplace(entry.name, file.tensor(entry.name));
    return;
  }
  for (const auto& [name, weight] : read_plan_weights(file, limits)) {
    if (weight.recipe.literal() || !weight.value.defined()) continue;
    constants_.emplace(weight.recipe, weight.value);
    if (!weight.recipe.weight.empty()) sources_.emplace(weight.recipe.weight, weight.value);
  }
}

Tensor GivenWeights::value(const Recipe& recipe, const Type& type) const {
  return with_context([&] { return "weights of " + name_; },
                      [&] {
                        const auto kept = constants_.find(recipe);
                        if (kept != constants_.end() &&
                            Type(kept->second.dtype(), kept->second.shape()) == type)
                          return kept->second;
                        return value_of(
                            recipe, type, ops_,
                            [&](const std::string& name) {
                              const auto found = sources_.find(name);
                              return found == sources_.end() ? Tensor() : found->second;
                            },
                            limits_);
                      });
}

} // namespace lanner
