#pragma once
// The constants of an engine: each is a recipe over source weights, in memory once per storage that kernels
// need and per device, shared by all variants and contexts.

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

/// Returns the value of a source weight by name; undefined where there is none. The caller checks type and
/// shape.
using WeightFinder = std::function<Tensor(const std::string& name)>;
/// The value of a recipe for these source weights, row-major. Work and memory are bounded as for folding.
/// Throws Error{bad_data} where the result has another type, Error{invalid_argument} where a source has
/// another type or where numbers become infinite on the way.
Tensor value_of(const Recipe& recipe, const Type& type, const OpTable& ops, const WeightFinder& find,
                const Limits& limits);

/// A constant of graphs, in its type there.
struct StoredConstant {
  Recipe recipe;
  Tensor value; ///< Its elements, in one of the layouts needed.
  Type type() const { return {value.dtype(), value.shape()}; }
};

/// Thread-safe.
class WeightStore {
public:
  /// Registers the recipes of a graph's constants. Constants of one recipe then share memory.
  void learn(Graph& graph);
  /// Adds a constant that need not be in a graph, such as a source weight of other constants. Returns the
  /// stored one.
  Tensor add(const Recipe& recipe, const Tensor& value);

  /// A constant, of a graph or not, in this storage on the host: packed once.
  Tensor get(const Tensor& constant, const Storage& storage);
  /// The same for the constant with this recipe, which must be known.
  Tensor get(const Recipe& recipe, const Storage& storage);
  /// `form`, from get() or living as long as this, on a device: one copy, shared while referenced.
  Tensor on(const Tensor& form, Device device) { return devices_->on(form, device); }
  /// The device memory of programs' constants.
  const std::shared_ptr<DeviceWeights>& devices() const { return devices_; }

  /// The constant that `form` is a form of; null where unknown.
  std::shared_ptr<const StoredConstant> find(const Tensor& form) const;
  /// All constants made of source weights, by recipe.
  std::vector<std::shared_ptr<const StoredConstant>> of_weights() const;
  /// Of all constants together, in their types there.
  std::uint64_t bytes() const;
  /// The value of a stored source weight, row-major; else undefined.
  Tensor source(const std::string& name) const { return value({name, {}}); }
  /// The same for any recipe that is not lost.
  Tensor value(const Recipe& recipe) const;
  /// A store with the same constants, device copies and budget, without the constants for which `changed`
  /// holds.
  std::unique_ptr<WeightStore> without(const std::function<bool(const StoredConstant&)>& changed) const;

private:
  struct Memory {
    const void* data = nullptr;
    std::string form;
    friend auto operator<=>(const Memory&, const Memory&) = default;
  };
  struct Entry {
    std::shared_ptr<const StoredConstant> constant;
    std::map<std::string, Tensor> forms; ///< By storage; each owns its memory, whose address identifies it.
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
  MemoryArena arena_;                    ///< Of the forms that were packed here.
  std::shared_ptr<DeviceWeights> devices_ = std::make_shared<DeviceWeights>();
};

} // namespace lanner
