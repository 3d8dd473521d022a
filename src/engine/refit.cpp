// Refit: an engine with other weights; recipes are recomputed, kernels and shapes stay.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <lanner/log.h>

#include "backends/backends.h"
#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/joined.h"
#include "engine/source_weights.h"
#include "graph/storage/quantization.h"
#include "ops/table/table.h"
#include <lanner/nearest.h>

namespace lanner {
namespace {

class Refit {
public:
  Refit(const EngineState& old, const WeightValues& given) : old_(old), given_(given) {}

  std::shared_ptr<const EngineState> run() {
    check_given();
    find_changed();
    check_complete();
    const auto account = std::make_shared<Account>(old_.limits, old_.environment.state().thread_settings);
    const AccountScope charged(account);
    const DeadlineScope deadline(old_.limits);
    auto made = copied(account);
    for (const auto& constant : changed_)
      made->constants().add(constant.second->recipe, value_of(constant.first, constant.second->type(),
                                                              old_.graph->ops(), finder(), old_.limits));
    made->graph = with_values(*old_.graph, *made);
    made->expect(old_.profiles);
    adopt_variants(*made);
    return made;
  }

private:
  void check_given() const {
    const std::map<std::string, Type> known = source_weights(old_);
    const std::set<std::string> fixed = fixed_weights(old_);
    std::vector<std::string> names;
    for (const auto& [name, type] : known) names.push_back(name);
    for (const auto& [name, tensor] : given_) {
      check(!fixed.contains(name), ErrorCode::invalid_argument,
            "weight '{}': its values decided how the network is computed: build it again from its model",
            name);
      const auto found = known.find(name);
      check(found != known.end(), ErrorCode::not_found, "the engine has no weight '{}'{}", name,
            did_you_mean(name, names));
      check(tensor.defined() && tensor.device().is_host(), ErrorCode::invalid_argument,
            "weight '{}': expected a tensor in host memory", name);
      check(Type(tensor.dtype(), tensor.shape()) == found->second, ErrorCode::invalid_argument,
            "weight '{}': expected {}, got {}", name, found->second.to_string(),
            Type(tensor.dtype(), tensor.shape()).to_string());
    }
  }

  void find_changed() {
    for (auto& constant : old_.constants().of_weights()) {
      auto sources = sources_of(constant->recipe, constant->type(), old_.graph->ops(), old_.limits);
      if (std::ranges::none_of(sources, [&](const auto& source) { return given_.contains(source.first); }))
        continue;
      changed_.emplace(constant->recipe, std::move(constant));
    }
  }

  /// All source weights of a constant that is recomputed must be available.
  void check_complete() const {
    for (const auto& [recipe, constant] : changed_) {
      std::string given;
      std::vector<std::string> missing;
      for (const auto& [name, type] : sources_of(recipe, constant->type(), old_.graph->ops(), old_.limits)) {
        if (given_.contains(name))
          given = name;
        else if (!old_.constants().source(name).defined())
          missing.push_back(name);
      }
      check(missing.empty(), ErrorCode::invalid_argument,
            "weight '{}' became one constant with {}, which is not kept by itself: give {} too", given,
            joined(missing, ", "), missing.size() == 1 ? "it" : "them");
    }
  }

  WeightFinder finder() const {
    return [this](const std::string& name) {
      const auto found = given_.find(name);
      return found == given_.end() ? old_.constants().source(name) : found->second.clone();
    };
  }

  bool is_changed(const StoredConstant& constant) const { return changed_.contains(constant.recipe); }

  std::shared_ptr<EngineState> copied(const AccountPtr& account) const {
    auto made = std::make_shared<EngineState>(
        old_.limits, account, old_.environment,
        old_.constants().without([this](const StoredConstant& constant) { return is_changed(constant); }));
    made->inputs = old_.inputs;
    made->outputs = old_.outputs;
    made->target = old_.target;
    made->budget = old_.budget;
    made->preprocess = old_.preprocess;
    made->pictures = old_.pictures;
    made->opt = old_.opt;
    made->callers = old_.callers;
    made->states = old_.states;
    made->defaults = old_.defaults;
    made->initialisers = without_model(old_.initialisers);
    made->notes = old_.notes;
    made->timing_cache = old_.timing_cache;
    made->retune = old_.retune;
    made->tune_at_run = old_.tune_at_run;
    return made;
  }

  /// The same graph with the new constants, each in its storage there.
  std::unique_ptr<Graph> with_values(const Graph& graph, const EngineState& made) const {
    std::unique_ptr<Graph> result = graph.clone();
    std::set<const Value*> scales;
    for_each_constant(result->body(), [&](Node& node) {
      if (!node.output()->storage.quantization && renewed(node, made)) scales.insert(node.output());
    });
    // Constants quantised with new scales are packed again.
    for_each_constant(result->body(), [&](Node& node) {
      const std::vector<Value*> by = values_of(node.output()->storage);
      const bool other = std::ranges::any_of(by, [&](const Value* scale) { return scales.contains(scale); });
      if (node.output()->storage.quantization) renewed(node, made, other);
    });
    return result;
  }

  /// Updates a constant if its value changed, or if `anyway`; returns whether it did.
  bool renewed(Node& node, const EngineState& made, bool anyway = false) const {
    const auto constant = old_.constants().find(*node.output()->constant());
    if (!constant || (!anyway && !is_changed(*constant))) return false;
    Storage storage = node.output()->storage;
    storage.device = {};
    node.attributes.set("value", constant->recipe.literal()
                                     ? made.constants().get(constant->value, storage)
                                     : made.constants().get(constant->recipe, storage));
    return true;
  }

  /// Adopts variants made ahead. Those whose kernels reject the new weights are made at first use, like other
  /// shapes.
  void adopt_variants(const EngineState& made) const {
    for (const auto& [key, variant] : old_.variants().list()) {
      if (!variant->ahead) continue;
      Target target = made.target;
      target.threads = key.threads;
      try {
        auto program =
            std::make_shared<const Program>(with_values(variant->program->graph(), made),
                                            made.backends(target), target, made.constants(), made.callers);
        made.adopt(key.shapes, key.threads, {std::move(program), variant->reports, key.threads});
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        log_message(LogLevel::warning, fmt::format("{}: kernels are chosen anew for other weights: {}",
                                                   made.graph->name, error.message()));
      }
    }
  }

  const EngineState& old_;
  const WeightValues& given_;
  std::map<Recipe, std::shared_ptr<const StoredConstant>> changed_;
};

} // namespace

std::shared_ptr<const EngineState> refit(const EngineState& state, const WeightValues& given) {
  return Refit(state, given).run();
}

} // namespace lanner
