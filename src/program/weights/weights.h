#pragma once
// The constants of an engine: each is a recipe over source weights and lies once in memory for each storage
// that kernels ask for and each device, whatever number of variants and contexts there is.

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <lanner/tensor.h>

#include "ops/definition/recipe.h"
#include "program/weights/device_weights.h"
#include "program/weights/packing.h"

namespace lanner {

/// Calls `visit` with every `constant` node, those of regions first.
void for_each_constant(const Region& region, const std::function<void(Node&)>& visit);

/// The values of source weights by name; undefined where there is none. Those of wrong type or shape are
/// found out by who asks.
using WeightFinder = std::function<Tensor(const std::string& name)>;
/// What a recipe gives for these source weights, row-major. Work and memory are bounded as those of folding.
/// Throws Error{bad_data} where it gives nothing of this type, Error{invalid_argument} where a source has
/// another type or where numbers become infinite on the way.
Tensor value_of(const Recipe& recipe, const Type& type, const OpTable& ops, const WeightFinder& find,
                const Limits& limits);

/// A constant of graphs, in the type that they say.
struct StoredConstant {
  Recipe recipe;
  Tensor value; ///< Its elements, in one of the layouts that it is needed in.
  Type type() const { return {value.dtype(), value.shape()}; }
};

/// Thread-safe.
class WeightStore {
public:
  /// Takes note of what the constants of a graph are made of. Those of one recipe come to lie in one memory.
  void learn(Graph& graph);
  /// Holds a constant whether a graph has it or not, as a source weight that others are made of. Gives what
  /// is held now.
  Tensor add(const Recipe& recipe, const Tensor& value);

  /// A constant of a graph, or one that is of none, in this storage on the host: made once.
  Tensor get(const Tensor& constant, const Storage& storage);
  /// The same of the constant with this recipe, which has to be known.
  Tensor get(const Recipe& recipe, const Storage& storage);
  /// `form`, which get() gave or which lives as long as this, on a device: one copy while anybody holds it.
  Tensor on(const Tensor& form, Device device) { return devices_->on(form, device); }
  /// Where the constants of programs are on their device.
  const std::shared_ptr<DeviceWeights>& devices() const { return devices_; }

  /// What `form` is a form of; null where that is not known.
  std::shared_ptr<const StoredConstant> find(const Tensor& form) const;
  /// All that come of source weights, by recipe.
  std::vector<std::shared_ptr<const StoredConstant>> of_weights() const;
  /// The value of a source weight where it is held, row-major; else undefined.
  Tensor source(const std::string& name) const { return value({name, {}}); }
  /// The same of any recipe that is not lost.
  Tensor value(const Recipe& recipe) const;
  /// A store with the same constants, copies on devices and budget, but for constants that `changed` names.
  std::unique_ptr<WeightStore> without(const std::function<bool(const StoredConstant&)>& changed) const;

private:
  struct Memory {
    const void* data = nullptr;
    std::string form;
    friend auto operator<=>(const Memory&, const Memory&) = default;
  };
  struct Entry {
    std::shared_ptr<const StoredConstant> constant;
    std::map<std::string, Tensor> forms; ///< By storage; each holds its memory, which is known by it.
  };
  using EntryPtr = std::shared_ptr<Entry>;
  static Memory memory_of(const Tensor& tensor);
  EntryPtr insert(Recipe recipe, const Tensor& value);
  EntryPtr entry_of(const Tensor& constant);
  Tensor form_of(const EntryPtr& entry, const Storage& storage);
  void take(Entry& entry, const std::string& key, const Tensor& form, const EntryPtr& shared);
  void learn_one(Node& node);

  mutable std::mutex mutex_;
  std::map<Memory, EntryPtr> by_memory_;
  std::map<Recipe, EntryPtr> by_recipe_; ///< Without literals.
  std::shared_ptr<DeviceWeights> devices_ = std::make_shared<DeviceWeights>();
};

} // namespace lanner
